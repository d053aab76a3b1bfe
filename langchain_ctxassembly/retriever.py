"""`ContextAssemblyRetriever`: a retriever that returns the assembled context, one document per label."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from langchain_core.documents import Document
from langchain_core.runnables import Runnable, RunnableConfig
from langchain_core.vectorstores import VectorStore
from pydantic import Field, InstanceOf, model_validator
from typing_extensions import Self, override

from ctxassembly.assembly.selection.supplement import SupplementInput, resolve_supplement
from ctxassembly.config.assembly import AssemblyConfig
from ctxassembly.config.hints import raises_config_errors
from ctxassembly.data.validation import check_int
from ctxassembly.errors import ConfigError, InputError
from ctxassembly.protocols import AsyncStore, Store
from ctxassembly.safe_repr import safe_repr
from langchain_ctxassembly.assembler import ContextAssembler, assembler_inputs
from langchain_ctxassembly.assembling import AssemblingRetriever, Call, Found
from langchain_ctxassembly.search import ScoredRetriever, SearchType, filter_arguments, search_filter
from langchain_ctxassembly.stores.vectorstore import make_neighbor_store


@raises_config_errors
class ContextAssemblyRetriever(AssemblingRetriever):
    r"""Retrieves with `retriever`, assembles with `assembler`, and returns one document per label.

    Both get the query and the config of the call. Their runs are children of this retriever's run. `k` is the maximum
    number of labels to return; `retriever` decides how many chunks are found.

    >>> from langchain_core.documents import Document
    >>> from langchain_core.runnables import RunnableLambda
    >>> found = [Document("Drink water.", id="gastro#0", metadata={"source": "gastro.pdf"})]
    >>> retriever = ContextAssemblyRetriever(retriever=RunnableLambda(lambda query: found))
    >>> [document.page_content for document in retriever.invoke("May I drink?")]
    ['[1] Source: gastro.pdf\nDrink water.']

    Over a vector store's retriever, the filter of the search applies to the neighbors of its hits, too: its
    `search_kwargs["filter"]` at that moment, and the filter of the call, `invoke(query, filter=...)`. A filter
    that can't be applied to neighbors is an error, unless the store has its own filter.

    Any other retriever (with a retry, bound, an ensemble, a compressor, your own class) is asked as it is. Its filter
    has to be given to the assembler: `ContextAssembler(filter=...)`. Without a filter, a neighbor must have its hit's
    metadata, as `ContextAssembler` describes it.

    `supplement` is text that is in no document, such as facts from a graph or a database: text, a `Supplement`, or a
    function from the query to one of them or None. It becomes a separate document, as `documents_from` describes it.
    """

    retriever: InstanceOf[Runnable[str, list[Document]]]
    k: int | None = Field(default=None, ge=1)
    """The maximum number of labels, without a supplement; None means all. For one call: `invoke(query, k=3)`."""

    @classmethod
    def from_vectorstore(
        cls,
        vectorstore: VectorStore,
        *,
        assembler: ContextAssembler | None = None,
        config: AssemblyConfig | None = None,
        store: Store | AsyncStore | None = None,
        search_type: SearchType = "similarity",
        search_kwargs: Mapping[str, Any] | None = None,
        hits: int = 8,
        k: int | None = None,
        supplement: SupplementInput = None,
    ) -> Self:
        """Return a retriever over `vectorstore` that keeps the scores of its search.

        Args:
            vectorstore: the store to search, for `hits` chunks unless `search_kwargs` has a `k`.
            assembler: the assembler, in the place of one of `config` and `store`.
            config: as for `ContextAssembler`.
            store: the store of neighbors; None means the vector store itself, as `make_neighbor_store` describes it.
            search_type: as in `vectorstore.as_retriever()`; "mmr" has no scores.
            search_kwargs: arguments of every search. A `filter` applies to neighbors, too.
            hits: the number of chunks to retrieve.
            k: the maximum number of labels to return; `hits` is the number of chunks to search for.
            supplement: as for the class.

        Raises:
            ValueError: `assembler` is given together with a setting of its own, `hits` is below 1, or the search has a
                filter that can't be applied to the neighbors.
        """
        if not isinstance(vectorstore, VectorStore):
            instead = ": write ContextAssemblyRetriever(retriever=...)" if isinstance(vectorstore, Runnable) else ""
            raise ConfigError("vectorstore", "a VectorStore", vectorstore, instead)
        check_int("hits", hits, 1)
        if assembler is None:
            assembler = ContextAssembler(config=config or AssemblyConfig(), store=store)
        elif config is not None or store is not None:
            raise ConfigError("assembler", "given without config and store, which are its own", assembler)
        options = {"k": hits, **(search_kwargs or {})}
        if assembler.store is None:
            neighbor_store = make_neighbor_store(vectorstore, assembler.assembly_settings.keys)
            assembler = assembler.model_copy(update={"store": neighbor_store})
        retriever = ScoredRetriever(
            vectorstore=vectorstore,
            search_type=search_type,
            search_kwargs=options,
            keys=assembler.assembly_settings.keys,
        )
        return cls(retriever=retriever, assembler=assembler, k=k, supplement=supplement)

    @model_validator(mode="after")
    def _check_filter(self) -> Self:
        """Refuse a filter that no call could apply; each call reads the filter again."""
        self.assembler.limited_to(search_filter(self.retriever))
        return self

    @override
    def _max_labels(self, k: int | None) -> int | None:
        if k is not None and k < 1:
            raise ConfigError("k", "an integer of at least 1", k)
        return self.k if k is None else k

    @override
    def _search(self, call: Call, config: RunnableConfig) -> Found:
        arguments, assembler = self._prepare_search(call)
        return assembler, self._assembler_inputs(call, self.retriever.invoke(call.query, config, **arguments))

    @override
    async def _asearch(self, call: Call, config: RunnableConfig) -> Found:
        arguments, assembler = self._prepare_search(call)
        found = await self.retriever.ainvoke(call.query, config, **arguments)
        return assembler, self._assembler_inputs(call, found)

    def _prepare_search(self, call: Call) -> tuple[dict[str, Any], ContextAssembler]:
        """Return the arguments of a search, and the assembler under its filter as it is before the search."""
        if not isinstance(call.query, str):
            raise InputError(f"query must be a string, got {safe_repr(call.query)}")
        arguments = filter_arguments(self.retriever, call.filter)
        return arguments, self.assembler.limited_to(search_filter(self.retriever, arguments))

    def _assembler_inputs(self, call: Call, documents: Any) -> dict[str, Any]:
        if not isinstance(documents, Iterable) or isinstance(documents, (str, Document, Mapping)):
            kind = type(self.retriever).__name__
            raise InputError(f"{kind} must return a list of Document, got {safe_repr(documents)}")
        return assembler_inputs(
            documents, call.query, resolve_supplement(call.query, self.supplement), call.conversation
        )
