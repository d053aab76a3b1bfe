"""One run of an answer engine: what it searches and assembles by, its steps as spans, its answer as a stream.

A `ContextRetriever` brings its postprocessor along; any other retriever gets one.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Generator, Sequence
from contextlib import aclosing, closing
from functools import partial
from itertools import chain
from types import NoneType
from typing import Any

from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.base.llms.types import ChatMessage, MessageRole
from llama_index.core.indices.vector_store.retrievers import VectorIndexRetriever
from llama_index.core.schema import NodeWithScore
from llama_index.core.vector_stores.types import MetadataFilters

from ctxassembly.adapters.metadata import (
    HistoryMessage,
    answer_metadata,
    answer_payload,
    retriever_result,
    to_exchanges,
)
from ctxassembly.answering.answer import Answer, AnswerPiece
from ctxassembly.answering.requests import AnswerCall, AskModel, Assemble, Compute, Exchange, Search, SearchAll
from ctxassembly.concurrency import run_in_worker
from ctxassembly.context import Context
from ctxassembly.conversations.conversation import Conversation
from ctxassembly.conversations.sources import MESSAGE_KEY
from ctxassembly.data.retrieval import Retrieved
from ctxassembly.errors import ConfigError, InputError
from ctxassembly.runtime.answer_run import AnswerRun, ChainParts
from ctxassembly.runtime.driver import Port
from ctxassembly.runtime.evidence import Evidence, asearch_index, filters_of, search_index
from ctxassembly.safe_repr import safe_repr
from llamaindex_ctxassembly.context_retriever import ContextRetriever, configure_retriever
from llamaindex_ctxassembly.events import QuestionAnsweredEvent, dispatcher, has_listeners, on_stage
from llamaindex_ctxassembly.filters import filter_chunks
from llamaindex_ctxassembly.models import check_kind
from llamaindex_ctxassembly.nodes import labeled_nodes, media_notes, read_nodes
from llamaindex_ctxassembly.postprocessor import ContextAssemblyPostprocessor, nodes_of


def messages_of(history: Any) -> list[ChatMessage]:
    """Return the messages in a chat history.

    Raises:
        InputError: `history` is not a list of ChatMessage.
    """
    messages = [] if history is None else history
    if not isinstance(messages, (list, tuple)) or not all(isinstance(one, ChatMessage) for one in messages):
        raise InputError(f"chat_history must be a list of ChatMessage, got {safe_repr(history)}")
    return list(messages)


def conversation_of(messages: Sequence[ChatMessage]) -> Conversation:
    """Return the conversation that the answers in `messages` carry."""
    return Conversation.from_messages([message for message in messages if MESSAGE_KEY in message.additional_kwargs])


def exchanges_of(messages: Sequence[ChatMessage]) -> tuple[Exchange, ...]:
    """Return the answered questions in `messages`, without messages of the system and of tools."""
    return to_exchanges(
        HistoryMessage(one.role == MessageRole.USER, one.content or "", one.additional_kwargs.get(MESSAGE_KEY))
        for one in messages
        if one.role in (MessageRole.USER, MessageRole.ASSISTANT)
    )


def postprocessor_of(
    retriever: BaseRetriever, postprocessor: ContextAssemblyPostprocessor | None
) -> ContextAssemblyPostprocessor:
    """Return the postprocessor for what `retriever` finds: its own, the given one, or one with the default settings.

    Raises:
        ConfigError: `retriever` is not a retriever, a postprocessor is given for a retriever that has one, or it has a
            conversation.
    """
    check_kind("retriever", retriever, BaseRetriever, "a LlamaIndex retriever")
    own = postprocessor or ContextAssemblyPostprocessor()
    if isinstance(retriever, ContextRetriever):
        if postprocessor is not None:
            raise ConfigError("postprocessor", "None with a ContextRetriever, which has one", postprocessor)
        own = retriever.postprocessor
    if not isinstance(own.conversation, (Conversation, NoneType)):
        allowed = "a Conversation or None in an answer engine, whose contexts no memory keeps"
        raise ConfigError("postprocessor.conversation", allowed, own.conversation)
    return own


def filtered_postprocessor(
    retriever: BaseRetriever, postprocessor: ContextAssemblyPostprocessor, filters: Any
) -> ContextAssemblyPostprocessor:
    """Return the postprocessor for a call: neighbors must pass both the retriever's own filters and the call's."""
    if isinstance(retriever, ContextRetriever):
        return retriever.filtered_postprocessor(filters)
    return postprocessor.with_filter(_told_filters(retriever)).with_filter(filters)


def evidence_of(
    retriever: BaseRetriever,
    postprocessor: ContextAssemblyPostprocessor,
    question: str,
    keep: Callable[[Context], Context],
) -> Evidence:
    """Return what searches and assembles for a call with `question`; `keep` gets each context."""
    for_call = partial(filtered_postprocessor, retriever, postprocessor)

    def arguments(used: ContextAssemblyPostprocessor, request: Assemble) -> dict[str, Any]:
        given = used.arguments(request.hits, request.query, request.supplement, request.conversation)
        return {**given, "config": request.limit_config(given["config"])}

    def assemble(request: Assemble) -> Context:
        used = for_call(request.filter)
        return keep(used.assemble(arguments(used, request)))

    async def aassemble(request: Assemble) -> Context:
        used = for_call(request.filter)
        return await run_in_worker(partial(keep, await used.aassemble(arguments(used, request))))

    own = retriever if isinstance(retriever, ContextRetriever) else None

    def depends_on() -> tuple[dict[str, Any], tuple[Any, ...]]:
        own_filter = postprocessor.call_filter(question)
        if own:
            settings = {"retrieval": {**own.search_arguments, "index": None}, **postprocessor.settings}
            return settings, (own_filter, filters_of(own.search_arguments["index"]))
        # Any other one counts by its class and its number of nodes.
        search = {"retriever": retriever, "similarity_top_k": getattr(retriever, "similarity_top_k", None)}
        return {**search, **postprocessor.settings}, (_told_filters(retriever), own_filter)

    return Evidence(
        _context_search_port(own) if own else _search_port(retriever, postprocessor),
        Port(assemble, aassemble),
        postprocessor.assembly_settings,
        depends_on,
        own.call_filters if own else None,
    )


def _context_search_port(retriever: ContextRetriever) -> Port:
    """Return the search of a `ContextRetriever`, which takes modes, filters, intents and boosts."""

    def search(request: Search) -> Retrieved:
        return search_index(request, **retriever.search_arguments, on_stage=on_stage())

    async def asearch(request: Search) -> Retrieved:
        return await asearch_index(request, **retriever.search_arguments, on_stage=on_stage())

    return Port(search, asearch)


def _search_port(retriever: BaseRetriever, postprocessor: ContextAssemblyPostprocessor) -> Port:
    """Return the search of any other retriever: it takes a query, and a vector index's also a number and filters.

    Rerankers, similarity thresholds, boosts and keyword search are up to the retriever.
    """

    def configured(request: Search) -> BaseRetriever:
        limit = request.mode.limit
        if limit is not None:
            limit = max(limit, getattr(retriever, "_similarity_top_k", None) or 0)
        return configure_retriever("retriever", retriever, limit, request.question.filter)

    def read(request: Search, nodes: Sequence[NodeWithScore]) -> Retrieved:
        hits, supplement = read_nodes(nodes, postprocessor.assembly_settings.keys)
        filters = postprocessor.call_filter(request.question.text)
        allowed = [hit for hit in hits if filter_chunks(filters, [hit.chunk])]
        facts = () if supplement is None else (supplement,)
        return retriever_result(request, allowed, retriever, media_notes(nodes), facts)

    def search(request: Search) -> Retrieved:
        return read(request, configured(request).retrieve(request.question.effective_query))

    async def asearch(request: Search) -> Retrieved:
        return read(request, await configured(request).aretrieve(request.question.effective_query))

    return Port(search, asearch)


def _told_filters(retriever: BaseRetriever) -> MetadataFilters | None:
    """Return the retriever's own filters, if it is known to do nothing else."""
    return retriever._filters if type(retriever) is VectorIndexRetriever else None  # noqa: SLF001


class EngineRun(AnswerRun):
    """One question to an engine, and the nodes and the metadata of its response."""

    def __init__(
        self, parts: ChainParts, retriever: BaseRetriever, postprocessor: ContextAssemblyPostprocessor, call: AnswerCall
    ) -> None:
        """Prepare the run of `call`."""
        self._shown: Context | None = None
        self.nodes: list[NodeWithScore] = []
        """One node per label, once the model is asked, or once an answer is read from the cache."""
        self.metadata: dict[str, Any] = {}
        """The metadata of the response, once there is an answer."""
        super().__init__(parts, evidence_of(retriever, postprocessor, call.question, self._show), call, _in_spans)
        self._flow = self._finished(self._flow)

    def pieces(self) -> Generator[str, None, None]:
        """Return the pieces of the answer.

        The chain runs up to the first piece here: an error before it is raised in this call, not to the reader.
        """
        events = self.events()
        first = next(events)

        def rest() -> Generator[str, None, None]:
            with closing(events):
                for event in chain((first,), events):
                    if isinstance(event, AnswerPiece):
                        yield event.text

        return rest()

    async def apieces(self) -> AsyncGenerator[str, None]:
        """Async version of `pieces`."""
        events = self.aevents()
        first = await anext(events)

        async def rest() -> AsyncGenerator[str, None]:
            async with aclosing(events):
                if isinstance(first, AnswerPiece):
                    yield first.text
                async for event in events:
                    if isinstance(event, AnswerPiece):
                        yield event.text

        return rest()

    def exchange(self) -> list[ChatMessage]:
        """Return the question and its answer as messages for the history."""
        answer = self.metadata["result"]
        return [ChatMessage(content=answer.question, role=MessageRole.USER), self.message(answer)]

    def message(self, answer: Answer) -> ChatMessage:
        """Return the message of `answer` for the history, with the chunks that it cites."""
        extra = {MESSAGE_KEY: answer_payload(answer)}
        return ChatMessage(content=answer.text, role=MessageRole.ASSISTANT, additional_kwargs=extra)

    def _show(self, context: Context) -> Context:
        self._shown, self.nodes[:] = context, nodes_of(context)
        return context

    def _finished(self, flow: Generator[Any, Any, Answer]) -> Generator[Any, Any, Answer]:
        """Return `flow`, which sets nodes and metadata before it returns its answer."""
        answer = yield from flow
        yield Compute(partial(self._finish, answer))
        return answer

    def _finish(self, answer: Answer) -> None:
        """Set the metadata of the response, and its nodes: of the context that the answer is from."""
        if answer.context not in (None, self._shown):  # an earlier one, or from the cache
            self.nodes[:] = labeled_nodes(answer.context)
        self.metadata.update({**answer_metadata(answer), "result": answer})
        if has_listeners():
            dispatcher.event(QuestionAnsweredEvent(question=answer.question, trace=self.metadata["trace"]))


def _in_spans(ports: dict[type, Port]) -> dict[type, Port]:
    """Return `ports` with a span around each step. The span of a streamed answer covers its beginning."""
    steps: dict[type, Callable[[Any], str]] = {
        AskModel: lambda request: request.purpose,
        SearchAll: lambda _: "retrieve",
        Assemble: lambda _: "assemble",
    }
    return ports | {kind: _in_span(name_of, ports[kind]) for kind, name_of in steps.items()}


def _in_span(name_of: Callable[[Any], str], port: Port) -> Port:
    """Return `port` with each call in a span, which `name_of` names."""

    def call(request: Any) -> Any:
        def step(request: Any) -> Any:
            return port.call(request)

        return _traced(step, name_of(request))(request)

    async def acall(request: Any) -> Any:
        async def step(request: Any) -> Any:
            return await port.acall(request)

        return await _traced(step, name_of(request))(request)

    return Port(call, acall)


def _traced(step: Any, name: str) -> Any:
    step.__name__ = step.__qualname__ = name
    return dispatcher.span(step)
