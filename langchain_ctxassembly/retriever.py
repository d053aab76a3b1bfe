"""`ContextAssemblyRetriever`: a retriever whose documents are the assembled context."""

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

from ctxassembly.assembly.choosing.supplement import Given, supplement_for
from ctxassembly.conversations.labels import OfCall
from ctxassembly.data.chunks import Chunk
from ctxassembly.errors import ConfigError, InputError
from ctxassembly.protocols import AsyncStore, Store
from ctxassembly.settings.config import AssemblyConfig, Neighbours
from ctxassembly.settings.misuse import check_parameters
from langchain_ctxassembly.assembler import ContextAssembler
from langchain_ctxassembly.searches.scored import ScoredRetriever, SearchType, check_known
from langchain_ctxassembly.searches.visible import Search, ambient, search_of
from langchain_ctxassembly.stores.neighbours import NoNeighbours, neighbours_of


class ContextAssemblyRetriever(BaseRetriever):
    """Retrieves with `retriever`, assembles with `assembler`, and gives one document per label.

    The query reaches both, and so does the config of the call, with the callbacks as children of this retriever's run.

    The filter of each call's search holds for the neighbours too, in the vector store's own form, where it can be seen:
    in a vector store's retriever, with the `search_kwargs` that it has at that moment, below any number of
    `with_retry()`, `bind()`, `with_config()`, configurable fields and alternatives, ContextualCompressionRetriever and
    MultiQueryRetriever, or given to the call: `invoke(query, filter=...)`. Where it can't be seen (a lambda, an
    ensemble, a retriever of one's own) the assembler does as it says for a pipe: neighbours have to agree with their
    hit, and the first run warns. A filter that can't be applied to the neighbours is an error, unless the store has its
    own.

    `supplement` is what no document holds, facts from a graph or a database: text, a `Supplement`, or a function from
    the query to one of them or None. It is a document of its own, as `documents_from` describes it.
    """

    retriever: InstanceOf[Runnable[str, list[Document]]]
    assembler: InstanceOf[ContextAssembler] = Field(default_factory=ContextAssembler)
    k: int | None = Field(default=None, ge=1)
    """The most labels to return, beside a supplement; None means all. A call may set its own: `invoke(query, k=3)`."""
    supplement: Given = None

    # The base class ignores what it doesn't know, and with it every misspelled parameter.
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
            vectorstore: searched for `hits` chunks, unless `search_kwargs` has a `k`.
            assembler: how to assemble; in its place `config`, `store`, `neighbours`, `on_fetched` and `labels` may be
                given.
            config: as for `ContextAssembler`.
            store: where neighbours come from; None means the vector store itself, as `neighbours_of` describes it.
            search_type: as in `vectorstore.as_retriever()`; "mmr" has no scores.
            search_kwargs: for every search. Its `filter` holds for the neighbours too; another argument that may
                filter, `where_document` or `namespace`, needs a `store` that has a filter of its own.
            hits: the number of chunks to retrieve.
            k: the most labels to return.
            supplement: as for the class.
            neighbours: as for `ContextAssembler`.
            on_fetched: as for `ContextAssembler`.
            labels: as for `ContextAssembler`.

        Raises:
            ValueError: `assembler` is given and with it what is its own, or the search filters in a way that the
                neighbours can't be held to.
        """
        own = (config, store, neighbours, on_fetched, labels)
        if assembler is not None and any(each is not None for each in own):
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
        return given

    @model_validator(mode="after")
    def _can_hold_neighbours_to_the_filter(self) -> Self:
        """An error now if it is one whatever the call; each call looks for the filter anew."""
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

    def _search(self, config: RunnableConfig, arguments: Mapping[str, Any]) -> Search | None:
        """This call's search, looked for before it is made: what comes back was found under no later filter."""
        search = search_of(self.retriever, config, arguments)
        if arguments and search is None:
            kind = type(self.retriever).__name__
            raise InputError(
                f"filter can be given to a call only where the search can be seen to take it, not to {kind}"
            )
        return search

    def _input(self, documents: list[Document], query: str) -> dict[str, Any]:
        return {"documents": documents, "query": query, "supplement": supplement_for(query, self.supplement)}

    def _within(self, k: int | None, documents: list[Document]) -> list[Document]:
        """The first `k` labels, and the supplement wherever it stands."""
        if k is not None and k < 1:
            raise ConfigError("k", "an integer of at least 1", k)
        most = self.k if k is None else k
        if most is None:
            return documents
        place = count(1)
        return [each for each in documents if "citation" not in each.metadata or next(place) <= most]
