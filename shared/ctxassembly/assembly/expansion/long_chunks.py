"""The part of an overlong chunk that is read: around the query's words, else the beginning.

A book that nobody split would be cut into sentences, and all of them scored for the few that fit. So only a part is
read of a chunk of more than a million characters.

The longest words of the query are looked for in segments of 16,000 characters. The fewer segments have a word, the more
it counts. The part is placed around the segment with the highest sum.
"""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass, replace

from ctxassembly.data.candidates import Candidate
from ctxassembly.text.words import PREFIX_LENGTH, blank_punctuation, find_identifiers, is_spaced, words
from ctxassembly.tokens.counter import MAX_CHARS_PER_TOKEN, MAX_TOKEN_CHARS, TokenCounter

MAX_CHARS = 1_000_000
"""The longest chunk that is read whole: several books."""
MIN_PART_CHARS = 250_000
"""The shortest part of a longer chunk: a long book, far more than most budgets have room for."""
SEGMENT_CHARS = 16_000
"""The length of text in which the words of the query have to occur together."""
MAX_WORDS = 8
"""Words of the query that are looked for, each in one pass over the text."""
MAX_SEARCHED_CHARS = 60_000_000
"""Characters read by all passes together: three passes over a chunk of 20 million, which is the most they may cost."""
SHORT_WORD_CHARS = 3
"""Letters of a word that is looked for as it is. A longer one is looked for without its first letter, which may be a
capital."""
MAX_SHIFT_CHARS = 1_000
"""Characters within which the part is made to begin with a line or a word."""


@dataclass(frozen=True, slots=True)
class LongChunks:
    """The reader of long chunks for one context."""

    counter: TokenCounter
    max_tokens: int
    query: str | None
    """None if its words don't decide which sentences are included."""

    def trim(self, candidate: Candidate) -> Candidate:
        """Return `candidate`, reduced to a part if its chunk is too long to read and can't be included whole.

        The part is still longer than the budget, so it is cut again later and the cut is marked.
        """
        chunk = candidate.chunk
        if len(chunk.text) <= MAX_CHARS or (size := self._exceeding_length(chunk.text)) >= len(chunk.text):
            return candidate
        begin = best_window(chunk.text, self.query, size) if self.query else 0
        start = None if chunk.start is None else chunk.start + begin
        part = replace(chunk, text=chunk.text[begin : begin + size], start=start)
        return candidate._replace(chunk=part, text_offset=begin)

    def _exceeding_length(self, text: str) -> int:
        """Return the length of a beginning of `text` that exceeds the budget; of all of it if it may all fit."""
        size = max(self.max_tokens * MAX_CHARS_PER_TOKEN, MIN_PART_CHARS)
        max_size = len(text)
        if self.counter.additive and (self.max_tokens + 1) * MAX_TOKEN_CHARS < max_size:
            # No token is longer, so more than that many characters can't fit.
            max_size = max((self.max_tokens + 1) * MAX_TOKEN_CHARS, size)
        # Doubled, so all tries together encode no more than twice what the last one does.
        while size < max_size and not self._exceeds_budget(text[:size]):
            size *= 2
        return min(size, max_size)

    def _exceeds_budget(self, text: str) -> bool:
        return self.counter.exceeds([text], self.max_tokens) or self.counter.count(text) > self.max_tokens


def best_window(text: str, query: str, size: int) -> int:
    """Return the beginning of the `size` characters of `text` around the segment that has most of the query's words.

    0 if no word is found. The fewer segments of the text have a word, the more it counts.
    """
    segment_count = -(-len(text) // SEGMENT_CHARS)
    weights: dict[int, float] = defaultdict(float)
    passes = max(MAX_SEARCHED_CHARS // len(text), 1)
    for word in _search_forms(query)[:passes]:
        found = _segments_with(word, text)
        for segment in found:
            weights[segment] += math.log((1 + segment_count / len(found)) / 2)
    best = max(weights.values(), default=0.0)
    if not best:
        return 0
    middle = next(segment for segment in sorted(weights) if weights[segment] == best)
    start = min(middle * SEGMENT_CHARS - (size - SEGMENT_CHARS) // 2, len(text) - size)
    return _next_boundary(text, start) if start > 0 else 0


def _search_forms(query: str) -> list[str]:
    """Return the longest words of `query` in its own spelling; the longest say most. Identifiers stay whole."""
    found = blank_punctuation(query).split() if is_spaced(query) else words(query)
    ranked = sorted(dict.fromkeys(found), key=len, reverse=True)
    forms = (
        word if len(word) <= SHORT_WORD_CHARS else word[1 : None if find_identifiers(word) else PREFIX_LENGTH]
        for word in ranked
    )
    return list(dict.fromkeys(forms))[:MAX_WORDS]


def _segments_with(word: str, text: str) -> list[int]:
    """Return the numbers of the segments of `text` that have `word`."""
    found: list[int] = []
    begin = 0
    while (at := text.find(word, begin)) >= 0:
        found.append(at // SEGMENT_CHARS)
        begin = (found[-1] + 1) * SEGMENT_CHARS
    return found


def _next_boundary(text: str, begin: int) -> int:
    """Return the beginning of the next line, else of the next word; `begin` if none is near."""
    for mark in ("\n", " "):
        if (at := text.find(mark, begin - 1, begin + MAX_SHIFT_CHARS)) >= 0:
            return at + 1
    return begin
