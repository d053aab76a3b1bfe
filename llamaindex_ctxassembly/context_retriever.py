"""`ContextRetriever`: a query in, what the LLM reads out; and LlamaIndex retrievers as channels of its search."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import replace
from functools import partial
from typing import Any

from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.callbacks import CallbackManager
from llama_index.core.indices.vector_store.retrievers import VectorIndexRetriever
from llama_index.core.schema import NodeWithScore, QueryBundle

from ctxassembly.assembly.supplement import supplement_from_retrieval
from ctxassembly.concurrency import run_in_worker
from ctxassembly.config.retrieval import RetrievalConfig
from ctxassembly.context import Context
from ctxassembly.data.chunks import Hit
from ctxassembly.data.filters import combine_filters, is_filter
from ctxassembly.data.metadata_keys import MetadataKeys
from ctxassembly.data.retrieval import Channel, Retrieved
from ctxassembly.errors import ConfigError
from ctxassembly.protocols import AsyncIndex, Index
from ctxassembly.retrieval.fusion import Classifier
from ctxassembly.retrieval.search import Question
from ctxassembly.retrieval.taxonomy import Taxonomy
from ctxassembly.runtime.evidence import has_chunks
from ctxassembly.runtime.retrieve import aretrieve, prepare_search, retrieve, to_channel, to_question
from llamaindex_ctxassembly.events import on_stage
from llamaindex_ctxassembly.filters import and_filters
from llamaindex_ctxassembly.models import as_embeddings, as_reranker
from llamaindex_ctxassembly.nodes import read_nodes
from llamaindex_ctxassembly.postprocessor import ContextAssemblyPostprocessor, nodes_of


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

    LlamaIndex passes only the query to a retriever. For each user's query engine or tool, create one with
    `retriever.with_filter(filters)`. `hits(query)` returns the hits and how each was ranked, `context(query)` the
    context and the decision on each chunk. Both take a `Question`, which can carry more than the query text.

    Each step of the retrieval and each stage of the assembly is a span below the retriever's, `ctxassembly.search` or
    `ctxassembly.budget`, whose result has counts.

    Args:
        index: the index to search, such as a `PostgresIndex`. Neighbors come from it, too, unless the postprocessor has
            its own store.
        embed_model: a LlamaIndex embedding model, an object with `embed_query`, or a function from a text to its
            vector. Strategies "keyword" and "graph" need none.
        config: the settings of retrieval.
        postprocessor: the postprocessor that assembles the hits; None means the default settings.
        similarity_top_k: the number of chunks to retrieve, in place of `config.limit`.
        filters: the filter that hits and neighbors must pass, in the form of the index.
        taxonomy: the names of the field, to which words of the query are resolved.
        channels: LlamaIndex retrievers as "vector" or "keyword" channel, or functions from query, number of chunks and
            filter to hits.
        rerankers: LlamaIndex postprocessors that rerank, or functions from query and chunks to (place, score). If one
            fails, the next is called.
        category_of: a function from a chunk to its category of content, for affinity.

    Raises:
        ConfigError: `similarity_top_k` is no positive integer; a channel or a reranker is of another kind; or
            `filters` have no known form.
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
    ) -> None:
        super().__init__(callback_manager=callback_manager)
        config = config or RetrievalConfig()
        self._filters = filters
        self.postprocessor = postprocessor or ContextAssemblyPostprocessor()
        search = partial(_search, keys=self.postprocessor.assembly_settings.keys)
        self.search_arguments: dict[str, Any] = {
            "config": config if similarity_top_k is None else replace(config, limit=similarity_top_k),
            "index": index,
            "embed": as_embeddings(embed_model),
            "taxonomy": taxonomy,
            "channels": {
                name: to_channel(name, one, "LlamaIndex", BaseRetriever, search)
                for name, one in (channels or {}).items()
            },
            "rerankers": [as_reranker(one) for one in rerankers],
            "category_of": category_of,
        }
        self.filtered_postprocessor(filters)  # filters that can't be applied are an error now
        prepare_search(**self.search_arguments)

    def with_filter(self, filters: Any) -> ContextRetriever:
        """Return this retriever, limited to the chunks that pass `filters`, too.

        Raises:
            ConfigError: they have no known form, or can't be combined with the retriever's own.
        """
        retriever = copy(self)
        retriever._filters = self.call_filters(filters)  # noqa: SLF001 - its own
        retriever.filtered_postprocessor(retriever._filters)  # noqa: SLF001
        return retriever

    def hits(self, query: str | Question) -> Retrieved:
        """Return the hits for `query`, best first, and how each was ranked."""
        return retrieve(self._question(query), **self.search_arguments, on_stage=on_stage())

    async def ahits(self, query: str | Question) -> Retrieved:
        """Async version of `hits`."""
        return await aretrieve(self._question(query), **self.search_arguments, on_stage=on_stage())

    def context(self, query: str | Question) -> Context:
        """Return the context that `retrieve` would turn into nodes, for a look at its decisions."""
        question = self._question(query)
        postprocessor = self.filtered_postprocessor(question.filter)
        retrieved = retrieve(question, **self.search_arguments, on_stage=on_stage())
        arguments = postprocessor.arguments(retrieved.hits, retrieved.query, supplement_from_retrieval(retrieved))
        return replace(postprocessor.assemble(arguments), retrieved=retrieved)

    async def acontext(self, query: str | Question) -> Context:
        """Async version of `context`."""
        question = self._question(query)
        postprocessor = self.filtered_postprocessor(question.filter)
        retrieved = await aretrieve(question, **self.search_arguments, on_stage=on_stage())
        arguments = postprocessor.arguments(retrieved.hits, retrieved.query, supplement_from_retrieval(retrieved))
        return replace(await postprocessor.aassemble(arguments), retrieved=retrieved)

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return nodes_of(self.context(query_bundle.query_str))

    async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return await run_in_worker(partial(nodes_of, await self.acontext(query_bundle.query_str)))

    def call_filters(self, filters: Any) -> Any:
        """Return the filters of a call: the retriever's own, and `filters`."""
        allowed = "in the form of the retriever's own, which apply as well"
        return combine_filters(self._filters, filters, "filters", allowed, and_filters)

    def _question(self, query: str | Question) -> Question:
        """Return the question of a call, with the retriever's own filters, too."""
        question = to_question(query, None)
        return replace(question, filter=self.call_filters(question.filter))

    def filtered_postprocessor(self, filters: Any) -> ContextAssemblyPostprocessor:
        """Return the postprocessor whose neighbors must pass the filters of a call, from the index if it has no store.

        Raises:
            ConfigError: the filters have no known form.
        """
        index = self.search_arguments["index"]
        if self.postprocessor.has_store or not has_chunks(index):
            return self.postprocessor.with_filter(filters)
        if is_filter(filters) and hasattr(index, "with_filter"):  # in whatever form the index takes
            return self.postprocessor.with_store(index.with_filter(filters))
        return self.postprocessor.with_store(index).with_filter(filters)


_OTHER_FORM = "without filters of its own, where a call has some of another form"


def _search(
    channel: str, retriever: BaseRetriever, query: str, limit: int, filters: Any, *, keys: MetadataKeys
) -> list[Hit]:
    """Return the hits of a retriever that is a channel of a retrieval.

    A vector index' retriever takes the number of chunks and the filters of the call. Any other retriever gives as many
    as it was set up for, and is refused filters: it would not apply them.
    """
    own = configure_retriever(f"channels[{channel!r}]", retriever, limit, filters)
    return read_nodes(own.retrieve(query), keys).hits[:limit]


def configure_retriever(parameter: str, retriever: BaseRetriever, limit: int | None, filters: Any) -> BaseRetriever:
    """Return `retriever` for one call: with `limit` chunks, if it has a limit, and `filters` in addition to its own.

    Raises:
        ConfigError: the retriever takes no filters, or its own have another form; the error names `parameter`.
    """
    # A copy: another call may use the retriever at the same time.
    configured: Any = copy(retriever)
    if limit is not None and hasattr(configured, "_similarity_top_k"):
        configured._similarity_top_k = limit  # noqa: SLF001
    if is_filter(filters):
        if type(configured) is not VectorIndexRetriever:
            kind = type(configured).__name__
            allowed = f"a VectorIndexRetriever where a call has filters, since {kind} may ignore them"
            hint = ": write index.as_retriever(filters=filters) and ContextAssemblyPostprocessor(filter=filters)"
            raise ConfigError(parameter, allowed, retriever, hint)
        own_filters = configured._filters  # noqa: SLF001
        configured._filters = combine_filters(own_filters, filters, parameter, _OTHER_FORM, and_filters, own_filters)  # noqa: SLF001
    return configured  # type: ignore[no-any-return]
