"""The ends of sentences, in any script.

Three things end a sentence, and everything else is an exception to one of them:

- a stop (. ! ? …) with the closing quotation marks and brackets after it, if white space follows. Not after an
  abbreviation or the number of an item, not inside a row of a table, and not if a small letter follows such a mark. The
  full stops of scripts that put no blank after them (Chinese, Devanagari, Khmer, ...) need no white space;
- a line break, since headings, items, rows and lines of code have no stop. Not where a full line was wrapped, as in
  PDFs and mails (`is_wrapped_line`);
- in Thai and Lao, which have no stops, a blank. They put blanks between phrases, too, so phrases are gathered until
  they have `MIN_PHRASE_CHARS` characters.

Text without an end for `MAX_SENTENCE_CHARS` characters, such as a transcript, is cut at a blank about every `CUT_CHARS`
characters; in Chinese and Japanese, which write no blanks, at a comma, or else between two characters.

A wrapped line is recognized by three signs: it has at least `MIN_WRAPPED_CHARS` characters, it ends in a letter or a
character such as a comma, and the next line begins with a small letter. A capital is harder, since a heading begins
with one as well: then the first word of the next line must not have fitted on this line, measured by the longest of the
lines around. Nearly all abbreviations are recognized by their form, in any language with an alphabet. Before a number,
where a sentence hardly ever begins, so is every short word with a capital ("Art. 6"), and a few words without one.

`classify_sentences` distinguishes prose from headings, rows of tables, items of lists and lines of code. Prose can be
left out sentence by sentence. A row, an item or a line of code says little without those around it. The form of a
line's beginning decides most cases. Columns (three blanks or a tab between words) mark a table without bars. Prose ends
with a stop, or continues in a sentence that does.

One regular expression finds the candidates, and the loop in `sentence_spans` drops the exceptions. Both take time
linear in the text, whatever the text is: hostile texts are tried in the tests.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

from ctxassembly.data.chunks import Span

MIN_WRAPPED_CHARS = 40
"""Characters of the shortest line that may be full: nobody breaks prose to less."""
_OPEN_ENDINGS = ',-*"”’»'
"""Last characters of a line after which, as after a letter, the sentence may go on."""
_NEXT_WORD = re.compile(r"[^\S\n]*[\"'“‘«(*`]*([^\W\d_]+(?:['’-][^\W_]+)*)[\"'”’»)*`]*([,.;:]?)(?!\S)")
_KEY = re.compile(r"\s*[\w.-]+:\s")
"""The beginning of a line such as "name: value"."""
_MAX_ABBREVIATION_CHARS = 12
"""Characters of the longest abbreviation, with the bracket or quotation mark before it."""
_MIN_WORD_CHARS = 5
"""Letters in a row that make a word: no abbreviation is as long."""
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
    if not (last.isalpha() or last in _OPEN_ENDINGS or last.isspace()):  # the quickest check
        return False
    begin = text.rfind("\n", 0, at) + 1
    if at - begin < MIN_WRAPPED_CHARS:
        return False
    line = text[begin:at].rstrip()
    if len(line) < MIN_WRAPPED_CHARS or not (line[-1].isalpha() or line[-1] in _OPEN_ENDINGS) or "|" in line:
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
    if not before_number and at - begin >= _MIN_WORD_CHARS and text[at - _MIN_WORD_CHARS : at].isalpha():
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
        2 <= len(word) < _MIN_WORD_CHARS
        and word.isalpha()
        and text[at + 2 : at + 3].islower()
        and text[begin].isupper()
    )


# Stops that end a sentence whatever follows: of Chinese and Japanese, Devanagari and its neighbors, Arabic and Urdu,
# Ethiopic, Khmer, Burmese, Tibetan.
FULL_STOPS = "。！？｡।॥؟۔።፧។៕။།"
STOPS, CLOSING = f".!?…{FULL_STOPS}", "\"'”’»)]」』）"
_STOPS, _CLOSING = STOPS, re.escape(CLOSING)
# The pattern begins with a set of characters, so the search skips to the next one of them. A run of stops matches from
# its first stop only: tried from each of them, a long run would take quadratic time.
_BREAK = re.compile(
    rf"[\n{_STOPS}](?:(?<=\n)(?:\s*\n)?|(?<!\n)(?<![.!?…].)[{_STOPS}]*"
    rf"(?:[{_CLOSING}]*(?!(?<=[{_CLOSING}])[^\S\n]+[a-zß-öø-ÿ])(?:\s*\n|\s+)|(?<=[{FULL_STOPS}])[{_CLOSING}]*))",
    re.DOTALL,
)
# Where a full line surely goes on in the next one, the pattern skips its end: most breaks of wrapped text are of this
# kind, and each costs the loop below as much as a hundred characters. `is_wrapped_line` decides on the others.
_SKIP_WRAPPED = (
    rf"(?!(?<=[^\n]{{{MIN_WRAPPED_CHARS - 1}}}[A-Za-z{re.escape(_OPEN_ENDINGS)}]\n)"
    r"[^\S\n]*[\"'(*`]{0,2}[a-z]{1,40}(?:['-][a-z]{1,40})?[\"')*`]{0,2}[,.;]?\s)"
)
_BREAK_UNWRAPPED = re.compile(_BREAK.pattern.replace(r"(?<=\n)", rf"(?<=\n){_SKIP_WRAPPED}", 1), re.DOTALL)
# Nearly every phrase of Thai or Lao has the vowel in _FREQUENT_VOWELS: a text without it is searched by the simpler
# pattern.
_THAI, _FREQUENT_VOWELS = "\u0e00-\u0eff", "\u0e32\u0eb2"
_BREAK_OR_BLANK = re.compile(rf"{_BREAK.pattern}|(?<=[{_THAI}]) +(?=[{_THAI}])", re.DOTALL)
MIN_PHRASE_CHARS = 60
"""Characters up to which Thai phrases are gathered: a phrase alone says little."""
MAX_SENTENCE_CHARS, CUT_CHARS = 1_200, 400
"""Characters of the longest sentence that stays whole, and about how many the parts of a longer one have.

Anything longer isn't a sentence but, for example, a transcript without stops. Whole, it would rarely fit the budget.
"""
_COMMA = re.compile("[，、；：]")
_SIGN = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff"
"""Kana and Han."""
_BLANK_OR_SIGN = re.compile(rf"\s(?=\S)|[{_SIGN}](?=[{_SIGN}])")
_BLANKS = re.compile(r"\s+")
# The number of an item belongs to the item, also one with a word and a letter ("ITEM 1A.").
_ROMAN = "x{0,3}(?:ix|iv|v?i{1,3}|v|x)"
_ITEM_NUMBER = re.compile(
    rf"\s*(?:\(?(?:\d{{1,3}}[A-Za-z]?(?:\.\d{{1,3}}[A-Za-z]?)*|[A-Za-z]|{_ROMAN}|{_ROMAN.upper()})[.)]\s*"
    r"|[^\W\d_]{1,12} \d{1,3}[A-Za-z]\. *)"
)
_MAX_ITEM_NUMBER_CHARS = 24
"""Characters of the longest number of an item, with the blanks around it."""
_ROW = re.compile(r"[ \t]*\|")


def sentence_spans(text: str) -> list[Span]:
    r"""Return the spans of the sentences and lines of `text`, in order and without gaps.

    White space belongs to the sentence before it, except for the indentation of a line. The number of an item belongs
    to the item. A row of a table is one span, whatever stops its cells have.

    >>> text = "Ask Dr. Li. 1. Drink water.\n  Eat nothing."
    >>> [text[start:end] for start, end in sentence_spans(text)]
    ['Ask Dr. Li. ', '1. Drink water.\n', '  Eat nothing.']
    """
    edges, start = [0], 0
    has_bars, is_thai = "|" in text, _FREQUENT_VOWELS[0] in text or _FREQUENT_VOWELS[1] in text
    pattern = _BREAK_OR_BLANK if is_thai else _BREAK if has_bars else _BREAK_UNWRAPPED
    for match in pattern.finditer(text):
        end, found = match.end(), match[0]
        if found[0] == "\n":
            continues = _continues_past_line(text, start, end - len(found), end)
        elif has_bars and "\n" not in found and _is_table_row(text, start, end):
            continues = True
        else:
            continues = _continues_past_stop(text, start, end, found)
        if continues:
            continue
        edges.append(end)
        start = end
    if start and not text[start:].strip():
        edges.pop()
    edges.append(len(text))
    spans = list(pairwise(edges)) if text else []
    if len(text) > MAX_SENTENCE_CHARS and max([end - start for start, end in spans]) > MAX_SENTENCE_CHARS:
        spans = list(pairwise([0, *(edge for start, end in spans for edge in _split_long(text, start, end))]))
    return spans


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
    return end - begin <= _MAX_ITEM_NUMBER_CHARS and _ITEM_NUMBER.fullmatch(text, begin, end) is not None


def _is_table_row(text: str, begin: int, end: int) -> bool:
    """Return True if `text[begin:end]` begins a row of a table, whose cells end no sentence."""
    return _ROW.match(text, begin, end) is not None


def _split_long(text: str, begin: int, end: int) -> Iterator[int]:
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


def sentence_ends(text: str, begin: int = 0) -> list[int]:
    """Return the offsets in `text`, ascending, at which the sentences and lines of `text[begin:]` end.

    White space after a sentence isn't part of it, and the end of the text isn't returned.

    >>> sentence_ends("One. Two. Three.")
    [4, 9]
    """
    text = text[begin:] if begin else text
    ends = [first + len(text[first:second].rstrip()) for first, second in sentence_spans(text)]
    return [begin + end for end in ends if 0 < end < len(text)]  # a blank text has none


# The beginnings of lines that are no prose: an item of a list (group 1), a fence around code (2), a heading (3), or a
# row, a quotation, a comment, a docstring (no group).
_FORM = re.compile(
    r"[ \t]*(?:((?:[-*+•·‣▪◦\u2013\u2014]|\(?(?:\d{1,3}(?:\.\d{1,3})*|[A-Za-z])[.)])\s)|(```|~~~)"
    r"|(#{1,6}[ \t])|[|+#>]|//|/\*|\"\"\"|'''|\.\. |\.\.\. )"
)
_ITEM, _FENCE, _HEADING = 1, 2, 3
_PARAGRAPH = re.compile(r"\n\s*\n")
_COLUMNS = re.compile(r"\S(?: *\t|   )[ \t]*\S")


class ClassifiedSentence(NamedTuple):
    """A sentence or line of a text, with the white space after it."""

    start: int
    end: int
    text: str
    """Its words, one blank between them."""
    is_prose: bool
    is_structured: bool
    """True if it is part of a table, a list or of code, where it says little without the rest."""


def classify_sentences(text: str) -> list[ClassifiedSentence]:
    r"""Return the sentences and lines of `text`, in order and without gaps.

    >>> sentences = classify_sentences("# Fasting\nDrink water. Eat nothing.\n- two\n- six\n")
    >>> [(sentence.text, sentence.is_prose) for sentence in sentences]
    [('# Fasting', False), ('Drink water.', True), ('Eat nothing.', True), ('- two', False), ('- six', False)]
    """
    found: list[ClassifiedSentence] = []
    in_fence = in_structure = is_heading = False
    item_indent = -1  # indentation of the list that is open, -1 if none is
    for start, end in sentence_spans(text):
        tile = text[start:end]
        begins_line = not start or text[start - 1] == "\n"
        if begins_line:
            form = _FORM.match(tile)
            kind = form.lastindex if form else None
            if form and kind == _ITEM:
                item_indent = form.start(_ITEM)
            elif item_indent >= 0 and len(tile) - len(tile.lstrip()) <= item_indent:
                item_indent = -1
            is_heading = kind == _HEADING
            in_structure = in_fence or item_indent >= 0 or (form is not None and not is_heading)
            in_fence ^= kind == _FENCE
        words = " ".join(tile.split())
        is_structured = in_structure or (("   " in tile or "\t" in tile) and _COLUMNS.search(tile) is not None)
        is_prose = not (is_structured or is_heading) and (
            is_ended(words) or _can_continue(tile, words, begins_line=begins_line)
        )
        found.append(ClassifiedSentence(start, end, words, is_prose, is_structured))
    prose_follows = False
    for at in range(len(found) - 1, -1, -1):
        statement = found[at]
        if statement.is_prose and not prose_follows and not is_ended(statement.text):
            found[at] = statement._replace(is_prose=False)
        prose_follows = found[at].is_prose
    return found


def is_ended(words: str) -> bool:
    """Return True if `words` end with a stop, unlike a heading, a label, a line of code or half a sentence."""
    last = words[-1:]
    return bool(last) and not last.isalnum() and (last in STOPS or words.rstrip(CLOSING)[-1:] in STOPS)


def _can_continue(tile: str, words: str, *, begins_line: bool) -> bool:
    """Return True if the sentence may continue in the next one: not after a short line or at the end of a paragraph."""
    return (not begins_line or len(words) >= MIN_WRAPPED_CHARS) and not _PARAGRAPH.search(tile)
