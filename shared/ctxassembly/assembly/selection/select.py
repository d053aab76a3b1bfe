"""Selection: from all usable candidates to the ones in the context.

First the budget is filled (`selector.py`), with the answers of a language model if one compresses. Then the remaining
room is offered to duplicates of what was excluded. If nothing fits at all, the best hit is included by itself. At the
end, sentences that two passages share are removed from one of them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from ctxassembly.assembly.selection.compress import extract_relevant
from ctxassembly.assembly.selection.repeated_sentences import remove_repeated
from ctxassembly.assembly.selection.result import SelectionResult, over_budget_keys
from ctxassembly.assembly.selection.selector import Selection, Selector
from ctxassembly.assembly.selection.shorten import shorten_with_header
from ctxassembly.assembly.selection.supplement import RenderedSupplement
from ctxassembly.data.candidates import BELOW_CUTOFF, OVER_BUDGET, Candidate, HeaderDetail
from ctxassembly.data.requests import CompressTexts, Request
from ctxassembly.safe_repr import safe_repr
from ctxassembly.tracing.lineage import Lineage
from ctxassembly.tracing.recorder import TraceRecorder, count_by_reason

ReconsiderDuplicates = Callable[[tuple[Candidate, ...], set[int]], Sequence[Candidate]]
"""Maps the selected candidates and the keys of those over budget to the duplicates that may replace the latter."""


def select(
    candidates: Sequence[Candidate],
    selector: Selector,
    supplement: RenderedSupplement,
    reconsider_duplicates: ReconsiderDuplicates,
    lineage: Lineage,
    log: TraceRecorder,
) -> Generator[Request, Sequence[Any], SelectionResult]:
    """Select from `candidates`, best first, what fits next to `supplement`."""
    yield from log.begin("budget", len(candidates))
    selection = yield from _select_and_compress(candidates, selector, supplement, log)
    log.notes += (*selection.notes, *selection.supplement.notes)
    for before, after in zip(candidates, selection.candidates, strict=True):
        lineage.record_change(before, after)
    if selector.can_continue_filling:
        selection = _fill_with_duplicates(selection, selector, reconsider_duplicates)
    result = _select_best_hit_alone(selection, lineage, log) or _selection_result(selection, lineage, log)
    log.chunks_in = len(result.candidates)  # more than there were, if duplicates had a second chance
    yield from log.end(len(result.selected), partial(_selection_outcome, result, selector))
    if selector.should_remove_repeats and result.header_detail is HeaderDetail.FULL:
        yield from log.begin("repeats", len(result.selected))
        unshortened = {
            candidate.key: candidate for candidate in selection.candidates if candidate.key in selection.shortened
        }
        deduped = remove_repeated(result, unshortened, selector, lineage)
        is_noted = deduped.layout is not result.layout
        yield from log.end(len(deduped.selected), partial(_selection_outcome, deduped, selector), is_recorded=is_noted)
        result = deduped
    log.notes += _best_hit_notes(result)
    return result


def _selection_outcome(result: SelectionResult, selector: Selector) -> Mapping[str, Any]:
    """Return the figures of a selection for its stage in the trace."""
    shortened = sum(candidate.kept_spans is not None for candidate in result.selected)
    return {
        **count_by_reason(exclusion.reason for exclusion in result.exclusions.values()),
        **({"shortened": shortened} if shortened else {}),
        "tokens": result.token_count,
        "max_tokens": selector.config.token_limit,
    }


def _select_and_compress(
    candidates: Sequence[Candidate], selector: Selector, supplement: RenderedSupplement, log: TraceRecorder
) -> Generator[CompressTexts, Sequence[Any], Selection]:
    """Select; if a language model compresses, have it read the candidates that don't fit whole and select again."""
    selection = selector.select(candidates, supplement)
    if selector.config.compress != "llm" or selector.granularity == "sentence" or not selection.deferred:
        return selection
    free_tokens = selector.remaining_tokens(selection)
    extraction = yield from extract_relevant(
        selection.deferred, free_tokens, selector.query, selector.config, log.notes
    )
    return selector.reselect_after_compression(selection, extraction)


def _fill_with_duplicates(
    selection: Selection, selector: Selector, reconsider_duplicates: ReconsiderDuplicates
) -> Selection:
    """Offer the remaining room to duplicates of the candidates that are over budget, until there are no more.

    A candidate that the budget excludes must not exclude its duplicates as well.
    """
    while duplicates := reconsider_duplicates(selection.selected, over_budget_keys(selection.exclusions)):
        result = selector.fill_more(selection.layout, duplicates)
        selection = replace(
            selection,
            layout=result.layout,
            candidates=(*selection.candidates, *duplicates),
            exclusions=selection.exclusions | result.exclusions,
            shortened=selection.shortened | result.shortened,
        )
    return selection


def _selection_result(selection: Selection, lineage: Lineage, log: TraceRecorder) -> SelectionResult:
    """Return the result of `selection`, and add a note if the best hit is shortened."""
    shortened, candidates = selection.shortened, selection.candidates
    selected = tuple(
        lineage.record_change(candidate, shortened.get(candidate.key, candidate)) for candidate in selection.selected
    )
    best = shortened.get(candidates[0].key) if candidates else None
    if best and best.shortened_by == "budget":
        log.notes.append(_shortening_note(best, HeaderDetail.FULL, alone=len(selected) == 1))
    usable = tuple(shortened.get(candidate.key, candidate) for candidate in candidates)
    return SelectionResult(
        selection.layout,
        HeaderDetail.FULL,
        selection.supplement,
        usable,
        selected,
        selection.exclusions,
        {},
        selection.relevance,
    )


def _select_best_hit_alone(selection: Selection, lineage: Lineage, log: TraceRecorder) -> SelectionResult | None:
    """Return the best hit of which anything fits, below a shorter header; None if something is selected already."""
    if selection.selected:
        return None
    over_budget = over_budget_keys(selection.exclusions)
    hits = (candidate for candidate in selection.candidates if candidate.is_hit)
    for hit in sorted(hits, key=lambda hit: hit.key not in over_budget):
        if shortened := shorten_with_header(selection.layout, hit):
            form, detail = shortened
            log.notes.append(_shortening_note(form, detail, alone=True))
            layout, selected = selection.layout.with_candidates((form,)), (lineage.record_change(hit, form),)
            exclusions, relevance = selection.exclusions, selection.relevance
            return SelectionResult(
                layout, detail, selection.supplement, selection.candidates, selected, exclusions, {}, relevance
            )
    return None


def _best_hit_notes(result: SelectionResult) -> Sequence[str]:
    """Return a note if the best hit has no text in the context and others do, naming the most relevant one."""
    best = result.candidates[0] if result.candidates else None
    exclusion = result.exclusions.get(best.key) if best else None
    # All other reasons have notes of their own, or name the chunk that has the text.
    if best is None or exclusion is None or exclusion.reason not in (OVER_BUDGET, BELOW_CUTOFF) or not result.selected:
        return ()
    relevance, lowest = result.relevance, -math.inf
    first = max(result.selected, key=lambda candidate: relevance.get(candidate.key, lowest))
    is_better = relevance.get(first.key, lowest) > relevance.get(best.key, math.inf)
    winner = f"{safe_repr(first.chunk.id, 80)}, worth more for the query" if is_better else "others"
    return (f"{exclusion.reason}: the best hit, {safe_repr(best.chunk.id, 80)}, makes room for {winner}",)


_MISSING_HEADER_PARTS = {
    HeaderDetail.FULL: "all of its header",
    HeaderDetail.NO_SUMMARY: "no page summary",
    HeaderDetail.LABEL: "no summary, source and page",
    HeaderDetail.NONE: "no header",
}


def _shortening_note(candidate: Candidate, detail: HeaderDetail, *, alone: bool) -> str:
    name = safe_repr(candidate.chunk.id, 80)
    if not alone:
        return f"budget: the best hit, {name}, does not fit whole; its text is cut"
    cut_note = ", its text cut" if candidate.kept_spans is not None else ""
    return f"budget: no item fits whole; {name} stands alone, with {_MISSING_HEADER_PARTS[detail]}{cut_note}"
