"""The model's answer, read as it comes: labels resolved, quotes looked up."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass
from typing import Any

from ctxassembly.answering.answer import AnswerPiece
from ctxassembly.answering.requests import AskModel, Exchange, Message, ModelReply, NextPiece
from ctxassembly.citations.reader import AnswerReader, Resolved
from ctxassembly.config.answering import AnswerConfig
from ctxassembly.context import Context
from ctxassembly.errors import AnswerError
from ctxassembly.safe_repr import failure
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


@dataclass(frozen=True, slots=True)
class Told:
    """An answer of a model, to its end."""

    written: str
    """As the model wrote it."""
    text: str
    """As it is given on: for a voice without labels."""
    resolved: Resolved
    reply: ModelReply
    """The last reply, with the tokens of all."""


def telling(
    request: AskModel, reader: AnswerReader, endings: Sequence[str]
) -> Generator[AskModel | NextPiece | AnswerPiece, Any, Told]:
    """The answer to `request`, and after it `endings`, a paragraph each.

    Raises:
        AnswerError: the model failed, at its beginning or on the way, or said nothing.
    """
    replies: list[ModelReply] = []
    given: list[str] = []
    told = 0
    try:
        reply = yield request
        if request.streamed:
            reply = yield NextPiece(request.timeout_seconds)
        while reply is not None:
            replies.append(reply)
            if text := reader.feed(reply.text):
                given.append(text)
                marks = reader.marks
                yield AnswerPiece(text, tuple(label for mark in marks[told:] for label in mark.labels))
                told = len(marks)
            reply = (yield NextPiece(request.timeout_seconds)) if request.streamed else None
    except Exception as error:
        raise AnswerError.of(error, f"the model failed: {failure(error)}", "".join(given)) from error
    written, last = "".join(reply.text for reply in replies), _summed(replies)
    if not written.strip():
        raise AnswerError(f"the model answered with nothing, and ended by {last.finish!r}", "")
    rest = reader.close()
    labels = tuple(label for mark in reader.marks[told:] for label in mark.labels)
    for piece in (AnswerPiece(rest, labels), *(AnswerPiece(f"\n\n{ending}") for ending in endings)):
        if piece.text:
            given.append(piece.text)
            yield piece
    return Told(written, "".join(given), reader.resolved, last)


def retelling(written: str, reader: AnswerReader) -> Generator[AnswerPiece, None, Told]:
    """An answer that was kept, as one piece."""
    text = reader.feed(written) + reader.close()
    yield AnswerPiece(text, tuple(label for mark in reader.marks for label in mark.labels))
    return Told(written, text, reader.resolved, ModelReply(""))


def _summed(replies: Sequence[ModelReply]) -> ModelReply:
    """The last finish that was told, and the tokens of all replies."""
    finish = next((reply.finish for reply in reversed(replies) if reply.finish), None)
    read = [reply.tokens_in for reply in replies if reply.tokens_in is not None]
    said = [reply.tokens_out for reply in replies if reply.tokens_out is not None]
    return ModelReply("", finish, sum(read) if read else None, sum(said) if said else None)
