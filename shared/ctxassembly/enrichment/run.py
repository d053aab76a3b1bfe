"""One run of enrichment: who answers its flows, what it will cost at most, and what became of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, cast

from ctxassembly.answering.requests import AskModel
from ctxassembly.concurrency import in_thread, is_async
from ctxassembly.config.answering import AnswerConfig
from ctxassembly.config.enrichment import EnrichmentConfig
from ctxassembly.data.enrichment import Outline, ReadDocument
from ctxassembly.data.requests import EmbedTexts
from ctxassembly.enrichment.pipeline import Due, Outcome, document_flow, due, parts, request_for
from ctxassembly.errors import ConfigError, InputError
from ctxassembly.protocols import NotesTable
from ctxassembly.runtime.answer_services import Answering
from ctxassembly.runtime.driver import arun, run
from ctxassembly.safe_repr import failure, shown
from ctxassembly.tokens.counter import counter_for

_FRAME_TOKENS = 8
"""Of a call, for the roles of its two messages."""


@dataclass(frozen=True, slots=True)
class EnrichmentEstimate:
    """The price of an enrichment, before it starts. Printed, it is a line.

    >>> print(EnrichmentEstimate(documents=120, chunks=900, calls=130, tokens_in=410_000, most_tokens_out=450_000))
    documents 120, chunks 900, calls 130, tokens in 410,000, tokens out at most 450,000
    """

    documents: int
    """Those that need notes or embeddings."""
    chunks: int
    calls: int
    """Calls of the model, as long as none is repeated."""
    tokens_in: int
    """What the model reads, counted by `EnrichmentConfig.encoding`, without the schemas that a provider may add."""
    most_tokens_out: int
    """What it may write at most: the calls ask for no more."""

    def __str__(self) -> str:
        return (
            f"documents {self.documents:,}, chunks {self.chunks:,}, calls {self.calls:,}, "
            f"tokens in {self.tokens_in:,}, tokens out at most {self.most_tokens_out:,}"
        )


@dataclass(frozen=True)
class Enriched:
    """The outcome of an enrichment. Printed, it is a few lines.

    >>> estimate = EnrichmentEstimate(documents=2, chunks=9, calls=2, tokens_in=4_000, most_tokens_out=5_000)
    >>> print(Enriched(estimate, documents=1, chunks=4, failed={"lab": "TimeoutError: no answer within 120 s"}))
    documents 1, chunks 4, failed 1, left 0
    failed: lab: TimeoutError: no answer within 120 s
    """

    estimate: EnrichmentEstimate
    documents: int = 0
    """Those that have their notes now."""
    chunks: int = 0
    failed: Mapping[str, str] = field(default_factory=dict, hash=False)
    """The documents that were tried and have none, each with the reason. The next run tries them again."""
    left: int = 0
    """Documents that need some and weren't tried: beyond `limit`, or after the run was stopped."""
    stopped: str = ""
    """The reason why the run was stopped; empty if it wasn't."""
    dropped: Mapping[str, int] = field(default_factory=dict, hash=False)
    """Values that the model left out, or that were malformed or too long, by their field."""
    tokens_in: int | None = None
    """What the model says it read, in calls that were answered; None if it doesn't say."""
    tokens_out: int | None = None

    def __str__(self) -> str:
        counts = {"documents": self.documents, "chunks": self.chunks, "failed": len(self.failed), "left": self.left}
        if self.tokens_in is not None and self.tokens_out is not None:
            counts |= {"tokens in": self.tokens_in, "tokens out": self.tokens_out}
        lines = [", ".join(f"{name} {number:,}" for name, number in counts.items())]
        lines += [f"stopped: {self.stopped}"] if self.stopped else []
        lines += [f"dropped: {name} {number:,}" for name, number in self.dropped.items()]
        lines += [f"failed: {document_id}: {reason}" for document_id, reason in self.failed.items()]
        return "\n".join(lines)


class Enriching:
    """The objects that a run asks, and its tally."""

    def __init__(self, index: Any, model: Any, config: EnrichmentConfig, embed: Any, *, awaited: bool = False) -> None:
        """Check all four.

        Raises:
            InputError: one of them is of another kind, or can only be awaited.
        """
        if not isinstance(config, EnrichmentConfig):
            raise InputError(f"config must be an EnrichmentConfig or None, got {shown(config)}")
        table = getattr(index, "enrichment", None)
        if table is None:
            raise InputError(f"index must be a PostgresIndex or a MemoryIndex, got {shown(index)}")
        if not awaited and is_async(getattr(model, "ask", model)):
            raise InputError("a model that can only be awaited needs aenrich()")
        self.table = cast(NotesTable, table)
        self.config = config
        self._count: Callable[[str], int] = counter_for(config.encoding).count
        self._embed = _embedder(embed, awaited=awaited)
        self._model = Answering(model, None, AnswerConfig())
        self._due: list[tuple[Outline, Due]] = []
        self._outcomes: dict[str, Outcome] = {}
        self._failing = 0
        self.stopped = ""
        self.estimate = EnrichmentEstimate(0, 0, 0, 0, 0)

    def survey(self, limit: int | None) -> list[Outline]:
        """The documents to work on, at most `limit`, and what they will cost."""
        embeds = self._embed is not None
        outlines = self.table.outlines()
        self._due = [(outline, what) for outline in outlines if (what := due(outline, self.config, embeds=embeds))]
        chosen = self._due if limit is None else self._due[:limit]
        prices = [self._price(outline) if what == "notes" else (0, 0, 0) for outline, what in chosen]
        calls, read, written = map(sum, zip(*prices, strict=True)) if prices else (0, 0, 0)
        chunks = sum(len(outline.keys) for outline, _ in chosen)
        self.estimate = EnrichmentEstimate(len(chosen), chunks, calls, read, written)
        return [outline for outline, _ in chosen]

    def _price(self, outline: Outline) -> tuple[int, int, int]:
        """Calls, tokens in and most tokens out for a document."""
        document = self.table.read(outline)
        texts = [chunk.text for chunk in document.chunks]
        requests = [
            request_for(document.title, "", part, texts, self.config)
            for part in parts([self._count(text) for text in texts], self.config)
        ]
        read = sum(_FRAME_TOKENS + sum(self._count(one["content"]) for one in each.messages) for each in requests)
        written = sum(each.max_tokens or 0 for each in requests)
        # All calls for a document but the first read the summary of the one before.
        summaries = max(0, len(requests) - 1) * self.config.most_reply_tokens(0)
        return len(requests), read + summaries, written

    def enrich(self, outline: Outline) -> Outcome:
        """What became of a document."""
        outcome: Outcome = run(self._flow(outline), self._ask)
        return outcome

    async def aenrich(self, outline: Outline) -> Outcome:
        """The same, awaited."""
        outcome: Outcome = await arun(self._flow(outline), self._aask)
        return outcome

    def _flow(self, outline: Outline) -> Any:
        return document_flow(outline, self.config, self._count, embeds=self._embed is not None)

    def _ask(self, request: Any) -> Any:
        if isinstance(request, AskModel):
            return self._model.ask(request)
        return self._made(request)

    async def _aask(self, request: Any) -> Any:
        if isinstance(request, AskModel):
            return await self._model.aask(request)
        if isinstance(request, EmbedTexts) and is_async(self._embed):
            return await cast(Any, self._embed)(list(request.texts))
        return await in_thread(self._made)(request)

    def _made(self, request: Any) -> Any:
        if isinstance(request, EmbedTexts):
            return cast(Any, self._embed)(list(request.texts))
        return self.table.read(request.outline) if isinstance(request, ReadDocument) else self.table.write(request)

    def note(self, outline: Outline, outcome: Outcome | Exception) -> None:
        """Count what became of a document. Too many failures in a row set `stopped`."""
        if isinstance(outcome, Exception):
            outcome = Outcome(failure=failure(outcome))
        self._outcomes[outline.document_id] = outcome
        self._failing = self._failing + 1 if outcome.failure else 0
        if self._failing >= self.config.most_failures:
            self.stopped = f"{self._failing} documents in a row failed, the last one by {outcome.failure}"

    def settle(self) -> None:
        """Do what is due after writing."""
        self.table.settle(sum(one.chunks for one in self._outcomes.values() if not one.failure))

    def result(self) -> Enriched:
        """What became of all documents."""
        good = [one for one in self._outcomes.values() if not one.failure]
        dropped: Counter[str] = sum((one.dropped for one in good), Counter())
        tells = all(one.tells_tokens for one in self._outcomes.values())
        return Enriched(
            self.estimate,
            len(good),
            sum(one.chunks for one in good),
            {name: one.failure for name, one in self._outcomes.items() if one.failure},
            len(self._due) - len(self._outcomes),
            self.stopped,
            dict(sorted(dropped.items())),
            sum(one.tokens_in for one in self._outcomes.values()) if tells else None,
            sum(one.tokens_out for one in self._outcomes.values()) if tells else None,
        )


def _embedder(embed: Any, *, awaited: bool) -> Callable[[list[str]], Any] | None:
    """The function from texts to vectors.

    Raises:
        InputError: it is none, or can only be awaited.
    """
    names = ("aembed_documents", "embed_documents") if awaited else ("embed_documents",)
    function = next((getattr(embed, name) for name in names if hasattr(embed, name)), embed)
    if function is not None and not callable(function):
        raise InputError(f"embed must be a function from texts to vectors, or have embed_documents, got {shown(embed)}")
    if not awaited and is_async(function):
        raise InputError("embeddings that can only be awaited need aenrich()")
    return cast("Callable[[list[str]], Any] | None", function)


def checked_limit(limit: Any) -> None:
    """Check the most documents of a run.

    Raises:
        ConfigError: `limit` is neither None nor an integer from 0.
    """
    if limit is not None and (type(limit) is not int or limit < 0):
        raise ConfigError("limit", "an integer from 0 or None", limit)
