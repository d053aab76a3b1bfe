"""Filling of the budget by relevance to the query: the best sentences, or whole chunks or passages in their order.

In a tight budget sentences find the most; with room for most of what was fetched, whole chunks and then whole passages
find as much, and read better. So `auto` compares the length of all candidates with the room (`pick_granularity`).
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from itertools import accumulate

from ctxassembly.assembly.rendering.groups import added_lengths
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
SURE_EXCESS = 2.0
"""Multiple of the room: text that takes more by estimate is assumed not to fit, without a count."""


def exceeds_by_estimate(layout: Layout, candidates: Sequence[Candidate], chars_per_token: float) -> bool:
    """Return whether `candidates` have so much more text than fits into `layout` that nothing needs to be counted."""
    limit = SURE_EXCESS * (layout.max_tokens - layout.token_count) * chars_per_token
    lengths = added_lengths(candidates, layout.typesetter.get_join)
    return any(added_chars > limit for added_chars in accumulate(lengths))


def fill_by_relevance(
    layout: Layout, candidates: Sequence[Candidate], relevance: Relevance, policy: ShortenPolicy
) -> FillResult:
    """Add what fits of `candidates`, most relevant first by their sentences in `relevance`.

    `relevance.granularity` is the finest that may be used; `auto` uses a coarser one where the room allows.
    """
    config, sentences = layout.config, relevance.relevant_sentences.restricted_to(candidates)
    chars_per_token, unit, too_long = relevance.chars_per_token, relevance.granularity, None
    if config.granularity == "auto" and unit == "sentence" and sentences.cutoff == EVERY_SENTENCE:
        room = min((layout.max_tokens - layout.token_count) * chars_per_token, config.max_characters or math.inf)
        unit = pick_granularity([len(candidate.text) for candidate in candidates], room)
    if unit == "sentence" and (packed := pack_sentences(layout, sentences, chars_per_token)):
        too_long = _best_if_too_long(sentences, packed.forms) if layout.is_empty else None
        if not too_long:
            return fill_result(*packed, candidates, sentences)
    ranked, below_cutoff = _rank(candidates, sentences, in_passages=unit == "passage")
    if too_long:
        ranked = [too_long, *(candidate for candidate in ranked if candidate.key != too_long.key)]
    granularity = "chunk" if relevance.granularity == "sentence" else relevance.granularity
    result = fill(layout, ranked, granularity, policy)
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
        (at for at in map(int, sentences.ranking.order) if boundaries[at + 1] - boundaries[at] >= MIN_CHARS), -1
    )
    owners = [span.candidate for span in sentences.candidate_spans if best_index in span.sentence_range]
    if any(candidate.key in selected_keys for candidate in owners):
        return None
    hits = (form for form in restrict_to_sentences(sentences, {best_index}).values() if form.is_hit)
    return min(hits, key=lambda hit: hit.rank, default=None)


def _rank(
    candidates: Sequence[Candidate], sentences: ScoredSentences, *, in_passages: bool
) -> tuple[list[Candidate], list[Candidate]]:
    """Return `candidates` by relevance, and those below the cutoff.

    With `in_passages`, a passage stays together and is judged by its best sentence.
    """
    below = sentences.below_cutoff()
    if in_passages:
        passages = [{candidate.key for candidate in passage} for passage in group_by_passage(candidates)]
        below = set().union(*(passage for passage in passages if passage <= below))
    ranked = sentences.rank_candidates(candidate for candidate in candidates if candidate.key not in below)
    if in_passages:
        ranked = [candidate for passage in group_by_passage(ranked) for candidate in passage]
    return ranked, [candidate for candidate in candidates if candidate.key in below]
