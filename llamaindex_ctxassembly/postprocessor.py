"""`ContextAssemblyPostprocessor`: retrieved nodes in, the context that the model reads out, one node per label."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Literal, NamedTuple, TypeVar

from llama_index.core import Settings
from llama_index.core.base.llms.base import BaseLLM
from llama_index.core.indices.base import BaseIndex
from llama_index.core.postprocessor.types import BaseNodePostprocessor
from llama_index.core.schema import NodeWithScore, QueryBundle
from llama_index.core.storage.docstore.types import BaseDocumentStore
from llama_index.core.vector_stores.types import BasePydanticVectorStore, MetadataFilters
from llama_index_instrumentation import get_dispatcher
from pydantic import BaseModel, ConfigDict, Field, PrivateAttr, SkipValidation

from ctxassembly.answering.cache_key import Hidden, searched
from ctxassembly.answering.requests import Assemble
from ctxassembly.assembly.expansion.access import filter_not_seen
from ctxassembly.assembly.selection.supplement import Given, supplement_for, supplement_of
from ctxassembly.concurrency import is_async
from ctxassembly.config.assembly import AssemblyConfig
from ctxassembly.config.hints import check_parameters, wrong_store
from ctxassembly.context import Context
from ctxassembly.conversations.labels import Labels, check_labels, labels_of_call
from ctxassembly.data.chunks import Hit
from ctxassembly.data.retrieval import Retrieved
from ctxassembly.errors import ConfigError
from ctxassembly.integrations.messages import supplement_named
from ctxassembly.integrations.metadata import Told
from ctxassembly.protocols import AsyncStore, Store
from ctxassembly.runtime.assemble import aassembled, assemble
from ctxassembly.runtime.scorers import check_scorer
from ctxassembly.runtime.services import check_llm
from ctxassembly.stores.filtered import Scoped
from ctxassembly.tokens.budget import too_small
from ctxassembly.user_warnings import Once
from llamaindex_ctxassembly.convert.models import as_embeddings, async_model, model
from llamaindex_ctxassembly.convert.nodes import is_media, labelled_nodes, listed, noted, read_nodes, unread
from llamaindex_ctxassembly.events import ContextAssembledEvent, listened_to
from llamaindex_ctxassembly.spans import on_stage
from llamaindex_ctxassembly.splitting import warn_if_split
from llamaindex_ctxassembly.stores.neighbors import neighbours_of, place_of, under

dispatcher = get_dispatcher(__name__)


class Answered(NamedTuple):
    """A context, and the nodes made of it, which may take as long as a small assembly."""

    told: Told
    nodes: list[NodeWithScore]

    @classmethod
    def of(cls, nodes: Sequence[NodeWithScore], context: Context) -> Answered:
        """The nodes of `context`, one per label, and those of `nodes` that are media. Nobody is told."""
        told = Told(context)
        media = [NodeWithScore(node=unread(scored.node), score=scored.score) for scored in nodes if is_media(scored)]
        return cls(told, labelled_nodes(told, [scored.node for scored in nodes]) + media)

    def announced(self) -> Answered:
        """The same; listeners are told."""
        if listened_to(dispatcher):
            told = self.told
            dispatcher.event(
                ContextAssembledEvent(query=told.context.query, citations=told.citations, trace=told.trace)
            )
        return self


REMEDY = "ContextAssemblyPostprocessor(filter=MetadataFilters(...)), or filter=function, which is called at each query"


class Owed(Once):
    """The warnings that a postprocessor still owes, its copies together with it."""

    _looked_at = 0
    """The `id` of the LLM whose window was checked last."""

    def warn_of_window(self, llm: Any, most: int) -> None:
        """Warn if a context of `most` tokens may be too long for the LLM."""
        # Reading `Settings.llm` would create an LLM if none is set.
        llm = llm or getattr(Settings, "_llm", None)
        if id(llm) == self._looked_at:  # its metadata may take a while to read
            return
        self._looked_at = id(llm)
        if message := too_small(llm, most):
            self.warn(message, key="window")

    def warn_of(self, context: Context, store: Any, llm: Any, most: int) -> None:
        """Issue what `context`, with neighbors from `store`, calls for."""
        self.warn_of_window(llm, most)
        self.warn_of_neighbors(filter_not_seen(context.trace, REMEDY), context.trace.missing, type(store))


Formed = TypeVar("Formed")

FilterOfCall = Callable[[str | None], MetadataFilters | None]
"""A function from the query of a call to the filter of its retriever, or None."""


class ContextAssemblyPostprocessor(BaseNodePostprocessor):
    """Turns retrieved nodes into the context that the LLM reads: one node per label, in order.

    >>> from llama_index.core.schema import NodeWithScore, TextNode
    >>> said = TextNode(id_="gastro#0", text="Drink water.", metadata={"file_name": "gastro.pdf"})
    >>> [node] = ContextAssemblyPostprocessor().postprocess_nodes([NodeWithScore(node=said, score=0.8)])
    >>> print(node.text)
    [1] Source: gastro.pdf
    Drink water.
    >>> node.metadata["citation"]["label"]
    '1'

    Output. The nodes joined by a blank line, as `compact` joins them, are exactly `Context.text`. Their metadata have
    the citation, the chunk ids and the scores, and those of the first node the trace. If labels begin with 1,
    `source_nodes[i - 1]` is label i; after a supplement that comes first, `source_nodes[i]` is.

    Order. It must be the last postprocessor. Nothing that splits or numbers nodes again may follow: in a
    CitationQueryEngine, which does, it warns. `CITATION_QA_TEMPLATE` and `CITATION_REFINE_TEMPLATE` ask any other
    engine for labels, and `resolve(response)` tells its citations. Postprocessors before it see the hits, not their
    neighbours: a mask isn't applied to these, and a dropped node comes back as the neighbour of one that was kept. So a
    step that masks or drops nodes has to do the same to chunks, in `on_fetched`:

        def mask(text): return re.sub(NAMES, "[NAME]", text)

        def mask_chunks(chunks): return [replace(chunk, text=mask(chunk.text)) for chunk in chunks if not secret(chunk)]

        ContextAssemblyPostprocessor(docstore=index.docstore, on_fetched=mask_chunks)

    Neighbours come from one of `docstore`, `vector_store` (which has to store text) and `store` (any object with
    fetch(refs) or afetch(refs)); without one of them the hits have none. `on_fetched` takes the fetched chunks and
    returns those that may be used; it may be async, for `apostprocess_nodes`.

    Filters. A postprocessor can't see the filter of the retriever, so give it as `filter`: MetadataFilters, or, if they
    differ from call to call, a function from the query (None if there is none) to the filters of this call, or None. No
    neighbour that they exclude gets into the context, and from Postgres none is read.

        user = ContextVar("user")

        def mine(query): return MetadataFilters(filters=[MetadataFilter(key="tenant", value=user.get())])

        ContextAssemblyPostprocessor(vector_store=vector_store, filter=mine)

    Without a filter a neighbour has to agree with its hit on all metadata but those known to vary within a document
    (`AssemblyConfig.varying_keys` adds to them). The first run in which that matters gives a FilterNotSeenWarning.
    `neighbours="unfiltered"` lets everybody read everything; `neighbours="filtered"` refuses to run without a filter.
    Both replace `config.neighbours`. If the retriever restricts its search by `node_ids` or `vector_store_kwargs`,
    restrict the neighbours in `on_fetched`.

    `supplement` holds what no node does, facts from a graph or a database: text, a `Supplement`, or a function from the
    query (None if there is none) to one of them or None.

    Excluded metadata. A key in `excluded_llm_metadata_keys` of a node is in no header: not under `header_keys`, and not
    as a summary, a section or a page. A label then names the next source that it may, else "unknown". Citations have
    all keys, since the LLM doesn't read them. SimpleDirectoryReader excludes `file_name` from all its documents,
    together with sizes and dates, and labels name it all the same; for others write `MetadataKeys(source="title")`.

    Nodes with an image, audio or video and no text follow the labelled ones, with their metadata kept out of the
    prompt, and a note in the trace names them. An image with a caption is read by its caption, and its label's node is
    an ImageNode with its path: `as_query_engine(multimodal=True)` shows a model both.

    `embeddings` is for `dedup="semantic"`: a LlamaIndex embedding model, anything with `embed_documents(texts)`, or a
    function. It gets the texts of nodes without an embedding, in one batch.

    `labels` are the `Labels()` of a conversation, from which each run takes the next ones. The engines of a
    SubQuestionQueryEngine share one, an agent's tool keeps one, and all their sources have different labels. A function
    without arguments may return those of the running conversation, or None. Without labels each run begins with
    `config.first_label`.

    `llm` is for `compress="llm"`, which needs it: a LlamaIndex LLM, or a function from a prompt to an answer. If the
    context may be longer than the window of `llm`, or else of `Settings.llm`, a warning says so. An LLM that only the
    query engine has can't be seen: write `AssemblyConfig(max_tokens=token_budget(llm))`.

    `scorer` tells how well sentences answer the query, beside its words: a LlamaIndex embedding model, a cross-encoder,
    or a function from the query and sentences to scores, called or awaited. `assemble` says when it is asked.

    Each stage is a span below the postprocessor's, `ctxassembly.expand` or `ctxassembly.budget`; its result has counts.

    `to_dict` and `to_json` leave out stores, models, labels, the hook and the supplement: hand them to `from_dict`
    again. A function as `filter` can't be written as JSON.

    Raises:
        ConfigError: more than one store is given; a store, hook, llm, scorer or embeddings have the wrong type;
            `compress="llm"` has no `llm`; a filter can't be translated; or, in a run, there is no filter although
            `neighbours` is "filtered".
    """

    model_config = ConfigDict(extra="forbid")

    config: AssemblyConfig = Field(default_factory=AssemblyConfig, frozen=True)
    filter: MetadataFilters | FilterOfCall | None = Field(default=None, frozen=True)
    docstore: BaseDocumentStore | None = Field(default=None, exclude=True, frozen=True)
    vector_store: BasePydanticVectorStore | None = Field(default=None, exclude=True, frozen=True)
    store: SkipValidation[Store | AsyncStore | None] = Field(default=None, exclude=True, frozen=True)
    embeddings: Any = Field(default=None, exclude=True, frozen=True)
    llm: Any = Field(default=None, exclude=True, frozen=True)
    scorer: Any = Field(default=None, exclude=True, frozen=True)
    supplement: Given = Field(default=None, exclude=True, frozen=True)
    on_fetched: Any = Field(default=None, exclude=True, frozen=True)
    labels: Any = Field(default=None, exclude=True, frozen=True)

    _neighbours: Any = PrivateAttr()
    _embeddings: Any = PrivateAttr()
    _owed: Owed = PrivateAttr(default_factory=Owed)

    def __init__(self, *, neighbours: Literal["auto", "filtered", "unfiltered"] | None = None, **settings: Any) -> None:
        check_parameters(type(self).__name__, settings, type(self).model_fields, "config={}")
        _check_kind("docstore", settings.get("docstore"), BaseDocumentStore, "a docstore")
        _check_kind("vector_store", settings.get("vector_store"), BasePydanticVectorStore, "a vector store")
        _check_filter(settings.get("filter"))
        super().__init__(**settings)
        if neighbours is not None:
            # Written past pydantic, which has frozen the field.
            self.__dict__["config"] = replace(self.config, neighbours=neighbours)
        if not (self.on_fetched is None or callable(self.on_fetched)):
            raise ConfigError("on_fetched", "a function from chunks to chunks", self.on_fetched)
        self._set_neighbours()
        if is_async(self.filter):
            raise ConfigError("filter", "MetadataFilters or a function that needn't be awaited", self.filter)
        self._embeddings = as_embeddings(self.embeddings)
        check_scorer(self.scorer)
        check_labels(self.labels)
        check_llm(self.llm, self.config, BaseLLM, "a LlamaIndex LLM or a function from a prompt to an answer")
        self._owed.warn_of_window(self.llm, self.config.token_limit)

    @classmethod
    def from_index(cls, index: BaseIndex[Any], **settings: Any) -> ContextAssemblyPostprocessor:
        """One with neighbours from where `index` keeps its nodes: a vector store with texts, else the docstore.

        >>> from llama_index.core import MockEmbedding, VectorStoreIndex
        >>> index = VectorStoreIndex([], embed_model=MockEmbedding(embed_dim=4))
        >>> ContextAssemblyPostprocessor.from_index(index).docstore is index.docstore
        True

        Raises:
            ConfigError: `index` is no LlamaIndex index, or as the class says.
        """
        if not isinstance(index, BaseIndex):
            raise ConfigError("index", "a LlamaIndex index", index)
        vector_store = getattr(index, "vector_store", None)
        if isinstance(vector_store, BasePydanticVectorStore) and vector_store.stores_text:
            return cls(vector_store=vector_store, **settings)
        return cls(docstore=index.docstore, **settings)

    @classmethod
    def class_name(cls) -> str:
        """The name under which it is serialized."""
        return "ContextAssemblyPostprocessor"

    def __getstate__(self) -> dict[Any, Any]:
        # LlamaIndex's own method drops values that can't be pickled: a copy would get the default config or no store.
        return BaseModel.__getstate__(self)

    def context(self, nodes: Iterable[NodeWithScore], query_str: str | None = None) -> Context:
        """The context that `postprocess_nodes` would turn into nodes, for a look at its decisions."""
        nodes = listed(nodes)
        given = self._given(nodes, query_str)
        return noted(self._warned(assemble(**given, llm=model(self.llm), on_stage=on_stage())), nodes)

    async def acontext(self, nodes: Iterable[NodeWithScore], query_str: str | None = None) -> Context:
        """The same as `context`, awaited."""
        nodes = listed(nodes)
        return await self._aformed(partial(noted, nodes=nodes), self._given(nodes, query_str))

    def context_of(self, retrieved: Retrieved) -> Context:
        """The context of what was retrieved by our own retrieval; its page shows how that was."""
        given = self._given_by(retrieved)
        context = self._warned(assemble(**given, llm=model(self.llm), on_stage=on_stage()))
        return replace(context, retrieved=retrieved)

    async def acontext_of(self, retrieved: Retrieved) -> Context:
        """The same as `context_of`, awaited."""
        return await self._aformed(partial(replace, retrieved=retrieved), self._given_by(retrieved))

    async def anodes_of(self, retrieved: Retrieved) -> list[NodeWithScore]:
        """The nodes of the context of what was retrieved."""
        made = await self._aformed(
            lambda context: Answered.of((), replace(context, retrieved=retrieved)), self._given_by(retrieved)
        )
        return made.announced().nodes

    def answered(self, request: Assemble, labels: Labels) -> Answered:
        """The context that an answer chain asks for, with `labels` unless there are some."""
        given = self._given_for(request, labels)
        context = self._warned(assemble(**given, llm=model(self.llm), on_stage=on_stage()))
        return Answered.of((), context).announced()

    async def aanswered(self, request: Assemble, labels: Labels) -> Answered:
        """The same as `answered`, awaited."""
        made = await self._aformed(partial(Answered.of, ()), self._given_for(request, labels))
        return made.announced()

    async def _aformed(self, form: Callable[[Context], Formed], given: dict[str, Any]) -> Formed:
        """What `form` makes of the context; its warnings are given."""
        context, formed = await aassembled(
            lambda context: (context, form(context)), **given, llm=async_model(self.llm), on_stage=on_stage()
        )
        self._warned(context)
        return formed

    def over(self, store: Store | AsyncStore) -> ContextAssemblyPostprocessor:
        """The same with `store` as its store of neighbours. Neither repeats a warning of the other."""
        made = self.model_copy(update={"docstore": None, "vector_store": None, "store": store})
        made._set_neighbours()  # noqa: SLF001 - its own
        return made

    def under(self, filters: MetadataFilters, *, is_all: bool = True) -> ContextAssemblyPostprocessor:
        """The same whose neighbours have to pass `filters`, too; and agree with their hit, if these aren't all."""
        made, held = self.model_copy(), under(filters, self._neighbours)
        made._neighbours = held if is_all or held is None else Scoped(held, holds_filter=None)  # noqa: SLF001 - its own
        return made

    def filter_of(self, query: str | None) -> MetadataFilters | None:
        """The filter of a call.

        Raises:
            ConfigError: a function gave something else.
        """
        filters = self.filter(query) if callable(self.filter) else self.filter
        if not (filters is None or isinstance(filters, MetadataFilters)):
            raise ConfigError("what filter(query) returns", "MetadataFilters or None", filters)
        return filters

    def reaching(self, query: str | None) -> dict[str, Any]:
        """What decides, beside the search, whose text a context has: each by its name, for the key of a kept answer."""
        kept_in = self.docstore if self.vector_store is None else self.vector_store
        return {
            "held": self.filter_of(query),
            "store": searched(self.store) if kept_in is None else place_of(kept_in),
            "on_fetched": None if self.on_fetched is None else Hidden("on_fetched", self.on_fetched),
            "supplement": supplement_named(self.supplement),
        }

    def postprocess_nodes(
        self, nodes: list[NodeWithScore], query_bundle: QueryBundle | None = None, query_str: str | None = None
    ) -> list[NodeWithScore]:
        """The nodes of the context, one per label."""
        warn_if_split(self._owed)
        return super().postprocess_nodes(nodes, query_bundle, query_str)

    async def apostprocess_nodes(
        self, nodes: list[NodeWithScore], query_bundle: QueryBundle | None = None, query_str: str | None = None
    ) -> list[NodeWithScore]:
        """The same, awaited."""
        warn_if_split(self._owed)
        return await super().apostprocess_nodes(nodes, query_bundle, query_str)

    def _postprocess_nodes(
        self, nodes: list[NodeWithScore], query_bundle: QueryBundle | None = None
    ) -> list[NodeWithScore]:
        return Answered.of(nodes, self.context(nodes, _words(query_bundle))).announced().nodes

    @dispatcher.span
    async def _apostprocess_nodes(
        self, nodes: list[NodeWithScore], query_bundle: QueryBundle | None = None
    ) -> list[NodeWithScore]:
        given = self._given(nodes, _words(query_bundle))
        made = await self._aformed(lambda context: Answered.of(nodes, noted(context, nodes)), given)
        return made.announced().nodes

    def _set_neighbours(self) -> None:
        found = neighbours_of(self.docstore, self.vector_store, self.store, self.config.keys)
        self._neighbours = found if callable(self.filter) else under(self.filter, found)

    def _given(self, nodes: Iterable[NodeWithScore], query: str | None) -> dict[str, Any]:
        hits, supplement = read_nodes(nodes, self.config.keys)
        given = self._asked(hits, query)
        return given if given["supplement"] is not None else {**given, "supplement": supplement}

    def _given_by(self, retrieved: Retrieved) -> dict[str, Any]:
        given = self._asked(retrieved.hits, retrieved.query)
        return given if given["supplement"] is not None else {**given, "supplement": supplement_of(retrieved)}

    def _given_for(self, request: Assemble, labels: Labels) -> dict[str, Any]:
        given = self._asked(request.hits, request.query)
        beside = {"supplement": request.supplement, "labels": labels}
        return {**given, **{name: value for name, value in beside.items() if given[name] is None}}

    def _asked(self, hits: Sequence[Hit], query: str | None) -> dict[str, Any]:
        return {
            "hits": hits,
            "config": self.config,
            "query": query,
            "store": self._store(query),
            "supplement": supplement_for(query, self.supplement),
            "embeddings": self._embeddings,
            "scorer": self.scorer,
            "on_fetched": self.on_fetched,
            "labels": labels_of_call(self.labels),
        }

    def _store(self, query: str | None) -> Any:
        """The store of neighbours, held to the filter of this call."""
        return under(self.filter_of(query), self._neighbours) if callable(self.filter) else self._neighbours

    def _warned(self, context: Context) -> Context:
        store = self.docstore or self.vector_store or self.store
        self._owed.warn_of(context, store, self.llm, self.config.token_limit)
        return context


def _check_kind(parameter: str, given: object, kind: type, allowed: str) -> None:
    if not (given is None or isinstance(given, kind)):
        index = f": write {parameter}=index.{parameter}" if hasattr(given, parameter) else wrong_store(given)
        raise ConfigError(parameter, allowed, given, index)


def _check_filter(given: object) -> None:
    """Check that a mapping is a serialized MetadataFilters. LangChain's filters are mappings of keys to values."""
    if isinstance(given, Mapping) and "filters" not in given:
        write = "filter=MetadataFilters(filters=[MetadataFilter(key=..., value=...)])"
        raise ConfigError("filter", "MetadataFilters, or a function from a query to them", given, f": write {write}")


def _words(query_bundle: QueryBundle | None) -> str | None:
    return None if query_bundle is None else query_bundle.query_str
