"""A context and a question -> the messages that a LlamaIndex LLM takes."""

from __future__ import annotations

from collections.abc import Sequence

from llama_index.core.llms import ChatMessage

from ctxassembly.context import Context
from ctxassembly.errors import InputError
from ctxassembly.shown import shown


def to_messages(
    context: Context,
    question: str,
    style: str = "grounded",
    extra_instructions: str | None = None,
    *,
    extra_rules: Sequence[str] = (),
    template: str | None = None,
) -> list[ChatMessage]:
    """A system and a user message, worded as by `Context.to_messages`.

    Raises:
        InputError: `context` is no Context.
    """
    if not isinstance(context, Context):
        raise InputError(
            f"context must be a Context, got {shown(context)}: ContextAssemblyPostprocessor().context(nodes) gives one"
        )
    messages = context.to_messages(question, style, extra_instructions, extra_rules=extra_rules, template=template)
    return [ChatMessage(content=message["content"], role=message["role"]) for message in messages]
