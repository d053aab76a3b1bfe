"""One run of enrichment: who answers its flows, what it will cost at most, and what became of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, cast

from ctxassembly.answering.requests import AskModel
from ctxassembly.concurrency import is_async, to_async
from ctxassembly.config.answering import AnswerConfig
from ctxassembly.config.enrichment import EnrichmentConfig
from ctxassembly.data.enrichment import Outline, ReadDocument
from ctxassembly.data.requests import EmbedTexts
from ctxassembly.enrichment.pipeline import (
    DocumentOutcome,
    PendingWork,
    document_flow,
    notes_request,
    pending_work,
    split_into_calls,
)
from ctxassembly.errors import ConfigError, InputError
from ctxassembly.protocols import EnrichmentTable
from ctxassembly.runtime.answer_services import AnswerServices
from ctxassembly.runtime.driver import adrive, drive
from ctxassembly.safe_repr import describe_error, safe_repr
from ctxassembly.tokens.counter import counter_for

_MESSAGE_OVERHEAD_TOKENS = 8
"""Of a call, for the roles of its two messages."""


@dataclass(frozen=True, slots=True)
class EnrichmentEstimate:
    """The price of an enrichment, before it starts. Printed, it is a line.

    >>> print(EnrichmentEstimate(documents=120, chunks=900, calls=130, tokens_in=410_000, max_tokens_out=450_000))
    documents 120, chunks 900, calls 130, tokens in 410,000, tokens out at most 450,000
    """

    documents: int
    """Those that need notes or embeddings."""
    chunks: int
    calls: int
    """Calls of the model, as long as none is repeated."""
    tokens_in: int
    """What the model reads, counted by `EnrichmentConfig.encoding`, without the schemas that a provider may add."""
    max_tokens_out: int
    """What it may write at most: the calls ask for no more."""

    def __str__(self) -> str:
        return (
            f"documents {self.documents:,}, chunks {self.chunks:,}, calls {self.calls:,}, "
            f"tokens in {self.tokens_in:,}, tokens out at most {self.max_tokens_out:,}"
        )


@dataclass(frozen=True)
class EnrichmentResult:
    """The outcome of an enrichment. Printed, it is a few lines.

    >>> estimate = EnrichmentEstimate(documents=2, chunks=9, calls=2, tokens_in=4_000, max_tokens_out=5_000)
    >>> print(EnrichmentResult(estimate, documents=1, chunks=4, failed={"lab": "TimeoutError: no answer within 120 s"}))
    documents 1, chunks 4, failed 1, left 0
    failed: lab: TimeoutError: no answer within 120 s
    """

    estimate: EnrichmentEstimate
    documents: int = 0
    """Those that have their notes now."""
    chunks: int = 0
    failed: Mapping[str, str] = field(default_factory=dict, hash=False)
    """The documents that were tried and have none, each with the reason. The next run tries them again."""
    remaining: int = 0
    """Documents that need some and weren't tried: beyond `limit`, or after the run was stopped."""
    stop_reason: str = ""
    """The reason why the run was stopped; empty if it wasn't."""
    dropped: Mapping[str, int] = field(default_factory=dict, hash=False)
    """Values that the model left out, or that were malformed or too long, by their field."""
    tokens_in: int | None = None
    """What the model says it read, in calls that were answered; None if it doesn't say."""
    tokens_out: int | None = None

    def __str__(self) -> str:
        counts = {
            "documents": self.documents,
            "chunks": self.chunks,
            "failed": len(self.failed),
            "left": self.remaining,
        }
        if self.tokens_in is not None and self.tokens_out is not None:
            counts |= {"tokens in": self.tokens_in, "tokens out": self.tokens_out}
        lines = [", ".join(f"{name} {number:,}" for name, number in counts.items())]
        lines += [f"stopped: {self.stop_reason}"] if self.stop_reason else []
        lines += [f"dropped: {name} {number:,}" for name, number in self.dropped.items()]
        lines += [f"failed: {document_id}: {reason}" for document_id, reason in self.failed.items()]
        return "\n".join(lines)


class EnrichmentRun:
    """The objects that a run asks, and its tally."""

    def __init__(
        self, index: Any, model: Any, config: EnrichmentConfig, embed: Any, *, can_await: bool = False
    ) -> None:
        """Check all four.

        Raises:
            InputError: one of them is of another kind, or can only be awaited.
        """
        if not isinstance(config, EnrichmentConfig):
            raise InputError(f"config must be an EnrichmentConfig or None, got {safe_repr(config)}")
        table = getattr(index, "enrichment", None)
        if table is None:
            raise InputError(f"index must be a PostgresIndex or a MemoryIndex, got {safe_repr(index)}")
        if not can_await and is_async(getattr(model, "ask", model)):
            raise InputError("a model that can only be awaited needs aenrich()")
        self.table = cast(EnrichmentTable, table)
        self.config = config
        self._count: Callable[[str], int] = counter_for(config.encoding).count
        self._embed = _embed_function(embed, can_await=can_await)
        self._model = AnswerServices(model, None, AnswerConfig())
        self._pending: list[tuple[Outline, PendingWork]] = []
        self._outcomes: dict[str, DocumentOutcome] = {}
        self._consecutive_failures = 0
        self.stop_reason = ""
        self.estimate = EnrichmentEstimate(0, 0, 0, 0, 0)

    def scan(self, limit: int | None) -> list[Outline]:
        """The documents to work on, at most `limit`, and what they will cost."""
        has_embedder = self._embed is not None
        outlines = self.table.outlines()
        self._pending = [
            (outline, work)
            for outline in outlines
            if (work := pending_work(outline, self.config, has_embedder=has_embedder))
        ]
        selected = self._pending if limit is None else self._pending[:limit]
        prices = [self._estimate_document(outline) if work == "notes" else (0, 0, 0) for outline, work in selected]
        calls, tokens_in, tokens_out = map(sum, zip(*prices, strict=True)) if prices else (0, 0, 0)
        chunks = sum(len(outline.keys) for outline, _ in selected)
        self.estimate = EnrichmentEstimate(len(selected), chunks, calls, tokens_in, tokens_out)
        return [outline for outline, _ in selected]

    def _estimate_document(self, outline: Outline) -> tuple[int, int, int]:
        """Calls, tokens in and most tokens out for a document."""
        document = self.table.read(outline)
        texts = [chunk.text for chunk in document.chunks]
        requests = [
            notes_request(document.title, "", part, texts, self.config)
            for part in split_into_calls([self._count(text) for text in texts], self.config)
        ]
        tokens_in = sum(
            _MESSAGE_OVERHEAD_TOKENS + sum(self._count(one["content"]) for one in request.messages)
            for request in requests
        )
        tokens_out = sum(request.max_tokens or 0 for request in requests)
        # All calls for a document but the first read the summary of the one before.
        summaries = max(0, len(requests) - 1) * self.config.max_reply_tokens(0)
        return len(requests), tokens_in + summaries, tokens_out

    def enrich(self, outline: Outline) -> DocumentOutcome:
        """What became of a document."""
        outcome: DocumentOutcome = drive(self._flow(outline), self._ask)
        return outcome

    async def aenrich(self, outline: Outline) -> DocumentOutcome:
        """The same, awaited."""
        outcome: DocumentOutcome = await adrive(self._flow(outline), self._aask)
        return outcome

    def _flow(self, outline: Outline) -> Any:
        return document_flow(outline, self.config, self._count, has_embedder=self._embed is not None)

    def _ask(self, request: Any) -> Any:
        if isinstance(request, AskModel):
            return self._model.ask(request)
        return self._answer(request)

    async def _aask(self, request: Any) -> Any:
        if isinstance(request, AskModel):
            return await self._model.aask(request)
        if isinstance(request, EmbedTexts) and is_async(self._embed):
            return await cast(Any, self._embed)(list(request.texts))
        return await to_async(self._answer)(request)

    def _answer(self, request: Any) -> Any:
        if isinstance(request, EmbedTexts):
            return cast(Any, self._embed)(list(request.texts))
        return self.table.read(request.outline) if isinstance(request, ReadDocument) else self.table.write(request)

    def record(self, outline: Outline, outcome: DocumentOutcome | Exception) -> None:
        """Count what became of a document. Too many failures in a row set `stop_reason`."""
        if isinstance(outcome, Exception):
            outcome = DocumentOutcome(failure=describe_error(outcome))
        self._outcomes[outline.document_id] = outcome
        self._consecutive_failures = self._consecutive_failures + 1 if outcome.failure else 0
        if self._consecutive_failures >= self.config.max_failures:
            self.stop_reason = (
                f"{self._consecutive_failures} documents in a row failed, the last one by {outcome.failure}"
            )

    def commit(self) -> None:
        """Do what is due after writing."""
        self.table.commit(sum(one.chunks for one in self._outcomes.values() if not one.failure))

    def result(self) -> EnrichmentResult:
        """What became of all documents."""
        succeeded = [one for one in self._outcomes.values() if not one.failure]
        dropped: Counter[str] = sum((one.dropped for one in succeeded), Counter())
        has_token_counts = all(one.has_token_counts for one in self._outcomes.values())
        return EnrichmentResult(
            self.estimate,
            len(succeeded),
            sum(one.chunks for one in succeeded),
            {name: one.failure for name, one in self._outcomes.items() if one.failure},
            len(self._pending) - len(self._outcomes),
            self.stop_reason,
            dict(sorted(dropped.items())),
            sum(one.tokens_in for one in self._outcomes.values()) if has_token_counts else None,
            sum(one.tokens_out for one in self._outcomes.values()) if has_token_counts else None,
        )


def _embed_function(embed: Any, *, can_await: bool) -> Callable[[list[str]], Any] | None:
    """The function from texts to vectors.

    Raises:
        InputError: it is none, or can only be awaited.
    """
    names = ("aembed_documents", "embed_documents") if can_await else ("embed_documents",)
    function = next((getattr(embed, name) for name in names if hasattr(embed, name)), embed)
    if function is not None and not callable(function):
        raise InputError(
            f"embed must be a function from texts to vectors, or have embed_documents, got {safe_repr(embed)}"
        )
    if not can_await and is_async(function):
        raise InputError("embeddings that can only be awaited need aenrich()")
    return cast("Callable[[list[str]], Any] | None", function)


def check_limit(limit: Any) -> None:
    """Check the most documents of a run.

    Raises:
        ConfigError: `limit` is neither None nor an integer from 0.
    """
    if limit is not None and (type(limit) is not int or limit < 0):
        raise ConfigError("limit", "an integer from 0 or None", limit)
