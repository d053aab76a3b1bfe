"""`retrieve`: a query in, hits and their trace out; `explain`, which searches the same index.

The requests of a retrieval are answered by the caller's objects: an index, embeddings, custom channels and rerankers.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from ctxassembly.config.hints import hint_for
from ctxassembly.config.retrieval import RetrievalConfig
from ctxassembly.data.chunks import Hit
from ctxassembly.data.requests import (
    Batch,
    EmbedTexts,
    FindTerms,
    RerankChunks,
    SearchChannel,
    SearchChunks,
    SearchRequest,
)
from ctxassembly.data.retrieval import Channel, Explanation, Retrieved
from ctxassembly.data.validation import check_type
from ctxassembly.errors import ConfigError, InputError
from ctxassembly.protocols import AsyncIndex, AsyncOnStage, EmbedQuery, Index, OnStage, Reranker, SearchFunction
from ctxassembly.retrieval.explain import explain_flow
from ctxassembly.retrieval.fusion import Classifier
from ctxassembly.retrieval.pipeline import Flow, retrieve_flow
from ctxassembly.retrieval.search import Capabilities, Question, check_capabilities
from ctxassembly.retrieval.taxonomy import Taxonomy
from ctxassembly.runtime.driver import Port, Ports, adrive, drive, stage_ports
from ctxassembly.safe_repr import safe_repr


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
        taxonomy: the names of the field, to which words of the query are resolved.
        filter: the filter that hits must pass in every channel, in the form of the index.
        channels: custom retrievers for "vector" or "keyword": functions from query, number of chunks and
            filter to hits, best first. Where a filter is given, each has to apply it. "questions" is a channel in
            addition to these with strategy="hybrid": see `ctxassembly.enrichment.question_channel`.
        rerankers: functions from query and chunks to (place, score) pairs, best first; if one fails, the next is
            called.
        category_of: a function from a chunk to its category of content, for affinity. None reads "category" of its
            metadata.
        on_stage: a function that is called at each step while it happens, as for the stages of `assemble`.

    Raises:
        ConfigError: the strategy needs an index, embeddings or a taxonomy that isn't given.
        InputError: an argument has the wrong type, or can only be awaited.
        StoreError: no channel answered; or one failed, and `on_search_error="raise"`.
    """
    given = (index, embed, taxonomy, channels, rerankers, category_of, on_stage)
    return drive(*_prepare(to_question(query, filter), config, given, needs_sync=True))


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
    given = (index, embed, taxonomy, channels, rerankers, category_of, on_stage)
    return await adrive(*_prepare(to_question(query, filter), config, given, needs_sync=False))


def explain(
    query: str | Question, expect: str, config: RetrievalConfig | None = None, *, filter: Any = None, **arguments: Any
) -> Explanation:
    """Retrieve, and return what happened to the chunk whose id is `expect`, or whose text contains it.

    >>> from ctxassembly import Chunk, MemoryIndex, RetrievalConfig
    >>> texts = ("Ferritin is measured in the morning.", "Ferritin, and iron.", "Iron.")
    >>> index = MemoryIndex([Chunk(f"lab#{at}", "lab", text, at) for at, text in enumerate(texts)])
    >>> one = RetrievalConfig(strategy="keyword", limit=1)
    >>> print(explain("When is ferritin measured?", "and iron", one, index=index))
    lab#1: place 2 after fuse, where 1 are kept
    <BLANKLINE>
    step    place  of
    search      2   2
    fuse        2   2
    limit       -   1
    In its stead: lab#0

    The other arguments are as for `retrieve`.

    Raises:
        InputError: `expect` is empty, or as with `retrieve`.
    """
    if not isinstance(expect, str) or not expect.strip():
        raise InputError(f"expect must be an id or a part of a text, got {safe_repr(expect)}")
    config, ports, capabilities = prepare_search(config, **arguments)
    flow = explain_flow(to_question(query, filter), expect, config, capabilities, time.perf_counter)
    return drive(flow, _batch_ports(ports, config, arguments.get("index"), None, needs_sync=True))


def _prepare(
    question: Question, config: RetrievalConfig | None, given: tuple[Any, ...], *, needs_sync: bool
) -> tuple[Flow, Ports]:
    """Return the flow of a retrieval, and the ports that answer it."""
    index, *_, on_stage = given
    config, ports, capabilities = prepare_search(config, *given)
    flow = retrieve_flow(question, config, capabilities, time.perf_counter)
    return flow, _batch_ports(ports, config, index, on_stage, needs_sync=needs_sync)


def prepare_search(
    config: RetrievalConfig | None,
    index: Any = None,
    embed: Any = None,
    taxonomy: Any = None,
    channels: Any = None,
    rerankers: Any = (),
    category_of: Classifier | None = None,
    on_stage: Any = None,
) -> tuple[RetrievalConfig, dict[Any, Port], Capabilities]:
    """Return the settings, ports and capabilities of a retrieval, checked; `retrieve` explains the arguments.

    Raises:
        InputError: an argument has the wrong type.
        ConfigError: the strategy needs an index, embeddings or a taxonomy that isn't given.
    """
    check_type("config", config, RetrievalConfig)
    check_type("taxonomy", taxonomy, Taxonomy)
    config, ports = config or RetrievalConfig(), _find_ports(index, embed, channels, rerankers)
    capabilities = Capabilities(
        has_index=bool(ports[SearchChunks]),
        external_channels=frozenset(channels or ()),
        can_embed=bool(ports[EmbedTexts]),
        reranker_count=len(rerankers),
        taxonomy=taxonomy,
        category_of=category_of,
        is_watched=on_stage is not None,
    )
    check_capabilities(config, capabilities)
    return config, ports, capabilities


def to_channel(channel: str, given: Any, framework: str, kind: type, search: Callable[..., Any]) -> SearchFunction:
    """Return the search of a channel: `search` over a retriever of the class `kind`, or the given function.

    Raises:
        ConfigError: `given` is neither; the message names the `framework`.
    """
    if isinstance(given, kind):
        return partial(search, channel, given)
    if not callable(given):
        raise ConfigError(f"channels[{channel!r}]", f"a {framework} retriever or a function", given)
    return given  # type: ignore[no-any-return]


def to_question(query: str | Question, filter: Any) -> Question:
    """Return the question with `filter`.

    Raises:
        InputError: `query` is something else, or has a filter already.
    """
    if not isinstance(query, (str, Question)):
        raise InputError(f"query must be a string or a Question, got {safe_repr(query)}")
    question = query if isinstance(query, Question) else Question(query)
    return question if filter is None else question.with_filter(filter)


def _find_ports(index: object, embed: object, channels: object, rerankers: object) -> dict[Any, Port]:
    """Return the ports of the caller's objects: by request, by the channel's name, by the number of the reranker.

    Raises:
        InputError: one of them has the wrong type.
    """
    channels = channels or {}
    if not isinstance(channels, Mapping) or not channels.keys() <= {"vector", "keyword", "questions"}:
        allowed = "a mapping of 'vector', 'keyword' or 'questions' to functions"
        raise InputError(f"channels must be {allowed}, got {safe_repr(channels)}")
    if not isinstance(rerankers, (tuple, list)):
        raise InputError(f"rerankers must be a sequence of functions, got {safe_repr(rerankers)}")
    for name, function in (*channels.items(), *(("reranker", one) for one in rerankers)):
        if not callable(function):
            raise InputError(f"{name} must be a function, got {safe_repr(function)}")
    find_terms, search = (Port.of(index, name, accepts_function=False) for name in ("find_terms", "search"))
    if index is not None and not (find_terms and search):
        allowed = "an object with find_terms(request) and search(request), or their async forms"
        raise InputError(f"index must be {allowed}, got {safe_repr(index)}{hint_for('index', index)}")
    embed_port = Port.of_embedder(embed, "embed_query")
    return {
        FindTerms: find_terms,
        SearchChunks: search,
        EmbedTexts: embed_port.taking(lambda request: request.texts, _check_vector),
        **{
            name: Port.of(one).taking(lambda request: (request.query, request.limit, request.filter), _check_hits)
            for name, one in channels.items()
        },
        **{
            number: Port.of(one).taking(lambda request: (request.query, request.chunks), _check_places)
            for number, one in enumerate(rerankers)
        },
    }


def _batch_ports(
    ports: Mapping[Any, Port], config: RetrievalConfig, index: Any, on_stage: Any, *, needs_sync: bool
) -> Ports:
    """Return the ports that answer the requests of a retrieval: batches, each within the timeout, and stages.

    Raises:
        InputError: a service can only be awaited, and `needs_sync`.
    """
    if needs_sync:
        for kind, port in ports.items():
            by_index = kind in (FindTerms, SearchChunks)
            needs = "an async embed, channel or reranker needs aretrieve(), or the adapter's async methods"
            port.require_sync(
                f"{type(index).__name__} can only be awaited: it needs aretrieve()" if by_index else needs
            )

    def port_for(request: SearchRequest) -> Port:
        """Return the port that answers `request`. A flow requests no service that is missing."""
        if isinstance(request, RerankChunks):
            return ports[request.reranker]
        return ports[request.channel if isinstance(request, SearchChannel) else type(request)]

    async def asearch(request: SearchRequest) -> Any:
        return await port_for(request).acall(request)

    search = Port(lambda request: port_for(request).call(request), asearch)
    batch = search.each(lambda batch: batch.requests, lambda _: config.timeout_seconds)
    return {Batch: batch, **stage_ports(on_stage, needs_sync=needs_sync)}


def _check_places(reply: Any) -> list[tuple[int, float | None]]:
    try:
        return [(int(place), None if score is None else float(score)) for place, score in reply]
    except (TypeError, ValueError) as error:
        raise InputError(f"a reranker must return (place, score) pairs, got {safe_repr(reply, 80)}") from error


def _check_hits(reply: Any) -> Sequence[Hit]:
    if not isinstance(reply, (list, tuple)) or not all(isinstance(hit, Hit) for hit in reply):
        raise InputError(f"a channel must return a list of Hit, got {safe_repr(reply, 80)}")
    return reply


def _check_vector(reply: Any) -> list[list[float]]:
    """Return the vector as a list of one; the reply may be a matrix of one row."""
    try:
        vector = reply[0] if len(reply) == 1 and hasattr(reply[0], "__len__") else reply
        numbers = [float(number) for number in vector]
    except (TypeError, ValueError) as error:
        raise InputError(f"embed must return one vector for one text, got {safe_repr(reply, 80)}") from error
    if not numbers:
        raise InputError("embed must return one vector for one text, got an empty one")
    return [numbers]
