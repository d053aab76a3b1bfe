"""What two texts are compared by: their words, in any language."""

from __future__ import annotations

import re
import unicodedata
from functools import cache
from itertools import pairwise

_UNSPACED = (
    "\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff"  # Japanese
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"  # Chinese characters
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"  # Thai, Lao, Burmese, Khmer
)
_OF_NO_WORD = re.compile(r"[^\w ]")
_PARTED = _OF_NO_WORD.sub(" ", bytes(range(256)).decode("latin-1")).encode("latin-1")
"""The same for Latin-1, several times as fast."""
_MARKS = "\u2018\u2019\u201a\u201c\u201d\u201e\u2013\u2014\u2026\u2022\xa0"
"""Quotes, dashes, ellipsis, bullet and blank: part of no word, and often all that isn't ASCII, which is faster."""
_INSIDE = re.compile(r"\w\w")
_STRAIGHT = str.maketrans("“”„«»‘’‚", '"""""\'\'\'')


def wording(text: str) -> str:
    """`text` as it is compared word for word: quotation marks straight, no capitals, one blank between words."""
    return " ".join(text.translate(_STRAIGHT).casefold().split())


def find_words(text: str, sought: str, begin: int) -> int:
    """Where `sought` stands in `text` from `begin` on, neither beginning nor ending inside a word; -1 if nowhere."""
    at = text.find(sought, begin)
    while at >= 0 and (_inside_word(text, at) or _inside_word(text, at + len(sought))):
        at = text.find(sought, at + 1)
    return at


def _inside_word(text: str, at: int) -> bool:
    """Whether a word goes on at `at`. Scripts that put no spaces between words have no such place."""
    around = text[max(at - 1, 0) : at + 1]
    return _INSIDE.fullmatch(around) is not None and is_spaced(around)


def plain(text: str) -> str:
    """`text` as its words are: without case, compatible forms as one. It may have another length."""
    if not text.isascii():
        for mark in _MARKS:
            text = text.replace(mark, " ")
    return text.lower() if text.isascii() else unicodedata.normalize("NFKC", text).casefold()


def is_spaced(text: str) -> bool:
    """Whether no script in `text` goes without spaces between words."""
    return _latin(text) is not None or not _patterns()[0].search(text)


def parted(text: str) -> str:
    """`text` with a blank in the place of each character that is part of no word."""
    latin = _latin(text)
    return _OF_NO_WORD.sub(" ", text) if latin is None else latin.translate(_PARTED).decode("latin-1")


def _latin(text: str) -> bytes | None:
    """`text` in Latin-1, if that has all of it: which takes no look at each character."""
    latin = text.encode("latin-1", "ignore")
    return latin if len(latin) == len(text) else None


def words(text: str) -> list[str]:
    """The words of `text`, in order, without case and punctuation; compatible forms (full width, ligatures) are one.

    Scripts that put no spaces between words (Chinese, Japanese, Thai, Lao, Burmese, Khmer) give every two adjacent
    characters as a word, and a character that stands alone as itself.
    """
    text = plain(text)
    if is_spaced(text):
        return parted(text).split()
    found: list[str] = []
    _, any_words = _patterns()
    for match in any_words.finditer(text):
        run = match[1]
        if run is None or len(run) == 1:
            found.append(match[0])
        else:
            found += [first + second for first, second in pairwise(run)]
    return found


@cache
def _patterns() -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Compiled when they are needed: it takes 2 ms, and importing the engine stays light."""
    return re.compile(f"[{_UNSPACED}]"), re.compile(rf"([{_UNSPACED}]+)|[^\W{_UNSPACED}]+")
