"""`ContextRetriever`: a query in, what the LLM reads out: searched, fused, assembled, cited."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import replace
from typing import Any

from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.callbacks import CallbackManager
from llama_index.core.schema import NodeWithScore, QueryBundle
from llama_index.core.vector_stores.types import MetadataFilters

from ctxassembly.answering.cache_key import Hidden, Reach, reach_over
from ctxassembly.config.retrieval import RetrievalConfig
from ctxassembly.context import Context
from ctxassembly.data.filters import combined
from ctxassembly.data.retrieval import Channel
from ctxassembly.errors import ConfigError
from ctxassembly.protocols import AsyncIndex, Index
from ctxassembly.retrieval.fusion import Classifier
from ctxassembly.retrieval.search import Question
from ctxassembly.retrieval.taxonomy import Taxonomy
from ctxassembly.retrieved import Retrieved
from ctxassembly.runtime.answer import IndexSource
from ctxassembly.runtime.retrieve import aretrieve, retrieve
from ctxassembly.runtime.search_services import checked_question
from ctxassembly.user_warnings import Once
from llamaindex_ctxassembly.channels import as_channel, search_named
from llamaindex_ctxassembly.convert.models import as_query_embedding, as_reranker
from llamaindex_ctxassembly.postprocessor import Answered, ContextAssemblyPostprocessor
from llamaindex_ctxassembly.spans import on_stage
from llamaindex_ctxassembly.splitting import warn_if_split, without_span
from llamaindex_ctxassembly.stores.filters import both


class ContextRetriever(BaseRetriever):
    """Retrieves from `index` with several signals, assembles, and returns one node per label.

    >>> from ctxassembly import Chunk, MemoryIndex, RetrievalConfig
    >>> texts = ("Drink water until two hours before.", "Ferritin is measured in the morning.")
    >>> where = {"file_name": "lab.pdf"}
    >>> index = MemoryIndex([Chunk(f"lab#{at}", "lab", text, at, metadata=where) for at, text in enumerate(texts)])
    >>> retriever = ContextRetriever(index, config=RetrievalConfig(strategy="keyword"))
    >>> print(retriever.retrieve("When is ferritin measured?")[0].text)
    [1] Source: lab.pdf
    Drink water until two hours before.
    Ferritin is measured in the morning.

    LlamaIndex hands a retriever the query alone. `retriever.under(filters)` is the same one for the chunks of a user,
    for a query engine or a tool of their own. `hits(query)` gives the hits and how they came to their places,
    `context(query)` the context and the decision on each chunk; both take `similarity_top_k` and `filters` for one
    call, which hold beside the retriever's own, and a `Question` with what else is known of it.

    Each step of the retrieval and each stage of the assembly is a span below the retriever's, `ctxassembly.search` or
    `ctxassembly.budget`, whose result has counts.

    Args:
        index: what is searched, such as a `PostgresIndex`. Neighbours come from it, too, unless the postprocessor has a
            store of its own.
        embed_model: a LlamaIndex embedding model, an object with `embed_query`, or a function from a text to its
            vector. Strategies "keyword" and "graph" need none.
        config: the settings of retrieval.
        postprocessor: what assembles the hits; None gives one with the default settings.
        similarity_top_k: the number of chunks to retrieve, in place of `config.limit`.
        filters: what hits and their neighbours have to satisfy, in the form of the index.
        taxonomy: the names of the field, by which words of the query are resolved.
        channels: LlamaIndex retrievers as "vector" or "keyword" channel, or functions from query, number of chunks and
            filter to hits.
        rerankers: LlamaIndex postprocessors that rerank, or functions from query and chunks to (place, score). Where
            one fails, the next is asked.
        category_of: a function from a chunk to its category of content, for affinity.

    Raises:
        ConfigError: `similarity_top_k` is no positive integer; a channel or a reranker is of another kind; or there
            are `filters`, and the postprocessor's own store can't be held to them.
    """

    def __init__(
        self,
        index: Index | AsyncIndex | None = None,
        embed_model: Any = None,
        *,
        config: RetrievalConfig | None = None,
        postprocessor: ContextAssemblyPostprocessor | None = None,
        similarity_top_k: int | None = None,
        filters: Any = None,
        taxonomy: Taxonomy | None = None,
        channels: Mapping[Channel, Any] | None = None,
        rerankers: Sequence[Any] = (),
        category_of: Classifier | None = None,
        callback_manager: CallbackManager | None = None,
        verbose: bool = False,
    ) -> None:
        super().__init__(callback_manager=callback_manager, verbose=verbose)
        self._config = _limited(config or RetrievalConfig(), similarity_top_k)
        self._index = index
        self._filters = filters
        self._channels = channels or {}
        self._once = Once()
        self._own = postprocessor or ContextAssemblyPostprocessor()
        self._postprocessor = _over(self._own, index, filters)
        keys = self._own.config.keys
        self._given: dict[str, Any] = {
            "index": index,
            "embed": as_query_embedding(embed_model),
            "taxonomy": taxonomy,
            "channels": {name: as_channel(name, one, keys) for name, one in (channels or {}).items()},
            "rerankers": [as_reranker(one) for one in rerankers],
            "category_of": category_of,
        }

    def under(self, filters: Any) -> ContextRetriever:
        """The same retriever for those chunks alone that pass `filters`, too.

        Raises:
            ConfigError: they can't hold beside the retriever's own, or the postprocessor's own store can't be held to
                them.
        """
        made = copy(self)
        made._filters = together = _together(self._filters, filters)  # noqa: SLF001 - its own
        made._postprocessor = self.held_to(together)  # noqa: SLF001
        return made

    def hits(self, query: str | Question, *, similarity_top_k: int | None = None, filters: Any = None) -> Retrieved:
        """The hits for `query`, best first, and how they came to their places."""
        return self._retrieved(self._question(query, filters), similarity_top_k)

    async def ahits(
        self, query: str | Question, *, similarity_top_k: int | None = None, filters: Any = None
    ) -> Retrieved:
        """The same as `hits`, awaited."""
        return await self._aretrieved(self._question(query, filters), similarity_top_k)

    def context(self, query: str | Question, *, similarity_top_k: int | None = None, filters: Any = None) -> Context:
        """The context that `retrieve` would turn into nodes, for a look at its decisions."""
        question = self._question(query, filters)
        return self.held_to(question.filter).context_of(self._retrieved(question, similarity_top_k))

    async def acontext(
        self, query: str | Question, *, similarity_top_k: int | None = None, filters: Any = None
    ) -> Context:
        """The same as `context`, awaited."""
        question = self._question(query, filters)
        return await self.held_to(question.filter).acontext_of(await self._aretrieved(question, similarity_top_k))

    @without_span  # LlamaIndex puts one around the method called here
    def retrieve(self, str_or_query_bundle: str | QueryBundle) -> list[NodeWithScore]:
        """The nodes of the context for a query, one per label."""
        warn_if_split(self._once)
        return super().retrieve(str_or_query_bundle)

    @without_span
    async def aretrieve(self, str_or_query_bundle: str | QueryBundle) -> list[NodeWithScore]:
        """The same, awaited."""
        warn_if_split(self._once)
        return await super().aretrieve(str_or_query_bundle)

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return Answered.of((), self.context(query_bundle.query_str)).announced().nodes

    async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        question = self._question(query_bundle.query_str, None)
        return await self.held_to(question.filter).anodes_of(await self._aretrieved(question, None))

    def filters_of(self, given: Any) -> Any:
        """The filters of a call: the retriever's own, and `given` beside them."""
        return _together(self._filters, given)

    def source(self) -> IndexSource:
        """The evidence for an answer chain."""
        given = {name: value for name, value in self._given.items() if name != "index"}
        given["on_stage"] = on_stage()
        return IndexSource(self._index, self._config, self._own.config, given=given)

    def reach(self, filters: Any, query: str | None) -> Reach:
        """What a call with `filters` may read."""
        channels = {
            name: search_named(one) if isinstance(one, BaseRetriever) else Hidden(f"channels[{name!r}]", one)
            for name, one in self._channels.items()
        }
        return reach_over(self._index, filters, self._own.config, channels, **self._own.reaching(query))

    def _question(self, query: str | Question, filters: Any) -> Question:
        """The question of a call, held to all filters that there are."""
        question = checked_question(query, None)
        return replace(question, filter=_together(_together(self._filters, question.filter), filters))

    def _retrieved(self, question: Question, similarity_top_k: int | None) -> Retrieved:
        return retrieve(question, _limited(self._config, similarity_top_k), **self._given, on_stage=on_stage())

    async def _aretrieved(self, question: Question, similarity_top_k: int | None) -> Retrieved:
        config = _limited(self._config, similarity_top_k)
        return await aretrieve(question, config, **self._given, on_stage=on_stage())

    def held_to(self, filters: Any) -> ContextAssemblyPostprocessor:
        """The postprocessor, whose neighbours are held to the filters of a call."""
        return self._postprocessor if filters is self._filters else _over(self._own, self._index, filters, of_call=True)


def _limited(config: RetrievalConfig, similarity_top_k: int | None) -> RetrievalConfig:
    return config if similarity_top_k is None else replace(config, limit=similarity_top_k)


def _together(own: Any, given: Any) -> Any:
    return combined(own, given, "filters", "in the form of the retriever's own, beside which they hold", both)


def _over(
    postprocessor: ContextAssemblyPostprocessor, index: Any, filters: Any, *, of_call: bool = False
) -> ContextAssemblyPostprocessor:
    """`postprocessor` with the index as its store of neighbours, if it has none of its own; held to `filters`.

    Raises:
        ConfigError: its own store can't be held to them. A filter of its own stands for those that the retriever is
            made with, not for those of a call.
    """
    own = (postprocessor.store, postprocessor.docstore, postprocessor.vector_store)
    has_own = any(store is not None for store in own)
    store = postprocessor.store if has_own else index
    if store is not None and hasattr(store, "under"):
        return postprocessor.over(store.under(filters))
    if has_own and isinstance(filters, MetadataFilters):
        return postprocessor.under(filters)
    if has_own and filters is not None and (of_call or postprocessor.filter is None):
        allowed = "MetadataFilters, where the postprocessor has a store of its own without under(filters)"
        raise ConfigError("filters", allowed, filters)
    return postprocessor
