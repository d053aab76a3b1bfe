"""`ContextAssembler`: retrieved documents in, the context that the model reads out, one document per label."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Annotated, Any, cast

from langchain_core.callbacks import Callbacks, adispatch_custom_event, dispatch_custom_event
from langchain_core.documents import BaseDocumentCompressor, BaseDocumentTransformer, Document
from langchain_core.runnables import ConfigurableField, Runnable, RunnableConfig, RunnableLambda, RunnableSerializable
from langchain_core.runnables.utils import AnyConfigurableField
from pydantic import ConfigDict, Field, InstanceOf, PlainValidator, PrivateAttr, SkipValidation, model_validator
from typing_extensions import Self, override

from ctxassembly.adapters.metadata import context_event, neighbor_warnings
from ctxassembly.assembly.arguments import settings_of, valid_config, with_neighbors
from ctxassembly.assembly.call import System
from ctxassembly.assembly.supplement import SupplementInput, supplement_from_retrieval
from ctxassembly.concurrency import run_in_worker
from ctxassembly.config.assembly import AssemblyConfig, Neighbors
from ctxassembly.config.hints import check_store, raises_config_errors
from ctxassembly.context import Context
from ctxassembly.conversations.conversation import Conversation
from ctxassembly.data.chunks import Chunk, Hit
from ctxassembly.data.metadata_keys import with_keys
from ctxassembly.data.retrieval import Retrieved
from ctxassembly.errors import ConfigError, InputError
from ctxassembly.protocols import AsyncStore, Store
from ctxassembly.runtime.assemble import aassemble, assemble, check_embeddings, check_llm
from ctxassembly.runtime.scorers import check_scorer
from ctxassembly.safe_repr import safe_repr
from ctxassembly.tokens.counter import counter_for
from ctxassembly.tokens.models import window_warning
from ctxassembly.user_warnings import WarnOnce
from langchain_ctxassembly.convert.documents import documents_from, read_documents
from langchain_ctxassembly.convert.models import async_text_model, text_model
from langchain_ctxassembly.search import SearchFilter, apply_filter
from langchain_ctxassembly.spans import Spans, has_listeners

CONTEXT_RUN = "ContextAssembler.as_context"
EVENT = "context_assembled"
"""The custom event that carries citations and trace to callbacks and `astream_events`."""

FILTER_CALL = "ContextAssembler(filter={'tenant': tenant})"
QUERY_KEYS = ("question", "input")
"""The keys under which chains pass the user's question, if none is named "query"."""
INPUT_FORMS = "the input must be a list of documents or {'documents': [...], 'query': '...', 'supplement': '...'}"


@raises_config_errors
class ContextAssembler(RunnableSerializable[Any, list[Document]], BaseDocumentTransformer, BaseDocumentCompressor):
    """Assembles documents, best first: `retriever | ContextAssembler(store=...)`.

    >>> from langchain_core.documents import Document
    >>> said = Document("Drink water until two hours before.", id="gastro#0", metadata={"source": "gastro.pdf"})
    >>> [document] = ContextAssembler().invoke([said])
    >>> print(document.page_content)
    [1] Source: gastro.pdf
    Drink water until two hours before.
    >>> document.metadata["citation"]["label"]
    '1'

    **Input**: a list of documents, or a dict with these keys, of which other keys are ignored:

    - `documents`: documents, hits or a `Retrieved`. Required.
    - `query`: the question. Without it, a text under "question" or "input" is used.
    - `supplement`: text or a `Supplement` that is in no document, such as facts from a graph or a database.
    - `conversation`: a `Conversation`, or messages. What the model still sees in them isn't sent again.

    **Output**: one document per label, in order, as `to_documents` returns them; none for no documents. The `str()` of
    the list is the text of the context, as a prompt or `| str` writes it. Inputs are never changed. Each run sends the
    custom event `context_assembled`, with citations and trace as plain dicts. Each stage is a run below it, such as
    `ctxassembly.expand`, whose outputs are counts.

    **Parameters**, by what they are for:

    - Settings: `config`.
    - Neighbors: `store` has them; `filter`, `neighbors` and `transform_fetched` limit which of them may be read.
    - Models, all optional: `embeddings`, `llm`, `scorer`.
    - Conversations: `conversation`.

    **Filters.** The store fetches neighbors past the search that found the documents. So they must pass the filter of
    the call (`invoke(documents, filter=...)`, `bind(filter=...)`, `as_context(filter=...)`), the assembler's `filter`,
    and the `store`'s, whichever are given. In a `ContextAssemblyRetriever` they must also pass the filter of a vector
    store's retriever that is directly inside. Without any filter, a neighbor must equal its hit under all metadata keys
    but those that vary within a document; the first run that leaves some out gives a `FilterNotSeenWarning`, which
    names the keys and the line to write. With one tenant, write `neighbors="unfiltered"`.
    """

    config: Annotated[AssemblyConfig | System, PlainValidator(valid_config)] = Field(default_factory=AssemblyConfig)
    """The settings of the assembly, or a system of its own: one of `ctxassembly.published`, or any object with
    `flow(call)`."""
    store: SkipValidation[Store | AsyncStore | None] = None
    """The store of neighbors: any object with `fetch(refs)` or `afetch(refs)`. None adds no neighbors."""
    filter: Any = None
    """The filter that neighbors must pass, in an `answer_chain` hits too, in the form of the vector store of `store`.
    It may be configurable: `configurable_fields(filter=ConfigurableField(id="filter"))`."""
    neighbors: Neighbors | None = None
    """Replaces `config.neighbors`: "auto", "filtered" (no run without a filter) or "unfiltered" (none is needed)."""
    transform_fetched: Callable[[Sequence[Chunk]], Any] | None = None
    """A function from fetched chunks to those that may be used, called or awaited. Masks belong here, too: steps before
    the assembler don't see neighbors."""
    embeddings: Any = None
    """Required for `dedup="semantic"`: an `Embeddings`, or a function from texts to vectors."""
    llm: Any = None
    """Required for `compress="llm"`: a function from a prompt to an answer, or a Runnable that takes a string. Runs of
    a Runnable are below the assembler's run, and get its config."""
    scorer: Any = None
    """Scores how well sentences answer the query, in addition to its words: an `Embeddings`, a cross-encoder, or a
    function from the query and sentences to scores, called or awaited."""
    conversation: InstanceOf[Conversation] | None = None
    """The conversation of all runs. A conversation in the input of a run takes its place. With
    `Conversation(labels=Labels())` each run takes the next labels; without any it begins with `config.first_label`."""

    is_configurable: bool = Field(default=False, repr=False, exclude=True)
    """Set by `configurable_fields` and `configurable_alternatives`: `as_context()` raises, as it would not follow the
    config of a call."""

    _warnings: WarnOnce = PrivateAttr(default_factory=WarnOnce)
    """Its warnings. Copies share it."""

    model_config = ConfigDict(arbitrary_types_allowed=True, extra="forbid")

    @model_validator(mode="after")
    def _check_settings(self) -> Self:
        self.config = with_neighbors(self.config, self.neighbors)
        settings = self.assembly_settings
        counter_for(settings.encoding)  # a missing vocabulary is an error now
        check_store(self.store)
        check_embeddings(self.embeddings, "an object with embed_documents(texts) or a function")
        if settings.dedup == "semantic" and self.embeddings is None:
            # Documents carry no vectors, so it can't work with any documents.
            raise ConfigError.missing("embeddings", "dedup='semantic'", "embeddings", "dedup='near'")
        check_llm(self.llm, self.config, Runnable, "a Runnable or a function from a prompt to an answer")
        check_scorer(self.scorer)
        self.neighbor_store()
        self._warnings.warn(window_warning(self.llm, settings.token_limit), key="window")
        return self

    @override
    def invoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> list[Document]:
        """Return the assembled documents, one per label.

        Raises:
            InputError: `input` has another form.
        """
        # LangChain's type requires a run manager, which isn't used here, beside the config of child runs.
        return self._call_with_config(cast(Any, self._documents), input, config, **kwargs)

    @override
    async def ainvoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> list[Document]:
        """Async version of `invoke`."""
        return await self._acall_with_config(cast(Any, self._adocuments), input, config, **kwargs)

    def as_context(self, *, config: RunnableConfig | None = None, filter: Any = None) -> Runnable[Any, Context]:
        """Return a runnable with the same inputs that gives the `Context`, whose `str()` is its text.

        For the state of a LangGraph graph, write `as_context() | Context.to_dict`, and restore the context by
        `Context.from_dict(state["context"])`. A `Context` put into the state as it is comes back whole from a
        checkpoint, too, but LangGraph warns once of a type that it doesn't know. A library can't register its types.
        The checkpointer can: `InMemorySaver(serde=JsonPlusSerializer(allowed_msgpack_modules=[Context]))`; under
        LANGGRAPH_STRICT_MSGPACK, so does the annotation `context: Context` of the state.

        `config` holds for its runs; after a `with_config` it is that one's config. Neighbors must pass `filter`, too,
        in the form of the assembler's own.

        Raises:
            ConfigError: the assembler has configurable fields or alternatives: a filter in the config of a call would
                not apply.
        """
        if self.is_configurable:
            raise ConfigError.worded(
                "as_context",
                "as_context() of an assembler with configurable fields would not follow the config of a call: call it "
                "on the assembler itself, and give the filter of a call by as_context().invoke(documents, filter=...)",
            )
        run, arun = partial(self.assemble_context, filter=filter), partial(self.aassemble_context, filter=filter)
        runnable = ContextRunnable(run, arun, name=CONTEXT_RUN)
        return runnable if config is None else runnable.with_config(config)

    def _documents(self, inputs: Any, config: RunnableConfig, filter: Any = None) -> list[Document]:
        return documents_from(self.assemble_context(inputs, config, filter))

    async def _adocuments(self, inputs: Any, config: RunnableConfig, filter: Any = None) -> list[Document]:
        return await run_in_worker(partial(documents_from, await self.aassemble_context(inputs, config, filter)))

    def assemble_context(self, inputs: Any, config: RunnableConfig, filter: Any = None) -> Context:
        """Return the context of `inputs`, in the run of `config`, after issuing its warnings and its event.

        Neighbors pass the `filter` of the call.
        """
        spans = Spans(config)
        llm = text_model(self.llm, lambda: spans.config)
        context = assemble(**self._arguments(inputs, filter), llm=llm, on_stage=spans.on_stage)
        self._issue_warnings(context)
        if has_listeners(config):
            dispatch_custom_event(EVENT, context_event(context), config=config)
        return context

    async def aassemble_context(self, inputs: Any, config: RunnableConfig, filter: Any = None) -> Context:
        """Async version of `assemble_context`."""
        spans = Spans(config)
        llm = async_text_model(self.llm, lambda: spans.config)
        context = await aassemble(**self._arguments(inputs, filter), llm=llm, on_stage=spans.aon_stage)
        self._issue_warnings(context)
        if has_listeners(config):
            event = await run_in_worker(partial(context_event, context))
            await adispatch_custom_event(EVENT, event, config=config)
        return context

    def _issue_warnings(self, context: Context) -> None:
        self._warnings.warn(*neighbor_warnings(context.trace, FILTER_CALL), key=type(self.store))

    def _arguments(self, inputs: Any, filter: Any) -> dict[str, Any]:
        """Return the arguments of `assemble` that its sync and async forms share."""
        return {
            **self._read_inputs(inputs),
            "config": self.config,
            "store": self.neighbor_store(filter),
            "embeddings": self.embeddings,
            "scorer": self.scorer,
            "transform_fetched": self.transform_fetched,
        }

    @property
    def assembly_settings(self) -> AssemblyConfig:
        """The config as settings, also of a system of its own: its keys, filters, language, format and limit."""
        return settings_of(self.config)

    @property
    def settings(self) -> dict[str, Any]:
        """All that its contexts depend on, of the store its class alone: for the key of a cached answer."""
        names = ("config", "transform_fetched", "embeddings", "llm", "scorer")
        return {**{name: getattr(self, name) for name in names}, "store": type(self.store).__name__}

    def neighbor_store(self, filter: Any = None) -> Any:
        """Return the store of neighbors under its own filter, the assembler's, and the `filter` of a call.

        Raises:
            ConfigError: a filter has a form that can't be applied.
        """
        store, vectorstore = (
            with_keys(self.store, self.assembly_settings.keys),
            getattr(self.store, "vectorstore", None),
        )
        return apply_filter(apply_filter(store, self.filter, vectorstore), filter, vectorstore)

    def limited_to(self, search: SearchFilter | None) -> Self:
        """Return this assembler, whose neighbors must pass the filter of `search`, too.

        Raises:
            ConfigError: the filter has a form that can't be applied, and no other filter replaces it.
        """
        store = self.neighbor_store()
        if store is None or search is None:
            return self
        try:
            store = apply_filter(store, search.condition, search.vectorstore)
        except ConfigError:
            if getattr(store, "holds_filter", None) is not True:
                raise
        return self.model_copy(update={"store": store, "filter": None})

    @override
    def configurable_fields(self, **kwargs: AnyConfigurableField) -> RunnableSerializable[Any, list[Document]]:
        return RunnableSerializable.configurable_fields(_as_configurable(self), **kwargs)

    @override
    def configurable_alternatives(
        self, which: ConfigurableField, **kwargs: Any
    ) -> RunnableSerializable[Any, list[Document]]:
        alternatives = {name: _as_configurable(one) for name, one in kwargs.items()}
        return RunnableSerializable.configurable_alternatives(_as_configurable(self), which, **alternatives)

    @override
    def transform_documents(self, documents: Sequence[Document], **kwargs: Any) -> list[Document]:
        """Return the assembled documents; there is no query here."""
        return self.invoke(documents)

    @override
    async def atransform_documents(self, documents: Sequence[Document], **kwargs: Any) -> list[Document]:
        """Async version of `transform_documents`."""
        return await self.ainvoke(documents)

    @override
    def compress_documents(
        self, documents: Sequence[Document], query: str, callbacks: Callbacks = None
    ) -> list[Document]:
        """Return the assembled documents, in a run of their own below `callbacks`."""
        return self.invoke({"documents": documents, "query": query}, {"callbacks": callbacks})

    @override
    async def acompress_documents(
        self, documents: Sequence[Document], query: str, callbacks: Callbacks = None
    ) -> list[Document]:
        """Async version of `compress_documents`."""
        return await self.ainvoke({"documents": documents, "query": query}, {"callbacks": callbacks})

    def _read_inputs(self, inputs: Any) -> dict[str, Any]:
        """Return hits, query and supplement, from either form of input. The engine checks the supplement."""
        documents, query, supplement, conversation = inputs, None, None, self.conversation
        if isinstance(inputs, Mapping):
            if "documents" not in inputs:
                raise InputError(f"{INPUT_FORMS}, got the keys {safe_repr(list(inputs))}")
            documents, query, supplement = inputs["documents"], _query_in(inputs), inputs.get("supplement")
            conversation = read_conversation(inputs.get("conversation")) or conversation
        hits: Sequence[Hit]
        own: SupplementInput
        if isinstance(documents, Retrieved):
            hits, query, own = documents.hits, query or documents.query, supplement_from_retrieval(documents)
        else:
            if not isinstance(documents, (list, tuple)) or not all(
                isinstance(one, (Document, Hit)) for one in documents
            ):
                raise InputError(f"{INPUT_FORMS}, got {safe_repr(documents)}")
            if query is not None and not isinstance(query, str):
                raise InputError(f"the query must be a string, got {safe_repr(query)}")
            hits, own = read_documents(documents, self.assembly_settings.keys)
        supplement = own if supplement is None else supplement
        return {"hits": hits, "query": query, "supplement": supplement, "conversation": conversation}


class ContextRunnable(RunnableLambda[Any, Context]):
    """The runnable that `as_context` returns. Its schema has the type, which LangChain would look for by its name."""

    OutputType = Context


def assembler_inputs(
    hits: Iterable[Any], query: str | None, supplement: Any, conversation: Any = None
) -> dict[str, Any]:
    """Return the input of a `ContextAssembler` for `hits`, or documents."""
    return {"documents": list(hits), "query": query, "supplement": supplement, "conversation": conversation}


def read_conversation(given: Any) -> Conversation | None:
    """Return a conversation from the input of a call: itself, its dict, or the messages of one.

    Raises:
        InputError: it is something else.
    """
    if given is None or isinstance(given, Conversation):
        return given
    if isinstance(given, Mapping) and "next_label" in given:
        return Conversation.from_dict(given)
    return Conversation.from_messages(given)


def _query_in(inputs: Mapping[str, Any]) -> Any:
    """Return the query of an input: the value of "query", else a text under the keys that chains use for it."""
    if inputs.get("query") is not None:
        return inputs["query"]
    return next((inputs[name] for name in QUERY_KEYS if isinstance(inputs.get(name), str)), None)


def _as_configurable(given: Any) -> Any:
    return given.model_copy(update={"is_configurable": True}) if isinstance(given, ContextAssembler) else given
