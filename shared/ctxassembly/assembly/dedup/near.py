"""Near duplicates: chunks that say nearly the same in nearly the same words.

Two texts are near if their sets of words are: the number of words they share, divided by the number of words in either
(Jaccard similarity), reaches the threshold. A text is part of a longer one if that share of its shingles, runs of five
words, occurs in the longer text, too. Words alone would call a short text part of any long one on the same subject;
shingles keep the order, and five words in a row are no accident.

Texts are compared pair by pair. Sets of too different sizes are not near.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from ctxassembly.assembly.dedup.similar import FindMatches
from ctxassembly.data.candidates import Match
from ctxassembly.text.words import words

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
    shingles = [
        frozenset(map(hash, zip(*(text[first:] for first in range(SHINGLE_WORDS)), strict=False))) for text in listed
    ]

    def find(position: int, kept: Collection[int]) -> list[Match]:
        found, own_words, own = list[Match](), word_sets[position], shingles[position]
        for other in sorted(kept):
            smaller, larger = sorted((len(own_words), len(word_sets[other])))
            if smaller and smaller / larger >= threshold:
                shared = len(own_words & word_sets[other])
                if shared / (smaller + larger - shared) >= threshold:
                    found.append(Match(other))
                    continue
            if 0 < len(own) <= len(shingles[other]) and len(own & shingles[other]) / len(own) >= threshold:
                found.append(Match(other, is_part=True))
        return found

    return find
