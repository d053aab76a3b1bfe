"""`ContextAssembler`: retrieved documents -> the context that the model reads, wherever LangChain handles documents."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from langchain_core.callbacks import Callbacks, adispatch_custom_event, dispatch_custom_event
from langchain_core.documents import BaseDocumentCompressor, BaseDocumentTransformer, Document
from langchain_core.runnables import ConfigurableField, Runnable, RunnableConfig, RunnableLambda, RunnableSerializable
from langchain_core.runnables.utils import AnyConfigurableField
from pydantic import ConfigDict, Field, InstanceOf, PrivateAttr, SkipValidation, model_validator
from typing_extensions import Self, override

from ctxassembly.adapting.told import Told
from ctxassembly.assembly.gathering.scope import filter_not_seen
from ctxassembly.context import Context
from ctxassembly.conversations.labels import check_labels, labels_of_call
from ctxassembly.data.chunks import Chunk
from ctxassembly.data.keys import keyed
from ctxassembly.drivers.ask import asking, check_llm
from ctxassembly.drivers.assemble import aassemble, assemble
from ctxassembly.errors import ConfigError, FilterNotSeenWarning, InputError, NothingToJoinWarning
from ctxassembly.protocols import AsyncStore, Store
from ctxassembly.settings.config import AssemblyConfig, Neighbours
from ctxassembly.settings.misuse import check_parameters, check_store, not_a_document, wrong_config
from ctxassembly.shown import shown
from ctxassembly.tokens.models import too_small
from langchain_ctxassembly.configurable import NAME, configured, following
from langchain_ctxassembly.convert.documents import documents_from, hit_from
from langchain_ctxassembly.convert.llm import async_model, model
from langchain_ctxassembly.listeners import listened_to
from langchain_ctxassembly.searches.filtered import held
from langchain_ctxassembly.searches.visible import Search

EVENT = "context_assembled"
"""The custom event that carries citations and trace to callbacks and `astream_events`."""

REMEDY = (
    "Give the filter, ContextAssembler(filter=...), or let ContextAssemblyRetriever(retriever=...) read it from a "
    "vector store's own retriever"
)
ELSEWHERE = "The search has no filter, but neighbours come from other documents than it searches"
GIVE_IT = "Give the filter that these need, ContextAssembler(filter=...)"
FORMS = "the input must be a list of documents or {'documents': [...], 'query': '...', 'supplement': '...'}"


class ContextAssembler(RunnableSerializable[Any, list[Document]], BaseDocumentTransformer, BaseDocumentCompressor):
    """Assembles documents, best first: `retriever | ContextAssembler(store=...)`.

    Takes a list of documents, or `{"documents": [...], "query": "...", "supplement": "..."}`, the last two optional.
    A supplement (text or a `Supplement`) is what no document holds: facts from a graph or a database. Other keys, a
    chat history or the rest of a graph's state, are not looked at.

    Neighbours are fetched past the search that found the documents. They are held to `filter`, or to the filter of
    `store`; in a `ContextAssemblyRetriever` to that of its search, too. Behind a pipe, `retriever | assembler`, the
    search can't be seen: without a filter given, a neighbour has to agree with its hit on all metadata but what varies
    within a document, and the first run warns with a `FilterNotSeenWarning`. Whoever has one tenant says
    `neighbours="unfiltered"`.

    A search that is seen to have no filter vouches for neighbours from its own vector store (the same object, table or
    collection) alone. From another, or from a `MemoryStore`, they have to agree with their hit, too: the search may be
    one tenant's collection, and the store everybody's. The first run that leaves some out by that warns.

    What another step masked or removed in the documents is not masked in their neighbours: give that step as
    `on_fetched`, too.

    Gives one document per label, in order, as `documents_from` describes them; no documents give none. Inputs are never
    changed. Each run sends the custom event `context_assembled` with citations and trace as plain dicts.
    """

    config: InstanceOf[AssemblyConfig] = Field(default_factory=AssemblyConfig)
    store: SkipValidation[Store | AsyncStore | None] = None
    """Where neighbours come from: any object with `fetch(refs)` or `afetch(refs)`; None fetches none."""
    embeddings: Any = None
    """For `dedup="semantic"`, which needs it: an `Embeddings`, or a function from texts to vectors."""
    llm: Any = None
    """For `compress="llm"`, which needs it: a Runnable that takes a string, or a function from a prompt to an answer.

    A Runnable's runs stand below the assembler's, and get its config."""
    filter: Any = None
    """What the retriever filters by (tenant, access group), in the form of the vector store of `store`: no neighbour
    comes in that it excludes. May be configurable: `configurable_fields(filter=ConfigurableField(id="filter"))`."""
    neighbours: Neighbours | None = None
    """In place of the config's: "auto", "filtered" (no run without a filter) or "unfiltered" (none is needed)."""
    on_fetched: Callable[[Sequence[Chunk]], Any] | None = None
    """A function over the chunks that `store` answered with, before anything else sees them, to chunks: a mask, say.
    May be async, for the async methods."""
    labels: Any = None
    """The labels of a conversation, `Labels()`, of which each run has the next ones; or a function without arguments
    that returns those of the conversation that is going on, or None. Without them each run begins with
    `config.first_label`."""

    _warned: set[tuple[type[Warning], int]] = PrivateAttr(default_factory=set)
    """The warnings that were given, each with the store that it was given for. Copies share it, and so do those that a
    call's config makes."""

    model_config = ConfigDict(arbitrary_types_allowed=True, extra="forbid")

    @model_validator(mode="before")
    @classmethod
    def _knows(cls, given: Any) -> Any:
        if isinstance(given, Mapping):
            check_parameters(cls.__name__, given, cls.model_fields, "config={}")
            config = given.get("config")
            if not (config is None or isinstance(config, AssemblyConfig)):
                raise ConfigError("config", "an AssemblyConfig", config, wrong_config(config))
        return given

    @model_validator(mode="after")
    def _check(self) -> Self:
        check_store(self.store)
        if not (self.embeddings is None or _can_embed(self.embeddings)):
            raise ConfigError("embeddings", "an object with embed_documents(texts) or a function", self.embeddings)
        if self.config.dedup == "semantic" and self.embeddings is None:
            # Documents carry no vectors, so this can't work whatever is retrieved.
            raise ConfigError("embeddings", "given where dedup is 'semantic'", None)
        check_llm(self.llm, self.config, Runnable, "a Runnable or a function from a prompt to an answer")
        held(self.store, self.filter, None)
        check_labels(self.labels)
        if message := too_small(self.llm, self.config.token_limit):
            warnings.warn(message, UserWarning, stacklevel=3)
        return self

    @override
    def invoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> list[Document]:
        """The assembled documents, one per label.

        Raises:
            InputError: `input` has another form.
        """
        return self._call_with_config(self._documents, input, config, **kwargs)

    @override
    async def ainvoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> list[Document]:
        """The same as `invoke`, awaited."""
        return await self._acall_with_config(self._adocuments, input, config, **kwargs)

    def as_context(self, *, config: RunnableConfig | None = None) -> Runnable[Any, Context]:
        """A runnable with the same inputs that gives the `Context`, whose `str()` is its text.

        In the state of a LangGraph graph a context stands as `as_context() | Context.to_dict`, and is made again by
        `Context.from_dict(state["context"])`. Left as it is, it comes back whole from a checkpoint, too, but LangGraph
        warns once of a type that it doesn't know. A library can't register one: the checkpointer can,
        `InMemorySaver(serde=JsonPlusSerializer(allowed_msgpack_modules=[Context]))`, and under
        LANGGRAPH_STRICT_MSGPACK the annotation `context: Context` of the state does.

        `config` is for its runs: a `with_config` before `as_context` gives its own.
        """
        return configured(RunnableLambda(self.assembled, self.aassembled, name=NAME), config)

    def assembled(self, given: Any, config: RunnableConfig, search: Search | None = None) -> Context:
        """The context of `given`, in the run that `config` belongs to; `search` is what found it, if that is known."""
        return self._told(given, config, search).context

    async def aassembled(self, given: Any, config: RunnableConfig, search: Search | None = None) -> Context:
        """The same as `assembled`, awaited."""
        return (await self._atold(given, config, search)).context

    def _told(self, given: Any, config: RunnableConfig, search: Search | None) -> Told:
        asking(self.store, None, None)  # one that can only be awaited is an error, and still is so when it is wrapped
        context = assemble(
            **self._read(given),
            store=self.held(search),
            embeddings=self.embeddings,
            llm=model(self.llm, config),
            on_fetched=self.on_fetched,
            labels=labels_of_call(self.labels),
        )
        self._warn(context, search)
        told = Told(context)
        if listened_to(config):
            dispatch_custom_event(EVENT, _event(told), config=config)
        return told

    async def _atold(self, given: Any, config: RunnableConfig, search: Search | None) -> Told:
        context = await aassemble(
            **self._read(given),
            store=self.held(search),
            embeddings=self.embeddings,
            llm=async_model(self.llm, config),
            on_fetched=self.on_fetched,
            labels=labels_of_call(self.labels),
        )
        self._warn(context, search)
        told = Told(context)
        if listened_to(config):
            await adispatch_custom_event(EVENT, _event(told), config=config)
        return told

    def knows_what_was_warned_of(self, other: ContextAssembler) -> None:
        """Don't repeat the warnings that `other` gave: this is what the config of a call made of it."""
        self._warned = other._warned

    @property
    def effective(self) -> AssemblyConfig:
        """The config, with `neighbours` in it."""
        return self.config if self.neighbours is None else replace(self.config, neighbours=self.neighbours)

    def held(self, search: Search | None) -> Any:
        """The store of neighbours, held to `filter` and to the filter of `search`.

        Raises:
            ConfigError: a filter has a form that can't be applied.
        """
        needs_none = (self.neighbours or self.config.neighbours) == "unfiltered"
        return held(keyed(self.store, self.config.keys), self.filter, None if needs_none else search)

    @override
    def configurable_fields(self, **kwargs: AnyConfigurableField) -> RunnableSerializable[Any, list[Document]]:
        return following(super().configurable_fields(**kwargs))

    @override
    def configurable_alternatives(
        self, which: ConfigurableField, **kwargs: Any
    ) -> RunnableSerializable[Any, list[Document]]:
        return following(super().configurable_alternatives(which, **kwargs))

    @override
    def transform_documents(self, documents: Sequence[Document], **kwargs: Any) -> list[Document]:
        """The assembled documents; there is no query here."""
        return self.invoke(documents)

    @override
    async def atransform_documents(self, documents: Sequence[Document], **kwargs: Any) -> list[Document]:
        """The same as `transform_documents`, awaited."""
        return await self.ainvoke(documents)

    @override
    def compress_documents(
        self, documents: Sequence[Document], query: str, callbacks: Callbacks = None
    ) -> list[Document]:
        """The assembled documents, in a run of their own below `callbacks`."""
        return self.invoke({"documents": documents, "query": query}, {"callbacks": callbacks})

    @override
    async def acompress_documents(
        self, documents: Sequence[Document], query: str, callbacks: Callbacks = None
    ) -> list[Document]:
        """The same as `compress_documents`, awaited."""
        return await self.ainvoke({"documents": documents, "query": query}, {"callbacks": callbacks})

    # LangChain hands over the config of child runs where a parameter is called `config`. The type that it expects of
    # `invoke` has the run manager beside it.

    def _documents(
        self,
        given: Any,
        run_manager: Any,  # noqa: ARG002
        config: RunnableConfig,
        search: Search | None = None,
    ) -> list[Document]:
        return documents_from(self._told(given, config, search))

    async def _adocuments(
        self,
        given: Any,
        run_manager: Any,  # noqa: ARG002
        config: RunnableConfig,
        search: Search | None = None,
    ) -> list[Document]:
        return documents_from(await self._atold(given, config, search))

    def _warn(self, context: Context, search: Search | None) -> None:
        """Give each warning that `context` owes, once."""
        if search is not None and search.has_no_filter:
            # Who has one tenant and such a store loses nothing by it, and needn't be told.
            unseen = filter_not_seen(context.trace, GIVE_IT, ELSEWHERE) if context.trace.unscoped else None
        else:
            unseen = filter_not_seen(context.trace, REMEDY)
        for message, kind in ((unseen, FilterNotSeenWarning), (context.trace.missing, NothingToJoinWarning)):
            if message and (kind, id(self.store)) not in self._warned:
                self._warned.add((kind, id(self.store)))
                warnings.warn(message, kind, stacklevel=3)

    def _read(self, given: Any) -> dict[str, Any]:
        """What the engine is handed, out of either form of input. It checks the supplement itself."""
        documents, query, supplement = given, None, None
        if isinstance(given, Mapping):
            if "documents" not in given:
                raise InputError(
                    f"{FORMS}; got the keys {shown(list(given))}: say which of them holds the documents, as "
                    "{'documents': itemgetter('context'), 'query': itemgetter('input')} | assembler does"
                )
            documents, query, supplement = given["documents"], given.get("query"), given.get("supplement")
        if not isinstance(documents, (list, tuple)) or not all(isinstance(each, Document) for each in documents):
            raise InputError(f"{FORMS}, got {shown(documents)}{not_a_document(documents)}")
        if query is not None and not isinstance(query, str):
            raise InputError(f"the query must be a string, got {shown(query)}")
        return {
            "hits": [hit_from(document, self.config.keys) for document in documents],
            "config": self.effective,
            "query": query,
            "supplement": supplement,
        }


def _can_embed(embeddings: Any) -> bool:
    return callable(embeddings) or hasattr(embeddings, "embed_documents") or hasattr(embeddings, "aembed_documents")


def _event(told: Told) -> dict[str, Any]:
    return {"citations": told.citations, "trace": told.trace}
