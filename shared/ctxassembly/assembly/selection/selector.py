"""Selection within the budget, next to a supplement.

The order is from required to optional: the chunks that must be kept whole, then everything in the window if that fits.
Otherwise weak candidates are dropped, the query ranks the rest, and they fill the room.
"""

from __future__ import annotations

import math
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import NamedTuple

from ctxassembly.assembly.rendering.layout import Layout, empty_layout
from ctxassembly.assembly.scoring.sentences import ScoredSentences, split_and_score
from ctxassembly.assembly.selection.compress import ExtractionResult
from ctxassembly.assembly.selection.fill import fill
from ctxassembly.assembly.selection.granularity import SelectionPlan, choose_weights, plan_selection
from ctxassembly.assembly.selection.keep_hits import drops_a_hit, keep_every_hit
from ctxassembly.assembly.selection.knapsack import CLOSE_ENOUGH
from ctxassembly.assembly.selection.result import FillResult
from ctxassembly.assembly.selection.shorten import (
    SentenceRanker,
    ShortenPolicy,
    fit_excerpt,
    longest_prefix,
    sentence_ranker,
    truncate,
)
from ctxassembly.assembly.selection.supplement import RenderedSupplement
from ctxassembly.config.assembly import AssemblyConfig, Granularity
from ctxassembly.data.candidates import (
    BELOW_FLOOR,
    IRRELEVANT,
    OUTSIDE_WINDOW,
    OVER_BUDGET,
    TOO_SHORT,
    Candidate,
    Exclusion,
    Reason,
)
from ctxassembly.data.chunks import has_flag
from ctxassembly.data.metadata_keys import MetadataKeys, get_path
from ctxassembly.safe_repr import safe_repr
from ctxassembly.tokens.counter import MAX_CHARS_PER_TOKEN, TokenCounter

# Before candidates are ranked, weak ones are dropped: hits below the floor, then very short chunks, then the ends of
# long ones. Each step is taken only while not everything fits, and none of them drops everything.


class PrefilterResult(NamedTuple):
    """All candidates in their order, some of them shortened, and the dropped ones by key."""

    candidates: tuple[Candidate, ...]
    exclusions: dict[int, Exclusion]
    notes: tuple[str, ...]


def drop_weak(
    layout: Layout, candidates: Sequence[Candidate], config: AssemblyConfig, rank_sentences: SentenceRanker | None
) -> PrefilterResult:
    """Drop weak ones of `candidates`, best first, if not all of them fit.

    First the hits below `relevance_floor` are dropped, with the neighbors that were fetched for them; then chunks with
    fewer tokens than `min_chunk_tokens`; then chunks with more than `max_chunk_tokens` are shortened to that: to their
    best sentences if `rank_sentences` is given, else to their beginning.
    """
    notes: list[str] = []
    below_floor = _below_floor(layout, candidates, config.relevance_floor)
    exclusions = _exclusions_for(layout, below_floor, candidates, BELOW_FLOOR)
    if below_floor and not exclusions:
        notes.append(f"relevance_floor: no hit reaches {config.relevance_floor:g}, all stay")
    remaining = _not_excluded(candidates, exclusions)
    exclusions |= _exclusions_for(layout, _too_short(layout, remaining, config.min_chunk_tokens), remaining, TOO_SHORT)
    remaining = _not_excluded(candidates, exclusions)
    if candidates and (exclusion := exclusions.get(candidates[0].key)):
        notes.append(
            f"{exclusion.reason}: the best hit, {safe_repr(candidates[0].chunk.id, 80)}, makes room for others"
        )
    limit = config.max_chunk_tokens
    if limit is not None and not layout.fits(remaining):
        limited = {candidate.key: _limit_length(layout, candidate, limit, rank_sentences) for candidate in remaining}
        candidates = [limited.get(candidate.key, candidate) for candidate in candidates]
    return PrefilterResult(tuple(candidates), exclusions, tuple(notes))


def _below_floor(layout: Layout, candidates: Sequence[Candidate], floor: float | None) -> list[Candidate]:
    """Return the hits with a score below `floor`, and the neighbors fetched for them."""
    if floor is None or layout.fits(candidates):
        return []
    low = {
        candidate.rank
        for candidate in candidates
        if candidate.is_hit and candidate.score is not None and candidate.score < floor
    }
    return [candidate for candidate in candidates if candidate.rank in low]


def _too_short(layout: Layout, candidates: Sequence[Candidate], min_tokens: int) -> list[Candidate]:
    if not min_tokens or layout.fits(candidates):
        return []
    return [candidate for candidate in candidates if layout.text_tokens(candidate) < min_tokens]


def _exclusions_for(
    layout: Layout, weak: Sequence[Candidate], remaining: Sequence[Candidate], reason: Reason
) -> dict[int, Exclusion]:
    """Return the exclusions of `weak`, by key; none if they are all that remains."""
    if len(weak) == len(remaining):
        return {}
    return {candidate.key: Exclusion(reason, layout.text_tokens(candidate)) for candidate in weak}


def _not_excluded(candidates: Sequence[Candidate], exclusions: Container[int]) -> tuple[Candidate, ...]:
    return tuple(candidate for candidate in candidates if candidate.key not in exclusions)


def _limit_length(layout: Layout, candidate: Candidate, limit: int, rank_sentences: SentenceRanker | None) -> Candidate:
    """Return `candidate` with at most `limit` tokens of its text, or unchanged if not even a character fits."""
    if layout.text_tokens(candidate) <= limit:
        return candidate
    ranked = rank_sentences([candidate]) if rank_sentences else ()
    if best := fit_excerpt(ranked, lambda some: layout.text_tokens(some[0]) <= limit):
        return best[0]._replace(shortened_by="max_chunk_tokens")

    def truncated(end: int) -> Candidate:
        return truncate(candidate, end, "max_chunk_tokens")

    text = candidate.text[: limit * MAX_CHARS_PER_TOKEN]
    end = longest_prefix(text, len(text) - len(text.lstrip()), lambda end: layout.text_tokens(truncated(end)) <= limit)
    return truncated(end) if end else candidate


def place_keep_whole(layout: Layout, candidates: Sequence[Candidate], window: int, keys: MetadataKeys) -> Layout:
    """Return `layout` with the `candidates`, best first, that must be kept whole and fit.

    A neighbor is included only if all hits fit next to it.
    """
    hits_left = {candidate.key: candidate for candidate in candidates if candidate.is_hit}
    for candidate in candidates:
        if candidate.distance > window or not has_flag(candidate.chunk, "keep_whole", keys):
            continue
        required_hits = [] if candidate.is_hit else list(hits_left.values())
        if layout.might_fit([candidate]) and layout.fits([*required_hits, candidate]):
            layout = layout.with_candidates([candidate])
            hits_left.pop(candidate.key, None)
    return layout


TYPICAL_CHARS_PER_TOKEN = 4.0
"""For English prose. It only decides how many texts a language model reads."""


@dataclass(frozen=True)
class Selector:
    """Selection with one config for one query, without state."""

    config: AssemblyConfig
    counter: TokenCounter
    query: str | None
    scorer_scores: Mapping[str, float] = field(default_factory=dict)
    """The scores of a scorer, by sentence text."""

    @property
    def granularity(self) -> Granularity:
        """The unit that is included or excluded as a whole."""
        return self.config.effective_granularity(self.query)

    @property
    def can_continue_filling(self) -> bool:
        """True if there may be room for candidates that were not tried."""
        return self.config.overflow == "skip" and self.granularity in ("passage", "chunk")

    @property
    def should_remove_repeats(self) -> bool:
        """True if sentences that passages share are kept in one of them only."""
        config = self.config
        return config.enabled and config.dedup_sentences and config.dedup != "none" and self.granularity != "document"

    def must_keep_whole(self, candidate: Candidate) -> bool:
        """Return whether the metadata of `candidate` requires that it is kept whole."""
        return self.config.enabled and has_flag(candidate.chunk, "keep_whole", self.config.keys)

    def scored_sentences(
        self, candidates: Sequence[Candidate], supplement: RenderedSupplement
    ) -> ScoredSentences | None:
        """Return the sentences scored for the query; None if rank alone decides, or everything fits."""
        if not (self._is_query_aware and candidates):
            return None
        layout = self._empty_layout(candidates, supplement)
        if self.config.min_relevance is None and layout.might_fit(candidates) and layout.fits(candidates):
            return None
        return self._split_and_score(layout, candidates)

    def select(self, candidates: Sequence[Candidate], supplement: RenderedSupplement) -> Selection:
        """Select from `candidates`, best first, next to `supplement`.

        The supplement is dropped if the best hit would otherwise be excluded, shortened or lose its header.
        """
        selection = self._select_once(candidates, supplement)
        must_be_whole = self.granularity != "sentence"  # at which the best hit may be included in part
        if (
            not supplement.parts
            or not candidates
            or (selection.is_selected(candidates[0], whole=must_be_whole) and not self._drops_whole_hit(selection))
        ):
            return selection
        notes = ("supplement: left out, the best hit does not fit beside it",)
        without_supplement = self._select_once(candidates, RenderedSupplement(notes=notes))
        if self._drops_whole_hit(selection) and not self._drops_whole_hit(without_supplement):
            return without_supplement
        return (
            without_supplement
            if without_supplement.is_selected(candidates[0], whole=must_be_whole) or not selection.layout.labels()
            else selection
        )

    def remaining_tokens(self, selection: Selection) -> int:
        """Return about how many tokens remain next to the candidates that are included whole."""
        whole = (candidate for candidate in selection.selected if candidate.key not in selection.shortened)
        max_tokens = min(self.config.token_limit, (self.config.max_characters or math.inf) / TYPICAL_CHARS_PER_TOKEN)
        return int(max_tokens - sum(map(selection.layout.text_tokens, whole)))

    def reselect_after_compression(self, selection: Selection, extraction: ExtractionResult) -> Selection:
        """Select again after a language model read the deferred candidates, without those that it found irrelevant.

        Its excerpts are used only for candidates that don't fit whole, now that there may be more room.
        """
        layout = self._layout_with_whole(selection.candidates, selection.supplement)
        exclusions = {
            key: exclusion for key, exclusion in selection.exclusions.items() if exclusion.reason != OVER_BUDGET
        }
        irrelevant = [candidate for candidate in selection.candidates if candidate.key in extraction.irrelevant_keys]
        notes = selection.notes
        if len(irrelevant) == len(selection.candidates) - len(exclusions):
            notes += ("compress: the model finds nothing relevant in any chunk, all stay",)
        else:
            exclusions |= {
                candidate.key: Exclusion(IRRELEVANT, layout.text_tokens(candidate)) for candidate in irrelevant
            }
        undecided = replace(selection, layout=layout, exclusions=exclusions, notes=notes)
        return self._fill_selection(undecided, self._compression_ranker(layout, selection.candidates), extraction.forms)

    def fill_more(self, layout: Layout, candidates: Sequence[Candidate]) -> FillResult:
        """Select from more `candidates`, next to everything in `layout`."""
        return self._fill_plan(layout, self._plan(layout, candidates), self._compression_ranker(layout, candidates))

    def refill(self, layout: Layout, deferred: Sequence[Candidate]) -> tuple[Layout, dict[int, Candidate]]:
        """Select from candidates that were over budget, if `layout` has enough room; return their forms by key."""
        if layout.token_count >= CLOSE_ENOUGH * layout.max_tokens:
            return layout, {}
        offered = [candidate for candidate in deferred if not self.must_keep_whole(candidate)]
        if not offered or self.config.overflow != "skip" or self.config.min_relevance is not None:
            return layout, {}
        result = self.fill_more(layout, offered)
        added = [candidate for candidate in offered if candidate.key not in result.exclusions]
        return result.layout, {candidate.key: result.shortened.get(candidate.key, candidate) for candidate in added}

    def layout_of(
        self, selected: Sequence[Candidate], candidates: Sequence[Candidate], supplement: RenderedSupplement
    ) -> Layout | None:
        """Return the layout of `selected` out of `candidates`, next to `supplement`; None if they don't fit."""
        layout = self._empty_layout(candidates, supplement)
        return layout.with_candidates(selected) if layout.fits(selected) else None

    def _select_once(self, candidates: Sequence[Candidate], supplement: RenderedSupplement) -> Selection:
        layout = self._layout_with_whole(candidates, supplement)
        rank_sentences = self._compression_ranker(layout, candidates)
        others = [candidate for candidate in candidates if not layout.has_candidate(candidate)]
        in_window = [candidate for candidate in others if candidate.distance <= self.config.window]
        if (
            self._is_query_aware
            and self.config.min_relevance is None
            and layout.might_fit(in_window)
            and layout.fits(in_window)
        ):
            result = self._select_outside_window(layout.with_candidates(in_window), candidates)
            return Selection(result.layout, tuple(candidates), result.exclusions, result.shortened, supplement, (), {})
        prefiltered = drop_weak(layout, others, self.config, rank_sentences)
        forms = {candidate.key: after for candidate, after in zip(others, prefiltered.candidates, strict=True)}
        undecided = Selection(
            layout,
            tuple(forms.get(candidate.key, candidate) for candidate in candidates),
            prefiltered.exclusions,
            {},
            supplement,
            (*prefiltered.notes, *self._not_whole_notes(others)),
            {},
        )
        return self._fill_selection(undecided, rank_sentences)

    def _select_outside_window(self, layout: Layout, candidates: Sequence[Candidate]) -> FillResult:
        """Select from outside a window that fits whole, only what is more relevant than the last hit."""
        config = self.config
        outside = {candidate.key for candidate in candidates if candidate.distance > config.window}
        if not outside:
            return FillResult(layout, {}, {})
        better = self._split_and_score(layout, candidates).outside_window_better(candidates, config.window)
        policy = ShortenPolicy(overflow=config.overflow, min_chunk_tokens=config.min_chunk_tokens)
        result = fill(layout, better, "chunk", policy)
        worse = dict.fromkeys(outside - {candidate.key for candidate in better}, Exclusion(OUTSIDE_WINDOW, 0))
        return result._replace(exclusions=worse | self._mark_outside_window(better, result.exclusions))

    def _fill_selection(
        self,
        undecided: Selection,
        rank_sentences: SentenceRanker | None,
        forms: Mapping[int, Candidate] = MappingProxyType({}),
    ) -> Selection:
        """Fill the layout of `undecided` with its candidates that aren't excluded already."""
        layout = undecided.layout
        cut_neighbors = self._exclude_cut_neighbors(undecided)
        candidates = [candidate for candidate in undecided.undecided if candidate.key not in cut_neighbors]
        plan = self._plan(layout, candidates)
        hits = [candidate for candidate in candidates if candidate.is_hit]
        result = None if plan.drops_hits else self._fill_plan(layout, plan, rank_sentences, forms)
        if result is None or (plan.protected and drops_a_hit(result, hits)):
            if plan.protected and layout.fits(hits):
                result = keep_every_hit(layout, candidates, plan.protected, self.granularity)
            result = result or self._fill_plan(layout, plan, rank_sentences, forms)
        exclusions = self._mark_outside_window(
            undecided.candidates, undecided.exclusions | cut_neighbors | result.exclusions
        )
        return replace(
            undecided, layout=result.layout, exclusions=exclusions, shortened=result.shortened, relevance=plan.relevance
        )

    def _exclude_cut_neighbors(self, undecided: Selection) -> dict[int, Exclusion]:
        """Return the exclusions of neighbors that must be kept whole and don't fit. A hit may be kept in part."""
        neighbors = (
            candidate for candidate in undecided.undecided if not candidate.is_hit and self.must_keep_whole(candidate)
        )
        return {
            candidate.key: Exclusion(OVER_BUDGET, undecided.layout.text_tokens(candidate)) for candidate in neighbors
        }

    def _mark_outside_window(
        self, candidates: Sequence[Candidate], exclusions: Mapping[int, Exclusion]
    ) -> dict[int, Exclusion]:
        """Return `exclusions` with the reason "beyond the window" for `candidates` outside the window."""
        outside = {candidate.key for candidate in candidates if candidate.distance > self.config.window}
        return {
            key: exclusion._replace(reason=OUTSIDE_WINDOW) if key in outside else exclusion
            for key, exclusion in exclusions.items()
        }

    def _plan(self, layout: Layout, candidates: Sequence[Candidate]) -> SelectionPlan:
        if self._is_query_aware and candidates:
            return plan_selection(layout, candidates, self.query or "", self.config, self.scorer_scores)
        return SelectionPlan(None, candidates)

    def _fill_plan(
        self,
        layout: Layout,
        plan: SelectionPlan,
        rank_sentences: SentenceRanker | None,
        forms: Mapping[int, Candidate] = MappingProxyType({}),
    ) -> FillResult:
        if plan.packed is not None:
            return plan.packed
        policy = ShortenPolicy(
            overflow=self.config.overflow,
            may_shorten_hits=self.config.may_shorten_hits,
            min_chunk_tokens=self.config.min_chunk_tokens,
            model_excerpts=forms,
            rank_sentences=rank_sentences,
            rank_best_hit=self._ranker(layout, plan.ranked) if self._is_query_aware else None,
        )
        result = fill(layout, plan.ranked, "chunk" if self.granularity == "sentence" else self.granularity, policy)
        return result._replace(exclusions={**plan.below_cutoff, **result.exclusions})

    @property
    def _is_query_aware(self) -> bool:
        """True if the words of the query decide when not everything fits."""
        return self.granularity != "document" and self.config.is_query_aware(self.query)

    def _drops_whole_hit(self, selection: Selection) -> bool:
        """Return whether a hit that must be kept whole is not."""
        hits = (candidate for candidate in selection.candidates if candidate.is_hit and self.must_keep_whole(candidate))
        return not all(selection.is_selected(candidate, whole=True) for candidate in hits)

    def _not_whole_notes(self, candidates: Sequence[Candidate]) -> list[str]:
        """Return a note for each hit that must be kept whole and doesn't fit."""
        hits = (candidate for candidate in candidates if candidate.is_hit and self.must_keep_whole(candidate))
        return [
            f"keep_whole: {safe_repr(candidate.chunk.id, 80)} does not fit whole, treated as any other"
            for candidate in hits
        ]

    def _layout_with_whole(self, candidates: Sequence[Candidate], supplement: RenderedSupplement) -> Layout:
        """Return the layout of `supplement` and the `candidates` that must be kept whole and fit."""
        layout = self._empty_layout(candidates, supplement)
        return (
            place_keep_whole(layout, candidates, self.config.window, self.config.keys)
            if self.config.enabled
            else layout
        )

    def _empty_layout(self, candidates: Sequence[Candidate], supplement: RenderedSupplement) -> Layout:
        return empty_layout(
            self.config, self.counter, _summaries(candidates, self.config.summary_key), supplement.parts
        )

    def _compression_ranker(self, layout: Layout, candidates: Sequence[Candidate]) -> SentenceRanker | None:
        return None if self.config.compress == "none" else self._ranker(layout, candidates)

    def _ranker(self, layout: Layout, candidates: Sequence[Candidate]) -> SentenceRanker:
        return sentence_ranker(lambda: self._split_and_score(layout, candidates), self.query)

    def _split_and_score(self, layout: Layout, candidates: Sequence[Candidate]) -> ScoredSentences:
        document_texts, query = layout.document_texts(candidates), self.query or ""
        weights = choose_weights(candidates, self.config)
        return split_and_score(document_texts, query, weights=weights, scorer_scores=self.scorer_scores)


@dataclass(frozen=True)
class Selection:
    """The selected candidates, in their layout, and the excluded ones."""

    layout: Layout
    candidates: tuple[Candidate, ...]
    """All candidates in their order; some shortened to `max_chunk_tokens`."""
    exclusions: dict[int, Exclusion]
    """The excluded ones, by key."""
    shortened: dict[int, Candidate]
    """The forms of those that are included in part, by key."""
    supplement: RenderedSupplement
    notes: tuple[str, ...]
    relevance: Mapping[int, float]
    """The relevance of each to the query, by key; empty if the query wasn't used."""

    @property
    def selected(self) -> tuple[Candidate, ...]:
        """The selected candidates, in the form in which they were offered."""
        return tuple(candidate for candidate in self.candidates if candidate.key not in self.exclusions)

    @property
    def undecided(self) -> list[Candidate]:
        """The candidates that are neither in the layout nor excluded."""
        return [
            candidate
            for candidate in self.candidates
            if candidate.key not in self.exclusions and not self.layout.has_candidate(candidate)
        ]

    @property
    def deferred(self) -> tuple[Candidate, ...]:
        """The candidates that are over budget or included in part, best first."""
        return tuple(candidate for candidate in self.candidates if self._is_deferred(candidate))

    def is_selected(self, candidate: Candidate, *, whole: bool) -> bool:
        """Return whether `candidate` is selected; with `whole`, only if it isn't shortened."""
        is_candidate = any(own is candidate for own in self.candidates)
        return is_candidate and candidate.key not in self.exclusions and not (whole and candidate.key in self.shortened)

    def _is_deferred(self, candidate: Candidate) -> bool:
        exclusions = self.exclusions.get(candidate.key)
        return candidate.key in self.shortened or (exclusions is not None and exclusions.reason == OVER_BUDGET)


def _summaries(candidates: Iterable[Candidate], keys: Iterable[str]) -> Mapping[str, str]:
    """Return the first summary among each document's chunks, by document id."""
    found: dict[str, tuple[int, str]] = {}
    for candidate in candidates:
        if summary := _summary(candidate, keys):
            document_id, position = candidate.chunk.document_id, candidate.position
            if document_id not in found or position < found[document_id][0]:
                found[document_id] = (position, summary)
    return {document_id: summary for document_id, (_, summary) in found.items()}


def _summary(candidate: Candidate, keys: Iterable[str]) -> str:
    """Return the page summary in the candidate's metadata; "" if there is none."""
    chunk = candidate.chunk
    for key in keys:
        value = get_path(chunk.metadata, key)
        if isinstance(value, str) and value.strip() and not chunk.is_hidden_from_model(key):
            return str.__str__(value)
    return ""
