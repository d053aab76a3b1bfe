"""Shortening of an item that doesn't fit: to a model's excerpt, to its best sentences, or to its beginning.

These are tried in this order: the excerpt was asked for, the best sentences have words of the query, and the beginning
is only what comes first. Some part of the best candidate is always included, however small the budget: then the header
is shortened before the text.
"""

from __future__ import annotations

import re
from bisect import bisect, bisect_left, bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache, partial
from itertools import pairwise
from types import MappingProxyType
from typing import NamedTuple

from ctxassembly.assembly.rendering.layout import Layout
from ctxassembly.assembly.scoring.relevance import Relevance
from ctxassembly.assembly.scoring.sentences import ScoredSentences
from ctxassembly.data.candidates import Candidate, CandidateSpan, HeaderDetail, Shortening
from ctxassembly.data.chunks import Span
from ctxassembly.text.lines import TextLines
from ctxassembly.text.sentences import sentence_ends, sentence_spans
from ctxassembly.tokens.counter import MAX_CHARS_PER_TOKEN

# All searches here bisect, so a text of any length costs a few tries, each of which renders and counts. Bisection needs
# longer parts to have more tokens, which is true except for a rare token; the part that is returned was tried itself.

SentenceRanker = Callable[[Sequence[Candidate]], "Sequence[CandidateSentence]"]
"""Maps candidates to their sentences, best first, for use when not all of them fit."""

MIN_CUT_TOKENS = 16
"""Tokens of room that are worth filling with the beginning of another text: fewer rarely hold a sentence."""
_WORD_END = re.compile(r"\S(?=\s)")


class CandidateSentence(NamedTuple):
    """A sentence or line of a candidate's chunk."""

    candidate: Candidate
    span: Span

    @property
    def text(self) -> str:
        """The slice itself."""
        return self.candidate.chunk.text[slice(*self.span)]


# Entries of a roster, an address list or a configuration are paragraphs of short lines without stops. A text is cut
# between entries, never inside one: the opening hours of one doctor would be read below another's name.


def entry_spans(text: str, sentences: Sequence[Span]) -> list[Span]:
    r"""Return the spans of the entries among the `sentences` of `text`, ascending, without blank lines between them.

    >>> text = "Dr. Ann\nMonday\n\nDr. Bob\nFriday\n\nClosed in May."
    >>> [text[start:end] for start, end in entry_spans(text, sentence_spans(text))]
    ['Dr. Ann\nMonday', 'Dr. Bob\nFriday']
    """
    if "\n" not in text:
        return []
    boundaries = [0, *(end for _, end in sentences)]
    continues = [start > 0 for start, _ in sentences]
    lines = TextLines(text, boundaries, continues, [""] * len(continues))
    found = dict.fromkeys(map(lines.entry, range(len(continues))))
    spans = [(boundaries[entry[0]], boundaries[entry[-1] + 1]) for entry in found if entry]
    return [(start, start + len(text[start:end].rstrip())) for start, end in spans]


def ends_outside_entries(ends: Iterable[int], entries: Sequence[Span]) -> list[int]:
    """Return the `ends` that are inside none of the ascending `entries`."""
    starts = [start for start, _ in entries]
    kept: list[int] = []
    for end in ends:
        at = bisect_left(starts, end) - 1
        if at < 0 or end >= entries[at][1]:
            kept.append(end)
    return kept


def candidate_sentences(candidate: Candidate, *, keeps_entries: bool = False) -> list[CandidateSentence]:
    """Return the sentences and lines of what is kept of the candidate, in order; an entry as one if `keeps_entries`."""
    found: list[CandidateSentence] = []
    for begin, end in candidate.spans:
        text = candidate.chunk.text[begin:end]
        sentences = sentence_spans(text)
        entries = entry_spans(text, sentences) if keeps_entries else []
        ends = ends_outside_entries((end for _, end in sentences), entries)
        spans = pairwise([0, *ends])
        found += (CandidateSentence(candidate, (begin + start, begin + stop)) for start, stop in spans)
    return found


def bisect_fitting(ends: Sequence[int], fits: Callable[[int], bool], guess: int | None = None) -> int:
    """Return the last of the ascending `ends` that fits, by bisection; 0 if none does.

    With a `guess` at how many fit, the search begins there and moves away in doubling steps until the result changes.
    If a tokenizer counts fewer tokens for a longer text, a later end may be missed; the returned end fits.
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
    """Return the last end after `begin` up to which `text` fits; 0 if none does.

    It is the end of an entry or a sentence, else of a word, else any character.
    """
    sentences = sentence_ends(text, begin)
    for ends in (
        ends_outside_entries(sentences, entry_spans(text, sentence_spans(text))),
        sentences,
        [match.end() for match in _WORD_END.finditer(text, begin)],
        range(begin + 1, len(text)),
    ):
        if end := bisect_fitting(ends, fits):
            return end
    return 0


def truncate(candidate: Candidate, end: int, reason: Shortening) -> Candidate:
    """Return `candidate` with the first `end` characters of its text; unchanged if that is all of it."""
    if end >= len(candidate.text):
        return candidate
    kept: list[Span] = []
    for start, stop in candidate.spans:
        if end > 0:
            kept.append((start, min(stop, start + end)))
        end -= stop - start
    return candidate._replace(kept_spans=tuple(kept), shortened_by=reason)


def fit_excerpt(ranked: Sequence[CandidateSentence], fits: Callable[[Sequence[Candidate]], bool]) -> list[Candidate]:
    """Return the excerpts with as many of `ranked`, best first, as fit together; empty if none fits.

    A sentence that doesn't fit is skipped, and so are all after it that are more than half as long, which keeps the
    number of tries small.
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
    """Return the number of `ranked` that fit next to `chosen`."""
    if not fits(build_excerpts([*chosen, ranked[0]])):  # mostly none fits, which takes one try
        return 0
    return bisect_fitting(range(1, len(ranked) + 1), lambda upto: fits(build_excerpts([*chosen, *ranked[:upto]])))


def build_excerpts(sentences: Iterable[CandidateSentence]) -> list[Candidate]:
    """Return the candidates reduced to their `sentences`; a candidate with all of its own is unchanged."""
    by_candidate: dict[int, list[CandidateSentence]] = {}
    for sentence in sentences:
        by_candidate.setdefault(sentence.candidate.key, []).append(sentence)
    groups = by_candidate.values()
    return [_keep_only(group[0].candidate, sorted(sentence.span for sentence in group)) for group in groups]


def merge_spans(spans: Iterable[Span]) -> tuple[Span, ...]:
    """Return the ascending `spans`, with adjacent and overlapping ones merged."""
    runs: list[Span] = []
    last_end = -1
    for start, end in spans:
        if start > last_end:
            runs.append((start, end))
            last_end = end
        elif end > last_end:
            runs[-1] = (runs[-1][0], end)
            last_end = end
    return tuple(runs)


def _keep_only(candidate: Candidate, spans: Iterable[Span]) -> Candidate:
    kept = merge_spans(spans)
    if kept == candidate.spans:
        return candidate
    # A model's excerpt is recorded as the model's even if it is reduced.
    reason: Shortening = "llm" if candidate.shortened_by == "llm" else "extractive"
    return candidate._replace(kept_spans=kept, shortened_by=reason)


# Sentences of a chunk that doesn't fit are ranked by the scores of sentence selection (`scoring/sentences.py`), but:
#
# - Here mostly the sentences of one chunk compete, and the signals of chunk and section are the same for all of them.
#   So the words of a sentence itself count more (`OWN_TERMS_BONUS`): recall is .770 instead of .766 for half of the
#   questions of a set, as the mean of 500 to 4,000 tokens, and no less on two more sets
#   (`python -m quality --strategies compress`).
# - Numbers, dates and names count more, as in the published rules: they are asked for most, and a summary loses them
#   first. Without a query they alone decide within a chunk.

OWN_TERMS_BONUS = 3.0
"""Added to the score of the sentence with the most weight of the query's words; to others in proportion."""
FACT_BONUS = 0.1
"""Added for a number or a name."""
MAX_FACTS = 5
"""Maximum number of numbers and names that count: tables are full of them."""


def sentence_ranker(relevance: Relevance) -> SentenceRanker:
    """Return a function that maps candidates of `relevance` to their sentences, best for its query first.

    Sentences without a word of the query are left out, unless none has any. Ties keep their order. Nothing is scored
    before the function is first called.
    """

    @cache
    def load_table() -> _SentenceTable:
        scored_sentences = relevance.sentences
        max_term_score = float(scored_sentences.term_scores.max(initial=0.0)) or 1.0
        values = (scored_sentences.scores + OWN_TERMS_BONUS * scored_sentences.term_scores / max_term_score).tolist()
        return _SentenceTable(
            scored_sentences,
            values,
            scored_sentences.term_scores.tolist(),
            {share.candidate.key: share for share in scored_sentences.candidate_spans},
            frozenset(_facts(relevance.query or "")),
        )

    def score_sentence(sentence: CandidateSentence) -> tuple[float, bool]:
        """Return the score of a sentence, and whether it has any word of the query."""
        table = load_table()
        indexes = _overlapping_indexes(table.sentences, table.candidate_spans[sentence.candidate.key], sentence)
        facts = _facts(sentence.text)
        fact_count = min(len(facts), MAX_FACTS) + MAX_FACTS * len(table.query_facts.intersection(facts))
        value = max((table.scores[place] for place in indexes), default=0.0)
        return value + FACT_BONUS * fact_count, any(table.term_scores[place] for place in indexes)

    def rank_sentences(candidates: Sequence[Candidate]) -> list[CandidateSentence]:
        scored_sentences = [
            (*score_sentence(sentence), sentence)
            for candidate in candidates
            for sentence in candidate_sentences(candidate, keeps_entries=True)
        ]
        useful = [ranked for ranked in scored_sentences if ranked[1]]
        return [
            sentence
            for _, _, sentence in sorted(useful or scored_sentences, key=lambda ranked: (not ranked[1], -ranked[0]))
        ]

    return rank_sentences


class _SentenceTable(NamedTuple):
    """Scored sentences, with their arrays as lists."""

    sentences: ScoredSentences
    scores: Sequence[float]
    term_scores: Sequence[float]
    candidate_spans: Mapping[int, CandidateSpan]
    query_facts: frozenset[str]
    """The numbers, dates and names of the query."""


def _overlapping_indexes(
    sentences: ScoredSentences, candidate_span: CandidateSpan, sentence: CandidateSentence
) -> range:
    """Return the indexes of the scored sentences that overlap the candidate's `sentence`."""
    begin, end = (candidate_span.start + at for at in sentence.span)
    own = candidate_span.sentence_range
    last = bisect_left(sentences.boundaries, end, own.start, own.stop)
    return range(bisect_right(sentences.boundaries, begin, own.start, last) - 1, last)


def _facts(text: str) -> list[str]:
    """Return the words with a digit and the capitalized words after the first: numbers, dates and names."""
    return [
        word
        for at, word in enumerate(text.split())
        if any(char.isdigit() for char in word) or (at and next(filter(str.isalnum, word), "").isupper())
    ]


HEADER_DIVISOR = 4
"""A header that takes more than a quarter of the budget is shortened before the text."""


class ShortenPolicy(NamedTuple):
    """The excerpts and the rankings by which an item that doesn't fit is shortened."""

    model_excerpts: Mapping[int, Candidate] = MappingProxyType({})
    """The excerpts that a model made of candidates, by key: used first if they fit."""
    rank_sentences: SentenceRanker | None = None
    """Ranks the sentences of any item that doesn't fit; as many as fit are included."""
    rank_best_hit: SentenceRanker | None = None
    """Ranks the sentences of the best chunk, if that doesn't fit."""


def shorten_item(layout: Layout, item: Sequence[Candidate], policy: ShortenPolicy) -> Sequence[Candidate]:
    """Return the part of `item` that fits in `layout`; empty if none does or it is too short."""
    fitted, config = _compress_item(layout, item, policy), layout.config
    if fitted or not (config.may_shorten_hits and item[0].is_hit):
        return fitted
    return _truncate_to_fit(layout, item[0])


def shorten_best(layout: Layout, best: Candidate, policy: ShortenPolicy) -> Sequence[Candidate]:
    """Return the part of the best candidate that fits below its full header; empty if the header must be shortened."""
    if fitted := _compress_item(layout, [best], policy):
        return fitted
    if policy.rank_best_hit and (fitted := fit_excerpt(policy.rank_best_hit([best]), layout.fits)):
        return [rest._replace(shortened_by="sentence") for rest in fitted]
    shortened = shorten_with_header(layout, best)
    return [shortened[0]] if shortened and layout.fits([shortened[0]]) else []


def shorten_with_header(layout: Layout, candidate: Candidate) -> tuple[Candidate, HeaderDetail] | None:
    """Return the best candidate shortened to fit, and the detail of its header, if nothing fits whole.

    The summary is dropped first, then page and path, then the label, while the header takes more than a quarter of the
    budget; then the text is cut at a sentence, else at a word, else at a character. None if no character fits.
    """
    text = candidate.text
    begin = len(text) - len(text.lstrip())
    truncate_at = partial(truncate, candidate, reason="budget")

    def fits(end: int, *, detail: HeaderDetail) -> bool:
        return layout.fits([truncate_at(end)], detail)

    # A longer text fits only if a counter finds most of its characters free: then the limit is doubled.
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
    """Return the model's excerpts of `item`, or as many of its best sentences as fit."""
    if policy.rank_sentences is None:
        return ()
    forms = [policy.model_excerpts.get(candidate.key, candidate) for candidate in item]
    if any(candidate.key in policy.model_excerpts for candidate in item) and layout.fits(forms):
        return forms
    return fit_excerpt(policy.rank_sentences(forms), layout.fits)


def _truncate_to_fit(layout: Layout, candidate: Candidate) -> Sequence[Candidate]:
    """Return as many of the candidate's first sentences as fit in `layout`; empty if they say too little."""
    text = candidate.text
    first_character = truncate(candidate, len(text) - len(text.lstrip()) + 1, "budget")
    free_tokens = layout.max_tokens - layout.token_count
    if free_tokens < MIN_CUT_TOKENS:
        return ()
    if not layout.might_fit([first_character]):
        return ()  # mostly there is no room even for another header
    free_chars = free_tokens * MAX_CHARS_PER_TOKEN
    beginning = text[: 2 * free_chars]
    sentences = sentence_spans(beginning)
    ends = [start + len(text[start:end].rstrip()) for start, end in sentences]
    ends = ends_outside_entries(ends, entry_spans(beginning, sentences))
    ends = [end for end in ends if 0 < end < min(free_chars, len(text.rstrip()))]
    trials: dict[int, list[Candidate]] = {}

    def fits(end: int) -> bool:
        trials[end] = [truncate(candidate, end, "budget")]
        return layout.fits(trials[end])

    end = bisect_fitting(ends, fits, guess=bisect(ends, free_chars // 2))
    if not text[:end].strip():
        return ()
    fitted = trials[end]
    tokens = layout.text_tokens(fitted[0])
    # The text must take at least half of what it adds: others may use the room.
    if tokens * 2 < layout.token_count_with(fitted) - layout.token_count:
        return ()
    return fitted
