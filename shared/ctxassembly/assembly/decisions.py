"""The decision on each chunk, as the trace has it: made of what became of the chunks, when somebody reads the trace."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from ctxassembly.data.candidates import CONTAINED, EMPTY, Candidate, Reason
from ctxassembly.data.trace import IN_CONTEXT, Decision, Outcome, Shortened
from ctxassembly.text.words import TermQuery
from ctxassembly.tracing import is_retained
from ctxassembly.wording.metadata_labels import MetadataReader


class Outcomes(NamedTuple):
    """What became of a chunk that is no copy."""

    outcome: Outcome
    reason: Any
    because_of: str | None = None
    stripped: int = 0
    tokens: int | None = None
    shortened: Shortened | None = None
    relevance: float | None = None
    sent_as: str | None = None


def decide(
    everything: Sequence[Candidate],
    empty: Sequence[Candidate],
    outcomes: Mapping[int, tuple[Candidate, Outcomes]],
    copies: Mapping[int, tuple[Candidate, Reason]],
    query: str | None,
    reader: MetadataReader,
) -> Iterator[Decision]:
    """Yield the decision on each candidate of `everything`, then on those without text.

    `copies` has the original of each copy; `outcomes` has each of the others, as it came to be, with what became of it.
    Both are by key.
    """
    terms = TermQuery(query) if query else None
    copy_ids: dict[int, list[str]] = defaultdict(list)
    for candidate in everything if copies else ():
        if candidate.key in copies:
            copy_ids[copies[candidate.key][0].key].append(candidate.chunk.id)
    for candidate in everything:
        original, why = copies.get(candidate.key, (candidate, None))
        now, one = outcomes[original.key]
        if why is not None:
            now, one = candidate, _of_copy(candidate, now, one, why)
        is_known = (one.outcome in IN_CONTEXT and why is None) or is_retained(candidate)
        is_chosen = one.relevance is not None and math.isfinite(one.relevance)
        yield Decision(
            candidate.chunk.id,
            now.chunk.document_id,
            candidate.rank,
            candidate.distance,
            now.score,
            one.outcome,
            # A neighbor may have a better rank by then: of the hit inside it.
            "neighbor" if candidate.distance and one.reason == "hit" else one.reason,
            one.because_of,
            tuple(copy_ids.get(candidate.key, ())),
            one.stripped,
            one.tokens,
            one.shortened,
            None if candidate.distance else reader.line(candidate.chunk, "search_method"),
            terms.find_terms(candidate.chunk.text) if terms and is_known else None,
            round(one.relevance, 3) if is_chosen and one.relevance is not None else None,
            one.sent_as,
        )
    for candidate in empty:
        chunk = candidate.chunk
        placed = chunk.id, chunk.document_id, candidate.rank, candidate.distance, candidate.score
        yield Decision(*placed, "dropped", EMPTY, search_method=reader.line(chunk, "search_method"))


def _of_copy(copy: Candidate, original: Candidate, one: Outcomes, why: Reason) -> Outcomes:
    """Return what became of a copy: it shares the fate of its original, of which `one` says what became."""
    if one.outcome == "dropped":
        return Outcomes("dropped", one.reason, one.because_of, sent_as=one.sent_as)
    is_part = why == CONTAINED
    stripped = len(copy.chunk.text) if is_part else 0
    outcome: Outcome = "contained" if is_part else "duplicate"
    return Outcomes(outcome, why, one.because_of or original.chunk.id, stripped, sent_as=one.sent_as)
