"""`ContextAssemblyRetriever`: a retriever whose documents are the assembled context."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from langchain_core.callbacks import AsyncCallbackManagerForRetrieverRun, CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import Runnable, RunnableConfig
from langchain_core.vectorstores import VectorStore
from pydantic import ConfigDict, Field, InstanceOf, model_validator
from typing_extensions import Self, override

from ctxassembly.config import AssemblyConfig
from ctxassembly.errors import ConfigError
from ctxassembly.supplement import Given, supplement_for
from langchain_ctxassembly.assembler import ContextAssembler
from langchain_ctxassembly.filtered import filtered
from langchain_ctxassembly.neighbours import neighbours_of
from langchain_ctxassembly.scored import ScoredRetriever, SearchType


class ContextAssemblyRetriever(BaseRetriever):
    """Retrieves with `retriever`, assembles with `assembler`, and gives one document per label.

    The query reaches both, and so do the callbacks, as children of this retriever's run. A `filter` in the
    `search_kwargs` of `retriever` holds for the neighbours too.

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
        store: Any = None,
        search_type: SearchType = "similarity",
        search_kwargs: Mapping[str, Any] | None = None,
        hits: int = 8,
        k: int | None = None,
        supplement: Given = None,
    ) -> Self:
        """A retriever over `vectorstore` that keeps the scores of its search.

        Args:
            vectorstore: searched for `hits` chunks, unless `search_kwargs` has a `k`.
            assembler: how to assemble; in its place `config` and `store` may be given.
            config: as for `ContextAssembler`.
            store: where neighbours come from; None means the vector store itself, as `neighbours_of` describes it.
            search_type: as in `vectorstore.as_retriever()`; "mmr" has no scores.
            search_kwargs: for every search.
            hits: the number of chunks to retrieve.
            k: the most labels to return.
            supplement: as for the class.

        Raises:
            ValueError: both `assembler` and `config` or `store` are given, or the search filters in a way that the
                neighbours can't be held to.
        """
        if assembler is not None and not (config is None and store is None):
            raise ConfigError("assembler", "given without config and store, which are its own", assembler)
        assembler = assembler or ContextAssembler(config=config or AssemblyConfig(), store=store)
        options = {"k": hits, **(search_kwargs or {})}
        if assembler.store is None:
            neighbours = neighbours_of(vectorstore, options, assembler.config.keys)
            assembler = assembler.model_copy(update={"store": neighbours})
        retriever = ScoredRetriever(
            vectorstore=vectorstore, search_type=search_type, search_kwargs=options, keys=assembler.config.keys
        )
        return cls(retriever=retriever, assembler=assembler, k=k, supplement=supplement)

    @model_validator(mode="after")
    def _hold_neighbours_to_the_filter(self) -> Self:
        options = getattr(self.retriever, "search_kwargs", None)
        if isinstance(options, Mapping):
            store = filtered(self.assembler.store, options.get("filter"))
            self.assembler = self.assembler.model_copy(update={"store": store})
        return self

    @override
    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun, k: int | None = None
    ) -> list[Document]:
        config = RunnableConfig(callbacks=run_manager.get_child())
        documents = self.retriever.invoke(query, config)
        return self._within(k, self.assembler.invoke(self._input(documents, query), config))

    @override
    async def _aget_relevant_documents(
        self, query: str, *, run_manager: AsyncCallbackManagerForRetrieverRun, k: int | None = None
    ) -> list[Document]:
        config = RunnableConfig(callbacks=run_manager.get_child())
        documents = await self.retriever.ainvoke(query, config)
        return self._within(k, await self.assembler.ainvoke(self._input(documents, query), config))

    def _input(self, documents: list[Document], query: str) -> dict[str, Any]:
        return {"documents": documents, "query": query, "supplement": supplement_for(query, self.supplement)}

    def _within(self, k: int | None, documents: list[Document]) -> list[Document]:
        """The first `k` labels, and the supplement wherever it stands."""
        if k is not None and k < 1:
            raise ConfigError("k", "an integer of at least 1", k)
        most = self.k if k is None else k
        if most is None:
            return documents
        return [each for each in documents if "citation" not in each.metadata or _label(each) <= most]


def _label(document: Document) -> int:
    return int(document.metadata["citation"]["label"])
