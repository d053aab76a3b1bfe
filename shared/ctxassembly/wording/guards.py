r"""Patterns of what could pass for ours at the beginning of a line, made of what `forms` gathers.

A form is found as a reader takes it, not only as we write it: whatever the case, with any blanks and marks of emphasis
between its words, behind anything that is neither letter nor digit (quote marks, bullets, brackets), behind the number
of a list's item. Whether the backslash that we put there is there already is for others to see.

Every search takes time that is linear in its text. Where a pattern repeats something, what it repeats can be read in
one way only, and never reaches beyond a line.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import takewhile
from string import ascii_letters
from typing import NamedTuple
from unicodedata import combining, normalize

from ctxassembly.wording.formats import FORMATS
from ctxassembly.wording.forms import (
    BRACKETS,
    DASHES,
    SUPERSCRIPTS,
    Formats,
    Languages,
    line_forms,
    marker_words,
)
from ctxassembly.wording.languages import LANGUAGES

# Controls, formats (Cf) and what Unicode says is to be ignored where it can't be shown.
_UNSEEN = (
    "\x00-\x08\x0e-\x1b\x1f\x7f-\x84\x86-\x9f\xad\u034f\u0600-\u0605\u061c\u06dd\u070f\u0890\u0891\u08e2\u115f\u1160"
    "\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb"
    "\ufffe\uffff\U000110bd\U000110cd\U00013430-\U0001343f\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"
    "\U000e0000-\U000e0fff"
)
_FILLERS = "\u115f\u1160\u3164\uffa0"
"""Those of them that are letters, and would count as a word."""
_HIDDEN = re.compile(f"[{_UNSEEN}]+")
_FILLER = re.compile(f"[{_FILLERS}]")
_VISIBLE = "".join(map(chr, range(0x21, 0x7F)))
_ORDINARY = bytes((*b"\t", *range(0x20, 0x7F)))
_WORD = re.compile(r"[^\W_]")
_LETTER = re.compile(rf"[^\W\d_{_FILLERS}]")
_NUMBER = "[0-9]{1,9}[.)]"
_ITEM = re.compile(rf"[\W_]*{_NUMBER}(?=\s)")
"""The number of a list's item, as Markdown has it."""
_ITEMS = re.compile(rf"{_NUMBER}(?=\s|\Z)|[0-9]{{1,9}}\Z")
_TABLE_RULE = re.compile(r"[\s|:-]+")
"""What holds no form if it ends in a bar, and would be tried from each of its many dashes."""
_RUNS = re.compile(r"\{\}|\w+|([^\w\s])\1*")
_BETWEEN = r"[\s*_]*"
_SAME_LETTERS = "\u0130\u0131\u017f\u212a"
"""Where case doesn't count, these are an i, an i, an s and a k."""
_GLANCED = re.compile(r"\\?.(?:\(.*\))?|\[[^\]\\]+\]|\(\?i?:.+\)")
_UMLAUT = "\u0308"
_GLANCE = 5
"""Characters of a form that tell whether a line is worth a closer look."""
_MOST = 128
"""Numbers in one pair of brackets; what is longer is none that an answer is read for."""


class Guard(NamedTuple):
    """What is guarded in one format."""

    hint: re.Pattern[str]
    r"""Found after the \n before every line that has a form, seen in either way, and before few others."""
    form: re.Pattern[str]
    """From where a line may begin to the end of the first form in it, which is the group."""
    begun: re.Pattern[str]
    """The same for the beginning of a form, with which the text ends."""
    markup: bool
    """Whether all of a text is escaped besides."""

    def forms(self, text: str) -> list[int]:
        r"""Where the forms of `text` begin. A line begins after a \n, and nowhere else."""
        begins: list[int] = []
        # Most texts have none: a search that finds nothing costs half of what an iterator does.
        found = self.hint.search(text)
        while found:
            line = found.start() + 1
            end = text.find("\n", line)
            begins += _in_views(self.form, text, line, len(text) if end < 0 else end)
            found = self.hint.search(text, found.end())
        return begins

    def unfinished(self, text: str) -> list[int]:
        """Where forms begin in the last line of `text` that more text in that line may complete."""
        line = text.rfind("\n") + 1
        return _in_views(self.begun, text, line, len(text)) if line else []


def _in_views(form: re.Pattern[str], text: str, begin: int, end: int) -> list[int]:
    """Where forms begin in a line that stands between `begin` and `end`, as it is and without what can't be seen."""
    line = text[begin:end]
    # Far faster than to look at each character.
    rare = line.encode("utf-8", "surrogatepass").translate(None, _ORDINARY)
    if not rare or not _HIDDEN.search(rare.decode("utf-8", "surrogatepass")):
        return [begin + at for at in _in_line(form, line)]
    hidden = [at for found in _HIDDEN.finditer(line) for at in range(*found.span())]
    line = _FILLER.sub("\0", line)
    # At a place of the other view the line is ahead by as many characters as there are numbers up to that place.
    ahead = [at - n for n, at in enumerate(hidden)]
    seen = (at + bisect_right(ahead, at) for at in _in_line(form, _HIDDEN.sub("", line)))
    return [begin + at for at in (*_in_line(form, line), *seen)]


def _in_line(form: re.Pattern[str], line: str) -> Iterator[int]:
    """Where forms begin in one line, up to its first word. One may begin inside another."""
    at = 0
    if line.endswith("|") and _TABLE_RULE.fullmatch(line):
        return
    while True:
        if found := form.match(line, at):
            begin = found.start(1)
            yield begin
            at = begin + 1
            if _WORD.match(line, begin):
                return
        elif item := _ITEM.match(line, at):
            at = item.end()
        else:
            return


def is_lead(line: str) -> bool:
    """Whether what comes after `line` still begins the line: it has no word, but for the number of a list's item.

    It is enough if that is so without what can't be seen.
    """
    if _LETTER.search(line):  # so nearly all lines have, at once
        return False
    return not all(_WORD.search(_ITEMS.sub("", each)) for each in (line, _HIDDEN.sub("", line)))


@lru_cache(maxsize=64)
def guard_of(form: str, separator: str | None = None) -> Guard:
    """The guard of a format, or of a function of the caller's, whose name is no format's.

    `separator` is the caller's own line above supplementary text.
    """
    return made(form, separator)


def made(
    form: str, separator: str | None = None, *, languages: Languages = LANGUAGES, formats: Formats = FORMATS
) -> Guard:
    """The guard that these languages and formats need."""
    words = marker_words(languages, formats)
    number = rf"(?:(?i:{'|'.join(map(re.escape, words))})[\s:#]*)?[0-9]+"
    item = rf"{number}(?:\s*[{DASHES}]\s*{number})?"
    inside = rf"(?i:[\s0-9{DASHES},;:#{''.join(sorted({*''.join(words)}))}]*)"
    raised = rf"[{SUPERSCRIPTS}]"
    lines = [_atoms(line) for line in line_forms(form, separator, languages=languages, formats=formats)]
    pairs = [(re.escape(left), re.escape(right)) for left, right in BRACKETS]
    markers = [[left, rf"\s*{item}(?:\s*[,;]\s*{item}){{0,{_MOST}}}\s*{right}"] for left, right in pairs]
    markers.append([raised, rf"{raised}*(?:[,⁻]{raised}+){{0,{_MOST}}}(?!(?i:[0-9A-Z{SUPERSCRIPTS}⁺⁻]))"])
    begun = [*([left, inside] for left, _ in pairs), [raised, rf"[{SUPERSCRIPTS},⁻]*"]]
    return Guard(
        hint=_hint([*lines, *markers]),
        form=re.compile(rf"[\W_]*?({_any([*lines, *markers])})"),
        begun=re.compile(rf"[\W_]*?({_any([*lines, *begun], unfinished=True)})"),
        markup=form in formats and formats[form].markup,
    )


def _any(forms: Sequence[Sequence[str]], *, unfinished: bool = False) -> str:
    r"""A pattern of any of `forms`, each given by its parts; if `unfinished`, of what ends with the text after a part.

    What they begin with alike is looked at once.
    """
    after: dict[str, list[Sequence[str]]] = {}
    for first, *rest in forms:
        after.setdefault(first, []).append(rest)
    branches: list[str] = []
    for first, rests in after.items():
        longer = [rest for rest in rests if rest]
        pattern = _any(longer, unfinished=unfinished) if longer else ""
        if unfinished:
            pattern = rf"(?:\Z|{pattern})" if pattern else r"\Z"
        elif pattern and len(longer) < len(rests):
            pattern = f"(?:{pattern})?"
        branches.append(first + pattern)
    return branches[0] if len(branches) == 1 else f"(?:{'|'.join(branches)})"


def _hint(forms: Sequence[Sequence[str]]) -> re.Pattern[str]:
    """A line that begins like one of `forms`, as far as that can be told at a glance, or hides how it goes on."""
    begins = [list(takewhile(lambda atom: atom == _BETWEEN or _GLANCED.fullmatch(atom), atoms)) for atoms in forms]
    if not all(begins):  # one of them begins with a number: any line may be it
        return re.compile(r"\n")
    # Most lines begin with a letter that none of the forms does, which one look tells. So it does of each sign before
    # a form: there are too many forms to try them all.
    possible = "".join(
        each for each in _VISIBLE if each in "_0123456789" or any(re.match(first[0], each) for first in begins)
    )
    letters = "".join(letter for letter in ascii_letters if letter not in possible)
    hint = _any([*(_glance(each[:_GLANCE]) for each in begins), [rf"_+(?![{letters}_])"], [f"[{_FILLERS}]"]])
    item = rf"[0-9]{{1,9}}(?:[{_UNSEEN}]|[.)](?:[{_UNSEEN}]|[^\S\n][^\w\n]*(?:{hint}|[0-9])))"
    return re.compile(rf"\n *(?=[^{letters}\n ])[^\w\n]*(?=[{re.escape(possible)}\x80-\U0010ffff])(?:{hint}|{item})")


def _glance(atoms: Sequence[str]) -> list[str]:
    """The pattern of what begins with `atoms`, after each of which something that can't be seen may hide the next."""
    first, *rest = atoms
    first = r"(?:[^\S\n]|[*_])*" if first == _BETWEEN else first  # in this line
    return [first, f"(?:[{_UNSEEN}]|{''.join(_glance(rest))})"] if rest else [first]


def _cased(character: str) -> str:
    """A pattern of `character` in either case: a set is looked at before it is tried, as no pattern without case is."""
    if not character.isalpha():
        return re.escape(character)
    if not character.isascii():
        base, *marks = list(normalize("NFD", character))
        if not marks or not all(map(combining, marks)):
            return f"(?i:{character})"
        # PDFs have it in two characters, capitals go without their accents, and who has no umlauts writes an e.
        return f"(?:(?i:{character})|{_cased(base)}(?:{''.join(marks)}{'|[Ee]' if marks == [_UMLAUT] else ''})?)"
    cases = {character.lower(), character.upper(), *_SAME_LETTERS}
    return f"[{''.join(sorted(each for each in cases if re.fullmatch(character, each, re.IGNORECASE)))}]"


def _atoms(form: str) -> list[str]:
    """The pattern of a line that begins like `form`, character by character.

    Signs alone are as they are, with the blank that follows them, or alone on their line. Beside words, and where the
    form has blanks, blanks and emphasis may stand, and a run of signs may be longer.
    """
    found = [*_RUNS.finditer(form)]
    runs = [match[0] for match in found]
    spoken = [run == "{}" or _WORD.search(run) is not None for run in runs]
    atoms: list[str] = []
    for place, run in enumerate(runs):
        sign = re.escape(run[0])
        apart = place and found[place - 1].end() < found[place].start()
        if apart or (place and any(spoken[place - 1 : place + 1])):
            atoms.append(_BETWEEN)
        if run == "{}":
            atoms.append("[0-9]+")
        elif spoken[place] or len(run) == 1:
            atoms += map(_cased, run)
        else:
            # Not from the middle of a longer run: from each of its signs there would be another try.
            atoms += [rf"{sign}(?<!{sign}{sign})", *[sign] * (len(run) - 1)]
            atoms.append(f"{sign}*" if any(spoken) else f"(?!{sign})")
    if not any(spoken) and form[-1].isspace():
        atoms.append(r"\s")
    elif not any(spoken) and len(runs) == 1:
        # The last cell of a table's rule is none.
        atoms.append(rf"(?<!\|.{{{len(form)}}})(?<!\|[^\S\n].{{{len(form)}}})(?=\s*\Z)")
    return atoms
