"""One run of enrichment: its services, its estimate, and the outcome of each document."""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator, Mapping
from dataclasses import dataclass, field
from typing import Any

from ctxassembly.answering.requests import AskModel
from ctxassembly.concurrency import is_async
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
    sum_known,
)
from ctxassembly.errors import ConfigError, InputError
from ctxassembly.protocols import EnrichmentTable
from ctxassembly.runtime.answer_services import AnswerServices
from ctxassembly.runtime.driver import adrive, drive
from ctxassembly.runtime.port import Port
from ctxassembly.safe_repr import describe_error, safe_repr
from ctxassembly.tokens.counter import counter_for

_MESSAGE_OVERHEAD_TOKENS = 8
"""Tokens per call for the roles of its two messages."""


@dataclass(frozen=True, slots=True)
class EnrichmentEstimate:
    """The price of an enrichment in model calls and tokens, computed before it starts. `print` shows it on one line.

    >>> print(EnrichmentEstimate(documents=120, chunks=900, calls=130, tokens_in=410_000, max_tokens_out=450_000))
    documents 120, chunks 900, calls 130, tokens in 410,000, tokens out at most 450,000
    """

    documents: int
    """Documents that need notes or embeddings."""
    chunks: int
    calls: int
    """Model calls, without retries."""
    tokens_in: int
    """Prompt tokens, counted by `EnrichmentConfig.encoding`, without the schemas that a provider may add."""
    max_tokens_out: int
    """Upper bound of the reply tokens: the sum of the `max_tokens` of the calls."""

    def __str__(self) -> str:
        return (
            f"documents {self.documents:,}, chunks {self.chunks:,}, calls {self.calls:,}, "
            f"tokens in {self.tokens_in:,}, tokens out at most {self.max_tokens_out:,}"
        )


@dataclass(frozen=True)
class EnrichmentResult:
    """The outcome of an enrichment. `print` shows it on a few lines.

    >>> estimate = EnrichmentEstimate(documents=2, chunks=9, calls=2, tokens_in=4_000, max_tokens_out=5_000)
    >>> print(EnrichmentResult(estimate, documents=1, chunks=4, failed={"lab": "TimeoutError: no answer within 120 s"}))
    documents 1, chunks 4, failed 1, left 0
    failed: lab: TimeoutError: no answer within 120 s
    """

    estimate: EnrichmentEstimate
    documents: int = 0
    """Documents whose notes were stored."""
    chunks: int = 0
    failed: Mapping[str, str] = field(default_factory=dict, hash=False)
    """The reason of the failure by document id. The next run tries these documents again."""
    remaining: int = 0
    """Documents that need notes and weren't tried: beyond `limit`, or after the run was stopped."""
    stop_reason: str = ""
    """The reason why the run was stopped early; empty if it wasn't."""
    dropped: Mapping[str, int] = field(default_factory=dict, hash=False)
    """The number of values that were missing, malformed or too long, by field."""
    tokens_in: int | None = None
    """Prompt tokens of the answered calls as the model reports them; None if it doesn't."""
    tokens_out: int | None = None

    def __str__(self) -> str:
        counts = {"documents": self.documents, "chunks": self.chunks}
        counts |= {"failed": len(self.failed), "left": self.remaining}
        if self.tokens_in is not None and self.tokens_out is not None:
            counts |= {"tokens in": self.tokens_in, "tokens out": self.tokens_out}
        lines = [", ".join(f"{name} {number:,}" for name, number in counts.items())]
        lines += [f"stopped: {self.stop_reason}"] if self.stop_reason else []
        lines += [f"dropped: {name} {number:,}" for name, number in self.dropped.items()]
        lines += [f"failed: {document_id}: {reason}" for document_id, reason in self.failed.items()]
        return "\n".join(lines)


class EnrichmentRun:
    """The services of a run, the documents that need work, and their outcomes so far."""

    def __init__(
        self,
        index: Any,
        model: Any,
        config: EnrichmentConfig | None,
        embed: Any,
        limit: int | None,
        *,
        needs_sync: bool = True,
    ) -> None:
        """Check the arguments of `enrich`. Nothing is read yet.

        Raises:
            ConfigError: `limit` is neither None nor an integer from 0.
            InputError: an argument has the wrong type, or can only be awaited.
        """
        if limit is not None and (type(limit) is not int or limit < 0):
            raise ConfigError("limit", "an integer from 0 or None", limit)
        if config is not None and not isinstance(config, EnrichmentConfig):
            raise InputError(f"config must be an EnrichmentConfig or None, got {safe_repr(config)}")
        table = getattr(index, "enrichment", None)
        if table is None:
            raise InputError(f"index must be a PostgresIndex or a MemoryIndex, got {safe_repr(index)}")
        if needs_sync and is_async(getattr(model, "ask", model)):
            raise InputError("a model that can only be awaited needs aenrich()")
        self._embed = Port.of(embed, "embed_documents")
        if embed is not None and not self._embed:
            raise InputError(
                f"embed must be a function from texts to vectors, or have embed_documents, got {safe_repr(embed)}"
            )
        if needs_sync:
            self._embed.require_sync("embeddings that can only be awaited need aenrich()")
        self.config = config or EnrichmentConfig()
        self._limit = limit
        self._table: EnrichmentTable = table
        self._count = counter_for(self.config.encoding).count
        self._model = AnswerServices(model, None, AnswerConfig())
        self._pending: list[tuple[Outline, PendingWork]] = []
        self._outcomes: dict[str, DocumentOutcome] = {}
        self._consecutive_failures = 0
        self.estimate = EnrichmentEstimate(0, 0, 0, 0, 0)
        self.stop_reason = ""
        """The reason to stop before all documents are done; empty while the run may continue."""

    def scan(self) -> list[Outline]:
        """Return the documents of this run, and set `estimate`. The model isn't called."""
        has_embedder = bool(self._embed)
        self._pending = [
            (outline, work)
            for outline in self._table.outlines()
            if (work := pending_work(outline, self.config, has_embedder=has_embedder))
        ]
        selected = self._pending[: self._limit]
        prices = [self._estimate_document(outline) for outline, work in selected if work == "notes"]
        calls, tokens_in, tokens_out = map(sum, zip(*prices, strict=True)) if prices else (0, 0, 0)
        chunks = sum(len(outline.keys) for outline, _ in selected)
        self.estimate = EnrichmentEstimate(len(selected), chunks, calls, tokens_in, tokens_out)
        return [outline for outline, _ in selected]

    def _estimate_document(self, outline: Outline) -> tuple[int, int, int]:
        """Return the calls, the prompt tokens and the maximum of reply tokens for a document."""
        document = self._table.read(outline)
        texts = [chunk.text for chunk in document.chunks]
        requests = [
            notes_request(document.title, "", part, texts, self.config)
            for part in split_into_calls([self._count(text) for text in texts], self.config)
        ]
        tokens_in = sum(self._count(message["content"]) for request in requests for message in request.messages)
        # Each call but the first also gets the summary so far.
        summaries = max(0, len(requests) - 1) * self.config.max_reply_tokens(0)
        tokens_in += len(requests) * _MESSAGE_OVERHEAD_TOKENS + summaries
        return len(requests), tokens_in, sum(request.max_tokens or 0 for request in requests)

    def enrich(self, outline: Outline) -> DocumentOutcome:
        """Write the notes on one document, and return the outcome."""
        return drive(self._flow(outline), self._handle)

    async def aenrich(self, outline: Outline) -> DocumentOutcome:
        """Async version of `enrich`."""
        return await adrive(self._flow(outline), self._ahandle)

    def _flow(self, outline: Outline) -> Generator[Any, Any, DocumentOutcome]:
        return document_flow(outline, self.config, self._count, has_embedder=bool(self._embed))

    def _handle(self, request: Any) -> Any:
        if isinstance(request, AskModel):
            return self._model.ask(request)
        port, argument = self._port_for(request)
        return port.call(argument)

    async def _ahandle(self, request: Any) -> Any:
        if isinstance(request, AskModel):
            return await self._model.aask(request)
        port, argument = self._port_for(request)
        return await port.acall(argument)

    def _port_for(self, request: Any) -> tuple[Port, Any]:
        if isinstance(request, EmbedTexts):
            return self._embed, list(request.texts)
        if isinstance(request, ReadDocument):
            return Port(self._table.read), request.outline
        return Port(self._table.write), request

    def record(self, outline: Outline, outcome: DocumentOutcome | Exception) -> None:
        """Count the outcome of a document. `max_failures` failures in a row set `stop_reason`."""
        if isinstance(outcome, Exception):
            outcome = DocumentOutcome(failure=describe_error(outcome))
        self._outcomes[outline.document_id] = outcome
        self._consecutive_failures = self._consecutive_failures + 1 if outcome.failure else 0
        if self._consecutive_failures >= self.config.max_failures:
            self.stop_reason = (
                f"{self._consecutive_failures} documents in a row failed, the last one by {outcome.failure}"
            )

    def commit(self) -> None:
        """Let the index use what was written."""
        self._table.commit(sum(one.chunks for one in self._outcomes.values() if not one.failure))

    def result(self) -> EnrichmentResult:
        """Return the outcomes of all documents as one result."""
        outcomes = self._outcomes.values()
        succeeded = [one for one in outcomes if not one.failure]
        return EnrichmentResult(
            self.estimate,
            len(succeeded),
            sum(one.chunks for one in succeeded),
            {name: one.failure for name, one in self._outcomes.items() if one.failure},
            len(self._pending) - len(self._outcomes),
            self.stop_reason,
            dict(sorted(sum((one.dropped for one in succeeded), Counter[str]()).items())),
            sum_known(one.tokens_in for one in outcomes),
            sum_known(one.tokens_out for one in outcomes),
        )
