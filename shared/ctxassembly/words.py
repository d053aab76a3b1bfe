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
_SPACED_WORDS = re.compile(r"\w+")
_ASCII_WORDS = {code: " " for code in range(128) if not _SPACED_WORDS.match(chr(code))}
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
    return text.isascii() or _is_western(text) or not _patterns()[0].search(text)


def _is_western(text: str) -> bool:
    """Whether `text` is Latin-1, which takes no look at each character."""
    return len(text.encode("latin-1", "ignore")) == len(text)


def words(text: str) -> list[str]:
    """The words of `text`, in order, without case and punctuation; compatible forms (full width, ligatures) are one.

    Scripts that put no spaces between words (Chinese, Japanese, Thai, Lao, Burmese, Khmer) give every two adjacent
    characters as a word, and a character that stands alone as itself.
    """
    text = plain(text)
    if text.isascii():  # several times as fast
        return text.translate(_ASCII_WORDS).split()
    if is_spaced(text):
        return _SPACED_WORDS.findall(text)
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
