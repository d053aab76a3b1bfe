"""`ContextAssemblyRetriever`: a retriever that returns the assembled context, one document per label."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import count
from typing import Any

from langchain_core.callbacks import AsyncCallbackManagerForRetrieverRun, CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import Runnable, RunnableConfig
from langchain_core.runnables.config import ensure_config, patch_config
from langchain_core.vectorstores import VectorStore, VectorStoreRetriever
from pydantic import ConfigDict, Field, InstanceOf, model_validator
from typing_extensions import Self, override

from ctxassembly.assembly.selection.supplement import Given, supplement_for
from ctxassembly.config.assembly import AssemblyConfig, Neighbours
from ctxassembly.config.hints import check_parameters
from ctxassembly.context import Context
from ctxassembly.conversations.labels import OfCall
from ctxassembly.data.chunks import Chunk
from ctxassembly.data.validation import check_int
from ctxassembly.errors import ConfigError, InputError
from ctxassembly.protocols import AsyncStore, Store
from langchain_ctxassembly.assembler import ContextAssembler
from langchain_ctxassembly.search.caller_filter import Search, ambient, search_of
from langchain_ctxassembly.search.scored import ScoredRetriever, SearchType, check_known
from langchain_ctxassembly.stores.neighbors import NoNeighbours, neighbours_of


class ContextAssemblyRetriever(BaseRetriever):
    r"""Retrieves with `retriever`, assembles with `assembler`, and returns one document per label.

    Both get the query and the config of the call. Their runs are children of this retriever's run. `k` is the most
    labels to return; how many chunks are found is the retriever's own.

    >>> from langchain_core.documents import Document
    >>> from langchain_core.runnables import RunnableLambda
    >>> found = [Document("Drink water.", id="gastro#0", metadata={"source": "gastro.pdf"})]
    >>> retriever = ContextAssemblyRetriever(retriever=RunnableLambda(lambda query: found))
    >>> [document.page_content for document in retriever.invoke("May I drink?")]
    ['[1] Source: gastro.pdf\nDrink water.']

    The filter of a search holds for the neighbours of its hits, too. At each call it is read anew:

    - from a vector store's retriever, with the `search_kwargs` that it has at that moment. It may be wrapped any number
      of times: `with_retry()`, `bind()`, `with_config()`, configurable fields and alternatives,
      ContextualCompressionRetriever, MultiQueryRetriever;
    - from the call: `invoke(query, filter=...)`.

    Other retrievers (a lambda, an ensemble, a class of your own) hide their filter. Then neighbours have to agree with
    their hit, and the first run warns, as `ContextAssembler` describes it for a pipe. A filter that can't be applied to
    the neighbours is an error, unless the store has a filter of its own.

    `supplement` holds what no document does, facts from a graph or a database: text, a `Supplement`, or a function from
    the query to one of them or None. It becomes a document of its own, as `documents_from` describes it.
    """

    retriever: InstanceOf[Runnable[str, list[Document]]]
    assembler: InstanceOf[ContextAssembler] = Field(default_factory=ContextAssembler)
    k: int | None = Field(default=None, ge=1)
    """The most labels to return, a supplement not counted; None means all. For one call: `invoke(query, k=3)`."""
    supplement: Given = None

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
        supplement: Given = None,
        neighbours: Neighbours | None = None,
        on_fetched: Callable[[Sequence[Chunk]], Any] | None = None,
        labels: OfCall = None,
    ) -> Self:
        """A retriever over `vectorstore` that keeps the scores of its search.

        Args:
            vectorstore: the store to search, for `hits` chunks unless `search_kwargs` has a `k`.
            assembler: the assembler. Give it, or `config`, `store`, `neighbours`, `on_fetched` and `labels`.
            config: as for `ContextAssembler`.
            store: the store of neighbours; None means the vector store itself, as `neighbours_of` describes it.
            search_type: as in `vectorstore.as_retriever()`; "mmr" has no scores.
            search_kwargs: arguments of every search. A `filter` holds for the neighbours, too. Other arguments that
                may filter, such as `where_document` or `namespace`, need a `store` with a filter of its own.
            hits: the number of chunks to retrieve.
            k: the most labels to return; how many chunks are searched for, is `hits`.
            supplement: as for the class.
            neighbours: as for `ContextAssembler`.
            on_fetched: as for `ContextAssembler`.
            labels: as for `ContextAssembler`.

        Raises:
            ValueError: `assembler` is given together with a setting of its own, `hits` is below 1, or the search has a
                filter that can't be applied to the neighbours.
        """
        if not isinstance(vectorstore, VectorStore):
            instead = ": write ContextAssemblyRetriever(retriever=...)" if isinstance(vectorstore, Runnable) else ""
            raise ConfigError("vectorstore", "a VectorStore", vectorstore, instead)
        check_int("hits", hits, 1)
        own = (config, store, neighbours, on_fetched, labels)
        if assembler is not None and any(setting is not None for setting in own):
            raise ConfigError(
                "assembler",
                "given without config, store, neighbours, on_fetched and labels, which are its own",
                assembler,
            )
        assembler = assembler or ContextAssembler(
            config=config or AssemblyConfig(),
            store=store,
            neighbours=neighbours,
            on_fetched=on_fetched,
            labels=labels,
        )
        options = {"k": hits, **(search_kwargs or {})}
        derived = assembler.store is None
        if derived:
            found = neighbours_of(vectorstore, assembler.config.keys)
            assembler = assembler.model_copy(update={"store": found})
        has_some = derived and not isinstance(assembler.store, NoNeighbours)
        known_only = has_some and assembler.effective.neighbours != "unfiltered"
        if known_only:
            check_known(options)
        retriever = ScoredRetriever(
            vectorstore=vectorstore,
            search_type=search_type,
            search_kwargs=options,
            keys=assembler.config.keys,
            known_only=known_only,
        )
        return cls(retriever=retriever, assembler=assembler, k=k, supplement=supplement)

    @model_validator(mode="before")
    @classmethod
    def _knows(cls, given: Any) -> Any:
        if isinstance(given, Mapping):
            for name in sorted(given.keys() & (ContextAssembler.model_fields.keys() - cls.model_fields.keys())):
                instead = f": write assembler=ContextAssembler({name}=...)"
                raise ConfigError(name, f"left out of {cls.__name__}()", given[name], instead)
            check_parameters(cls.__name__, given, cls.model_fields, "assembler=ContextAssembler(config={})")
            if isinstance(found := given.get("retriever"), VectorStore):
                instead = f": write {cls.__name__}.from_vectorstore(vectorstore)"
                raise ConfigError("retriever", "a retriever or another Runnable", found, instead)
        return given

    @model_validator(mode="after")
    def _can_hold_neighbours_to_the_filter(self) -> Self:
        """Refuse now a filter that no call could apply; each call reads the filter anew."""
        if isinstance(self.retriever, (VectorStoreRetriever, ScoredRetriever)):
            self.assembler.held(search_of(self.retriever))
        return self

    @override
    def invoke(self, input: str, config: RunnableConfig | None = None, **kwargs: Any) -> list[Document]:
        """The assembled documents for a query. `k` and `filter` may be given for this call."""
        with ambient(ensure_config(config)):
            return super().invoke(input, config, **kwargs)

    @override
    async def ainvoke(self, input: str, config: RunnableConfig | None = None, **kwargs: Any) -> list[Document]:
        """The same as `invoke`, awaited."""
        with ambient(ensure_config(config)):
            return await super().ainvoke(input, config, **kwargs)

    def context(self, query: str, *, filter: Any = None, config: RunnableConfig | None = None) -> Context:
        """The context that `invoke` would turn into documents, in the run of `config`.

        Raises:
            ConfigError: the retriever has a `k`: a context has all labels that its budget allows.
        """
        config = self._for_context(config)
        arguments = {} if filter is None else {"filter": filter}
        with ambient(config):
            search = self._search(config, arguments)
            documents = self.retriever.invoke(query, config, **arguments)
        return self.assembler.as_context(search=search).invoke(self._input(documents, query), config)

    async def acontext(self, query: str, *, filter: Any = None, config: RunnableConfig | None = None) -> Context:
        """The same as `context`, awaited."""
        config = self._for_context(config)
        arguments = {} if filter is None else {"filter": filter}
        with ambient(config):
            search = self._search(config, arguments)
            documents = await self.retriever.ainvoke(query, config, **arguments)
        return await self.assembler.as_context(search=search).ainvoke(self._input(documents, query), config)

    @override
    def _get_relevant_documents(
        self,
        query: str,
        *,
        run_manager: CallbackManagerForRetrieverRun,
        k: int | None = None,
        filter: Any = None,
    ) -> list[Document]:
        config = patch_config(None, callbacks=run_manager.get_child())
        arguments = {} if filter is None else {"filter": filter}
        with ambient(config):
            search = self._search(config, arguments)
            documents = self.retriever.invoke(query, config, **arguments)
        return self._within(k, self.assembler.invoke(self._input(documents, query), config, search=search))

    @override
    async def _aget_relevant_documents(
        self,
        query: str,
        *,
        run_manager: AsyncCallbackManagerForRetrieverRun,
        k: int | None = None,
        filter: Any = None,
    ) -> list[Document]:
        config = patch_config(None, callbacks=run_manager.get_child())
        arguments = {} if filter is None else {"filter": filter}
        with ambient(config):
            search = self._search(config, arguments)
            documents = await self.retriever.ainvoke(query, config, **arguments)
        return self._within(k, await self.assembler.ainvoke(self._input(documents, query), config, search=search))

    def _for_context(self, config: RunnableConfig | None) -> RunnableConfig:
        if self.k is not None:
            raise ConfigError(
                "k", "None where the whole context is asked for, whose budget says how much it has", self.k
            )
        return ensure_config(config)

    def _search(self, config: RunnableConfig, arguments: Mapping[str, Any]) -> Search | None:
        """The search of this call, read before it runs, so that a filter set later doesn't count for its hits."""
        search = search_of(self.retriever, config, arguments)
        if arguments and search is None:
            kind = type(self.retriever).__name__
            raise InputError(
                f"filter can be given to a call only where the search can be seen to take it, not to {kind}: give it "
                "to the assembler, ContextAssembler(filter=...), and to the retriever in its own way"
            )
        return search

    def _input(self, documents: list[Document], query: str) -> dict[str, Any]:
        return {"documents": documents, "query": query, "supplement": supplement_for(query, self.supplement)}

    def _within(self, k: int | None, documents: list[Document]) -> list[Document]:
        """The documents of the first `k` labels, and the supplement wherever it is."""
        if k is not None and k < 1:
            raise ConfigError("k", "an integer of at least 1", k)
        most = self.k if k is None else k
        if most is None:
            return documents
        place = count(1)
        return [document for document in documents if "citation" not in document.metadata or next(place) <= most]
