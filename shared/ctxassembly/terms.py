"""Where the words of a query occur in a text, in any form and any language, found in one pass over it."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable

from ctxassembly.words import words

STEM_CHARS = 6
"""Letters that two forms of a word share: in Dutch, German, Spanish and English that is enough to find most."""


def stems(text: str) -> list[str]:
    """The words of `text` without their endings."""
    return [word[:STEM_CHARS] for word in words(text)]


def finder(wanted: list[str]) -> Callable[[str], list[str]]:
    """A function from a text to those of its stems that are `wanted`, as often as they occur."""
    if not wanted:
        return lambda text: []
    # A shorter word is only itself. Of scripts without spaces a word is any two characters, which may share one.
    spaced = [each for each in wanted if words(f"{each} ") == [each] and words(f"x{each}") == [f"x{each}"]]
    unspaced = frozenset(wanted) - frozenset(spaced)
    forms = "|".join(re.escape(each) + ("" if len(each) >= STEM_CHARS else r"(?!\w)") for each in spaced)
    pattern = re.compile(rf"(?<!\w)(?:{forms})") if spaced else None

    def find(text: str) -> list[str]:
        if unspaced and not text.isascii():
            return [stem for stem in stems(text) if stem in unspaced or stem in spaced]
        text = text.lower() if text.isascii() else unicodedata.normalize("NFKC", text).casefold()
        return pattern.findall(text) if pattern else []

    return find
