"""`ContextRetriever`: a query in, what the model reads out: searched, fused, assembled, cited."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import RunnableConfig
from langchain_core.runnables.config import ensure_config
from pydantic import Field, InstanceOf, SkipValidation, model_validator
from typing_extensions import Self, override

from ctxassembly.assembly.supplement import resolve_supplement
from ctxassembly.config.hints import raises_config_errors
from ctxassembly.config.retrieval import RetrievalConfig
from ctxassembly.data.filters import combine_filters
from ctxassembly.data.retrieval import Channel, Retrieved
from ctxassembly.errors import ConfigError
from ctxassembly.protocols import AsyncIndex, Index
from ctxassembly.retrieval.fusion import Classifier
from ctxassembly.retrieval.search import Question
from ctxassembly.retrieval.taxonomy import Taxonomy
from ctxassembly.runtime.evidence import has_chunks
from ctxassembly.runtime.retrieve import aretrieve, prepare_search, retrieve, to_channel, to_question
from langchain_ctxassembly.assembler import ContextAssembler
from langchain_ctxassembly.convert.models import as_reranker
from langchain_ctxassembly.retriever import AssemblingRetriever, Call, Found
from langchain_ctxassembly.search import search_channel
from langchain_ctxassembly.spans import Spans
from langchain_ctxassembly.stores.filters import and_filters


@raises_config_errors
class ContextRetriever(AssemblingRetriever):
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

    For one call, `invoke(query, k=20, filter=...)` sets the number of chunks to retrieve, and a filter in addition to
    the retriever's own: both apply, in every channel and to the neighbors of the hits. `conversation=`, a
    `Conversation` or messages, leaves out what the model still sees. `retrieve(query)` returns the
    hits and how each was ranked, `context(query)` the context and the decision on each chunk. Both also accept a
    `Question`, which can carry more than the query text.

    Each step of the retrieval is a run below the retriever's, `ctxassembly.search` or `ctxassembly.fuse`, whose outputs
    are counts and ids; the stages of the assembly are below the run of its `ContextAssembler`.

    If you can't pass a filter with a call, as in an agent's tool, create a retriever for each user:
    `context_tool(retriever.with_filter({"tenant": user}), ...)`.
    """

    index: SkipValidation[Index | AsyncIndex | None] = None
    """The index to search, such as a `PostgresIndex`. Neighbors come from it if the assembler has no store."""
    embeddings: Any = None
    """An `Embeddings`, or a function from a text to its vector. Strategies "keyword" and "graph" need none."""
    config: InstanceOf[RetrievalConfig] = Field(default_factory=RetrievalConfig)
    k: int | None = Field(default=None, ge=1)
    """The number of chunks to retrieve, in place of `config.limit`. For one call: `invoke(query, k=3)`."""
    taxonomy: InstanceOf[Taxonomy] | None = None
    """The names of the field, by which words of the query are resolved."""
    channels: Mapping[Channel, Any] = Field(default_factory=dict)
    """Other retrievers as "vector" or "keyword" channel: LangChain retrievers, or functions from query, number of
    chunks and filter to hits. A vector store's retriever gets the filter of a call; other retrievers raise an error if
    there is one."""
    rerankers: Sequence[Any] = ()
    """LangChain compressors, cross-encoders, or functions from query and chunks to (place, score). If one fails, the
    next is called."""
    category_of: Classifier | None = None
    """A function from a chunk to its category of content, for affinity. None reads "category" of its metadata."""
    filter: Any = None
    """The filter of every call, in the form of the index. The filter of a call is applied in addition."""

    def __init__(self, index: Any = None, embeddings: Any = None, **settings: Any) -> None:
        super().__init__(**{"index": index, "embeddings": embeddings, **settings})

    @model_validator(mode="after")
    def _check_settings(self) -> Self:
        prepare_search(**self.search_arguments())
        return self

    def with_filter(self, filter: Any) -> Self:
        """Return this retriever, limited to the chunks that pass `filter`, too.

        Raises:
            ConfigError: it can't be combined with the retriever's own.
        """
        return self.model_copy(update={"filter": _combine_filters(self.filter, filter)})

    def retrieve(self, query: str | Question, *, k: int | None = None, filter: Any = None) -> Retrieved:
        """Return the hits for `query`, best first, and their trace.

        Raises:
            ConfigError: `filter` can't be combined with the retriever's own, as a function with a mapping.
        """
        return self._retrieve(self._build_question(query, filter), k, ensure_config())

    async def aretrieve(self, query: str | Question, *, k: int | None = None, filter: Any = None) -> Retrieved:
        """Async version of `retrieve`."""
        return await self._aretrieve(self._build_question(query, filter), k, ensure_config())

    @override
    def _search(self, call: Call, config: RunnableConfig) -> Found:
        question = self._build_question(call.query, call.filter)
        return self._found(question, self._retrieve(question, call.k, config), call.conversation)

    @override
    async def _asearch(self, call: Call, config: RunnableConfig) -> Found:
        question = self._build_question(call.query, call.filter)
        return self._found(question, await self._aretrieve(question, call.k, config), call.conversation)

    def _retrieve(self, question: Question, k: int | None, config: RunnableConfig) -> Retrieved:
        return retrieve(question, **self.search_arguments(k), on_stage=Spans(config).on_stage)

    async def _aretrieve(self, question: Question, k: int | None, config: RunnableConfig) -> Retrieved:
        return await aretrieve(question, **self.search_arguments(k), on_stage=Spans(config).aon_stage)

    def _found(self, question: Question, retrieved: Retrieved, conversation: Any) -> Found:
        supplement = resolve_supplement(question.text, self.supplement)
        inputs = {"documents": retrieved, "supplement": supplement, "conversation": conversation}
        return self.filtered_assembler(question.filter), inputs

    def search_arguments(self, k: int | None = None) -> dict[str, Any]:
        """Return the arguments of `retrieve`, but query and `on_stage`."""
        keys, limit = self.assembler.assembly_settings.keys, self.k if k is None else k

        def search(_: str, *arguments: Any) -> Any:
            return search_channel(*arguments, keys=keys)

        return {
            "config": self.config if limit is None else replace(self.config, limit=limit),
            "index": self.index,
            "embed": self.embeddings,
            "taxonomy": self.taxonomy,
            "channels": {
                name: to_channel(name, one, "LangChain", BaseRetriever, search) for name, one in self.channels.items()
            },
            "rerankers": [as_reranker(one) for one in self.rerankers],
            "category_of": self.category_of,
        }

    @property
    def settings(self) -> dict[str, Any]:
        """All that its contexts depend on, but the index: for the key of a cached answer."""
        names = ("config", "k", "embeddings", "taxonomy", "channels", "rerankers", "category_of", "supplement")
        return {**{name: getattr(self, name) for name in names}, "assembler": self.assembler.settings}

    def call_filter(self, condition: Any) -> Any:
        """Return the filter of a call: the retriever's own filter, its assembler's filter and `condition`."""
        assembler_filter = self.assembler.filter if self.assembler.store is None else None
        # A function may test a document, which no index has.
        return _combine_filters(
            _combine_filters(self.filter, assembler_filter if isinstance(assembler_filter, Mapping) else None),
            condition,
        )

    def _build_question(self, query: str | Question, filter: Any) -> Question:
        """Return the question of a call, with all filters that apply."""
        question = to_question(query, None)
        return replace(question, filter=_combine_filters(self.call_filter(question.filter), filter))

    def filtered_assembler(self, condition: Any) -> ContextAssembler:
        """Return the assembler of a call: with the index as its store of neighbors, filtered by `condition`.

        Raises:
            ConfigError: there is a filter, and the assembler's own store can't apply it.
        """
        store: Any = self.assembler.store
        if store is None and has_chunks(self.index):
            store = self.index
        if store is not None and condition is not None:
            if not hasattr(store, "with_filter"):
                allowed = "one with a method with_filter, such as the index itself, where a call has a filter"
                raise ConfigError("assembler.store", allowed, store)
            store = store.with_filter(condition)
        return self.assembler.model_copy(update={"store": store})


def _combine_filters(own: Any, other: Any) -> Any:
    return combine_filters(
        own, other, "filter", "in the form of the retriever's own filter, which applies as well", and_filters
    )
