"""Results of selection and of filling: the layout, and the exclusion of each candidate that isn't in it."""

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
    """The selected and the excluded candidates."""

    layout: Layout
    header_detail: HeaderDetail
    """The amount of header above each block."""
    supplement: RenderedSupplement
    candidates: tuple[Candidate, ...]
    """All candidates, in their present form."""
    selected: tuple[Candidate, ...]
    """The selected ones, as they are rendered."""
    exclusions: dict[int, Exclusion]
    """The excluded ones, by key."""
    covered_by: Mapping[int, Candidate]
    """For each of `selected` that lost repeated sentences, by key: the candidate that has most of them."""
    relevance: Mapping[int, float]
    """The relevance of each to the query, by key; empty if the query wasn't used."""

    @property
    def token_count(self) -> int:
        """Tokens of the context, headers, separators and supplement included."""
        return (
            self.layout.token_count
            if self.header_detail is HeaderDetail.FULL
            else self.layout.token_count_with((), self.header_detail)
        )


class FillResult(NamedTuple):
    """A layout after filling; it has all candidates offered except the excluded ones."""

    layout: Layout
    exclusions: dict[int, Exclusion]
    """By key."""
    shortened: dict[int, Candidate]
    """The forms of candidates that are included in part, by key."""


def over_budget_keys(exclusions: Mapping[int, Exclusion]) -> set[int]:
    """Return the keys of the candidates that were excluded only for lack of room."""
    return {key for key, exclusion in exclusions.items() if exclusion.reason == OVER_BUDGET}


def fill_result(
    layout: Layout, forms: Mapping[int, Candidate], candidates: Sequence[Candidate], sentences: ScoredSentences
) -> FillResult:
    """Return the result for `candidates`, which have `sentences`, if only those with `forms` are in `layout`."""
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
