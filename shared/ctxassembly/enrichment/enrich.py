"""`enrich` and `aenrich`: notes of a model on the documents of an index, by which their chunks are found."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import aclosing
from importlib.util import find_spec
from typing import Any

from ctxassembly.concurrency import aiter_completed, iter_completed, to_async
from ctxassembly.config.enrichment import EnrichmentConfig
from ctxassembly.enrichment.run import EnrichmentEstimate, EnrichmentResult, EnrichmentRun, check_limit
from ctxassembly.errors import InputError
from ctxassembly.protocols import AsyncEmbeddings, ChatModel, Embeddings
from ctxassembly.safe_repr import safe_repr

Advance = Callable[[int], object]


def progress_bar(total: int | None, unit: str = "chunk", title: str = "") -> tuple[Advance, Callable[[], object]]:
    """A function to tell of things done, and one to call at the end: a bar of tqdm's or rich's, if one is installed."""
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
"""True shows a bar of tqdm's or rich's, whichever is installed, with the price in its title. A function gets the number
of documents done, with the estimate: for the first time with 0, before the model is asked."""


def enrich(
    index: Any,
    model: ChatModel,
    config: EnrichmentConfig | None = None,
    *,
    embed: Embeddings | None = None,
    limit: int | None = None,
    progress: Progress = True,
) -> EnrichmentResult:
    """Have `model` write notes on the documents of `index`: a summary, and for each chunk a context and questions.

    Questions and context are searched by keyword, and a context is embedded with its chunk. Neither is ever shown; the
    summary stands once above the passages of its document.

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

    Documents are written one by one, each as a whole. So a run that was killed goes on where it was when it is started
    again, and a second one asks for nothing. A document whose text has changed is done anew, as all are under another
    `config`. In a framework's table, a vector store that writes a chunk again with the same text brings back its own
    embedding: call `enrich` again with another `config`, or have it write only what has changed.

    Args:
        index: a PostgresIndex or a MemoryIndex. `index.with_filter(filter)` takes those documents alone that pass.
        model: as an AnswerChain has it. Retries are the model's own. It is called from several threads at once.
        config: the settings; None means the defaults.
        embed: a function from a list of texts to one vector for each, or an object with `embed_documents`: each chunk
            is embedded anew, with its context before its text. None leaves the embeddings as they are; given later, it
            embeds without asking the model again.
        limit: the most documents of this run. None takes all.
        progress: show a bar, or tell a function.

    Raises:
        ConfigError: `limit` is out of range, or the table has no columns for notes: `PostgresIndex.with_enrichment`.
        InputError: an argument has the wrong type, or can only be awaited.
    """
    check_limit(limit)
    run = EnrichmentRun(index, _check_model(model), EnrichmentConfig() if config is None else config, embed)
    outlines = run.scan(limit)
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
    """The same as `enrich`, awaited. What can only be called is called in threads.

    >>> import asyncio
    >>> from ctxassembly import Chunk, MemoryIndex
    >>> index = MemoryIndex([Chunk("lab#0", "lab", "Ferritin is measured in the morning.", 0)])
    >>> async def model(request):
    ...     return "I won't."
    >>> print(asyncio.run(aenrich(index, model, progress=False)))
    documents 0, chunks 0, failed 1, left 0
    failed: lab: the reply has no usable field: "I won't."
    """
    check_limit(limit)
    run = EnrichmentRun(
        index, _check_model(model), EnrichmentConfig() if config is None else config, embed, can_await=True
    )
    outlines = await to_async(run.scan)(limit)
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
        await to_async(lambda _: run.commit())(None)
    return run.result()


def estimate_enrichment(
    index: Any, config: EnrichmentConfig | None = None, *, embed: Any = None, limit: int | None = None
) -> EnrichmentEstimate:
    """The price of `enrich` with the same arguments, in tokens. No model is asked, and nothing is written.

    >>> from ctxassembly import Chunk, MemoryIndex
    >>> index = MemoryIndex([Chunk("lab#0", "lab", "Ferritin is measured in the morning.", 0)])
    >>> estimate_enrichment(index).calls
    1
    """
    check_limit(limit)
    run = EnrichmentRun(index, None, EnrichmentConfig() if config is None else config, embed)
    run.scan(limit)
    return run.estimate


def _check_model(model: Any) -> Any:
    if model is None:
        raise InputError("model must be a function from a request to a reply, or have ask(request), got None")
    return model


def _start_progress(progress: Any, estimate: EnrichmentEstimate) -> tuple[Callable[[], object], Callable[[], object]]:
    """A function to call after each document, and one for the end. The price is told at once."""
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
