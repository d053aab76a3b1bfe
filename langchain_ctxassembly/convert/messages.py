"""A context and a question -> the messages that a LangChain chat model takes."""

from __future__ import annotations

from collections.abc import Sequence

from langchain_core.messages import BaseMessage, HumanMessage, SystemMessage

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
) -> list[BaseMessage]:
    """A system and a human message, worded as by `Context.to_messages`.

    Raises:
        InputError: `context` is no Context.
    """
    if not isinstance(context, Context):
        instead = "ContextAssembler().as_context().invoke(documents) gives one"
        raise InputError(f"context must be a Context, got {shown(context)}: {instead}")
    system, user = context.to_messages(question, style, extra_instructions, extra_rules=extra_rules, template=template)
    return [SystemMessage(system["content"]), HumanMessage(user["content"])]
