"""The retrievers of an answer chain: our own, and those of other makes with a postprocessor beside them."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Protocol, cast

from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.schema import NodeWithScore
from llama_index.core.vector_stores.types import MetadataFilters

from ctxassembly.answering.cache_key import Reach, reach
from ctxassembly.answering.requests import Readmit, Search
from ctxassembly.answering.search import agreeing, as_stored, passing, refs_of
from ctxassembly.conversations.labels import OfCall
from ctxassembly.data.chunks import Chunk, ChunkRef, Hit
from ctxassembly.data.filters import as_predicate, is_filter
from ctxassembly.errors import ConfigError
from ctxassembly.integrations.metadata import fetched
from ctxassembly.retrieved import Retrieved
from llamaindex_ctxassembly.channels import search_named, seen, set_up
from llamaindex_ctxassembly.context_retriever import ContextRetriever
from llamaindex_ctxassembly.convert.nodes import read_nodes, unread_notes
from llamaindex_ctxassembly.postprocessor import ContextAssemblyPostprocessor
from llamaindex_ctxassembly.stores.filters import allowed, conditions


class Evidence(Protocol):
    """A retriever with its postprocessor, as an answer chain asks them."""

    @property
    def labels(self) -> OfCall:
        """The labels that the postprocessor has."""

    def filters_of(self, given: Any) -> Any:
        """The filters of a call: `given`, or others where it is None."""

    def search(self, request: Search) -> Retrieved:
        """The hits for one search."""

    async def asearch(self, request: Search) -> Retrieved:
        """The same, awaited."""

    def held_to(self, filters: Any) -> ContextAssemblyPostprocessor:
        """The postprocessor for a call with those filters."""

    def readmit(self, request: Readmit, query: str) -> tuple[Hit, ...]:
        """The chunks cited before that the call may read."""

    async def areadmit(self, request: Readmit, query: str) -> tuple[Hit, ...]:
        """The same, awaited."""

    def reach(self, filters: Any, query: str) -> Reach:
        """What a call with those filters may read."""


@dataclass(frozen=True)
class Own:
    """A `ContextRetriever`: it takes modes, filters, intents and boosts."""

    retriever: ContextRetriever

    @property
    def labels(self) -> OfCall:
        """As `Evidence` has it."""
        return cast(OfCall, self.retriever.held_to(self.retriever.filters_of(None)).labels)

    def filters_of(self, given: Any) -> Any:
        """The call's filters beside the retriever's."""
        return self.retriever.filters_of(given)

    def search(self, request: Search) -> Retrieved:
        """As `Evidence` has it."""
        return self.retriever.source().search(request)

    async def asearch(self, request: Search) -> Retrieved:
        """The same, awaited."""
        return await self.retriever.source().asearch(request)

    def held_to(self, filters: Any) -> ContextAssemblyPostprocessor:
        """As `Evidence` has it."""
        return self.retriever.held_to(filters)

    def readmit(self, request: Readmit, query: str) -> tuple[Hit, ...]:
        """As `Evidence` has it."""
        own = self.held_to(request.filter).filter_of(query)
        return _passing(self.retriever.source().readmit(request), own)

    async def areadmit(self, request: Readmit, query: str) -> tuple[Hit, ...]:
        """The same, awaited."""
        own = self.held_to(request.filter).filter_of(query)
        return _passing(await self.retriever.source().areadmit(request), own)

    def reach(self, filters: Any, query: str) -> Reach:
        """As `Evidence` has it."""
        return self.retriever.reach(filters, query)


@dataclass(frozen=True)
class Other:
    """A retriever of another make: it takes words, and the number of nodes and filters if it is a vector index'.

    Rerankers, similarities and boosts are its own business, and so is a search by words alone.
    """

    retriever: BaseRetriever
    postprocessor: ContextAssemblyPostprocessor

    @property
    def labels(self) -> OfCall:
        """As `Evidence` has it."""
        return cast(OfCall, self.postprocessor.labels)

    def filters_of(self, given: Any) -> Any:
        """The call's filters; the retriever's own hold beside them."""
        return given

    def search(self, request: Search) -> Retrieved:
        """As `Evidence` has it."""
        return self._read(request, self._set_up(request).retrieve(request.question.meant))

    async def asearch(self, request: Search) -> Retrieved:
        """The same, awaited."""
        return self._read(request, await self._set_up(request).aretrieve(request.question.meant))

    def held_to(self, filters: Any) -> ContextAssemblyPostprocessor:
        """As `Evidence` has it: neighbours have to pass the retriever's own filters and those of the call.

        Raises:
            ConfigError: there are some, and neighbours aren't held to them: the postprocessor lets everything in, or
                its store can't apply them, and nobody has told it how.
        """
        own, found = self.postprocessor, seen(self.retriever, filters)
        filters = filters if found is None else found.filters
        has_store = any(store is not None for store in (own.store, own.docstore, own.vector_store))
        if not has_store or not _is_filter(filters):
            return own
        lets_all_in = own.config.neighbours == "unfiltered"
        if isinstance(filters, MetadataFilters) and not lets_all_in:
            return own.under(filters, is_all=found is not None and found.is_all)
        if own.filter is None:
            raise ConfigError("postprocessor.filter", "given where a call has filters and it has a store", None)
        return own

    def readmit(self, request: Readmit, query: str) -> tuple[Hit, ...]:
        """As `Evidence` has it."""
        cited, store = self._readmitted(request, query)
        with suppress(NotImplementedError):  # a vector store that can't be asked for nodes by their ids
            return cited if store is None else _as_stored(cited, request, store.fetch(_refs(cited, request)))
        return cited

    async def areadmit(self, request: Readmit, query: str) -> tuple[Hit, ...]:
        """The same, awaited."""
        cited, store = self._readmitted(request, query)
        with suppress(NotImplementedError):
            return cited if store is None else _as_stored(cited, request, await store.afetch(_refs(cited, request)))
        return cited

    def reach(self, filters: Any, query: str) -> Reach:
        """As `Evidence` has it."""
        own, search = self.postprocessor.reaching(query), search_named(self.retriever, filters)
        # Whoever gives the postprocessor the filter has said what that of a hidden search is.
        told = () if own["held"] is None else ("search",)
        neighbours = self.postprocessor.config.neighbours
        return reach(told, filters=filters, search=search, neighbours=neighbours, **own)

    def _readmitted(self, request: Readmit, query: str) -> tuple[tuple[Hit, ...], Any]:
        """The chunks cited before that pass the filters of the call, and the store that may have them."""
        own, found = self.postprocessor.filter_of(query), seen(self.retriever, request.filter)
        config = self.postprocessor.config
        cited = _passing(_passing(request.cited, found.filters if found else request.filter), own)
        if (found is None or not found.is_all) and own is None and config.neighbours != "unfiltered":
            cited = agreeing(cited, request.found, config)
        return cited, None if found is None else found.stored(config.keys)

    def _set_up(self, request: Search) -> BaseRetriever:
        most, filters = request.mode.kept, request.question.filter
        return self.retriever if most is filters is None else set_up("retriever", self.retriever, most, filters)

    def _read(self, request: Search, nodes: Sequence[NodeWithScore]) -> Retrieved:
        keys = self.postprocessor.config.keys
        hits, supplement = read_nodes(nodes, keys)
        held = _passing(tuple(hits), self.postprocessor.filter_of(request.question.text))
        facts = () if supplement is None else (supplement,)
        return fetched(request, held, self.retriever, unread_notes(nodes), facts)


def _is_filter(filters: Any) -> bool:
    kept = conditions(filters) if isinstance(filters, MetadataFilters) else filters
    return is_filter(kept)


def _passing(cited: tuple[Hit, ...], filters: Any) -> tuple[Hit, ...]:
    """Those of `cited` that pass the filters, in whichever form."""
    if not isinstance(filters, MetadataFilters):
        return passing(cited, [as_predicate(filters)])
    kept = {id(chunk) for chunk in allowed(filters, [hit.chunk for hit in cited])}
    return tuple(hit for hit in cited if id(hit.chunk) in kept)


def _refs(cited: tuple[Hit, ...], request: Readmit) -> list[ChunkRef]:
    """The references of `cited`, and of one hit that the search has just given."""
    return refs_of((*cited, *request.found[:1]))


def _as_stored(cited: tuple[Hit, ...], request: Readmit, stored: Sequence[Chunk]) -> tuple[Hit, ...]:
    """`cited` as they are stored now. A store that knows no hit of the search has other nodes."""
    return as_stored(cited, stored) if as_stored(request.found, stored) else cited


def evidence_of(retriever: Any, postprocessor: ContextAssemblyPostprocessor | None) -> Evidence:
    """The evidence that `retriever` gives.

    Raises:
        ConfigError: it is no retriever, or `postprocessor` is given to one that has its own.
    """
    if not isinstance(retriever, BaseRetriever):
        raise ConfigError("retriever", "a LlamaIndex retriever", retriever)
    if not isinstance(retriever, ContextRetriever):
        return Other(retriever, postprocessor or ContextAssemblyPostprocessor())
    if postprocessor is not None:
        raise ConfigError("postprocessor", "None beside a ContextRetriever, which has one", postprocessor)
    return Own(retriever)
