"""`MemoryConversation`: the conversation in a LlamaIndex memory, for the tools of an agent.

An agent keeps the text of its tools' outputs in its memory and nothing else of them, and only once its run is over. So
the contexts are kept here, and at each call the memory says which of their text the model still sees. A context of the
present run is in no memory yet: it counts as seen as long as the memory ends with the message that began the run.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, Union

from llama_index.core.base.llms.types import ChatMessage
from llama_index.core.memory import BaseMemory

from ctxassembly.concurrency import lock
from ctxassembly.context import Context
from ctxassembly.conversations.conversation import Conversation
from ctxassembly.conversations.labels import Labels
from ctxassembly.errors import ConfigError

ConversationArgument = Union[
    "MemoryConversation", Conversation, "Callable[[], MemoryConversation | Conversation | None]", None
]
"""The `conversation` of a postprocessor: one conversation, or a function that returns the current one."""


_Run = tuple[int, ChatMessage]
"""What tells one run of an agent from others: the number of messages before it, and the last one, its question."""


def _run_of(messages: Sequence[ChatMessage]) -> _Run | None:
    return (len(messages), messages[-1]) if messages else None  # an agent puts the question there first


@dataclass
class ConversationTurn:
    """The conversation for one context, which is recorded once it is assembled."""

    conversation: Conversation | None
    contexts: list[Context] = field(default_factory=list)


class LabeledConversation(NamedTuple):
    """A conversation to which nothing is added, whose contexts take their new labels from `labels`."""

    conversation: Conversation
    labels: Labels


@contextmanager
def _labeled_turn(given: LabeledConversation, max_labels: int) -> Iterator[ConversationTurn]:
    """Yield a turn with reserved labels; the unused ones are released afterwards."""
    end = first = given.labels.reserve(max_labels)
    turn = ConversationTurn(replace(given.conversation, next_label=first))
    try:
        yield turn
        end = max([end, *(int(one.label) + 1 for context in turn.contexts for one in context.citations)])
    finally:
        given.labels.release(end, first + max_labels)


class MemoryConversation:
    """One conversation of an agent: text that `memory` still holds isn't sent again, and documents keep their labels.

    Give it to the postprocessors of all tools of the agent, and run the agent with the same memory. What the memory
    has trimmed is sent again when it is found again. A memory that was reset needs a new one.

    >>> from llama_index.core.base.llms.types import ChatMessage
    >>> from llama_index.core.memory import ChatMemoryBuffer
    >>> from llama_index.core.schema import NodeWithScore, TextNode
    >>> from llamaindex_ctxassembly import ContextAssemblyPostprocessor
    >>> memory = ChatMemoryBuffer.from_defaults(token_limit=1_000)
    >>> postprocessor = ContextAssemblyPostprocessor(conversation=MemoryConversation(memory))
    >>> said = ("Drink water until two hours before it.", "You may not drive that day.")
    >>> found = [NodeWithScore(node=TextNode(text=text, metadata={"file_name": f"{text[:5]}.pdf"})) for text in said]
    >>> first = postprocessor.context(found[:1])
    >>> memory.put(ChatMessage(role="tool", content=first.text))
    >>> print(postprocessor.context(found))
    [2] Source: You m.pdf
    You may not drive that day.

    `conversation` is its value, plain data: `MemoryConversation(memory, Conversation.from_dict(saved))` continues it in
    another process, and `MemoryConversation(copied_memory, other.conversation)` in a branch. Tools that run at the same
    time get different labels, maybe with a gap, and don't see what the others find.

    Args:
        memory: the memory of the agent.
        conversation: the contexts that were sent before.

    Raises:
        ConfigError: an argument has the wrong type.
    """

    def __init__(self, memory: BaseMemory, conversation: Conversation | None = None) -> None:
        if not isinstance(memory, BaseMemory):
            raise ConfigError("memory", "a LlamaIndex memory", memory)
        if not (conversation is None or isinstance(conversation, Conversation)):
            raise ConfigError("conversation", "a Conversation or None", conversation)
        self._memory = memory
        self._sent = conversation or Conversation()
        self._labels = Labels(self._sent.next_label)
        self._in_flight: list[tuple[_Run, str]] = []
        self._lock = lock()

    @property
    def conversation(self) -> Conversation:
        """All contexts so far, whether the memory still holds their text or not."""
        return replace(self._sent, next_label=self._labels.next)

    @contextmanager
    def turn(self, max_labels: int) -> Iterator[ConversationTurn]:
        """Yield the conversation for a context of at most `max_labels` new labels."""
        with self._record(_run_of(self._memory.get_all()), self._memory.get(), max_labels) as turn:
            yield turn

    @asynccontextmanager
    async def aturn(self, max_labels: int) -> AsyncIterator[ConversationTurn]:
        """Async version of `turn`."""
        with self._record(_run_of(await self._memory.aget_all()), await self._memory.aget(), max_labels) as turn:
            yield turn

    @contextmanager
    def _record(self, run: _Run | None, messages: Sequence[ChatMessage], max_labels: int) -> Iterator[ConversationTurn]:
        with self._lock:
            self._in_flight = [(other, text) for other, text in self._in_flight if other == run]
            seen = self._sent.seen_in([*messages, *(text for _, text in self._in_flight)])
        with _labeled_turn(LabeledConversation(seen, self._labels), max_labels) as turn:
            yield turn
            with self._lock:
                for context in turn.contexts:
                    self._sent = self._sent.after(context)
                    self._in_flight += [] if run is None else [(run, context.text)]

    def __deepcopy__(self, memo: dict[int, Any]) -> MemoryConversation:
        return self  # the copy of a postprocessor takes part in the same conversation


KnownConversation = MemoryConversation | LabeledConversation | Conversation | None


def check_conversation(given: object) -> None:
    """Check the `conversation` of a postprocessor.

    Raises:
        ConfigError: `given` is neither a conversation, nor a function, nor None.
    """
    if isinstance(given, type) or not (
        given is None or isinstance(given, (MemoryConversation, Conversation)) or callable(given)
    ):
        allowed = "a MemoryConversation(memory), a Conversation, or a function without arguments that returns one"
        raise ConfigError("conversation", allowed, given)


def resolve_conversation(given: ConversationArgument) -> KnownConversation:
    """Return the conversation for one call: `given`, or the result of calling it.

    Raises:
        ConfigError: the function returned something else than a conversation or None.
    """
    found = given() if callable(given) else given
    if not (found is None or isinstance(found, (MemoryConversation, Conversation))):
        raise ConfigError("what conversation() returns", "a MemoryConversation, a Conversation or None", found)
    return found


@contextmanager
def conversation_turn(given: KnownConversation, max_labels: int) -> Iterator[ConversationTurn]:
    """Yield the turn of a conversation; a `Conversation` is a value, to which nothing is added."""
    if isinstance(given, MemoryConversation):
        with given.turn(max_labels) as turn:
            yield turn
    elif isinstance(given, LabeledConversation):
        with _labeled_turn(given, max_labels) as turn:
            yield turn
    else:
        yield ConversationTurn(given)


@asynccontextmanager
async def aconversation_turn(given: KnownConversation, max_labels: int) -> AsyncIterator[ConversationTurn]:
    """Async version of `conversation_turn`."""
    if isinstance(given, MemoryConversation):
        async with given.aturn(max_labels) as turn:
            yield turn
    else:
        with conversation_turn(given, max_labels) as turn:
            yield turn
