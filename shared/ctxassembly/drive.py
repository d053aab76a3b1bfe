"""The two drivers of the flow: they do what it asks for and differ by `await`."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Sequence
from typing import cast

from ctxassembly.config import AssemblyConfig
from ctxassembly.context import Context
from ctxassembly.errors import InputError
from ctxassembly.flow import assemble_flow
from ctxassembly.requests import AsyncStore, Store
from ctxassembly.supplement import Supplement
from ctxassembly.types import Chunk, ChunkRef, Hit


def assemble(
    hits: Sequence[Hit],
    config: AssemblyConfig | None = None,
    *,
    query: str | None = None,
    store: Store | None = None,
    supplement: str | Supplement | None = None,
) -> Context:
    """The context for `hits`, best first; neighbours come from `store` in one round trip where it keeps an index.

    `supplement` is text that no chunk holds, from a graph or a database; it stands behind a separator of its own.

    Raises:
        InputError: `hits` is not a sequence of Hit, `store` has no `fetch`, or `supplement` is no text.
        StoreError: `store` failed and `on_store_error="raise"`.
        VocabularyError: the tokenizer's vocabulary can't be had.
    """
    if store is not None and not hasattr(store, "fetch"):
        raise InputError(f"{type(store).__name__} has no fetch(refs); a store with afetch alone needs aassemble()")
    flow = assemble_flow(
        hits, config, query=query, can_fetch=store is not None, supplement=supplement, clock=time.perf_counter
    )
    try:
        request = next(flow)
        while store is not None:
            try:
                reply = store.fetch(request.refs)
            except Exception as error:  # noqa: BLE001 - what a failed store means is the flow's to decide
                request = flow.throw(error)
            else:
                request = flow.send(reply)
    except StopIteration as end:
        return cast(Context, end.value)
    raise AssertionError("the flow asked for chunks without a store")


async def aassemble(
    hits: Sequence[Hit],
    config: AssemblyConfig | None = None,
    *,
    query: str | None = None,
    store: AsyncStore | Store | None = None,
    supplement: str | Supplement | None = None,
) -> Context:
    """The same as `assemble`, awaited. A store with `fetch` alone is called in a thread: the loop goes on meanwhile."""
    afetch = _awaitable(store)
    flow = assemble_flow(
        hits, config, query=query, can_fetch=store is not None, supplement=supplement, clock=time.perf_counter
    )
    try:
        request = next(flow)
        while True:
            try:
                reply = await afetch(request.refs)
            except Exception as error:  # noqa: BLE001 - see above
                request = flow.throw(error)
            else:
                request = flow.send(reply)
    except StopIteration as end:
        return cast(Context, end.value)


def _awaitable(store: object) -> Callable[[Sequence[ChunkRef]], Awaitable[Sequence[Chunk]]]:
    afetch = getattr(store, "afetch", None)
    if afetch is not None:
        return cast("Callable[[Sequence[ChunkRef]], Awaitable[Sequence[Chunk]]]", afetch)
    if store is not None and not hasattr(store, "fetch"):
        raise InputError(f"{type(store).__name__} has neither fetch(refs) nor afetch(refs)")

    async def in_thread(refs: Sequence[ChunkRef]) -> Sequence[Chunk]:
        import asyncio  # here, so that importing the engine stays light

        return await asyncio.to_thread(cast(Store, store).fetch, refs)

    return in_thread
