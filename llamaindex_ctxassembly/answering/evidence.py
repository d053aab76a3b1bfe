"""The retriever of an answer chain, with the postprocessor for what it finds.

A `ContextRetriever` brings its postprocessor along; any other retriever gets one.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from types import NoneType
from typing import Any, TypeAlias, cast

from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.schema import NodeWithScore
from llama_index.core.vector_stores.types import MetadataFilters

from ctxassembly.answering.requests import Readmit, Search
from ctxassembly.answering.search import keep_agreeing, keep_passing, to_refs, with_stored_chunks
from ctxassembly.config.assembly import AssemblyConfig
from ctxassembly.conversations.conversation import Conversation
from ctxassembly.data.chunks import Chunk, ChunkRef, Hit
from ctxassembly.data.filters import as_predicate, is_filter
from ctxassembly.errors import ConfigError
from ctxassembly.integrations.metadata import retriever_result
from ctxassembly.retrieved import Retrieved
from llamaindex_ctxassembly.context_retriever import ContextRetriever, configure_retriever, current_search
from llamaindex_ctxassembly.convert.models import check_kind
from llamaindex_ctxassembly.convert.nodes import media_notes, read_nodes
from llamaindex_ctxassembly.postprocessor import ContextAssemblyPostprocessor
from llamaindex_ctxassembly.stores.filters import filter_chunks, normalize_filters


@dataclass(frozen=True)
class ContextRetrieverEvidence:
    """A `ContextRetriever`, which takes modes, filters, intents and boosts."""

    retriever: ContextRetriever
    question: str | None = None
    """The question of the call, for a filter that is a function of it."""

    @property
    def assembly(self) -> AssemblyConfig:
        """The settings of the assembly."""
        return self.retriever.filtered_postprocessor(self.retriever.call_filters(None)).config

    @property
    def conversation(self) -> Conversation | None:
        """The conversation that the postprocessor has."""
        return cast(Conversation | None, self.filtered_postprocessor(self.call_filters(None)).conversation)

    def call_filters(self, filters: Any) -> Any:
        """Return the filters of a call: the retriever's own and `filters`."""
        return self.retriever.call_filters(filters)

    def search(self, request: Search) -> Retrieved:
        """Return the hits of one search."""
        return self.retriever.evidence_source().search(request)

    async def asearch(self, request: Search) -> Retrieved:
        """Async version of `search`."""
        return await self.retriever.evidence_source().asearch(request)

    def filtered_postprocessor(self, filters: Any) -> ContextAssemblyPostprocessor:
        """Return the postprocessor for a call with `filters`."""
        return self.retriever.filtered_postprocessor(filters)

    def readmit(self, request: Readmit) -> tuple[Hit, ...]:
        """Return the chunks cited before that the call may read."""
        own = self.filtered_postprocessor(request.filter).call_filter(self.question)
        return _filter_hits(self.retriever.evidence_source().readmit(request), own)

    async def areadmit(self, request: Readmit) -> tuple[Hit, ...]:
        """Async version of `readmit`."""
        own = self.filtered_postprocessor(request.filter).call_filter(self.question)
        return _filter_hits(await self.retriever.evidence_source().areadmit(request), own)

    @property
    def settings(self) -> Any:
        """All that the evidence for a call depends on, but the call and the index."""
        return {"retriever": self.retriever, **self.retriever.evidence_source().settings}


@dataclass(frozen=True)
class GenericRetrieverEvidence:
    """Any other retriever. It takes a query, and the number of nodes and filters if it is a vector index's retriever.

    Rerankers, similarity thresholds, boosts and keyword search are up to the retriever.
    """

    retriever: BaseRetriever
    postprocessor: ContextAssemblyPostprocessor
    question: str | None = None
    """The question of the call, for a filter that is a function of it."""

    @property
    def assembly(self) -> AssemblyConfig:
        """The settings of the assembly."""
        return self.postprocessor.config

    @property
    def conversation(self) -> Conversation | None:
        """The conversation that the postprocessor has."""
        return cast(Conversation | None, self.postprocessor.conversation)

    def call_filters(self, filters: Any) -> Any:
        """Return the filters of a call. The search applies the retriever's own filters in addition."""
        return filters

    def search(self, request: Search) -> Retrieved:
        """Return the hits of one search."""
        nodes = self._configured_retriever(request).retrieve(request.question.effective_query)
        return self._to_retrieved(request, nodes)

    async def asearch(self, request: Search) -> Retrieved:
        """Async version of `search`."""
        nodes = await self._configured_retriever(request).aretrieve(request.question.effective_query)
        return self._to_retrieved(request, nodes)

    def filtered_postprocessor(self, filters: Any) -> ContextAssemblyPostprocessor:
        """Return the postprocessor for a call: neighbors must pass both the retriever's own filters and the call's.

        Raises:
            ConfigError: neighbors can't be restricted to these filters: the postprocessor is set to "unfiltered", or
                its store can't apply them, and it has no filter of its own.
        """
        own, search = self.postprocessor, current_search(self.retriever, filters)
        filters = filters if search is None else search.filters
        has_store = any(store is not None for store in (own.store, own.docstore, own.vector_store))
        normalized = normalize_filters(filters) if isinstance(filters, MetadataFilters) else filters
        if not has_store or not is_filter(normalized):
            return own
        is_unfiltered = own.config.neighbors == "unfiltered"
        if isinstance(filters, MetadataFilters) and not is_unfiltered:
            return own.with_filter(filters, is_exhaustive=search is not None and search.is_exhaustive)
        if own.filter is None:
            raise ConfigError("postprocessor.filter", "given where a call has filters and it has a store", None)
        return own

    def readmit(self, request: Readmit) -> tuple[Hit, ...]:
        """Return the chunks cited before that the call may read."""
        cited, store = self._readmission(request)
        with suppress(NotImplementedError):  # a vector store that can't be queried by node ids
            return cited if store is None else _use_stored(cited, request, store.fetch(_hit_refs(cited, request)))
        return cited

    async def areadmit(self, request: Readmit) -> tuple[Hit, ...]:
        """Async version of `readmit`."""
        cited, store = self._readmission(request)
        if store is None:
            return cited
        with suppress(NotImplementedError):
            return _use_stored(cited, request, await store.afetch(_hit_refs(cited, request)))
        return cited

    @property
    def settings(self) -> Any:
        """All that the evidence for a call depends on, but the call and the index."""
        return {"retriever": self.retriever, "postprocessor": self.postprocessor}

    def _readmission(self, request: Readmit) -> tuple[tuple[Hit, ...], Any]:
        """Return the chunks cited before that pass the filters of the call, and the store that may have them."""
        own, search = self.postprocessor.call_filter(self.question), current_search(self.retriever, request.filter)
        config = self.postprocessor.config
        cited = _filter_hits(_filter_hits(request.cited, search.filters if search else request.filter), own)
        if (search is None or not search.is_exhaustive) and own is None and config.neighbors != "unfiltered":
            cited = keep_agreeing(cited, request.found, config)
        return cited, None if search is None else search.node_store(config.keys)

    def _configured_retriever(self, request: Search) -> BaseRetriever:
        max_hits, filters = request.mode.limit, request.question.filter
        if max_hits is filters is None:
            return self.retriever
        return configure_retriever("retriever", self.retriever, max_hits, filters)

    def _to_retrieved(self, request: Search, nodes: Sequence[NodeWithScore]) -> Retrieved:
        keys = self.postprocessor.config.keys
        hits, supplement = read_nodes(nodes, keys)
        allowed_hits = _filter_hits(tuple(hits), self.postprocessor.call_filter(request.question.text))
        facts = () if supplement is None else (supplement,)
        return retriever_result(request, allowed_hits, self.retriever, media_notes(nodes), facts)


RetrieverEvidence: TypeAlias = ContextRetrieverEvidence | GenericRetrieverEvidence


def _filter_hits(cited: tuple[Hit, ...], filters: Any) -> tuple[Hit, ...]:
    """Return the hits of `cited` that pass the filters, in any form."""
    if not isinstance(filters, MetadataFilters):
        return keep_passing(cited, [as_predicate(filters)])
    allowed_ids = {id(chunk) for chunk in filter_chunks(filters, [hit.chunk for hit in cited])}
    return tuple(hit for hit in cited if id(hit.chunk) in allowed_ids)


def _hit_refs(cited: tuple[Hit, ...], request: Readmit) -> list[ChunkRef]:
    """Return the references of `cited`, and of one hit that the search has just returned."""
    return to_refs((*cited, *request.found[:1]))


def _use_stored(cited: tuple[Hit, ...], request: Readmit, stored: Sequence[Chunk]) -> tuple[Hit, ...]:
    """Return `cited` as stored now. A store that knows no hit of the search has other nodes."""
    return with_stored_chunks(cited, stored) if with_stored_chunks(request.found, stored) else cited


def evidence_of(retriever: Any, postprocessor: ContextAssemblyPostprocessor | None) -> RetrieverEvidence:
    """Return `retriever` with its postprocessor.

    Raises:
        ConfigError: `retriever` is not a retriever, a postprocessor is given for a retriever that has one, or it has a
            conversation.
    """
    check_kind("retriever", retriever, BaseRetriever, "a LlamaIndex retriever")
    own = postprocessor
    if isinstance(retriever, ContextRetriever):
        if postprocessor is not None:
            raise ConfigError("postprocessor", "None with a ContextRetriever, which has one", postprocessor)
        own = retriever.filtered_postprocessor(retriever.call_filters(None))
    if own is not None and not isinstance(own.conversation, (Conversation, NoneType)):
        allowed = "a Conversation or None in an answer engine, whose contexts no memory keeps"
        raise ConfigError("postprocessor.conversation", allowed, own.conversation)
    if isinstance(retriever, ContextRetriever):
        return ContextRetrieverEvidence(retriever)
    return GenericRetrieverEvidence(retriever, postprocessor or ContextAssemblyPostprocessor())
