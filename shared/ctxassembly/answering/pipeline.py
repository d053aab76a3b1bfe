"""An answer as a generator: understand -> search -> assemble -> ask -> resolve.

It yields requests and is sent replies, as the flows of assembly and retrieval do. Between them it yields pieces of the
answer, which nobody answers: the driver hands them to whoever reads the stream. Its value is the `Answer`.

A fault has one of three ends. Without understanding, or without one of several searches, the chain goes on, and the
answer says so. Where nothing usable was found it abstains, and no model is asked. Where no search answers, or the model
fails, the error is raised: half an answer is never presented as whole.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Any

from ctxassembly.answering.answer import Answer, AnswerPiece, quality_of
from ctxassembly.answering.cache import Kept, key_of
from ctxassembly.answering.call import Call, Log
from ctxassembly.answering.generate import Told, missing, prompt_for, retelling, telling
from ctxassembly.answering.requests import AskModel, Assemble, Keep, Recall
from ctxassembly.answering.search import Evidence, evidence_flow
from ctxassembly.answering.understand import stands_alone, understand_flow
from ctxassembly.citations.reader import AnswerReader
from ctxassembly.config.answering import AnswerConfig
from ctxassembly.context import Context
from ctxassembly.conversations.labels import Labels
from ctxassembly.data.retrieval import Understanding
from ctxassembly.safe_repr import failure

Flow = Generator[Any, Any, Answer]
_MORE_ROOM = "raise answer_tokens of the mode, or the model's own limit"


def answer_flow(call: Call, config: AnswerConfig, clock: Callable[[], float]) -> Flow:
    """The answer to a question.

    Raises:
        ConfigError: the mode is unknown.
        SearchError: no search answered.
        AnswerError: the model failed.
    """
    mode, log = config.mode(call.mode), Log(clock)
    understood, is_alone = yield from _understand(call, config, log)
    ending = next((one.answer for one in config.intents if one.label == understood.intent), None)
    if ending is not None:
        return (yield from _abstain(ending, f"intent: {understood.intent} ends the chain", call, understood, log))
    if not call.question.strip():
        reason = "question: there are no words to search for"
        return (yield from _abstain(config.no_content, reason, call, understood, log))

    key = key_of(call, understood, config) if is_alone else None
    if kept := (yield from _recalled(key, call.labels, log)):
        told = yield from retelling(kept.written, _reader(kept.context, config))
        return _answered(kept.context, Evidence(kept.hits), told, call, understood, log)

    evidence = yield from evidence_flow(call, understood, mode, log)
    context: Context | None = None
    if evidence.hits:
        meant = understood.rewritten or call.question
        context = yield Assemble(evidence.hits, evidence.query or meant, evidence.supplement, call.filter)
        log.step("assemble", context.trace.summary)
    if context is None or not context.text:
        return (yield from _abstain(config.no_content, evidence.lack, call, understood, log, evidence))
    told = yield from _asked(context, evidence, call, config, log)
    if told.reply.is_cut:
        log.notes.append(f"answer: cut, the model ended by {told.reply.finish!r}: {_MORE_ROOM}")
    elif key and not call.history and not evidence.unanswered:
        yield from _keep(key, Kept(told.written, context, evidence.hits), log)
    return _answered(context, evidence, told, call, understood, log)


def _understand(call: Call, config: AnswerConfig, log: Log) -> Generator[Any, Any, tuple[Understanding, bool]]:
    """The question understood; True if it stands alone."""
    understood, reply = yield from understand_flow(call.question, call.history, config, call.today)
    log.notes += understood.notes
    if reply or understood.notes:
        said = (understood.intent, understood.rewritten, *understood.keywords, *understood.sub_questions)
        log.step("understand", "; ".join(one for one in said if one) or "as it is", reply)
    return understood, stands_alone(call.question, call.history, config, understood, reply)


def _abstain(
    text: str, reason: str, call: Call, understood: Understanding, log: Log, evidence: Evidence | None = None
) -> Flow:
    """An answer that no model gave."""
    yield AnswerPiece(text)
    evidence = evidence or Evidence()
    return Answer(
        call.question,
        text,
        call.mode,
        understood,
        hits=evidence.hits,
        retrieved=evidence.retrieved,
        abstained=reason,
        unanswered=evidence.unanswered,
        steps=tuple(log.steps),
        notes=tuple(log.notes),
    )


def _recalled(key: str | None, labels: Labels | None, log: Log) -> Generator[Recall, str | None, Kept | None]:
    """The answer that the cache has; a failing cache is one without it."""
    if key is None:
        return None
    try:
        entry = yield Recall(key)
        kept = None if entry is None else Kept.loaded(entry)
    except Exception as error:  # noqa: BLE001 - a cache saves work, and no more
        log.notes.append(f"cache: {failure(error)}")
        return None
    if kept and labels and not labels.claim([int(citation.label) for citation in kept.context.citations]):
        log.notes.append("cache: the labels of the kept answer are taken in this conversation")
        return None
    if kept:
        log.step("recall", f"kept under {key[:12]}")
    return kept


def _keep(key: str, kept: Kept, log: Log) -> Generator[Keep, None, None]:
    try:
        yield Keep(key, kept.dumped())
    except Exception as error:  # noqa: BLE001 - see above
        log.notes.append(f"cache: {failure(error)}")


def _asked(
    context: Context, evidence: Evidence, call: Call, config: AnswerConfig, log: Log
) -> Generator[Any, Any, Told]:
    """The model's answer."""
    prompt = prompt_for(call.question, context, call.history, evidence.unanswered, config)
    if prompt.left_out:
        log.notes.append(f"history: {prompt.left_out:,} messages left out, more than {config.history_tokens:,} tokens")
    request = AskModel(
        "answer",
        prompt.messages,
        config.answer_seconds,
        max_tokens=config.mode(call.mode).answer_tokens,
        mode=call.mode,
        streamed=call.streamed,
    )
    return (yield from telling(request, _reader(context, config), missing(context, evidence.unanswered)))


def _reader(context: Context, config: AnswerConfig) -> AnswerReader:
    return context.reader("remove" if config.voice else "keep")


def _answered(
    context: Context, evidence: Evidence, told: Told, call: Call, understood: Understanding, log: Log
) -> Answer:
    """The answer with its citations, quotes and quality."""
    quotes = context.check_quotes(told.written)
    log.step("answer", f"{len(told.resolved.citations):,} of {len(context.citations):,} labels used", told.reply)
    return Answer(
        call.question,
        told.text,
        call.mode,
        understood,
        context=context,
        resolved=told.resolved,
        quotes=quotes,
        quality=quality_of(told.written, told.resolved, quotes),
        hits=evidence.hits,
        retrieved=evidence.retrieved,
        unanswered=evidence.unanswered,
        finish=told.reply.finish,
        steps=tuple(log.steps),
        notes=tuple(log.notes),
    )
