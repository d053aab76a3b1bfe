"""The retriever of an answer chain or of a graph's node, with the assembler for what it finds.

A `ContextRetriever` brings its assembler along; any other retriever gets one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from inspect import signature
from typing import Any, TypeAlias

from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import Runnable
from langchain_core.runnables.config import ensure_config

from ctxassembly.answering.cache import name_of
from ctxassembly.answering.requests import Search
from ctxassembly.assembly.selection.supplement import SupplementInput
from ctxassembly.config.assembly import AssemblyConfig
from ctxassembly.data.chunks import Hit
from ctxassembly.data.filters import combine_filters, is_filter
from ctxassembly.errors import ConfigError
from ctxassembly.integrations.metadata import retriever_result
from ctxassembly.retrieved import Retrieved
from langchain_ctxassembly.assembler import ContextAssembler
from langchain_ctxassembly.context_retriever import ContextRetriever
from langchain_ctxassembly.convert.documents import document_of, read_documents
from langchain_ctxassembly.retriever import ContextAssemblyRetriever
from langchain_ctxassembly.search import DIRECT_RETRIEVERS, search_filter, with_call_filter
from langchain_ctxassembly.stores.filters import and_filters, predicate

DEFAULT_K = 4
"""The number of documents that vector stores find by default."""


@dataclass(frozen=True)
class ContextRetrieverEvidence:
    """A `ContextRetriever`, which takes modes, filters, intents and boosts."""

    retriever: ContextRetriever

    @property
    def assembler(self) -> ContextAssembler:
        """The assembler as it was set up."""
        return self.retriever.assembler

    @property
    def assembly(self) -> AssemblyConfig:
        """The settings of the assembly."""
        return self.assembler.assembly_settings

    @property
    def transform_fetched(self) -> Any:
        """The function that chunks from a store have to pass."""
        return self.assembler.transform_fetched

    @property
    def supplement(self) -> SupplementInput:
        """Text that is in no chunk."""
        return self.retriever.supplement

    def call_filter(self, condition: Any) -> Any:
        """Return the filter of a call: the retriever's own and `condition`."""
        return self.retriever.call_filter(condition)

    def search(self, request: Search) -> Retrieved:
        """Return the hits of one search, in a run below the current one."""
        return self.retriever.evidence_source().search(request)

    async def asearch(self, request: Search) -> Retrieved:
        """Async version of `search`."""
        return await self.retriever.evidence_source(is_async=True).asearch(request)

    def assembler_for(self, condition: Any) -> ContextAssembler:
        """Return the assembler for a call with the filter `condition`, which neighbors must pass."""
        return self.retriever.filtered_assembler(condition)

    def store(self, condition: Any) -> Any:
        """Return the store of neighbors for a call with the filter `condition`; None if there is none."""
        return self.assembler_for(condition).neighbor_store()

    @property
    def reads_whole_store(self) -> bool:
        """True if the search reads its index alone, and neighbors come from there."""
        return self.assembler.store is None and self.retriever.evidence_source().reads_whole_store

    @property
    def settings(self) -> dict[str, Any]:
        """All that its evidence depends on, but the call and the index."""
        return self.retriever.settings

    @property
    def filters(self) -> tuple[Any, ...]:
        """The filters that apply to every call, besides the retriever's own."""
        return self.assembler.filter, getattr(self.retriever.index, "filters", None)


@dataclass(frozen=True)
class GenericRetrieverEvidence:
    """Any other retriever. It takes a query, and `k` and a filter if it is a vector store's retriever.

    A `k` is only passed to a retriever whose own number is known, so that no mode finds less than it does by itself.
    Rerankers, similarity thresholds, boosts and keyword search are up to the retriever.
    """

    retriever: Runnable[str, list[Document]]
    assembler: ContextAssembler
    supplement: SupplementInput = None

    @property
    def assembly(self) -> AssemblyConfig:
        """The settings of the assembly."""
        return self.assembler.assembly_settings

    @property
    def transform_fetched(self) -> Any:
        """The function that chunks from a store have to pass."""
        return self.assembler.transform_fetched

    def call_filter(self, condition: Any) -> Any:
        """Return the filter of a call. The search applies the retriever's own filter in addition.

        Raises:
            InputError: the search would not apply a filter.
        """
        return with_call_filter(self.retriever, condition).get("filter")

    def search(self, request: Search) -> Retrieved:
        """Return the hits of one search, in a run below the current one."""
        query, arguments = request.question.effective_query, self._search_arguments(request)
        return self._to_retrieved(request, self.retriever.invoke(query, ensure_config(), **arguments))

    async def asearch(self, request: Search) -> Retrieved:
        """Async version of `search`."""
        query, arguments = request.question.effective_query, self._search_arguments(request)
        return self._to_retrieved(request, await self.retriever.ainvoke(query, ensure_config(), **arguments))

    def assembler_for(self, condition: Any) -> ContextAssembler:
        """Return the assembler for a call with the filter `condition`; neighbors must pass it and the search's own."""
        return self.assembler.limited_to(search_filter(self.retriever, self._filter_arguments(condition)))

    def store(self, condition: Any) -> Any:
        """Return the store of neighbors for a call with the filter `condition`; None if there is none."""
        return self.assembler_for(condition).neighbor_store()

    @property
    def settings(self) -> dict[str, Any]:
        """All that its evidence depends on, but the call and the vector store."""
        search: dict[str, Any] = {"retriever": name_of(self.retriever), "supplement": self.supplement}
        if isinstance(self.retriever, DIRECT_RETRIEVERS):
            search |= {"type": self.retriever.search_type, "arguments": self.retriever.search_kwargs}
        return {**search, "assembler": self.assembler.settings}

    @property
    def filters(self) -> tuple[Any, ...]:
        """The filters that apply to every call."""
        search = search_filter(self.retriever)
        return self.assembler.filter, search.condition if search else None

    def _search_arguments(self, request: Search) -> dict[str, Any]:
        own, wanted = _own_limit(self.retriever), request.mode.limit
        limit = {} if own is None or wanted is None else {"k": max(own, wanted)}
        return {**limit, **self._filter_arguments(request.question.filter)}

    def _filter_arguments(self, condition: Any) -> Mapping[str, Any]:
        """Return the search arguments that apply the filter of a call, in addition to the retriever's own.

        Raises:
            InputError: the search would not apply a filter.
        """
        arguments, own = with_call_filter(self.retriever, condition), search_filter(self.retriever)
        if not arguments or own is None:
            return arguments
        allowed = "without a filter of its own, where a call has another one"
        combined = combine_filters(own.condition, condition, "retriever", allowed, and_filters, own.condition)
        return {"filter": combined}

    def _to_retrieved(self, request: Search, found: list[Document]) -> Retrieved:
        keys = self.assembler.assembly_settings.keys
        found_hits, supplement = read_documents(found, keys)
        hits, facts = tuple(found_hits), () if supplement is None else (supplement,)
        try:
            hits, notes = _apply_assembler_filter(self.assembler, hits), []
        except ConfigError:  # the filter is in a language that only the search understands
            notes = ["assembler.filter: only the search can apply it"]
        return retriever_result(request, hits, self.retriever, notes, facts)


RetrieverEvidence: TypeAlias = ContextRetrieverEvidence | GenericRetrieverEvidence


def evidence_of(retriever: Any, assembler: ContextAssembler | None) -> RetrieverEvidence:
    """Return `retriever` with its assembler.

    Raises:
        ConfigError: `retriever` is not a retriever; `assembler` is not a ContextAssembler, or has configurable fields;
            or an assembler is given for a retriever that has one.
    """
    if not (assembler is None or isinstance(assembler, ContextAssembler)):
        hint = "; a filter can be given in each call, and for other settings a chain can be made for each"
        allowed = "a ContextAssembler without configurable fields, or None"
        raise ConfigError("assembler", allowed, assembler, hint if isinstance(assembler, Runnable) else "")
    if isinstance(retriever, (ContextRetriever, ContextAssemblyRetriever)) and assembler is not None:
        raise ConfigError("assembler", f"None with a {type(retriever).__name__}, which has one", assembler)
    if isinstance(retriever, ContextRetriever):
        return ContextRetrieverEvidence(retriever)
    if isinstance(retriever, ContextAssemblyRetriever):
        if retriever.k is not None:
            raise ConfigError("retriever.k", "None in an answer chain, whose modes set how much is kept", retriever.k)
        return GenericRetrieverEvidence(retriever.retriever, retriever.assembler, retriever.supplement)
    if not isinstance(retriever, Runnable):
        raise ConfigError("retriever", "a retriever, or another Runnable from a query to documents", retriever)
    return GenericRetrieverEvidence(retriever, assembler or ContextAssembler())


def _apply_assembler_filter(assembler: ContextAssembler, cited: tuple[Hit, ...]) -> tuple[Hit, ...]:
    """Return the hits of `cited` that pass the assembler's own filter, in the form of its store."""
    if not is_filter(assembler.filter):
        return cited
    return _filter_hits(cited, predicate(getattr(assembler.store, "vectorstore", None), assembler.filter))


def _filter_hits(cited: tuple[Hit, ...], accepts: Callable[[Document], bool]) -> tuple[Hit, ...]:
    return tuple(hit for hit in cited if accepts(document_of(hit)))


def _own_limit(retriever: Any) -> int | None:
    """Return the number of documents that `retriever` finds by itself, if a call can change it by `k`; else None."""
    if isinstance(retriever, DIRECT_RETRIEVERS):
        limit = retriever.search_kwargs.get("k", DEFAULT_K)
    elif isinstance(retriever, BaseRetriever):
        parameter = signature(retriever._get_relevant_documents).parameters.get("k")  # noqa: SLF001
        limit = None if parameter is None else getattr(retriever, "k", None) or parameter.default
    else:
        return None
    return limit if isinstance(limit, int) else None
