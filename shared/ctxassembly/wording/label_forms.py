r"""The lines of ours as patterns, by which a document's text that could pass for one is found.

Forms come from the records of languages and formats, and so do the labels that are read in an answer: a word that is
added to a record is guarded and read from then on. A form is a label such as `[2]`, or the beginning of a line of ours
such as `Question:`. It is found as a reader takes it, not only as we write it: with any blanks and marks of emphasis
between its words. The patterns read a line as it is folded (`lookalikes.py`), and their words are folded likewise.

A form is a sequence of atoms, patterns of one character each. The prefilter has the first few of each form: it finds
the lines that may begin like one in one pass over a text, whose other characters than ASCII may be anything.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple
from unicodedata import normalize

from ctxassembly.data.candidates import GAP
from ctxassembly.wording.formats import FORMATS
from ctxassembly.wording.languages import LANGUAGES
from ctxassembly.wording.lookalikes import fold_lookalikes
from ctxassembly.wording.sanitize import up_to

RULE = "---"
"""A line of its own between context and question."""
FENCES = (RULE, "***", "___")
"""Rows of signs that end a context for a reader, guarded in any length: our rule, the dashes of LlamaIndex's prompts,
and what Markdown renders as our rule."""
FRAMEWORK_LINES = (
    *("Query:", "Answer:", "Helpful Answer:", "Final Answer:", "Refined Answer:", "Original Answer:", "New Answer:"),
    *("Context information is below", "Context information from multiple sources is below", "New Context:"),
)
"""The beginnings of lines in the prompts that LangChain and LlamaIndex put around a context by default. Those that a
language record has, such as `Question:`, are left out."""
MAX_DIGITS = 6
"""Most digits of a number that an answer cites."""
BRACKETS = (("[", "]"), ("【", "】"), ("\uff3b", "\uff3d"))
"""The brackets that an answer may put around numbers. Models write the second pair unasked, and the third,
wide ones, in Chinese and Japanese."""
DASHES = "\\-\N{EN DASH}\N{EM DASH}"
"""The dashes in a range of labels, written for a character set of a pattern."""

_LABEL_WORDS = re.compile(r"[^\W\d_](?:.*\w)?")
"""From the first to the last letter before a label's number: SOURCE, of "[SOURCE "."""


def line_patterns(form: str, own_lines: Sequence[str] = ()) -> list[str]:
    """Return the beginnings of our lines, {} for a number. In the format `form` no text may begin a line with them.

    Labels of all formats and words of all languages are among them, since an answer doesn't show which context it has
    read. A lead counts in its own format alone: elsewhere `## ` is a mere heading. Tags are not among them: formats
    that have tags escape all text.
    """
    labels = [known.label for known in FORMATS.values() if not known.has_markup]
    lines = [*labels, FORMATS[form].lead if form in FORMATS else "", GAP, *FENCES, *FRAMEWORK_LINES]
    for language in LANGUAGES.values():
        lines += language.guarded_lines()
    return list(dict.fromkeys(filter(None, [*lines, *own_lines])))


def marker_words() -> list[str]:
    """Return words that may precede a number in brackets, longest first: words of languages and words of labels.

    Of a label only letters count. A sign taken for a word would make `[[1]]` a marker of its own in addition to `>
    [1]`.
    """
    words = {word for language in LANGUAGES.values() for word in language.cited_as}
    begins = (form.label.partition("{")[0] for form in FORMATS.values() if not form.has_markup)
    words |= {word[0] for begin in begins if (word := _LABEL_WORDS.search(begin))}
    return sorted({word.lower() for word in words if word}, key=lambda word: (-len(word), word))


def header_words() -> list[str]:
    """Return the words between a label and its source, without their colon: Source, of "[1] Source: report.pdf"."""
    begins = (language.numbered.partition("{")[0].rstrip() for language in LANGUAGES.values())
    return sorted({begin.rstrip(": ") for begin in begins if begin.endswith(":")})


_PARTS = re.compile(r"\{\}|\w+|([^\w\s])\1*")
_LETTER = re.compile(r"[^\W_]")
_BETWEEN = r"[\s*_]*"
_BLANK = r"[^\S\n]?"
_SIGN = r"[^0-9a-z\n\x80-\U0010ffff]"
_BEYOND_ASCII = r"[^\t\n\x20-\x7e]"
_IDEOGRAPHS = "\u3041-\u3096\u30a1-\u30fa\u3400-\u9fff\uac00-\ud7a3"
"""Letters that look like none of ours. Nearly all lines of Chinese, Japanese and Korean begin with one."""
_UMLAUT = "\u0308"
_PREFILTER_ATOMS = 5
"""Atoms of a form that the prefilter has: hardly any line but a forged one begins with so many."""
_MAX_NUMBERS = 128
"""Most numbers in one pair of brackets. Answers are not read for longer lists."""


class FormPatterns(NamedTuple):
    """The patterns that find the forms of one format. All but the prefilter read a line once it is folded."""

    prefilter: re.Pattern[str]
    r"""Matches at the \n before every line that has a form, or may have one once folded. It reads small letters."""
    form: re.Pattern[str]
    """Matches a form."""
    label: re.Pattern[str]
    """Matches a label or a summary's beginning wherever a word may begin."""
    has_markup: bool
    """True if all text is escaped besides."""


@lru_cache(maxsize=64)
def compile_forms(form: str, own_lines: tuple[str, ...] = ()) -> FormPatterns:
    """Return the patterns of the format `form`, with lines of the caller's own.

    A function of the caller that writes headers has a name that is no format's.
    """
    words, headers = [[*map(fold_lookalikes, known)] for known in (marker_words(), header_words())]
    any_word, any_header = "|".join(words), "|".join(headers)
    number = rf"(?:(?:{any_word})[\s:#]*)?[0-9]+"
    item = rf"{number}(?:\s*[{DASHES}]\s*{number})?"
    inside = rf"\s*(?=[0-9{''.join(sorted({word[0] for word in words}))}])"
    # A label in other brackets is one if a word of ours is in it or follows: `(2)` alone is the number of a list item.
    with_word = rf"(?:{any_word})[\s:#]*{item}\s*[)}}>]"
    header = rf"(?:{any_header}){_BETWEEN}:"
    before_header = rf"{_BETWEEN}(?=[{''.join(sorted({word[0] for word in headers}))}])"
    # Numbers in brackets as an answer cites them: more than the lines of ours.
    lines = [*map(_atoms, line_patterns(form, own_lines))]
    markers = [
        [r"\[", inside, rf"{item}(?:\s*[,;]\s*{item}){{0,{_MAX_NUMBERS}}}\s*\]"],
        [r"[({<]", inside, rf"(?:{with_word}|[0-9]+\s*[)}}>]{before_header}{header})"],
    ]
    forms = [*lines, *markers]
    heads = [*lines, *(atoms[:-1] for atoms in markers)]
    in_brackets = ["".join(atoms) for atoms in forms if atoms[0] == r"\["]
    return FormPatterns(
        prefilter=_prefilter(heads),
        form=re.compile("|".join(map("".join, forms))),
        label=re.compile(rf"(?<![^\W_])(?:{'|'.join(in_brackets)})"),
        has_markup=form in FORMATS and FORMATS[form].has_markup,
    )


def _prefilter(forms: Sequence[Sequence[str]]) -> re.Pattern[str]:
    """Return a pattern of a line that begins with signs and then like one of `forms`, or so up to what isn't ASCII."""
    rests: dict[str, list[str]] = {}
    for first, *atoms in forms:
        begun = up_to(_BEYOND_ASCII, atoms[1 : _PREFILTER_ATOMS - 1])
        rests.setdefault(first, []).append(atoms[0] + begun)
    begins = "|".join(f"{first}(?:{_BEYOND_ASCII}|{'|'.join(some)})" for first, some in rests.items())
    items = rf"(?:{_SIGN}*[0-9]{{1,9}}[.)](?=\s))*"
    beyond = rf"[0-9]{{1,9}}{_BEYOND_ASCII}|(?![{_IDEOGRAPHS}]){_BEYOND_ASCII}"
    return re.compile(rf"\n *(?! ){items}{_SIGN}*(?:{beyond}|{begins})")


def _look(character: str) -> str:
    """Return a pattern of `character` as it is folded in either case. An ä may be written as ae."""
    looks = {re.escape(fold_lookalikes(case)) for case in (character.lower(), character.upper())}
    pattern = looks.pop() if len(looks) == 1 else f"(?:{'|'.join(sorted(looks))})"
    return f"(?:{pattern}e?)" if _UMLAUT in normalize("NFD", character) else pattern


def _atoms(form: str) -> list[str]:
    """Return the atoms of a pattern for a line that begins like `form`: mostly patterns of one character each.

    Signs alone match as they are, before a blank if the form ends in one (`## `). A row of three or more alone on its
    line is found in any length, with or without single blanks between its signs (`-----`, `- - -`), but not in a cell
    of a table's rule, `| ---`. Next to words, and where the form has blanks, blanks and emphasis may occur, and a row
    of one sign may be longer.
    """
    found = [*_PARTS.finditer(form)]
    has_word = ["{" in match[0] or _LETTER.search(match[0]) is not None for match in found]
    # A row is found from its first sign alone: a search that starts at each sign takes quadratic time.
    if len(found) == 1 and not has_word[0] and form[2:] and not form[-1].isspace():
        sign = re.escape(form[0])
        first = rf"{sign}(?<!{sign}{sign})(?<!{sign}[^\S\n]{sign})(?<![|+]{sign})(?<!\|[^\S\n]{sign})"
        return [first, _BLANK, sign, _BLANK, sign, rf"(?:{_BLANK}{sign})*(?=\s*\Z)"]
    atoms: list[str] = []
    for at, match in enumerate(found):
        if at and (found[at - 1].end() < match.start() or any(has_word[at - 1 : at + 1])):
            atoms.append(_BETWEEN)
        if match[0] == "{}":
            atoms.append("[0-9]+")
        elif has_word[at] or len(match[0]) == 1:
            atoms += map(_look, match[0])
        else:
            sign = _look(match[0][0])
            row = [rf"{sign}(?<!{sign}{sign})", *[sign] * (len(match[0]) - 1)]
            atoms += [*row, f"{sign}*" if any(has_word) else f"(?!{sign})"]
    return [*atoms, r"\s"] if not any(has_word) and form[-1].isspace() else atoms
