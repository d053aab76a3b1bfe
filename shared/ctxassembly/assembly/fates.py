"""What became of each chunk, and why.

A chunk is read whole, or a part of it is, or another one has its text, or it is left out: for the budget, for what it
says of the question, or because only the window's neighbors were asked for.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ctxassembly.assembly.join import Text
from ctxassembly.assembly.pool import Pool
from ctxassembly.assembly.render.write import Rendered
from ctxassembly.assembly.select.select import Selection
from ctxassembly.assembly.units import best_in_chunks
from ctxassembly.data.candidates import (
    BELOW_CUTOFF,
    COMPRESSIONS,
    CONTAINED,
    EMPTY,
    OUTSIDE_WINDOW,
    OVER_BUDGET,
    Candidate,
    Reason,
    Shortening,
)
from ctxassembly.data.trace import Decision, Shortened
from ctxassembly.text.words import MatchedTerms, TermQuery
from ctxassembly.tracing.retained_hits import is_retained
from ctxassembly.wording.metadata_labels import MetadataReader

if TYPE_CHECKING:
    from ctxassembly.assembly.units import Bools


class Fate(NamedTuple):
    """What became of one chunk of the pool."""

    characters: int
    """Of its own that are read."""
    is_whole: bool
    is_lost: bool
    """True if any of it is left out that neither others nor the conversation have."""
    because_of: int | None
    """The number of the chunk that has what is left out of it."""


def find_fates(text: Text, selection: Selection) -> list[Fate]:
    """Return the fate of each chunk of the pool, by its number."""
    units, mask, copies, barred = selection.units, selection.fitted.mask, selection.copies, selection.barred
    read = _read_characters(text, selection.fitted.rendered)
    left_out = ~mask & (units.ends > units.starts)
    copied = np.zeros(len(mask), bool)
    copied[[unit for unit, other in copies.items() if mask[other]]] = True
    missing, lost, repeated = (
        np.append(0, np.cumsum(some)) for some in (left_out, left_out & ~copied & ~barred.mask, left_out & copied)
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


def _read_characters(text: Text, rendered: Rendered) -> list[int]:
    """Return how many of the characters that each chunk owns are read."""
    owns, counts = rendered.layout.owns, [0] * len(text.owns)
    for label in rendered.layout.labels:
        for start, end in label.runs:
            for number in label.chunks:
                counts[number] += max(min(end, text.ends[number]) - max(start, owns[number]), 0)
    return counts


def shortened_chunks(
    pool: Pool, fates: list[Fate], by: Shortening, special: Mapping[int, Shortening], chars_per_token: float
) -> dict[int, Shortened]:
    """Return the chunks that are read in part, by number, with their tokens before and after, estimated by length.

    The reason is `by`, but for the chunks in `special`.
    """
    found = {}
    for number, fate in enumerate(fates):
        if fate.characters and not fate.is_whole:
            chunk = pool.candidates[number].chunk
            tokens = [max(round(length / chars_per_token), 1) for length in (len(chunk.text), fate.characters)]
            why = by if fate.is_lost else special.get(number, by if fate.because_of is None else "repeated")
            found[number] = Shortened(chunk.id, why, *tokens)
    return found


class Known(NamedTuple):
    """Everything that decisions are made of."""

    text: Text
    pool: Pool
    selection: Selection
    fates: list[Fate]
    shortened: Mapping[int, Shortened]
    chars_per_token: float


def decide(
    known: Known | None,
    everything: Iterable[Candidate],
    empty: Iterable[Candidate],
    copies: Mapping[int, tuple[Candidate, Reason]],
    window: int,
    query: str | None,
    reader: MetadataReader,
) -> tuple[Decision, ...]:
    """Return the decision on each candidate of `everything`, then on the empty ones. `copies` has the original of each."""
    given = [*everything]
    if known is None or not given:
        return tuple([_decide_empty(candidate, reader) for candidate in empty])
    term_query = TermQuery(query) if query else None
    numbers = {candidate.key: number for number, candidate in enumerate(known.pool.candidates)}
    top = best_in_chunks(known.selection.units, known.selection.scores.relevance) if query else None
    copy_ids: dict[int, list[str]] = defaultdict(list)
    for candidate in given:
        if candidate.key in copies:
            copy_ids[copies[candidate.key][0].key].append(candidate.chunk.id)
    is_offered = np.zeros(len(known.selection.units.starts), bool)
    is_offered[known.selection.offered] = True
    decisions: list[Decision] = []
    for candidate in given:
        original, why = copies.get(candidate.key, (candidate, None))
        number = numbers[original.key]
        now = known.pool.candidates[number]
        fate, part = known.fates[number], known.shortened.get(number)
        outcome, reason, because_of, stripped, tokens = _outcome(known, number, is_offered, window)
        value = None if top is None or why is not None or not np.isfinite(top[number]) else round(float(top[number]), 3)
        document_id, score = now.chunk.document_id, now.score
        if why is not None:
            document_id, score, part, tokens = candidate.chunk.document_id, candidate.score, None, None
            if outcome != "dropped":
                because_of = because_of or now.chunk.id
                outcome, reason = ("contained" if why == CONTAINED else "duplicate"), why
            stripped = len(candidate.chunk.text) if outcome == "contained" else 0
        is_known = (fate.characters and why is None) or is_retained(candidate)
        decisions.append(
            Decision(
                candidate.chunk.id,
                document_id,
                candidate.rank,
                candidate.distance,
                score,
                outcome,  # type: ignore[arg-type]
                reason,  # type: ignore[arg-type]
                because_of,
                tuple(copy_ids.get(candidate.key, ())),
                stripped,
                tokens,
                part,
                None if candidate.distance else reader.format_value(candidate.chunk, "search_method"),
                MatchedTerms(term_query, candidate.chunk.text) if term_query and is_known else None,
                value,
                known.selection.barred.sent_as.get(number),
            )
        )
    return (*decisions, *(_decide_empty(candidate, reader) for candidate in empty))


def _outcome(
    known: Known, number: int, is_offered: Bools, window: int
) -> tuple[str, str, str | None, int, int | None]:
    """Return outcome, reason, the chunk because of which, characters stripped, and tokens of what is dropped."""
    text, pool, fate = known.text, known.pool, known.fates[number]
    candidate = pool.candidates[number]
    stripped = text.owns[number] - text.begins[number]
    other = None if fate.because_of is None else pool.candidates[fate.because_of].chunk.id
    if fate.characters:
        if fate.is_whole:
            return "kept", "neighbor" if candidate.distance else "hit", None, stripped, None
        by = known.shortened[number].by
        return "compressed" if by in COMPRESSIONS else "cut", by, other, stripped, None
    first, last = int(known.selection.units.firsts[number]), int(known.selection.units.lasts[number])
    if (reason := known.selection.barred.reasons.get(number)) is not None:
        return "dropped", reason, None, 0, None
    if fate.is_whole and number and known.fates[number - 1].characters:
        return "contained", CONTAINED, pool.candidates[number - 1].chunk.id, len(candidate.chunk.text), None
    if fate.because_of is not None:
        return "contained", "repeated", other, len(candidate.chunk.text), None
    if candidate.distance > window:
        return "dropped", OUTSIDE_WINDOW, None, 0, None
    reason = OVER_BUDGET if is_offered[first:last].any() else BELOW_CUTOFF
    return "dropped", reason, None, 0, max(round(len(candidate.chunk.text) / known.chars_per_token), 1)


def _decide_empty(candidate: Candidate, reader: MetadataReader) -> Decision:
    chunk = candidate.chunk
    placed = chunk.id, chunk.document_id, candidate.rank, candidate.distance, candidate.score
    return Decision(*placed, "dropped", EMPTY, search_method=reader.format_value(chunk, "search_method"))
