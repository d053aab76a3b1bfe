"""Where a sentence goes on although a line or a full stop ends: in text broken to a width, and after abbreviations."""

from __future__ import annotations

import re

WRAPPED = 40
"""Characters from which a line may have ended only because it was full. Nobody breaks prose to less."""
_OPEN = ',-*"”’»'
"""After these, as after a letter, a sentence may go on."""
_NEXT_WORD = re.compile(r"[ \t]*[\"'“‘«(*`]*([^\W\d_]+(?:['’-][^\W_]+)*)[\"'”’»)*`]*[,.;]?(?!\S)")
_LONGEST = 12
"""Characters of an abbreviation at most, with what opens before it."""
_WORD = 5
"""Letters in a row that are no abbreviation."""
_OPENING = "([{\"'„“‘«*_"
# An initial, a day of the month or another number in order, letters with stops between them ("e.g.", "z.B."); what has
# no vowel is no word ("Mr.", "bzw.") unless it is in capitals.
_ABBREVIATION = re.compile(
    r"[^\W\d_]|\d{1,2}|[IVX]+|[^\W\d_]{1,3}(?:\.[^\W\d_]{1,3})+"
    r"|(?![A-Z]+\Z)[B-DF-HJ-NP-TV-Zb-df-hj-np-tv-z]{2,4}"
)


def after_line(text: str, at: int) -> bool:
    """Whether the line that ends there, at a line break, ends only because it was full."""
    begin = text.rfind("\n", 0, at) + 1
    if at - begin < WRAPPED:
        return False
    line = text[begin:at].rstrip()
    if len(line) < WRAPPED or not (line[-1].isalpha() or line[-1] in _OPEN) or "|" in line:
        return False
    next_word = _NEXT_WORD.match(text, at + 1)
    if next_word is None:
        return False
    if next_word[1].islower():
        return True
    # A capital may begin a heading as well. If it had had room on the line, it is no name or noun of the sentence.
    beside = max(len(_line(text, begin - 1)) if begin else 0, len(_line(text, at + 1)))
    return beside >= WRAPPED and len(line) + len(next_word[0].strip()) >= max(beside, len(line))


def _line(text: str, at: int) -> str:
    """The line that goes on or ends at `at`, without the blanks at its end."""
    end = text.find("\n", at)
    return text[text.rfind("\n", 0, at) + 1 : end if end >= 0 else len(text)].rstrip()


def after_stop(text: str, begin: int, at: int) -> bool:
    """Whether the full stop there, before a blank, is an abbreviation's. `begin` is where the sentence begins."""
    if at - begin >= _WORD and text[at - _WORD : at].isalpha():
        return False
    words = text[max(begin, at - _LONGEST) : at].split()
    word = words[-1].lstrip(_OPENING) if words else ""
    if _ABBREVIATION.fullmatch(word):
        return True
    # A small letter after it says so, too, in a text that has capitals.
    return 2 <= len(word) < _WORD and word.isalpha() and text[at + 2 : at + 3].islower() and text[begin].isupper()
