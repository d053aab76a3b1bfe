"""`ContextAssemblyRetriever`: a retriever that returns the assembled context, one document per label."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import count
from typing import Any

from langchain_core.callbacks import AsyncCallbackManagerForRetrieverRun, CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import Runnable, RunnableConfig
from langchain_core.runnables.config import ensure_config, patch_config
from langchain_core.vectorstores import VectorStore
from pydantic import ConfigDict, Field, InstanceOf, model_validator
from typing_extensions import Self, override

from ctxassembly.assembly.supplement import SupplementInput, resolve_supplement
from ctxassembly.config.assembly import AssemblyConfig
from ctxassembly.config.hints import raises_config_errors
from ctxassembly.context import Context
from ctxassembly.data.validation import check_int
from ctxassembly.errors import ConfigError, InputError
from ctxassembly.protocols import AsyncStore, Store
from ctxassembly.safe_repr import safe_repr
from langchain_ctxassembly.assembler import ContextAssembler, assembler_inputs
from langchain_ctxassembly.search import ScoredRetriever, SearchType, ambient_config, filter_arguments, search_filter
from langchain_ctxassembly.stores.vectorstore import make_neighbor_store


@raises_config_errors
class ContextAssemblyRetriever(BaseRetriever):
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
    assembler: InstanceOf[ContextAssembler] = Field(default_factory=ContextAssembler)
    k: int | None = Field(default=None, ge=1)
    """The maximum number of labels, without a supplement; None means all. For one call: `invoke(query, k=3)`."""
    supplement: SupplementInput = None

    # The base class ignores unknown parameters, and so every misspelled one.
    model_config = ConfigDict(arbitrary_types_allowed=True, extra="forbid")

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
    def invoke(self, input: str, config: RunnableConfig | None = None, **kwargs: Any) -> list[Document]:
        """Return the assembled documents for a query. `k`, `filter` and `conversation` may be given for this call."""
        with ambient_config(ensure_config(config)):
            return super().invoke(input, config, **kwargs)

    @override
    async def ainvoke(self, input: str, config: RunnableConfig | None = None, **kwargs: Any) -> list[Document]:
        """Async version of `invoke`."""
        with ambient_config(ensure_config(config)):
            return await super().ainvoke(input, config, **kwargs)

    def context(
        self, query: str, *, filter: Any = None, conversation: Any = None, config: RunnableConfig | None = None
    ) -> Context:
        """Return the context that `invoke` would turn into documents, in the run of `config`.

        Raises:
            ConfigError: the retriever has a `k`: a context has all labels that its budget allows.
        """
        config = self._context_config(config)
        assembler, inputs = self._retrieve(query, filter, conversation, config)
        return assembler.as_context().invoke(inputs, config)

    async def acontext(
        self, query: str, *, filter: Any = None, conversation: Any = None, config: RunnableConfig | None = None
    ) -> Context:
        """Async version of `context`."""
        config = self._context_config(config)
        assembler, inputs = await self._aretrieve(query, filter, conversation, config)
        return await assembler.as_context().ainvoke(inputs, config)

    @override
    def _get_relevant_documents(
        self,
        query: str,
        *,
        run_manager: CallbackManagerForRetrieverRun,
        k: int | None = None,
        filter: Any = None,
        conversation: Any = None,
    ) -> list[Document]:
        config = patch_config(None, callbacks=run_manager.get_child())
        assembler, inputs = self._retrieve(query, filter, conversation, config)
        return self._limit_labels(k, assembler.invoke(inputs, config))

    @override
    async def _aget_relevant_documents(
        self,
        query: str,
        *,
        run_manager: AsyncCallbackManagerForRetrieverRun,
        k: int | None = None,
        filter: Any = None,
        conversation: Any = None,
    ) -> list[Document]:
        config = patch_config(None, callbacks=run_manager.get_child())
        assembler, inputs = await self._aretrieve(query, filter, conversation, config)
        return self._limit_labels(k, await assembler.ainvoke(inputs, config))

    def _context_config(self, config: RunnableConfig | None) -> RunnableConfig:
        if self.k is not None:
            raise ConfigError(
                "k", "None where the whole context is asked for, whose budget says how much it has", self.k
            )
        return ensure_config(config)

    def _prepare_search(self, query: str, condition: Any) -> tuple[dict[str, Any], ContextAssembler]:
        """Return the arguments of a search, and the assembler under its filter as it is before the search."""
        if not isinstance(query, str):
            raise InputError(f"query must be a string, got {safe_repr(query)}")
        arguments = filter_arguments(self.retriever, condition)
        return arguments, self.assembler.limited_to(search_filter(self.retriever, arguments))

    def _retrieve(
        self, query: str, condition: Any, conversation: Any, config: RunnableConfig
    ) -> tuple[ContextAssembler, dict[str, Any]]:
        """Return the assembler of a call, and its inputs: what the search found."""
        arguments, assembler = self._prepare_search(query, condition)
        with ambient_config(config):
            documents = self.retriever.invoke(query, config, **arguments)
        return assembler, self._assembler_inputs(documents, query, conversation)

    async def _aretrieve(
        self, query: str, condition: Any, conversation: Any, config: RunnableConfig
    ) -> tuple[ContextAssembler, dict[str, Any]]:
        """Async version of `_retrieve`."""
        arguments, assembler = self._prepare_search(query, condition)
        with ambient_config(config):
            documents = await self.retriever.ainvoke(query, config, **arguments)
        return assembler, self._assembler_inputs(documents, query, conversation)

    def _assembler_inputs(self, documents: Any, query: str, conversation: Any) -> dict[str, Any]:
        if not isinstance(documents, Iterable) or isinstance(documents, (str, Document, Mapping)):
            kind = type(self.retriever).__name__
            raise InputError(f"{kind} must return a list of Document, got {safe_repr(documents)}")
        return assembler_inputs(documents, query, resolve_supplement(query, self.supplement), conversation)

    def _limit_labels(self, k: int | None, documents: list[Document]) -> list[Document]:
        """Return the documents of the first `k` labels, and the supplement wherever it is."""
        if k is not None and k < 1:
            raise ConfigError("k", "an integer of at least 1", k)
        max_labels = self.k if k is None else k
        if max_labels is None:
            return documents
        label_number = count(1)
        return [
            document
            for document in documents
            if "citation" not in document.metadata or next(label_number) <= max_labels
        ]
