"""What gives way where not everything fits, before anything is weighed against anything else.

Each step is taken only as long as not everything fits, and none of them leaves nothing.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple

from ctxassembly.assembly.choosing.cut import BestSentences, beginning, fitting_end, fitting_excerpt
from ctxassembly.assembly.rendering.layout import Layout
from ctxassembly.data.candidates import Candidate, LeftOut
from ctxassembly.data.reasons import BELOW_FLOOR, TOO_SHORT, Reason
from ctxassembly.settings.config import AssemblyConfig
from ctxassembly.shown import shown
from ctxassembly.tokens.lower_bound import MOST_CHARS_PER_TOKEN


class Relieved(NamedTuple):
    """All the candidates in their order, some of them cut, and those of them that give way, by key."""

    candidates: tuple[Candidate, ...]
    left_out: dict[int, LeftOut]
    notes: tuple[str, ...]


def relieve(
    layout: Layout, candidates: Sequence[Candidate], config: AssemblyConfig, best_sentences: BestSentences | None
) -> Relieved:
    """What of `candidates`, best first, is left to choose from where not all of them fit.

    First the hits below `relevance_floor` go, and what was fetched for them; then what has fewer tokens than
    `min_chunk_tokens`; then what has more than `max_chunk_tokens` is cut to that: to its best sentences if there are
    any to choose from, else to its beginning.
    """
    standing, notes = tuple(candidates), []
    left_out: dict[int, LeftOut] = {}
    if config.relevance_floor is not None and not layout.fits(standing):
        low = _below(standing, config.relevance_floor)
        left_out |= _going(layout, low, standing, BELOW_FLOOR)
        if low and not left_out:
            notes.append(f"relevance_floor: no hit reaches {config.relevance_floor:g}, all stay")
        standing = tuple(each for each in standing if each.key not in left_out)
    if config.min_chunk_tokens and not layout.fits(standing):
        short = [each for each in standing if layout.text_tokens(each) < config.min_chunk_tokens]
        left_out |= _going(layout, short, standing, TOO_SHORT)
        standing = tuple(each for each in standing if each.key not in left_out)
    if candidates and (why := left_out.get(candidates[0].key)):
        notes.append(f"{why.reason}: the best hit, {shown(candidates[0].chunk.id, 80)}, makes room for others")
    if config.max_chunk_tokens is not None and not layout.fits(standing):
        limit = config.max_chunk_tokens
        limited = {each.key: _limited(each, limit, layout, best_sentences) for each in standing}
        candidates = [limited.get(each.key, each) for each in candidates]
    return Relieved(tuple(candidates), left_out, tuple(notes))


def _below(candidates: Sequence[Candidate], floor: float) -> list[Candidate]:
    """The hits with a score below `floor`, and the neighbours that are there because of them."""
    low = {each.rank for each in candidates if each.is_hit and each.score is not None and each.score < floor}
    return [each for each in candidates if each.rank in low]


def _going(
    layout: Layout, going: Sequence[Candidate], standing: Collection[Candidate], reason: Reason
) -> dict[int, LeftOut]:
    if len(going) == len(standing):
        return {}
    return {each.key: LeftOut(reason, layout.text_tokens(each)) for each in going}


def _limited(candidate: Candidate, limit: int, layout: Layout, best_sentences: BestSentences | None) -> Candidate:
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
