"""At least one sentence of every hit, where all hits would fit whole.

Otherwise a neighbor that repeats the words of the query could displace a hit that answers in other words. Including all
hits whole first isn't a solution, since much of the evidence is next to them: with 5, 8, 10 and 20 hits that finds .012
less on four sets, while this rule finds as much as none (`tests/bench/README.md`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import accumulate

from ctxassembly.assembly.rendering.layout import Layout
from ctxassembly.assembly.scoring.sentences import ScoredSentences
from ctxassembly.assembly.selection.knapsack import pack_sentences, restrict_to_sentences
from ctxassembly.assembly.selection.result import FillResult, fill_result
from ctxassembly.assembly.selection.shorten import bisect_fitting
from ctxassembly.config.assembly import Granularity
from ctxassembly.data.candidates import Candidate

CONTINUITY_BONUS = 2.0
"""Added to the score of a sentence that continues a picked one, since whole chunks would fit but for a lost hit."""


def keep_every_hit(
    layout: Layout, candidates: Sequence[Candidate], sentences: ScoredSentences, granularity: Granularity
) -> FillResult:
    """Include at least the best sentence of each hit; all hits must fit whole.

    At granularity "sentence", the rest of the room is for the best sentences of all. Otherwise the most relevant
    candidates are included whole, as many as fit next to the best sentence of each remaining hit; the rest of the room
    is for the best sentences of all others.
    """
    ranked, hits = sentences.rank_candidates(candidates), [candidate for candidate in candidates if candidate.is_hit]
    chars_per_token = layout.chars_per_token(candidates[0])
    best_indexes = sentences.best_sentence_per_hit(hits)
    minimal_forms = {key: form for key, form in restrict_to_sentences(sentences, best_indexes).items() if form.is_hit}
    if granularity == "sentence":
        packed = pack_sentences(layout, sentences, chars_per_token, best_indexes, continuity_bonus=CONTINUITY_BONUS)
        if packed and minimal_forms.keys() <= packed.forms.keys():
            result = fill_result(*packed, candidates, sentences)
            if not drops_a_hit(result, hits):
                return result
    free_chars = (layout.max_tokens - layout.token_count) * chars_per_token
    if prefix_and_forms := _fit_whole_prefix(layout, ranked, minimal_forms, free_chars):
        result = _fill_with_sentences(layout, candidates, sentences, *prefix_and_forms)
        if not drops_a_hit(result, hits):
            return result
    # If gap markers take more room than the text they replace, or others have the text of a hit, include hits whole.
    return _fill_with_sentences(layout, candidates, sentences, hits, {})


def drops_a_hit(result: FillResult, hits: Sequence[Candidate]) -> bool:
    """Return whether one of `hits` is lost: it is excluded, or all that is kept of it is part of other chunks."""
    if any(hit.key in result.exclusions for hit in hits):
        return True
    shortened_keys = {hit.key for hit in hits if hit.key in result.shortened}
    return bool(shortened_keys) and not shortened_keys <= result.layout.rendered_keys


def _fit_whole_prefix(
    layout: Layout, ranked: Sequence[Candidate], minimal_forms: Mapping[int, Candidate], free_chars: float
) -> tuple[Sequence[Candidate], dict[int, Candidate]] | None:
    """Return as many of `ranked` as fit whole next to the `minimal_forms` of the others, and those forms by key.

    None if not even all minimal forms fit. The number is guessed from `free_chars`, the free characters.
    """

    def minimal_after(number: int) -> dict[int, Candidate]:
        return {
            candidate.key: minimal_forms[candidate.key]
            for candidate in ranked[number:]
            if candidate.key in minimal_forms
        }

    def fits(number: int) -> bool:
        return layout.fits([*ranked[:number], *minimal_after(number).values()])

    total_lengths = accumulate(layout.added_lengths(ranked))
    guess = sum(1 for length in total_lengths if length <= free_chars)
    number = bisect_fitting(range(1, len(ranked) + 1), fits, guess)
    return (ranked[:number], minimal_after(number)) if number or fits(0) else None


def _fill_with_sentences(
    layout: Layout,
    candidates: Sequence[Candidate],
    sentences: ScoredSentences,
    whole: Sequence[Candidate],
    minimal_forms: dict[int, Candidate],
) -> FillResult:
    """Include `whole`, and the best sentences of all others if they cover `minimal_forms`, else those forms."""
    chars_per_token = layout.chars_per_token(candidates[0])
    layout = layout.with_candidates(whole)
    forms = {candidate.key: candidate for candidate in whole}
    taken_indexes = {
        index
        for candidate_span in sentences.candidate_spans
        if candidate_span.candidate.key in forms
        for index in candidate_span.sentence_range
    }
    others = (candidate for candidate in sentences.rank_candidates(candidates) if candidate.key not in forms)
    best_indexes = sentences.best_sentence_per_hit(
        (candidate for candidate in others if candidate.is_hit), taken_indexes
    )
    packed = pack_sentences(
        layout, sentences, chars_per_token, best_indexes, taken_indexes - best_indexes, CONTINUITY_BONUS
    )
    if packed and minimal_forms.keys() <= packed.forms.keys():
        minimal_forms = {key: form for key, form in packed.forms.items() if key not in forms}
    return fill_result(
        layout.with_candidates(list(minimal_forms.values())), {**minimal_forms, **forms}, candidates, sentences
    )
