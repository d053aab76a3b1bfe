"""Where the words of a query occur in a text, in any form and any language."""

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
"""Letters that two forms of a word share: in Dutch, German, Spanish and English that is enough to find most."""
LONG_CHARS = 10
"""Letters from which the stem says too little: most words of that length are compounds."""
ENDING_CHARS = 2
"""Letters by which the forms of a long word differ."""


def stems(text: str) -> list[str]:
    """The words of `text` without their endings."""
    return [word[:STEM_CHARS] for word in words(text)]


def long_words(text: str) -> dict[str, str]:
    """The long words of `text` without their last letters, each with its stem."""
    return {word[:-ENDING_CHARS]: word[:STEM_CHARS] for word in words(text) if len(word) >= LONG_CHARS}


def finder(
    wanted: Sequence[str], long: Mapping[str, str] = MappingProxyType({})
) -> Callable[[str, Sequence[Span]], Sequence[Sequence[str]]]:
    """A function from a text and slices that make it up to the `wanted` stems of each slice, as often as they occur.

    A word that begins like one of `long` counts as that one, too. Their stems have to be wanted.
    """
    # A shorter word is only itself; of two long ones that begin alike the longer is looked for first. A search skips to
    # a blank, and from there to the first letter, faster than it looks behind each character and tries all forms.
    rests: dict[str, list[str]] = defaultdict(list)
    for form in [*sorted(long, key=len, reverse=True), *wanted]:
        rests[form[0]].append(re.escape(form[1:]) + ("" if len(form) >= STEM_CHARS else "(?= )"))
    forms = "|".join(f"{re.escape(first)}(?:{'|'.join(rest)})" for first, rest in rests.items())
    pattern = re.compile(f" ({forms})")
    known = frozenset(wanted)

    def found_in(text: str, ends: Sequence[int]) -> list[Sequence[str]]:
        found: list[Sequence[str]] = [()] * len(ends)
        place, upto, here = -1, 0, list[str]()
        for match in pattern.finditer(f" {parted(text)} "):  # so a word begins where the blank before it does
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
        # A slice of the one is no slice of the other.
        slices = [plain(text[start:end]) for start, end in spans]
        return found_in("".join(slices), list(accumulate(map(len, slices))))

    return find
