"""Whether an answer is weak enough to be given once more with more effort, and which of two is better."""

from __future__ import annotations

from ctxassembly.answering.answer import Answer
from ctxassembly.wording.prompts import NOT_ENOUGH

MIN_LABELED = 0.5
"""The least share of sentences with a label. An introduction and a closing sentence need none."""


def find_weakness(answer: Answer) -> str | None:
    """Return what is weak about `answer`; None if nothing is.

    >>> from ctxassembly import AnswerChain, Chunk, MemoryIndex, RetrievalConfig
    >>> index = MemoryIndex([Chunk("lab#0", "lab", "Ferritin is measured in the morning.", 0)])
    >>> chain = AnswerChain.from_index(index, lambda request: "In the morning.", RetrievalConfig(strategy="keyword"))
    >>> find_weakness(chain.answer("When is ferritin measured?")), find_weakness(chain.answer("xyzzy"))
    ('0 of 1 sentences have a label', 'retrieval: nothing usable was found')
    """
    if answer.abstention_reason is not None or answer.quality is None:
        return answer.abstention_reason
    if any(sentence in answer.text for sentence in NOT_ENOUGH.values()):
        return "the context doesn't suffice"
    quality = answer.quality
    if quality.unknown_labels or quality.quotes_not_found:
        return f"{quality.unknown_labels:,} unknown labels, {quality.quotes_not_found:,} quotes not found"
    has_labels = answer.context is not None and answer.context.has_labels
    if has_labels and quality.labeled is not None and quality.labeled < MIN_LABELED:
        return f"{round(quality.labeled * quality.sentences):,} of {quality.sentences:,} sentences have a label"
    return None


def strength(answer: Answer) -> tuple[bool, bool, float]:
    """Return a key by which the better of two answers sorts higher: it answers, has no weakness, has more labels."""
    labeled = answer.quality.labeled if answer.quality else None
    return answer.abstention_reason is None, find_weakness(answer) is None, labeled or 0.0
