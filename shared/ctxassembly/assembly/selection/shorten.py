"""The part of an item that doesn't fit: a form that a model chose, its best sentences, or its beginning.

The order is that of trust. A model's excerpt was asked for; the best sentences answer the query by its words; a
beginning is only what comes first. For the best candidate of all there is always a part, however small the budget:
then the header gives way before the text does.
"""

from __future__ import annotations

import re
from bisect import bisect, bisect_left, bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache, partial
from types import MappingProxyType
from typing import NamedTuple

from ctxassembly.assembly.rendering.layout import Layout
from ctxassembly.assembly.scoring.sentences import ScoredSentences
from ctxassembly.config.assembly import Overflow
from ctxassembly.data.candidates import Candidate, CandidateSpan, HeaderDetail, Shortening
from ctxassembly.data.chunks import Span
from ctxassembly.text.sentences import sentence_ends, sentence_spans
from ctxassembly.tokens.counter import MAX_CHARS_PER_TOKEN

# Parts of a text that doesn't fit: some of its sentences, else its beginning up to a word or a character.
#
# Every search here halves: a text of any length costs a few tries, each of which renders and counts. That is sound as
# long as a longer part counts more, which holds but for the odd token; the part that comes back was tried itself.


SentenceRanker = Callable[[Sequence[Candidate]], "Sequence[CandidateSentence]"]
"""Ranks the sentences of candidates that may stand where not all of them fit, best first."""

_WORD_END = re.compile(r"\S(?=\s)")


class CandidateSentence(NamedTuple):
    """A slice of a candidate's chunk that says something by itself."""

    candidate: Candidate
    span: Span

    @property
    def text(self) -> str:
        """The slice itself."""
        return self.candidate.chunk.text[slice(*self.span)]


def candidate_sentences(candidate: Candidate) -> list[CandidateSentence]:
    """The sentences and lines of all that is kept of the candidate, in order."""
    found: list[CandidateSentence] = []
    for begin, end in candidate.spans:
        spans = sentence_spans(candidate.chunk.text[begin:end])
        found += (CandidateSentence(candidate, (begin + start, begin + stop)) for start, stop in spans)
    return found


def bisect_fitting(ends: Sequence[int], fits: Callable[[int], bool], guess: int | None = None) -> int:
    """The last of the ascending `stop_at_overflow` that fits, by halving; 0 if none.

    With a `guess` at how many fit it begins there, and goes away from it by steps that double, until it has gone past.
    Where a tokenizer counts a longer text lower than a shorter one, a later end may be missed; what comes back fits.
    """
    low, high, step, previous_fits = 0, len(ends), 1, None
    middle = high // 2 if guess is None else max(min(guess, high) - 1, 0)
    while low < high:
        fits_middle = fits(ends[middle])
        low, high = (middle + 1, high) if fits_middle else (low, middle)
        if guess is None or previous_fits not in (None, fits_middle):
            guess, middle = None, (low + high) // 2
        else:
            middle = min(low + step - 1, high - 1) if fits_middle else max(high - step, low)
            previous_fits, step = fits_middle, 2 * step
    return ends[low - 1] if low else 0


def longest_prefix(text: str, begin: int, fits: Callable[[int], bool]) -> int:
    """The last end after `begin` up to which `text` fits: at a sentence, else a word, else a character; 0 if none."""
    for ends in (
        sentence_ends(text, begin),
        [match.end() for match in _WORD_END.finditer(text, begin)],
        range(begin + 1, len(text)),
    ):
        if end := bisect_fitting(ends, fits):
            return end
    return 0


def truncate(candidate: Candidate, end: int, reason: Shortening) -> Candidate:
    """`candidate` with the first `end` characters of its text; itself if that is all of it."""
    if end >= len(candidate.text):
        return candidate
    kept: list[Span] = []
    for start, stop in candidate.spans:
        if end > 0:
            kept.append((start, min(stop, start + end)))
        end -= stop - start
    return candidate._replace(kept_spans=tuple(kept), shortened_by=reason)


def fit_excerpt(ranked: Sequence[CandidateSentence], fits: Callable[[Sequence[Candidate]], bool]) -> list[Candidate]:
    """The excerpt of as many of `ranked`, best first, as fit together; nothing if none does.

    One that doesn't fit is passed over, and so are those after it that are more than half as long: that keeps the tries
    few, however many there are.
    """
    chosen: list[CandidateSentence] = []
    while ranked:
        fitting_count = _count_fitting(ranked, chosen, fits)
        chosen += ranked[:fitting_count]
        max_length = len(ranked[fitting_count].text) // 2 if fitting_count < len(ranked) else 0
        ranked = [sentence for sentence in ranked[fitting_count + 1 :] if len(sentence.text) <= max_length]
    return build_excerpts(chosen)


def _count_fitting(
    ranked: Sequence[CandidateSentence],
    chosen: Sequence[CandidateSentence],
    fits: Callable[[Sequence[Candidate]], bool],
) -> int:
    """The number of `ranked` that fit beside what is chosen."""
    if not fits(build_excerpts([*chosen, ranked[0]])):  # mostly there is room for none: one try tells
        return 0
    return bisect_fitting(range(1, len(ranked) + 1), lambda upto: fits(build_excerpts([*chosen, *ranked[:upto]])))


def build_excerpts(sentences: Iterable[CandidateSentence]) -> list[Candidate]:
    """The candidates reduced to those of `candidate_sentences` that they have; one with all of its own is unchanged."""
    by_candidate: dict[int, list[CandidateSentence]] = {}
    for sentence in sentences:
        by_candidate.setdefault(sentence.candidate.key, []).append(sentence)
    return [
        _keep_only(group[0].candidate, sorted(sentence.span for sentence in group)) for group in by_candidate.values()
    ]


def merge_spans(spans: Iterable[Span]) -> tuple[Span, ...]:
    """The ascending `spans`, those that touch as one."""
    runs: list[Span] = []
    for start, end in spans:
        if runs and runs[-1][1] == start:
            runs[-1] = (runs[-1][0], end)
        else:
            runs.append((start, end))
    return tuple(runs)


def _keep_only(candidate: Candidate, spans: Iterable[Span]) -> Candidate:
    kept = merge_spans(spans)
    if kept == candidate.spans:
        return candidate
    # A model's excerpt stays the model's however it is reduced.
    reason: Shortening = "llm" if candidate.shortened_by == "llm" else "extractive"
    return candidate._replace(kept_spans=kept, shortened_by=reason)


# Sentences of a chunk that doesn't fit, best first.
#
# They are ranked by the values that sentence selection gives them (`units.py`), so that a chunk is compressed to nearly
# what would have been chosen of it. Two things differ:
#
# - Here mostly the sentences of one chunk compete, and signals of chunk and section say the same of all of them. So the
#   words of a sentence itself weigh more (`OWN_TERMS_BONUS`): one in two questions of a set find .770 of the evidence
# in place of   .766, as the mean of 500 to 4,000 tokens, and no less on two more sets (`python -m quality --strategies
# compress`).
# - Numbers, dates and names weigh more, in the query and beside it, as the published rules have it: they are asked for
#   most, and a summary loses them first. Without a query they alone decide within a chunk.


OWN_TERMS_BONUS = 3.0
"""The value of the query's words in a sentence itself, added to that of the unit; the best has all of it."""
FACT_BONUS = 0.1
"""The value of a number or a name, added likewise."""
MAX_FACTS = 5
"""More numbers and names than these don't make a sentence better: tables are full of them."""


def sentence_ranker(get_sentences: Callable[[], ScoredSentences], query: str | None) -> SentenceRanker:
    """A function from candidates that are in `get_sentences` to their sentences, those that answer `query` best first.

    Sentences that have no word of the query are left out, unless none has any. Of equal ones the one that comes first
    stays first. The units are asked for when the function is first called.
    """
    query_facts = frozenset(_facts(query or ""))

    @cache
    def load_table() -> _SentenceTable:
        scored_sentences = get_sentences()
        max_term_score = float(scored_sentences.term_scores.max(initial=0.0)) or 1.0
        values = (scored_sentences.scores + OWN_TERMS_BONUS * scored_sentences.term_scores / max_term_score).tolist()
        return _SentenceTable(
            scored_sentences,
            values,
            scored_sentences.term_scores.tolist(),
            {share.candidate.key: share for share in scored_sentences.candidate_spans},
        )

    def score_sentence(sentence: CandidateSentence) -> tuple[float, bool]:
        """The score of a sentence, and whether it has any word of the query."""
        table = load_table()
        indexes = _overlapping_indexes(table.sentences, table.candidate_spans[sentence.candidate.key], sentence)
        facts = _facts(sentence.text)
        fact_count = min(len(facts), MAX_FACTS) + MAX_FACTS * len(query_facts.intersection(facts))
        value = max((table.scores[place] for place in indexes), default=0.0)
        return value + FACT_BONUS * fact_count, any(table.term_scores[place] for place in indexes)

    def rank_sentences(candidates: Sequence[Candidate]) -> list[CandidateSentence]:
        scored_sentences = [
            (*score_sentence(sentence), sentence)
            for candidate in candidates
            for sentence in candidate_sentences(candidate)
        ]
        useful = [ranked for ranked in scored_sentences if ranked[1]] or scored_sentences
        return [sentence for _, _, sentence in sorted(useful, key=lambda ranked: -ranked[0])]

    return rank_sentences


class _SentenceTable(NamedTuple):
    """The units as they are read once."""

    sentences: ScoredSentences
    scores: Sequence[float]
    term_scores: Sequence[float]
    candidate_spans: Mapping[int, CandidateSpan]


def _overlapping_indexes(
    sentences: ScoredSentences, candidate_span: CandidateSpan, sentence: CandidateSentence
) -> range:
    """The places of the units that have a part of the candidate's `sentence`."""
    begin, end = (candidate_span.start + at for at in sentence.span)
    last = bisect_left(
        sentences.boundaries, end, candidate_span.sentence_range.start, candidate_span.sentence_range.stop
    )
    return range(bisect_right(sentences.boundaries, begin, candidate_span.sentence_range.start, last) - 1, last)


def _facts(text: str) -> list[str]:
    """The words with a digit, and the capitalized ones that don't begin the text: numbers, dates and names."""
    return [
        word
        for at, word in enumerate(text.split())
        if any(char.isdigit() for char in word) or (at and next(filter(str.isalnum, word), "").isupper())
    ]


MIN_CUT_FACTOR = 3
"""A cut chunk must have this many times the tokens below which a whole one says too little (published)."""
HEADER_DIVISOR = 4
"""A header that takes more than a quarter of the budget is shortened before the text is cut."""


class ShortenPolicy(NamedTuple):
    """The rules for an item that doesn't fit."""

    overflow: Overflow = "skip"
    """The next item follows, none does, or its beginning stands and then none does."""
    may_shorten_hits: bool = False
    """True if the beginning of a hit stands, whatever follows."""
    min_chunk_tokens: int = 0
    model_excerpts: Mapping[int, Candidate] = MappingProxyType({})
    """The excerpts that a model made of candidates, by key: taken before anything else if they fit."""
    rank_sentences: SentenceRanker | None = None
    """Ranks the sentences of any item that doesn't fit; as many as fit are taken."""
    rank_best_hit: SentenceRanker | None = None
    """The same for the best chunk of all alone."""

    @property
    def stop_at_overflow(self) -> bool:
        """True if nothing follows an item that doesn't fit."""
        return self.overflow != "skip"


def shorten_item(layout: Layout, item: Sequence[Candidate], policy: ShortenPolicy) -> Sequence[Candidate]:
    """The part of `item` that fits beside what stands; nothing if there is none worth its room."""
    if (fitted := _compress_item(layout, item, policy)) or not (
        policy.overflow == "truncate" or (policy.may_shorten_hits and item[0].is_hit)
    ):
        return fitted
    return _truncate_to_fit(layout, item[0], policy)


def shorten_best(layout: Layout, best: Candidate, policy: ShortenPolicy) -> Sequence[Candidate]:
    """The part of the best candidate of all that fits below its full header; none if that has to be shortened, too."""
    if fitted := _compress_item(layout, [best], policy):
        return fitted
    if policy.rank_best_hit and (fitted := fit_excerpt(policy.rank_best_hit([best]), layout.fits)):
        return [rest._replace(shortened_by="sentence") for rest in fitted]
    shortened = shorten_with_header(layout, best)
    return [shortened[0]] if shortened and layout.fits([shortened[0]]) else []


def shorten_with_header(layout: Layout, candidate: Candidate) -> tuple[Candidate, HeaderDetail] | None:
    """The best candidate of a budget in which nothing fits whole, made to fit, and how much header stays.

    The summary goes first, then page and path, then the label, as long as the header takes more than a quarter of the
    budget; then the text is cut at a sentence, else at a word, else at a character. None if not even one fits.
    """
    text = candidate.text
    begin = len(text) - len(text.lstrip())
    truncate_at = partial(truncate, candidate, reason="budget")

    def fits(end: int, *, detail: HeaderDetail) -> bool:
        return layout.fits([truncate_at(end)], detail)

    # No text of more characters fits, unless a counter finds most of them free: then the reach is doubled.
    max_chars = begin + layout.max_tokens * MAX_CHARS_PER_TOKEN
    while max_chars < len(text) and fits(max_chars, detail=HeaderDetail.NONE):
        max_chars *= 2
    for detail in HeaderDetail:
        if max_chars >= len(text) and fits(len(text), detail=detail):
            return candidate, detail
        if detail > HeaderDetail.FULL and layout.header_share(truncate_at(begin + 1), detail) * HEADER_DIVISOR <= 1:
            end = longest_prefix(text[:max_chars], begin, partial(fits, detail=detail))
            if end:
                return truncate_at(end), detail
    return None


def _compress_item(layout: Layout, item: Sequence[Candidate], policy: ShortenPolicy) -> Sequence[Candidate]:
    """The forms of `item` that a model chose, or as many of its best sentences as fit."""
    if policy.rank_sentences is None:
        return ()
    forms = [policy.model_excerpts.get(candidate.key, candidate) for candidate in item]
    if any(candidate.key in policy.model_excerpts for candidate in item) and layout.fits(forms):
        return forms
    return fit_excerpt(policy.rank_sentences(forms), layout.fits)


def _truncate_to_fit(layout: Layout, candidate: Candidate, policy: ShortenPolicy) -> Sequence[Candidate]:
    """The candidate's first sentences, as many as fit beside what stands; nothing if they say too little."""
    text = candidate.text
    if not layout.might_fit([truncate(candidate, len(text) - len(text.lstrip()) + 1, "budget")]):
        return ()  # mostly there is no room for another header
    free_chars = (layout.max_tokens - layout.token_count) * MAX_CHARS_PER_TOKEN
    fitting_text = text[:free_chars]
    ends = [end for end in sentence_ends(fitting_text) if end < len(fitting_text.rstrip())]  # the room ends no sentence
    trials: dict[int, list[Candidate]] = {}

    def fits(end: int) -> bool:
        trials[end] = [truncate(candidate, end, "budget")]
        return layout.fits(trials[end])

    end = bisect_fitting(ends, fits, guess=bisect(ends, free_chars // 2))
    if not text[:end].strip():
        return ()
    fitted = trials[end]
    tokens = layout.text_tokens(fitted[0])
    # Where filling goes on, a rest has to be worth more than what is written around it: others wait for the room.
    if not policy.stop_at_overflow and tokens * 2 < layout.token_count_with(fitted) - layout.token_count:
        return ()
    return fitted if tokens >= MIN_CUT_FACTOR * policy.min_chunk_tokens else ()
