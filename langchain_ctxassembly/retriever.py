"""`ContextAssemblyRetriever`, and what it shares with `ContextRetriever`: one document per label of a context."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import replace
from itertools import count
from typing import Any, NamedTuple

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
from ctxassembly.data.retrieval import Retrieved
from ctxassembly.data.validation import check_int
from ctxassembly.errors import ConfigError, InputError
from ctxassembly.protocols import AsyncStore, Store
from ctxassembly.safe_repr import safe_repr
from langchain_ctxassembly.assembler import ContextAssembler, assembler_inputs
from langchain_ctxassembly.search import ScoredRetriever, SearchType, ambient_config, filter_arguments, search_filter
from langchain_ctxassembly.stores.vectorstore import make_neighbor_store


class Call(NamedTuple):
    """One call of a retriever."""

    query: Any
    k: int | None = None
    filter: Any = None
    conversation: Any = None


Found = tuple[ContextAssembler, Mapping[str, Any]]
"""The assembler of a call, whose neighbors pass its filters, and its input."""


class AssemblingRetriever(BaseRetriever):
    """A retriever that returns the assembled context of what it found."""

    assembler: InstanceOf[ContextAssembler] = Field(default_factory=ContextAssembler)
    supplement: SupplementInput = None
    """Text that is in no document: text, a `Supplement`, or a function from the query to one of them or None."""

    # The base class ignores unknown parameters, and so every misspelled one.
    model_config = ConfigDict(arbitrary_types_allowed=True, extra="forbid")

    @abstractmethod
    def _search(self, call: Call, config: RunnableConfig) -> Found:
        """Return what the search of a call found."""

    @abstractmethod
    async def _asearch(self, call: Call, config: RunnableConfig) -> Found:
        """Async version of `_search`."""

    def _max_labels(self, k: int | None) -> int | None:  # noqa: ARG002
        """Return the number of labels to return, for the `k` of a call; None means all."""
        return None

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
        self,
        query: Any,
        *,
        k: int | None = None,
        filter: Any = None,
        conversation: Any = None,
        config: RunnableConfig | None = None,
    ) -> Context:
        """Return the context that `invoke` would turn into documents, in the run of `config`, with its retrieval.

        Raises:
            ConfigError: only some of the labels are asked for: a context has all that its budget allows.
        """
        config = self._context_config(k, config)
        with ambient_config(config):
            assembler, inputs = self._search(Call(query, k, filter, conversation), config)
        return _with_retrieval(assembler.as_context().invoke(inputs, config), inputs)

    async def acontext(
        self,
        query: Any,
        *,
        k: int | None = None,
        filter: Any = None,
        conversation: Any = None,
        config: RunnableConfig | None = None,
    ) -> Context:
        """Async version of `context`."""
        config = self._context_config(k, config)
        with ambient_config(config):
            assembler, inputs = await self._asearch(Call(query, k, filter, conversation), config)
        return _with_retrieval(await assembler.as_context().ainvoke(inputs, config), inputs)

    @override
    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun, **arguments: Any
    ) -> list[Document]:
        call, config = Call(query, **arguments), patch_config(None, callbacks=run_manager.get_child())
        with ambient_config(config):
            assembler, inputs = self._search(call, config)
        return _first_labels(assembler.invoke(inputs, config), self._max_labels(call.k))

    @override
    async def _aget_relevant_documents(
        self, query: str, *, run_manager: AsyncCallbackManagerForRetrieverRun, **arguments: Any
    ) -> list[Document]:
        call, config = Call(query, **arguments), patch_config(None, callbacks=run_manager.get_child())
        with ambient_config(config):
            assembler, inputs = await self._asearch(call, config)
        return _first_labels(await assembler.ainvoke(inputs, config), self._max_labels(call.k))

    def _context_config(self, k: int | None, config: RunnableConfig | None) -> RunnableConfig:
        if self._max_labels(k) is not None:
            raise ConfigError("k", "None where the whole context is asked for, whose budget says how much it has", k)
        return ensure_config(config)


def _with_retrieval(context: Context, inputs: Mapping[str, Any]) -> Context:
    found = inputs["documents"]
    return replace(context, retrieved=found) if isinstance(found, Retrieved) else context


def _first_labels(documents: list[Document], max_labels: int | None) -> list[Document]:
    """Return the documents of the first labels, and the supplement wherever it is."""
    if max_labels is None:
        return documents
    number = count(1)
    return [one for one in documents if "citation" not in one.metadata or next(number) <= max_labels]


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
        check_int("hits", hits, 1)
        if assembler is None:
            assembler = ContextAssembler(config=config or AssemblyConfig(), store=store)
        elif config is not None or store is not None:
            raise ConfigError("assembler", "given without config and store, which are its own", assembler)
        keys = assembler.assembly_settings.keys
        retriever = ScoredRetriever(
            vectorstore=vectorstore,
            search_type=search_type,
            search_kwargs={"k": hits, **(search_kwargs or {})},
            keys=keys,
        )
        if assembler.store is None:
            assembler = assembler.model_copy(update={"store": make_neighbor_store(vectorstore, keys)})
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
