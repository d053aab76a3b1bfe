"""Sentences of a chunk that doesn't fit, best first.

They are ranked by the values that sentence selection gives them (`units.py`), so that a chunk is compressed to nearly
what would have been chosen of it. Two things differ:

- Here mostly the sentences of one chunk compete, and signals of chunk and section say the same of all of them. So the
  words of a sentence itself weigh more (`OWN`): one in two questions of a set find .770 of the evidence in place of
  .766, as the mean of 500 to 4,000 tokens, and no less on two more sets (`python -m quality --strategies compress`).
- Numbers, dates and names weigh more, in the query and beside it, as the published rules have it: they are asked for
  most, and a summary loses them first. Without a query they alone decide within a chunk.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import NamedTuple

from ctxassembly.assembly.choosing.cut import BestSentences, Sentence, sentences
from ctxassembly.assembly.choosing.shares import Share
from ctxassembly.assembly.choosing.units import Units
from ctxassembly.data.candidates import Candidate

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
