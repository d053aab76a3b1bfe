"""The retrievers of an answer chain: our own, and those of other makes with a postprocessor beside them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol, cast

from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.schema import NodeWithScore

from ctxassembly.adapting.fetched import fetched
from ctxassembly.chain.requests import Search
from ctxassembly.conversations.labels import OfCall
from ctxassembly.errors import ConfigError
from ctxassembly.retrieved import Retrieved
from llamaindex_ctxassembly.channels import set_up
from llamaindex_ctxassembly.context_retriever import ContextRetriever
from llamaindex_ctxassembly.convert.media import unread_notes
from llamaindex_ctxassembly.convert.nodes import is_media, to_hits
from llamaindex_ctxassembly.postprocessor import ContextAssemblyPostprocessor


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
        return self.retriever.search(request)

    async def asearch(self, request: Search) -> Retrieved:
        """The same, awaited."""
        return await self.retriever.asearch(request)

    def held_to(self, filters: Any) -> ContextAssemblyPostprocessor:
        """As `Evidence` has it."""
        return self.retriever.held_to(filters)


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
        """As `Evidence` has it.

        Raises:
            ConfigError: there are filters, and nobody has told the postprocessor how to hold neighbours to them.
        """
        own = self.postprocessor
        has_store = any(store is not None for store in (own.store, own.docstore, own.vector_store))
        if filters is not None and has_store and own.filter is None:
            raise ConfigError("postprocessor.filter", "given where a call has filters and it has a store", None)
        return own

    def _set_up(self, request: Search) -> BaseRetriever:
        most, filters = request.mode.kept, request.question.filter
        return self.retriever if most is filters is None else set_up("retriever", self.retriever, most, filters)

    def _read(self, request: Search, nodes: Sequence[NodeWithScore]) -> Retrieved:
        keys = self.postprocessor.config.keys
        hits = [hit for node in nodes if not is_media(node) for hit in to_hits(node, keys)]
        return fetched(request, hits, self.retriever, unread_notes(nodes))


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
