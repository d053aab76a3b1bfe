"""Selection: from all usable candidates to the ones in the context, as a pipe of steps from value to value.

1. What must be kept whole comes first, then everything in the window if that fits.
2. Otherwise they fill the room by relevance to the query
   (`by_relevance.py`, sentences in `knapsack.py`), or by rank without one (`fill.py`). What doesn't fit may be
   shortened (`shorten.py`). If a language model compresses, it reads what doesn't fit (`compress.py`), and the room is
   filled again.
3. If nothing fits at all, the best hit is included by itself, below a shorter header.
4. Rows of a table get its header, if another chunk has it (`table_heads.py`).
5. Sentences that two passages share are removed from one of them (`repeated_sentences.py`).
"""

from __future__ import annotations

import math
from collections.abc import Generator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from types import MappingProxyType
from typing import Any

from ctxassembly.assembly.rendering.layout import Layout, empty_layout
from ctxassembly.assembly.scoring.relevance import Relevance
from ctxassembly.assembly.scoring.sentences import EVERY_SENTENCE
from ctxassembly.assembly.selection.best_first import divide_by_relevance
from ctxassembly.assembly.selection.by_relevance import exceeds_by_estimate, fill_by_relevance
from ctxassembly.assembly.selection.compress import extract_relevant
from ctxassembly.assembly.selection.fill import fill
from ctxassembly.assembly.selection.repeated_sentences import remove_repeated
from ctxassembly.assembly.selection.required import place_required
from ctxassembly.assembly.selection.result import FillResult, Selection
from ctxassembly.assembly.selection.shorten import SentenceRanker, ShortenPolicy, sentence_ranker, shorten_with_header
from ctxassembly.assembly.selection.table_heads import add_table_heads
from ctxassembly.data.candidates import (
    ALREADY_SENT,
    BELOW_CUTOFF,
    IRRELEVANT,
    OUTSIDE_WINDOW,
    OVER_BUDGET,
    Candidate,
    Exclusion,
    HeaderDetail,
    RenderedSupplement,
)
from ctxassembly.data.requests import CompressTexts, Request
from ctxassembly.safe_repr import pluralize, safe_repr
from ctxassembly.tracing import TraceRecorder, count_by_reason

TYPICAL_CHARS_PER_TOKEN = 4.0
"""For English prose. It only decides how many texts a language model reads."""
NEXT_TOKENS = 1_000
"""The tokens after the end of a context that a note describes."""


def select(
    relevance: Relevance, supplement: RenderedSupplement, log: TraceRecorder
) -> Generator[Request, Sequence[Any], Selection]:
    """Select from the candidates of `relevance`, best first, what fits next to `supplement`."""
    config, candidates = relevance.config, relevance.candidates
    yield from log.begin("budget", len(candidates))
    selection = _fill_next_to_supplement(relevance, supplement)
    if config.compress == "llm" and relevance.granularity != "sentence":
        selection = yield from _compress_and_fill(selection, relevance, log)
    log.notes += (*selection.notes, *selection.supplement.notes)
    if not selection.selected and not _has_enough_earlier(selection, relevance):
        selection = _select_best_alone(selection, log)
    selection = add_table_heads(selection, relevance)
    log.notes += _cut_best_notes(selection)
    yield from log.end(len(selection.selected), partial(_outcome, selection))
    removes_repeats = config.enabled and config.dedup_sentences and config.dedup != "none"
    if removes_repeats and selection.header_detail is HeaderDetail.FULL:
        yield from log.begin("repeats", len(selection.selected))
        trimmed = remove_repeated(selection, relevance.required_keys)
        if is_changed := trimmed is not selection:
            selection = add_table_heads(trimmed, relevance)
        yield from log.end(len(selection.selected), partial(_outcome, selection), is_recorded=is_changed)
    log.notes += (*_left_out_best_notes(selection), *_stopped_notes(selection, relevance), *_excess_notes(selection))
    return selection


def _has_enough_earlier(selection: Selection, relevance: Relevance) -> bool:
    """Return whether the conversation has text of the candidates, and the rest is below the minimum relevance."""
    reasons = {exclusion.reason for exclusion in selection.exclusions.values()}
    return bool(relevance.earlier.chunks) and reasons <= {BELOW_CUTOFF, OUTSIDE_WINDOW}


def _empty_layout(relevance: Relevance, supplement: RenderedSupplement) -> Layout:
    """Return the layout of nothing but `supplement`."""
    return empty_layout(
        relevance.config, relevance.counter, relevance.candidates, supplement, relevance.joins, relevance.earlier
    )


def fits_whole(relevance: Relevance, supplement: RenderedSupplement) -> bool:
    """Return whether all candidates fit next to `supplement`, so that there is nothing to select."""
    layout = _empty_layout(relevance, supplement)
    return (
        layout.might_fit(relevance.candidates)
        and layout.fits(relevance.candidates)
        and not _has_below_minimum(relevance.candidates, relevance)
    )


def _outcome(selection: Selection) -> Mapping[str, Any]:
    """Return the figures of a selection for its stage in the trace."""
    shortened = sum(candidate.kept_spans is not None for candidate in selection.selected)
    return {
        **count_by_reason(exclusion.reason for exclusion in selection.exclusions.values()),
        **({"shortened": shortened} if shortened else {}),
        "tokens": selection.token_count,
        "max_tokens": selection.layout.max_tokens,
    }


def _fill_next_to_supplement(relevance: Relevance, supplement: RenderedSupplement) -> Selection:
    """Fill the budget next to `supplement`, or without it if it costs a required hit its text or the header."""

    def filled(supplement: RenderedSupplement) -> Selection:
        layout = _empty_layout(relevance, supplement)
        if relevance.config.order == "auto" and relevance.decides and relevance.candidates:
            layout = layout.in_parts(divide_by_relevance(relevance, layout))
        return _fill_budget(Selection(layout, tuple(relevance.candidates), supplement), relevance)

    selection = filled(supplement)
    lost = _lost_required(selection, relevance) if supplement.parts else set()
    if not lost:
        return selection
    note = "supplement: left out, the best hit does not fit next to it"
    without_supplement = filled(RenderedSupplement(notes=(note,)))
    is_better = _lost_required(without_supplement, relevance) < lost or not selection.layout.labels()
    return without_supplement if is_better else selection


def _lost_required(selection: Selection, relevance: Relevance) -> set[int]:
    """Return the keys of the best hit and of hits that must be kept whole, as far as they aren't.

    At granularity "sentence" the best hit may be included in part.
    """
    required = {hit.key for hit in relevance.candidates if hit.is_hit} & relevance.required_keys
    best = {candidate.key for candidate in relevance.candidates[:1]}
    cut = {own.key for own in selection.candidates if own.kept_spans is not None and own.shortened_by != ALREADY_SENT}
    cut |= selection.shortened.keys()
    whole = required if relevance.granularity == "sentence" else best | required
    return ((best | required) & selection.exclusions.keys()) | (whole & cut)


def _fill_budget(empty: Selection, relevance: Relevance) -> Selection:
    """Fill the empty layout of a selection: with everything in the window, or with what is best of it."""
    config, candidates = relevance.config, empty.candidates
    layout, cut_neighbors, not_whole_notes = place_required(empty.layout, candidates, relevance.required_keys)
    others = [candidate for candidate in candidates if not layout.has_candidate(candidate)]
    in_window = [candidate for candidate in others if candidate.distance <= config.window]
    if (
        relevance.decides
        and not (in_window and exceeds_by_estimate(layout, in_window, relevance.chars_per_token))
        and not _has_below_minimum(in_window, relevance)
        and layout.might_fit(in_window)
        and layout.fits(in_window)
    ):
        return _add_better_outside_window(replace(empty, layout=layout.with_candidates(in_window)), relevance)
    outside: dict[int, Exclusion] = {}
    if not config.has_competing_candidates(relevance.query):  # of what is outside only headers of tables are used
        outside = {own.key: Exclusion(OUTSIDE_WINDOW, 0) for own in others if own.distance > config.window}
        others = in_window
    undecided = replace(
        empty,
        layout=layout,
        exclusions={**cut_neighbors, **outside},
        notes=tuple(not_whole_notes),
        relevance=relevance.sentences.relevance() if relevance.decides else {},
    )
    return _fill_with_undecided(undecided, relevance)


def _has_below_minimum(candidates: Sequence[Candidate], relevance: Relevance) -> bool:
    """Return whether any sentence of `candidates`, all of which fit, is below `min_relevance`."""
    if relevance.config.fill or not candidates:
        return False
    return relevance.relevant_sentences.has_below_cutoff(candidates)


def _add_better_outside_window(selection: Selection, relevance: Relevance) -> Selection:
    """Add from outside a window that fits whole, only what is more relevant than the last hit."""
    config, candidates = relevance.config, selection.candidates
    outside = {candidate.key for candidate in candidates if candidate.distance > config.window}
    if not outside:
        return selection
    can_compete = config.has_competing_candidates(relevance.query)
    better = relevance.sentences.outside_window_better(candidates, config.window) if can_compete else []
    result = fill(selection.layout, better, "chunk", ShortenPolicy())
    worse = dict.fromkeys(outside - {candidate.key for candidate in better}, Exclusion(OUTSIDE_WINDOW, 0))
    return _with_result(selection, result._replace(exclusions=worse | result.exclusions), relevance)


def _fill_with_undecided(
    selection: Selection, relevance: Relevance, model_excerpts: Mapping[int, Candidate] = MappingProxyType({})
) -> Selection:
    """Fill the layout of `selection` with its candidates that aren't excluded already."""
    layout, exclusions = selection.layout, selection.exclusions
    undecided = [own for own in selection.candidates if own.key not in exclusions and not layout.has_candidate(own)]
    return _with_result(selection, _fill(layout, undecided, relevance, model_excerpts), relevance)


def _fill(
    layout: Layout,
    candidates: Sequence[Candidate],
    relevance: Relevance,
    model_excerpts: Mapping[int, Candidate] = MappingProxyType({}),
) -> FillResult:
    """Add what fits of `candidates`, by relevance if the query decides, else in their order."""
    rank_best_hit = sentence_ranker(relevance) if relevance.decides else None
    policy = ShortenPolicy(model_excerpts, _compression_ranker(relevance), rank_best_hit)
    if relevance.decides and candidates:
        return fill_by_relevance(layout, candidates, relevance, policy)
    return fill(layout, candidates, relevance.granularity, policy)


def _with_result(selection: Selection, result: FillResult, relevance: Relevance) -> Selection:
    """Return `selection` after a fill; candidates outside the window are excluded for that reason."""
    window = relevance.config.window
    outside = {candidate.key for candidate in selection.candidates if candidate.distance > window}
    exclusions = {
        key: exclusion._replace(reason=OUTSIDE_WINDOW) if key in outside else exclusion
        for key, exclusion in {**selection.exclusions, **result.exclusions}.items()
    }
    shortened = {**selection.shortened, **result.shortened}
    return replace(selection, layout=result.layout, exclusions=exclusions, shortened=shortened)


def _compression_ranker(relevance: Relevance) -> SentenceRanker | None:
    return None if relevance.config.compress == "none" else sentence_ranker(relevance)


def _compress_and_fill(
    selection: Selection, relevance: Relevance, log: TraceRecorder
) -> Generator[CompressTexts, Sequence[Any], Selection]:
    """Have a language model read what doesn't fit whole, and select again without what it found irrelevant.

    Candidates are replaced by its excerpts only if they don't fit whole, now that there may be more room.
    """
    config = relevance.config
    deferred_keys = selection.over_budget_keys | selection.shortened.keys()
    deferred = [candidate for candidate in relevance.candidates if candidate.key in deferred_keys]
    if not deferred:
        return selection
    whole = [candidate for candidate in selection.selected if candidate.key not in deferred_keys]
    max_tokens = min(config.token_limit, (config.max_characters or math.inf) / TYPICAL_CHARS_PER_TOKEN)
    free_tokens = int(max_tokens - sum(map(selection.layout.text_tokens, whole)))
    extraction = yield from extract_relevant(deferred, free_tokens, relevance.query, config, log.notes)
    candidates = selection.candidates
    layout, cut_neighbors, _ = place_required(selection.layout.cleared(), candidates, relevance.required_keys)
    exclusions = {key: found for key, found in selection.exclusions.items() if found.reason != OVER_BUDGET}
    notes = selection.notes
    irrelevant = [candidate for candidate in candidates if candidate.key in extraction.irrelevant_keys]
    if len(irrelevant) == len(candidates) - len(exclusions):
        notes += ("compress: the model finds nothing relevant in any chunk, all stay",)
    else:
        exclusions |= {candidate.key: Exclusion(IRRELEVANT, layout.text_tokens(candidate)) for candidate in irrelevant}
    exclusions = {**cut_neighbors, **exclusions}
    undecided = replace(
        selection, layout=layout, candidates=candidates, exclusions=exclusions, shortened={}, notes=notes
    )
    return _fill_with_undecided(undecided, relevance, extraction.forms)


def _select_best_alone(selection: Selection, log: TraceRecorder) -> Selection:
    """Select the best hit of which anything fits, below a shorter header; nothing if there is none."""
    over_budget = selection.over_budget_keys
    hits = (candidate for candidate in selection.candidates if candidate.is_hit)
    for hit in sorted(hits, key=lambda hit: hit.key not in over_budget):
        if shortened := shorten_with_header(selection.layout, hit):
            form, detail = shortened
            log.notes.append(_alone_note(form, detail))
            return replace(
                selection,
                layout=selection.layout.with_candidates((form,)),
                header_detail=detail,
                exclusions={key: found for key, found in selection.exclusions.items() if key != hit.key},
                shortened={hit.key: form} if form is not hit else {},
            )
    return selection


def _stopped_notes(selection: Selection, relevance: Relevance) -> Sequence[str]:
    """Return a note on what the next tokens would add, if `min_relevance` decides what is left out."""
    if not selection.relevance or relevance.relevant_sentences.cutoff <= EVERY_SENTENCE:  # the budget alone decides
        return ()
    count, highest = relevance.relevant_sentences.next_below_cutoff(NEXT_TOKENS * relevance.chars_per_token)
    stopped = f"stopped at {selection.token_count:,} tokens"
    added = f"{pluralize(count, 'sentence')} with a relevance of at most {highest:.2f}"
    return (f"min_relevance: {stopped}; the next {NEXT_TOKENS:,} would add {added}",)


def _excess_notes(selection: Selection) -> Sequence[str]:
    """Return a note if the encoding counts more tokens of an empty text than the budget has: then nothing fits."""
    tokens, max_tokens = selection.token_count, selection.layout.max_tokens
    if tokens <= max_tokens:
        return ()
    return (f"budget: no text fits, the encoding counts {tokens:,} tokens of an empty one; max_tokens={max_tokens:,}",)


def _cut_best_notes(selection: Selection) -> Sequence[str]:
    """Return a note if the best hit is cut and others are included, too."""
    best = selection.shortened.get(selection.candidates[0].key) if selection.candidates else None
    if best is None or best.shortened_by != "budget" or selection.header_detail is not HeaderDetail.FULL:
        return ()
    if len(selection.selected) == 1:
        return (_alone_note(best, HeaderDetail.FULL),)
    return (f"budget: the best hit, {safe_repr(best.chunk.id, 80)}, does not fit whole; its text is cut",)


def _left_out_best_notes(selection: Selection) -> Sequence[str]:
    """Return a note if the best hit has no text in the context and others do, naming the most relevant one."""
    if not selection.selected:
        return ()
    best = selection.candidates[0]
    exclusion = selection.exclusions.get(best.key)
    # All other reasons have notes of their own, or name the chunk that has the text.
    if exclusion is None or exclusion.reason not in (OVER_BUDGET, BELOW_CUTOFF):
        return ()
    relevance, lowest = selection.relevance, -math.inf
    first = max(selection.selected, key=lambda candidate: relevance.get(candidate.key, lowest))
    is_better = relevance.get(first.key, lowest) > relevance.get(best.key, math.inf)
    winner = f"{safe_repr(first.chunk.id, 80)}, more relevant to the query" if is_better else "others"
    return (f"{exclusion.reason}: the best hit, {safe_repr(best.chunk.id, 80)}, makes room for {winner}",)


_MISSING_HEADER_PARTS = {
    HeaderDetail.FULL: "all of its header",
    HeaderDetail.NO_SUMMARY: "no page summary",
    HeaderDetail.LABEL: "no summary, source and page",
    HeaderDetail.NONE: "no header",
}


def _alone_note(candidate: Candidate, detail: HeaderDetail) -> str:
    """Return the note for the only candidate included, with `detail` of its header."""
    name, cut_note = safe_repr(candidate.chunk.id, 80), ", its text cut" if candidate.kept_spans is not None else ""
    return f"budget: no item fits whole; {name} is included alone, with {_MISSING_HEADER_PARTS[detail]}{cut_note}"
