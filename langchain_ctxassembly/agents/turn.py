"""One turn of an agent: the messages of the tools that were called together, and how they read once assembled."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Any, NamedTuple

from langchain_core.messages import AIMessage, AnyMessage, BaseMessage, HumanMessage, ToolMessage

from ctxassembly.context import Context
from ctxassembly.conversations.messages import dropped_sources_note, see_above_note
from ctxassembly.data.metadata_keys import MetadataKeys
from langchain_ctxassembly.agents.evidence import SearchEvidence, evidence_from

STATUS_KEY = "ctxassembly"
"""The key in a message's `response_metadata` that says what became of it."""
ASSEMBLED, LEFT_OUT = "assembled", "left out"


class PendingCall(NamedTuple):
    """A tool's message with evidence that isn't assembled yet."""

    message_index: int
    """Its place among the messages."""
    evidence: SearchEvidence
    query: str | None
    """The query that the model gave to the tool."""


class Turn(NamedTuple):
    """The messages of a prompt, the last calls among them answered by tools."""

    messages: Sequence[AnyMessage]
    calls: Sequence[PendingCall]

    @property
    def query(self) -> str | None:
        """The queries of the calls, else the user's question."""
        queries = dict.fromkeys(call.query for call in self.calls if call.query)
        return "\n".join(queries) or last_question(self.messages)

    def other_messages(self, messages: Sequence[AnyMessage]) -> list[AnyMessage]:
        """Return the messages of the state, `messages`, whose text the calls of this turn don't change."""
        own = {self.messages[call.message_index].id for call in self.calls}
        return [message for message in messages if message.id not in own]

    def with_context(self, context: Context) -> list[AnyMessage]:
        """Return all messages: the first call's message has the context, each other call's message names its labels."""
        messages = list(self.messages)
        first, *others = self.calls
        messages[first.message_index] = _rewrite(
            messages[first.message_index], context.text, ASSEMBLED, context.to_dict()
        )
        for call in others:
            note = see_above_note(context, call.evidence.hits)
            messages[call.message_index] = _rewrite(messages[call.message_index], note, ASSEMBLED, None)
        return messages

    def without_text(self) -> list[AnyMessage]:
        """Return all messages, with empty text in the messages of the calls."""
        indexes = {call.message_index for call in self.calls}
        return [
            message.model_copy(update={"content": ""}) if index in indexes else message
            for index, message in enumerate(self.messages)
        ]

    def shrunk(self) -> Iterator[Turn]:
        """Yield this turn with one more of the earlier contexts left out each time, the oldest first.

        What a tool's message carries stays, so that labels in earlier answers still resolve.
        """
        messages = list(self.messages)
        for index, message in enumerate(messages):
            if isinstance(message, ToolMessage) and _status(message) == ASSEMBLED and message.artifact is not None:
                messages[index] = _rewrite(
                    message, dropped_sources_note(Context.from_dict(message.artifact)), LEFT_OUT, message.artifact
                )
                yield Turn(tuple(messages), self.calls)


def turn_of(messages: Sequence[AnyMessage], tools: Collection[str] | None, keys: MetadataKeys) -> Turn:
    """Return the turn that ends `messages`; it has no calls if the last ones found nothing to assemble.

    Messages of errors, of tools not among `tools` (None means all), and without documents or a context are none of
    its calls. Nor are those in blocks, such as search results that a model cites by itself.
    """
    first_index = next((at for at in range(len(messages), 0, -1) if isinstance(messages[at - 1], AIMessage)), 0)
    arguments_by_id = (
        {call["id"]: call["args"] for call in getattr(messages[first_index - 1], "tool_calls", [])}
        if first_index
        else {}
    )
    calls = []
    for index, message in enumerate(messages[first_index:], first_index):
        if not isinstance(message, ToolMessage) or message.status == "error" or _status(message) is not None:
            continue
        if (tools is not None and message.name not in tools) or not isinstance(message.content, str):
            continue
        evidence = evidence_from(message.artifact, keys)
        if evidence is not None and (evidence.hits or evidence.supplement):
            calls.append(PendingCall(index, evidence, _query_argument(arguments_by_id.get(message.tool_call_id))))
    return Turn(messages, calls)


def last_question(messages: Sequence[AnyMessage]) -> str | None:
    """Return the text of the last message of a user; None if there is none."""
    return next((str(message.text) for message in reversed(messages) if isinstance(message, HumanMessage)), None)


def changed_messages(before: Sequence[AnyMessage], after: Sequence[AnyMessage]) -> list[AnyMessage]:
    """Return the messages of `after` that aren't the same objects as in `before`."""
    return [new for old, new in zip(before, after, strict=True) if old is not new]


def _status(message: BaseMessage) -> Any:
    return message.response_metadata.get(STATUS_KEY)


def _rewrite(message: AnyMessage, text: str, status: str, artifact: Any) -> AnyMessage:
    metadata = {**message.response_metadata, STATUS_KEY: status}
    return message.model_copy(update={"content": text, "artifact": artifact, "response_metadata": metadata})


def _query_argument(arguments: Any) -> str | None:
    """Return the query among a tool's arguments: the argument named "query", else the only text."""
    if not isinstance(arguments, dict):
        return None
    texts = [value for value in arguments.values() if isinstance(value, str)]
    query = arguments.get("query")
    return query if isinstance(query, str) else texts[0] if len(texts) == 1 else None
