"""Ends that end no sentence: of lines broken to a width, as in PDFs and mails, and of abbreviations.

A line that was broken because it was full is told by three signs: it has at least `WRAPPED` characters, it ends in a
letter or in a sign such as a comma, and the next line begins with a small letter. A capital is harder, since a heading
begins with one as well: then the next line's first word must not have fitted on this line, measured by the longest of
the lines around.

An abbreviation is told by its form, in any language with an alphabet: no list of abbreviations is kept.
"""

from __future__ import annotations

import re

WRAPPED = 40
"""Characters of the shortest line that may be full: nobody breaks prose to less."""
OPEN_ENDED = ',-*"”’»'
"""Last signs of a line after which, as after a letter, the sentence may go on."""
_NEXT_WORD = re.compile(r"[^\S\n]*[\"'“‘«(*`]*([^\W\d_]+(?:['’-][^\W_]+)*)[\"'”’»)*`]*[,.;]?(?!\S)")
_LONGEST = 12
"""Characters of the longest abbreviation, with the bracket or quotation mark before it."""
WORD_CHARS = 5
"""Letters in a row that make a word: no abbreviation is as long."""
_OPENING = "([{\"'„“‘«*_"
# An initial; an ordinal ("7. Mai", "Philip II."); letters with stops between them ("e.g.", "z.B."); letters without a
# vowel ("Mr.", "bzw."), unless all are capitals ("SMTP").
_ABBREVIATION = re.compile(
    r"[^\W\d_]|\d{1,2}|[IVX]+|[^\W\d_]{1,3}(?:\.[^\W\d_]{1,3})+"
    r"|(?![A-Z]+\Z)[B-DF-HJ-NP-TV-Zb-df-hj-np-tv-z]{2,4}"
)


def after_line(text: str, at: int) -> bool:
    """True if the line break at `at` only wraps a full line, so that the sentence goes on in the next one."""
    begin = text.rfind("\n", 0, at) + 1
    if at - begin < WRAPPED:
        return False
    line = text[begin:at].rstrip()
    if len(line) < WRAPPED or not (line[-1].isalpha() or line[-1] in OPEN_ENDED) or "|" in line:
        return False
    next_word = _NEXT_WORD.match(text, at + 1)
    if next_word is None:
        return False
    if next_word[1].islower():
        return True
    # A word with a capital that had room on this line begins something new, such as a heading.
    beside = max(len(_line(text, begin - 1)) if begin else 0, len(_line(text, at + 1)))
    return beside >= WRAPPED and len(line) + len(next_word[0].strip()) >= max(beside, len(line))


def _line(text: str, at: int) -> str:
    """The line around `at`, without the blanks at its end."""
    end = text.find("\n", at)
    return text[text.rfind("\n", 0, at) + 1 : end if end >= 0 else len(text)].rstrip()


def after_stop(text: str, begin: int, at: int) -> bool:
    """True if the full stop at `at` belongs to an abbreviation. A blank follows it; its sentence starts at `begin`."""
    if at - begin >= WORD_CHARS and text[at - WORD_CHARS : at].isalpha():
        return False
    words = text[max(begin, at - _LONGEST) : at].split()
    word = words[-1].lstrip(_OPENING) if words else ""
    if _ABBREVIATION.fullmatch(word):
        return True
    # A short word is one too if a small letter follows, in a sentence that began with a capital ("Dit bijv. ook").
    return 2 <= len(word) < WORD_CHARS and word.isalpha() and text[at + 2 : at + 3].islower() and text[begin].isupper()
