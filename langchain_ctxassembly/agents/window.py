"""A model's window as an agent fills it: its messages and tools counted, and what is left for a context."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, SystemMessage, ToolMessage
from langchain_core.utils.function_calling import convert_to_openai_tool

from ctxassembly.errors import ConfigError, InputError
from ctxassembly.tokens.budget import TokenBudget
from ctxassembly.tokens.counter import counter_for
from ctxassembly.tokens.shares import CONVERSATION, DOCUMENTS, MEMORY, TOOL_RESULTS, Share, divide, division_note
from langchain_ctxassembly.agents.turn import status_of

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
    shares: tuple[Share, ...] = ()
    """What competes for the window: all contexts, the conversation, its summary, and what other tools returned."""

    def count_messages(self, messages: Sequence[BaseMessage]) -> int:
        """Return the tokens of `messages`, with their calls and names."""
        return sum(PER_MESSAGE + _message_tokens(message, self.count_text) for message in messages)

    def remaining(self, messages: Sequence[BaseMessage], limit: int) -> int:
        """Return the tokens left for a context next to `messages`, at most `limit`; negative if they exceed it."""
        available = limit if self.max_context_tokens is None else min(limit, self.max_context_tokens)
        if self.max_tokens is None:
            return available
        free = min(available, self.max_tokens - self.count_messages(messages))
        if not self.shares:
            return free
        wanted, given = self.divide(messages, available)
        return min(free, given[DOCUMENTS] - (wanted[DOCUMENTS] - available))

    def later_limit(self, limit: int) -> int:
        """Return the most tokens of a context after the first: so few that several fit before they make room."""
        if self.max_tokens is None:
            return limit
        room = self.divide([], self.max_tokens)[1][DOCUMENTS] if self.shares else self.max_tokens
        return min(limit, max(int(LATER_SHARE * room), LATER_TOKENS))

    def divide(self, messages: Sequence[BaseMessage], available: int) -> tuple[dict[str, int], dict[str, int]]:
        """Return what each kind of text wants, the documents `available` more than they have, and what it gets."""
        kinds: dict[str | None, list[BaseMessage]] = {}
        for message in messages:
            kinds.setdefault(self.share_of(message), []).append(message)
        system = self.count_messages(kinds.pop(None, []))
        wanted = {name: self.count_messages(texts) for name, texts in kinds.items() if name is not None}
        wanted[DOCUMENTS] = wanted.get(DOCUMENTS, 0) + available
        return wanted, divide((self.max_tokens or 0) - system, self.shares, wanted)

    def share_of(self, message: BaseMessage) -> str | None:
        """Return the share that pays for a message; None for a system message, which is always sent."""
        if isinstance(message, SystemMessage):
            return None
        if isinstance(message, ToolMessage):
            return TOOL_RESULTS if status_of(message) is None else DOCUMENTS
        is_summary = message.additional_kwargs.get("lc_source") == "summarization"  # SummarizationMiddleware marks it
        return MEMORY if is_summary and any(share.name == MEMORY for share in self.shares) else CONVERSATION

    def notes(self, messages: Sequence[BaseMessage], limit: int) -> list[str]:
        """Return a note for the trace on the shares that give way, or exceed what they may take."""
        if self.max_tokens is None or not self.shares:
            return []
        wanted, given = self.divide(messages, self.remaining([], limit))
        documents = {DOCUMENTS: wanted[DOCUMENTS]}
        notes = [division_note(self.shares, documents, given)]
        notes += [
            f"budget: {name} has {wanted[name]:,} tokens, {wanted[name] - tokens:,} more than its share"
            for name, tokens in given.items()
            if name != DOCUMENTS and wanted.get(name, 0) > tokens
        ]
        return [note for note in notes if note]

    def overflow(self, messages: Sequence[BaseMessage]) -> int:
        """Return the tokens by which `messages` exceed the window; 0 or less if they fit."""
        return 0 if self.max_tokens is None else self.count_messages(messages) - self.max_tokens


def make_context_window(budget: TokenBudget | None, encoding: Any, tools: Sequence[Any]) -> ContextWindow:
    """Return the window left by the generation, buffer and cap of `budget` and by `tools`."""
    encoding = (budget and budget.encoding) or encoding
    count_text = counter_for(encoding).count
    if budget is None:
        return ContextWindow(None, None, encoding, count_text)
    schemas = sum(count_text(json.dumps(convert_to_openai_tool(tool))) for tool in tools)
    max_tokens = budget.window - budget.generation - budget.buffer - schemas
    return ContextWindow(max_tokens, budget.context_cap, encoding, count_text, budget.shares)


def budget_of(model: Any, window: int | None = None) -> TokenBudget | None:
    """Return the budget for `model`, as `TokenBudget.for_model` reads it; None if its window is unknown and not given.

    Raises:
        ConfigError: the window is too small for any context.
    """
    try:
        return TokenBudget.for_model(model, window=window)
    except (InputError, ImportError):
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
