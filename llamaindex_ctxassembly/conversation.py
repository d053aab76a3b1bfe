"""`MemoryConversation`: the conversation in a LlamaIndex memory, for the tools of an agent.

An agent keeps the text of its tools' outputs in its memory and nothing else of them, and only once its run is over. So
the contexts are kept here, and at each call the memory says which of their text the model still sees. A context of the
present run is in no memory yet: it counts as seen as long as the memory ends with the message that began the run.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from llama_index.core.base.llms.types import ChatMessage
from llama_index.core.memory import BaseMemory

from ctxassembly.concurrency import lock
from ctxassembly.context import Context
from ctxassembly.conversations.conversation import Conversation, Labels, given_conversation
from ctxassembly.errors import ConfigError
from llamaindex_ctxassembly.models import check_kind

_Run = tuple[int, ChatMessage]
"""What tells one run of an agent from others: the number of messages before it, and the last one, its question."""
Turn = tuple[Conversation | None, Callable[[Context], None]]
"""The conversation for one context, and a function that records the context once it is assembled."""


class MemoryConversation:
    """One conversation of an agent: text that `memory` still holds isn't sent again, and documents keep their labels.

    A context counts as held as long as it is all the text of a tool's message, or is in one of the system or the user.

    Pass it to the postprocessors of all tools of the agent, and run the agent with the same memory. Text that the
    memory has trimmed is sent again if it is found again. A memory that was reset needs a new one.

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
        ConfigError: `memory` is something else.
        InputError: `conversation` is something else.
    """

    def __init__(self, memory: BaseMemory, conversation: Conversation | None = None) -> None:
        check_kind("memory", memory, BaseMemory, "a LlamaIndex memory")
        self._memory = memory
        sent = given_conversation(conversation) or Conversation()
        self._sent = replace(sent, labels=Labels(sent.free_label))
        self._in_flight: list[tuple[_Run, str]] = []
        self._lock = lock()

    @property
    def conversation(self) -> Conversation:
        """All contexts so far, whether the memory still holds their text or not."""
        return self._sent

    def turn(self) -> Turn:
        """Return the conversation for a context, and what records that context."""
        return self._turn(self._memory.get_all(), self._memory.get())

    async def aturn(self) -> Turn:
        """Async version of `turn`."""
        return self._turn(await self._memory.aget_all(), await self._memory.aget())

    def _turn(self, history: Sequence[ChatMessage], messages: Sequence[ChatMessage]) -> Turn:
        # An agent puts the question there first.
        run: _Run | None = (len(history), history[-1]) if history else None
        with self._lock:
            self._in_flight = [(other, text) for other, text in self._in_flight if other == run]
            seen = self._sent.seen_in([*messages, *(text for _, text in self._in_flight)])

        def record(context: Context) -> None:
            with self._lock:
                self._sent = self._sent.after(context)
                self._in_flight += [] if run is None else [(run, context.text)]

        return seen, record

    def __deepcopy__(self, memo: dict[int, Any]) -> MemoryConversation:
        return self  # the copy of a postprocessor takes part in the same conversation


def check_conversation(given: object) -> None:
    """Check the `conversation` of a postprocessor.

    Raises:
        ConfigError: `given` is neither a conversation, nor a function, nor None.
    """
    is_known = given is None or isinstance(given, (MemoryConversation, Conversation)) or callable(given)
    if isinstance(given, type) or not is_known:
        allowed = "a MemoryConversation(memory), a Conversation, or a function without arguments that returns one"
        raise ConfigError("conversation", allowed, given)


def begin_turn(given: Any) -> Turn:
    """Return the turn of a conversation, or of what a function returns; to a `Conversation` nothing is added."""
    found = given() if callable(given) else given
    return found.turn() if isinstance(found, MemoryConversation) else (found, lambda _: None)


async def abegin_turn(given: Any) -> Turn:
    """Async version of `begin_turn`."""
    found = given() if callable(given) else given
    return await found.aturn() if isinstance(found, MemoryConversation) else begin_turn(found)
