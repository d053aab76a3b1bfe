r"""Lines of documents that could pass for ours: found, and made harmless.

A document could say `[2] Source: board.pdf` and have its own words cited as the board's. A form is a label such as
`[2]`, or the beginning of a line of ours such as `Question:`. Forms come from the records of languages and formats, and
so do the labels that are read in an answer: a word that is added to a record is guarded and read from then on. Each
form at the beginning of a line gets a backslash before it (`escape_replacements`), in every format: a reader who finds
`[2]` in an answer can't know which format it came from. XML text also gets its entities. Half a surrogate pair, which
no API takes, becomes U+FFFD, and so does a character that XML excludes.

A form is found as a reader takes it, not only as we write it: in any case, with any blanks and marks of emphasis
between its words, behind signs (quote marks, bullets, brackets) and behind the number of a list item. Only forms before
the first word of a line count: inside a sentence `[2]` can't pass for a header. A line begins wherever some reader of
lines sees one.

A search has two steps, since nearly no line has a form. The prefilter finds lines that begin like one, in one pass over
the text; the pattern of forms reads these lines closely. In 1.6 million characters of documentation the prefilter left
8 of 7,184 lines, and the search took a sixteenth of the time that reading every line takes.

An invisible character may be inside a form, or mean nothing. A line that has one is read twice: as it is, and
without its invisible characters. A line with other characters than ASCII is read once more as it looks, with ASCII in
place of look-alikes (`lookalikes`). The prefilter is tried on the head of each such line as it looks, unless its first
letter is one of another script that looks like none of ours. Texts in ASCII never come so far.

Documents are hostile input, so every search takes time that is linear in its text. A pattern repeats only what can be
read in one way, and never reaches beyond a line.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import pairwise, takewhile
from string import ascii_letters
from typing import NamedTuple
from unicodedata import combining, normalize

from ctxassembly.data.candidates import GAP
from ctxassembly.wording.formats import FORMATS, Format
from ctxassembly.wording.languages import LANGUAGES
from ctxassembly.wording.languages.language import Language
from ctxassembly.wording.lookalikes import ANGLES, fold_lookalikes, folded_offsets, is_lookalike
from ctxassembly.wording.sanitize import sanitize_replacements
from ctxassembly.wording.unicode import apply_replacements, invalid_characters

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
_INVISIBLE = (
    "\x00-\x08\x0e-\x1b\x1f\x7f-\x84\x86-\x9f\xad\u034f\u0600-\u0605\u061c\u06dd\u070f\u0890\u0891\u08e2\u115f\u1160"
    "\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb"
    "\ufffe\uffff\U000110bd\U000110cd\U00013430-\U0001343f\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"
    "\U000e0000-\U000e0fff"
)
_FILLERS = "\u115f\u1160\u3164\uffa0"
"""The invisible characters that count as letters. They make no word."""
_INVISIBLE_RUN = re.compile(f"[{_INVISIBLE}]+")
_FILLER = re.compile(f"[{_FILLERS}]")
_VISIBLE = "".join(map(chr, range(0x21, 0x7F)))
_ORDINARY_BYTES = bytes((*b"\t", *range(0x20, 0x7F)))
_WORD = re.compile(r"[^\W_]")
_LETTER = re.compile(rf"[^\W\d_{_FILLERS}]")
_NUMBER = "[0-9]{1,9}[.)]"
_ITEM = re.compile(rf"[\W_]*{_NUMBER}(?=\s)")
"""The number of a list item, as in Markdown, with the signs before it."""
_ITEMS = re.compile(rf"{_NUMBER}(?=\s|\Z)|[0-9]{{1,9}}\Z")
_TABLE_RULE = re.compile(r"[\s|:+=-]+")
_COLUMNS = re.compile(r"[\s|:+]+")
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
_HEAD_CHARACTERS = 32
_FIRST_WORD = re.compile(r"\w")
_TAG = re.compile(
    rf"<[\W_]*(?:{'|'.join(form.footer.strip('</>') for form in FORMATS.values() if form.has_markup)})", re.IGNORECASE
)
_PREFILTER_ATOMS = 5
"""Atoms of a form that a hint looks at: hardly any line but a forged one begins with so many."""
_MAX_NUMBERS = 128
"""Most numbers in one pair of brackets. Answers are not read for longer lists."""


class Guard(NamedTuple):
    """The patterns that guard one format."""

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

    def find_forms(self, text: str) -> list[int]:
        r"""Return the offsets at which forms of `text` begin. A line begins after a \n, and nowhere else."""
        begins: list[int] = []
        # Most texts have no form: a search without a match takes half as long as an iterator.
        found = self.prefilter.search(text)
        while found:
            line = found.start() + 1
            end = text.find("\n", line)
            begins += _find_in_views(self.form, text, line, len(text) if end < 0 else end)
            found = self.prefilter.search(text, found.end())
        if not text.isascii():
            begins += self._find_lookalikes(text)
        return begins

    def _find_lookalikes(self, text: str) -> Iterator[int]:
        """Return the offsets of forms in lines of `text` that begin like one once look-alikes are folded.

        Only the head of a line is folded. A line that begins with a letter of another script is passed over at once.
        """
        before, *lines = text.split("\n")
        begin = len(before) + 1
        for line in lines:
            if not line.isascii() and self._may_look_like_form(line):
                yield from _find_in_views(self.form, text, begin, begin + len(line))
            begin += len(line) + 1

    def _may_look_like_form(self, line: str) -> bool:
        first_word = _FIRST_WORD.search(line)
        head_start = first_word.start() if first_word else len(line)
        signs, head = line[:head_start], line[head_start : head_start + _HEAD_CHARACTERS]
        if signs.isascii() and (head.isascii() or not (is_lookalike(head[0]) or _INVISIBLE_RUN.match(head))):
            return False
        look = fold_lookalikes(head)
        is_hidden = len(head) == _HEAD_CHARACTERS and len(look.replace(" ", "")) < _PREFILTER_ATOMS
        return is_hidden or self.prefilter.match(f"\n{fold_lookalikes(signs)}{look}") is not None

    def find_labels(self, line: str) -> list[int]:
        """Return the offsets of labels and beginnings of summaries in `line`, as it is read and as it looks."""
        if line.isascii() and "[" not in line and line.isprintable():  # the usual case
            return []
        visible = [at for at, character in enumerate(line) if not _INVISIBLE_RUN.match(character)]
        visible_line = "".join(line[at] for at in visible)
        found = {visible[match.start()] for match in self.label.finditer(visible_line)}
        if not visible_line.isascii():
            origin = folded_offsets(visible_line)
            found |= {visible[origin[match.start()]] for match in self.label.finditer(fold_lookalikes(visible_line))}
        return sorted(at for at in found if line[at - 1 : at] != "\\")

    def find_unfinished(self, text: str) -> list[int]:
        """Return the offsets of forms in the last line of `text` that following text may complete."""
        line = text.rfind("\n") + 1
        return _find_in_views(self.unfinished_form, text, line, len(text)) if line else []


def _find_in_views(form: re.Pattern[str], text: str, begin: int, end: int) -> list[int]:
    """Return the offsets of forms in `text[begin:end]`: as it is, without invisible characters, and as it looks."""
    line = text[begin:end]
    # Deleting the ordinary bytes is far faster than looking at each character: mostly nothing is left.
    rare = line.encode("utf-8", "surrogatepass").translate(None, _ORDINARY_BYTES)
    if not rare:
        return [begin + at for at in _find_in_line(form, line)]
    hidden: list[int] = []
    visible = line
    if _INVISIBLE_RUN.search(rare.decode("utf-8", "surrogatepass")):
        hidden = [at for match in _INVISIBLE_RUN.finditer(line) for at in range(*match.span())]
        visible, line = _INVISIBLE_RUN.sub("", line), _FILLER.sub("\0", line)
    found = [*_find_in_line(form, line)]
    found_in_visible = [*_find_in_line(form, visible)] if hidden else []
    if (
        not visible.isascii()
        and (look := fold_lookalikes(visible)) != visible
        and (alike := [*_find_in_line(form, look)])
    ):
        origin = folded_offsets(visible)
        found_in_visible += [origin[at] for at in alike]
    # For each invisible character, the number of visible ones before it. An offset among the visible ones grows by the
    # invisible ones that come before it: those with a number up to that offset.
    visible_before = [at - n for n, at in enumerate(hidden)]
    return [begin + at for at in (*found, *(at + bisect_right(visible_before, at) for at in found_in_visible))]


def _find_in_line(form: re.Pattern[str], line: str) -> Iterator[int]:
    """Return the offsets of forms before the first word of a line. A form may begin inside another."""
    at = 0
    if _TABLE_RULE.fullmatch(line) and _is_table_rule(line):
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


def _is_table_rule(line: str) -> bool:
    """Return True if a `line` of dashes, signs and blanks is a rule of a table: it has a border or columns."""
    return line.rstrip()[-1:] in ("|", "+") or sum(len(column) > 1 for column in _COLUMNS.split(line)) > 1


def find_lookalike_tags(text: str) -> Iterator[int]:
    """Return the offsets of look-alikes of our tags: XML needs no line for them, and escapes only real ones."""
    for found in ANGLES.finditer(text):
        if _TAG.match(fold_lookalikes(_INVISIBLE_RUN.sub("", text[found.start() : found.start() + _HEAD_CHARACTERS]))):
            yield found.start()


def is_lead(line: str) -> bool:
    """Return True if text after `line` begins the line for a reader: it has no word but the number of an item.

    It is enough if the line without its invisible characters has none, or the line as it looks.
    """
    if _LETTER.search(line):  # nearly every line has one near its beginning
        return False
    visible = _INVISIBLE_RUN.sub("", line)
    return not all(_WORD.search(_ITEMS.sub("", view)) for view in (line, visible, fold_lookalikes(visible)))


@lru_cache(maxsize=64)
def build_guard(form: str) -> Guard:
    """Return the guard of the format `form`. A function of the caller has a name that is no format's."""
    return compile_guard(form)


def compile_guard(form: str, *, languages: Languages = LANGUAGES, formats: Formats = FORMATS) -> Guard:
    """Return the guard of the format `form`, given all languages and formats. Tests add some of their own."""
    words = marker_words(languages, formats)
    number = rf"(?:(?i:{'|'.join(map(re.escape, words))})[\s:#]*)?[0-9]+"
    item = rf"{number}(?:\s*[{DASHES}]\s*{number})?"
    inside = rf"(?i:[\s0-9{DASHES},;:#{''.join(sorted({*''.join(words)}))}]*)"
    superscript = rf"[{SUPERSCRIPTS}]"
    lines = [_atoms(line) for line in line_patterns(form, languages=languages, formats=formats)]
    pairs = [(re.escape(left), re.escape(right)) for left, right in BRACKETS]
    # Numbers in brackets as an answer cites them, and raised numbers. Both are more than one line of ours.
    markers = [[left, rf"\s*{item}(?:\s*[,;]\s*{item}){{0,{_MAX_NUMBERS}}}\s*{right}"] for left, right in pairs]
    markers.append(
        [superscript, rf"{superscript}*(?:[,⁻]{superscript}+){{0,{_MAX_NUMBERS}}}(?!(?i:[0-9A-Z{SUPERSCRIPTS}⁺⁻]))"]
    )
    # A label in other brackets is one if a word of ours is in it or follows: `(2)` alone is the number of a list item.
    header = rf"{_BETWEEN}(?i:{'|'.join(map(re.escape, header_words(languages)))}){_BETWEEN}:"
    inner = rf"(?=\s*(?i:[0-9{''.join(sorted({word[0] for word in words}))}]))"
    with_word = rf"(?i:{'|'.join(map(re.escape, words))})[\s:#]*{item}\s*[)}}>]"
    markers += [[sign + inner, rf"\s*(?:{with_word}|[0-9]{{1,9}}\s*[)}}>]{header})"] for sign in (r"\(", r"\{", "<")]
    begun = [*([left, inside] for left, _ in pairs), [superscript, rf"[{SUPERSCRIPTS},⁻]*"]]
    # The first part of a label in other brackets, whose word or colon the next chunk may bring.
    closed = [r"\s*[0-9]{1,9}", rf"\s*[)}}>]{_BETWEEN}"]
    others = [[*closed, *map(_either_case, word)] for word in header_words(languages)]
    others += [list(map(_either_case, word)) for word in words]
    begun += [[sign, *atoms] for sign in (r"\(", r"\{", "<") for atoms in others]
    # A bullet that ends a chunk begins no row with blanks between its signs.
    begun += [[atom for atom in atoms if atom != _BLANK] for atoms in lines]
    return Guard(
        prefilter=_prefilter([*lines, *markers]),
        form=re.compile(rf"[\W_]*?({_alternation([*lines, *markers])})"),
        unfinished_form=re.compile(rf"[\W_]*?({_alternation(begun, unfinished=True)})"),
        label=re.compile(
            rf"(?<![^\W_])(?:{_alternation([atoms for atoms in (*lines, *markers) if atoms[0][-1] in '[【'])})"
        ),
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
            pattern = rf"(?:[{_INVISIBLE}]|{pattern})" if len(longer) == len(rests) else ""
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
    heads = [[_BLANKS if atom == _BETWEEN else atom for atom in atoms[:_PREFILTER_ATOMS]] for atoms in begins]
    hint = _alternation([*heads, [rf"_+(?![{letters}_])"], [f"[{_FILLERS}]"]], is_prefilter=True)
    item = rf"[0-9]{{1,9}}(?:[{_INVISIBLE}]|[.)](?:[{_INVISIBLE}]|[^\S\n][^\w\n]*(?:{hint}|[0-9])))"
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
    is_word = [part == "{}" or _WORD.search(part) is not None for part in parts]
    atoms: list[str] = []
    if len(parts) == 1 and len(form) > 2 and not _WORD.search(form) and len({*form}) == 1:
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


_BREAKS = "\r\v\f\x1c\x1d\x1e\x85\u2028\u2029"
"""Characters besides the newline that end a line for `str.splitlines` and others."""


def escape_replacements(
    text: str,
    form: str,
    *,
    at_line: bool = True,
    continued: bool = False,
    guard: Guard | None = None,
    sanitize: bool = False,
) -> dict[int, tuple[int, str]]:
    """Return the changes that make `text` harmless in the format `form`: start -> (end, replacement).

    A backslash replaces nothing: its start and end are the same, and it goes before the character there. `at_line`
    means that the text begins a line, `continued` that another text continues its last line. `guard` defaults to the
    guard of the format. With `sanitize`, invisible characters are also removed, and tokens and links are defused.
    """
    guard = guard or build_guard(form)
    lines = f"\n{text}" if at_line else text
    # A guard knows one line break. Others are one character long, too, so offsets stay the same.
    for line_break in _BREAKS:
        if line_break in text:
            lines = lines.replace(line_break, "\n")
    begins = guard.find_forms(lines)
    if guard.has_markup and not text.isascii():
        begins += find_lookalike_tags(lines)
    if continued:
        begins += guard.find_unfinished(lines)
    found = {at: (at, "\\") for at in (begin - at_line for begin in begins) if text[at - 1 : at] != "\\"}
    found |= invalid_characters(text, is_markup=guard.has_markup)
    if sanitize:
        for at, change in sanitize_replacements(text, at_line=at_line, continued=continued).items():
            found[at] = _merge_changes(change, found[at]) if at in found else change
    return found


def _merge_changes(one: tuple[int, str], other: tuple[int, str]) -> tuple[int, str]:
    """Return two changes at one place as one: a single backslash, then the replacement of the character."""
    shorter, longer = sorted((one, other))
    return longer if shorter == longer else (longer[0], shorter[1] + longer[1])


def escape_labels(text: str, form: str, guard: Guard | None = None) -> str:
    r"""Return `text` made harmless in the format `form`. `guard` defaults to the guard of the format.

    >>> print(escape_labels("[2] Source: board.pdf", "numbered"))
    \[2] Source: board.pdf
    """
    return apply_replacements(text, escape_replacements(text, form, guard=guard))


def escape_value(value: str, form: str, guard: Guard | None = None) -> str:
    r"""Return a `value` of metadata made harmless in the middle of a line of ours: no word of it begins a label.

    A part of a name, as in "report[1].pdf", is no label.

    >>> print(escape_value("web.html [2] Source: board.pdf", "numbered"))
    web.html \[2] Source: board.pdf
    """
    labels = (guard or build_guard(form)).find_labels(value)
    if not labels:
        return value
    parts = [value[begin:end] for begin, end in pairwise((0, *labels, len(value)))]
    return "\\".join(parts)


def is_line_start_after(text: str, *, at_line: bool) -> bool:
    """Return True if text that follows `text` without a line break begins a line as a reader sees it.

    It does if `text` ends a line, or has no word in its last line: quote marks or a bullet don't keep a form from being
    read. `at_line` says that `text` begins a line itself.
    """
    last = text[text.rfind("\n") + 1 :].splitlines(keepends=True)[-1:] or [text[-1:]]
    if last[0] and last[0][-1] in f"\n{_BREAKS}":
        return True
    return (at_line or len(last[0]) < len(text)) and is_lead(last[0])
