r"""The lines of ours as patterns, by which a document's text that could pass for one is found.

Forms come from the records of languages and formats, and so do the labels that are read in an answer: a word that is
added to a record is guarded and read from then on. A form is a label such as `[2]`, or the beginning of a line of ours
such as `Question:`. It is found as a reader takes it, not only as we write it: in any case, with any blanks and marks
of emphasis between its words.

A form is a sequence of atoms, mostly patterns of one character each. All forms of a format make one pattern, a tree in
which an atom that several begin with is tried once. The prefilter is the same tree cut after a few atoms: it finds the
lines that begin like a form in one pass over a text.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import takewhile
from string import ascii_letters
from typing import NamedTuple
from unicodedata import combining, normalize

from ctxassembly.data.candidates import GAP
from ctxassembly.wording.formats import FORMATS, Format
from ctxassembly.wording.languages import LANGUAGES
from ctxassembly.wording.languages.language import Language

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
BRACKETS = (("[", "]"), ("【", "】"))
"""The brackets that an answer may put around numbers. Models write the second pair unasked."""
DASHES = "\\-\N{EN DASH}\N{EM DASH}"
"""The dashes in a range of labels, written for a character set of a pattern."""
SUPERSCRIPTS = "⁰¹²³⁴⁵⁶⁷⁸⁹"
_OTHER_BRACKETS = (r"\(", r"\{", "<")

_LABEL_WORDS = re.compile(r"[^\W\d_](?:.*\w)?")
"""From the first to the last letter before a label's number: SOURCE, of "[SOURCE "."""

Languages = Mapping[str, Language]
Formats = Mapping[str, Format]


def line_patterns(form: str, *, languages: Languages = LANGUAGES, formats: Formats = FORMATS) -> list[str]:
    """Return the beginnings of our lines, {} for a number. In the format `form` no text may begin a line with them.

    Labels of all formats and words of all languages are among them, since an answer doesn't show which context it has
    read. A lead counts in its own format alone: elsewhere `## ` is a mere heading. Tags are not among them: formats
    that have tags escape all text.
    """
    labels = [known.label for known in formats.values() if not known.has_markup]
    lines = [*labels, formats[form].lead if form in formats else "", GAP, *FENCES, *FRAMEWORK_LINES]
    for language in languages.values():
        lines += language.guarded_lines()
    return list(dict.fromkeys(filter(None, lines)))


def marker_words(languages: Languages = LANGUAGES, formats: Formats = FORMATS) -> list[str]:
    """Return words that may precede a number in brackets, longest first: words of languages and words of labels.

    Of a label only letters count. A sign taken for a word would make `[[1]]` a marker of its own in addition to `>
    [1]`.
    """
    words = {word for language in languages.values() for word in language.cited_as}
    begins = (form.label.partition("{")[0] for form in formats.values() if not form.has_markup)
    words |= {word[0] for begin in begins if (word := _LABEL_WORDS.search(begin))}
    return sorted({word.lower() for word in words if word}, key=lambda word: (-len(word), word))


def header_words(languages: Languages = LANGUAGES) -> list[str]:
    """Return the words between a label and its source, without their colon: Source, of "[1] Source: report.pdf"."""
    begins = (language.numbered.partition("{")[0].rstrip() for language in languages.values())
    return sorted({begin.rstrip(": ") for begin in begins if begin.endswith(":")})


# Controls, formats (Cf), and the characters that Unicode has ignored by default.
INVISIBLE = (
    "\x00-\x08\x0e-\x1b\x1f\x7f-\x84\x86-\x9f\xad\u034f\u0600-\u0605\u061c\u06dd\u070f\u0890\u0891\u08e2\u115f\u1160"
    "\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb"
    "\ufffe\uffff\U000110bd\U000110cd\U00013430-\U0001343f\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"
    "\U000e0000-\U000e0fff"
)
FILLERS = "\u115f\u1160\u3164\uffa0"
"""The invisible characters that count as letters. They make no word."""
_VISIBLE = "".join(map(chr, range(0x21, 0x7F)))
WORD = re.compile(r"[^\W_]")
_PARTS = re.compile(r"\{\}|\w+|([^\w\s])\1*")
_BETWEEN = r"[\s*_]*"
_BLANK = r"[^\S\n]?"
_BLANKS = r"(?:[^\S\n]|[*_])*"
_OPTIONAL = (_BETWEEN, _BLANK)
_SAME_LETTERS = "\u0130\u0131\u017f\u212a"
"""Letters that equal an i, an i, an s and a k if case is ignored."""
_SINGLE_CHARACTER = re.compile(r"\\?.(?:\(.*\))?|\[[^\]\\]+\]|\(\?i?:.+\)")
"""An atom that matches one visible character, so that a hint may be made of it."""
_UMLAUT = "\u0308"
PREFILTER_ATOMS = 5
"""Atoms of a form that a hint looks at: hardly any line but a forged one begins with so many."""
_MAX_NUMBERS = 128
"""Most numbers in one pair of brackets. Answers are not read for longer lists."""


class FormPatterns(NamedTuple):
    """The patterns that find the forms of one format."""

    prefilter: re.Pattern[str]
    r"""Matches at the \n before every line that has a form, with or without invisible characters, and few others."""
    form: re.Pattern[str]
    """Matches a line up to the end of its first form, which is the group."""
    unfinished_form: re.Pattern[str]
    """Matches a line that ends, with the text, inside a form. The group is the part of the form."""
    label: re.Pattern[str]
    """Matches a label or a summary's beginning wherever a word may begin."""
    has_markup: bool
    """True if all text is escaped besides."""


def compile_forms(form: str, languages: Languages = LANGUAGES, formats: Formats = FORMATS) -> FormPatterns:
    """Return the patterns of the format `form`, given all languages and formats."""
    words, headers = marker_words(languages, formats), header_words(languages)
    any_word, any_header = (rf"(?i:{'|'.join(map(re.escape, known))})" for known in (words, headers))
    number = rf"(?:{any_word}[\s:#]*)?[0-9]+"
    item = rf"{number}(?:\s*[{DASHES}]\s*{number})?"
    superscript = f"[{SUPERSCRIPTS}]"
    lines = [_atoms(line) for line in line_patterns(form, languages=languages, formats=formats)]
    # Numbers in brackets as an answer cites them, and raised numbers. Both are more than one line of ours.
    left_brackets = [re.escape(left) for left, _ in BRACKETS]
    markers = [
        [re.escape(left), rf"\s*{item}(?:\s*[,;]\s*{item}){{0,{_MAX_NUMBERS}}}\s*{re.escape(right)}"]
        for left, right in BRACKETS
    ]
    markers.append(
        [superscript, rf"{superscript}*(?:[,⁻]{superscript}+){{0,{_MAX_NUMBERS}}}(?!(?i:[0-9A-Z{SUPERSCRIPTS}⁺⁻]))"]
    )
    # A label in other brackets is one if a word of ours is in it or follows: `(2)` alone is the number of a list item.
    first_inside = rf"(?=\s*(?i:[0-9{''.join(sorted({word[0] for word in words}))}]))"
    with_word = rf"{any_word}[\s:#]*{item}\s*[)}}>]|[0-9]{{1,9}}\s*[)}}>]{_BETWEEN}{any_header}{_BETWEEN}:"
    markers += [[sign + first_inside, rf"\s*(?:{with_word})"] for sign in _OTHER_BRACKETS]

    inside = rf"(?i:[\s0-9{DASHES},;:#{''.join(sorted({*''.join(words)}))}]*)"
    begun = [*([left, inside] for left in left_brackets), [superscript, rf"[{SUPERSCRIPTS},⁻]*"]]
    # The first part of a label in other brackets, whose word or colon the next chunk may bring.
    closed = [r"\s*[0-9]{1,9}", rf"\s*[)}}>]{_BETWEEN}"]
    others = [*([*closed, *map(_either_case, word)] for word in headers), *(map(_either_case, word) for word in words)]
    begun += [[sign, *atoms] for atoms in map(list, others) for sign in _OTHER_BRACKETS]
    # A bullet that ends a chunk begins no row with blanks between its signs.
    begun += [[atom for atom in atoms if atom != _BLANK] for atoms in lines]

    forms = [*lines, *markers]
    in_brackets = [atoms for atoms in forms if atoms[0] in left_brackets]
    return FormPatterns(
        prefilter=_prefilter(forms),
        form=re.compile(rf"[\W_]*?({_alternation(forms)})"),
        unfinished_form=re.compile(rf"[\W_]*?({_alternation(begun, unfinished=True)})"),
        label=re.compile(rf"(?<![^\W_])(?:{_alternation(in_brackets)})"),
        has_markup=form in formats and formats[form].has_markup,
    )


def _alternation(forms: Sequence[Sequence[str]], *, unfinished: bool = False, is_prefilter: bool = False) -> str:
    r"""Return a pattern that matches any of `forms`, each a sequence of atoms.

    If `unfinished`, it matches the beginning of any form at the end of the text. For the prefilter, it matches the
    shortest of the forms that begin alike, and an invisible character after any atom, since it may hide the next one.
    Forms are merged into a tree, so that an atom that several begin with is tried once.
    """
    after: dict[str, list[Sequence[str]]] = {}
    for first, *rest in forms:
        after.setdefault(first, []).append(rest)
    branches: list[str] = []
    for first, rests in after.items():
        longer = [rest for rest in rests if rest]
        pattern = _alternation(longer, unfinished=unfinished, is_prefilter=is_prefilter) if longer else ""
        if is_prefilter:
            pattern = rf"(?:[{INVISIBLE}]|{pattern})" if len(longer) == len(rests) else ""
        elif unfinished:
            pattern = rf"(?:\Z|{pattern})" if pattern else r"\Z"
        elif pattern and len(longer) < len(rests):
            pattern = f"(?:{pattern})?"
        branches.append(first + pattern)
    return branches[0] if len(branches) == 1 else f"(?:{'|'.join(branches)})"


def _prefilter(forms: Sequence[Sequence[str]]) -> re.Pattern[str]:
    """Return the pattern of a line that may have one of `forms`, by its first characters.

    A line that hides its next character behind an invisible one matches, too: only a closer look can decide.
    """
    begins = [
        list(takewhile(lambda atom: atom in _OPTIONAL or _SINGLE_CHARACTER.fullmatch(atom), atoms)) for atoms in forms
    ]
    if not all(begins):  # a form that begins with a number: any line may have it
        return re.compile(r"\n")
    # Most lines begin with a letter that no form begins with. One look at a set decides, and so does one at each sign
    # before a form; trying all forms there takes far longer.
    possible = "".join(
        sign
        for sign in _VISIBLE
        if sign in "_0123456789" or any(re.match(first[0].partition("(?=")[0], sign) for first in begins)
    )
    letters = "".join(letter for letter in ascii_letters if letter not in possible)
    # Without line breaks: a hint stays in its line.
    heads = [[_BLANKS if atom == _BETWEEN else atom for atom in atoms[:PREFILTER_ATOMS]] for atoms in begins]
    hint = _alternation([*heads, [rf"_+(?![{letters}_])"], [f"[{FILLERS}]"]], is_prefilter=True)
    item = rf"[0-9]{{1,9}}(?:[{INVISIBLE}]|[.)](?:[{INVISIBLE}]|[^\S\n][^\w\n]*(?:{hint}|[0-9])))"
    return re.compile(rf"\n *(?=[^{letters}\n ])[^\w\n]*(?=[{re.escape(possible)}\x80-\U0010ffff])(?:{hint}|{item})")


def _either_case(character: str) -> str:
    """Return a pattern of `character` in either case: a set is faster than a flag, since `re` skips ahead to it."""
    if not character.isalpha():
        return re.escape(character)
    if not character.isascii():
        base, *marks = list(normalize("NFD", character))
        if not marks or not all(map(combining, marks)):
            return f"(?i:{character})"
        # PDFs have a letter and its accent as two characters, capitals drop the accent, and ä is written as ae.
        return f"(?:(?i:{character})|{_either_case(base)}(?:{''.join(marks)}{'|[Ee]' if marks == [_UMLAUT] else ''})?)"
    cases = {character.lower(), character.upper(), *_SAME_LETTERS}
    return f"[{''.join(sorted(case for case in cases if re.fullmatch(character, case, re.IGNORECASE)))}]"


def _atoms(form: str) -> list[str]:
    """Return the atoms of a pattern for a line that begins like `form`: mostly patterns of one character each.

    Signs alone match as they are, before a blank if the form ends in one (`## `), else alone on their line. A row of
    three or more is found in any length, with or without single blanks between its signs (`-----`, `- - -`).
    Next to words, and where the form has blanks, blanks and emphasis may occur, and a row of one sign may be longer.
    """
    found = [*_PARTS.finditer(form)]
    parts = [match[0] for match in found]
    is_word = [part == "{}" or WORD.search(part) is not None for part in parts]
    atoms: list[str] = []
    if len(parts) == 1 and len(form) > 2 and not WORD.search(form) and len({*form}) == 1:
        return _row_atoms(re.escape(form[0]))
    for at, part in enumerate(parts):
        sign = re.escape(part[0])
        apart = at and found[at - 1].end() < found[at].start()
        if apart or (at and any(is_word[at - 1 : at + 1])):
            atoms.append(_BETWEEN)
        if part == "{}":
            atoms.append("[0-9]+")
        elif is_word[at] or len(part) == 1:
            atoms += map(_either_case, part)
        else:
            # From the first sign of a row alone. A search that starts at each sign takes quadratic time.
            atoms += [rf"{sign}(?<!{sign}{sign})", *[sign] * (len(part) - 1)]
            atoms.append(f"{sign}*" if any(is_word) else f"(?!{sign})")
    if not any(is_word) and form[-1].isspace():
        atoms.append(r"\s")
    elif not any(is_word) and len(parts) == 1:
        # Not the last cell of the line below a table's head, `| ---`.
        atoms.append(rf"(?<!\|.{{{len(form)}}})(?<!\|[^\S\n].{{{len(form)}}})(?=\s*\Z)")
    return atoms


def _row_atoms(sign: str) -> list[str]:
    r"""Return the atoms of three or more `sign`s alone on a line, not in a cell of a table's rule, `| ---`.

    It is found from its first sign alone. A search that starts at each sign takes quadratic time.
    """
    first = rf"{sign}(?<!{sign}{sign})(?<!{sign}[^\S\n]{sign})(?<![|+]{sign})(?<!\|[^\S\n]{sign})"
    return [first, _BLANK, sign, _BLANK, sign, rf"(?:{_BLANK}{sign})*(?=\s*\Z)"]
