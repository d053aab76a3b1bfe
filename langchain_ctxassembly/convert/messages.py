"""A context and a question -> the messages that a LangChain chat model takes."""

from __future__ import annotations

from collections.abc import Sequence

from langchain_core.messages import BaseMessage, HumanMessage, SystemMessage

from ctxassembly.context import Context
from ctxassembly.integrations.messages import context_given
from langchain_ctxassembly.convert.documents import GIVEN_BY


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

    >>> from ctxassembly import Chunk, Hit, assemble
    >>> [message.type for message in to_messages(assemble([Hit(Chunk("a", "a", "Rest."))]), "May I rest?")]
    ['system', 'human']

    Raises:
        InputError: `context` is no Context.
    """
    context = context_given(context, GIVEN_BY)
    system, user = context.to_messages(question, style, extra_instructions, extra_rules=extra_rules, template=template)
    return [SystemMessage(system["content"]), HumanMessage(user["content"])]
