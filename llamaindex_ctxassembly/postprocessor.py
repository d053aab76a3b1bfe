"""`ContextAssemblyPostprocessor`: retrieved nodes in, the context that the model reads out, one node per label."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Annotated, Any, Literal

from llama_index.core import Settings
from llama_index.core.base.llms.base import BaseLLM
from llama_index.core.indices.base import BaseIndex
from llama_index.core.postprocessor.types import BaseNodePostprocessor
from llama_index.core.schema import NodeWithScore, QueryBundle
from llama_index.core.storage.docstore.types import BaseDocumentStore
from llama_index.core.vector_stores.types import BasePydanticVectorStore, MetadataFilters
from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    PlainSerializer,
    PlainValidator,
    PrivateAttr,
    SerializationInfo,
    SkipValidation,
    TypeAdapter,
)

from ctxassembly.adapters.metadata import context_event, neighbor_warnings, with_notes
from ctxassembly.assembly.arguments import settings_of, valid_config, with_neighbors
from ctxassembly.assembly.call import System
from ctxassembly.assembly.supplement import SupplementInput, resolve_supplement
from ctxassembly.concurrency import run_in_worker
from ctxassembly.config.assembly import AssemblyConfig
from ctxassembly.config.hints import raises_config_errors
from ctxassembly.context import Context
from ctxassembly.conversations.conversation import Conversation
from ctxassembly.data.chunks import Hit
from ctxassembly.errors import ConfigError
from ctxassembly.protocols import AsyncStore, Store
from ctxassembly.runtime.assemble import aassemble, assemble, check_embeddings, check_llm
from ctxassembly.runtime.scorers import check_scorer
from ctxassembly.tokens.counter import counter_for
from ctxassembly.tokens.models import window_warning
from ctxassembly.user_warnings import WarnOnce
from llamaindex_ctxassembly.conversation import abegin_turn, begin_turn, check_conversation
from llamaindex_ctxassembly.events import ContextAssembledEvent, dispatcher, has_listeners, on_stage
from llamaindex_ctxassembly.models import as_embeddings, async_text_model, check_kind, text_model
from llamaindex_ctxassembly.neighbors import make_neighbor_store, restrict_store
from llamaindex_ctxassembly.nodes import as_node_list, labeled_nodes, media_notes, read_nodes


def nodes_of(context: Context, found: Sequence[NodeWithScore] = ()) -> list[NodeWithScore]:
    """Return the nodes of `context`, one per label, and the media among `found`. Listeners get its event."""
    context = with_notes(context, media_notes(found))
    if has_listeners():
        dispatcher.event(ContextAssembledEvent(query=context.query, **context_event(context)))
    return labeled_nodes(context, found)


FILTER_CALL = "ContextAssemblyPostprocessor(filter=filters)"

FilterFunction = Callable[[str | None], MetadataFilters | None]
"""A function from the query of a call to the filter of its retriever, or None."""
_CLASS_KEY = "class"
"""The key of a saved config for the class of a system of its own."""


def _read_config(given: Any) -> Any:
    """Return a config as it is, or the settings that `_write_config` turned into a dict.

    Raises:
        ConfigError: it is neither.
    """
    if type(given) is not dict:
        return valid_config(given)
    if name := given.get(_CLASS_KEY):
        raise ConfigError.worded("config", f"config was {name}, whose settings aren't saved: pass config= to from_dict")
    return TypeAdapter(AssemblyConfig).validate_python(given)


def _write_config(config: Any, info: SerializationInfo) -> Any:
    """Return `config` as a dict: its settings, or the name of the class of a system of its own."""
    if not isinstance(config, AssemblyConfig):
        return {_CLASS_KEY: type(config).__name__}
    mode: Any = info.mode
    return TypeAdapter(AssemblyConfig).dump_python(config, mode=mode)


@raises_config_errors
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

    **Output**: the nodes joined by a blank line, as `compact` joins them, are exactly `Context.text`. The metadata of
    each node has the citation, the chunk ids and the scores; the metadata of the first node also has the trace. If
    labels begin with 1, `source_nodes[i - 1]` is label i; after a leading supplement, `source_nodes[i]` is. Each stage
    is a span below the postprocessor's, such as `ctxassembly.expand`; its result has counts.

    **Order**: it must be the last postprocessor, and nothing may split or number its nodes again, as a
    CitationQueryEngine does. In other engines `CITATION_QA_TEMPLATE` and `CITATION_REFINE_TEMPLATE`
    ask for labels, and `resolve(response)` returns the citations. Postprocessors before it see the hits, not their
    neighbors: what they mask or drop comes back with a neighbor. So do the same in `transform_fetched`:

        def mask(text): return re.sub(NAMES, "[NAME]", text)

        def mask_chunks(chunks): return [replace(chunk, text=mask(chunk.text)) for chunk in chunks if not secret(chunk)]

        ContextAssemblyPostprocessor(docstore=index.docstore, transform_fetched=mask_chunks)

    **Filters**: a postprocessor can't see the filter of the retriever, so give it as `filter`. If it differs from call
    to call, give a function. No neighbor that it excludes gets into the context, and from Postgres none is read:

        user = ContextVar("user")

        def mine(query): return MetadataFilters(filters=[MetadataFilter(key="tenant", value=user.get())])

        ContextAssemblyPostprocessor(vector_store=vector_store, filter=mine)

    Without a filter, a neighbor must equal its hit under every metadata key but pages, indexes and other names of
    places (`AssemblyConfig.varying_keys` adds to these). The first run in which that keeps one out gives a
    `FilterNotSeenWarning`, which names the keys. If the retriever restricts its search by `node_ids` or
    `vector_store_kwargs`, restrict the neighbors in `transform_fetched`.

    **Excluded metadata**: a key in `excluded_llm_metadata_keys` of a node is in no header: not under `header_keys`, and
    not as a summary, a section or a page. The label then names the next source that it may, else "unknown". Citations
    have all keys, since the LLM doesn't read them. SimpleDirectoryReader excludes `file_name` from all its documents,
    together with sizes and dates, and labels name it all the same; for others write `MetadataKeys(source="title")`.

    **Media**: nodes with an image, audio or video and no text follow the labeled ones, with their metadata kept out of
    the prompt, and a note in the trace names them. An image with a caption is read by its caption, and its label's node
    is an ImageNode with its path: `as_query_engine(multimodal=True)` shows a model both.

    **Serialization**: `to_dict` and `to_json` leave out stores, models, conversation, hook, supplement, and a published
    system as `config`: pass them to `from_dict` again. A function as `filter` can't be written as JSON.

    Args:
        config (AssemblyConfig): the settings of the assembly; or a system of its own: one of `ctxassembly.published`,
            or any object with `flow(call)`.
        docstore (BaseDocumentStore): the store of neighbors: a docstore. Give at most one of the three; without any,
            hits have none.
        vector_store (BasePydanticVectorStore): the same, a vector store that stores text.
        store (Store | AsyncStore): the same, any object with `fetch(refs)` or `afetch(refs)`.
        filter (MetadataFilters | Callable): the filter that neighbors must pass: MetadataFilters, or a function from
            the query (None if there is none) to the filters of this call, or None.
        neighbors: replaces `config.neighbors`: "auto", "filtered" (no run without a filter) or "unfiltered" (without a
            filter everybody may read everything).
        transform_fetched (Callable): a function from fetched chunks to those that may be used; async for
            `apostprocess_nodes`.
        supplement (str | Supplement | Callable): text that is in no node, such as facts from a graph or a database:
            text, a `Supplement`, or a function from the query (None if there is none) to one of them or None.
        embeddings (Any): required for `dedup="semantic"`: a LlamaIndex embedding model, anything with
            `embed_documents(texts)`, or a function. It gets the texts of nodes without an embedding, in one batch.
        llm (Any): required for `compress="llm"`: a LlamaIndex LLM, or a function from a prompt to an answer. A warning
            says if the context may exceed the window of `llm`, or else of `Settings.llm`. An LLM that only the query
            engine has can't be seen: write `AssemblyConfig(max_tokens=token_budget(llm))`.
        scorer (Any): scores how well sentences answer the query, in addition to its words: a LlamaIndex embedding
            model, a cross-encoder, or a function from the query and sentences to scores, called or awaited.
        conversation (Any): the conversation of an agent's memory, `MemoryConversation(memory)`: text that the memory
            still holds isn't sent again, and documents keep their labels. A function without arguments may return the
            current one, or None. A plain `Conversation` is read only. With `Conversation(labels=Labels())` each run
            takes the next labels, so that the engines of a SubQuestionQueryEngine can share one. Without any, each run
            begins with `config.first_label`.

    Raises:
        ConfigError: more than one store is given; a store, hook, llm, scorer or embeddings have the wrong type;
            `compress="llm"` has no `llm`; a filter can't be translated; or, in a run, there is no filter although
            `neighbors` is "filtered".
    """

    model_config = ConfigDict(extra="forbid")

    config: Annotated[AssemblyConfig | System, PlainValidator(_read_config), PlainSerializer(_write_config)] = Field(
        default_factory=AssemblyConfig, frozen=True
    )
    filter: MetadataFilters | FilterFunction | None = Field(default=None, frozen=True)
    docstore: BaseDocumentStore | None = Field(default=None, exclude=True, frozen=True)
    vector_store: BasePydanticVectorStore | None = Field(default=None, exclude=True, frozen=True)
    store: SkipValidation[Store | AsyncStore | None] = Field(default=None, exclude=True, frozen=True)
    embeddings: Any = Field(default=None, exclude=True, frozen=True)
    llm: Any = Field(default=None, exclude=True, frozen=True)
    scorer: Any = Field(default=None, exclude=True, frozen=True)
    supplement: SupplementInput = Field(default=None, exclude=True, frozen=True)
    transform_fetched: Callable[..., Any] | None = Field(default=None, exclude=True, frozen=True)
    conversation: Any = Field(default=None, exclude=True, frozen=True)

    _neighbor_store: Any = PrivateAttr()
    _embeddings: Any = PrivateAttr()
    _warnings: WarnOnce = PrivateAttr(default_factory=WarnOnce)
    """Its warnings, which its copies share."""

    def __init__(self, *, neighbors: Literal["auto", "filtered", "unfiltered"] | None = None, **settings: Any) -> None:
        if isinstance(filters := settings.get("filter"), Mapping) and "filters" not in filters:
            # LangChain's filters are mappings of keys to values; a serialized MetadataFilters is a mapping, too.
            raise ConfigError("filter", "MetadataFilters, or a function from a query to them", filters)
        super().__init__(**settings)
        if neighbors is not None:
            # Written past pydantic, which has frozen the field.
            self.__dict__["config"] = with_neighbors(self.config, neighbors)
        self._set_neighbor_store()
        self._embeddings = as_embeddings(self.embeddings)
        allowed = "a LlamaIndex embedding model, an object with embed_documents or a function"
        check_embeddings(self._embeddings, allowed)
        check_scorer(self.scorer)
        check_conversation(self.conversation)
        counter_for(self.assembly_settings.encoding)  # a missing vocabulary is an error now
        check_llm(self.llm, self.config, BaseLLM, "a LlamaIndex LLM or a function from a prompt to an answer")

    @classmethod
    def from_index(cls, index: BaseIndex[Any], **settings: Any) -> ContextAssemblyPostprocessor:
        """Return a postprocessor with neighbors from `index`: from a vector store with texts, else from the docstore.

        >>> from llama_index.core import MockEmbedding, VectorStoreIndex
        >>> index = VectorStoreIndex([], embed_model=MockEmbedding(embed_dim=4))
        >>> ContextAssemblyPostprocessor.from_index(index).docstore is index.docstore
        True

        Raises:
            ConfigError: `index` is no LlamaIndex index, or as the class says.
        """
        check_kind("index", index, BaseIndex, "a LlamaIndex index")
        vector_store = getattr(index, "vector_store", None)
        if isinstance(vector_store, BasePydanticVectorStore) and vector_store.stores_text:
            return cls(vector_store=vector_store, **settings)
        return cls(docstore=index.docstore, **settings)

    @property
    def assembly_settings(self) -> AssemblyConfig:
        """Its config as settings, also of a system of its own: its keys, filters, language, format and limit."""
        return settings_of(self.config)

    @classmethod
    def class_name(cls) -> str:
        """Return the name under which it is serialized."""
        return "ContextAssemblyPostprocessor"

    def __getstate__(self) -> dict[Any, Any]:
        # LlamaIndex's own method drops values that can't be pickled: a copy would get the default config or no store.
        return BaseModel.__getstate__(self)

    def context(self, nodes: Iterable[NodeWithScore], query_str: str | None = None) -> Context:
        """Return the context that `postprocess_nodes` would turn into nodes, for a look at its decisions."""
        nodes = as_node_list(nodes)
        return with_notes(self.assemble(self._read(nodes, query_str)), media_notes(nodes))

    async def acontext(self, nodes: Iterable[NodeWithScore], query_str: str | None = None) -> Context:
        """Async version of `context`."""
        nodes = as_node_list(nodes)
        return with_notes(await self.aassemble(self._read(nodes, query_str)), media_notes(nodes))

    def assemble(self, arguments: Mapping[str, Any]) -> Context:
        """Return the context that `assemble` returns for `arguments`, with its warnings issued."""
        conversation, record = begin_turn(arguments["conversation"])
        given = {**arguments, "conversation": conversation, "llm": text_model(self.llm)}
        context = assemble(**given, on_stage=on_stage())
        record(context)
        self._issue_warnings(context)
        return context

    async def aassemble(self, arguments: Mapping[str, Any]) -> Context:
        """Async version of `assemble`."""
        conversation, record = await abegin_turn(arguments["conversation"])
        given = {**arguments, "conversation": conversation, "llm": async_text_model(self.llm)}
        context = await aassemble(**given, on_stage=on_stage())
        record(context)
        self._issue_warnings(context)
        return context

    @property
    def has_store(self) -> bool:
        """True if there is a store of neighbors."""
        return self._neighbor_store is not None

    def with_store(self, store: Store | AsyncStore) -> ContextAssemblyPostprocessor:
        """Return a copy with `store` as its store of neighbors. Neither repeats a warning of the other."""
        postprocessor = self.model_copy(update={"docstore": None, "vector_store": None, "store": store})
        postprocessor._set_neighbor_store()  # noqa: SLF001 - its own
        return postprocessor

    def with_filter(self, filters: Any) -> ContextAssemblyPostprocessor:
        """Return a copy whose neighbors must pass `filters`, too.

        Raises:
            ConfigError: they have no known form, or can't be translated.
        """
        postprocessor = self.model_copy()
        postprocessor._neighbor_store = restrict_store(filters, self._neighbor_store)  # noqa: SLF001 - its own
        return postprocessor

    def call_filter(self, query: str | None) -> MetadataFilters | None:
        """Return the filter of a call.

        Raises:
            ConfigError: a function gave something else.
        """
        filters = self.filter(query) if callable(self.filter) else self.filter
        if not (filters is None or isinstance(filters, MetadataFilters)):
            raise ConfigError("what filter(query) returns", "MetadataFilters or None", filters)
        return filters

    @property
    def settings(self) -> dict[str, Any]:
        """All that a context depends on but hits and filter, of the store its class: for the key of a cached answer."""
        names = ("config", "supplement", "transform_fetched", "scorer", "embeddings", "llm")
        stores = (type(one).__name__ for one in (self.docstore, self.vector_store, self.store))
        return {**{name: getattr(self, name) for name in names}, "store": list(stores)}

    def _postprocess_nodes(
        self, nodes: list[NodeWithScore], query_bundle: QueryBundle | None = None
    ) -> list[NodeWithScore]:
        query = None if query_bundle is None else query_bundle.query_str
        return nodes_of(self.assemble(self._read(nodes, query)), nodes)

    @dispatcher.span
    async def _apostprocess_nodes(
        self, nodes: list[NodeWithScore], query_bundle: QueryBundle | None = None
    ) -> list[NodeWithScore]:
        query = None if query_bundle is None else query_bundle.query_str
        context = await self.aassemble(self._read(nodes, query))
        return await run_in_worker(partial(nodes_of, context, nodes))

    def _set_neighbor_store(self) -> None:
        store = make_neighbor_store(self.docstore, self.vector_store, self.store, self.assembly_settings.keys)
        self._neighbor_store = store if callable(self.filter) else restrict_store(self.filter, store)

    def _read(self, nodes: Iterable[NodeWithScore], query: str | None) -> dict[str, Any]:
        hits, supplement = read_nodes(nodes, self.assembly_settings.keys)
        return self.arguments(hits, query, supplement)

    def arguments(
        self,
        hits: Sequence[Hit],
        query: str | None,
        supplement: SupplementInput,
        conversation: Conversation | None = None,
    ) -> dict[str, Any]:
        """Return the arguments of `assemble`.

        `supplement` is used if the postprocessor has none. `conversation` takes the place of its own.
        """
        own_supplement, store = resolve_supplement(query, self.supplement), self._neighbor_store
        return {
            "hits": hits,
            "config": self.config,
            "query": query,
            "store": restrict_store(self.call_filter(query), store) if callable(self.filter) else store,
            "supplement": supplement if own_supplement is None else own_supplement,
            "embeddings": self._embeddings,
            "scorer": self.scorer,
            "transform_fetched": self.transform_fetched,
            "conversation": conversation or self.conversation,
        }

    def _issue_warnings(self, context: Context) -> None:
        store = self.docstore or self.vector_store or self.store
        self._warnings.warn(*neighbor_warnings(context.trace, FILTER_CALL), key=type(store))
        # Reading `Settings.llm` would create an LLM if none is set.
        llm = self.llm or getattr(Settings, "_llm", None)
        if self._warnings.is_first("llm", id(llm)):  # its metadata may take a while to read
            self._warnings.warn(window_warning(llm, self.assembly_settings.token_limit), key="window")
