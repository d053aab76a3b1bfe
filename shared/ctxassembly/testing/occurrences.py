"""Words of a chunk as PostgreSQL counts them: the `ts_rank` of each, and the bytes that all take in its `tsvector`."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from ctxassembly.data.retrieval import ONCE

_LAST_PLACE = 16_383
"""PostgreSQL counts no places of words beyond it: what stands there stands in one place."""
_MOST_PLACES = 255
"""PostgreSQL keeps no more places of one word."""


class Occurrences(NamedTuple):
    """The words of a chunk.

    >>> [title, text] = ["tea"], ["no", "tea"]
    >>> found = occurrences([title, text], (0.5, 1.0))
    >>> {word: round(rank, 3) for word, rank in found.ranks.items()}, found.size
    ({'tea': 0.091, 'no': 0.061}, 29)
    """

    ranks: Mapping[str, float]
    size: int
    """In bytes."""


def occurrences(parts: Sequence[Sequence[str]], weights: tuple[float, ...]) -> Occurrences:
    """The words of a chunk's `parts`, in the order in which they are indexed, each with its weight, 0 to 1."""
    found = _counted(parts)
    return Occurrences({word: _rank(tuple(times), weights) for word, times in found.items()}, _size(found))


def _counted(parts: Sequence[Sequence[str]]) -> Mapping[str, list[int]]:
    """The occurrences of each word in each part, as far as PostgreSQL tells their places apart."""
    found: dict[str, list[int]] = defaultdict(lambda: [0] * len(parts))
    before = 0
    for at, words in enumerate(parts):
        room = max(_LAST_PLACE - 1 - before, 0)
        for word, times in (Counter(words[:room]) + Counter(set(words[room:]))).items():
            found[word][at] = times
        before += len(words)
    return found


@lru_cache(maxsize=4096)
def _rank(times: tuple[int, ...], weights: tuple[float, ...]) -> float:
    """The `ts_rank` of a word: each occurrence counts less than the one before, but the weightiest counts in full."""
    each = [weight for count, weight in zip(times, weights, strict=True) for _ in range(count)][:_MOST_PLACES]
    best = each.index(max(each))
    rest = (weight / (place + 1) ** 2 for place, weight in enumerate(each) if place != best)
    return ONCE * sum(rest, each[best])


def _size(found: Mapping[str, Sequence[int]]) -> int:
    """The bytes that the words take in a row."""
    size = 4
    for word, times in found.items():
        length = len(word.encode(errors="replace"))
        size += 4 + length + length % 2 + 2 + 2 * min(sum(times), _MOST_PLACES)
    return size + (1 if size < 127 else 4)  # the header
