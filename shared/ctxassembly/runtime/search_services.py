"""Answers to the requests of a retrieval: from an index, embeddings, retrievers of another make, rerankers."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Generator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar, cast

from ctxassembly.concurrency import gather_async, gather_sync, is_async, to_async
from ctxassembly.config.retrieval import RetrievalConfig
from ctxassembly.data.chunks import Hit
from ctxassembly.data.requests import (
    Batch,
    EmbedTexts,
    FindTerms,
    RerankChunks,
    RetrievalRequest,
    SearchChunks,
    SearchRequest,
)
from ctxassembly.data.retrieval import Channel
from ctxassembly.errors import InputError
from ctxassembly.protocols import AsyncOnStage, OnStage
from ctxassembly.retrieval.fusion import Classifier
from ctxassembly.retrieval.search import Capabilities, Question
from ctxassembly.retrieval.taxonomy import Taxonomy
from ctxassembly.runtime.driver import adrive_observed, drive_observed
from ctxassembly.safe_repr import safe_repr

Handler = Callable[[Any], Any]
Result = TypeVar("Result")


def check_config(config: RetrievalConfig | None) -> RetrievalConfig:
    """The settings, the default ones for None.

    Raises:
        InputError: `config` is something else.
    """
    if config is not None and not isinstance(config, RetrievalConfig):
        raise InputError(f"config must be a RetrievalConfig or None, got {safe_repr(config)}")
    return config or RetrievalConfig()


def to_question(query: str | Question, filter: Any) -> Question:
    """The question, with the filter.

    Raises:
        InputError: `query` is something else, or has a filter already.
    """
    if not isinstance(query, (str, Question)):
        raise InputError(f"query must be a string or a Question, got {safe_repr(query)}")
    question = query if isinstance(query, Question) else Question(query)
    return question if filter is None else question.with_filter(filter)


@dataclass(frozen=True, slots=True)
class SearchServices:
    """The objects that answer the requests of a retrieval."""

    index: Any
    embed: Handler | None
    aembed: Handler | None
    """The function that embeds for awaited callers: the embeddings' own async one, if they have one."""
    channels: Mapping[Channel, Handler]
    rerankers: Sequence[Handler]

    @classmethod
    def from_arguments(cls, index: object, embed: object, channels: object, rerankers: object) -> SearchServices:
        """The same, checked.

        Raises:
            InputError: one of them is of another kind.
        """
        if not isinstance(channels, (Mapping, type(None))) or not (channels or {}).keys() <= {"vector", "keyword"}:
            raise InputError(
                f"channels must be a mapping of 'vector' or 'keyword' to functions, got {safe_repr(channels)}"
            )
        if not isinstance(rerankers, (tuple, list)):
            raise InputError(f"rerankers must be a sequence of functions, got {safe_repr(rerankers)}")
        for name, function in (*(channels or {}).items(), *(("reranker", one) for one in rerankers)):
            if not callable(function):
                raise InputError(f"{name} must be a function, got {safe_repr(function)}")
        for name in ("find_terms", "search"):
            if index is not None and not (hasattr(index, name) or hasattr(index, f"a{name}")):
                raise InputError(f"index has no {name}(request): {type(index).__name__} is no index")
        sync_embed, async_embed = (
            _embed_function(embed, "embed_query", "aembed_query"),
            _embed_function(embed, "aembed_query", "embed_query"),
        )
        return cls(index, sync_embed, async_embed, channels or {}, rerankers)

    def capabilities(
        self, taxonomy: Taxonomy | None, category_of: Classifier | None, *, is_watched: bool = False
    ) -> Capabilities:
        """The facts that a flow has to know of them.

        Raises:
            InputError: `taxonomy` is none.
        """
        if not (taxonomy is None or isinstance(taxonomy, Taxonomy)):
            raise InputError(f"taxonomy must be a Taxonomy or None, got {safe_repr(taxonomy)}")
        return Capabilities(
            has_index=self.index is not None,
            external_channels=frozenset(self.channels),
            can_embed=self.embed is not None,
            reranker_count=len(self.rerankers),
            taxonomy=taxonomy,
            category_of=category_of,
            is_watched=is_watched,
        )

    def drive(
        self, flow: Generator[RetrievalRequest, Any, Result], timeout_seconds: float, on_stage: OnStage | None = None
    ) -> Result:
        """The result of `flow`, whose requests are answered within so many seconds each."""
        handle = self.request_handler()
        return drive_observed(flow, lambda request: gather_sync(handle, request.requests, timeout_seconds), on_stage)

    async def adrive(
        self,
        flow: Generator[RetrievalRequest, Any, Result],
        timeout_seconds: float,
        on_stage: AsyncOnStage | OnStage | None = None,
    ) -> Result:
        """The same, awaited."""
        handle = self.async_request_handler()

        async def ask(request: Batch) -> list[Any]:
            return await gather_async(handle, request.requests, timeout_seconds)

        return await adrive_observed(flow, ask, on_stage)

    def request_handler(self) -> Callable[[SearchRequest], Any]:
        """A function from a request to its reply."""
        functions = (self.embed, *self.channels.values(), *self.rerankers)
        if any(is_async(function) for function in functions if function):
            raise InputError("an async embed, channel or reranker needs aretrieve(), or the adapter's async methods")
        if self.index is not None and not hasattr(self.index, "search"):
            raise InputError(f"{type(self.index).__name__} can only be awaited: it needs aretrieve()")
        return self._answer_request

    def async_request_handler(self) -> Callable[[SearchRequest], Awaitable[Any]]:
        """A function from a request to its reply, awaited."""

        async def answer(request: SearchRequest) -> Any:
            method = {FindTerms: "afind_terms", SearchChunks: "asearch"}.get(type(request), "")
            if method and hasattr(self.index, method):
                return await getattr(self.index, method)(request)
            function = None if method else self._function_for(request)
            if isinstance(request, EmbedTexts):
                function = self.aembed
            if function is not None and is_async(function):
                return _check_reply(request, await function(*_arguments_for(request)))
            return await to_async(self._answer_request)(request)

        return answer

    def _answer_request(self, request: SearchRequest) -> Any:
        if isinstance(request, FindTerms):
            return self.index.find_terms(request)
        if isinstance(request, SearchChunks):
            return self.index.search(request)
        return _check_reply(request, self._function_for(request)(*_arguments_for(request)))

    def _function_for(self, request: SearchRequest) -> Handler:
        # The flow asks for nothing that it was told is missing.
        if isinstance(request, EmbedTexts):
            return cast(Handler, self.embed)
        if isinstance(request, RerankChunks):
            return self.rerankers[request.reranker]
        return self.channels[request.channel]  # type: ignore[union-attr]


def _embed_function(embed: object, *methods: str) -> Handler | None:
    """The function that embeds one text: the first of `methods` that `embed` has, else itself."""
    function = next((getattr(embed, method) for method in methods if hasattr(embed, method)), embed)
    if not (function is None or callable(function)):
        raise InputError(
            f"embed must be a function from a text to its vector, or have embed_query, got {safe_repr(embed)}"
        )
    return function


def _arguments_for(request: Any) -> tuple[Any, ...]:
    if isinstance(request, EmbedTexts):
        return request.texts
    if isinstance(request, RerankChunks):
        return request.query, request.chunks
    return request.query, request.limit, request.filter


def _check_reply(request: SearchRequest, reply: Any) -> Any:
    """The reply of a function of the caller's, checked: what is wrong with it is a failure of that channel alone."""
    if isinstance(request, EmbedTexts):
        return _check_vector(reply)
    if isinstance(request, RerankChunks):
        try:
            return [(int(place), None if score is None else float(score)) for place, score in reply]
        except (TypeError, ValueError) as error:
            raise InputError(f"a reranker must return (place, score) pairs, got {safe_repr(reply, 80)}") from error
    if not isinstance(reply, (list, tuple)) or not all(isinstance(hit, Hit) for hit in reply):
        raise InputError(f"a channel must return a list of Hit, got {safe_repr(reply, 80)}")
    return reply


def _check_vector(reply: Any) -> list[list[float]]:
    """One vector, which may come as a matrix of one row."""
    try:
        vector = reply[0] if len(reply) == 1 and hasattr(reply[0], "__len__") else reply
        numbers = [float(number) for number in vector]
    except (TypeError, ValueError) as error:
        raise InputError(f"embed must return one vector for one text, got {safe_repr(reply, 80)}") from error
    if not numbers:
        raise InputError("embed must return one vector for one text, got an empty one")
    return [numbers]
