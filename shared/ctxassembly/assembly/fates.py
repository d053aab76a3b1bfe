"""What became of each chunk, and why.

A chunk is read whole, or a part of it is, or another one has its text, or it is left out: for the budget, for what it
says of the question, or because only the window's neighbors were asked for.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from ctxassembly.assembly.decisions import Outcomes
from ctxassembly.assembly.join import Text
from ctxassembly.assembly.pool import Pool
from ctxassembly.assembly.render.page import Page
from ctxassembly.assembly.render.write import RUN_SEPARATOR, Rendered
from ctxassembly.assembly.select.fit import Selection
from ctxassembly.assembly.units import Barred, best_in_chunks
from ctxassembly.data.candidates import (
    BELOW_CUTOFF,
    COMPRESSIONS,
    CONTAINED,
    IRRELEVANT,
    OUTSIDE_WINDOW,
    OVER_BUDGET,
    REPEATED,
    Candidate,
    Shortening,
)
from ctxassembly.data.chunks import Span
from ctxassembly.data.trace import Shortened
from ctxassembly.safe_repr import safe_repr


class Fate(NamedTuple):
    """What became of one chunk of the pool."""

    spans: Sequence[Span]
    """Where its own text that is read is in the joined text."""
    is_whole: bool
    is_lost: bool
    """True if any of it is left out that neither others nor the conversation have."""
    because_of: int | None
    """The number of the chunk that has what is left out of it."""

    @property
    def characters(self) -> int:
        """How many characters of its own are read."""
        return sum(end - start for start, end in self.spans)


def find_fates(text: Text, selection: Selection, barred: Barred) -> list[Fate]:
    """Return the fate of each chunk of the pool, by its number."""
    units, mask, copies = selection.units, selection.fitted.mask, selection.copies
    read = _read_spans(text, selection.fitted.rendered)
    left_out = ~mask & (units.ends > units.starts)
    copied = np.zeros(len(mask), bool)
    copied[[unit for unit, other in copies.items() if mask[other]]] = True
    missing, lost, repeated = (
        np.append(0, np.cumsum(some)) for some in (left_out, left_out & ~copied & ~units.barred, left_out & copied)
    )
    owner = np.searchsorted(text.owns, units.starts, "right") - 1
    fates = []
    for number, (first, last) in enumerate(zip(units.firsts.tolist(), units.lasts.tolist(), strict=True)):
        is_whole = missing[last] == missing[first] and number not in barred.by
        is_lost = bool(lost[last] > lost[first])
        other = None
        if not is_lost and repeated[last] > repeated[first]:
            other = next(int(owner[copies[unit]]) for unit in range(first, last) if copied[unit])
        fates.append(Fate(read[number], bool(is_whole), is_lost, other))
    return fates


def _read_spans(text: Text, rendered: Rendered) -> list[list[Span]]:
    """Return where the text that each chunk owns is read."""
    owns, found = rendered.layout.owns, [list[Span]() for _ in text.owns]
    for label in rendered.layout.labels:
        for start, end in label.runs:
            for number in label.chunks:
                first, last = max(start, owns[number]), min(end, text.ends[number])
                if first < last:
                    found[number].append((first, last))
    return found


def shortened_chunks(
    page: Page, fates: list[Fate], by: Shortening, special: Mapping[int, Shortening], chars_per_token: float
) -> dict[int, Shortened]:
    """Return the chunks that are read in part, by number. The reason is `by`, but for the chunks in `special`."""
    found = {}
    for number, fate in enumerate(fates):
        if fate.characters and not fate.is_whole:
            chunk = page.pool.candidates[number].chunk
            why = by if fate.is_lost else special.get(number, by if fate.because_of is None else "repeated")
            if why == "sentence":
                tokens = [max(round(length / chars_per_token), 1) for length in (len(chunk.text), fate.characters)]
            else:
                read = RUN_SEPARATOR.join(page.text.text[start:end] for start, end in fate.spans)
                tokens = [page.count(chunk.text), page.count(read)]
            found[number] = Shortened(chunk.id, why, *tokens)
    return found


class Known(NamedTuple):
    """Everything that decisions are made of."""

    text: Text
    pool: Pool
    selection: Selection
    barred: Barred
    fates: list[Fate]
    shortened: Mapping[int, Shortened]
    chars_per_token: float
    window: int
    """Neighbors farther from their hit were fetched for the query to choose from."""


def find_outcomes(known: Known) -> list[Outcomes]:
    """Return what became of each chunk of the pool, by its number."""
    is_offered = np.zeros(len(known.selection.units.starts) + 1, np.intp)
    is_offered[known.selection.offered + 1] = 1
    offered = np.cumsum(is_offered)
    counts = (offered[known.selection.units.lasts] - offered[known.selection.units.firsts]).tolist()
    return [_outcome(known, number, bool(count)) for number, count in enumerate(counts)]


def _outcome(known: Known, number: int, is_offered: bool) -> Outcomes:
    text, pool, fate, barred = known.text, known.pool, known.fates[number], known.barred
    candidate = pool.candidates[number]
    owns, size = known.selection.fitted.rendered.layout.owns, len(candidate.chunk.text)
    stripped = owns[number] - text.begins[number]
    other = None if fate.because_of is None else pool.candidates[fate.because_of].chunk.id
    if fate.characters:
        if fate.is_whole:
            return Outcomes("kept", "neighbor" if candidate.distance else "hit", None, stripped)
        by = known.shortened[number].by
        return Outcomes("compressed" if by in COMPRESSIONS else "cut", by, other, stripped)
    if (reason := barred.reasons.get(number)) is not None:
        tokens = max(round(size / known.chars_per_token), 1) if reason == IRRELEVANT else None
        return Outcomes("dropped", reason, None, 0, tokens)
    if fate.is_whole and (container := _container(known, number)) is not None:
        return Outcomes("contained", CONTAINED, container, size)
    if fate.because_of is not None:
        return Outcomes("duplicate", REPEATED, other)
    if candidate.distance > known.window:
        return Outcomes("dropped", OUTSIDE_WINDOW)
    reason = OVER_BUDGET if is_offered else BELOW_CUTOFF
    return Outcomes("dropped", reason, None, 0, max(round(size / known.chars_per_token), 1))


def left_out_note(known: Known, outcomes: Sequence[Outcomes]) -> str:
    """Return a note if the best hit is left out and others are read, naming the most relevant one; else nothing."""
    candidates, fates = known.pool.candidates, known.fates
    best = min(range(len(candidates)), key=lambda at: (candidates[at].distance > 0, candidates[at].rank))
    outcome, reason = outcomes[best].outcome, outcomes[best].reason
    if outcome != "dropped" or reason not in (OVER_BUDGET, BELOW_CUTOFF) or not any(one.characters for one in fates):
        return ""
    relevance = best_in_chunks(known.selection.units, known.selection.units.relevance).tolist()
    first = max((at for at, fate in enumerate(fates) if fate.characters), key=relevance.__getitem__)
    names = [safe_repr(candidates[at].chunk.id, 80) for at in (best, first)]
    winner = f"{names[1]}, more relevant to the query" if relevance[first] > relevance[best] else "others"
    return f"{reason}: the best hit, {names[0]}, makes room for {winner}"


def _container(known: Known, number: int) -> str | None:
    """Return the id of the chunk that owns the text of the one at `number`, which owns none of it."""
    begins = (at for at in range(number - 1, -1, -1) if known.text.owns[at] <= known.text.begins[number])
    at = next(begins, -1)
    return known.pool.candidates[at].chunk.id if at >= 0 and known.fates[at].characters else None


def outcomes_by_key(
    known: Known, outcomes: Sequence[Outcomes], *, is_by_query: bool
) -> dict[int, tuple[Candidate, Outcomes]]:
    """Return each candidate of the pool with what became of it, by its key, and with all that its decision says."""
    units = known.selection.units
    relevance = best_in_chunks(units, units.relevance).tolist() if is_by_query else [None] * len(outcomes)
    return {
        candidate.key: (
            candidate,
            outcomes[number]._replace(
                shortened=known.shortened.get(number),
                relevance=relevance[number],
                sent_as=known.barred.sent_as.get(number),
            ),
        )
        for number, candidate in enumerate(known.pool.candidates)
    }
