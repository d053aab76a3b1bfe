"""A context and a question -> the messages that a LlamaIndex LLM takes."""

from __future__ import annotations

from collections.abc import Sequence

from llama_index.core.llms import ChatMessage

from ctxassembly.context import Context
from ctxassembly.integrations.messages import context_given


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

    >>> from ctxassembly import Chunk, Hit, assemble
    >>> [message.role.value for message in to_messages(assemble([Hit(Chunk("a", "a", "Rest."))]), "May I rest?")]
    ['system', 'user']

    Raises:
        InputError: `context` is no Context.
    """
    context = context_given(context, "ContextAssemblyPostprocessor().context(nodes)")
    messages = context.to_messages(question, style, extra_instructions, extra_rules=extra_rules, template=template)
    return [ChatMessage(content=message["content"], role=message["role"]) for message in messages]
