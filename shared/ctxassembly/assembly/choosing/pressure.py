"""Relief where not everything fits, before candidates are weighed against each other.

Hits below the floor go first, then crumbs, then the ends of long chunks. Each step is taken only as long as not
everything fits, and none of them leaves nothing.
"""

from __future__ import annotations

from collections.abc import Container, Sequence
from typing import NamedTuple

from ctxassembly.assembly.choosing.cut import BestSentences, beginning, fitting_end, fitting_excerpt
from ctxassembly.assembly.rendering.layout import Layout
from ctxassembly.config.assembly import AssemblyConfig
from ctxassembly.data.candidates import BELOW_FLOOR, TOO_SHORT, Candidate, LeftOut, Reason
from ctxassembly.safe_repr import shown
from ctxassembly.tokens.counter import MOST_CHARS_PER_TOKEN


class Relieved(NamedTuple):
    """All the candidates in their order, some of them cut, and those of them that give way, by key."""

    candidates: tuple[Candidate, ...]
    left_out: dict[int, LeftOut]
    notes: tuple[str, ...]


def relieve(
    layout: Layout, candidates: Sequence[Candidate], config: AssemblyConfig, best_sentences: BestSentences | None
) -> Relieved:
    """Take out of `candidates`, best first, what gives way to others where not all of them fit.

    First the hits below `relevance_floor` go, with the neighbours that were fetched for them; then chunks with fewer
    tokens than `min_chunk_tokens`; then chunks with more than `max_chunk_tokens` are cut to that: to their best
    sentences if there is a ranking, else to their beginning.
    """
    notes: list[str] = []
    low = _below_floor(layout, candidates, config.relevance_floor)
    left_out = _gone(layout, low, candidates, BELOW_FLOOR)
    if low and not left_out:
        notes.append(f"relevance_floor: no hit reaches {config.relevance_floor:g}, all stay")
    standing = _without(candidates, left_out)
    left_out |= _gone(layout, _too_short(layout, standing, config.min_chunk_tokens), standing, TOO_SHORT)
    standing = _without(candidates, left_out)
    if candidates and (why := left_out.get(candidates[0].key)):
        notes.append(f"{why.reason}: the best hit, {shown(candidates[0].chunk.id, 80)}, makes room for others")
    limit = config.max_chunk_tokens
    if limit is not None and not layout.fits(standing):
        limited = {candidate.key: _limited(layout, candidate, limit, best_sentences) for candidate in standing}
        candidates = [limited.get(candidate.key, candidate) for candidate in candidates]
    return Relieved(tuple(candidates), left_out, tuple(notes))


def _below_floor(layout: Layout, candidates: Sequence[Candidate], floor: float | None) -> list[Candidate]:
    """The hits with a score below `floor`, and the neighbours that are there because of them."""
    if floor is None or layout.fits(candidates):
        return []
    low = {
        candidate.rank
        for candidate in candidates
        if candidate.is_hit and candidate.score is not None and candidate.score < floor
    }
    return [candidate for candidate in candidates if candidate.rank in low]


def _too_short(layout: Layout, candidates: Sequence[Candidate], least: int) -> list[Candidate]:
    if not least or layout.fits(candidates):
        return []
    return [candidate for candidate in candidates if layout.text_tokens(candidate) < least]


def _gone(
    layout: Layout, going: Sequence[Candidate], standing: Sequence[Candidate], reason: Reason
) -> dict[int, LeftOut]:
    """Those that go, by key; nobody if that would be everyone."""
    if len(going) == len(standing):
        return {}
    return {candidate.key: LeftOut(reason, layout.text_tokens(candidate)) for candidate in going}


def _without(candidates: Sequence[Candidate], left_out: Container[int]) -> tuple[Candidate, ...]:
    return tuple(candidate for candidate in candidates if candidate.key not in left_out)


def _limited(layout: Layout, candidate: Candidate, limit: int, best_sentences: BestSentences | None) -> Candidate:
    """`candidate` with at most `limit` tokens of its text; as it is if not even a character has so few."""
    if layout.text_tokens(candidate) <= limit:
        return candidate
    ranked = best_sentences([candidate]) if best_sentences else ()
    if best := fitting_excerpt(ranked, lambda some: layout.text_tokens(some[0]) <= limit):
        return best[0]._replace(shortened_by="max_chunk_tokens")

    def begun(end: int) -> Candidate:
        return beginning(candidate, end, "max_chunk_tokens")

    text = candidate.text[: limit * MOST_CHARS_PER_TOKEN]
    end = fitting_end(text, len(text) - len(text.lstrip()), lambda end: layout.text_tokens(begun(end)) <= limit)
    return begun(end) if end else candidate
