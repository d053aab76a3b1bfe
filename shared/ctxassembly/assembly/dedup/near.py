"""Near duplicates: chunks that say nearly the same in nearly the same words.

Two texts are near if their sets of words are: the number of words they share, divided by the number of words in either
(Jaccard similarity), reaches the threshold. A text is part of a longer one if that share of its shingles, runs of five
words, occurs in the longer text, too. Words alone would call a short text part of any long one on the same subject;
shingles keep the order, and five words in a row are no accident.

Texts are compared pair by pair, but only where one has any of the rarest words of the other: of a text that is near
only a few words may be missing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from itertools import chain, islice
from typing import TypeVar

from ctxassembly.assembly.dedup.facts import Match
from ctxassembly.assembly.dedup.similar import FindMatches
from ctxassembly.text.words import words

T = TypeVar("T")
SHINGLE_WORDS = 5
"""Words of a shingle, as in the published rule of containment: few enough for edits, too many for an accident."""


def find_near(texts: Sequence[str], threshold: float) -> FindMatches:
    """Return the function that finds the texts that one of `texts` is near to or part of.

    A text without words is near to nothing; one of fewer than five is part of nothing.

    >>> near = find_near(["Drink water until two hours before.", "Drink water until two hours before it."], 0.85)
    >>> near(1, {0})
    [Match(text_index=0, is_part=False)]
    """
    listed = [words(text) for text in texts]
    word_sets = [frozenset(text) for text in listed]
    # Hashes take a third of the memory of the words, and two of 64 bits are equal by chance once in 10^19.
    shingle_sets = [
        frozenset(map(hash, zip(*(text[first:] for first in range(SHINGLE_WORDS)), strict=False))) for text in listed
    ]
    frequency = Counter(chain.from_iterable(word_sets))

    def probe(items: Collection[T]) -> frozenset[T]:
        """Return so many of `items` that a text must have one of them, since it may lack fewer."""
        return frozenset(islice(items, int((1 - threshold) * len(items)) + 2))

    def find(position: int, kept: Collection[int]) -> list[Match]:
        found, own, own_shingles = list[Match](), word_sets[position], shingle_sets[position]
        rarest, some_shingles = probe(sorted(own, key=frequency.__getitem__)), probe(own_shingles)
        for other in sorted(kept):
            theirs, their_shingles = word_sets[other], shingle_sets[other]
            if not rarest.isdisjoint(theirs) and _similarity(own, theirs) >= threshold:
                found.append(Match(other))
            elif (
                len(own_shingles) <= len(their_shingles)
                and not some_shingles.isdisjoint(their_shingles)
                and len(own_shingles & their_shingles) / len(own_shingles) >= threshold
            ):
                found.append(Match(other, is_part=True))
        return found

    return find


def _similarity(first: frozenset[str], second: frozenset[str]) -> float:
    """Return the number of words that two texts share, divided by the number of words in either."""
    shared = len(first & second)
    return shared / (len(first) + len(second) - shared)
