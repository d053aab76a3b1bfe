"""The tokens of a context, by document and purpose."""

from __future__ import annotations

from collections import Counter as Tally
from collections.abc import Callable
from typing import NamedTuple

from ctxassembly.data.citations import Assembled
from ctxassembly.data.trace import Trace
from ctxassembly.inspect.runs import shares
from ctxassembly.tokens.counter import counter_for


class Spent(NamedTuple):
    """The parts of a context's text in tokens, or in characters if the context has no counter."""

    unit: str
    documents: dict[str, int]
    """By document id, the size of its own text."""
    headers: int
    summaries: int
    supplement: int
    joints: int
    """The difference between the whole and the sum of its parts: a token may cross the boundary of two parts."""
    free: int

    @property
    def total(self) -> int:
        """The size of the whole text."""
        return sum(self.documents.values()) + self.headers + self.summaries + self.supplement + self.joints


def spent(context: Assembled) -> Spent:
    """The parts of the text of `context`. They add up exactly to its tokens."""
    count, unit = counting(context)
    documents: Tally[str] = Tally()
    headers = summaries = 0
    supplement = count(context.supplement) if context.supplement else 0
    for block, share in shares(context):
        assert block.citation is not None  # noqa: S101 - only labels have shares
        body = block.text[len(share.header) + len(share.summary) :]
        headers += count(share.header)
        summaries += count(share.summary)
        documents[block.citation.document_id] += count(body)
    whole = context.token_count if context.encoding is not None else len(context.text)
    joints = whole - sum(documents.values()) - headers - summaries - supplement
    free = context.trace.max_tokens - whole if context.encoding is not None else 0
    return Spent(unit, dict(documents), headers, summaries, supplement, joints, max(free, 0))


def funnel(trace: Trace) -> list[int]:
    """The number of chunks at the start, and after each stage that changed it."""
    numbers = [trace.stages[0].chunks_in] if trace.stages else []
    for stage in trace.stages:
        for number in (stage.chunks_in, stage.chunks_out):
            if number != numbers[-1]:
                numbers.append(number)
    return numbers


def counting(context: Assembled) -> tuple[Callable[[str], int], str]:
    """The function that counts texts of `context`, and its unit."""
    if context.encoding is None:
        return len, "characters"
    return counter_for(context.encoding).count, "tokens"
