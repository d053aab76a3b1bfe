"""Handlers of the requests of a retrieval: an index, embeddings, custom channels and rerankers of the caller's."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from ctxassembly.concurrency import gather_async, gather_sync
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
from ctxassembly.runtime.port import Port
from ctxassembly.safe_repr import safe_repr

Result = TypeVar("Result")


def check_config(config: RetrievalConfig | None) -> RetrievalConfig:
    """Return the settings, or the defaults for None.

    Raises:
        InputError: `config` is something else.
    """
    if config is not None and not isinstance(config, RetrievalConfig):
        raise InputError(f"config must be a RetrievalConfig or None, got {safe_repr(config)}")
    return config or RetrievalConfig()


def to_question(query: str | Question, filter: Any) -> Question:
    """Return the question with `filter`.

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

    search: Port
    find_terms: Port
    embed: Port
    channels: Mapping[Channel, Port]
    rerankers: Sequence[Port]
    index_name: str
    """The class of the index, for messages."""

    @classmethod
    def from_arguments(cls, index: object, embed: object, channels: object, rerankers: object) -> SearchServices:
        """Return the services, checked.

        Raises:
            InputError: one of them has the wrong type.
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
        search, find_terms = (Port.of(index, name, accepts_function=False) for name in ("search", "find_terms"))
        for name, port in (("find_terms", find_terms), ("search", search)):
            if index is not None and not port:
                raise InputError(f"index has no {name}(request): {type(index).__name__} is no index")
        embed_port = Port.of(embed, "embed_query")
        if embed is not None and not embed_port:
            raise InputError(
                f"embed must be a function from a text to its vector, or have embed_query, got {safe_repr(embed)}"
            )
        channel_ports = {name: Port.of(function) for name, function in (channels or {}).items()}
        return cls(
            search, find_terms, embed_port, channel_ports, [Port.of(one) for one in rerankers], type(index).__name__
        )

    def capabilities(
        self, taxonomy: Taxonomy | None, category_of: Classifier | None, *, is_watched: bool = False
    ) -> Capabilities:
        """Return what a flow has to know about the services.

        Raises:
            InputError: `taxonomy` is none.
        """
        if not (taxonomy is None or isinstance(taxonomy, Taxonomy)):
            raise InputError(f"taxonomy must be a Taxonomy or None, got {safe_repr(taxonomy)}")
        return Capabilities(
            has_index=bool(self.search),
            external_channels=frozenset(self.channels),
            can_embed=bool(self.embed),
            reranker_count=len(self.rerankers),
            taxonomy=taxonomy,
            category_of=category_of,
            is_watched=is_watched,
        )

    def drive(
        self, flow: Generator[RetrievalRequest, Any, Result], timeout_seconds: float, on_stage: OnStage | None = None
    ) -> Result:
        """Return the result of `flow`. Each of its requests has to be answered within `timeout_seconds`.

        Raises:
            InputError: a service can only be awaited.
        """
        for port in (self.embed, *self.channels.values(), *self.rerankers):
            port.require_sync("an async embed, channel or reranker needs aretrieve(), or the adapter's async methods")
        for port in (self.search, self.find_terms):
            port.require_sync(f"{self.index_name} can only be awaited: it needs aretrieve()")

        def handle(request: SearchRequest) -> Any:
            port, arguments = self._port_for(request)
            return _check_reply(request, port.call(*arguments))

        return drive_observed(flow, lambda batch: gather_sync(handle, batch.requests, timeout_seconds), on_stage)

    async def adrive(
        self,
        flow: Generator[RetrievalRequest, Any, Result],
        timeout_seconds: float,
        on_stage: AsyncOnStage | OnStage | None = None,
    ) -> Result:
        """Async version of `drive`. Sync services are called in threads."""

        async def handle(request: SearchRequest) -> Any:
            port, arguments = self._port_for(request)
            return _check_reply(request, await port.acall(*arguments))

        async def handle_batch(batch: Batch) -> list[Any]:
            return await gather_async(handle, batch.requests, timeout_seconds)

        return await adrive_observed(flow, handle_batch, on_stage)

    def _port_for(self, request: SearchRequest) -> tuple[Port, tuple[Any, ...]]:
        """Return the port that answers `request`, and its arguments. A flow requests no service that is missing."""
        if isinstance(request, FindTerms):
            return self.find_terms, (request,)
        if isinstance(request, SearchChunks):
            return self.search, (request,)
        if isinstance(request, EmbedTexts):
            return self.embed, request.texts
        if isinstance(request, RerankChunks):
            return self.rerankers[request.reranker], (request.query, request.chunks)
        return self.channels[request.channel], (request.query, request.limit, request.filter)


def _check_reply(request: SearchRequest, reply: Any) -> Any:
    """Return the reply to `request`, checked. A malformed reply is a failure of its channel alone."""
    if isinstance(request, (FindTerms, SearchChunks)):
        return reply
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
    """Return the vector as a list of one; the reply may be a matrix of one row."""
    try:
        vector = reply[0] if len(reply) == 1 and hasattr(reply[0], "__len__") else reply
        numbers = [float(number) for number in vector]
    except (TypeError, ValueError) as error:
        raise InputError(f"embed must return one vector for one text, got {safe_repr(reply, 80)}") from error
    if not numbers:
        raise InputError("embed must return one vector for one text, got an empty one")
    return [numbers]
