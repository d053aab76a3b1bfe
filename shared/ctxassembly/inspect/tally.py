"""What the tokens of a context went to."""

from __future__ import annotations

from collections import Counter as Tally
from collections.abc import Callable
from typing import NamedTuple

from ctxassembly.data.assembled import Assembled
from ctxassembly.data.trace import Trace
from ctxassembly.inspect.runs import shares
from ctxassembly.tokens.counter import counter_for


class Spent(NamedTuple):
    """What the text of a context consists of. In tokens, or in characters if no one knows how to count tokens."""

    unit: str
    documents: dict[str, int]
    """What each document's own text takes, by its id."""
    headers: int
    summaries: int
    supplement: int
    joints: int
    """What the parts have less or more together than each alone: tokens reach across where two meet."""
    free: int

    @property
    def total(self) -> int:
        """All that is spent."""
        return sum(self.documents.values()) + self.headers + self.summaries + self.supplement + self.joints


def spent(context: Assembled) -> Spent:
    """What the text of `context` consists of; together exactly its tokens."""
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
    """The chunks that went in and what each stage that changed their number left."""
    numbers = [trace.stages[0].chunks_in] if trace.stages else []
    for stage in trace.stages:
        for number in (stage.chunks_in, stage.chunks_out):
            if number != numbers[-1]:
                numbers.append(number)
    return numbers


def counting(context: Assembled) -> tuple[Callable[[str], int], str]:
    """What counts a text of `context`, and the unit that it counts in."""
    if context.encoding is None:
        return len, "characters"
    return counter_for(context.encoding).count, "tokens"
