"""Sentences packed into the budget: the best ones for the query, in contiguous passages.

The sentences of all candidates are weighed against each other, wherever they stand. They are taken by value as long as
an estimate of the whole fits; a gap of one sentence is closed. Then the whole is rendered and counted, and the estimate
corrected until it hits the budget from below. What comes out is candidates of which only these sentences are kept: from
there on it is joined, cited and traced like any other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ctxassembly.scale import Scale
from ctxassembly.types import Candidate, Span
from ctxassembly.units import Unit, covered

HEADER_TOKENS = 12
"""A first guess at what a header takes; what it really takes is counted."""
MARKER_TOKENS = 4
TRIES = 5
"""How often the whole is counted; an estimate is off by a few tokens, so the second or third try hits."""
CLOSE_ENOUGH = 0.98
"""Of the budget: another try would gain less than a sentence."""


def pack(scale: Scale, units: Sequence[Unit], tokens: Sequence[int]) -> list[Candidate]:
    """The candidates with the units that fit best, hits and neighbours in any order; none if not even one unit fits.

    `tokens` are those of the units, each alone.
    """
    best: list[Candidate] = []
    order = sorted(range(len(units)), key=lambda place: (-units[place].value, place))
    most = scale.max_tokens
    room = most - scale.token_count
    for _ in range(TRIES):
        chosen = _greedy(units, tokens, order, room)
        candidates = _kept(units, chosen)
        if not candidates:
            break
        fits, size = scale.fits(candidates), scale.weigh(candidates)
        if fits:
            best = candidates
            if size >= most * CLOSE_ENOUGH or len(chosen) == len(units):
                break
        elif size <= most:  # too many characters
            size = most * 2
        room += most - size if most != size else -1
    return best


def _greedy(units: Sequence[Unit], tokens: Sequence[int], order: Sequence[int], room: int) -> set[int]:
    """The places of the units that are taken: the best ones whose estimated cost is within `room`."""
    taken: set[int] = set()
    documents: set[str] = set()
    seen: set[str] = set()
    for place in order:
        if place in taken:
            continue
        unit = units[place]
        if (text := " ".join(unit.text.split())) in seen:
            continue
        new = [place]
        for gap, beyond in ((place - 1, place - 2), (place + 1, place + 2)):
            if beyond in taken and gap not in taken and _linked(units, gap, place) and _linked(units, gap, beyond):
                new.append(gap)
        document_id = unit.line.members[0][1].chunk.document_id
        joins = sum(beside in taken and _linked(units, place, beside) for beside in (place - 1, place + 1))
        cost = sum(tokens[each] for each in new) + MARKER_TOKENS * (1 - joins - len(new) + 1)
        cost += 0 if document_id in documents else HEADER_TOKENS
        if cost <= room:
            room -= cost
            taken.update(new)
            documents.add(document_id)
            seen.add(text)
    return taken


def _linked(units: Sequence[Unit], one: int, other: int) -> bool:
    later = max(one, other)
    return 0 < later < len(units) and units[later].follows


def _kept(units: Sequence[Unit], chosen: set[int]) -> list[Candidate]:
    """The candidates that the chosen units are made of, each reduced to its share of them."""
    kept: list[Candidate] = []
    upto: dict[int, int] = {}
    for candidate, begin, end, places in covered(units):
        spans: list[Span] = []
        whole = True
        for place in places:
            unit = units[place]
            if place not in chosen:
                whole = False
                continue
            # What two chunks share is the first one's.
            start, stop = max(unit.start, begin, upto.get(place, 0)), min(unit.end, end)
            if start < stop:
                upto[place] = stop
                if spans and spans[-1][1] == start - begin:
                    spans[-1] = (spans[-1][0], stop - begin)
                else:
                    spans.append((start - begin, stop - begin))
        if whole and places:
            kept.append(candidate)
        elif spans and any(candidate.chunk.text[first:last].strip() for first, last in spans):
            kept.append(replace(candidate, kept=tuple(spans), shortened_by="sentence"))
    return kept
