"""`retrieve` and `aretrieve`: a query in, hits and their trace out."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from ctxassembly.calls import await_all, call_all, in_thread, is_async
from ctxassembly.data.chunks import Hit
from ctxassembly.data.requests import EmbedTexts, FindTerms, RerankChunks, SearchChunks, SearchRequest, Together
from ctxassembly.data.retrieved import Retrieved
from ctxassembly.data.searched import Channel
from ctxassembly.drivers.run import arun, run
from ctxassembly.errors import InputError
from ctxassembly.protocols import AsyncIndex, EmbedQuery, Index, Reranker, SearchChannel
from ctxassembly.retrieval.boost import Classifier
from ctxassembly.retrieval.flow import Flow, Means, retrieve_flow
from ctxassembly.retrieval.question import Question
from ctxassembly.retrieval.taxonomy import Taxonomy
from ctxassembly.settings.retrieval import RetrievalConfig
from ctxassembly.shown import shown

Ask = Callable[[Any], Any]


def retrieve(
    query: str | Question,
    config: RetrievalConfig | None = None,
    *,
    index: Index | None = None,
    embed: EmbedQuery | None = None,
    taxonomy: Taxonomy | None = None,
    filter: Any = None,
    channels: Mapping[Channel, SearchChannel] | None = None,
    rerankers: Sequence[Reranker] = (),
    category_of: Classifier | None = None,
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
        channels: retrievers of another make for "vector" or "keyword": functions from query, number of chunks and
            filter to hits, best first. Where a filter is given, each has to apply it.
        rerankers: functions from query and chunks to (place, score) pairs, best first; each is asked where the one
            before it failed.
        category_of: a function from a chunk to its category of content, for affinity. None reads `category_key`.

    Raises:
        ConfigError: the strategy needs an index, embeddings or a taxonomy that isn't given.
        InputError: an argument has the wrong type, or can only be awaited.
        SearchError: no channel answered; or one failed, and `on_search_error="raise"`.
    """
    config = _checked(config)
    asked = _Asked.of(index, embed, channels, rerankers)
    answer = asked.answer()

    def ask(request: Together) -> list[Any]:
        return call_all(answer, request.requests, config.timeout_seconds)

    return run(_flow(query, filter, config, asked, taxonomy, category_of), ask)


async def aretrieve(
    query: str | Question,
    config: RetrievalConfig | None = None,
    *,
    index: AsyncIndex | Index | None = None,
    embed: EmbedQuery | None = None,
    taxonomy: Taxonomy | None = None,
    filter: Any = None,
    channels: Mapping[Channel, SearchChannel] | None = None,
    rerankers: Sequence[Reranker] = (),
    category_of: Classifier | None = None,
) -> Retrieved:
    """The same as `retrieve`, awaited. Arguments that can only be called are called in threads."""
    config = _checked(config)
    asked = _Asked.of(index, embed, channels, rerankers)
    answer = asked.awaitable_answer()

    async def ask(request: Together) -> list[Any]:
        return await await_all(answer, request.requests, config.timeout_seconds)

    return await arun(_flow(query, filter, config, asked, taxonomy, category_of), ask)


def _flow(
    query: str | Question,
    filter: Any,
    config: RetrievalConfig,
    asked: _Asked,
    taxonomy: Taxonomy | None,
    category_of: Classifier | None,
) -> Flow:
    if not isinstance(query, (str, Question)):
        raise InputError(f"query must be a string or a Question, got {shown(query)}")
    question = query if isinstance(query, Question) else Question(query)
    if filter is not None:
        question = question.under(filter)
    if not (taxonomy is None or isinstance(taxonomy, Taxonomy)):
        raise InputError(f"taxonomy must be a Taxonomy or None, got {shown(taxonomy)}")
    means = Means(
        has_index=asked.index is not None,
        elsewhere=frozenset(asked.channels),
        can_embed=asked.embed is not None,
        rerankers=len(asked.rerankers),
        taxonomy=taxonomy,
        category_of=category_of,
    )
    return retrieve_flow(question, config, means, time.perf_counter)


def _checked(config: RetrievalConfig | None) -> RetrievalConfig:
    if config is not None and not isinstance(config, RetrievalConfig):
        raise InputError(f"config must be a RetrievalConfig or None, got {shown(config)}")
    return config or RetrievalConfig()


@dataclass(frozen=True, slots=True)
class _Asked:
    """Who answers the requests of a retrieval."""

    index: Any
    embed: Ask | None
    channels: Mapping[Channel, Ask]
    rerankers: Sequence[Ask]

    @classmethod
    def of(cls, index: object, embed: object, channels: object, rerankers: object) -> _Asked:
        """The same, checked.

        Raises:
            InputError: one of them is of another kind.
        """
        if not isinstance(channels, (Mapping, type(None))) or not (channels or {}).keys() <= {"vector", "keyword"}:
            raise InputError(f"channels must be a mapping of 'vector' or 'keyword' to functions, got {shown(channels)}")
        if not isinstance(rerankers, (tuple, list)):
            raise InputError(f"rerankers must be a sequence of functions, got {shown(rerankers)}")
        for name, function in (*(channels or {}).items(), *(("reranker", one) for one in rerankers)):
            if not callable(function):
                raise InputError(f"{name} must be a function, got {shown(function)}")
        for name in ("find_terms", "search"):
            if index is not None and not (hasattr(index, name) or hasattr(index, f"a{name}")):
                raise InputError(f"index has no {name}(request): {type(index).__name__} is no index")
        return cls(index, _embedding(embed), channels or {}, rerankers)

    def answer(self) -> Callable[[SearchRequest], Any]:
        """A function from a request to its reply."""
        functions = (self.embed, *self.channels.values(), *self.rerankers)
        if any(is_async(function) for function in functions if function):
            raise InputError("an async embed, channel or reranker needs aretrieve(), or the adapter's async methods")
        if self.index is not None and not hasattr(self.index, "search"):
            raise InputError(f"{type(self.index).__name__} can only be awaited: it needs aretrieve()")
        return self._reply

    def awaitable_answer(self) -> Callable[[SearchRequest], Awaitable[Any]]:
        """A function from a request to its reply, awaited."""

        async def answer(request: SearchRequest) -> Any:
            method = {FindTerms: "afind_terms", SearchChunks: "asearch"}.get(type(request), "")
            if method and hasattr(self.index, method):
                return await getattr(self.index, method)(request)
            function = None if method else self._function(request)
            if function is not None and is_async(function):
                return _read(request, await function(*_arguments(request)))
            return await in_thread(self._reply)(request)

        return answer

    def _reply(self, request: SearchRequest) -> Any:
        if isinstance(request, FindTerms):
            return self.index.find_terms(request)
        if isinstance(request, SearchChunks):
            return self.index.search(request)
        return _read(request, self._function(request)(*_arguments(request)))

    def _function(self, request: SearchRequest) -> Ask:
        # The flow asks for nothing that it was told is missing.
        if isinstance(request, EmbedTexts):
            return cast(Ask, self.embed)
        if isinstance(request, RerankChunks):
            return self.rerankers[request.by]
        return self.channels[request.channel]  # type: ignore[union-attr]


def _embedding(embed: object) -> Ask | None:
    """The function that embeds one text."""
    function = getattr(embed, "embed_query", embed)
    if not (function is None or callable(function)):
        raise InputError(f"embed must be a function from a text to its vector, or have embed_query, got {shown(embed)}")
    return function


def _arguments(request: Any) -> tuple[Any, ...]:
    if isinstance(request, EmbedTexts):
        return request.texts
    if isinstance(request, RerankChunks):
        return request.query, request.chunks
    return request.query, request.limit, request.filter


def _read(request: SearchRequest, reply: Any) -> Any:
    """The reply of a function of the caller's, checked: what is wrong with it is a failure of that channel alone."""
    if isinstance(request, EmbedTexts):
        return _vectors(reply)
    if isinstance(request, RerankChunks):
        try:
            return [(int(place), None if score is None else float(score)) for place, score in reply]
        except (TypeError, ValueError) as error:
            raise InputError(f"a reranker must return (place, score) pairs, got {shown(reply, 80)}") from error
    if not isinstance(reply, (list, tuple)) or not all(isinstance(hit, Hit) for hit in reply):
        raise InputError(f"a channel must return a list of Hit, got {shown(reply, 80)}")
    return reply


def _vectors(reply: Any) -> list[list[float]]:
    """One vector, which may come as a matrix of one row."""
    try:
        vector = reply[0] if len(reply) == 1 and hasattr(reply[0], "__len__") else reply
        numbers = [float(number) for number in vector]
    except (TypeError, ValueError) as error:
        raise InputError(f"embed must return one vector for one text, got {shown(reply, 80)}") from error
    if not numbers:
        raise InputError("embed must return one vector for one text, got an empty one")
    return [numbers]
