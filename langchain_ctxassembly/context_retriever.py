"""`ContextRetriever`: a query in, what the model reads out: searched, fused, assembled, cited."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from langchain_core.callbacks import AsyncCallbackManagerForRetrieverRun, CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables.config import patch_config
from pydantic import ConfigDict, Field, InstanceOf, SkipValidation, model_validator
from typing_extensions import Self, override

from ctxassembly.assembly.choosing.supplement import Given, supplement_for
from ctxassembly.chain.requests import Search
from ctxassembly.context import Context
from ctxassembly.data.retrieved import Retrieved
from ctxassembly.data.searched import Channel
from ctxassembly.drivers.retrieve import aretrieve, retrieve
from ctxassembly.drivers.source import IndexSource
from ctxassembly.errors import ConfigError
from ctxassembly.protocols import AsyncIndex, Index
from ctxassembly.retrieval.boost import Classifier
from ctxassembly.retrieval.question import Question
from ctxassembly.retrieval.taxonomy import Taxonomy
from ctxassembly.settings.misuse import check_parameters
from ctxassembly.settings.retrieval import RetrievalConfig
from langchain_ctxassembly.assembler import ContextAssembler
from langchain_ctxassembly.convert.channels import as_channel
from langchain_ctxassembly.convert.rerankers import as_reranker


class ContextRetriever(BaseRetriever):
    """Retrieves from `index` with several signals, assembles, and returns one document per label.

    >>> from ctxassembly import Chunk, MemoryIndex, RetrievalConfig
    >>> texts = ("Drink water until two hours before.", "Ferritin is measured in the morning.")
    >>> where = {"source": "lab.pdf"}
    >>> index = MemoryIndex([Chunk(f"lab#{at}", "lab", text, at, metadata=where) for at, text in enumerate(texts)])
    >>> retriever = ContextRetriever(index, config=RetrievalConfig(strategy="keyword"))
    >>> print(retriever.invoke("When is ferritin measured?")[0].page_content)
    [1] Source: lab.pdf
    Drink water until two hours before.
    Ferritin is measured in the morning.

    For one call, `invoke(query, k=20, filter=...)` sets the number of chunks to retrieve and the filter. It holds in
    every channel, and for the neighbours of the hits. `retrieve(query)` gives the hits and how they came to their
    places, `context(query)` the context and the decision on each chunk.
    """

    index: SkipValidation[Index | AsyncIndex | None] = None
    """The index to search, such as a `PostgresIndex`. Neighbours come from it if the assembler has no store."""
    embeddings: Any = None
    """An `Embeddings`, or a function from a text to its vector. Strategies "keyword" and "graph" need none."""
    config: InstanceOf[RetrievalConfig] = Field(default_factory=RetrievalConfig)
    k: int | None = Field(default=None, ge=1)
    """The number of chunks to retrieve, in place of `config.limit`. For one call: `invoke(query, k=3)`."""
    assembler: InstanceOf[ContextAssembler] = Field(default_factory=ContextAssembler)
    taxonomy: InstanceOf[Taxonomy] | None = None
    """The names of the field, by which words of the query are resolved."""
    channels: Mapping[Channel, Any] = Field(default_factory=dict)
    """Retrievers of another make as "vector" or "keyword" channel: LangChain retrievers, or functions from query,
    number of chunks and filter to hits. A filter reaches a vector store's retriever; others are refused one."""
    rerankers: Sequence[Any] = ()
    """LangChain compressors, cross-encoders, or functions from query and chunks to (place, score). Where one fails, the
    next is asked."""
    category_of: Classifier | None = None
    """A function from a chunk to its category of content, for affinity. None reads `config.category_key`."""
    filter: Any = None
    """The filter of every call that gives none of its own, in the form of the index."""
    supplement: Given = None
    """Text that no chunk holds: text, a `Supplement`, or a function from the query to one of them or None."""

    # The base class ignores unknown parameters, and so every misspelled one.
    model_config = ConfigDict(arbitrary_types_allowed=True, extra="forbid")

    def __init__(self, index: Any = None, embeddings: Any = None, **settings: Any) -> None:
        check_parameters(type(self).__name__, settings, type(self).model_fields, "config={}")
        super().__init__(**{"index": index, "embeddings": embeddings, **settings})

    @model_validator(mode="after")
    def _check(self) -> Self:
        for channel, retriever in self.channels.items():
            as_channel(channel, retriever, self.assembler.config.keys)
        for reranker in self.rerankers:
            as_reranker(reranker)
        return self

    def retrieve(self, query: str | Question, *, k: int | None = None, filter: Any = None) -> Retrieved:
        """The hits for `query`, best first, and their trace."""
        return retrieve(query, self._limited(k), filter=self._condition(filter), **self._given())

    async def aretrieve(self, query: str | Question, *, k: int | None = None, filter: Any = None) -> Retrieved:
        """The same as `retrieve`, awaited."""
        return await aretrieve(query, self._limited(k), filter=self._condition(filter), **self._given())

    def context(self, query: str | Question, *, k: int | None = None, filter: Any = None) -> Context:
        """The context that `invoke` would turn into documents, for a look at its decisions."""
        given = self._input(self.retrieve(query, k=k, filter=filter), query)
        return self.held_to(filter).as_context().invoke(given)

    async def acontext(self, query: str | Question, *, k: int | None = None, filter: Any = None) -> Context:
        """The same as `context`, awaited."""
        given = self._input(await self.aretrieve(query, k=k, filter=filter), query)
        return await self.held_to(filter).as_context().ainvoke(given)

    def search(self, request: Search) -> Retrieved:
        """The hits for one search of an answer chain."""
        return self._source().search(request)

    async def asearch(self, request: Search) -> Retrieved:
        """The same as `search`, awaited."""
        return await self._source().asearch(request)

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
        retrieved = self.retrieve(query, k=k, filter=filter)
        return self.held_to(filter).invoke(self._input(retrieved, query), config)

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
        retrieved = await self.aretrieve(query, k=k, filter=filter)
        return await self.held_to(filter).ainvoke(self._input(retrieved, query), config)

    def _source(self) -> IndexSource:
        given = self._given()
        return IndexSource(given.pop("index"), self._limited(None), self.assembler.effective, given=given)

    def _given(self) -> dict[str, Any]:
        keys = self.assembler.config.keys
        return {
            "index": self.index,
            "embed": self.embeddings,
            "taxonomy": self.taxonomy,
            "channels": {name: as_channel(name, one, keys) for name, one in self.channels.items()},
            "rerankers": [as_reranker(one) for one in self.rerankers],
            "category_of": self.category_of,
        }

    def _limited(self, k: int | None) -> RetrievalConfig:
        k = self.k if k is None else k
        return self.config if k is None else replace(self.config, limit=k)

    def _condition(self, given: Any) -> Any:
        return self.filter if given is None else given

    def held_to(self, condition: Any) -> ContextAssembler:
        """The assembler of a call: with the index as its store of neighbours, held to the filter `condition`.

        Raises:
            ConfigError: there is a filter, and the assembler's own store can't be held to it.
        """
        store, condition = self.assembler.store or self.index, self._condition(condition)
        if store is None or not hasattr(store, "under"):
            if store is not None and condition is not None and self.assembler.effective.neighbours != "unfiltered":
                allowed = "one with under(filter), such as the index itself, where a call has a filter"
                raise ConfigError("assembler.store", allowed, store)
            return self.assembler
        assembler = self.assembler.model_copy(update={"store": store.under(condition)})
        assembler.knows_what_was_warned_of(self.assembler)
        return assembler

    def _input(self, retrieved: Retrieved, query: str | Question) -> dict[str, Any]:
        text = query.text if isinstance(query, Question) else query
        return {"documents": retrieved, "supplement": supplement_for(text, self.supplement)}
