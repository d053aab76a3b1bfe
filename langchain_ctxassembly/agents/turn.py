"""Evidence that tools and nodes pass on, read as hits, and one turn of an agent that called several tools.

Evidence is documents, hits or a context, or a list of these for each search. A turn has the messages of the tools that
were called together, and how they read once their evidence is assembled.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from langchain_core.documents import Document
from langchain_core.messages import AIMessage, AnyMessage, BaseMessage, HumanMessage, ToolMessage

from ctxassembly.adapters.metadata import with_notes
from ctxassembly.answering.search import Ranking, reciprocal_rank_fusion
from ctxassembly.context import Context
from ctxassembly.conversations.left_out import TOOL_NAME
from ctxassembly.conversations.messages import dropped_sources_note, rehydrate_hits, see_above_note
from ctxassembly.conversations.sent import check_room_for_labels, check_tools, merge_citations, warn_unread
from ctxassembly.conversations.sources import get_field, is_context, is_own_result, iter_contexts
from ctxassembly.data.chunks import Hit
from ctxassembly.data.metadata_keys import MetadataKeys
from ctxassembly.errors import InputError
from ctxassembly.safe_repr import describe_error, safe_repr
from langchain_ctxassembly.convert.documents import read_documents


class SearchEvidence(NamedTuple):
    """The evidence of one search, best first."""

    hits: Sequence[Hit]
    supplement: str | None = None
    """Text that no chunk holds, without its separator."""
    left_out: Sequence[str] = ()
    """The chunks that an earlier assembly left out, a line each."""
    context: Context | None = None
    """The context that has the hits, if they were assembled already."""


def evidence_from(value: Any, keys: MetadataKeys) -> SearchEvidence | None:
    """Return the evidence in the artifact of a tool, or in a key of a graph's state; None if `value` is something else.

    `value` is a list of documents or hits, a `Context`, or the dict of one; documents may be dicts, as in a checkpoint.
    An empty list is no evidence. Documents of an assembler of ours give back the chunks that they were made of.
    """
    if is_context(value):
        return _evidence_of_context(Context.from_dict(value))
    if not isinstance(value, (list, tuple)) or not value:
        return None
    if all(isinstance(one, Hit) for one in value):
        return SearchEvidence(value)
    documents = [document for one in value if (document := _to_document(one)) is not None]
    if len(documents) < len(value):
        return None
    return SearchEvidence(*read_documents(documents, keys))


def all_evidence_from(value: Any, keys: MetadataKeys) -> list[SearchEvidence]:
    """Return the evidence in a graph's state: of one search, or of several as a list of what each found. None is none.

    Raises:
        InputError: `value` is something else.
    """
    if (one := evidence_from(value, keys)) is not None:
        return [one]
    searches = value if isinstance(value, (list, tuple)) else [] if value is None else [value]
    found = [(search, evidence_from(search, keys)) for search in searches if search not in ([], ())]
    for search, evidence in found:
        if evidence is None:
            forms = "documents, hits or a context, or a list of these for each search"
            raise InputError(f"what was found must be {forms}, got {safe_repr(search)}")
    return [evidence for _, evidence in found if evidence is not None]


def merge_evidence(searches: Sequence[SearchEvidence]) -> SearchEvidence:
    """Return the evidence of several searches as one, fused by rank, since their scores have no common scale."""
    if not searches:
        return SearchEvidence(())
    hits = reciprocal_rank_fusion([Ranking("", search.hits, 1.0) for search in searches], None)
    supplements = dict.fromkeys(search.supplement for search in searches if search.supplement)
    return SearchEvidence(
        hits, "\n\n".join(supplements) or None, [line for search in searches for line in search.left_out]
    )


def contexts_in(messages: Iterable[Any], tools: Collection[str] = ()) -> list[Context]:
    """Return the contexts that the tool messages in `messages` carry, in order, with text, citations and trace.

    `tools` are the names of the tools whose results are contexts: after a checkpoint nothing else tells them from those
    of other tools.

    >>> from langchain_core.messages import ToolMessage
    >>> from ctxassembly import Chunk, assemble
    >>> context = assemble([Hit(Chunk("gastro#0", "gastro", "Drink water."))])
    >>> message = ToolMessage(context.text, artifact=context.to_dict(), tool_call_id="1")
    >>> [found.trace.summary for found in contexts_in([message])] == [context.trace.summary]
    True
    """
    return list(iter_contexts(list(messages), check_tools(tools)))


def _to_document(value: Any) -> Document | None:
    if isinstance(value, Mapping) and isinstance(value.get("page_content"), str):
        return Document(id=value.get("id"), page_content=value["page_content"], metadata=value.get("metadata") or {})
    return value if isinstance(value, Document) else None


def _evidence_of_context(context: Context) -> SearchEvidence:
    left_out = [
        f"{decision.chunk_id} was left out by the tool's own assembly: {decision.reason}"
        for decision in context.trace.decisions
        if not decision.is_in_context
    ]
    supplement = context.supplement.partition("\n")[2].strip() or None
    return SearchEvidence(rehydrate_hits(context), supplement, left_out, context)


STATUS_KEY = "ctxassembly"
"""The key in a message's `response_metadata` that says what became of it."""
ASSEMBLED, LEFT_OUT = "assembled", "left out"
"""The message has a context; or its context had to make room for others, so that the model no longer reads it."""


def status_of(message: BaseMessage) -> Any:
    """Return what became of a tool's message: `ASSEMBLED`, `LEFT_OUT`, or None if it is as the tool wrote it."""
    return message.response_metadata.get(STATUS_KEY)


class PendingCall(NamedTuple):
    """A tool's message with evidence that isn't assembled yet."""

    message_index: int
    """Its place among the messages."""
    evidence: SearchEvidence
    query: str | None
    """The query that the model gave to the tool; empty if it asked a `left_out_tool` for a place."""


class Turn(NamedTuple):
    """The messages of a prompt, the last calls among them answered by tools."""

    messages: Sequence[AnyMessage]
    calls: Sequence[PendingCall]
    tools: Collection[str]
    """The names of the tools whose results are read."""

    @property
    def query(self) -> str | None:
        """The queries of the calls, else the user's question; None if every call asked for a place."""
        if all(call.query == "" for call in self.calls):
            return None
        queries = dict.fromkeys(call.query for call in self.calls if call.query)
        return "\n".join(queries) or last_question(self.messages)

    @property
    def earlier_messages(self) -> list[AnyMessage]:
        """The messages whose text stays as it is."""
        indexes = {call.message_index for call in self.calls}
        return [message for index, message in enumerate(self.messages) if index not in indexes]

    @property
    def context_indexes(self) -> list[int]:
        """The places of the messages that have an earlier context."""
        return [
            index
            for index, message in enumerate(self.messages)
            if status_of(message) == ASSEMBLED
            and is_own_result(message, self.tools)
            and is_context(get_field(message, "artifact"))
        ]

    def without_text(self) -> list[AnyMessage]:
        """Return all messages, with empty text in the messages of the calls."""
        messages = list(self.messages)
        for index in (call.message_index for call in self.calls):
            messages[index] = messages[index].model_copy(update={"content": ""})
        return messages

    def with_context(self, context: Context) -> list[AnyMessage]:
        """Return all messages: the first call's message has the context, each other call's message names its labels."""
        messages = list(self.messages)
        for call in self.calls:
            text, artifact = see_above_note(context, call.evidence.hits), None
            if call is self.calls[0]:
                text, artifact = context.text, context.to_dict()
            messages[call.message_index] = _rewrite(messages[call.message_index], text, ASSEMBLED, artifact)
        return messages

    def without_contexts(self) -> Turn:
        """Return this turn with a note in place of each earlier context.

        What a tool's message carries stays, so that labels in earlier answers still resolve; its trace says what left.
        """
        messages = list(self.messages)
        for index in self.context_indexes:
            for context in iter_contexts(messages[index], self.tools):
                noted = with_notes(context, [f"budget: gave way, {context.token_count:,} tokens left out from here on"])
                messages[index] = _rewrite(messages[index], dropped_sources_note(context), LEFT_OUT, noted.to_dict())
        return self._replace(messages=messages)


def turn_of(messages: Sequence[AnyMessage], tools: Collection[str], keys: MetadataKeys) -> Turn:
    """Return the turn that ends `messages`; it has no calls if the last ones found nothing to assemble.

    Messages of errors, of tools not among `tools`, and without documents or a context are none of its calls. Nor are
    those in blocks, such as search results that a model cites by itself. One that can't be read is skipped with a
    warning.
    """
    start = next((at for at in reversed(range(len(messages))) if isinstance(messages[at], AIMessage)), -1)
    asked = messages[start].tool_calls if start >= 0 else []  # type: ignore[union-attr]
    arguments_by_id = {call["id"]: call["args"] for call in asked}
    calls = []
    for index, message in enumerate(messages[start + 1 :], start + 1):
        if not isinstance(message, ToolMessage) or message.status == "error" or status_of(message) is not None:
            continue
        if not isinstance(message.content, str) or not is_own_result(message, tools):
            continue
        evidence = _evidence_of_message(message, keys)
        if evidence is not None and (evidence.hits or evidence.supplement):
            query = _query_in(arguments_by_id.get(message.tool_call_id, {}), asks_left_out=message.name == TOOL_NAME)
            calls.append(PendingCall(index, evidence, query))
    return Turn(messages, calls, tools)


def _evidence_of_message(message: ToolMessage, keys: MetadataKeys) -> SearchEvidence | None:
    try:
        evidence = evidence_from(message.artifact, keys)
        if evidence is not None and evidence.context is not None:
            check_room_for_labels(one.label for one in merge_citations(evidence.context.citations))
    except Exception as error:  # noqa: BLE001 - broken data can raise anything, and no message may end a thread
        warn_unread(describe_error(error))
        return None
    return evidence


def last_question(messages: Sequence[AnyMessage]) -> str | None:
    """Return the text of the last message of a user; None if there is none."""
    return next((str(message.text) for message in reversed(messages) if isinstance(message, HumanMessage)), None)


def _rewrite(message: AnyMessage, text: str, status: str, artifact: Any) -> AnyMessage:
    metadata = {**message.response_metadata, STATUS_KEY: status}
    return message.model_copy(update={"content": text, "artifact": artifact, "response_metadata": metadata})


def _query_in(arguments: Mapping[str, Any], *, asks_left_out: bool) -> str | None:
    """Return the query among a tool's arguments: the argument "query", which may be any JSON, else the only text."""
    if asks_left_out:
        return str(arguments.get("words") or "")
    texts = [value for value in arguments.values() if isinstance(value, str)]
    if arguments.get("query") is not None:
        return str(arguments["query"])
    return texts[0] if len(texts) == 1 else None
