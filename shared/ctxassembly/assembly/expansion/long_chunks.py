"""The part of an overlong chunk that is read: around the query's words, else the beginning.

Books that nobody split would be cut into sentences and weighed, all of them for the little that fits. So of a chunk of
more than a million characters only a part is read: 20 million of them take 0.09 s with a query, read whole 1.0 s.

The words of the query are looked for in stretches of 16,000 characters. A word weighs more, the fewer stretches have
it; the part is laid around the stretch of the greatest weight. The search costs no more than 60 million characters:
from then on a word is looked for only in the stretches that have another one already.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import accumulate

from ctxassembly.data.candidates import Candidate
from ctxassembly.text.words import STEM_CHARS, is_spaced, parted, words
from ctxassembly.tokens.counter import LONGEST_TOKEN, MOST_CHARS_PER_TOKEN, Counter

READ_CHARS = 1_000_000
"""The longest chunk that is read whole: several books."""
PART_CHARS = 250_000
"""The shortest part of a longer chunk: a long book, far more than most budgets have room for."""
STRETCH_CHARS = 16_000
"""The length of text in which the words of the query have to stand together."""
SOUGHT_CHARS = 60_000_000
"""Characters searched for all words together: sixty passes over a chunk of a million, three over one of 20."""
SHORT_CHARS = 3
"""Letters of a word that is looked for as it is. A longer one is looked for without its first letter, which may be a
capital."""
EDGE_CHARS = 1_000
"""Characters within which the part is made to begin with a line or a word."""


@dataclass(frozen=True, slots=True)
class LongChunks:
    """The reader of long chunks for one context."""

    counter: Counter
    max_tokens: int
    query: str | None
    """None if its words don't decide which sentences stand."""

    def read(self, candidate: Candidate) -> Candidate:
        """`candidate`, reduced to a part if its chunk is too long to read and can't stand whole.

        The part is still more than fits, so it is cut again later and the cut is marked.
        """
        chunk = candidate.chunk
        if len(chunk.text) <= READ_CHARS or (size := self._enough(chunk.text)) >= len(chunk.text):
            return candidate
        begin = part_with(chunk.text, self.query, size) if self.query else 0
        start = None if chunk.start is None else chunk.start + begin
        part = replace(chunk, text=chunk.text[begin : begin + size], start=start)
        return candidate._replace(chunk=part, read_from=begin)

    def _enough(self, text: str) -> int:
        """The length of a beginning of `text` that exceeds the budget already; all of it if all of it may stand."""
        size = max(self.max_tokens * MOST_CHARS_PER_TOKEN, PART_CHARS)
        most = len(text)
        if self.counter.additive and (self.max_tokens + 1) * LONGEST_TOKEN < most:
            # No token is longer, so more than that many characters can't fit.
            most = max((self.max_tokens + 1) * LONGEST_TOKEN, size)
        # Doubled, so all tries together encode no more than twice what the last one does.
        while size < most and not self._is_too_much(text[:size]):
            size *= 2
        return min(size, most)

    def _is_too_much(self, text: str) -> bool:
        return self.counter.exceed([text], self.max_tokens) or self.counter.count(text) > self.max_tokens


def part_with(text: str, query: str, size: int) -> int:
    """The beginning of the `size` characters of `text` around the stretch that has most of the query's words.

    0 if no word is found. A word weighs more, the fewer stretches of the text have it.
    """
    stretches = -(-len(text) // STRETCH_CHARS)
    worth: dict[int, float] = {}
    left = SOUGHT_CHARS
    for word in _sought(query):
        # Where another pass over all of it would be too long, only the stretches of other words are searched.
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
    stretches_found = sorted(worth)
    sums = [0.0, *accumulate(worth[at] for at in stretches_found)]

    def around(at: int) -> float:
        """The worth of all stretches that the part around this one has."""
        reach = size // STRETCH_CHARS // 2
        return sums[bisect_left(stretches_found, at + reach + 1)] - sums[bisect_left(stretches_found, at - reach)]

    middle = max((at for at in stretches_found if worth[at] == best), key=around)
    begin = min(middle * STRETCH_CHARS - (size - STRETCH_CHARS) // 2, len(text) - size)
    return _edge(text, begin) if begin > 0 else 0


def _sought(query: str) -> Iterable[str]:
    """The words of `query` as they are looked for, in its own spelling; the longest first, since they say most."""
    found = parted(query).split() if is_spaced(query) else words(query)
    ranked = sorted(dict.fromkeys(found), key=len, reverse=True)
    return dict.fromkeys(word[1:STEM_CHARS] if len(word) > SHORT_CHARS else word for word in ranked)


def _stretches_with(word: str, text: str, upto: int) -> tuple[list[int], int]:
    """The numbers of the stretches of `text[:upto]` that have `word`, and the count of characters searched."""
    found: list[int] = []
    begin = seen = 0
    while (at := text.find(word, begin, upto)) >= 0:
        found.append(at // STRETCH_CHARS)
        seen += at - begin
        begin = (found[-1] + 1) * STRETCH_CHARS
    return found, seen + max(min(upto, len(text)) - begin, 0)


def _edge(text: str, begin: int) -> int:
    """The beginning of the next line, else of the next word; `begin` if none is near."""
    for mark in ("\n", " "):
        if (at := text.find(mark, begin - 1, begin + EDGE_CHARS)) >= 0:
            return at + 1
    return begin
