"""`ContextRetriever`: a query in, what the LLM reads out; and LlamaIndex retrievers as channels of its search."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import replace
from functools import partial
from typing import Any, TypeVar

from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.callbacks import CallbackManager
from llama_index.core.indices.vector_store.retrievers import VectorIndexRetriever
from llama_index.core.schema import NodeWithScore, QueryBundle

from ctxassembly.assembly.selection.supplement import supplement_from_retrieval
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
from ctxassembly.user_warnings import WarnOnce
from llamaindex_ctxassembly.convert.models import as_embeddings, as_reranker
from llamaindex_ctxassembly.convert.nodes import read_nodes
from llamaindex_ctxassembly.events import on_stage
from llamaindex_ctxassembly.postprocessor import AssembledNodes, ContextAssemblyPostprocessor, itself
from llamaindex_ctxassembly.responses import warn_if_split, without_span
from llamaindex_ctxassembly.stores.filters import and_filters

T = TypeVar("T")


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
    context and the decision on each chunk. Both take `similarity_top_k` and `filters` for one call, in addition to the
    retriever's own, and a `Question`, which can carry more than the query text.

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
        verbose: bool = False,
    ) -> None:
        super().__init__(callback_manager=callback_manager, verbose=verbose)
        self._config = _config_with_limit(config or RetrievalConfig(), similarity_top_k)
        self._index = index
        self._filters = filters
        self._warnings = WarnOnce()
        self._base_postprocessor = postprocessor or ContextAssemblyPostprocessor()
        self._postprocessor = _with_index_store(self._base_postprocessor, index, filters)
        search = partial(_search, keys=self._base_postprocessor.assembly_settings.keys)
        self._retrieve_arguments: dict[str, Any] = {
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
        prepare_search(self._config, **self._retrieve_arguments)

    def with_filter(self, filters: Any) -> ContextRetriever:
        """Return this retriever, limited to the chunks that pass `filters`, too.

        Raises:
            ConfigError: they have no known form, or can't be combined with the retriever's own.
        """
        retriever = copy(self)
        retriever._filters = combined_filters = _combine_filters(self._filters, filters)  # noqa: SLF001 - its own
        retriever._postprocessor = self.filtered_postprocessor(combined_filters)  # noqa: SLF001
        return retriever

    def hits(self, query: str | Question, *, similarity_top_k: int | None = None, filters: Any = None) -> Retrieved:
        """Return the hits for `query`, best first, and how each was ranked."""
        return self._run_retrieval(self._build_question(query, filters), similarity_top_k)

    async def ahits(
        self, query: str | Question, *, similarity_top_k: int | None = None, filters: Any = None
    ) -> Retrieved:
        """Async version of `hits`."""
        return await self._arun_retrieval(self._build_question(query, filters), similarity_top_k)

    def context(self, query: str | Question, *, similarity_top_k: int | None = None, filters: Any = None) -> Context:
        """Return the context that `retrieve` would turn into nodes, for a look at its decisions."""
        return self._assemble_as(itself, self._build_question(query, filters), similarity_top_k)

    async def acontext(
        self, query: str | Question, *, similarity_top_k: int | None = None, filters: Any = None
    ) -> Context:
        """Async version of `context`."""
        return await self._aassemble_as(itself, self._build_question(query, filters), similarity_top_k)

    @without_span  # LlamaIndex puts one around the method called here
    def retrieve(self, str_or_query_bundle: str | QueryBundle) -> list[NodeWithScore]:
        """Return the nodes of the context for a query, one per label."""
        warn_if_split(self._warnings)
        return super().retrieve(str_or_query_bundle)

    @without_span
    async def aretrieve(self, str_or_query_bundle: str | QueryBundle) -> list[NodeWithScore]:
        """Async version of `retrieve`."""
        warn_if_split(self._warnings)
        return await super().aretrieve(str_or_query_bundle)

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        question = self._build_question(query_bundle.query_str, None)
        return self._assemble_as(AssembledNodes.build, question).emit_event().nodes

    async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        question = self._build_question(query_bundle.query_str, None)
        return (await self._aassemble_as(AssembledNodes.build, question)).emit_event().nodes

    def _assemble_as(
        self, transform: Callable[[Context], T], question: Question, similarity_top_k: int | None = None
    ) -> T:
        """Return `transform` of the context for `question`, which shows how its hits were found."""
        postprocessor = self.filtered_postprocessor(question.filter)
        retrieved = self._run_retrieval(question, similarity_top_k)
        arguments = postprocessor.arguments(retrieved.hits, retrieved.query, supplement_from_retrieval(retrieved))
        return postprocessor.assemble_as(lambda context: transform(replace(context, retrieved=retrieved)), arguments)

    async def _aassemble_as(
        self, transform: Callable[[Context], T], question: Question, similarity_top_k: int | None = None
    ) -> T:
        """Async version of `_assemble_as`."""
        postprocessor = self.filtered_postprocessor(question.filter)
        retrieved = await self._arun_retrieval(question, similarity_top_k)
        arguments = postprocessor.arguments(retrieved.hits, retrieved.query, supplement_from_retrieval(retrieved))
        return await postprocessor.aassemble_as(
            lambda context: transform(replace(context, retrieved=retrieved)), arguments
        )

    def call_filters(self, filters: Any) -> Any:
        """Return the filters of a call: the retriever's own, and `filters`."""
        return _combine_filters(self._filters, filters)

    @property
    def postprocessor(self) -> ContextAssemblyPostprocessor:
        """The postprocessor, without filters of the retriever and of a call."""
        return self._base_postprocessor

    def search_arguments(self, similarity_top_k: int | None = None) -> dict[str, Any]:
        """Return the arguments of `retrieve`, but query and `on_stage`."""
        return {"config": _config_with_limit(self._config, similarity_top_k), **self._retrieve_arguments}

    def _build_question(self, query: str | Question, filters: Any) -> Question:
        """Return the question of a call, with all filters that apply."""
        question = to_question(query, None)
        return replace(question, filter=_combine_filters(_combine_filters(self._filters, question.filter), filters))

    def _run_retrieval(self, question: Question, similarity_top_k: int | None) -> Retrieved:
        return retrieve(question, **self.search_arguments(similarity_top_k), on_stage=on_stage())

    async def _arun_retrieval(self, question: Question, similarity_top_k: int | None) -> Retrieved:
        return await aretrieve(question, **self.search_arguments(similarity_top_k), on_stage=on_stage())

    def filtered_postprocessor(self, filters: Any) -> ContextAssemblyPostprocessor:
        """Return the postprocessor whose neighbors must pass the filters of a call."""
        return (
            self._postprocessor
            if filters is self._filters
            else _with_index_store(self._base_postprocessor, self._index, filters)
        )


def _config_with_limit(config: RetrievalConfig, similarity_top_k: int | None) -> RetrievalConfig:
    return config if similarity_top_k is None else replace(config, limit=similarity_top_k)


def _combine_filters(own: Any, other: Any) -> Any:
    allowed = "in the form of the retriever's own, which apply as well"
    return combine_filters(own, other, "filters", allowed, and_filters)


def _with_index_store(
    postprocessor: ContextAssemblyPostprocessor, index: Any, filters: Any
) -> ContextAssemblyPostprocessor:
    """Return `postprocessor` with the index as its store of neighbors, if it has none, filtered by `filters`."""
    if postprocessor.has_store or not has_chunks(index):
        return postprocessor.with_filter(filters)
    if is_filter(filters) and hasattr(index, "with_filter"):  # in whatever form the index takes
        return postprocessor.with_store(index.with_filter(filters))
    return postprocessor.with_store(index).with_filter(filters)


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
