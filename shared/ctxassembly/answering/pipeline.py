"""An answer as a generator: understand -> search -> assemble -> ask -> resolve.

It yields requests and is sent replies, as the flows of assembly and retrieval do. Between them it yields pieces of the
answer, which need no reply: the driver passes them to the reader of the stream. Its value is the `Answer`.

A fault has one of three ends. Without understanding, or without one of several searches, the chain goes on, and the
answer says so. Where nothing usable was found it abstains, and no model is asked. Where no search answers, or the model
fails, the error is raised: half an answer is never presented as whole.

The answer is read as it comes: its labels are resolved piece by piece, and its quotes are looked up at the end.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from ctxassembly.answering.answer import Answer, AnswerPiece, AnswerRecorder, find_weakness, measure_quality, strength
from ctxassembly.answering.cache import CachedAnswer, cache_key
from ctxassembly.answering.history import history_flow
from ctxassembly.answering.requests import (
    AnswerCall,
    AskModel,
    Assemble,
    CacheGet,
    CacheSet,
    Compute,
    Message,
    ModelReply,
    NextPiece,
)
from ctxassembly.answering.search import Evidence, evidence_flow
from ctxassembly.answering.understand import understand_flow
from ctxassembly.answering.window import fit_context, fit_history, window_budget, with_background
from ctxassembly.citations.reader import AnswerReader, Resolved
from ctxassembly.config.answering import AnswerConfig, Forbidden
from ctxassembly.context import Context
from ctxassembly.conversations.labels import Labels
from ctxassembly.data.retrieval import QueryUnderstanding
from ctxassembly.errors import AnswerError, InputError, StoreError
from ctxassembly.safe_repr import describe_error, safe_repr
from ctxassembly.wording.formats import FORMATS
from ctxassembly.wording.label_guards import escape_labels
from ctxassembly.wording.languages import language_of

Flow = Generator[Any, Any, Answer]
_MORE_ROOM = "raise answer_tokens of the mode, or the model's own limit"


def answer_flow(call: AnswerCall, config: AnswerConfig, clock: Callable[[], float]) -> Flow:
    """Return the answer to a question.

    Raises:
        ConfigError: the mode is unknown.
        StoreError: no search answered.
        AnswerError: the model failed.
    """
    config.mode(call.mode)
    log = AnswerRecorder(clock)
    call = replace(call, conversation=call.conversation.seen_in([]))
    understanding = yield from _understand(call, config, log)
    text, reason = _answer_without_search(call, understanding, config)
    if reason:
        answer = Answer(call.question, text, call.mode, understanding, abstention_reason=reason)
    else:
        answer = yield from _think(call, understanding, config, log)
    answer = _withhold_forbidden(answer, call, config, log)
    if answer.abstention_reason or config.is_held:
        marks = answer.resolved.marks if answer.resolved else ()
        yield AnswerPiece(answer.text, tuple(label for mark in marks for label in mark.labels))
    conversation = call.conversation.after(answer.context).seen_in([]) if answer.context else call.conversation
    return replace(answer, steps=tuple(log.steps), notes=tuple(log.notes), conversation=conversation)


def _think(
    call: AnswerCall,
    understanding: QueryUnderstanding,
    config: AnswerConfig,
    log: AnswerRecorder,
) -> Flow:
    """Return the answer, in the mode `think_harder` if the user is dissatisfied or the first answer is weak."""
    harder = None if config.think_harder is None else replace(call, mode=config.think_harder)
    if harder is None or harder.mode == call.mode:
        return (yield from _answer(call, understanding, config, log))
    if understanding.is_dissatisfied:
        log.notes.append(f"think harder: the user is dissatisfied; answered in mode {harder.mode!r}")
        return (yield from _answer(harder, understanding, config, log))
    first = yield from _answer(call, understanding, config, log)
    if (weakness := find_weakness(first)) is None:
        return first
    log.notes.append(f"think harder: {weakness}; answered once more in mode {harder.mode!r}")
    try:
        # A cached answer has the labels of a first context.
        second = yield from _answer(replace(harder, cache_facts=None), understanding, config, log)
    except (AnswerError, StoreError) as error:
        log.notes.append(f"think harder: the first answer is kept ({describe_error(error)})")
        return first
    return max(second, first, key=strength)


def _answer(
    call: AnswerCall,
    understanding: QueryUnderstanding,
    config: AnswerConfig,
    log: AnswerRecorder,
) -> Flow:
    """Return the answer from the cache, or from what is found now, without its steps and notes."""

    def finish(text: str, evidence: Evidence, **fields: Any) -> Answer:
        fields |= {"hits": evidence.hits, "retrieved": evidence.retrieved, "unanswered": evidence.unanswered}
        return Answer(call.question, text, call.mode, understanding, **fields)

    def finish_generated(context: Context, evidence: Evidence, generated: GeneratedAnswer) -> Answer:
        quotes = context.check_quotes(generated.raw_text)
        resolved = _cite_unlabeled(generated.resolved, context, is_spoken=config.voice)
        used, count = len(resolved.citations), len(context.citations)
        is_labeled = resolved is generated.resolved
        outcome = f"{used:,} of {count:,} labels used" if is_labeled else f"no labels, {count:,} read"
        log.record_step("answer", outcome, generated.reply)
        return finish(
            generated.text,
            evidence,
            context=context,
            resolved=resolved,
            quotes=quotes,
            quality=measure_quality(generated.raw_text, resolved, quotes),
            finish_reason=generated.reply.finish_reason,
        )

    key = _key_of(call, understanding, config, log)
    if cached := (yield from _recall_answer(key, call.conversation.labels, log)):
        reader = _reader(cached.context, config)
        generated = yield from stream_answer(ModelReply(cached.raw_text), reader, (), is_held=config.is_held)
        return finish_generated(cached.context, Evidence(cached.hits), generated)

    evidence = yield from evidence_flow(call, understanding, config.mode(call.mode), log)
    context: Context | None = None
    if evidence.hits:
        effective_query = understanding.rewritten or call.question
        rules = (*config.extra_rules, *_unanswered_lines(call, evidence))
        window = window_budget(call, config)
        budget = (yield Compute(partial(fit_context, window, call, config, rules))) if window else None
        query = evidence.query or effective_query
        context = yield Assemble(evidence.hits, query, evidence.supplement, call.filter, budget, call.conversation)
        log.record_step("assemble", context.trace.summary)
    if context is None or not context.text:
        return finish(_no_content(call, config), evidence, abstention_reason=evidence.missing_evidence_message)
    generated = yield from _ask_model(context, evidence, call, config, log)
    if generated.reply.is_truncated:
        log.notes.append(f"answer: cut, the model ended by {generated.reply.finish_reason!r}: {_MORE_ROOM}")
    elif key and not evidence.unanswered:
        yield from _store_answer(key, CachedAnswer(generated.raw_text, context, evidence.hits), log)
    return finish_generated(context, evidence, generated)


def _no_content(call: AnswerCall, config: AnswerConfig) -> str:
    return config.no_content or language_of(call.language).no_content


def _withhold_forbidden(answer: Answer, call: AnswerCall, config: AnswerConfig, log: AnswerRecorder) -> Answer:
    """Return the answer, or a refusal in its place, if it says what `config` forbids; a note has the words."""
    if answer.context is None or (found := _find_forbidden(answer.context, answer.text, config.forbidden)) is None:
        return answer
    log.notes.append(f"forbidden: the answer says {safe_repr(found, 80)}")
    if config.on_forbidden == "flag":
        return answer
    return replace(
        answer,
        text=config.refusal or language_of(call.language).refusal,
        resolved=None,
        quotes=(),
        quality=None,
        abstention_reason=log.notes[-1],
    )


def _find_forbidden(context: Context, answer: str, forbidden: Forbidden) -> str | None:
    """Return the words of `answer` that are forbidden; None if there are none. Labels between words don't hide them.

    A function that returns True forbids the whole answer.
    """
    if not forbidden:
        return None
    texts = dict.fromkeys((answer, context.resolve(answer, "remove").text))
    if callable(forbidden):
        return next((text for text in texts if forbidden(text)), None)
    matches = (re.search(pattern, text, re.IGNORECASE) for pattern in forbidden for text in texts)
    return next((match[0] for match in matches if match), None)


def _understand(
    call: AnswerCall, config: AnswerConfig, log: AnswerRecorder
) -> Generator[AskModel | Compute, Any, QueryUnderstanding]:
    window = window_budget(call, config) if call.history else None
    history = (yield Compute(partial(fit_history, window, call, config))) if window else call.history
    understanding, reply = yield from understand_flow(call.question, history, config, call.today, call.background)
    log.notes += understanding.notes
    if reply or understanding.notes:
        parts = (understanding.intent, understanding.rewritten, *understanding.keywords, *understanding.sub_questions)
        log.record_step("understand", "; ".join(one for one in parts if one) or "as it is", reply)
    return understanding


def _answer_without_search(
    call: AnswerCall, understanding: QueryUnderstanding, config: AnswerConfig
) -> tuple[str, str | None]:
    """Return the answer to a question that needs no search, and the reason; no reason if it has to be searched for."""
    for intent in config.intents:
        if intent.label == understanding.intent and intent.answer is not None:
            return intent.answer, f"intent: {intent.label} ends the chain"
    return _no_content(call, config), None if call.question.strip() else "question: there are no words to search for"


def _key_of(
    call: AnswerCall, understanding: QueryUnderstanding, config: AnswerConfig, log: AnswerRecorder
) -> str | None:
    """Return the key of the answer in the cache; None if the cache isn't used."""
    if call.cache_facts is None:
        return None
    try:
        return cache_key(call, understanding, config)
    except InputError as reason:
        log.notes.append(f"cache: {reason}")
        return None


def _recall_answer(
    key: str | None, labels: Labels | None, log: AnswerRecorder
) -> Generator[CacheGet, str | None, CachedAnswer | None]:
    """Return the cached answer, if there is one. A failing cache counts as empty."""
    if key is None:
        return None
    try:
        entry = yield CacheGet(key)
        cached = None if entry is None else CachedAnswer.load_answer(entry)
    except Exception as error:  # noqa: BLE001 - a cache saves work, and no more
        log.notes.append(f"cache: {describe_error(error)}")
        return None
    if cached and labels and not labels.claim([int(citation.label) for citation in cached.context.citations]):
        log.notes.append("cache: the labels of the kept answer are taken in this conversation")
        return None
    if cached:
        log.record_step("recall", f"kept under {key[:12]}")
    return cached


def _store_answer(key: str, answer: CachedAnswer, log: AnswerRecorder) -> Generator[CacheSet, None, None]:
    try:
        yield CacheSet(key, answer.dump_answer())
    except Exception as error:  # noqa: BLE001 - see above
        log.notes.append(f"cache: {describe_error(error)}")


def _unanswered_lines(call: AnswerCall, evidence: Evidence) -> list[str]:
    """Return a line for each part of the question whose search failed: a rule, and an end of the answer."""
    return [language_of(call.language).unanswered.format(part) for part in evidence.unanswered]


def _ask_model(
    context: Context, evidence: Evidence, call: AnswerCall, config: AnswerConfig, log: AnswerRecorder
) -> Generator[Any, Any, GeneratedAnswer]:
    """Return the model's answer, which names the parts of the question whose search failed."""
    unanswered_lines = _unanswered_lines(call, evidence)
    system, user = build_prompt(call, context, unanswered_lines, config)
    history = yield from history_flow(call, context, (system, user), config, log)
    messages = (system, *history, user)
    request = AskModel(
        "answer",
        messages,
        config.answer_seconds,
        max_tokens=config.mode(call.mode).answer_tokens,
        mode=call.mode,
        is_streamed=call.is_streamed,
    )
    return (yield from stream_answer(request, _reader(context, config), unanswered_lines, is_held=config.is_held))


def build_prompt(
    call: AnswerCall, context: Context, unanswered_lines: Sequence[str], config: AnswerConfig
) -> tuple[Message, Message]:
    """Return the system message and the user message to send.

    The rules are in the language of the answer. The question may be a stranger's: lines of it that could pass for ours,
    such as a forged source, are neutralized like such lines of documents.
    """
    form = context.format if context.format in FORMATS else "numbered"
    rules = (*config.extra_rules, *unanswered_lines)
    safe_question = escape_labels(call.question, form)
    worded = replace(context, language=call.language)
    system, user = worded.to_messages(safe_question, config.style, extra_rules=rules, template=config.template)
    return {**system, "content": with_background(system["content"], call.background, form)}, user


def _reader(context: Context, config: AnswerConfig) -> AnswerReader:
    return context.reader("remove" if config.voice else "keep")


def _cite_unlabeled(resolved: Resolved, context: Context, *, is_spoken: bool) -> Resolved:
    """Return `resolved` with all citations of the context, if the answer can't tell which of them it used.

    It can't if the context shows no labels, and it doesn't if it is spoken and has none. A format of the caller's own
    may show labels, so a written answer from it cites only the labels that it has.
    """
    if resolved.citations or (is_spoken and resolved.marks):
        return resolved
    if not is_spoken and (context.has_labels or context.format not in FORMATS):
        return resolved
    return replace(resolved, citations=context.citations, unused=())


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
    request: AskModel | ModelReply, reader: AnswerReader, endings: Sequence[str], *, is_held: bool = False
) -> Generator[AskModel | NextPiece | AnswerPiece, Any, GeneratedAnswer]:
    """Yield the pieces of the answer to `request`, then each of `endings` as a paragraph; none if the answer is held.

    A reply that was kept takes the place of a request.

    Raises:
        AnswerError: the model failed, at its beginning or on the way, or said nothing.
    """
    replies: list[ModelReply] = []
    emitted: list[str] = []
    seen_markers = 0

    def emit(text: str) -> Iterator[AnswerPiece]:
        nonlocal seen_markers
        emitted.append(text)
        new_marks, seen_markers = reader.marks[seen_markers:], len(reader.marks)
        if not is_held:
            yield AnswerPiece(text, tuple(label for mark in new_marks for label in mark.labels))

    following = NextPiece(request.timeout_seconds) if isinstance(request, AskModel) and request.is_streamed else None
    try:
        reply = request if isinstance(request, ModelReply) else (yield request)
        if following:
            reply = yield following
        while reply is not None:
            replies.append(reply)
            if text := reader.feed(reply.text):
                yield from emit(text)
            reply = (yield following) if following else None
    except Exception as error:
        partial = "" if is_held else "".join(emitted)
        raise AnswerError(f"the model failed: {describe_error(error)}", partial) from error
    raw_text, last = "".join(reply.text for reply in replies), _combine_replies(replies)
    if not raw_text.strip():
        raise AnswerError(f"the model answered with nothing, and ended by {last.finish_reason!r}", "")
    for text in (reader.close(), *(f"\n\n{ending}" for ending in endings)):
        if text:
            yield from emit(text)
    return GeneratedAnswer(raw_text, "".join(emitted), reader.resolved, last)


def _combine_replies(replies: Sequence[ModelReply]) -> ModelReply:
    """Return the last finish reason and the tokens of all replies."""
    finish = next((reply.finish_reason for reply in reversed(replies) if reply.finish_reason), None)
    tokens_in = [reply.tokens_in for reply in replies if reply.tokens_in is not None]
    tokens_out = [reply.tokens_out for reply in replies if reply.tokens_out is not None]
    return ModelReply("", finish, sum(tokens_in) if tokens_in else None, sum(tokens_out) if tokens_out else None)
