"""Hits in, the context out: the flow of assembly, with those whom it asks."""

from __future__ import annotations

import time
from collections.abc import Sequence

from ctxassembly.assembly.choosing.supplement import Supplement
from ctxassembly.assembly.flow import Flow, assemble_flow
from ctxassembly.context import Context
from ctxassembly.conversations.labels import Labels
from ctxassembly.data.chunks import Hit
from ctxassembly.drivers.ask import asking, awaitable_asking
from ctxassembly.drivers.run import arun, run
from ctxassembly.protocols import (
    AsyncEmbeddings,
    AsyncLanguageModel,
    AsyncOnFetched,
    AsyncStore,
    Embeddings,
    LanguageModel,
    OnFetched,
    Store,
)
from ctxassembly.settings.config import AssemblyConfig
from ctxassembly.tracing.logged import log


def assemble(
    hits: Sequence[Hit],
    config: AssemblyConfig | None = None,
    *,
    query: str | None = None,
    store: Store | None = None,
    supplement: str | Supplement | None = None,
    embeddings: Embeddings | None = None,
    llm: LanguageModel | None = None,
    on_fetched: OnFetched | None = None,
    labels: Labels | None = None,
) -> Context:
    """The context for `hits`, best first; neighbours come from `store` in one round trip where it keeps an index.

    `supplement` is text that no chunk holds, from a graph or a database; it stands behind a separator of its own.
    `embeddings` is for `dedup="semantic"`: it gets the texts of all chunks without a vector in one batch.
    `llm` is for `compress="llm"`: a function from a prompt to an answer. It is called in up to 8 threads at once, and
    after `llm_timeout_seconds` no longer waited for. A late call can't be stopped: it goes on in a daemon thread, and
    its answer is lost.
    `on_fetched` is a function over the chunks that `store` answered with, before anything else sees them. Neighbours
    are fetched anew, so what masked or removed text of the hits has to be done to them as well.
    `labels` are those of a conversation: the context has the next ones, and no other context the same.

    Raises:
        InputError: `hits` is not a sequence of Hit, `config` no AssemblyConfig, `query` no string, `store` has no
            `fetch`, `embeddings` can't embed, `llm` or `on_fetched` is no function or only to be awaited,
            `supplement` is no text, or `labels` no Labels.
        ConfigError: `dedup="semantic"` with neither `embeddings` nor a vector in any hit, `compress="llm"` without
            `llm`, or `neighbours="filtered"` with a store that doesn't hold the caller's filter.
        StoreError: `store` or `embeddings` failed and `on_store_error="raise"`.
        VocabularyError: the tokenizer's vocabulary can't be had.
    """
    ask = asking(store, embeddings, llm, on_fetched)
    return run(_flow(hits, config, query, store, embeddings, llm, supplement, labels), ask)


async def aassemble(
    hits: Sequence[Hit],
    config: AssemblyConfig | None = None,
    *,
    query: str | None = None,
    store: AsyncStore | Store | None = None,
    supplement: str | Supplement | None = None,
    embeddings: AsyncEmbeddings | Embeddings | None = None,
    llm: AsyncLanguageModel | LanguageModel | None = None,
    on_fetched: AsyncOnFetched | OnFetched | None = None,
    labels: Labels | None = None,
) -> Context:
    """The same as `assemble`, awaited. What can't be awaited is called in a thread: the loop goes on meanwhile.

    The work between the calls is done in one thread for all assemblies of the process, in turn. There too a function in
    the config (`format`, `encoding`) is called.

    Of an async `llm` too at most 8 calls run at once; those that are late are cancelled.
    """
    ask = awaitable_asking(store, embeddings, llm, on_fetched)
    return await arun(_flow(hits, config, query, store, embeddings, llm, supplement, labels), ask)


def _flow(
    hits: Sequence[Hit],
    config: AssemblyConfig | None,
    query: str | None,
    store: object,
    embeddings: object,
    llm: object,
    supplement: str | Supplement | None,
    labels: Labels | None,
) -> Flow:
    """The flow, told who can be asked and what the store promises; what it comes to is logged."""
    context = yield from assemble_flow(
        hits,
        config,
        query=query,
        can_fetch=store is not None,
        holds_filter=getattr(store, "holds_filter", None),
        remedies=getattr(store, "remedies", None),
        finds_offsets=getattr(store, "finds_offsets", False) is True,
        can_embed=embeddings is not None,
        can_compress=llm is not None,
        supplement=supplement,
        labels=labels,
        clock=time.perf_counter,
    )
    log(context)
    return context
