"""The chunks kept out of a context, by rule, and the tokens that they would have taken."""

from __future__ import annotations

from collections import Counter as Tally
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import NamedTuple

from ctxassembly.data.candidates import EXACT, NEAR, REPEATED, SEMANTIC
from ctxassembly.data.chunks import Fragment
from ctxassembly.data.citations import Assembled
from ctxassembly.data.trace import Decision, Shortened, Trace
from ctxassembly.inspect.limits import COUNTED_CHUNKS
from ctxassembly.inspect.tally import counting

LEFT_OUT = "left out"
"""The rule of the budget; `left_out` has the reasons for its chunks."""


class LeftOut(NamedTuple):
    """The chunks left out for one reason, and the tokens that they would have added."""

    reason: str
    chunks: int
    tokens: int


class Saved(NamedTuple):
    """The chunks that one rule kept out of the context."""

    stage: int
    """Its place among the stages of the trace."""
    rule: str
    chunks: int
    tokens: int | None
    """None if unknown."""
    counted: int
    """The number of chunks that are in `tokens`."""


def left_out(trace: Trace) -> list[LeftOut]:
    """The reasons for which chunks were dropped, the most expensive first."""
    chunks: Tally[str] = Tally()
    tokens: Tally[str] = Tally()
    for decision in trace.decisions:
        if decision.outcome == "dropped":
            chunks[decision.reason] += 1
            tokens[decision.reason] += decision.tokens or 0
    found = (LeftOut(reason, number, tokens[reason]) for reason, number in chunks.items())
    return sorted(found, key=lambda row: (-row.tokens, -row.chunks, row.reason))


def saved(context: Assembled) -> list[Saved]:
    """The chunks that each rule kept out, stage by stage.

    The text of neighbours that were left out is no longer known, and so aren't their tokens.
    """
    stages = context.trace.stages
    expand = next((place for place, stage in enumerate(stages) if stage.name == "expand"), len(stages))
    rows = (
        row
        for place, stage in enumerate(stages)
        for row in (
            _duplicates(context, place, place > expand)
            if stage.name.endswith("dedup")
            else _for_budget(context.trace, place)
            if stage.name == "budget"
            else _repeated(context, place)
            if stage.name == "repeats"
            else _joined(context, place)
            if stage.name == "render"
            else ()
        )
    )
    return [row for row in rows if row.chunks]


def _duplicates(context: Assembled, place: int, of_neighbours: bool) -> Iterator[Saved]:
    copies = [decision for decision in context.trace.decisions if decision.outcome == "duplicate"]
    if context.trace.stages[place].name == "dedup":
        found = [
            decision for decision in copies if decision.reason == EXACT and (decision.distance > 0) is of_neighbours
        ]
        yield _row(context, place, "exact duplicates", len(found), _at_hand(context, found))
    else:
        for reason in (NEAR, SEMANTIC):
            found = [decision for decision in copies if decision.reason == reason]
            yield _row(context, place, f"{reason}s", len(found), _at_hand(context, found))


def _for_budget(trace: Trace, place: int) -> Iterator[Saved]:
    dropped = trace.left_out
    yield _shortened(place, "cut or compressed", [one for one in trace.shortened if one.by != REPEATED])
    yield Saved(place, LEFT_OUT, len(dropped), trace.left_out_tokens, len(dropped))


def _repeated(context: Assembled, place: int) -> Iterator[Saved]:
    yield _shortened(place, "without sentences repeated", [e for e in context.trace.shortened if e.by == REPEATED])
    gone = [
        decision
        for decision in context.trace.decisions
        if decision.outcome == "duplicate" and decision.reason == REPEATED
    ]
    yield _row(context, place, "repeated sentences alone", len(gone), _at_hand(context, gone))


def _shortened(place: int, rule: str, found: Sequence[Shortened]) -> Saved:
    return Saved(
        place,
        rule,
        len(found),
        sum(shortened.tokens_before - shortened.tokens_after for shortened in found),
        len(found),
    )


def _joined(context: Assembled, place: int) -> Iterator[Saved]:
    contained = [decision for decision in context.trace.decisions if decision.outcome == "contained"]
    yield _row(context, place, "contained in another", len(contained), _at_hand(context, contained))
    overlaps = [
        piece.candidate.chunk.text[max(piece.start - piece.shared, 0) : piece.start]
        for passage in context.passages
        for piece in passage.pieces
        if piece.shared
    ]
    count, unit = counting(context)
    tokens = sum(map(count, overlaps)) if overlaps and unit == "tokens" else None
    yield Saved(place, "overlap stripped", len(overlaps), tokens, len(overlaps))


def _at_hand(context: Assembled, found: Iterable[Decision]) -> list[Fragment]:
    fragments = {fragment.rank: fragment for fragment in context.hits}
    kept = (fragments[decision.rank] for decision in found if not decision.distance and decision.rank in fragments)
    return list(islice((fragment for fragment in kept if fragment.chunk.text), COUNTED_CHUNKS))


def _row(context: Assembled, place: int, rule: str, chunks: int, texts: Sequence[Fragment]) -> Saved:
    count, unit = counting(context)
    # Of a long text the ends stand for the whole.
    tokens = sum(
        round(count(fragment.chunk.text) * fragment.characters / len(fragment.chunk.text)) for fragment in texts
    )
    return Saved(place, rule, chunks, tokens if texts and unit == "tokens" else None, len(texts))
