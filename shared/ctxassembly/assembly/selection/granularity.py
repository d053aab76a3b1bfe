"""The selection plan for a query: sentences that are packed, or the order in which chunks or passages are included.

In a tight budget sentences find the most; with room for most of what was fetched, whole chunks and then whole passages
find as much, and read better. So `auto` compares the length of all candidates with the room (`pick_granularity`).

Where all hits would fit whole, none of them may be lost to a neighbor: see `keep_hits.py`.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from ctxassembly.assembly.rendering.layout import Layout
from ctxassembly.assembly.scoring.sentences import MIN_CHARS, ScoredSentences, split_and_score
from ctxassembly.assembly.scoring.weights import FUSED_WEIGHTS, HIT_MARGIN, MAX_FEW_HITS, WEIGHTS, Weights
from ctxassembly.assembly.selection.knapsack import pack_sentences, restrict_to_sentences
from ctxassembly.assembly.selection.result import FillResult, fill_result
from ctxassembly.config.assembly import AssemblyConfig, Granularity
from ctxassembly.data.candidates import BELOW_CUTOFF, Candidate, Exclusion


def group_by_granularity(candidates: Sequence[Candidate], granularity: Granularity) -> list[list[Candidate]]:
    """Return `candidates` grouped into items of that size, ordered by the first candidate of each."""
    if granularity == "chunk":
        return [[candidate] for candidate in candidates]
    if granularity == "passage":
        return group_by_passage(candidates)
    return _group_by_keys(candidates, [candidate.chunk.document_id for candidate in candidates])


def group_by_passage(candidates: Sequence[Candidate]) -> list[list[Candidate]]:
    """Return `candidates` grouped by passage: chunks of one document at consecutive positions."""
    passage_numbers: dict[int, int] = {}
    passage, before = 0, None
    for candidate in sorted(candidates, key=lambda c: (c.chunk.document_id, c.position)):
        at = (candidate.chunk.document_id, candidate.position)
        passage += before not in (at, (at[0], at[1] - 1))
        passage_numbers[candidate.key] = passage
        before = at
    return _group_by_keys(candidates, [passage_numbers[candidate.key] for candidate in candidates])


def _group_by_keys(candidates: Sequence[Candidate], keys: Sequence[object]) -> list[list[Candidate]]:
    groups: dict[object, list[Candidate]] = {}
    for candidate, key in zip(candidates, keys, strict=True):
        groups.setdefault(key, []).append(candidate)
    return list(groups.values())


MAX_PASSAGE_PRESSURE = 1.25
"""Length of all candidates relative to the room. Up to here whole passages find as much as chunks."""
MAX_CHUNK_PRESSURE = 3.0
"""Up to here whole chunks find as much as sentences."""
MAX_CHUNK_SHARE = 0.2
"""Share of the room that the longest chunk takes: above it, whole chunks leave too much of the room unused."""
SURE_SHARE = 0.9
"""Share of the room: hits that take less by estimate are assumed to fit whole, without a count."""


class SelectionPlan(NamedTuple):
    """The packed sentences, or the candidates in the order in which to include them."""

    packed: FillResult | None
    ranked: Sequence[Candidate] = ()
    """Best first, if nothing is packed."""
    below_cutoff: Mapping[int, Exclusion] = MappingProxyType({})
    """The candidates below the minimum relevance, by key."""
    protected: ScoredSentences | None = None
    """The sentences of all candidates, if all hits fit whole, so that none may be lost."""
    drops_hits: bool = False
    """True if so many candidates rank above the last hit that it is sure to be lost, so filling isn't tried."""
    relevance: Mapping[int, float] = MappingProxyType({})
    """The relevance of each to the query, by key; empty without a query."""


def plan_selection(
    layout: Layout,
    candidates: Sequence[Candidate],
    query: str,
    config: AssemblyConfig,
    scorer_scores: Mapping[str, float] = MappingProxyType({}),
) -> SelectionPlan:
    """Return the plan for `candidates` by the words of `query`, and by `scorer_scores` of sentences if given."""
    chars_per_token = layout.chars_per_token(candidates[0])
    free_chars = min((layout.max_tokens - layout.token_count) * chars_per_token, config.max_characters or math.inf)
    granularity = config.effective_granularity(query)
    hits: list[Candidate] = []
    if config.min_relevance is None:
        hits = _only_hits(candidates)
        if config.granularity == "auto" and granularity == "sentence":
            granularity = pick_granularity([len(candidate.text) for candidate in candidates], free_chars)
    protects_hits = bool(hits) and _all_hits_fit(layout, hits, free_chars)
    weights = choose_weights(candidates, config)
    if protects_hits:
        weights = weights._replace(neighbor=weights.neighbor + HIT_MARGIN)
    sentences = split_and_score(layout.document_texts(candidates), query, config.min_relevance, weights, scorer_scores)
    plan = None
    if granularity == "sentence":
        plan = _plan_sentences(layout, candidates, sentences, hits if protects_hits else ())
    plan = plan or _plan_ranked(layout, candidates, sentences, granularity)
    drops_hits = protects_hits and _would_drop_hits(layout, plan.ranked, free_chars)
    return plan._replace(
        protected=sentences if protects_hits else None, drops_hits=drops_hits, relevance=sentences.relevance()
    )


def choose_weights(candidates: Sequence[Candidate], config: AssemblyConfig) -> Weights:
    """Return the weights of sentences for how the hits among `candidates` were found, without a margin.

    They are `FUSED_WEIGHTS` for more than `MAX_FEW_HITS` hits if the metadata of some says that a keyword search found
    them. With `min_relevance` they are always `WEIGHTS`, so that its scale stays the same.
    """
    hits = _only_hits(candidates)
    is_fused = len(hits) > MAX_FEW_HITS and any("keyword_rank" in hit.chunk.metadata for hit in hits)
    return FUSED_WEIGHTS if is_fused and config.min_relevance is None else WEIGHTS


def pick_granularity(lengths: Sequence[int], free_chars: float) -> Granularity:
    """Return the granularity that `auto` uses for candidates with `lengths` in a room of `free_chars` characters.

    The tighter the room, the finer the granularity.
    """
    if max(lengths) > MAX_CHUNK_SHARE * free_chars or sum(lengths) > MAX_CHUNK_PRESSURE * free_chars:
        return "sentence"
    return "passage" if sum(lengths) <= MAX_PASSAGE_PRESSURE * free_chars else "chunk"


def _plan_sentences(
    layout: Layout, candidates: Sequence[Candidate], sentences: ScoredSentences, protected: Sequence[Candidate]
) -> SelectionPlan | None:
    """Return the plan with the best sentences packed, `protected` hits first; None if no sentence fits."""
    packed = pack_sentences(
        layout, sentences, layout.chars_per_token(candidates[0]), sentences.best_sentence_per_hit(protected)
    )
    if packed and layout.is_empty and (best := _best_if_too_long(sentences, packed.forms)):
        plan = _plan_ranked(layout, candidates, sentences, "sentence")
        return plan._replace(ranked=[best, *(candidate for candidate in plan.ranked if candidate.key != best.key)])
    return SelectionPlan(fill_result(*packed, candidates, sentences)) if packed else None


def _best_if_too_long(sentences: ScoredSentences, selected_keys: Collection[int]) -> Candidate | None:
    """Return the hit with the best sentence if that is too long to fit: it is shortened rather than replaced."""
    boundaries = sentences.boundaries
    best_index = next(
        (place for place in sentences.indexes_by_score if boundaries[place + 1] - boundaries[place] >= MIN_CHARS), -1
    )
    if any(
        best_index in candidate_span.sentence_range and candidate_span.candidate.key in selected_keys
        for candidate_span in sentences.candidate_spans
    ):
        return None
    hits = (candidate for candidate in restrict_to_sentences(sentences, {best_index}).values() if candidate.is_hit)
    return min(hits, key=lambda candidate: candidate.rank, default=None)


def _plan_ranked(
    layout: Layout, candidates: Sequence[Candidate], sentences: ScoredSentences, granularity: Granularity
) -> SelectionPlan:
    """Return the plan with candidates by score, without those below the cutoff; passages stay together."""
    below_cutoff = sentences.below_cutoff()
    if granularity == "passage":  # judged as a whole, by its best sentence
        passages = [frozenset(candidate.key for candidate in passage) for passage in group_by_passage(candidates)]
        below_cutoff = set().union(*(passage for passage in passages if passage <= below_cutoff))
    ranked = sentences.rank_candidates(candidate for candidate in candidates if candidate.key not in below_cutoff)
    if granularity == "passage":
        ranked = [candidate for passage in group_by_passage(ranked) for candidate in passage]
    exclusions = {
        candidate.key: Exclusion(BELOW_CUTOFF, layout.text_tokens(candidate))
        for candidate in candidates
        if candidate.key in below_cutoff
    }
    return SelectionPlan(None, ranked, exclusions)


def _would_drop_hits(layout: Layout, ranked: Sequence[Candidate], free_chars: float) -> bool:
    """Return whether `ranked` up to the last hit is sure to take more than `free_chars` characters."""
    last_hit = max((number for number, candidate in enumerate(ranked, 1) if candidate.is_hit), default=0)
    return sum(layout.added_lengths(ranked[:last_hit])) * SURE_SHARE > free_chars


def _only_hits(candidates: Iterable[Candidate]) -> list[Candidate]:
    return [candidate for candidate in candidates if candidate.is_hit]


def _all_hits_fit(layout: Layout, hits: Sequence[Candidate], free_chars: float) -> bool:
    """Return whether `hits` fit whole; an estimate if they take less than `SURE_SHARE` of `free_chars` characters.

    If the estimate is wrong, each hit keeps a sentence though not all fit. Counting would take a tenth more time.
    """
    return sum(layout.added_lengths(hits)) <= SURE_SHARE * free_chars or (layout.might_fit(hits) and layout.fits(hits))
