"""What became of each chunk, and why.

A chunk is read whole, or a part of it is, or another one has its text, or it is left out: for the budget, for what it
says of the question, or because only the window's neighbors were asked for.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ctxassembly.assembly.decisions import Outcomes
from ctxassembly.assembly.join import Text
from ctxassembly.assembly.render.page import Page
from ctxassembly.assembly.render.write import RUN_SEPARATOR, Rendered
from ctxassembly.assembly.select.fit import Selection
from ctxassembly.assembly.units import Barred, Units, best_in_chunks
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

if TYPE_CHECKING:
    from ctxassembly.assembly.units import Bools


class Fates(NamedTuple):
    """What became of the text that each chunk of the pool owns, by its number."""

    spans: Sequence[Sequence[Span]]
    """Where it is read in the joined text."""
    characters: Sequence[int]
    """How many characters of it are read."""
    is_whole: Sequence[bool]
    is_lost: Sequence[bool]
    """Whether any of it is left out that neither others nor the conversation have."""
    because_of: Mapping[int, int]
    """For chunks of which others have what is left out, the first of those."""


def find_fates(text: Text, selection: Selection, barred: Barred) -> Fates:
    """Return the fates of the chunks of the pool."""
    units, mask, copies = selection.units, selection.fitted.mask, selection.copies
    spans, characters = _read_spans(text, selection.fitted.rendered)
    left_out = ~mask & (units.ends > units.starts)
    copied = np.zeros(len(mask), bool)
    copied[[unit for unit, other in copies.items() if mask[other]]] = True
    is_whole = ~_have_any(units, left_out)
    is_whole[[*barred.by]] = False
    is_lost = _have_any(units, left_out & ~copied & ~units.barred)
    owner = np.searchsorted(text.owns, units.starts, "right") - 1
    because_of = {}
    for number in np.flatnonzero(_have_any(units, left_out & copied) & ~is_lost).tolist():
        first = units.firsts[number] + np.argmax(copied[units.firsts[number] : units.lasts[number]])
        because_of[number] = int(owner[copies[int(first)]])
    return Fates(spans, characters, is_whole.tolist(), is_lost.tolist(), because_of)


def _have_any(units: Units, mask: Bools) -> Bools:
    """Return which chunks have any of the units in `mask`."""
    counts = np.append(0, np.cumsum(mask))
    have: Bools = counts[units.lasts] > counts[units.firsts]
    return have


def _read_spans(text: Text, rendered: Rendered) -> tuple[list[list[Span]], list[int]]:
    """Return where the text that each chunk owns is read, and how many characters that are."""
    owns, spans, characters = rendered.layout.owns, [list[Span]() for _ in text.owns], [0] * len(text.owns)
    for label in rendered.layout.labels:
        for start, end in label.runs:
            for number in label.chunks:
                first, last = max(start, owns[number]), min(end, text.ends[number])
                if first < last:
                    spans[number].append((first, last))
                    characters[number] += last - first
    return spans, characters


def shortened_chunks(
    page: Page, fates: Fates, by: Shortening, special: Mapping[int, Shortening], chars_per_token: float
) -> dict[int, Shortened]:
    """Return the chunks that are read in part, by number. The reason is `by`, but for the chunks in `special`."""
    found = {}
    for number, (characters, is_whole) in enumerate(zip(fates.characters, fates.is_whole, strict=True)):
        if characters and not is_whole:
            chunk = page.pool.candidates[number].chunk
            other = "repeated" if number in fates.because_of else by
            why = by if fates.is_lost[number] else special.get(number, other)
            if why == "sentence":
                tokens = [max(round(length / chars_per_token), 1) for length in (len(chunk.text), characters)]
            else:
                read = RUN_SEPARATOR.join([page.text.text[start:end] for start, end in fates.spans[number]])
                tokens = [page.count(chunk.text), page.count(read)]
            found[number] = Shortened(chunk.id, why, *tokens)
    return found


class Known(NamedTuple):
    """Everything that decisions are made of."""

    page: Page
    selection: Selection
    barred: Barred
    fates: Fates
    shortened: Mapping[int, Shortened]
    chars_per_token: float


def find_unread(known: Known) -> dict[int, Outcomes]:
    """Return what became of each chunk of the pool of which nothing is read, by its number."""
    units = known.selection.units
    is_offered = np.zeros(len(units.starts), bool)
    is_offered[known.selection.offered] = True
    offered, characters = _have_any(units, is_offered).tolist(), known.fates.characters
    return {number: _unread(known, number, one) for number, one in enumerate(offered) if not characters[number]}


def _unread(known: Known, number: int, is_offered: bool) -> Outcomes:
    candidate, fates = known.page.pool.candidates[number], known.fates
    size = len(candidate.chunk.text)
    if (reason := known.barred.reasons.get(number)) is not None:
        tokens = max(round(size / known.chars_per_token), 1) if reason == IRRELEVANT else None
        return Outcomes("dropped", reason, None, 0, tokens)
    if fates.is_whole[number] and (container := _container(known, number)) is not None:
        return Outcomes("contained", CONTAINED, container, size)
    if number in fates.because_of:
        return Outcomes("duplicate", REPEATED, _other(known, number))
    if candidate.distance > known.page.config.window:  # fetched for the query to choose from
        return Outcomes("dropped", OUTSIDE_WINDOW)
    reason = OVER_BUDGET if is_offered else BELOW_CUTOFF
    return Outcomes("dropped", reason, None, 0, max(round(size / known.chars_per_token), 1))


def _read(known: Known, number: int) -> Outcomes:
    """Return what became of a chunk of which something is read."""
    text, owns = known.page.text, known.selection.fitted.rendered.layout.owns
    stripped = owns[number] - text.begins[number] + text.headers[number]
    if known.fates.is_whole[number]:
        is_neighbor = known.page.pool.candidates[number].distance > 0
        return Outcomes("kept", "neighbor" if is_neighbor else "hit", None, stripped)
    by = known.shortened[number].by
    return Outcomes("compressed" if by in COMPRESSIONS else "cut", by, _other(known, number), stripped)


def _other(known: Known, number: int) -> str | None:
    """Return the id of the chunk that has what is left out of the one at `number`."""
    other = known.fates.because_of.get(number)
    return None if other is None else known.page.pool.candidates[other].chunk.id


def left_out_note(known: Known, unread: Mapping[int, Outcomes]) -> str:
    """Return a note if the best hit is left out and others are read, naming the most relevant one; else nothing."""
    page, fates = known.page, known.fates
    best = page.best
    if best not in unread or unread[best].reason not in (OVER_BUDGET, BELOW_CUTOFF) or not any(fates.characters):
        return ""
    relevance = best_in_chunks(known.selection.units, known.selection.units.relevance).tolist()
    first = max((at for at, characters in enumerate(fates.characters) if characters), key=relevance.__getitem__)
    names = [safe_repr(page.pool.candidates[at].chunk.id, 80) for at in (best, first)]
    winner = f"{names[1]}, more relevant to the query" if relevance[first] > relevance[best] else "others"
    return f"{unread[best].reason}: the best hit, {names[0]}, makes room for {winner}"


def _container(known: Known, number: int) -> str | None:
    """Return the id of the chunk that owns the text of the one at `number`, which owns none of it."""
    text = known.page.text
    begins = (at for at in range(number - 1, -1, -1) if text.owns[at] <= text.begins[number])
    at = next(begins, -1)
    return known.page.pool.candidates[at].chunk.id if at >= 0 and known.fates.characters[at] else None


def outcomes_by_key(known: Known, unread: Mapping[int, Outcomes]) -> dict[int, tuple[Candidate, Outcomes]]:
    """Return each candidate of the pool with what became of it, by its key, and with all that its decision says."""
    page, units = known.page, known.selection.units
    relevance = best_in_chunks(units, units.relevance).tolist() if page.is_by_query else [None] * len(units.firsts)
    return {
        candidate.key: (
            candidate,
            (unread.get(number) or _read(known, number))._replace(
                shortened=known.shortened.get(number),
                relevance=relevance[number],
                sent_as=known.barred.sent_as.get(number),
            ),
        )
        for number, candidate in enumerate(page.pool.candidates)
    }
