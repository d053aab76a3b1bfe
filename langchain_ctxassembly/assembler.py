"""`ContextAssembler`: retrieved documents in, the context that the model reads out, one document per label."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Generic, TypeVar

from langchain_core.callbacks import Callbacks, adispatch_custom_event, dispatch_custom_event
from langchain_core.documents import BaseDocumentCompressor, BaseDocumentTransformer, Document
from langchain_core.runnables import ConfigurableField, Runnable, RunnableConfig, RunnableLambda, RunnableSerializable
from langchain_core.runnables.utils import AnyConfigurableField
from pydantic import ConfigDict, Field, InstanceOf, PrivateAttr, SkipValidation, model_validator
from typing_extensions import Self, override

from ctxassembly.answering.cache_key import Hidden
from ctxassembly.assembly.expansion.access import filter_not_seen
from ctxassembly.assembly.selection.supplement import Given, supplement_of
from ctxassembly.config.assembly import AssemblyConfig, Neighbours
from ctxassembly.config.hints import check_parameters, check_store, not_a_document, wrong_config
from ctxassembly.context import Context
from ctxassembly.conversations.labels import check_labels, labels_of_call
from ctxassembly.data.chunks import Chunk, Hit
from ctxassembly.data.metadata_keys import keyed
from ctxassembly.data.retrieval import Retrieved
from ctxassembly.errors import ConfigError, InputError
from ctxassembly.integrations.messages import supplement_named
from ctxassembly.integrations.metadata import Told
from ctxassembly.protocols import AsyncStore, Store
from ctxassembly.runtime.assemble import aassembled, assemble
from ctxassembly.runtime.scorers import check_scorer
from ctxassembly.runtime.services import asking, check_llm
from ctxassembly.safe_repr import shown
from ctxassembly.tokens.budget import too_small
from ctxassembly.user_warnings import Once
from langchain_ctxassembly.configurable import (
    NAME,
    ConfigurableAlternatives,
    ConfigurableFields,
    alternatives,
    configured,
    fields,
)
from langchain_ctxassembly.convert.documents import documents_from, read_documents
from langchain_ctxassembly.convert.models import async_model, model
from langchain_ctxassembly.search.caller_filter import Search
from langchain_ctxassembly.search.filters import held
from langchain_ctxassembly.spans import Spans, listened_to
from langchain_ctxassembly.stores.identity import store_named

Formed = TypeVar("Formed")

EVENT = "context_assembled"
"""The custom event that carries citations and trace to callbacks and `astream_events`."""

REMEDY = (
    "ContextAssembler(filter=...), or ContextAssemblyRetriever(retriever=vectorstore.as_retriever(...)), which reads it"
)
ELSEWHERE = "The search has no filter, but the neighbors come from another store"
GIVE_IT = "ContextAssembler(filter=...), the filter of that store"
QUERY_NAMES = ("question", "input")
"""The keys under which chains hand on the user's question, where none is named "query"."""
FORMS = "the input must be a list of documents or {'documents': [...], 'query': '...', 'supplement': '...'}"


class ContextAssembler(RunnableSerializable[Any, list[Document]], BaseDocumentTransformer, BaseDocumentCompressor):
    """Assembles documents, best first: `retriever | ContextAssembler(store=...)`.

    Input: a list of documents, or `{"documents": [...], "query": "...", "supplement": "..."}`, of which the last two
    are optional. A `Retrieved`, or hits, may take the place of the documents. A supplement (text or a `Supplement`)
    holds what no document does: facts from a graph or a database. Without a "query", a text under "question" or "input"
    is taken for it. Other keys, such as a chat history or the rest of a graph's state, are ignored.

    Parameters: `config` has the settings; `store` the chunks beside a hit; `filter`, `neighbours` and `on_fetched` say
    which of those may be read; `labels` are those of a conversation; `embeddings` and `llm` are what `dedup="semantic"`
    and `compress="llm"` work with; `scorer` tells which sentences answer, where the words of the query don't.

    Output: one document per label, in order, as `documents_from` describes them; none for no documents. Inputs are
    never changed. Each run sends the custom event `context_assembled` with citations and trace as plain dicts.
    Each stage is a run below it, `ctxassembly.expand` or `ctxassembly.budget`, whose outputs are counts.

    >>> from langchain_core.documents import Document
    >>> said = Document("Drink water until two hours before.", id="gastro#0", metadata={"source": "gastro.pdf"})
    >>> [document] = ContextAssembler().invoke([said])
    >>> print(document.page_content)
    [1] Source: gastro.pdf
    Drink water until two hours before.
    >>> document.metadata["citation"]["label"]
    '1'

    Filters. The store fetches neighbours itself, past the filter of the search that found the documents. So they are
    held to a filter again:

    - to `filter`, or to the filter of `store`;
    - in a `ContextAssemblyRetriever`, also to the filter of its search;
    - behind a pipe, `retriever | assembler`, the assembler can't see the search. Without `filter`, a neighbour has to
      agree with its hit on all metadata but those that vary within a document, and the first run gives a
      `FilterNotSeenWarning`. With one tenant, write `neighbours="unfiltered"`.

    A search that is seen to have no filter clears only neighbours from its own vector store (the same object, table or
    collection). Those from another store have to agree with their hit as behind a pipe: the search may be in the
    collection of one tenant, and the store hold everybody's. The first run in which some are left out warns.

    Masks. A step before the assembler that masks or removes text has seen the documents, but not their neighbours: give
    it as `on_fetched`, too.
    """

    config: InstanceOf[AssemblyConfig] = Field(default_factory=AssemblyConfig)
    store: SkipValidation[Store | AsyncStore | None] = None
    """The store of neighbours, any object with `fetch(refs)` or `afetch(refs)`. None fetches none."""
    embeddings: Any = None
    """For `dedup="semantic"`, which needs it: an `Embeddings`, or a function from texts to vectors."""
    llm: Any = None
    """For `compress="llm"`, which needs it: a Runnable that takes a string, or a function from a prompt to an answer.

    A Runnable's runs stand below the assembler's, and get its config."""
    scorer: Any = None
    """What tells how well sentences answer the query, beside its words: an `Embeddings`, a cross-encoder, or a function
    from the query and sentences to scores, called or awaited. `assemble` says when it is asked."""
    filter: Any = None
    """The retriever's filter (tenant, access group), in the form of the vector store of `store`. No neighbour that it
    excludes comes in, and in an `answer_chain` no hit. It may be configurable:
    `configurable_fields(filter=ConfigurableField(id="filter"))`."""
    neighbours: Neighbours | None = None
    """Replaces `config.neighbours`: "auto", "filtered" (no run without a filter) or "unfiltered" (none is needed)."""
    on_fetched: Callable[[Sequence[Chunk]], Any] | None = None
    """A function from fetched chunks to those that may be used, called before anything else sees them: a mask, say. It
    may be async, for the async methods."""
    labels: Any = None
    """The `Labels()` of a conversation, from which each run takes the next ones; or a function without arguments that
    returns those of the running conversation, or None. Without labels each run begins with `config.first_label`."""

    _once: Once = PrivateAttr(default_factory=Once)
    """Its warnings. Copies share it; so does an assembler that is made from the config of a call."""

    model_config = ConfigDict(arbitrary_types_allowed=True, extra="forbid")

    @model_validator(mode="before")
    @classmethod
    def _knows(cls, given: Any) -> Any:
        if isinstance(given, Mapping):
            check_parameters(cls.__name__, given, cls.model_fields, "config={}")
            config = given.get("config")
            if not (config is None or isinstance(config, AssemblyConfig)):
                raise ConfigError("config", "an AssemblyConfig", config, wrong_config(config, takes_query=False))
        return given

    @model_validator(mode="after")
    def _check(self) -> Self:
        check_store(self.store)
        if not (self.embeddings is None or _can_embed(self.embeddings)):
            raise ConfigError("embeddings", "an object with embed_documents(texts) or a function", self.embeddings)
        if self.config.dedup == "semantic" and self.embeddings is None:
            # Documents carry no vectors, so it can't work with any documents.
            raise ConfigError("embeddings", "given where dedup is 'semantic'", None)
        check_llm(self.llm, self.config, Runnable, "a Runnable or a function from a prompt to an answer")
        check_scorer(self.scorer)
        held(self.store, self.filter, None)
        check_labels(self.labels)
        if message := too_small(self.llm, self.config.token_limit):
            self._once.warn(message, key="window")
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

    def as_context(
        self, *, config: RunnableConfig | None = None, search: Search | None = None
    ) -> Runnable[Any, Context]:
        """A runnable with the same inputs that gives the `Context`, whose `str()` is its text.

        For the state of a LangGraph graph, write `as_context() | Context.to_dict`, and restore the context by
        `Context.from_dict(state["context"])`. A `Context` put into the state as it is comes back whole from a
        checkpoint, too, but LangGraph warns once of a type that it doesn't know. A library can't register its types.
        The checkpointer can: `InMemorySaver(serde=JsonPlusSerializer(allowed_msgpack_modules=[Context]))`; under
        LANGGRAPH_STRICT_MSGPACK, so does the annotation `context: Context` of the state.

        `config` holds for its runs; after a `with_config` it is that one's config. `search` is the search that found
        the documents, None if unknown.
        """
        run, arun = partial(self.assembled, search=search), partial(self.aassembled, search=search)
        return configured(RunnableLambda(run, arun, name=NAME), config)

    def assembled(self, given: Any, config: RunnableConfig, search: Search | None = None) -> Context:
        """The context of `given`, in the run of `config`; `search` is the search that found it, None if unknown."""
        return self._formed(_context, given, config, search)

    async def aassembled(self, given: Any, config: RunnableConfig, search: Search | None = None) -> Context:
        """The same as `assembled`, awaited."""
        return await self._aformed(_context, given, config, search)

    def _formed(
        self, form: Callable[[Told], Formed], given: Any, config: RunnableConfig, search: Search | None
    ) -> Formed:
        """What `form` makes of the context of `given`; its warnings are given, and its event sent."""
        asking(self.store, None, None)  # refuse a store with afetch alone here: `held` may hide it
        spans = Spans(config)
        context = assemble(
            **self._read(given),
            store=self.held(search),
            embeddings=self.embeddings,
            llm=model(self.llm, lambda: spans.config),
            scorer=self.scorer,
            on_fetched=self.on_fetched,
            labels=labels_of_call(self.labels),
            on_stage=spans.on_stage,
        )
        made = _Made.of(form, listened_to(config), context)
        self._warn(context, search)
        if made.event is not None:
            dispatch_custom_event(EVENT, made.event, config=config)
        return made.formed

    async def _aformed(
        self, form: Callable[[Told], Formed], given: Any, config: RunnableConfig, search: Search | None
    ) -> Formed:
        """The same as `_formed`, awaited."""
        spans = Spans(config)
        made = await aassembled(
            partial(_Made.of, form, listened_to(config)),
            **self._read(given),
            store=self.held(search),
            embeddings=self.embeddings,
            llm=async_model(self.llm, lambda: spans.config),
            scorer=self.scorer,
            on_fetched=self.on_fetched,
            labels=labels_of_call(self.labels),
            on_stage=spans.aon_stage,
        )
        self._warn(made.context, search)
        if made.event is not None:
            await adispatch_custom_event(EVENT, made.event, config=config)
        return made.formed

    def knows_what_was_warned_of(self, other: ContextAssembler) -> None:
        """Don't repeat the warnings of `other`, from which the config of a call made this assembler."""
        self._once = other._once

    @property
    def effective(self) -> AssemblyConfig:
        """The config, with `neighbours` in place of its own."""
        return self.config if self.neighbours is None else replace(self.config, neighbours=self.neighbours)

    def reaching(self, supplement: Given) -> dict[str, Any]:
        """What decides, beside the search, whose text a context has: each by its name, for the key of a kept answer."""
        return {
            "held": self.filter,
            "store": store_named(self.store),
            "on_fetched": None if self.on_fetched is None else Hidden("on_fetched", self.on_fetched),
            "supplement": supplement_named(supplement),
        }

    def held(self, search: Search | None) -> Any:
        """The store of neighbours, held to `filter` and to the filter of `search`.

        Raises:
            ConfigError: a filter has a form that can't be applied.
        """
        needs_none = (self.neighbours or self.config.neighbours) == "unfiltered"
        return held(keyed(self.store, self.config.keys), self.filter, None if needs_none else search)

    @override
    def configurable_fields(self, **kwargs: AnyConfigurableField) -> ConfigurableFields:
        return fields(super().configurable_fields(**kwargs))

    @override
    def configurable_alternatives(self, which: ConfigurableField, **kwargs: Any) -> ConfigurableAlternatives:
        return alternatives(super().configurable_alternatives(which, **kwargs))

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

    # LangChain hands the config of child runs to a parameter named `config`. Its type for these functions wants a run
    # manager as well, which nobody here uses.

    def _documents(
        self,
        given: Any,
        run_manager: Any,  # noqa: ARG002
        config: RunnableConfig,
        search: Search | None = None,
    ) -> list[Document]:
        return self._formed(documents_from, given, config, search)

    async def _adocuments(
        self,
        given: Any,
        run_manager: Any,  # noqa: ARG002
        config: RunnableConfig,
        search: Search | None = None,
    ) -> list[Document]:
        return await self._aformed(documents_from, given, config, search)

    def _warn(self, context: Context, search: Search | None) -> None:
        """Issue what `context` calls for, once."""
        if search is not None and search.has_no_filter:
            # Warn only if neighbours were left out: to the owner of a single tenant it makes no difference.
            unseen = filter_not_seen(context.trace, GIVE_IT, ELSEWHERE) if context.trace.unscoped else None
        else:
            unseen = filter_not_seen(context.trace, REMEDY)
        self._once.warn_of_neighbors(unseen, context.trace.missing, type(self.store))

    def _read(self, given: Any) -> dict[str, Any]:
        """The arguments of `assemble`, from either form of input. The engine checks the supplement."""
        documents, query, supplement = given, None, None
        if isinstance(given, Mapping):
            if "documents" not in given:
                raise InputError(
                    f"{FORMS}; got the keys {shown(list(given))}: say which of them holds the documents, as "
                    "{'documents': itemgetter('context'), 'query': itemgetter('input')} | assembler does"
                )
            documents, query, supplement = given["documents"], _query_in(given), given.get("supplement")
        if isinstance(documents, Retrieved):
            query = query or documents.query
            supplement = supplement_of(documents) if supplement is None else supplement
            return {"hits": documents.hits, "config": self.effective, "query": query, "supplement": supplement}
        if not isinstance(documents, (list, tuple)) or not all(isinstance(one, (Document, Hit)) for one in documents):
            raise InputError(f"{FORMS}, got {shown(documents)}{not_a_document(documents)}")
        if query is not None and not isinstance(query, str):
            raise InputError(f"the query must be a string, got {shown(query)}")
        found = read_documents(documents, self.config.keys)
        return {
            "hits": found.hits,
            "config": self.effective,
            "query": query,
            "supplement": found.supplement if supplement is None else supplement,
        }


def _query_in(given: Mapping[str, Any]) -> Any:
    """The query of an input: what stands under "query", else a text under the names that chains use for it."""
    if given.get("query") is not None:
        return given["query"]
    return next((given[name] for name in QUERY_NAMES if isinstance(given.get(name), str)), None)


def _can_embed(embeddings: Any) -> bool:
    return callable(embeddings) or hasattr(embeddings, "embed_documents") or hasattr(embeddings, "aembed_documents")


@dataclass(frozen=True, slots=True)
class _Made(Generic[Formed]):
    """A context, and all that is made of it, which may take as long as a small assembly."""

    context: Context
    formed: Formed
    event: dict[str, Any] | None
    """The custom event; None if nobody listens."""

    @classmethod
    def of(cls, form: Callable[[Told], Formed], is_heard: bool, context: Context) -> Self:
        told = Told(context)
        return cls(context, form(told), _event(told) if is_heard else None)


def _event(told: Told) -> dict[str, Any]:
    return {"citations": told.citations, "trace": told.trace}


def _context(told: Told) -> Context:
    return told.context
