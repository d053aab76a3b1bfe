"""The forms by which a query's words are found in a text, in any language.

No stemmer and no list of endings: two words are forms of one if they begin alike. `STEM_CHARS` letters are enough for
most words of Dutch, German, Spanish and English. They are not for compounds ("Apothekenbetrieb", "Apothekergarten"), so
a long word is looked for by all of its letters but the last `ENDING_CHARS` as well, and found so it counts in addition
to its stem.
"""

from __future__ import annotations

from ctxassembly.text.words import words

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
