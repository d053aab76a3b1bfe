"""Of a chunk that is too long to be read, the part that is: where the query's words stand, else the beginning.

No splitter leaves several books in one piece; without one, all of it would be weighed for the little that fits.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import accumulate

from ctxassembly.data.candidates import Candidate
from ctxassembly.text.terms import STEM_CHARS
from ctxassembly.text.words import is_spaced, parted, words
from ctxassembly.tokens.counter import Counter
from ctxassembly.tokens.lower_bound import LONGEST_TOKEN, MOST_CHARS_PER_TOKEN

READ_CHARS = 1_000_000
"""Up to here all of a chunk is read: several books."""
PART_CHARS = 250_000
"""Of a longer one, at least: a long book, far more than most budgets have room for."""
STRETCH_CHARS = 16_000
"""What the words of the query have to stand in together."""
SOUGHT_CHARS = 100_000_000
"""That the words are looked for in, one after the other, as long as none of them is found. Then only beside it."""
SHORT_CHARS = 3
"""Letters of a word that is looked for as it is. Of a longer one the first may be a capital."""
EDGE_CHARS = 1_000
"""Within which the part is made to begin with a line or a word."""


@dataclass(frozen=True, slots=True)
class LongChunks:
    """How they are read for one context."""

    counter: Counter
    max_tokens: int
    query: str | None
    """None if its words don't decide what stands."""

    def read(self, candidate: Candidate) -> Candidate:
        """`candidate`; of a chunk that is too long and can't stand whole, only the part that is read.

        What is left is still too much: it is cut, and the cut is marked.
        """
        chunk = candidate.chunk
        if len(chunk.text) <= READ_CHARS or (size := self._enough(chunk.text)) >= len(chunk.text):
            return candidate
        begin = part_with(chunk.text, self.query, size) if self.query else 0
        start = None if chunk.start is None else chunk.start + begin
        part = replace(chunk, text=chunk.text[begin : begin + size], start=start)
        return candidate._replace(chunk=part, read_from=begin)

    def _enough(self, text: str) -> int:
        """Characters at the beginning of `text` that are too much already; its length if it may stand whole."""
        size = max(self.max_tokens * MOST_CHARS_PER_TOKEN, PART_CHARS)
        most = len(text)
        if self.counter.additive and (self.max_tokens + 1) * LONGEST_TOKEN < most:
            most = max((self.max_tokens + 1) * LONGEST_TOKEN, size)
        while size < most and not self._is_too_much(text[:size]):
            size *= 2
        return min(size, most)

    def _is_too_much(self, text: str) -> bool:
        return self.counter.exceed([text], self.max_tokens) or self.counter.count(text) > self.max_tokens


def part_with(text: str, query: str, size: int) -> int:
    """Where the `size` characters of `text` begin around those that have most of the query's words; 0 if none has any.

    A word weighs more, the fewer stretches of the text have it.
    """
    stretches = -(-len(text) // STRETCH_CHARS)
    worth: dict[int, float] = {}
    left = SOUGHT_CHARS
    for word in _sought(query):
        if worth and left < len(text):
            found = [at for at in worth if text.find(word, at * STRETCH_CHARS, (at + 1) * STRETCH_CHARS) >= 0]
            among = len(worth)
        elif left > 0:
            found, seen = _stretches_with(word, text, left)
            among = stretches
            left -= seen
        else:
            break
        for at in found:
            worth[at] = worth.get(at, 0.0) + math.log((1 + among / len(found)) / 2)
    best = max(worth.values(), default=0.0)
    if not best:
        return 0
    places = sorted(worth)
    sums = [0.0, *accumulate(worth[at] for at in places)]

    def around(at: int) -> float:
        """What all stretches about it are worth."""
        reach = size // STRETCH_CHARS // 2
        return sums[bisect_left(places, at + reach + 1)] - sums[bisect_left(places, at - reach)]

    middle = max((at for at in places if worth[at] == best), key=around)
    begin = min(middle * STRETCH_CHARS - (size - STRETCH_CHARS) // 2, len(text) - size)
    return _edge(text, begin) if begin > 0 else 0


def _sought(query: str) -> Iterable[str]:
    """The words of `query` as they are looked for, the longest first: they say most. In its own spelling."""
    found = parted(query).split() if is_spaced(query) else words(query)
    ranked = sorted(dict.fromkeys(found), key=len, reverse=True)
    return dict.fromkeys(word[1:STEM_CHARS] if len(word) > SHORT_CHARS else word for word in ranked)


def _stretches_with(word: str, text: str, upto: int) -> tuple[list[int], int]:
    """The stretches of `text[:upto]` that have `word`, by number, and how many characters were looked at."""
    found: list[int] = []
    begin = seen = 0
    while (at := text.find(word, begin, upto)) >= 0:
        found.append(at // STRETCH_CHARS)
        seen += at - begin
        begin = (found[-1] + 1) * STRETCH_CHARS
    return found, seen + max(min(upto, len(text)) - begin, 0)


def _edge(text: str, begin: int) -> int:
    """Where the next line begins, else the next word; `begin` if none does soon."""
    for mark in ("\n", " "):
        if (at := text.find(mark, begin - 1, begin + EDGE_CHARS)) >= 0:
            return at + 1
    return begin
