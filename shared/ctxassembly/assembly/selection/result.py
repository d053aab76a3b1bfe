"""The outcome of filling: a layout with more in it, and what became of the candidates that aren't."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from ctxassembly.assembly.rendering.layout import Layout
from ctxassembly.assembly.scoring.sentences import ScoredSentences
from ctxassembly.assembly.selection.supplement import RenderedSupplement
from ctxassembly.data.candidates import BELOW_CUTOFF, OVER_BUDGET, Candidate, Exclusion, HeaderDetail, Reason


@dataclass(frozen=True)
class SelectionResult:
    """The candidates that stand, and those that don't."""

    layout: Layout
    header_detail: HeaderDetail
    """The level of the headers: how much is written around the text."""
    supplement: RenderedSupplement
    candidates: tuple[Candidate, ...]
    """All that there was to choose from, in its present form."""
    selected: tuple[Candidate, ...]
    """Those of them that stand, as they do."""
    exclusions: dict[int, Exclusion]
    """Those that don't, by key."""
    covered_by: Mapping[int, Candidate]
    """For each of `selected` that lost sentences to better-ranked passages, by key: who has most of them."""
    relevance: Mapping[int, float]
    """What each is worth for the query, by key; none where the query had nothing to choose."""

    @property
    def token_count(self) -> int:
        """Tokens of the context, headers, separators and supplement included."""
        return (
            self.layout.token_count
            if self.header_detail is HeaderDetail.FULL
            else self.layout.token_count_with((), self.header_detail)
        )


class FillResult(NamedTuple):
    """A layout after filling; of the candidates offered, all that aren't left out stand in it."""

    layout: Layout
    exclusions: dict[int, Exclusion]
    """By key."""
    shortened: dict[int, Candidate]
    """The forms of those that stand in part, by key."""


def over_budget_keys(exclusions: Mapping[int, Exclusion]) -> set[int]:
    """The keys of those that only lacked room; the others were let go for what they are."""
    return {key for key, exclusion in exclusions.items() if exclusion.reason == OVER_BUDGET}


def fill_result(
    layout: Layout, forms: Mapping[int, Candidate], candidates: Sequence[Candidate], sentences: ScoredSentences
) -> FillResult:
    """The outcome for `candidates`, which have `sentences`, where only those with `forms` stand in `layout`."""
    exclusions: dict[int, Exclusion] = {}
    shortened: dict[int, Candidate] = {}
    below_cutoff, chars_per_token = sentences.below_cutoff(), layout.chars_per_token(candidates[0])
    for candidate in candidates:
        form = forms.get(candidate.key)
        if form is None:
            reason: Reason = BELOW_CUTOFF if candidate.key in below_cutoff else OVER_BUDGET
            exclusions[candidate.key] = Exclusion(reason, round(len(candidate.text) / chars_per_token))
        elif form.kept_spans is not None:
            shortened[candidate.key] = form
    return FillResult(layout, exclusions, shortened)
