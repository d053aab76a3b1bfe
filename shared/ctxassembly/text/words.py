"""Words, the way texts are compared: in any language, without case or punctuation.

Scripts without spaces between words (Chinese, Japanese, Thai, Lao, Burmese, Khmer) have no words to be had without a
dictionary. Every two adjacent characters take the place of a word there, as search engines do it.

Everything here runs over every chunk of every assembly. So text in ASCII and Latin-1 takes shorter ways with the same
result: `bytes.translate` in place of a regular expression, and for ASCII no Unicode normalization.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from functools import cache
from itertools import pairwise

UNSPACED = (
    # Japanese
    ("\u3005", "\u3007"),
    ("\u3040", "\u30ff"),
    ("\u31f0", "\u31ff"),
    # Chinese characters
    ("\u3400", "\u4dbf"),
    ("\u4e00", "\u9fff"),
    ("\uf900", "\ufaff"),
    ("\U00020000", "\U0003ffff"),
    # Thai and Lao, Burmese, Khmer
    ("\u0e00", "\u0eff"),
    ("\u1000", "\u109f"),
    ("\u1780", "\u17ff"),
)
"""The first and the last character of each block of a script without spaces."""
_UNSPACED = "".join(f"{first}-{last}" for first, last in UNSPACED)
_NON_WORD = re.compile(r"[^\w ]")
_NON_WORD_TABLE = _NON_WORD.sub(" ", bytes(range(256)).decode("latin-1")).encode("latin-1")
"""The same as a table for Latin-1, which is several times as fast."""
_TYPOGRAPHIC_MARKS = "\u2018\u2019\u201a\u201c\u201d\u201e\u2013\u2014\u2026\u2022\xa0"
"""Quotes, dashes, ellipsis, bullet, blank: in no word, and often all that keeps a text from being ASCII."""
_ACCENTS = re.compile("[\u0300-\u036f]+")
"""Those of Latin, Greek and Cyrillic letters. What stands on letters of other scripts is more than an accent."""
_TWO_LETTERS = re.compile(r"\w\w")
_STRAIGHT_QUOTES = tuple(zip("“”„«»‘’‚", '"""""\'\'\'', strict=True))


def normalize_wording(text: str) -> str:
    r"""`text` as it is compared word for word: quotation marks straight, no capitals, one blank between words.

    >>> normalize_wording("He said:\n  “Go”")
    'he said: "go"'
    """
    if not text.isascii():
        for mark, straight in _STRAIGHT_QUOTES:  # `translate` takes a hundred times as long
            text = text.replace(mark, straight)
    return " ".join(text.casefold().split())


def find_words(text: str, phrase: str, start: int) -> int:
    """Offset of `phrase` in `text` from `start` on, with no half word at either end; -1 if it isn't there."""
    at = text.find(phrase, start)
    while at >= 0 and (_is_inside_word(text, at) or _is_inside_word(text, at + len(phrase))):
        at = text.find(phrase, at + 1)
    return at


def _is_inside_word(text: str, at: int) -> bool:
    """True if `at` lies between two letters of a word. In scripts without spaces it never does."""
    around = text[max(at - 1, 0) : at + 1]
    return _TWO_LETTERS.fullmatch(around) is not None and is_spaced(around)


def normalize(text: str) -> str:
    """`text` without case, and with compatible forms (full width, ligatures) as one; its length may change."""
    if not text.isascii():
        for mark in _TYPOGRAPHIC_MARKS:
            text = text.replace(mark, " ")
    return text.lower() if text.isascii() else unicodedata.normalize("NFKC", text).casefold()


def strip_accents(text: str) -> str:
    """`plain(text)` without accents.

    >>> strip_accents("Eén CAFÉ in Zürich")
    'een cafe in zurich'
    """
    if text.isascii():
        return text.lower()
    return _ACCENTS.sub("", unicodedata.normalize("NFKD", normalize(text)))


def is_spaced(text: str) -> bool:
    """True if every script in `text` puts spaces between words."""
    return _encode_latin1(text) is not None or not _patterns()[0].search(text)


def blank_punctuation(text: str) -> str:
    """`text` with a blank for each character that is part of no word; its length stays."""
    latin = _encode_latin1(text)
    return _NON_WORD.sub(" ", text) if latin is None else latin.translate(_NON_WORD_TABLE).decode("latin-1")


def _encode_latin1(text: str) -> bytes | None:
    """`text` in Latin-1, None if that lacks a character of it."""
    latin = text.encode("latin-1", "ignore")
    return latin if len(latin) == len(text) else None


def words(text: str) -> list[str]:
    """The words of `text` in order, without case and punctuation; compatible forms (full width, ligatures) are one.

    In a script without spaces, every two adjacent characters are a word; a character that stands alone is one, too.

    >>> words("It's 3.50, Ann!"), words("三天内 a")
    (['it', 's', '3', '50', 'ann'], ['三天', '天内', 'a'])
    """
    text = normalize(text)
    if is_spaced(text):
        return blank_punctuation(text).split()
    found: list[str] = []
    for match in _patterns()[1].finditer(text):
        run = match[1]
        if run is None or len(run) == 1:
            found.append(match[0])
        else:
            found += [first + second for first, second in pairwise(run)]
    return found


def spaced_words(text: str) -> Iterator[re.Match[str]]:
    """The words of a `normalize` text that stand between blanks, as in "三天内 a"."""
    return _patterns()[2].finditer(text)


@cache
def _patterns() -> tuple[re.Pattern[str], re.Pattern[str], re.Pattern[str]]:
    """A character of a script without spaces, any word, and one that has spaces around it.

    Compiled on first use: it takes 2 ms of the import.
    """
    spaced = rf"[^\W{_UNSPACED}]+"
    return re.compile(f"[{_UNSPACED}]"), re.compile(rf"([{_UNSPACED}]+)|{spaced}"), re.compile(spaced)


# The forms by which a query's words are found in a text, in any language.
#
# No stemmer and no list of endings: two words are forms of one if they begin alike. `PREFIX_LENGTH` letters are enough
# for most words of Dutch, German, Spanish and English. They are not for compounds ("Apothekenbetrieb",
# "Apothekergarten"), so a long word is looked for by all of its letters but the last `ENDING_LENGTH` as well, and found
# so it counts in addition to its stem.


PREFIX_LENGTH = 6
"""Letters at the beginning that two forms of a word share; a shorter word has no other form."""
LONG_WORD_LENGTH = 10
"""Letters of the shortest word whose stem says too little: most words of this length are compounds."""
ENDING_LENGTH = 2
"""Letters at the end by which the forms of a long word differ."""


def prefixes(text: str) -> list[str]:
    """The words of `text` cut to `PREFIX_LENGTH` letters, in order.

    >>> prefixes("Gastroscopic procedures, two")
    ['gastro', 'proced', 'two']
    """
    return [word[:PREFIX_LENGTH] for word in words(text)]


def long_prefixes(text: str) -> dict[str, str]:
    """The long words of `text` without their last `ENDING_LENGTH` letters, and the stem of each.

    >>> long_prefixes("two Apothekenbetriebe")
    {'apothekenbetrie': 'apothe'}
    """
    return {word[:-ENDING_LENGTH]: word[:PREFIX_LENGTH] for word in words(text) if len(word) >= LONG_WORD_LENGTH}
