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
from ctxassembly.assembly.scoring.sentences import Units
from ctxassembly.config.assembly import AtEdge
from ctxassembly.data.candidates import Candidate, Header, Share, Shortening
from ctxassembly.data.chunks import Span
from ctxassembly.text.sentences import sentence_ends, tiles
from ctxassembly.tokens.counter import MOST_CHARS_PER_TOKEN

# Parts of a text that doesn't fit: some of its sentences, else its beginning up to a word or a character.
#
# Every search here halves: a text of any length costs a few tries, each of which renders and counts. That is sound as
# long as a longer part counts more, which holds but for the odd token; the part that comes back was tried itself.


BestSentences = Callable[[Sequence[Candidate]], "Sequence[Sentence]"]
"""Ranks the sentences of candidates that may stand where not all of them fit, best first."""

_WORD_END = re.compile(r"\S(?=\s)")


class Sentence(NamedTuple):
    """A slice of a candidate's chunk that says something by itself."""

    candidate: Candidate
    span: Span

    @property
    def text(self) -> str:
        """The slice itself."""
        return self.candidate.chunk.text[slice(*self.span)]


def sentences(candidate: Candidate) -> list[Sentence]:
    """The sentences and lines of all that is kept of the candidate, in order."""
    found: list[Sentence] = []
    for begin, end in candidate.slices:
        spans = tiles(candidate.chunk.text[begin:end])
        found += (Sentence(candidate, (begin + start, begin + stop)) for start, stop in spans)
    return found


def last_fitting(ends: Sequence[int], fits: Callable[[int], bool], guess: int | None = None) -> int:
    """The last of the ascending `ends` that fits, by halving; 0 if none.

    With a `guess` at how many fit it begins there, and goes away from it by steps that double, until it has gone past.
    Where a tokenizer counts a longer text lower than a shorter one, a later end may be missed; what comes back fits.
    """
    low, high, step, before = 0, len(ends), 1, None
    middle = high // 2 if guess is None else max(min(guess, high) - 1, 0)
    while low < high:
        fitting = fits(ends[middle])
        low, high = (middle + 1, high) if fitting else (low, middle)
        if guess is None or before not in (None, fitting):
            guess, middle = None, (low + high) // 2
        else:
            middle = min(low + step - 1, high - 1) if fitting else max(high - step, low)
            before, step = fitting, 2 * step
    return ends[low - 1] if low else 0


def fitting_end(text: str, begin: int, fits: Callable[[int], bool]) -> int:
    """The last end after `begin` up to which `text` fits: at a sentence, else a word, else a character; 0 if none."""
    for ends in (
        sentence_ends(text, begin),
        [match.end() for match in _WORD_END.finditer(text, begin)],
        range(begin + 1, len(text)),
    ):
        if end := last_fitting(ends, fits):
            return end
    return 0


def beginning(candidate: Candidate, end: int, by: Shortening) -> Candidate:
    """`candidate` with the first `end` characters of its text; itself if that is all of it."""
    if end >= len(candidate.text):
        return candidate
    kept: list[Span] = []
    for start, stop in candidate.slices:
        if end > 0:
            kept.append((start, min(stop, start + end)))
        end -= stop - start
    return candidate._replace(kept=tuple(kept), shortened_by=by)


def fitting_excerpt(ranked: Sequence[Sentence], fits: Callable[[Sequence[Candidate]], bool]) -> list[Candidate]:
    """The excerpt of as many of `ranked`, best first, as fit together; nothing if none does.

    One that doesn't fit is passed over, and so are those after it that are more than half as long: that keeps the tries
    few, however many there are.
    """
    chosen: list[Sentence] = []
    while ranked:
        number = _fitting_number(ranked, chosen, fits)
        chosen += ranked[:number]
        most = len(ranked[number].text) // 2 if number < len(ranked) else 0
        ranked = [sentence for sentence in ranked[number + 1 :] if len(sentence.text) <= most]
    return excerpt(chosen)


def _fitting_number(
    ranked: Sequence[Sentence], chosen: Sequence[Sentence], fits: Callable[[Sequence[Candidate]], bool]
) -> int:
    """The number of `ranked` that fit beside what is chosen."""
    if not fits(excerpt([*chosen, ranked[0]])):  # mostly there is room for none: one try tells
        return 0
    return last_fitting(range(1, len(ranked) + 1), lambda upto: fits(excerpt([*chosen, *ranked[:upto]])))


def excerpt(sentences: Iterable[Sentence]) -> list[Candidate]:
    """The candidates that have any of `sentences`, reduced to these; one that has all of them is unchanged."""
    chosen: dict[int, list[Sentence]] = {}
    for sentence in sentences:
        chosen.setdefault(sentence.candidate.key, []).append(sentence)
    return [_reduced(own[0].candidate, sorted(sentence.span for sentence in own)) for own in chosen.values()]


def merged(spans: Iterable[Span]) -> tuple[Span, ...]:
    """The ascending `spans`, those that touch as one."""
    runs: list[Span] = []
    for start, end in spans:
        if runs and runs[-1][1] == start:
            runs[-1] = (runs[-1][0], end)
        else:
            runs.append((start, end))
    return tuple(runs)


def _reduced(candidate: Candidate, spans: Iterable[Span]) -> Candidate:
    kept = merged(spans)
    if kept == candidate.slices:
        return candidate
    # A model's excerpt stays the model's however it is reduced.
    by: Shortening = "llm" if candidate.shortened_by == "llm" else "extractive"
    return candidate._replace(kept=kept, shortened_by=by)


# Sentences of a chunk that doesn't fit, best first.
#
# They are ranked by the values that sentence selection gives them (`units.py`), so that a chunk is compressed to nearly
# what would have been chosen of it. Two things differ:
#
# - Here mostly the sentences of one chunk compete, and signals of chunk and section say the same of all of them. So the
#   words of a sentence itself weigh more (`OWN`): one in two questions of a set find .770 of the evidence in place of
#   .766, as the mean of 500 to 4,000 tokens, and no less on two more sets (`python -m quality --strategies compress`).
# - Numbers, dates and names weigh more, in the query and beside it, as the published rules have it: they are asked for
#   most, and a summary loses them first. Without a query they alone decide within a chunk.


OWN = 3.0
"""The value of the query's words in a sentence itself, added to that of the unit; the best has all of it."""
FACT = 0.1
"""The value of a number or a name, added likewise."""
MOST_FACTS = 5
"""More numbers and names than these don't make a sentence better: tables are full of them."""


def best_sentences(units: Callable[[], Units], query: str | None) -> BestSentences:
    """A function from candidates that are in `units` to their sentences, those that answer `query` best first.

    Sentences that have no word of the query are left out, unless none has any. Of equal ones the one that comes first
    stays first. The units are asked for when the function is first called.
    """
    asked_for = frozenset(_facts(query or ""))

    @cache
    def read() -> _Read:
        found = units()
        most = float(found.matches.max(initial=0.0)) or 1.0
        values = (found.values + OWN * found.matches / most).tolist()
        return _Read(found, values, found.matches.tolist(), {share.candidate.key: share for share in found.shares})

    def scored(sentence: Sentence) -> tuple[float, bool]:
        """The score of a sentence, and whether it has any word of the query."""
        known = read()
        places = _places(known.units, known.shares[sentence.candidate.key], sentence)
        facts = _facts(sentence.text)
        worth = min(len(facts), MOST_FACTS) + MOST_FACTS * len(asked_for.intersection(facts))
        value = max((known.values[place] for place in places), default=0.0)
        return value + FACT * worth, any(known.matches[place] for place in places)

    def best(some: Sequence[Candidate]) -> list[Sentence]:
        found = [(*scored(sentence), sentence) for candidate in some for sentence in sentences(candidate)]
        useful = [ranked for ranked in found if ranked[1]] or found
        return [sentence for _, _, sentence in sorted(useful, key=lambda ranked: -ranked[0])]

    return best


class _Read(NamedTuple):
    """The units as they are read once."""

    units: Units
    values: Sequence[float]
    matches: Sequence[float]
    shares: Mapping[int, Share]


def _places(units: Units, share: Share, sentence: Sentence) -> range:
    """The places of the units that have a part of the candidate's `sentence`."""
    begin, end = (share.begin + at for at in sentence.span)
    last = bisect_left(units.edges, end, share.places.start, share.places.stop)
    return range(bisect_right(units.edges, begin, share.places.start, last) - 1, last)


def _facts(text: str) -> list[str]:
    """The words with a digit, and the capitalised ones that don't begin the text: numbers, dates and names."""
    return [
        word
        for at, word in enumerate(text.split())
        if any(char.isdigit() for char in word) or (at and next(filter(str.isalnum, word), "").isupper())
    ]


MEANINGFUL_RESTS = 3
"""A cut chunk must have this many times the tokens below which a whole one says too little (published)."""
HEADER_SHARE = 4
"""A header that takes more than a quarter of the budget is shortened before the text is cut."""


class Edge(NamedTuple):
    """The rules for an item that doesn't fit."""

    at_edge: AtEdge = "skip"
    """The next item follows, none does, or its beginning stands and then none does."""
    cuts_hits: bool = False
    """True if the beginning of a hit stands, whatever follows."""
    min_chunk_tokens: int = 0
    forms: Mapping[int, Candidate] = MappingProxyType({})
    """The excerpts that a model made of candidates, by key: taken before anything else if they fit."""
    sentences: BestSentences | None = None
    """Ranks the sentences of any item that doesn't fit; as many as fit are taken."""
    answers: BestSentences | None = None
    """The same for the best chunk of all alone."""

    @property
    def ends(self) -> bool:
        """True if nothing follows an item that doesn't fit."""
        return self.at_edge != "skip"


def in_part(layout: Layout, item: Sequence[Candidate], edge: Edge) -> Sequence[Candidate]:
    """The part of `item` that fits beside what stands; nothing if there is none worth its room."""
    if (rests := _compressed(layout, item, edge)) or not (
        edge.at_edge == "truncate" or (edge.cuts_hits and item[0].is_hit)
    ):
        return rests
    return _rest_of(layout, item[0], edge)


def best_in_part(layout: Layout, best: Candidate, edge: Edge) -> Sequence[Candidate]:
    """The part of the best candidate of all that fits below its full header; none if that has to be shortened, too."""
    if rests := _compressed(layout, [best], edge):
        return rests
    if edge.answers and (rests := fitting_excerpt(edge.answers([best]), layout.fits)):
        return [rest._replace(shortened_by="sentence") for rest in rests]
    alone = shorten(layout, best)
    return [alone[0]] if alone and layout.fits([alone[0]]) else []


def shorten(layout: Layout, candidate: Candidate) -> tuple[Candidate, Header] | None:
    """The best candidate of a budget in which nothing fits whole, made to fit, and how much header stays.

    The summary goes first, then page and path, then the label, as long as the header takes more than a quarter of the
    budget; then the text is cut at a sentence, else at a word, else at a character. None if not even one fits.
    """
    text = candidate.text
    begin = len(text) - len(text.lstrip())
    upto = partial(beginning, candidate, by="budget")

    def fits(end: int, *, level: Header) -> bool:
        return layout.fits([upto(end)], level)

    # No text of more characters fits, unless a counter finds most of them free: then the reach is doubled.
    reach = begin + layout.max_tokens * MOST_CHARS_PER_TOKEN
    while reach < len(text) and fits(reach, level=Header.NONE):
        reach *= 2
    for level in Header:
        if reach >= len(text) and fits(len(text), level=level):
            return candidate, level
        if level > Header.FULL and layout.header_share(upto(begin + 1), level) * HEADER_SHARE <= 1:
            end = fitting_end(text[:reach], begin, partial(fits, level=level))
            if end:
                return upto(end), level
    return None


def _compressed(layout: Layout, item: Sequence[Candidate], edge: Edge) -> Sequence[Candidate]:
    """The forms of `item` that a model chose, or as many of its best sentences as fit."""
    if edge.sentences is None:
        return ()
    short = [edge.forms.get(candidate.key, candidate) for candidate in item]
    if any(candidate.key in edge.forms for candidate in item) and layout.fits(short):
        return short
    return fitting_excerpt(edge.sentences(short), layout.fits)


def _rest_of(layout: Layout, candidate: Candidate, edge: Edge) -> Sequence[Candidate]:
    """The candidate's first sentences, as many as fit beside what stands; nothing if they say too little."""
    text = candidate.text
    if not layout.may_fit([beginning(candidate, len(text) - len(text.lstrip()) + 1, "budget")]):
        return ()  # mostly there is no room for another header
    room = (layout.max_tokens - layout.token_count) * MOST_CHARS_PER_TOKEN
    within = text[:room]
    ends = [end for end in sentence_ends(within) if end < len(within.rstrip())]  # the room ends no sentence
    tried: dict[int, list[Candidate]] = {}

    def fits(end: int) -> bool:
        tried[end] = [beginning(candidate, end, "budget")]
        return layout.fits(tried[end])

    end = last_fitting(ends, fits, guess=bisect(ends, room // 2))
    if not text[:end].strip():
        return ()
    rests = tried[end]
    tokens = layout.text_tokens(rests[0])
    # Where filling goes on, a rest has to be worth more than what is written around it: others wait for the room.
    if not edge.ends and tokens * 2 < layout.weigh(rests) - layout.token_count:
        return ()
    return rests if tokens >= MEANINGFUL_RESTS * edge.min_chunk_tokens else ()
