"""The results of selection: a layout, and the exclusion of each candidate that isn't in it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from ctxassembly.assembly.rendering.layout import Layout
from ctxassembly.assembly.scoring.sentences import ScoredSentences
from ctxassembly.cached_property import cached_property
from ctxassembly.data.candidates import (
    BELOW_CUTOFF,
    OVER_BUDGET,
    Candidate,
    Exclusion,
    HeaderDetail,
    Reason,
    RenderedSupplement,
)


@dataclass(frozen=True)
class Selection:
    """The selected candidates, in their layout, and the excluded ones. All maps are by candidate key."""

    layout: Layout
    candidates: tuple[Candidate, ...]
    """All candidates in their order, as they were offered."""
    supplement: RenderedSupplement
    exclusions: Mapping[int, Exclusion] = field(default_factory=dict)
    shortened: Mapping[int, Candidate] = field(default_factory=dict)
    """The forms of those that are included in part."""
    notes: tuple[str, ...] = ()
    relevance: Mapping[int, float] = field(default_factory=dict)
    """The relevance of each to the query; empty if the query wasn't used."""
    header_detail: HeaderDetail = HeaderDetail.FULL
    """The amount of header above each block."""
    repeated_by: Mapping[int, Candidate] = field(default_factory=dict)
    """For each that lost all its text as repeated sentences: the candidate that has most of them."""
    covered_by: Mapping[int, Candidate] = field(default_factory=dict)
    """For each that lost a part of its text as repeated sentences: the candidate that has most of them."""

    @cached_property
    def selected(self) -> tuple[Candidate, ...]:
        """The selected candidates, as they are rendered."""
        forms, excluded = self.shortened, {*self.exclusions, *self.repeated_by}
        return tuple([forms.get(own.key, own) for own in self.candidates if own.key not in excluded])

    @property
    def over_budget_keys(self) -> set[int]:
        """The keys of the candidates that were excluded only for lack of room."""
        return {key for key, exclusion in self.exclusions.items() if exclusion.reason == OVER_BUDGET}

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
