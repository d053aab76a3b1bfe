"""`retrieve` and `aretrieve`: a query in, hits and their trace out."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

from ctxassembly.config.retrieval import RetrievalConfig
from ctxassembly.data.retrieval import Channel
from ctxassembly.protocols import AsyncIndex, AsyncOnStage, EmbedQuery, Index, OnStage, Reranker, SearchFunction
from ctxassembly.retrieval.fusion import Classifier
from ctxassembly.retrieval.pipeline import retrieve_flow
from ctxassembly.retrieval.search import Question
from ctxassembly.retrieval.taxonomy import Taxonomy
from ctxassembly.retrieved import Retrieved
from ctxassembly.runtime.search_services import SearchServices, check_config, to_question


def retrieve(
    query: str | Question,
    config: RetrievalConfig | None = None,
    *,
    index: Index | None = None,
    embed: EmbedQuery | None = None,
    taxonomy: Taxonomy | None = None,
    filter: Any = None,
    channels: Mapping[Channel, SearchFunction] | None = None,
    rerankers: Sequence[Reranker] = (),
    category_of: Classifier | None = None,
    on_stage: OnStage | None = None,
) -> Retrieved:
    """Retrieve the chunks that answer `query`, best first.

    >>> from ctxassembly import Chunk, MemoryIndex, RetrievalConfig
    >>> texts = ("Drink water until two hours before.", "Ferritin is measured in the morning.")
    >>> index = MemoryIndex([Chunk(f"lab#{at}", "lab", text, at) for at, text in enumerate(texts)])
    >>> retrieved = retrieve("When is ferritin measured?", RetrievalConfig(strategy="keyword"), index=index)
    >>> [(hit.chunk.id, hit.score) for hit in retrieved.hits]
    [('lab#1', 1.0)]

    Args:
        query: the question, or a `Question` with what else is known of it (rewritten, intent).
        config: the settings; None means the defaults.
        index: the index to search, such as a `PostgresIndex`.
        embed: a function from a text to its vector, or an object with `embed_query`. A "keyword" strategy needs none.
        taxonomy: the names of the field, by which words of the query are resolved.
        filter: what hits have to satisfy, as the index reads it. It holds in every channel.
        channels: custom retrievers for "vector" or "keyword": functions from query, number of chunks and
            filter to hits, best first. Where a filter is given, each has to apply it.
        rerankers: functions from query and chunks to (place, score) pairs, best first; each is asked where the one
            before it failed.
        category_of: a function from a chunk to its category of content, for affinity. None reads "category" of its
            metadata.
        on_stage: a function that is called at each step while it happens, as for the stages of `assemble`.

    Raises:
        ConfigError: the strategy needs an index, embeddings or a taxonomy that isn't given.
        InputError: an argument has the wrong type, or can only be awaited.
        SearchError: no channel answered; or one failed, and `on_search_error="raise"`.
    """
    question, config = to_question(query, filter), check_config(config)
    services = SearchServices.from_arguments(index, embed, channels, rerankers)
    capabilities = services.capabilities(taxonomy, category_of, is_watched=on_stage is not None)
    flow = retrieve_flow(question, config, capabilities, time.perf_counter)
    return Retrieved.with_views(services.drive(flow, config.timeout_seconds, on_stage))


async def aretrieve(
    query: str | Question,
    config: RetrievalConfig | None = None,
    *,
    index: AsyncIndex | Index | None = None,
    embed: EmbedQuery | None = None,
    taxonomy: Taxonomy | None = None,
    filter: Any = None,
    channels: Mapping[Channel, SearchFunction] | None = None,
    rerankers: Sequence[Reranker] = (),
    category_of: Classifier | None = None,
    on_stage: AsyncOnStage | OnStage | None = None,
) -> Retrieved:
    """Async version of `retrieve`. Sync arguments are called in threads.

    >>> import asyncio
    >>> from ctxassembly import Chunk, MemoryIndex, RetrievalConfig
    >>> index = MemoryIndex([Chunk("lab#0", "lab", "Ferritin is measured in the morning.", 0)])
    >>> retrieved = asyncio.run(aretrieve("ferritin", RetrievalConfig(strategy="keyword"), index=index))
    >>> [hit.chunk.id for hit in retrieved.hits]
    ['lab#0']
    """
    question, config = to_question(query, filter), check_config(config)
    services = SearchServices.from_arguments(index, embed, channels, rerankers)
    capabilities = services.capabilities(taxonomy, category_of, is_watched=on_stage is not None)
    flow = retrieve_flow(question, config, capabilities, time.perf_counter)
    return Retrieved.with_views(await services.adrive(flow, config.timeout_seconds, on_stage))
