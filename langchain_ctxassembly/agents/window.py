"""The tokens that a prompt leaves in a model's window, counted over messages and tools."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.utils.function_calling import convert_to_openai_tool

from ctxassembly.errors import ConfigError, InputError, MissingExtraError
from ctxassembly.tokens.budget import TokenBudget
from ctxassembly.tokens.counter import counter_for

PER_MESSAGE = 4
"""Tokens of a message in addition to its text: its role, and the separator."""
PER_IMAGE = 85
"""Tokens of an image, as LangChain's own count has it."""

CountMessages = Callable[[Sequence[BaseMessage]], int]


@dataclass(frozen=True)
class ContextWindow:
    """A model's window, less its answer, a buffer and the tools."""

    max_tokens: int | None
    """Tokens that all messages together may have; None if the model's window is unknown."""
    max_context_tokens: int | None
    """The most tokens of one context, whatever is left."""
    count_messages: CountMessages
    count_text: Callable[[str], int]

    def remaining(self, messages: Sequence[BaseMessage], limit: int) -> int:
        """Return the tokens left for a context next to `messages`, at most `limit`; negative if they exceed it."""
        available = limit if self.max_context_tokens is None else min(limit, self.max_context_tokens)
        return available if self.max_tokens is None else min(available, self.max_tokens - self.count_messages(messages))

    def overflow(self, messages: Sequence[BaseMessage]) -> int:
        """Return the tokens by which `messages` exceed the window; 0 or less if they fit."""
        return 0 if self.max_tokens is None else self.count_messages(messages) - self.max_tokens


def make_context_window(
    budget: TokenBudget | None, encoding: Any, tools: Sequence[Any], count_messages: CountMessages | None
) -> ContextWindow:
    """Return the window left by the generation, buffer and cap of `budget` and by `tools`; messages are counted."""
    count_text = counter_for((budget and budget.encoding) or encoding).count

    def count_texts(messages: Sequence[BaseMessage]) -> int:
        return sum(PER_MESSAGE + _message_tokens(message, count_text) for message in messages)

    schemas = sum(count_text(json.dumps(convert_to_openai_tool(tool))) for tool in tools)
    max_tokens = None if budget is None else budget.window - budget.generation - budget.buffer - schemas
    return ContextWindow(
        max_tokens, None if budget is None else budget.context_cap, count_messages or count_texts, count_text
    )


def budget_of(model: Any, window: int | None = None) -> TokenBudget | None:
    """Return the budget for `model`, as `TokenBudget.for_model` reads it; None if its window is unknown and not given.

    Raises:
        ConfigError: the window is too small for any context.
    """
    try:
        return TokenBudget.for_model(model, window=window)
    except (InputError, MissingExtraError):
        return None
    except ConfigError as error:
        if error.parameter == "model":
            return None
        raise


def _message_tokens(message: BaseMessage, count: Callable[[str], int]) -> int:
    blocks = [message.content] if isinstance(message.content, str) else message.content
    tokens = sum(_block_tokens(block, count) for block in blocks)
    if isinstance(message, AIMessage) and isinstance(message.content, str):  # blocks have the calls among them
        tokens += sum(count(json.dumps([call["name"], call["args"], call["id"]])) for call in message.tool_calls)
    return tokens + sum(count(name) for name in (message.name, getattr(message, "tool_call_id", None)) if name)


def _block_tokens(block: str | dict[Any, Any], count: Callable[[str], int]) -> int:
    if isinstance(block, str):
        return count(block)
    if block.get("type") in ("image", "image_url"):
        return PER_IMAGE
    text = block.get("text")
    return count(text if isinstance(text, str) else json.dumps(block, default=str))
