"""Where the words of a query occur in a text, in any form and any language."""

from __future__ import annotations

import re
import sys
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

from ctxassembly.types import Span
from ctxassembly.words import is_spaced, plain, words

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
) -> Callable[[str, Sequence[Span]], list[Sequence[str]]]:
    """A function from a text and slices of it to the `wanted` stems of each slice, as often as they occur.

    A word that begins like one of `long` counts as that one, too. Their stems have to be wanted.
    """
    # A shorter word is only itself; of two long ones that begin alike the longer is looked for first. A search skips to
    # what parts words, and to the first letter, faster than it looks behind each character and tries all forms.
    rests: dict[str, list[str]] = defaultdict(list)
    for form in [*sorted(long, key=len, reverse=True), *wanted]:
        rests[form[0]].append(re.escape(form[1:]) + ("" if len(form) >= STEM_CHARS else r"(?!\w)"))
    forms = "|".join(f"{re.escape(first)}(?:{'|'.join(rest)})" for first, rest in rests.items())
    pattern, known = re.compile(rf"\W({forms})"), frozenset(wanted)

    def found_in(text: str, start: int, end: int) -> Sequence[str]:
        found: list[str] = pattern.findall(text, start, end)
        return [*found, *[long[each] for each in found if each in long]] if found else ()

    def find(text: str, spans: Sequence[Span]) -> list[Sequence[str]]:
        same = plain(text)
        if not wanted:
            return [()] * len(spans)
        if not is_spaced(same):
            return [[stem for stem in stems(text[start:end]) if stem in known] for start, end in spans]
        if len(same) != len(text):  # a slice of the one is no slice of the other
            return [found_in("\n" + plain(text[start:end]), 0, sys.maxsize) for start, end in spans]
        same = "\n" + same
        return [found_in(same, start, end + 1) for start, end in spans]

    return find
