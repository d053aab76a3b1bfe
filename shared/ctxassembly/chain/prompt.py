"""The messages for the answer: rules, the conversation within its zone, context and question."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ctxassembly.chain.requests import Exchange, Message
from ctxassembly.config.answering import AnswerConfig
from ctxassembly.context import Context
from ctxassembly.tokens.counter import counter_for
from ctxassembly.tokens.history import trim_history
from ctxassembly.wording.formats import FORMATS
from ctxassembly.wording.label_guards import neutralised
from ctxassembly.wording.languages import language_of

DEFAULT_ENCODING = "cl100k_base"


@dataclass(frozen=True, slots=True)
class Prompt:
    """The messages to send."""

    messages: tuple[Message, ...]
    left_out: int
    """Messages of the conversation without room in its zone."""


def prompt_for(
    question: str, context: Context, history: Sequence[Exchange], unanswered: Sequence[str], config: AnswerConfig
) -> Prompt:
    """The prompt for the answer to `question`, in which `unanswered` parts are named to the model.

    The question may be a stranger's: lines of it that could pass for ours, such as a forged source, are neutralised as
    those of documents are.
    """
    form = context.format if context.format in FORMATS else "numbered"
    rules = (*config.extra_rules, *missing(context, unanswered))
    asked = neutralised(question, form)
    system, user = context.to_messages(asked, config.style, extra_rules=rules, template=config.template)
    said: list[Message] = []
    for exchange in history:
        said += [{"role": "user", "content": exchange.question}, {"role": "assistant", "content": exchange.answer}]
    count = counter_for(context.encoding or DEFAULT_ENCODING).count
    kept = trim_history(said, config.history_tokens, count, keep_exchanges=len(history))
    return Prompt((system, *kept.messages, user), len(kept.left_out))


def missing(context: Context, unanswered: Sequence[str]) -> tuple[str, ...]:
    """A line for each part of the question that couldn't be searched for, in the language of the context."""
    return tuple(language_of(context.language).unanswered.format(part) for part in unanswered)
