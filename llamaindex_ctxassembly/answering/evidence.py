"""The retriever of an answer chain, with the postprocessor for what it finds.

A `ContextRetriever` brings its postprocessor along; any other retriever gets one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import NoneType
from typing import Any, TypeAlias, cast

from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.indices.vector_store.retrievers import VectorIndexRetriever
from llama_index.core.schema import NodeWithScore
from llama_index.core.vector_stores.types import MetadataFilters

from ctxassembly.answering.requests import Search
from ctxassembly.config.assembly import AssemblyConfig
from ctxassembly.conversations.conversation import Conversation
from ctxassembly.errors import ConfigError
from ctxassembly.integrations.metadata import retriever_result
from ctxassembly.retrieved import Retrieved
from llamaindex_ctxassembly.context_retriever import ContextRetriever, configure_retriever
from llamaindex_ctxassembly.convert.models import check_kind
from llamaindex_ctxassembly.convert.nodes import media_notes, read_nodes
from llamaindex_ctxassembly.postprocessor import ContextAssemblyPostprocessor
from llamaindex_ctxassembly.stores.filters import filter_chunks


@dataclass(frozen=True)
class ContextRetrieverEvidence:
    """A `ContextRetriever`, which takes modes, filters, intents and boosts."""

    retriever: ContextRetriever
    question: str | None = None
    """The question of the call, for a filter that is a function of it."""

    @property
    def assembly(self) -> AssemblyConfig:
        """The settings of the assembly."""
        return self.retriever.postprocessor.assembly_settings

    @property
    def transform_fetched(self) -> Any:
        """The function that chunks from a store have to pass."""
        return self.retriever.postprocessor.transform_fetched

    @property
    def conversation(self) -> Conversation | None:
        """The conversation that the postprocessor has."""
        return cast(Conversation | None, self.retriever.postprocessor.conversation)

    def call_filter(self, filters: Any) -> Any:
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

    def store(self, filters: Any) -> Any:
        """Return the store of neighbors for a call with `filters`; None if there is none."""
        return self.filtered_postprocessor(filters).filtered_store(self.question)

    @property
    def reads_whole_store(self) -> bool:
        """True if the search reads its index alone, and neighbors come from there."""
        return not self.retriever.postprocessor.has_store and self.retriever.evidence_source().reads_whole_store

    @property
    def settings(self) -> Mapping[str, Any]:
        """All that the evidence for the call depends on, for the key of a cached answer."""
        return {**self.retriever.evidence_source().settings, **self.retriever.postprocessor.settings}

    @property
    def filters(self) -> tuple[Any, ...]:
        """The filters that apply to every call, besides the retriever's own."""
        own = self.retriever.postprocessor.call_filter(self.question)
        return own, self.retriever.evidence_source().filters


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
        return self.postprocessor.assembly_settings

    @property
    def transform_fetched(self) -> Any:
        """The function that chunks from a store have to pass."""
        return self.postprocessor.transform_fetched

    @property
    def conversation(self) -> Conversation | None:
        """The conversation that the postprocessor has."""
        return cast(Conversation | None, self.postprocessor.conversation)

    def call_filter(self, filters: Any) -> Any:
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
        """Return the postprocessor for a call: neighbors must pass both the retriever's own filters and the call's."""
        return self.postprocessor.with_filter(self._told_filters).with_filter(filters)

    @property
    def _told_filters(self) -> MetadataFilters | None:
        """The retriever's own filters, if it is known to do nothing else."""
        return self.retriever._filters if type(self.retriever) is VectorIndexRetriever else None  # noqa: SLF001

    def store(self, filters: Any) -> Any:
        """Return the store of neighbors for a call with `filters`; None if there is none."""
        return self.filtered_postprocessor(filters).filtered_store(self.question)

    @property
    def settings(self) -> Mapping[str, Any]:
        """All that the evidence for the call depends on, for the key of a cached answer.

        The retriever counts by its class and its number of nodes.
        """
        own = {"retriever": self.retriever, "similarity_top_k": getattr(self.retriever, "similarity_top_k", None)}
        return {**own, **self.postprocessor.settings}

    @property
    def filters(self) -> tuple[Any, ...]:
        """The filters that apply to every call."""
        return self._told_filters, self.postprocessor.call_filter(self.question)

    def _configured_retriever(self, request: Search) -> BaseRetriever:
        max_hits, filters = request.mode.limit, request.question.filter
        if max_hits is filters is None:
            return self.retriever
        if max_hits is not None:
            max_hits = max(max_hits, getattr(self.retriever, "_similarity_top_k", None) or 0)
        return configure_retriever("retriever", self.retriever, max_hits, filters)

    def _to_retrieved(self, request: Search, nodes: Sequence[NodeWithScore]) -> Retrieved:
        keys = self.postprocessor.assembly_settings.keys
        hits, supplement = read_nodes(nodes, keys)
        allowed = filter_chunks(self.postprocessor.call_filter(request.question.text), [hit.chunk for hit in hits])
        allowed_ids = {id(chunk) for chunk in allowed}
        allowed_hits = tuple(hit for hit in hits if id(hit.chunk) in allowed_ids)
        facts = () if supplement is None else (supplement,)
        return retriever_result(request, allowed_hits, self.retriever, media_notes(nodes), facts)


RetrieverEvidence: TypeAlias = ContextRetrieverEvidence | GenericRetrieverEvidence


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
        own = retriever.postprocessor
    if own is not None and not isinstance(own.conversation, (Conversation, NoneType)):
        allowed = "a Conversation or None in an answer engine, whose contexts no memory keeps"
        raise ConfigError("postprocessor.conversation", allowed, own.conversation)
    if isinstance(retriever, ContextRetriever):
        return ContextRetrieverEvidence(retriever)
    return GenericRetrieverEvidence(retriever, postprocessor or ContextAssemblyPostprocessor())
