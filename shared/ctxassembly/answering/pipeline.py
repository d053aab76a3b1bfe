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
from ctxassembly.answering.search import NO_EVIDENCE, Evidence, evidence_flow
from ctxassembly.answering.understand import understand_flow
from ctxassembly.answering.window import fit_context, fit_history, history_flow, window_budget, with_background
from ctxassembly.citations.reader import AnswerReader, Resolved
from ctxassembly.config.answering import AnswerConfig, Forbidden
from ctxassembly.context import Context
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
    run = _Run(call, config, log, (yield from _understand(call, config, log)))
    answer = run.answer_without_search() or (yield from run.think())
    answer = run.withhold_forbidden(answer)
    if answer.abstention_reason or config.is_held:
        marks = answer.resolved.marks if answer.resolved else ()
        yield AnswerPiece(answer.text, tuple(label for mark in marks for label in mark.labels))
    conversation = call.conversation.after(answer.context).seen_in([]) if answer.context else call.conversation
    return replace(answer, steps=tuple(log.steps), notes=tuple(log.notes), conversation=conversation)


def _understand(
    call: AnswerCall, config: AnswerConfig, log: AnswerRecorder
) -> Generator[AskModel | Compute, Any, QueryUnderstanding]:
    window = window_budget(call, config) if call.history else None
    history = (yield Compute(partial(fit_history, window, call, config))) if window else call.history
    understanding, reply = yield from understand_flow(call.question, history, config, call.today, call.background)
    log.notes += understanding.notes
    if reply or understanding.notes:
        parts = (understanding.intent, understanding.rewritten, *understanding.sub_questions)
        log.record_step("understand", "; ".join(one for one in parts if one) or "as it is", reply)
    return understanding


@dataclass(frozen=True, slots=True)
class _Run:
    """A question that is understood, on its way to the answer."""

    call: AnswerCall
    config: AnswerConfig
    log: AnswerRecorder
    understanding: QueryUnderstanding

    def answer_without_search(self) -> Answer | None:
        """Return the answer to a question that needs no search; None if it has to be searched for."""
        for intent in self.config.intents:
            if intent.label == self.understanding.intent and intent.answer is not None:
                return self._finish(intent.answer, abstention_reason=f"intent: {intent.label} ends the chain")
        if self.call.question.strip():
            return None
        return self._finish(self._no_content, abstention_reason="question: there are no words to search for")

    def think(self) -> Flow:
        """Return the answer, in the mode `think_harder` if the user is dissatisfied or the first answer is weak."""
        mode, notes = self.config.think_harder, self.log.notes
        if mode is None or mode == self.call.mode:
            return (yield from self.answer())
        harder = replace(self, call=replace(self.call, mode=mode))
        if self.understanding.is_dissatisfied:
            notes.append(f"think harder: the user is dissatisfied; answered in mode {mode!r}")
            return (yield from harder.answer())
        first = yield from self.answer()
        if (weakness := find_weakness(first)) is None:
            return first
        notes.append(f"think harder: {weakness}; answered once more in mode {mode!r}")
        try:
            # A cached answer has the labels of a first context.
            second = yield from replace(harder, call=replace(harder.call, cache_facts=None)).answer()
        except (AnswerError, StoreError) as error:
            notes.append(f"think harder: the first answer is kept ({describe_error(error)})")
            return first
        return max(second, first, key=strength)

    def withhold_forbidden(self, answer: Answer) -> Answer:
        """Return the answer, or a refusal in its place, if it says what the config forbids; a note has the words."""
        config = self.config
        found = _find_forbidden(answer.context, answer.text, config.forbidden) if answer.context else None
        if found is None:
            return answer
        self.log.notes.append(f"forbidden: the answer says {safe_repr(found, 80)}")
        if config.on_forbidden == "flag":
            return answer
        return replace(
            answer,
            text=config.refusal or language_of(self.call.language).refusal,
            resolved=None,
            quotes=(),
            quality=None,
            abstention_reason=self.log.notes[-1],
        )

    def answer(self) -> Flow:
        """Return the answer from the cache, or from what is found now, without its steps and notes."""
        call, config = self.call, self.config
        key = self._cache_key()
        if cached := (yield from self._recall(key)):
            reader = _reader(cached.context, config)
            generated = yield from stream_answer(ModelReply(cached.raw_text), reader, (), is_held=config.is_held)
            return self._finish_generated(cached.context, Evidence(cached.hits), generated)

        evidence = yield from evidence_flow(call, self.understanding, config.mode(call.mode), self.log)
        unanswered_lines = [language_of(call.language).unanswered.format(part) for part in evidence.unanswered]
        context = (yield from self._assemble(evidence, unanswered_lines)) if evidence.hits else None
        if context is None or not context.text:
            return self._finish(self._no_content, evidence, abstention_reason=evidence.missing_evidence_message)
        generated = yield from self._ask_model(context, unanswered_lines)
        if generated.reply.is_truncated:
            reason = f"the model ended by {generated.reply.finish_reason!r}: {_MORE_ROOM}"
            self.log.notes.append(f"answer: cut, {reason}")
        elif key and not evidence.unanswered:
            try:
                yield CacheSet(key, CachedAnswer(generated.raw_text, context, evidence.hits).dump_answer())
            except Exception as error:  # noqa: BLE001 - a cache saves work, and no more
                self.log.notes.append(f"cache: {describe_error(error)}")
        return self._finish_generated(context, evidence, generated)

    def _assemble(self, evidence: Evidence, unanswered_lines: Sequence[str]) -> Generator[Any, Any, Context]:
        call, config = self.call, self.config
        rules = (*config.extra_rules, *unanswered_lines)
        window = window_budget(call, config)
        query = evidence.query or self.understanding.rewritten or call.question
        request = Assemble(evidence.hits, query, evidence.supplement, call.filter, conversation=call.conversation)
        budget = (yield Compute(partial(fit_context, window, call, config, request, rules))) if window else None
        context: Context = yield replace(request, budget=budget)
        self.log.record_step("assemble", context.trace.summary)
        return context

    def _ask_model(self, context: Context, unanswered_lines: Sequence[str]) -> Generator[Any, Any, GeneratedAnswer]:
        """Return the model's answer, followed by a line for each part of the question whose search failed."""
        call, config = self.call, self.config
        system, user = build_prompt(call, context, unanswered_lines, config)
        history = yield from history_flow(call, context, (system, user), config, self.log)
        request = AskModel(
            "answer",
            (system, *history, user),
            config.answer_seconds,
            max_tokens=config.mode(call.mode).answer_tokens,
            mode=call.mode,
            is_streamed=call.is_streamed,
        )
        return (yield from stream_answer(request, _reader(context, config), unanswered_lines, is_held=config.is_held))

    def _cache_key(self) -> str | None:
        """Return the key of the answer in the cache; None if the cache isn't used."""
        if self.call.cache_facts is None:
            return None
        try:
            return cache_key(self.call, self.understanding, self.config)
        except InputError as reason:
            self.log.notes.append(f"cache: {reason}")
            return None

    def _recall(self, key: str | None) -> Generator[CacheGet, str | None, CachedAnswer | None]:
        """Return the cached answer, if there is one. A failing cache counts as empty."""
        if key is None:
            return None
        try:
            entry = yield CacheGet(key)
            cached = None if entry is None else CachedAnswer.load_answer(entry)
        except Exception as error:  # noqa: BLE001 - a cache saves work, and no more
            self.log.notes.append(f"cache: {describe_error(error)}")
            return None
        labels = self.call.conversation.labels
        if cached and labels and not labels.claim([int(citation.label) for citation in cached.context.citations]):
            self.log.notes.append("cache: the labels of the kept answer are taken in this conversation")
            return None
        if cached:
            self.log.record_step("recall", f"kept under {key[:12]}")
        return cached

    @property
    def _no_content(self) -> str:
        return self.config.no_content or language_of(self.call.language).no_content

    def _finish(self, text: str, evidence: Evidence = NO_EVIDENCE, **fields: Any) -> Answer:
        fields |= {"hits": evidence.hits, "retrieved": evidence.retrieved, "unanswered": evidence.unanswered}
        return Answer(self.call.question, text, self.call.mode, self.understanding, **fields)

    def _finish_generated(self, context: Context, evidence: Evidence, generated: GeneratedAnswer) -> Answer:
        quotes = context.check_quotes(generated.raw_text)
        resolved = _cite_unlabeled(generated.resolved, context, is_spoken=self.config.voice)
        used, count = len(resolved.citations), len(context.citations)
        is_labeled = resolved is generated.resolved
        outcome = f"{used:,} of {count:,} labels used" if is_labeled else f"no labels, {count:,} read"
        self.log.record_step("answer", outcome, generated.reply)
        return self._finish(
            generated.text,
            evidence,
            context=context,
            resolved=resolved,
            quotes=quotes,
            quality=measure_quality(generated.raw_text, resolved, quotes),
            finish_reason=generated.reply.finish_reason,
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
