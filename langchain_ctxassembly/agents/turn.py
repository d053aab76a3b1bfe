"""One turn of an agent: the messages of the tools that were called together, and how they read once assembled."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Any, NamedTuple

from langchain_core.messages import AIMessage, AnyMessage, BaseMessage, HumanMessage, ToolMessage

from ctxassembly.context import Context
from ctxassembly.conversations.messages import given_above, given_earlier
from ctxassembly.data.metadata_keys import MetadataKeys
from langchain_ctxassembly.agents.evidence import Found, found_in

MARK = "ctxassembly"
"""The key in a message's `response_metadata` that says what became of it."""
ASSEMBLED, LEFT_OUT = "assembled", "left out"


class Call(NamedTuple):
    """A tool's message with evidence that isn't assembled yet."""

    place: int
    """Its place among the messages."""
    found: Found
    query: str | None
    """The query that the model gave to the tool."""


class Turn(NamedTuple):
    """The messages of a prompt, the last calls among them answered by tools."""

    messages: Sequence[AnyMessage]
    calls: Sequence[Call]

    @property
    def query(self) -> str | None:
        """The queries of the calls, else the user's question."""
        asked = dict.fromkeys(call.query for call in self.calls if call.query)
        return "\n".join(asked) or last_question(self.messages)

    def others(self, messages: Sequence[AnyMessage]) -> list[AnyMessage]:
        """Those of `messages`, the state's, whose text the calls of this turn don't change."""
        own = {self.messages[call.place].id for call in self.calls}
        return [message for message in messages if message.id not in own]

    def holding(self, context: Context) -> list[AnyMessage]:
        """All messages: the first call's has the whole context, and those of the others say under which labels."""
        messages = list(self.messages)
        first, *others = self.calls
        messages[first.place] = _rewritten(messages[first.place], context.text, ASSEMBLED, context.to_dict())
        for call in others:
            said = given_above(context, call.found.hits)
            messages[call.place] = _rewritten(messages[call.place], said, ASSEMBLED, None)
        return messages

    def emptied(self) -> list[AnyMessage]:
        """All messages, those of the calls without text."""
        places = {call.place for call in self.calls}
        return [
            message.model_copy(update={"content": ""}) if place in places else message
            for place, message in enumerate(self.messages)
        ]

    def lighter(self) -> Iterator[Turn]:
        """The same turn with one more of the earlier contexts left out each time, the oldest first.

        What a tool's message carries stays, so that labels in earlier answers still resolve.
        """
        messages = list(self.messages)
        for place, message in enumerate(messages):
            if isinstance(message, ToolMessage) and _mark(message) == ASSEMBLED and message.artifact is not None:
                messages[place] = _rewritten(
                    message, given_earlier(Context.from_dict(message.artifact)), LEFT_OUT, message.artifact
                )
                yield Turn(tuple(messages), self.calls)


def turn_of(messages: Sequence[AnyMessage], tools: Collection[str] | None, keys: MetadataKeys) -> Turn:
    """The turn that ends `messages`; it has no calls if the last ones found nothing to assemble.

    Messages of errors, of tools not among `tools` (None stands for all), and without documents or a context are none of
    its calls. Nor are those in blocks, such as search results that a model cites by itself.
    """
    begins = next((at for at in range(len(messages), 0, -1) if isinstance(messages[at - 1], AIMessage)), 0)
    asked = {call["id"]: call["args"] for call in getattr(messages[begins - 1], "tool_calls", [])} if begins else {}
    calls = []
    for place, message in enumerate(messages[begins:], begins):
        if not isinstance(message, ToolMessage) or message.status == "error" or _mark(message) is not None:
            continue
        if (tools is not None and message.name not in tools) or not isinstance(message.content, str):
            continue
        found = found_in(message.artifact, keys)
        if found is not None and (found.hits or found.supplement):
            calls.append(Call(place, found, _query(asked.get(message.tool_call_id))))
    return Turn(messages, calls)


def last_question(messages: Sequence[AnyMessage]) -> str | None:
    """The text of the last message of a user; None if there is none."""
    return next((str(message.text) for message in reversed(messages) if isinstance(message, HumanMessage)), None)


def changed(before: Sequence[AnyMessage], after: Sequence[AnyMessage]) -> list[AnyMessage]:
    """Those of `after` that aren't the same objects as `before`."""
    return [new for old, new in zip(before, after, strict=True) if old is not new]


def _mark(message: BaseMessage) -> Any:
    return message.response_metadata.get(MARK)


def _rewritten(message: AnyMessage, text: str, mark: str, artifact: Any) -> AnyMessage:
    metadata = {**message.response_metadata, MARK: mark}
    return message.model_copy(update={"content": text, "artifact": artifact, "response_metadata": metadata})


def _query(arguments: Any) -> str | None:
    """The query among a tool's arguments: that of this name, else the only text."""
    if not isinstance(arguments, dict):
        return None
    texts = [value for value in arguments.values() if isinstance(value, str)]
    query = arguments.get("query")
    return query if isinstance(query, str) else texts[0] if len(texts) == 1 else None
