"""A model's window as an agent fills it: its messages and tools counted, and what is left for a context."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.utils.function_calling import convert_to_openai_tool

from ctxassembly.tokens.budget import TokenBudget
from ctxassembly.tokens.counter import counter_for

PER_MESSAGE = 4
"""Tokens of a message in addition to its text: its role, and the separator."""
PER_IMAGE = 85
"""Tokens of an image, as LangChain's own count has it."""
LATER_SHARE = 0.25
"""Share of the window that a later context of a conversation gets at most.

In conversations of 20 turns it loses no recall, and the prompt's beginning changes seldom: docs/prompt-caching.md.
"""
LATER_TOKENS = 1_000
"""The tokens that it gets in any case, if they are left: with fewer, recall falls by .04 in a window of 2,500."""


@dataclass(frozen=True)
class ContextWindow:
    """A model's window, less its answer, a buffer and the tools."""

    max_tokens: int | None
    """Tokens that all messages together may have; None if the model's window is unknown."""
    max_context_tokens: int | None
    """The most tokens of one context, whatever is left."""
    encoding: Any
    """The encoding, as `AssemblyConfig.encoding` takes it."""
    count_text: Callable[[str], int]

    def count_messages(self, messages: Sequence[BaseMessage]) -> int:
        """Return the tokens of `messages`, with their calls and names."""
        return sum(PER_MESSAGE + sum(map(self._count_part, _parts(message))) for message in messages)

    def remaining(self, messages: Sequence[BaseMessage], limit: int) -> int:
        """Return the tokens left for a context next to `messages`, at most `limit`; negative if they exceed it."""
        available = limit if self.max_context_tokens is None else min(limit, self.max_context_tokens)
        return available if self.max_tokens is None else min(available, -self.overflow(messages))

    def later_limit(self, limit: int) -> int:
        """Return the most tokens of a context after the first: so few that several fit before they make room."""
        if self.max_tokens is None:
            return limit
        return min(limit, max(int(LATER_SHARE * self.max_tokens), LATER_TOKENS))

    def overflow(self, messages: Sequence[BaseMessage]) -> int:
        """Return the tokens by which `messages` exceed the window; 0 or less if they fit."""
        return 0 if self.max_tokens is None else self.count_messages(messages) - self.max_tokens

    def _count_part(self, part: Any) -> int:
        if isinstance(part, dict):
            if part.get("type") in ("image", "image_url"):
                return PER_IMAGE
            part = part["text"] if isinstance(part.get("text"), str) else json.dumps(part, default=str)
        return self.count_text(part)


def context_window(budget: TokenBudget | None, encoding: Any, tools: Sequence[Any]) -> ContextWindow:
    """Return the window left by the generation, buffer and cap of `budget` and by `tools`; None is unknown."""
    encoding = (budget and budget.encoding) or encoding
    count_text = counter_for(encoding)
    if budget is None:
        return ContextWindow(None, None, encoding, count_text)
    schemas = sum(count_text(json.dumps(convert_to_openai_tool(tool))) for tool in tools)
    max_tokens = budget.window - budget.generation - budget.buffer - schemas
    return ContextWindow(max_tokens, budget.context_cap, encoding, count_text)


def _parts(message: BaseMessage) -> list[Any]:
    """Return what a model reads of a message: texts and blocks, its calls, and its names."""
    is_text = isinstance(message.content, str)
    parts: list[Any] = [message.content] if is_text else [*message.content]
    if isinstance(message, AIMessage) and is_text:  # blocks have the calls among them
        parts += [json.dumps([call["name"], call["args"], call["id"]]) for call in message.tool_calls]
    return parts + [name for name in (message.name, getattr(message, "tool_call_id", None)) if name]
