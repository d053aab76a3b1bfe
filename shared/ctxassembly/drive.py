"""The two drivers of the flow: they do what it asks for and differ by `await`."""

from __future__ import annotations

import inspect
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, cast

from ctxassembly.config import AssemblyConfig
from ctxassembly.context import Context
from ctxassembly.errors import InputError
from ctxassembly.flow import assemble_flow
from ctxassembly.requests import AsyncEmbeddings, AsyncStore, Embeddings, FetchChunks, Request, Store
from ctxassembly.supplement import Supplement
from ctxassembly.types import Hit

Ask = Callable[[Any], Any]
"""Given what a request holds, the reply."""
AwaitableAsk = Callable[[Any], Awaitable[Any]]


def assemble(
    hits: Sequence[Hit],
    config: AssemblyConfig | None = None,
    *,
    query: str | None = None,
    store: Store | None = None,
    supplement: str | Supplement | None = None,
    embeddings: Embeddings | None = None,
) -> Context:
    """The context for `hits`, best first; neighbours come from `store` in one round trip where it keeps an index.

    `supplement` is text that no chunk holds, from a graph or a database; it stands behind a separator of its own.
    `embeddings` is for `dedup="semantic"`: it gets the texts of all chunks without a vector in one batch.

    Raises:
        InputError: `hits` is not a sequence of Hit, `store` has no `fetch`, `embeddings` can't embed, or `supplement`
            is no text.
        ConfigError: `dedup="semantic"` with neither `embeddings` nor a vector in any hit.
        StoreError: `store` or `embeddings` failed and `on_store_error="raise"`.
        VocabularyError: the tokenizer's vocabulary can't be had.
    """
    fetch, embed = _fetcher(store), _embedder(embeddings)
    flow = assemble_flow(
        hits,
        config,
        query=query,
        can_fetch=store is not None,
        can_embed=embeddings is not None,
        supplement=supplement,
        clock=time.perf_counter,
    )
    try:
        request = next(flow)
        while True:
            ask, asked_for = _question(request, fetch, embed)
            try:
                reply = ask(asked_for)
            except Exception as error:  # noqa: BLE001 - what a failure means is the flow's to decide
                request = flow.throw(error)
            else:
                request = flow.send(reply)
    except StopIteration as end:
        return cast(Context, end.value)


async def aassemble(
    hits: Sequence[Hit],
    config: AssemblyConfig | None = None,
    *,
    query: str | None = None,
    store: AsyncStore | Store | None = None,
    supplement: str | Supplement | None = None,
    embeddings: AsyncEmbeddings | Embeddings | None = None,
) -> Context:
    """The same as `assemble`, awaited. What can't be awaited is called in a thread: the loop goes on meanwhile."""
    fetch, embed = _awaitable_fetcher(store), _awaitable_embedder(embeddings)
    flow = assemble_flow(
        hits,
        config,
        query=query,
        can_fetch=store is not None,
        can_embed=embeddings is not None,
        supplement=supplement,
        clock=time.perf_counter,
    )
    try:
        request = next(flow)
        while True:
            ask, asked_for = _question(request, fetch, embed)
            try:
                reply = await ask(asked_for)
            except Exception as error:  # noqa: BLE001 - see above
                request = flow.throw(error)
            else:
                request = flow.send(reply)
    except StopIteration as end:
        return cast(Context, end.value)


def _question(request: Request, fetch: Ask | None, embed: Ask | None) -> tuple[Ask, Sequence[Any]]:
    """Whom to ask, and for what. The flow asks nobody who isn't there."""
    if isinstance(request, FetchChunks):
        return cast(Ask, fetch), request.refs
    return cast(Ask, embed), request.texts


def _fetcher(store: object) -> Ask | None:
    if store is not None and not hasattr(store, "fetch"):
        raise InputError(f"{type(store).__name__} has no fetch(refs); a store with afetch alone needs aassemble()")
    return None if store is None else cast(Store, store).fetch


def _awaitable_fetcher(store: object) -> AwaitableAsk | None:
    afetch: AwaitableAsk | None = getattr(store, "afetch", None)
    if afetch is not None or store is None:
        return afetch
    if not hasattr(store, "fetch"):
        raise InputError(f"{type(store).__name__} has neither fetch(refs) nor afetch(refs)")
    return _in_thread(cast(Store, store).fetch)


def _embedder(embeddings: object) -> Ask | None:
    if embeddings is None:
        return None
    ask = _synchronous(embeddings)
    if ask is None:
        raise InputError(
            f"{type(embeddings).__name__} is no function and has no embed_documents(texts); "
            "what can only be awaited needs aassemble()"
        )
    return lambda texts: ask(list(texts))


def _awaitable_embedder(embeddings: object) -> AwaitableAsk | None:
    if embeddings is None:
        return None
    awaited: AwaitableAsk | None = getattr(embeddings, "aembed_documents", None)
    if awaited is None and _is_async(embeddings):
        awaited = cast(AwaitableAsk, embeddings)
    if awaited is None:
        ask = _synchronous(embeddings)
        if ask is None:
            raise InputError(
                f"{type(embeddings).__name__} is no function and has neither embed_documents(texts) "
                "nor aembed_documents(texts)"
            )
        awaited = _in_thread(ask)
    return lambda texts: awaited(list(texts))


def _synchronous(embeddings: object) -> Ask | None:
    method: Ask | None = getattr(embeddings, "embed_documents", None)
    if method is None and callable(embeddings) and not _is_async(embeddings):
        return embeddings
    return method


def _is_async(function: object) -> bool:
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(getattr(function, "__call__", None))  # noqa: B004


def _in_thread(ask: Ask) -> AwaitableAsk:
    async def awaited(asked_for: Any) -> Any:
        import asyncio  # here, so that importing the engine stays light

        return await asyncio.to_thread(ask, asked_for)

    return awaited
