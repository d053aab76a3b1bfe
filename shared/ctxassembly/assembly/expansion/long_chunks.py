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
from ctxassembly.text.words import PREFIX_LENGTH, blank_punctuation, is_spaced, words
from ctxassembly.tokens.counter import MAX_CHARS_PER_TOKEN, MAX_TOKEN_CHARS, TokenCounter

MAX_CHARS = 1_000_000
"""The longest chunk that is read whole: several books."""
MIN_PART_CHARS = 250_000
"""The shortest part of a longer chunk: a long book, far more than most budgets have room for."""
SEGMENT_CHARS = 16_000
"""The length of text in which the words of the query have to stand together."""
MAX_SEARCH_CHARS = 60_000_000
"""Characters searched for all words together: sixty passes over a chunk of a million, three over one of 20."""
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
    """None if its words don't decide which sentences stand."""

    def trim(self, candidate: Candidate) -> Candidate:
        """`candidate`, reduced to a part if its chunk is too long to read and can't stand whole.

        The part is still more than fits, so it is cut again later and the cut is marked.
        """
        chunk = candidate.chunk
        if len(chunk.text) <= MAX_CHARS or (size := self._exceeding_length(chunk.text)) >= len(chunk.text):
            return candidate
        begin = best_window(chunk.text, self.query, size) if self.query else 0
        start = None if chunk.start is None else chunk.start + begin
        part = replace(chunk, text=chunk.text[begin : begin + size], start=start)
        return candidate._replace(chunk=part, text_offset=begin)

    def _exceeding_length(self, text: str) -> int:
        """The length of a beginning of `text` that exceeds the budget already; all of it if all of it may stand."""
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
    """The beginning of the `size` characters of `text` around the stretch that has most of the query's words.

    0 if no word is found. A word weighs more, the fewer stretches of the text have it.
    """
    segment_count = -(-len(text) // SEGMENT_CHARS)
    weights: dict[int, float] = {}
    remaining = MAX_SEARCH_CHARS
    for word in _search_forms(query):
        # Where another pass over all of it would be too long, only the stretches of other words are searched.
        if weights and remaining < len(text):
            found = [at for at in weights if text.find(word, at * SEGMENT_CHARS, (at + 1) * SEGMENT_CHARS) >= 0]
            searched_segments = len(weights)
        elif remaining > 0:
            found, searched = _segments_with(word, text, remaining)
            searched_segments = segment_count
            remaining -= searched
        else:
            break
        for at in found:
            weights[at] = weights.get(at, 0.0) + math.log((1 + searched_segments / len(found)) / 2)
    best = max(weights.values(), default=0.0)
    if not best:
        return 0
    found_segments = sorted(weights)
    sums = [0.0, *accumulate(weights[at] for at in found_segments)]

    def window_weight(at: int) -> float:
        """The worth of all stretches that the part around this one has."""
        reach = size // SEGMENT_CHARS // 2
        return sums[bisect_left(found_segments, at + reach + 1)] - sums[bisect_left(found_segments, at - reach)]

    middle = max((at for at in found_segments if weights[at] == best), key=window_weight)
    start = min(middle * SEGMENT_CHARS - (size - SEGMENT_CHARS) // 2, len(text) - size)
    return _next_boundary(text, start) if start > 0 else 0


def _search_forms(query: str) -> Iterable[str]:
    """The words of `query` as they are looked for, in its own spelling; the longest first, since they say most."""
    found = blank_punctuation(query).split() if is_spaced(query) else words(query)
    ranked = sorted(dict.fromkeys(found), key=len, reverse=True)
    return dict.fromkeys(word[1:PREFIX_LENGTH] if len(word) > SHORT_WORD_CHARS else word for word in ranked)


def _segments_with(word: str, text: str, end: int) -> tuple[list[int], int]:
    """The numbers of the stretches of `text[:upto]` that have `word`, and the count of characters searched."""
    found: list[int] = []
    begin = searched = 0
    while (at := text.find(word, begin, end)) >= 0:
        found.append(at // SEGMENT_CHARS)
        searched += at - begin
        begin = (found[-1] + 1) * SEGMENT_CHARS
    return found, searched + max(min(end, len(text)) - begin, 0)


def _next_boundary(text: str, begin: int) -> int:
    """The beginning of the next line, else of the next word; `start` if none is near."""
    for mark in ("\n", " "):
        if (at := text.find(mark, begin - 1, begin + MAX_SHIFT_CHARS)) >= 0:
            return at + 1
    return begin
