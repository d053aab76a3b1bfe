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
from ctxassembly.safe_repr import describe_error
from ctxassembly.tokens.counter import counter_for
from ctxassembly.tokens.history import trim_history
from ctxassembly.wording.formats import FORMATS
from ctxassembly.wording.label_guards import escape_labels
from ctxassembly.wording.languages import language_of

DEFAULT_ENCODING = "cl100k_base"


@dataclass(frozen=True, slots=True)
class Prompt:
    """The messages to send."""

    messages: tuple[Message, ...]
    dropped_count: int
    """Messages of the conversation without room in its zone."""


def build_prompt(
    question: str, context: Context, history: Sequence[Exchange], unanswered: Sequence[str], config: AnswerConfig
) -> Prompt:
    """Build the prompt for the answer to `question`, which names the `unanswered` parts to the model.

    The question may be a stranger's: lines of it that could pass for ours, such as a forged source, are neutralized
    like such lines of documents.
    """
    form = context.format if context.format in FORMATS else "numbered"
    rules = (*config.extra_rules, *unanswered_lines(context, unanswered))
    safe_question = escape_labels(question, form)
    system, user = context.to_messages(safe_question, config.style, extra_rules=rules, template=config.template)
    messages: list[Message] = []
    for exchange in history:
        messages += [{"role": "user", "content": exchange.question}, {"role": "assistant", "content": exchange.answer}]
    count = counter_for(context.encoding or DEFAULT_ENCODING).count
    trimmed = trim_history(messages, config.history_tokens, count, keep_exchanges=len(history))
    return Prompt((system, *trimmed.messages, user), len(trimmed.left_out))


def unanswered_lines(context: Context, unanswered: Sequence[str]) -> tuple[str, ...]:
    """Return a line for each part of the question whose search failed, in the language of the context."""
    return tuple(language_of(context.language).unanswered.format(part) for part in unanswered)


@dataclass(frozen=True, slots=True)
class GeneratedAnswer:
    """An answer of a model, to its end."""

    raw_text: str
    """As the model wrote it."""
    text: str
    """As it is given on: for a voice without labels."""
    resolved: Resolved
    reply: ModelReply
    """The last reply, with the tokens of all."""


def stream_answer(
    request: AskModel, reader: AnswerReader, endings: Sequence[str]
) -> Generator[AskModel | NextPiece | AnswerPiece, Any, GeneratedAnswer]:
    """Yield the pieces of the answer to `request`, then each of `endings` as a paragraph.

    Raises:
        AnswerError: the model failed, at its beginning or on the way, or said nothing.
    """
    replies: list[ModelReply] = []
    emitted: list[str] = []
    seen_markers = 0
    try:
        reply = yield request
        if request.is_streamed:
            reply = yield NextPiece(request.timeout_seconds)
        while reply is not None:
            replies.append(reply)
            if text := reader.feed(reply.text):
                emitted.append(text)
                marks = reader.marks
                yield AnswerPiece(text, tuple(label for mark in marks[seen_markers:] for label in mark.labels))
                seen_markers = len(marks)
            reply = (yield NextPiece(request.timeout_seconds)) if request.is_streamed else None
    except Exception as error:
        raise AnswerError.from_error(error, f"the model failed: {describe_error(error)}", "".join(emitted)) from error
    raw_text, last = "".join(reply.text for reply in replies), _combine_replies(replies)
    if not raw_text.strip():
        raise AnswerError(f"the model answered with nothing, and ended by {last.finish_reason!r}", "")
    last_text = reader.close()
    labels = tuple(label for mark in reader.marks[seen_markers:] for label in mark.labels)
    for piece in (AnswerPiece(last_text, labels), *(AnswerPiece(f"\n\n{ending}") for ending in endings)):
        if piece.text:
            emitted.append(piece.text)
            yield piece
    return GeneratedAnswer(raw_text, "".join(emitted), reader.resolved, last)


def replay_answer(raw_text: str, reader: AnswerReader) -> Generator[AnswerPiece, None, GeneratedAnswer]:
    """Yield a cached answer as one piece."""
    text = reader.feed(raw_text) + reader.close()
    yield AnswerPiece(text, tuple(label for mark in reader.marks for label in mark.labels))
    return GeneratedAnswer(raw_text, text, reader.resolved, ModelReply(""))


def _combine_replies(replies: Sequence[ModelReply]) -> ModelReply:
    """Return the last finish reason and the tokens of all replies."""
    finish = next((reply.finish_reason for reply in reversed(replies) if reply.finish_reason), None)
    tokens_in = [reply.tokens_in for reply in replies if reply.tokens_in is not None]
    tokens_out = [reply.tokens_out for reply in replies if reply.tokens_out is not None]
    return ModelReply("", finish, sum(tokens_in) if tokens_in else None, sum(tokens_out) if tokens_out else None)
