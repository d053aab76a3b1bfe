"""The retrievers of an answer chain: our own, and those of other makes with an assembler beside them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from inspect import signature
from typing import Any, Protocol

from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import Runnable
from langchain_core.runnables.config import ensure_config
from langchain_core.vectorstores import VectorStoreRetriever

from ctxassembly.answering.cache_key import Hidden, Reach, reach
from ctxassembly.answering.requests import Readmit, Search
from ctxassembly.answering.search import agreeing, as_stored
from ctxassembly.assembly.selection.supplement import Given
from ctxassembly.data.chunks import Hit
from ctxassembly.data.filters import combined, is_filter
from ctxassembly.errors import ConfigError
from ctxassembly.integrations.metadata import fetched
from ctxassembly.retrieved import Retrieved
from langchain_ctxassembly.assembler import ContextAssembler
from langchain_ctxassembly.context_retriever import ContextRetriever
from langchain_ctxassembly.convert.documents import chunk_from, document_of, read_documents
from langchain_ctxassembly.retriever import ContextAssemblyRetriever
from langchain_ctxassembly.search.caller_filter import Search as Visible
from langchain_ctxassembly.search.caller_filter import search_named, search_of
from langchain_ctxassembly.search.scored import ScoredRetriever
from langchain_ctxassembly.stores.filters import agot, both, got, passes


class Evidence(Protocol):
    """A retriever with its assembler, as an answer chain asks them."""

    @property
    def assembler(self) -> ContextAssembler:
        """The assembler as it was set up."""

    @property
    def supplement(self) -> Given:
        """Text that no chunk holds."""

    def filter_of(self, given: Any) -> Any:
        """The filter of a call: `given`, or another where it is None."""

    def search(self, request: Search) -> Retrieved:
        """The hits for one search, below the run that is going on."""

    async def asearch(self, request: Search) -> Retrieved:
        """The same, awaited."""

    def assembling(self, condition: Any) -> tuple[ContextAssembler, Visible | None]:
        """The assembler for a call with that filter, and the search to whose filter it holds neighbours."""

    def readmit(self, request: Readmit) -> tuple[Hit, ...]:
        """The chunks cited before that the call may read."""

    async def areadmit(self, request: Readmit) -> tuple[Hit, ...]:
        """The same, awaited."""

    def reach(self, condition: Any) -> Reach:
        """What a call with that filter may read."""


@dataclass(frozen=True)
class Own:
    """A `ContextRetriever`: it takes modes, filters, intents and boosts."""

    retriever: ContextRetriever

    @property
    def assembler(self) -> ContextAssembler:
        """As `Evidence` has it."""
        return self.retriever.assembler

    @property
    def supplement(self) -> Given:
        """As `Evidence` has it."""
        return self.retriever.supplement

    def filter_of(self, given: Any) -> Any:
        """The call's filter beside the retriever's."""
        return self.retriever.filter_of(given)

    def search(self, request: Search) -> Retrieved:
        """As `Evidence` has it."""
        return self.retriever.source().search(request)

    async def asearch(self, request: Search) -> Retrieved:
        """The same, awaited."""
        return await self.retriever.source(awaited=True).asearch(request)

    def assembling(self, condition: Any) -> tuple[ContextAssembler, Visible | None]:
        """As `Evidence` has it."""
        return self.retriever.held_to(condition), None

    def readmit(self, request: Readmit) -> tuple[Hit, ...]:
        """As `Evidence` has it."""
        return _held_to(self.assembler, self.retriever.source().readmit(request))

    async def areadmit(self, request: Readmit) -> tuple[Hit, ...]:
        """The same, awaited."""
        return _held_to(self.assembler, await self.retriever.source(awaited=True).areadmit(request))

    def reach(self, condition: Any) -> Reach:
        """As `Evidence` has it."""
        return self.retriever.reach(condition)


@dataclass(frozen=True)
class Other:
    """A retriever of another make: it takes words, and `k` and a filter as far as that can be seen.

    Rerankers, similarities and boosts are its own business, and so is a search by words alone.
    """

    retriever: Runnable[str, list[Document]]
    assembler: ContextAssembler
    supplement: Given = None

    def filter_of(self, given: Any) -> Any:
        """The call's filter; the retriever's own holds beside it."""
        return given

    def search(self, request: Search) -> Retrieved:
        """As `Evidence` has it."""
        found = self.retriever.invoke(request.question.meant, ensure_config(), **self._arguments(request))
        return self._read(request, found)

    async def asearch(self, request: Search) -> Retrieved:
        """The same, awaited."""
        found = await self.retriever.ainvoke(request.question.meant, ensure_config(), **self._arguments(request))
        return self._read(request, found)

    def assembling(self, condition: Any) -> tuple[ContextAssembler, Visible | None]:
        """As `Evidence` has it."""
        return self.assembler, search_of(self.retriever, ensure_config(), self._filtering(condition))

    def readmit(self, request: Readmit) -> tuple[Hit, ...]:
        """As `Evidence` has it."""
        cited, search = self._readmitted(request)
        if search is None:
            return cited
        with suppress(NotImplementedError):  # it can't be asked by ids
            found = got(search.vectorstore, _ids(cited, request), search.filter)
            return self._as_stored(cited, request, found)
        return cited

    async def areadmit(self, request: Readmit) -> tuple[Hit, ...]:
        """The same, awaited."""
        cited, search = self._readmitted(request)
        if search is None:
            return cited
        with suppress(NotImplementedError):
            found = await agot(search.vectorstore, _ids(cited, request), search.filter)
            return self._as_stored(cited, request, found)
        return cited

    def reach(self, condition: Any) -> Reach:
        """As `Evidence` has it."""
        search = search_named(self.retriever, ensure_config(), self._filtering(condition))
        own = self.assembler.reaching(self.supplement)
        # Whoever gives the assembler the filter has said what that of a hidden search is.
        told = ("search",) if is_filter(self.assembler.filter) else ()
        neighbours = self.assembler.effective.neighbours
        return reach(told, filter=condition, search=search, neighbours=neighbours, **own)

    def _readmitted(self, request: Readmit) -> tuple[tuple[Hit, ...], Visible | None]:
        """The chunks cited before that pass the filters of the call, and the search that may have them."""
        assembler, search = self.assembling(request.filter)
        cited = _held_to(assembler, request.cited)
        if search is not None and is_filter(search.filter):
            cited = _passing(cited, passes(search.vectorstore, search.filter))
        named = search_named(self.retriever, ensure_config(), self._filtering(request.filter))
        is_seen = search is not None and search.is_all and not isinstance(named, Hidden)
        is_told = is_filter(assembler.filter) or assembler.effective.neighbours == "unfiltered"
        return cited if is_seen or is_told else agreeing(cited, request.found, assembler.effective), search

    def _as_stored(self, cited: tuple[Hit, ...], request: Readmit, found: Sequence[Document]) -> tuple[Hit, ...]:
        """`cited` as the vector store has them now. One that knows no hit by its id hasn't given these ids."""
        stored = [chunk_from(document, self.assembler.config.keys) for document in found]
        knows = {chunk.id for chunk in stored} & {hit.chunk.id for hit in request.found}
        return as_stored(cited, stored) if knows else cited

    def _arguments(self, request: Search) -> dict[str, Any]:
        most = request.mode.kept
        wanted = {} if most is None or not _takes_k(self.retriever) else {"k": most}
        return {**wanted, **self._filtering(request.question.filter)}

    def _filtering(self, condition: Any) -> Mapping[str, Any]:
        """The arguments by which the filter of a call reaches the search.

        Raises:
            ConfigError: it doesn't.
        """
        if condition is None:
            return {}
        own = search_of(self.retriever, ensure_config())
        kept = own.filter if own else None
        allowed = "without a filter of its own, where a call has another one"
        arguments = {"filter": combined(kept, condition, "retriever", allowed, both, kept)}
        if search_of(self.retriever, ensure_config(), arguments) is None:
            kind = type(self.retriever).__name__
            raise ConfigError("filter", f"None where the search can't be seen to take it, as that of {kind}", condition)
        return arguments

    def _read(self, request: Search, found: list[Document]) -> Retrieved:
        keys = self.assembler.config.keys
        found_hits, supplement = read_documents(found, keys)
        hits, facts = tuple(found_hits), () if supplement is None else (supplement,)
        try:
            return fetched(request, _held_to(self.assembler, hits), self.retriever, facts=facts)
        except ConfigError:  # in a language of the search alone
            notes = ["assembler.filter: only the search can apply it"]
            return fetched(request, hits, self.retriever, notes, facts)


def evidence_of(retriever: Any, assembler: ContextAssembler | None) -> Evidence:
    """The evidence that `retriever` gives.

    Raises:
        ConfigError: `retriever` is no retriever, `assembler` is none or has configurable fields, or it is given to a
            retriever that has an assembler of its own.
    """
    if not (assembler is None or isinstance(assembler, ContextAssembler)):
        hint = "; a filter can be given in each call, and for other settings a chain can be made for each"
        allowed = "a ContextAssembler without configurable fields, or None"
        raise ConfigError("assembler", allowed, assembler, hint if isinstance(assembler, Runnable) else "")
    if isinstance(retriever, (ContextRetriever, ContextAssemblyRetriever)) and assembler is not None:
        raise ConfigError("assembler", f"None beside a {type(retriever).__name__}, which has one", assembler)
    if isinstance(retriever, ContextRetriever):
        return Own(retriever)
    if isinstance(retriever, ContextAssemblyRetriever):
        if retriever.k is not None:
            raise ConfigError("retriever.k", "None in an answer chain, whose modes say how much is kept", retriever.k)
        return Other(retriever.retriever, retriever.assembler, retriever.supplement)
    if not isinstance(retriever, Runnable):
        raise ConfigError("retriever", "a retriever, or another Runnable from a query to documents", retriever)
    return Other(retriever, assembler or ContextAssembler())


def _held_to(assembler: ContextAssembler, cited: tuple[Hit, ...]) -> tuple[Hit, ...]:
    """Those of `cited` that pass the assembler's own filter, in the form of its store."""
    if not is_filter(assembler.filter):
        return cited
    return _passing(cited, passes(getattr(assembler.store, "vectorstore", None), assembler.filter))


def _passing(cited: tuple[Hit, ...], test: Callable[[Document], bool]) -> tuple[Hit, ...]:
    return tuple(hit for hit in cited if test(document_of(hit)))


def _ids(cited: Sequence[Hit], request: Readmit) -> list[str]:
    """The ids of `cited`, and of one hit that the vector store has just given."""
    return [hit.chunk.id for hit in (*cited, *request.found[:1])]


def _takes_k(retriever: Any) -> bool:
    if isinstance(retriever, (VectorStoreRetriever, ScoredRetriever)):
        return True
    return isinstance(retriever, BaseRetriever) and "k" in signature(retriever._get_relevant_documents).parameters  # noqa: SLF001
