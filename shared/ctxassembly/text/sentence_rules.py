"""Which breaks end no sentence: the rules that look at the words around a break.

A wrapped line is recognized by three signs: it has at least `MIN_WRAPPED_CHARS` characters, it ends in a letter or a
character such as a comma, and the next line begins with a small letter. A capital is harder, since a heading begins
with one as well: then the first word of the next line must not have fitted on this line, measured by the longest of the
lines around. Nearly all abbreviations are recognized by their form, in any language with an alphabet. Before a number,
where a sentence hardly ever begins, so is every short word with a capital ("Art. 6"), and a few words without one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

# Stops that end a sentence whatever follows: of Chinese and Japanese, Devanagari and its neighbors, Arabic and Urdu,
# Ethiopic, Khmer, Burmese, Tibetan.
FULL_STOPS = "。！？｡।॥؟۔።፧។៕။།"
STOPS, CLOSING = f".!?…{FULL_STOPS}", "\"'”’»)]」』）"
MIN_WRAPPED_CHARS = 40
"""Characters of the shortest line that may be full: nobody breaks prose to less."""
OPEN_ENDINGS = ',-*"”’»'
"""Last characters of a line after which, as after a letter, the sentence may go on."""
OPENING_MARKS = "\"'“‘«(*`"
"""Marks that may be before the first word of a line."""
MARKS_AFTER_WORD = "\"'”’»)*`"
"""Closing marks that may be after it."""
MAX_ITEM_NUMBER_CHARS = 24
"""Characters of the longest number of an item, with the blanks around it."""
MIN_WORD_CHARS = 5
"""Letters in a row that make a word: no abbreviation is as long."""
CONSONANTS = "bcdfghjklmnpqrstvwxyzBCDFGHJKLMNPQRSTVWXYZ"
"""Letters of which short abbreviations are made."""
SMALL_LETTERS = "abcdefghijklmnopqrstuvwxyzßàáâãäåæçèéêëìíîïðñòóôõöøùúûüýþÿ"
"""Letters before which closing marks end no sentence ("“Why?” he asked")."""
FREQUENT_VOWELS = "\u0e32\u0eb2"
"""Vowels that nearly every phrase of Thai or Lao has: in a text without them, blanks aren't looked at."""

_NEXT_WORD = re.compile(rf"[^\S\n]*[{OPENING_MARKS}]*([^\W\d_]+(?:['’-][^\W_]+)*)[{MARKS_AFTER_WORD}]*([,.;:]?)(?!\S)")
_KEY = re.compile(r"\s*[\w.-]+:\s")
"""The beginning of a line such as "name: value"."""
_MAX_ABBREVIATION_CHARS = 12
"""Characters of the longest abbreviation, with the bracket or quotation mark before it."""
_OPENING = "([{\"'„“‘«*_"
# An initial; a Roman ordinal ("Philip II."); letters with stops between them ("e.g.", "z.B."); letters without a vowel
# ("Mr.", "bzw."), unless all are capitals ("SMTP").
_ABBREVIATION = re.compile(
    r"[^\W\d_]|[IVX]+|[^\W\d_]{1,3}(?:\.[^\W\d_]{1,3})+|(?![A-Z]+\Z)[B-DF-HJ-NP-TV-Zb-df-hj-np-tv-z]{2,4}"
)
_NUMBER = re.compile(r"[(§]?\s?\d+(?!\d|[.)]\s)")  # not the number of an item
_BEFORE_NUMBERS = re.compile(
    "abs|afb|al|app|approx|arts?|ca|cap|chap|eds?|eqs?|excl|ext|figs?|incl|kap|lit|max|min|nos?|para?|sect?|tab|tel|vols?"
)
"""Abbreviations with a vowel that are written without a capital, such as "et al. 1982"."""
_MAX_CAPITALIZED_CHARS = 4
"""Letters of the longest word with a capital that is an abbreviation before a number."""
_BEFORE_ORDINALS = re.compile("ab|[ai]m|beim|bis|d(?:as|e[mnrs]|ie)|ein(?:e[mr]?|en)?|oder|seit|und|vom|zu[mr]")
"""Words after which a number of one or two digits with a stop is an ordinal in German ("am 7. Mai")."""


def is_wrapped_line(text: str, at: int) -> bool:
    """Return True if the line break at `at` only wraps a full line, so that the sentence continues in the next."""
    last = text[at - 1]
    if not (last.isalpha() or last in OPEN_ENDINGS or last.isspace()):  # the quickest check
        return False
    begin = text.rfind("\n", 0, at) + 1
    if at - begin < MIN_WRAPPED_CHARS:
        return False
    line = text[begin:at].rstrip()
    if len(line) < MIN_WRAPPED_CHARS or not (line[-1].isalpha() or line[-1] in OPEN_ENDINGS) or "|" in line:
        return False
    next_word = _NEXT_WORD.match(text, at + 1)
    if next_word is None:
        return False
    if next_word[2] == ":":  # the last word of a sentence before a list or code, or the key of another line
        return next_word[1].islower() and _KEY.match(line) is None
    if next_word[1].islower():
        return True
    # A word with a capital that had room on this line begins something new, such as a heading.
    neighbor_length = max(len(_line(text, begin - 1)) if begin else 0, len(_line(text, at + 1)))
    return neighbor_length >= MIN_WRAPPED_CHARS and len(line) + len(next_word[0].strip()) >= max(
        neighbor_length, len(line)
    )


def _line(text: str, at: int) -> str:
    """Return the line around `at`, without trailing white space."""
    end = text.find("\n", at)
    return text[text.rfind("\n", 0, at) + 1 : end if end >= 0 else len(text)].rstrip()


def _is_abbreviation(text: str, begin: int, at: int) -> bool:
    """Return True if the full stop at `at`, which a blank follows, belongs to an abbreviation.

    `begin` is where the sentence starts.
    """
    if text[at - 1].isspace():  # as in transcripts: "plan B . Next"
        return False
    before_number = not text[at + 2 : at + 3].isalpha() and _NUMBER.match(text, at + 2) is not None
    if not before_number and at - begin >= MIN_WORD_CHARS and text[at - MIN_WORD_CHARS : at].isalpha():
        return False
    words = text[max(begin, at - _MAX_ABBREVIATION_CHARS) : at].split()
    word = words[-1].lstrip(_OPENING) if words else ""
    if word.isdecimal():
        is_ordinal = len(words) > 1 and _BEFORE_ORDINALS.fullmatch(words[-2].lower()) is not None
        return len(word) <= 2 and (is_ordinal or text[at + 2 : at + 3].islower())
    if before_number and word.isalpha():
        is_short = len(word) <= _MAX_CAPITALIZED_CHARS and word[0].isupper()
        if is_short or _BEFORE_NUMBERS.fullmatch(word.lower()):
            return True
    if _ABBREVIATION.fullmatch(word):
        return True
    # A short word is one too if a small letter follows, in a sentence that began with a capital ("Dit bijv. ook").
    return (
        2 <= len(word) < MIN_WORD_CHARS and word.isalpha() and text[at + 2 : at + 3].islower() and text[begin].isupper()
    )


MAX_SENTENCE_CHARS, CUT_CHARS = 1_200, 400
"""Characters of the longest sentence that stays whole, and about how many the parts of a longer one have.

Anything longer isn't a sentence but, for example, a transcript without stops. Whole, it would rarely fit the budget.
"""
_COMMA = re.compile("[，、；：]")
_SIGN = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff"
"""Kana and Han."""
_BLANK_OR_SIGN = re.compile(rf"\s(?=\S)|[{_SIGN}](?=[{_SIGN}])")
MIN_PHRASE_CHARS = 60
"""Characters up to which Thai phrases are gathered: a phrase alone says little."""
# The number of an item belongs to the item, also one with a word and a letter ("ITEM 1A.").
_BLANKS = re.compile(r"\s+")
_ROMAN = "x{0,3}(?:ix|iv|v?i{1,3}|v|x)"
_ITEM_NUMBER = re.compile(
    rf"\s*(?:\(?(?:\d{{1,3}}[A-Za-z]?(?:\.\d{{1,3}}[A-Za-z]?)*|[A-Za-z]|{_ROMAN}|{_ROMAN.upper()})[.)]\s*"
    r"|[^\W\d_]{1,12} \d{1,3}[A-Za-z]\. *)"
)
_ROW = re.compile(r"[ \t]*\|")


def continues(text: str, begin: int, at: int, end: int) -> bool:
    """Return True if the break at `text[at:end]` doesn't end what starts at `begin`."""
    found = text[at:end]
    if found[0] == "\n":
        return _continues_past_line(text, begin, at, end)
    if "\n" not in found and _is_table_row(text, begin, end):
        return True
    return _continues_past_stop(text, begin, end, found)


def _continues_past_line(text: str, begin: int, at: int, end: int) -> bool:
    """Return True if the line breaks in `text[at:end]` don't end the sentence that starts at `begin`."""
    last = text[at - 1] if at > begin else "\n"
    if last.isspace() and _BLANKS.fullmatch(text, begin, end):  # a slice would copy the sentence
        return True
    if end == at + 1 and is_wrapped_line(text, at):
        return True
    return (last in ".)" or last.isspace()) and _is_item_number(text, begin, end)


def _continues_past_stop(text: str, begin: int, end: int, found: str) -> bool:
    """Return True if `found`, a stop and what follows it up to `end`, doesn't end what starts at `begin`.

    In Thai, `found` may be a blank.
    """
    if found in (". ", ".\xa0") and _is_abbreviation(text, begin, end - len(found)):
        return True
    return (found[0] == " " and end - begin < MIN_PHRASE_CHARS) or _is_item_number(text, begin, end)


def _is_item_number(text: str, begin: int, end: int) -> bool:
    """Return True if `text[begin:end]` is the number of an item, with the blanks around it."""
    return end - begin <= MAX_ITEM_NUMBER_CHARS and _ITEM_NUMBER.fullmatch(text, begin, end) is not None


def _is_table_row(text: str, begin: int, end: int) -> bool:
    """Return True if `text[begin:end]` begins a row of a table, whose cells end no sentence."""
    return _ROW.match(text, begin, end) is not None


def split_long(text: str, begin: int, end: int) -> Iterator[int]:
    """Yield the ends of the parts of `text[begin:end]`: several if it is too long and isn't a row of a table."""
    if end - begin > MAX_SENTENCE_CHARS and not _is_table_row(text, begin, end):
        begin = end - len(text[begin:end].lstrip())
        while end - begin > 2 * CUT_CHARS and (at := _next_pause(text, begin + CUT_CHARS, end)):
            begin = at.end()
            yield begin
    yield end


def _next_pause(text: str, begin: int, end: int) -> re.Match[str] | None:
    """Return the next place to cut after `begin`."""
    return _COMMA.search(text, begin, min(begin + CUT_CHARS, end)) or _BLANK_OR_SIGN.search(text, begin, end)
