"""Answers to the requests of a retrieval: from an index, embeddings, retrievers of another make, rerankers."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Generator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar, cast

from ctxassembly.concurrency import await_all, call_all, in_thread, is_async
from ctxassembly.config.retrieval import RetrievalConfig
from ctxassembly.data.chunks import Hit
from ctxassembly.data.requests import (
    EmbedTexts,
    FindTerms,
    RerankChunks,
    RetrievalRequest,
    SearchChunks,
    SearchRequest,
    Together,
)
from ctxassembly.data.retrieval import Channel
from ctxassembly.errors import InputError
from ctxassembly.protocols import AsyncOnStage, OnStage
from ctxassembly.retrieval.fusion import Classifier
from ctxassembly.retrieval.search import Means, Question
from ctxassembly.retrieval.taxonomy import Taxonomy
from ctxassembly.runtime.driver import arun_watched, run_watched
from ctxassembly.safe_repr import shown

Ask = Callable[[Any], Any]
Result = TypeVar("Result")


def checked_config(config: RetrievalConfig | None) -> RetrievalConfig:
    """The settings, the default ones for None.

    Raises:
        InputError: `config` is something else.
    """
    if config is not None and not isinstance(config, RetrievalConfig):
        raise InputError(f"config must be a RetrievalConfig or None, got {shown(config)}")
    return config or RetrievalConfig()


def checked_question(query: str | Question, filter: Any) -> Question:
    """The question, with the filter.

    Raises:
        InputError: `query` is something else, or has a filter already.
    """
    if not isinstance(query, (str, Question)):
        raise InputError(f"query must be a string or a Question, got {shown(query)}")
    question = query if isinstance(query, Question) else Question(query)
    return question if filter is None else question.under(filter)


@dataclass(frozen=True, slots=True)
class Asked:
    """The objects that answer the requests of a retrieval."""

    index: Any
    embed: Ask | None
    aembed: Ask | None
    """The function that embeds for awaited callers: the embeddings' own async one, if they have one."""
    channels: Mapping[Channel, Ask]
    rerankers: Sequence[Ask]

    @classmethod
    def of(cls, index: object, embed: object, channels: object, rerankers: object) -> Asked:
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
        called, awaited = (
            _embedding(embed, "embed_query", "aembed_query"),
            _embedding(embed, "aembed_query", "embed_query"),
        )
        return cls(index, called, awaited, channels or {}, rerankers)

    def means(self, taxonomy: Taxonomy | None, category_of: Classifier | None, *, is_watched: bool = False) -> Means:
        """The facts that a flow has to know of them.

        Raises:
            InputError: `taxonomy` is none.
        """
        if not (taxonomy is None or isinstance(taxonomy, Taxonomy)):
            raise InputError(f"taxonomy must be a Taxonomy or None, got {shown(taxonomy)}")
        return Means(
            has_index=self.index is not None,
            elsewhere=frozenset(self.channels),
            can_embed=self.embed is not None,
            rerankers=len(self.rerankers),
            taxonomy=taxonomy,
            category_of=category_of,
            is_watched=is_watched,
        )

    def run(
        self, flow: Generator[RetrievalRequest, Any, Result], timeout_seconds: float, on_stage: OnStage | None = None
    ) -> Result:
        """The result of `flow`, whose requests are answered within so many seconds each."""
        answer = self.answer()
        return run_watched(flow, lambda request: call_all(answer, request.requests, timeout_seconds), on_stage)

    async def arun(
        self,
        flow: Generator[RetrievalRequest, Any, Result],
        timeout_seconds: float,
        on_stage: AsyncOnStage | OnStage | None = None,
    ) -> Result:
        """The same, awaited."""
        answer = self.awaitable_answer()

        async def ask(request: Together) -> list[Any]:
            return await await_all(answer, request.requests, timeout_seconds)

        return await arun_watched(flow, ask, on_stage)

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
            if isinstance(request, EmbedTexts):
                function = self.aembed
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


def _embedding(embed: object, *methods: str) -> Ask | None:
    """The function that embeds one text: the first of `methods` that `embed` has, else itself."""
    function = next((getattr(embed, method) for method in methods if hasattr(embed, method)), embed)
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
