"""Where the words of a query occur in a text, in any form and any language."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from ctxassembly.types import Span
from ctxassembly.words import is_spaced, plain, words

STEM_CHARS = 6
"""Letters that two forms of a word share: in Dutch, German, Spanish and English that is enough to find most."""


def stems(text: str) -> list[str]:
    """The words of `text` without their endings."""
    return [word[:STEM_CHARS] for word in words(text)]


def finder(wanted: Sequence[str]) -> Callable[[str, Sequence[Span]], list[Sequence[str]]]:
    """A function from a text and slices of it to the `wanted` stems of each slice, as often as they occur."""
    # A shorter word is only itself.
    forms = "|".join(re.escape(each) + ("" if len(each) >= STEM_CHARS else r"(?!\w)") for each in wanted)
    pattern, known = re.compile(rf"(?<!\w)(?:{forms})"), frozenset(wanted)

    def find(text: str, spans: Sequence[Span]) -> list[Sequence[str]]:
        same = plain(text)
        if not wanted:
            return [()] * len(spans)
        if not is_spaced(same):
            return [[stem for stem in stems(text[start:end]) if stem in known] for start, end in spans]
        if len(same) != len(text):  # a slice of the one is no slice of the other
            return [pattern.findall(plain(text[start:end])) or () for start, end in spans]
        return [pattern.findall(same[start:end]) or () for start, end in spans]

    return find
