"""`assemble` and `aassemble`: hits in, the context out."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Sequence
from typing import Any, NamedTuple, TypeVar

from ctxassembly.assembly.arguments import AssemblyCall, Services
from ctxassembly.assembly.expansion.fetch import StoreTraits
from ctxassembly.assembly.pipeline import AssemblyFlow, assemble_flow
from ctxassembly.assembly.selection.supplement import Supplement
from ctxassembly.config.assembly import AssemblyConfig
from ctxassembly.context import Context
from ctxassembly.conversations.labels import Labels
from ctxassembly.data.chunks import Hit
from ctxassembly.data.requests import Request
from ctxassembly.protocols import (
    AsyncEmbeddings,
    AsyncLanguageModel,
    AsyncOnStage,
    AsyncScorer,
    AsyncStore,
    AsyncTransformFetched,
    Embeddings,
    LanguageModel,
    OnStage,
    Scorer,
    Store,
    TransformFetched,
)
from ctxassembly.runtime.driver import adrive_observed, drive_observed
from ctxassembly.runtime.services import async_request_handler, request_handler
from ctxassembly.tracing.logging import log_context

T = TypeVar("T")


class _Services(NamedTuple):
    """The services of one assembly, as the caller passes them."""

    store: object = None
    embeddings: object = None
    llm: object = None
    transform_fetched: object = None
    scorer: object = None


def assemble(
    hits: Sequence[Hit],
    config: AssemblyConfig | None = None,
    *,
    query: str | None = None,
    store: Store | None = None,
    supplement: str | Supplement | None = None,
    embeddings: Embeddings | None = None,
    llm: LanguageModel | None = None,
    scorer: Scorer | None = None,
    transform_fetched: TransformFetched | None = None,
    labels: Labels | None = None,
    on_stage: OnStage | None = None,
) -> Context:
    """Assemble `hits`, best first, into the context that the language model reads.

    >>> from ctxassembly import AssemblyConfig, Chunk, Hit, MemoryStore
    >>> texts = ("Drink water until two hours before.", "Eat nothing for six hours.", "Then rest.")
    >>> where = {"source": "gastro.pdf"}
    >>> chunks = [Chunk(f"gastro#{at}", "gastro", text, at, metadata=where) for at, text in enumerate(texts)]
    >>> context = assemble([Hit(chunks[1])], AssemblyConfig(window=1, max_tokens=100), store=MemoryStore(chunks))
    >>> print(context)
    [1] Source: gastro.pdf
    Drink water until two hours before.
    Eat nothing for six hours.
    Then rest.

    Args:
        hits: retrieved chunks; their order is their rank.
        config: the settings; None means the defaults.
        query: the user's question, by which sentences are chosen.
        store: the store of neighbors, asked in one round trip if it keeps an index; None fetches none.
        supplement: text that no chunk holds, from a graph or a database; a separator parts it from the documents.
        embeddings: for `dedup="semantic"`. It gets the texts of all chunks without a vector in one batch.
        llm: for `compress="llm"`, a function from a prompt to an answer. It is called in up to 8 threads at once, each
            for at most 30 seconds. A late call can't be stopped: it goes on in a daemon thread, and its
            answer is lost.
        scorer: scores how well sentences answer the query, in addition to its words: an embedding model (LangChain's,
            LlamaIndex's or sentence-transformers'), a cross-encoder, or a function from a query and sentences to a
            score for each, higher is better. If not everything fits, it is called once, for the best 200 sentences by
            words; its scores are cached for the lifetime of the scorer. Scores may have any scale.
        transform_fetched: a function over fetched chunks, called before anything else sees them. A step that masks or
            removes text of the hits has to do the same to their neighbors, which come fresh from the store.
        labels: the labels of a conversation. The context takes the next ones, and no other context gets the same.
        on_stage: a function that is called when a stage begins (`StageBegan`), ends (`StageEnded`) or fails
            (`StageFailed`), while it happens: for spans, or progress.

    Raises:
        InputError: an argument has the wrong type, or `store`, `embeddings`, `llm`, `scorer`, `transform_fetched` or
            `on_stage` can only be awaited.
        ConfigError: `dedup="semantic"` with neither `embeddings` nor a vector in any hit, `compress="llm"` without
            `llm`, or `neighbors="filtered"` with a store that doesn't apply the caller's filter.
        StoreError: `store`, `embeddings` or `scorer` failed and `on_store_error="raise"`.
        VocabularyError: the tokenizer's vocabulary is neither on this machine nor can it be downloaded.
    """
    call_services = _Services(store, embeddings, llm, transform_fetched, scorer)
    flow = _flow(AssemblyCall(hits, config, query, supplement, labels), call_services, is_watched=on_stage is not None)
    return drive_observed(flow, request_handler(*call_services), on_stage)


async def aassemble(
    hits: Sequence[Hit],
    config: AssemblyConfig | None = None,
    *,
    query: str | None = None,
    store: AsyncStore | Store | None = None,
    supplement: str | Supplement | None = None,
    embeddings: AsyncEmbeddings | Embeddings | None = None,
    llm: AsyncLanguageModel | LanguageModel | None = None,
    scorer: AsyncScorer | Scorer | None = None,
    transform_fetched: AsyncTransformFetched | TransformFetched | None = None,
    labels: Labels | None = None,
    on_stage: AsyncOnStage | OnStage | None = None,
) -> Context:
    """Async version of `assemble`. Sync arguments are called in threads.

    >>> import asyncio
    >>> from ctxassembly import Chunk, Hit, MemoryStore
    >>> chunks = [Chunk(f"gastro#{at}", "gastro", text, at) for at, text in enumerate(["Drink.", "Rest.", "Go home."])]
    >>> async def main():
    ...     print(await aassemble([Hit(chunks[1])], store=MemoryStore(chunks)))
    >>> asyncio.run(main())
    [1] Source: unknown
    Drink.
    Rest.
    Go home.

    The work between these calls runs in one thread of the process, one assembly at a time, so the event loop stays
    free. Functions in the config (`format`, `encoding`) are called in that thread, too; `on_stage` is called on the
    loop. An async `llm` runs at most 8 calls at once, and late ones are cancelled.
    """
    call_services = _Services(store, embeddings, llm, transform_fetched, scorer)._asdict()
    return await assemble_as(
        identity, hits, config, query=query, supplement=supplement, labels=labels, on_stage=on_stage, **call_services
    )


async def assemble_as(
    transform: Callable[[Context], T],
    hits: Sequence[Hit],
    config: AssemblyConfig | None = None,
    *,
    query: str | None = None,
    supplement: str | Supplement | None = None,
    labels: Labels | None = None,
    on_stage: AsyncOnStage | OnStage | None = None,
    **services: Any,
) -> T:
    """Return `transform` of the context that `aassemble` returns for the same arguments.

    It is made in the thread that assembles: what an adapter makes of a context takes as long as a small assembly.
    """
    call_services = _Services(**services)
    flow = _flow(AssemblyCall(hits, config, query, supplement, labels), call_services, is_watched=on_stage is not None)
    return await adrive_observed(_transform_result(transform, flow), async_request_handler(*call_services), on_stage)


def identity(context: Context) -> Context:
    """Return `context` as it is: the transformation of a caller who wants the context itself."""
    return context


def _transform_result(transform: Callable[[Context], T], flow: AssemblyFlow) -> Generator[Request, Any, T]:
    context = yield from flow
    return transform(context)


def _flow(call: AssemblyCall, call_services: _Services, *, is_watched: bool) -> AssemblyFlow:
    """Return the flow of assembly for the services that are there and the traits of the store. Logs the context."""
    store = call_services.store
    traits = StoreTraits(
        getattr(store, "holds_filter", None),
        getattr(store, "finds_offsets", False) is True,
        getattr(store, "remedies", None),
    )
    services = Services(
        None if store is None else traits,
        can_embed=call_services.embeddings is not None,
        can_compress=call_services.llm is not None,
        can_score=call_services.scorer is not None,
        is_observed=is_watched,
    )
    context = yield from assemble_flow(call, services, time.perf_counter)
    log_context(context)
    return context
