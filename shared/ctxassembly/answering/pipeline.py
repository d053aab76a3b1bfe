"""An answer as a generator: understand -> search -> assemble -> ask -> resolve.

It yields requests and is sent replies, as the flows of assembly and retrieval do. Between them it yields pieces of the
answer, which need no reply: the driver passes them to the reader of the stream. Its value is the `Answer`.

A fault has one of three ends. Without understanding, or without one of several searches, the chain goes on, and the
answer says so. Where nothing usable was found it abstains, and no model is asked. Where no search answers, or the model
fails, the error is raised: half an answer is never presented as whole.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Any

from ctxassembly.answering.answer import Answer, AnswerPiece, measure_quality
from ctxassembly.answering.cache import CachedAnswer, cache_key
from ctxassembly.answering.call import AnswerCall, AnswerRecorder
from ctxassembly.answering.generate import GeneratedAnswer, build_prompt, replay_answer, stream_answer, unanswered_lines
from ctxassembly.answering.requests import AskModel, Assemble, CacheGet, CacheSet
from ctxassembly.answering.search import Evidence, evidence_flow
from ctxassembly.answering.understand import is_standalone, understand_flow
from ctxassembly.citations.reader import AnswerReader
from ctxassembly.config.answering import AnswerConfig
from ctxassembly.context import Context
from ctxassembly.conversations.labels import Labels
from ctxassembly.data.retrieval import QueryUnderstanding
from ctxassembly.safe_repr import describe_error

Flow = Generator[Any, Any, Answer]
_MORE_ROOM = "raise answer_tokens of the mode, or the model's own limit"


def answer_flow(call: AnswerCall, config: AnswerConfig, clock: Callable[[], float]) -> Flow:
    """Return the answer to a question.

    Raises:
        ConfigError: the mode is unknown.
        SearchError: no search answered.
        AnswerError: the model failed.
    """
    mode, log = config.mode(call.mode), AnswerRecorder(clock)
    understanding, has_standalone_question = yield from _understand(call, config, log)
    fixed_answer = next((one.answer for one in config.intents if one.label == understanding.intent), None)
    if fixed_answer is not None:
        return (
            yield from _abstain(
                fixed_answer, f"intent: {understanding.intent} ends the chain", call, understanding, log
            )
        )
    if not call.question.strip():
        reason = "question: there are no words to search for"
        return (yield from _abstain(config.no_content, reason, call, understanding, log))

    key = cache_key(call, understanding, config) if has_standalone_question else None
    if cached := (yield from _recall_answer(key, call.labels, log)):
        generated = yield from replay_answer(cached.raw_text, _reader(cached.context, config))
        return _build_answer(cached.context, Evidence(cached.hits), generated, call, understanding, log)

    evidence = yield from evidence_flow(call, understanding, mode, log)
    context: Context | None = None
    if evidence.hits:
        effective_query = understanding.rewritten or call.question
        context = yield Assemble(evidence.hits, evidence.query or effective_query, evidence.supplement, call.filter)
        log.record_step("assemble", context.trace.summary)
    if context is None or not context.text:
        return (
            yield from _abstain(
                config.no_content, evidence.missing_evidence_message, call, understanding, log, evidence
            )
        )
    generated = yield from _ask_model(context, evidence, call, config, log)
    if generated.reply.is_truncated:
        log.notes.append(f"answer: cut, the model ended by {generated.reply.finish_reason!r}: {_MORE_ROOM}")
    elif key and not call.history and not evidence.unanswered:
        yield from _store_answer(key, CachedAnswer(generated.raw_text, context, evidence.hits), log)
    return _build_answer(context, evidence, generated, call, understanding, log)


def _understand(
    call: AnswerCall, config: AnswerConfig, log: AnswerRecorder
) -> Generator[Any, Any, tuple[QueryUnderstanding, bool]]:
    """Return the understanding of the question, and True if the question is standalone."""
    understanding, reply = yield from understand_flow(call.question, call.history, config, call.today)
    log.notes += understanding.notes
    if reply or understanding.notes:
        parts = (understanding.intent, understanding.rewritten, *understanding.keywords, *understanding.sub_questions)
        log.record_step("understand", "; ".join(one for one in parts if one) or "as it is", reply)
    return understanding, is_standalone(call.question, call.history, config, understanding, reply)


def _abstain(
    text: str,
    reason: str,
    call: AnswerCall,
    understanding: QueryUnderstanding,
    log: AnswerRecorder,
    evidence: Evidence | None = None,
) -> Flow:
    """Return an answer that is not the model's."""
    yield AnswerPiece(text)
    evidence = evidence or Evidence()
    return Answer(
        call.question,
        text,
        call.mode,
        understanding,
        hits=evidence.hits,
        retrieved=evidence.retrieved,
        abstention_reason=reason,
        unanswered=evidence.unanswered,
        steps=tuple(log.steps),
        notes=tuple(log.notes),
    )


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


def _ask_model(
    context: Context, evidence: Evidence, call: AnswerCall, config: AnswerConfig, log: AnswerRecorder
) -> Generator[Any, Any, GeneratedAnswer]:
    """Return the model's answer."""
    prompt = build_prompt(call.question, context, call.history, evidence.unanswered, config)
    if prompt.dropped_count:
        log.notes.append(
            f"history: {prompt.dropped_count:,} messages left out, more than {config.history_tokens:,} tokens"
        )
    request = AskModel(
        "answer",
        prompt.messages,
        config.answer_seconds,
        max_tokens=config.mode(call.mode).answer_tokens,
        mode=call.mode,
        is_streamed=call.is_streamed,
    )
    return (yield from stream_answer(request, _reader(context, config), unanswered_lines(context, evidence.unanswered)))


def _reader(context: Context, config: AnswerConfig) -> AnswerReader:
    return context.reader("remove" if config.voice else "keep")


def _build_answer(
    context: Context,
    evidence: Evidence,
    generated: GeneratedAnswer,
    call: AnswerCall,
    understanding: QueryUnderstanding,
    log: AnswerRecorder,
) -> Answer:
    """Build the answer with its citations, quotes and quality."""
    quotes = context.check_quotes(generated.raw_text)
    log.record_step(
        "answer", f"{len(generated.resolved.citations):,} of {len(context.citations):,} labels used", generated.reply
    )
    return Answer(
        call.question,
        generated.text,
        call.mode,
        understanding,
        context=context,
        resolved=generated.resolved,
        quotes=quotes,
        quality=measure_quality(generated.raw_text, generated.resolved, quotes),
        hits=evidence.hits,
        retrieved=evidence.retrieved,
        unanswered=evidence.unanswered,
        finish_reason=generated.reply.finish_reason,
        steps=tuple(log.steps),
        notes=tuple(log.notes),
    )
