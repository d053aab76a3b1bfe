"""`enrich` and `aenrich`: a language model writes search notes on the documents of an index."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import aclosing
from importlib.util import find_spec
from typing import Any

from ctxassembly.concurrency import aiter_completed, iter_completed
from ctxassembly.config.enrichment import EnrichmentConfig
from ctxassembly.enrichment.run import EnrichmentEstimate, EnrichmentResult, EnrichmentRun
from ctxassembly.errors import InputError
from ctxassembly.protocols import AsyncEmbeddings, ChatModel, Embeddings
from ctxassembly.runtime.port import Port
from ctxassembly.safe_repr import safe_repr

Advance = Callable[[int], object]


def progress_bar(total: int | None, unit: str = "chunk", title: str = "") -> tuple[Advance, Callable[[], object]]:
    """Return a function that advances a progress bar, and one that closes it.

    The bar is tqdm's or rich's, whichever is installed; with neither, both functions do nothing.
    """
    if find_spec("tqdm"):
        from tqdm.auto import tqdm

        bar = tqdm(total=total, unit=unit, desc=title or None)
        return bar.update, bar.close
    if find_spec("rich"):
        from rich.progress import Progress

        shown_bar = Progress()
        task = shown_bar.add_task(title or f"{unit}s", total=total)
        shown_bar.start()
        return lambda done: shown_bar.advance(task, done), shown_bar.stop
    return lambda _: None, lambda: None


Progress = bool | Callable[[int, EnrichmentEstimate], object]
"""True shows a bar of tqdm or rich, whichever is installed, with the estimate in its title. A function gets the number
of documents done and the estimate; the first call, with 0, comes before any model call."""


def enrich(
    index: Any,
    model: ChatModel,
    config: EnrichmentConfig | None = None,
    *,
    embed: Embeddings | None = None,
    limit: int | None = None,
    progress: Progress = True,
) -> EnrichmentResult:
    """Have `model` write notes on the documents of `index`: a summary, and a context and questions for each chunk.

    Keyword search covers questions and contexts, and a context is embedded with its chunk. Neither is ever shown; the
    summary is shown once above the passages of its document.

    >>> from ctxassembly import Chunk, MemoryIndex, RetrievalConfig, retrieve
    >>> index = MemoryIndex([Chunk("lab#0", "lab", "Ferritin is measured in the morning.", 0)])
    >>> def model(request):
    ...     return '''{"summary": "On blood tests.", "chunks": [{"chunk": 1, "context": "On the laboratory.",
    ...                "questions": ["When do they test my iron?"]}]}'''
    >>> print(enrich(index, model, progress=lambda done, estimate: done or print(estimate)))
    documents 1, chunks 1, calls 1, tokens in 277, tokens out at most 800
    documents 1, chunks 1, failed 0, left 0
    >>> retrieved = retrieve("iron", RetrievalConfig(strategy="keyword"), index=index)
    >>> [(hit.chunk.text, hit.chunk.metadata["page_summary"]) for hit in retrieved.hits]
    [('Ferritin is measured in the morning.', 'On blood tests.')]

    Each document is stored as soon as it is done, as a whole. So an interrupted run resumes where it was, and a second
    run calls the model for nothing. A document is enriched again when its text or `config` has changed. In a table of
    LangChain or LlamaIndex, a vector store that rewrites a chunk with the same text restores its own embedding: call
    `enrich` with another `config` then, or let the store write only changed chunks.

    Args:
        index: a PostgresIndex or a MemoryIndex. `index.with_filter(filter)` limits the run to matching documents.
        model: a model as for `AnswerChain`. It is called from several threads at once and does its own retries.
        config: the settings; None means the defaults.
        embed: a function from a list of texts to one vector each, or an object with `embed_documents`. Each chunk is
            embedded again, with its context before its text. None keeps the stored embeddings; passing `embed` in a
            later run embeds without calling the model again.
        limit: the maximum number of documents in this run; None means all.
        progress: True for a progress bar, or a function; see `Progress`.

    Raises:
        ConfigError: `limit` is out of range, or the table has no columns for notes (add them with
            `PostgresIndex.with_enrichment`).
        InputError: an argument has the wrong type, or can only be awaited.
    """
    run = EnrichmentRun(index, _check_model(model), config, embed, limit)
    outlines = run.scan()
    report_done, close_progress = _start_progress(progress, run.estimate)
    try:
        for outline, outcome in iter_completed(run.enrich, outlines, run.config.concurrency):
            run.record(outline, outcome)
            report_done()
            if run.stop_reason:
                break
    finally:
        close_progress()
        run.commit()
    return run.result()


async def aenrich(
    index: Any,
    model: ChatModel,
    config: EnrichmentConfig | None = None,
    *,
    embed: AsyncEmbeddings | Embeddings | None = None,
    limit: int | None = None,
    progress: Progress = True,
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
    run = EnrichmentRun(index, _check_model(model), config, embed, limit, needs_sync=False)
    outlines = await Port(run.scan).acall()
    report_done, close_progress = _start_progress(progress, run.estimate)
    try:
        async with aclosing(aiter_completed(run.aenrich, outlines, run.config.concurrency)) as outcomes:
            async for outline, outcome in outcomes:
                run.record(outline, outcome)
                report_done()
                if run.stop_reason:
                    break
    finally:
        close_progress()
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
    run = EnrichmentRun(index, None, config, embed, limit)
    run.scan()
    return run.estimate


def _check_model(model: Any) -> Any:
    if model is None:
        raise InputError("model must be a function from a request to a reply, or have ask(request), got None")
    return model


def _start_progress(progress: Any, estimate: EnrichmentEstimate) -> tuple[Callable[[], object], Callable[[], object]]:
    """Return a function to call after each document, and one for the end. The estimate is shown at once."""
    if not (isinstance(progress, bool) or callable(progress)):
        raise InputError(f"progress must be True, False or a function, got {safe_repr(progress)}")
    if callable(progress):
        progress(0, estimate)
        done = iter(range(1, estimate.documents + 1))
        return lambda: progress(next(done), estimate), lambda: None
    if not progress:
        return lambda: None, lambda: None
    advance, close = progress_bar(estimate.documents, "document", str(estimate))
    return lambda: advance(1), close
