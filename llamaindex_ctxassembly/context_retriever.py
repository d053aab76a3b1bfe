"""`ContextRetriever`: a query in, what the LLM reads out: searched, fused, assembled, cited."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.callbacks import CallbackManager
from llama_index.core.schema import NodeWithScore, QueryBundle

from ctxassembly.adapting.told import Told
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
from ctxassembly.settings.retrieval import RetrievalConfig
from llamaindex_ctxassembly.convert.channels import as_channel
from llamaindex_ctxassembly.convert.embeddings import as_query_embedding
from llamaindex_ctxassembly.convert.rerankers import as_reranker
from llamaindex_ctxassembly.postprocessor import ContextAssemblyPostprocessor, answered


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
        config = config or RetrievalConfig()
        self._config = config if similarity_top_k is None else replace(config, limit=similarity_top_k)
        self._filters = filters
        self._unheld = postprocessor or ContextAssemblyPostprocessor()
        self._postprocessor = _over(self._unheld, index, filters)
        keys = self._postprocessor.config.keys
        self._given: dict[str, Any] = {
            "index": index,
            "embed": as_query_embedding(embed_model),
            "taxonomy": taxonomy,
            "channels": {name: as_channel(name, one, keys) for name, one in (channels or {}).items()},
            "rerankers": [as_reranker(one) for one in rerankers],
            "category_of": category_of,
        }

    def hits(self, query: str | Question) -> Retrieved:
        """The hits for `query`, best first, and how they came to their places."""
        return retrieve(query, self._config, filter=self._filters, **self._given)

    async def ahits(self, query: str | Question) -> Retrieved:
        """The same as `hits`, awaited."""
        return await aretrieve(query, self._config, filter=self._filters, **self._given)

    def search(self, request: Search) -> Retrieved:
        """The hits for one search of an answer chain."""
        return self._source().search(request)

    async def asearch(self, request: Search) -> Retrieved:
        """The same as `search`, awaited."""
        return await self._source().asearch(request)

    @property
    def filters(self) -> Any:
        """What hits and their neighbours have to satisfy."""
        return self._filters

    def held_to(self, filters: Any) -> ContextAssemblyPostprocessor:
        """The postprocessor of a call: with the index as its store of neighbours, held to `filters`.

        Raises:
            ConfigError: it has a store of its own that can't be held to them.
        """
        return self._postprocessor if filters is self._filters else _over(self._unheld, self._given["index"], filters)

    def _source(self) -> IndexSource:
        given = {name: value for name, value in self._given.items() if name != "index"}
        return IndexSource(self._given["index"], self._config, self._unheld.config, given=given)

    def context(self, query: str | Question) -> Context:
        """The context that `retrieve` would turn into nodes, for a look at its decisions."""
        return self._postprocessor.context_of(self.hits(query))

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return answered((), Told(self._postprocessor.context_of(self.hits(query_bundle.query_str))))

    async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        context = await self._postprocessor.acontext_of(await self.ahits(query_bundle.query_str))
        return answered((), Told(context))


def _over(postprocessor: ContextAssemblyPostprocessor, index: Any, filters: Any) -> ContextAssemblyPostprocessor:
    """`postprocessor` with the index as its store of neighbours, held to `filters`, if it has no store of its own."""
    own = (postprocessor.store, postprocessor.docstore, postprocessor.vector_store)
    has_own = any(store is not None for store in own)
    store = postprocessor.store if has_own else index
    if store is not None and hasattr(store, "under"):
        return postprocessor.over(store.under(filters))
    if has_own and filters is not None and postprocessor.filter is None:
        raise ConfigError("postprocessor.filter", "given where there are filters and it has a store of its own", None)
    return postprocessor
