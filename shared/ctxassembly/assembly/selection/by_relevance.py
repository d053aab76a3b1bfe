"""Filling of the budget by relevance to the query: the best sentences, or whole chunks or passages in their order.

In a tight budget sentences find the most; with room for most of what was fetched, whole chunks and then whole passages
find as much, and read better. So `auto` compares the length of all candidates with the room (`pick_granularity`).

Where all hits would fit whole, something of each is kept. Otherwise a neighbor that repeats the words of the query
could displace a hit that answers in other words. Recall is .001 lower with this rule on four sets, since much of the
evidence is next to the hits (`tests/bench/README.md`).
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from itertools import accumulate
from typing import NamedTuple

from ctxassembly.assembly.rendering.layout import Layout
from ctxassembly.assembly.scoring.relevance import Relevance
from ctxassembly.assembly.scoring.sentences import EVERY_SENTENCE, MIN_CHARS, ScoredSentences
from ctxassembly.assembly.selection.fill import fill, group_by_passage
from ctxassembly.assembly.selection.knapsack import pack_sentences, restrict_to_sentences
from ctxassembly.assembly.selection.result import FillResult, fill_result
from ctxassembly.assembly.selection.shorten import ShortenPolicy
from ctxassembly.config.assembly import Granularity
from ctxassembly.data.candidates import BELOW_CUTOFF, Candidate, Exclusion

MAX_PASSAGE_PRESSURE = 1.25
"""Length of all candidates relative to the room. Up to here whole passages find as much as chunks."""
MAX_CHUNK_PRESSURE = 3.0
"""Up to here whole chunks find as much as sentences."""
MAX_CHUNK_SHARE = 0.2
"""Share of the room that the longest chunk takes: above it, whole chunks leave too much of the room unused."""
SURE_SHARE = 0.9
"""Share of the room: hits that take less by estimate are assumed to fit whole, without a count."""
SURE_EXCESS = 2.0
"""Multiple of the room: text that takes more by estimate is assumed not to fit, without a count."""


def exceeds_by_estimate(layout: Layout, candidates: Sequence[Candidate], chars_per_token: float) -> bool:
    """Return whether `candidates` have so much more text than fits into `layout` that nothing needs to be counted."""
    free_chars = (layout.max_tokens - layout.token_count) * chars_per_token
    return sum(layout.added_lengths(candidates)) > SURE_EXCESS * free_chars


def fill_by_relevance(
    layout: Layout,
    candidates: Sequence[Candidate],
    relevance: Relevance,
    granularity: Granularity,
    policy: ShortenPolicy,
) -> FillResult:
    """Add what fits of `candidates`, most relevant first by their sentences in `relevance`.

    `granularity` is the finest that may be used; `auto` uses a coarser one where the room allows.
    """
    config, sentences = layout.config, relevance.relevant_sentences.restricted_to(candidates)
    chars_per_token = relevance.chars_per_token
    free_chars = min((layout.max_tokens - layout.token_count) * chars_per_token, config.max_characters or math.inf)
    hits: list[Candidate] = []
    unit = granularity
    if sentences.cutoff == EVERY_SENTENCE:  # the budget decides alone
        hits = [candidate for candidate in candidates if candidate.is_hit]
        hits = hits if _all_fit(layout, hits, free_chars) else []
        if config.granularity == "auto" and granularity == "sentence":
            unit = pick_granularity([len(candidate.text) for candidate in candidates], free_chars)
    packed, too_long = None, None
    if unit == "sentence":
        packed = pack_sentences(layout, sentences, chars_per_token, sentences.best_sentence_per_hit(hits))
        too_long = _best_if_too_long(sentences, packed.forms) if packed and layout.is_empty else None
    if packed and not too_long:
        result = fill_result(*packed, candidates, sentences)
        return _keep_every_hit(layout, candidates, sentences, _lost(result, hits)) or result
    ranked, below_cutoff = _rank(candidates, sentences, in_passages=unit == "passage")
    if too_long:
        ranked = [too_long, *(candidate for candidate in ranked if candidate.key != too_long.key)]
    if hits and (kept := _keep_every_hit(layout, candidates, sentences, _hits_after(layout, ranked, free_chars))):
        return kept
    result = fill(layout, ranked, "chunk" if granularity == "sentence" else granularity, policy)
    if kept := _keep_every_hit(layout, candidates, sentences, _lost(result, hits)):
        return kept
    excluded = {candidate.key: Exclusion(BELOW_CUTOFF, layout.text_tokens(candidate)) for candidate in below_cutoff}
    return result._replace(exclusions=excluded | result.exclusions)


def pick_granularity(lengths: Sequence[int], free_chars: float) -> Granularity:
    """Return the granularity that `auto` uses for candidates with `lengths` in a room of `free_chars` characters.

    The tighter the room, the finer the granularity.
    """
    if max(lengths) > MAX_CHUNK_SHARE * free_chars or sum(lengths) > MAX_CHUNK_PRESSURE * free_chars:
        return "sentence"
    return "passage" if sum(lengths) <= MAX_PASSAGE_PRESSURE * free_chars else "chunk"


def _best_if_too_long(sentences: ScoredSentences, selected_keys: Collection[int]) -> Candidate | None:
    """Return the hit with the best sentence if that is too long to fit: it is shortened rather than replaced."""
    boundaries = sentences.boundaries
    best_index = next(
        (place for place in sentences.indexes_by_score if boundaries[place + 1] - boundaries[place] >= MIN_CHARS), -1
    )
    owners = [span.candidate for span in sentences.candidate_spans if best_index in span.sentence_range]
    if any(candidate.key in selected_keys for candidate in owners):
        return None
    hits = (form for form in restrict_to_sentences(sentences, {best_index}).values() if form.is_hit)
    return min(hits, key=lambda hit: hit.rank, default=None)


class _Ranked(NamedTuple):
    """Candidates by relevance, and those below the cutoff."""

    ranked: list[Candidate]
    below_cutoff: list[Candidate]


def _rank(candidates: Sequence[Candidate], sentences: ScoredSentences, *, in_passages: bool) -> _Ranked:
    """Rank `candidates`; with `in_passages`, a passage stays together and is judged by its best sentence."""
    below = sentences.below_cutoff()
    if in_passages:
        passages = [{candidate.key for candidate in passage} for passage in group_by_passage(candidates)]
        below = set().union(*(passage for passage in passages if passage <= below))
    ranked = sentences.rank_candidates(candidate for candidate in candidates if candidate.key not in below)
    if in_passages:
        ranked = [candidate for passage in group_by_passage(ranked) for candidate in passage]
    return _Ranked(ranked, [candidate for candidate in candidates if candidate.key in below])


def _all_fit(layout: Layout, hits: Sequence[Candidate], free_chars: float) -> bool:
    """Return whether `hits` fit whole; an estimate unless they take about as many characters as `free_chars`.

    If the estimate is wrong, each hit keeps a sentence though not all fit, or none does though all fit. Counting would
    take a tenth more time.
    """
    chars = sum(layout.added_lengths(hits))
    if chars <= SURE_SHARE * free_chars:
        return True
    return chars < SURE_EXCESS * free_chars and layout.might_fit(hits) and layout.fits(hits)


def _lost(result: FillResult, hits: Sequence[Candidate]) -> list[Candidate]:
    """Return the `hits` that are excluded, or of which all that is kept is part of other chunks."""
    rendered = result.layout.rendered_keys if any(hit.key in result.shortened for hit in hits) else frozenset()
    return [
        hit for hit in hits if hit.key in result.exclusions or (hit.key in result.shortened and hit.key not in rendered)
    ]


def _hits_after(layout: Layout, ranked: Sequence[Candidate], free_chars: float) -> list[Candidate]:
    """Return the hits that come so late among `ranked` that those before take more than `free_chars` characters."""
    lengths = accumulate(layout.added_lengths(ranked))
    return [
        candidate
        for candidate, length in zip(ranked, lengths, strict=True)
        if candidate.is_hit and length * SURE_SHARE > free_chars
    ]


def _keep_every_hit(
    layout: Layout, candidates: Sequence[Candidate], sentences: ScoredSentences, lost: Sequence[Candidate]
) -> FillResult | None:
    """Fill with `candidates` by relevance next to the best sentence of each hit from the first of the `lost` ones on.

    If a hit is lost then, too, all of them come first, whole. None if there are no `lost` hits, or not all hits fit.
    """
    if not lost:
        return None
    ranked, lost_keys = sentences.rank_candidates(candidates), {hit.key for hit in lost}
    hits = [candidate for candidate in ranked if candidate.is_hit]
    if not layout.fits(hits):
        return None
    first_lost = next(number for number, hit in enumerate(hits) if hit.key in lost_keys)
    best = sentences.best_sentence_per_hit(hits[first_lost:])
    reserved = {key: form for key, form in restrict_to_sentences(sentences, best).items() if form.is_hit}
    if layout.fits(list(reserved.values())) and not _lost(result := _fill_next_to(layout, ranked, reserved), hits):
        return result
    return _fill_next_to(layout, ranked, {hit.key: hit for hit in hits})


def _fill_next_to(layout: Layout, ranked: Sequence[Candidate], reserved: dict[int, Candidate]) -> FillResult:
    """Fill the room that the `reserved` forms leave with the `ranked` candidates, whole."""
    others = [candidate for candidate in ranked if candidate.key not in reserved]
    result = fill(layout.with_candidates(list(reserved.values())), others, "chunk", ShortenPolicy())
    parts = {key: form for key, form in reserved.items() if form.kept_spans is not None}
    return result._replace(shortened={**parts, **result.shortened})
