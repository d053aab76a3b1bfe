"""`enrich` and `aenrich`: a language model writes search notes on the documents of an index."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from contextlib import AbstractContextManager, aclosing
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from ctxassembly.concurrency import aiter_completed, is_async, iter_completed
from ctxassembly.config.enrichment import EnrichmentConfig
from ctxassembly.data.enrichment import Outline, ReadDocument, WriteNotes
from ctxassembly.data.requests import EmbedTexts
from ctxassembly.data.validation import check_type
from ctxassembly.enrichment.pipeline import PendingWork, document_flow, notes_request, pending_work, split_into_calls
from ctxassembly.errors import ConfigError, InputError
from ctxassembly.protocols import AsyncEmbeddings, ChatModel, Embeddings, EnrichmentTable
from ctxassembly.runtime.answer_run import AskedModel
from ctxassembly.runtime.driver import Port, adrive, drive
from ctxassembly.runtime.progress import Advance, progress_bar
from ctxassembly.safe_repr import describe_error, safe_repr
from ctxassembly.tokens.counter import counter_for

ENCODING = "cl100k_base"
"""The tokenizer that counts the tokens of calls. Models count a few percent differently, which the limits allow for."""
MAX_FAILURES = 10
"""Documents that end the run when they fail one after the other. One failure may be the document's; ten in a row are
the model's, or the key's."""
MAX_NAMED = 5
"""Keys that a printed estimate names."""
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
    """Prompt tokens, counted by `ENCODING`, without the schemas that a provider may add."""
    max_tokens_out: int
    """Upper bound of the reply tokens: the sum of the `max_tokens` of the calls."""
    split_by: tuple[str, ...] = ()
    """The metadata keys by which chunks of one document id are several documents, each with notes of its own. See
    `EnrichmentConfig.varying_keys`."""

    def __str__(self) -> str:
        split_by = f" (split by {', '.join(map(repr, self.split_by[:MAX_NAMED]))})" if self.split_by else ""
        return (
            f"documents {self.documents:,}{split_by}, chunks {self.chunks:,}, calls {self.calls:,}, "
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
    """The reasons of the failures by document id. The next run tries these documents again."""
    remaining: int = 0
    """Documents that need notes and weren't tried: beyond `limit`, or after the run was stopped."""
    stop_reason: str = ""
    """The reason why the run was stopped early; empty if it wasn't."""

    def __str__(self) -> str:
        counts = f"documents {self.documents:,}, chunks {self.chunks:,}"
        lines = [f"{counts}, failed {len(self.failed):,}, left {self.remaining:,}"]
        lines += [f"stopped: {self.stop_reason}"] if self.stop_reason else []
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
        check_type("config", config, EnrichmentConfig)
        table = getattr(index, "enrichment", None)
        if table is None:
            known = "a PostgresIndex, QdrantIndex or MemoryIndex"
            raise InputError(f"index must be {known}, got {safe_repr(index)}")
        if model is None:
            raise InputError("model must be a function from a request to a reply, or have ask(request), got None")
        if needs_sync and is_async(getattr(model, "ask", model)):
            raise InputError("a model that can only be awaited needs aenrich()")
        self._embed = Port.of_embedder(embed)
        if needs_sync:
            self._embed.require_sync("embeddings that can only be awaited need aenrich()")
        self.config = config or EnrichmentConfig()
        self._limit = limit
        self._table: EnrichmentTable = table
        self._count = counter_for(ENCODING)
        self._ports = {
            **AskedModel(model).ports,
            EmbedTexts: self._embed.taking(lambda request: (list(request.texts),)),
            ReadDocument: Port(lambda request: table.read(request.outline)),
            WriteNotes: Port(table.write),
        }
        self._pending: list[tuple[Outline, PendingWork]] = []
        self._failures: dict[Outline, str] = {}
        """By document the reason why it has no notes; empty if it has."""
        self._consecutive_failures = 0
        self.estimate = EnrichmentEstimate(0, 0, 0, 0, 0)
        self.stop_reason = ""
        """The reason to stop before all documents are done; empty while the run may continue."""

    def scan(self) -> list[Outline]:
        """Return the documents of this run, and set `estimate`. The model isn't called."""
        work_on = partial(pending_work, config=self.config, has_embedder=bool(self._embed))
        outlines = self._table.outlines(self.config.varying_keys)
        self._pending = [(outline, work) for outline in outlines if (work := work_on(outline))]
        selected = self._pending[: self._limit]
        prices = [self._estimate_document(outline) for outline, work in selected if work == "notes"]
        calls, tokens_in, tokens_out = map(sum, zip(*prices, strict=True)) if prices else (0, 0, 0)
        chunks = sum(len(outline.keys) for outline, _ in selected)
        split_by = tuple(sorted({key for outline, _ in selected for key in outline.split_by}))
        self.estimate = EnrichmentEstimate(len(selected), chunks, calls, tokens_in, tokens_out, split_by)
        return [outline for outline, _ in selected]

    def _flow(self, outline: Outline) -> Generator[Any, Any, str]:
        return document_flow(outline, self.config, self._count, has_embedder=bool(self._embed))

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

    def enrich(self, outline: Outline) -> str:
        """Write the notes on one document, and return the failure; empty if there was none."""
        return drive(self._flow(outline), self._ports)

    async def aenrich(self, outline: Outline) -> str:
        """Async version of `enrich`."""
        return await adrive(self._flow(outline), self._ports)

    def bar(self, is_shown: bool) -> AbstractContextManager[Advance]:
        """Return the progress bar of the run, with the estimate in its title."""
        return progress_bar(self.estimate.documents, "document", str(self.estimate), is_shown=is_shown)

    def record(self, outline: Outline, failure: str | Exception) -> None:
        """Record the outcome of a document. `MAX_FAILURES` failures in a row set `stop_reason`."""
        if isinstance(failure, Exception):
            failure = describe_error(failure)
        self._failures[outline] = failure
        self._consecutive_failures = self._consecutive_failures + 1 if failure else 0
        if self._consecutive_failures >= MAX_FAILURES:
            self.stop_reason = f"{self._consecutive_failures} documents in a row failed, the last one by {failure}"

    def commit(self) -> None:
        """Let the index use what was written."""
        self._table.commit(self.result().chunks)

    def result(self) -> EnrichmentResult:
        """Return the outcomes of all documents as one result."""
        succeeded = [outline for outline, failure in self._failures.items() if not failure]
        failed: dict[str, dict[str, None]] = {}
        for outline, failure in self._failures.items():
            if failure:
                failed.setdefault(outline.document_id, {})[failure] = None
        return EnrichmentResult(
            self.estimate,
            len(succeeded),
            sum(len(outline.keys) for outline in succeeded),
            {document_id: "; ".join(reasons) for document_id, reasons in failed.items()},
            len(self._pending) - len(self._failures),
            self.stop_reason,
        )


def enrich(
    index: Any,
    model: ChatModel,
    config: EnrichmentConfig | None = None,
    *,
    embed: Embeddings | None = None,
    limit: int | None = None,
    progress: bool = True,
) -> EnrichmentResult:
    """Have `model` write notes on the documents of `index`: summary and labels, context and questions of chunks.

    Experimental.

    Keyword search covers questions and contexts, and a context is embedded with its chunk. Neither is ever shown; the
    summary is shown once above the passages of its document. Labels (category, entity type, place, date) are in the
    metadata of hits, for boosts and affinity.

    A document is what may be read as one: its chunks share the document id and all metadata that neighbors have to
    share. So no note on a tenant's document is written from another tenant's text.

    >>> from ctxassembly import Chunk, MemoryIndex, RetrievalConfig, retrieve
    >>> index = MemoryIndex([Chunk("lab#0", "lab", "Ferritin is measured in the morning.", 0)])
    >>> def model(request):
    ...     return '''{"summary": "On blood tests.", "chunks": [{"chunk": 1, "context": "On the laboratory.",
    ...                "questions": ["When do they test my iron?"]}]}'''
    >>> print(estimate_enrichment(index))
    documents 1, chunks 1, calls 1, tokens in 371, tokens out at most 890
    >>> print(enrich(index, model, progress=False))
    documents 1, chunks 1, failed 0, left 0
    >>> retrieved = retrieve("iron", RetrievalConfig(strategy="keyword"), index=index)
    >>> [(hit.chunk.text, hit.chunk.metadata["page_summary"]) for hit in retrieved.hits]
    [('Ferritin is measured in the morning.', 'On blood tests.')]

    Each document is stored as soon as it is done, as a whole. So an interrupted run resumes where it was, and a second
    run calls the model for nothing. A document is enriched again when its text or `config` has changed. In a table of
    LangChain or LlamaIndex, a vector store that rewrites a chunk with the same text restores its own embedding: call
    `enrich` with another `config` then, or let the store write only changed chunks.

    Args:
        index: a PostgresIndex, QdrantIndex or MemoryIndex. `index.with_filter(filter)` limits the run to
            matching documents.
        model: a model as for `AnswerChain`. It is called from several threads at once and does its own retries.
        config: the settings; None means the defaults.
        embed: a function from a list of texts to one vector each, or an object with `embed_documents`. Each chunk is
            embedded again, with its context before its text. None keeps the stored embeddings; passing `embed` in a
            later run embeds without calling the model again.
        limit: the maximum number of documents in this run; None means all.
        progress: True shows a bar of tqdm, if that is installed, with the estimate in its title.

    Raises:
        ConfigError: `limit` is out of range, or the table has no columns for notes (add them with
            `PostgresIndex.with_enrichment`).
        InputError: an argument has the wrong type, or can only be awaited.
    """
    run = EnrichmentRun(index, model, config, embed, limit)
    outlines = run.scan()
    with run.bar(progress) as advance:
        try:
            for outline, failure in iter_completed(run.enrich, outlines, run.config.concurrency):
                run.record(outline, failure)
                advance(1)
                if run.stop_reason:
                    break
        finally:
            run.commit()
    return run.result()


async def aenrich(
    index: Any,
    model: ChatModel,
    config: EnrichmentConfig | None = None,
    *,
    embed: AsyncEmbeddings | Embeddings | None = None,
    limit: int | None = None,
    progress: bool = True,
) -> EnrichmentResult:
    """Async version of `enrich`. A sync model or `embed` is called in threads.

    >>> import asyncio
    >>> from ctxassembly import Chunk, MemoryIndex
    >>> index = MemoryIndex([Chunk("lab#0", "lab", "Ferritin is measured in the morning.", 0)])
    >>> async def model(request):
    ...     return "I won't."
    >>> print(asyncio.run(aenrich(index, model, progress=False)))
    documents 0, chunks 0, failed 1, left 0
    failed: lab: the reply has no usable field: "I won't."
    """
    run = EnrichmentRun(index, model, config, embed, limit, needs_sync=False)
    outlines = await Port(run.scan).acall()
    with run.bar(progress) as advance:
        try:
            async with aclosing(aiter_completed(run.aenrich, outlines, run.config.concurrency)) as outcomes:
                async for outline, failure in outcomes:
                    run.record(outline, failure)
                    advance(1)
                    if run.stop_reason:
                        break
        finally:
            await Port(run.commit).acall()
    return run.result()


def estimate_enrichment(
    index: Any, config: EnrichmentConfig | None = None, *, embed: Any = None, limit: int | None = None
) -> EnrichmentEstimate:
    """Return the price of `enrich` with the same arguments, in tokens. The model isn't called; nothing is written.

    >>> from ctxassembly import Chunk, MemoryIndex
    >>> index = MemoryIndex([Chunk("lab#0", "lab", "Ferritin is measured in the morning.", 0)])
    >>> estimate_enrichment(index).calls
    1
    """
    run = EnrichmentRun(index, lambda _: "", config, embed, limit)
    run.scan()
    return run.estimate
