"""Occurrences of a query's words in a text, in any form and any language.

No stemmer and no list of endings: two words are forms of one if they begin alike. `STEM_CHARS` letters are enough for
most words of Dutch, German, Spanish and English. They are not for compounds ("Apothekenbetrieb", "Apothekergarten"), so
a long word is looked for by all of its letters but the last `ENDING_CHARS` as well, and found so it counts in addition
to its stem.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from itertools import accumulate
from types import MappingProxyType

from ctxassembly.data.chunks import Span
from ctxassembly.text.words import is_spaced, parted, plain, words

STEM_CHARS = 6
"""Letters at the beginning that two forms of a word share; a shorter word has no other form."""
LONG_CHARS = 10
"""Letters of the shortest word whose stem says too little: most words of this length are compounds."""
ENDING_CHARS = 2
"""Letters at the end by which the forms of a long word differ."""


def stems(text: str) -> list[str]:
    """The words of `text` cut to `STEM_CHARS` letters, in order.

    >>> stems("Gastroscopic procedures, two")
    ['gastro', 'proced', 'two']
    """
    return [word[:STEM_CHARS] for word in words(text)]


def long_words(text: str) -> dict[str, str]:
    """The long words of `text` without their last `ENDING_CHARS` letters, and the stem of each.

    >>> long_words("two Apothekenbetriebe")
    {'apothekenbetrie': 'apothe'}
    """
    return {word[:-ENDING_CHARS]: word[:STEM_CHARS] for word in words(text) if len(word) >= LONG_CHARS}


def finder(
    wanted: Sequence[str], long: Mapping[str, str] = MappingProxyType({})
) -> Callable[[str, Sequence[Span]], Sequence[Sequence[str]]]:
    """Make a function that finds the `wanted` stems in each slice of a text, as often as they occur.

    The function takes the text and spans that cover it without gaps. A word that begins like a key of `long` is found
    as that key and as its stem, which has to be among `wanted`.

    >>> find = finder(stems("water fasting"))
    >>> find("Water first. Then fast, fasting on water.", [(0, 13), (13, 41)])
    [['water'], ['fastin', 'water']]
    """
    # Of two long words that begin alike the longer is tried first. Forms are grouped by their first letter behind a
    # blank: the search skips to a blank and tries one group, instead of all forms at every character.
    rests: dict[str, list[str]] = defaultdict(list)
    for form in [*sorted(long, key=len, reverse=True), *wanted]:
        rests[form[0]].append(re.escape(form[1:]) + ("" if len(form) >= STEM_CHARS else "(?= )"))
    forms = "|".join(f"{re.escape(first)}(?:{'|'.join(rest)})" for first, rest in rests.items())
    pattern = re.compile(f" ({forms})")
    known = frozenset(wanted)

    def found_in(text: str, ends: Sequence[int]) -> list[Sequence[str]]:
        found: list[Sequence[str]] = [()] * len(ends)
        place, upto, here = -1, 0, list[str]()
        for match in pattern.finditer(f" {parted(text)} "):  # the blank added shifts a word onto its offset
            if match.start() >= upto:
                place = bisect_right(ends, match.start(), place + 1)
                upto, here = ends[place], []
                found[place] = here
            here.append(match[1])
            if match[1] in long:
                here.append(long[match[1]])
        return found

    def find(text: str, spans: Sequence[Span]) -> Sequence[Sequence[str]]:
        same = plain(text)
        if not wanted:
            return [()] * len(spans)
        if not is_spaced(same):
            return [[stem for stem in stems(text[start:end]) if stem in known] for start, end in spans]
        if len(same) == len(text):
            return found_in(same, [end for _, end in spans])
        # Plain text may be longer or shorter: then the spans hold for `text` alone, and each slice is made plain.
        slices = [plain(text[start:end]) for start, end in spans]
        return found_in("".join(slices), list(accumulate(map(len, slices))))

    return find
