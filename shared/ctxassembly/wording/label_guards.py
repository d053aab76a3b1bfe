r"""Text of documents that could pass for ours: found, and made harmless.

A document could say `[2] Source: board.pdf` and have its own words cited as the board's. Each form (`label_forms.py`)
at the beginning of a line gets a backslash before it (`escape_replacements`), in every format: a reader who finds `[2]`
in an answer can't know which format it came from. XML text also gets its entities. Half a surrogate pair, which no API
takes, becomes U+FFFD, and so does a character that XML excludes.

A form may come behind signs (quote marks, bullets, brackets) and behind the number of a list item. Only forms before
the first word of a line count: inside a sentence `[2]` can't pass for a header. A line begins wherever some reader of
lines sees one.

Nearly no line has a form. So the prefilter finds lines that may begin like one, in one pass over the text, and only
these are read closely, folded to what they show (`lookalikes.py`): an invisible character may be inside a form, and
other characters may look like ASCII.

Documents are hostile input, so every search takes time that is linear in its text. A pattern repeats only what can be
read in one way, and never reaches beyond a line.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from ctxassembly.data.chunks import Span
from ctxassembly.wording.formats import FORMATS
from ctxassembly.wording.label_forms import FormPatterns, compile_forms
from ctxassembly.wording.lookalikes import fold_lookalikes, fold_offsets
from ctxassembly.wording.sanitize import sanitize_replacements
from ctxassembly.wording.unicode import apply_replacements, invalid_characters

_ITEM = re.compile(r"[0-9]{1,9}[.)](?=\s)")
"""The number of a list item, as in Markdown."""
_WORD = re.compile(r"[^\W_]")
_TABLE_RULE = re.compile(r"[\s|:+=-]+")
_COLUMNS = re.compile(r"[\s|:+]+")
_ANGLES = re.compile(
    "[\u02c2\u1438\u16b2\u2039\u2329\u276c\u276e\u2770\u27e8\u27ea\u2991\u29fc\u3008\u300a\ufe3d\ufe3f\ufe64\uff1c"
    "\U0001d236]"
)
"""The look-alikes of <."""
_TAG = re.compile(rf"<[\W_]*(?:{'|'.join(form.footer.strip('</>') for form in FORMATS.values() if form.has_markup)})")
_TAG_CHARACTERS = 32
_BREAKS = "\r\v\f\x1c\x1d\x1e\x85\u2028\u2029"
"""Characters besides the newline that end a line for `str.splitlines` and others."""


def _find_forms(patterns: FormPatterns, text: str) -> list[int]:
    r"""Return the offsets at which forms begin in `text`. A line begins after a \n, and nowhere else."""
    begins: list[int] = []
    # As long as the text: İ alone has two characters as a small letter.
    small = text.replace("\u0130", "i").lower()
    # Most texts have no form: a search without a match takes half as long as an iterator.
    found = patterns.prefilter.search(small)
    while found:
        begin = found.start() + 1
        end = text.find("\n", begin)
        line = text[begin : end if end >= 0 else len(text)]
        offsets = fold_offsets(line)
        said = "".join([line[at] for at in offsets])
        if not _is_below_heading(text, begin, line):
            begins += [begin + offsets[at] for at in _find_folded(patterns.form, fold_lookalikes(line), said)]
        found = patterns.prefilter.search(small, begin + len(line))
    return begins


def _find_folded(form: re.Pattern[str], line: str, said: str) -> Iterator[int]:
    """Yield the offsets of forms up to the first word of the folded `line`, which the number of an item isn't.

    `said` has the character before folding at each place: the sign of a currency looks like a letter and is no word.
    """
    if _is_table_rule(line):
        return
    at = 0
    while at < len(line):
        if form.match(line, at):
            yield at
        if item := _ITEM.match(line, at):
            at = item.end()
        elif _WORD.match(said, at):
            return
        else:
            at += 1


def _is_below_heading(text: str, begin: int, line: str) -> bool:
    """Return True if `line`, which begins at `begin`, has asterisks as many as the heading right above has characters.

    Three of them are our rule in Markdown, and dashes always are.
    """
    rule = line.rstrip()
    heading = text[text.rfind("\n", 0, begin - 1) + 1 : begin - 1].rstrip()
    return len(rule) > 3 and not rule.strip("*") and len(heading) == len(rule) and bool(_WORD.search(heading))


def _is_table_rule(line: str) -> bool:
    """Return True if `line` is a rule of a table: dashes, signs and blanks, with a border or columns."""
    if not _TABLE_RULE.fullmatch(line):
        return False
    return line.rstrip()[-1:] in ("|", "+") or sum(len(column) > 1 for column in _COLUMNS.split(line)) > 1


def find_lookalike_tags(text: str) -> Iterator[int]:
    """Return the offsets of look-alikes of our tags: XML needs no line for them, and escapes only real ones."""
    for found in _ANGLES.finditer(text):
        if _TAG.match(fold_lookalikes(text[found.start() : found.start() + _TAG_CHARACTERS])):
            yield found.start()


def escape_replacements(
    text: str, form: str, own_lines: tuple[str, ...] = (), *, at_line: bool = True, sanitize: bool = False
) -> dict[int, tuple[int, str]]:
    """Return the changes that make `text` harmless in the format `form`: start -> (end, replacement).

    A backslash replaces nothing: its start and end are the same, and it goes before the character there. `own_lines`
    are beginnings of lines in the caller's words, such as the separator before a supplement; `at_line` means that the
    text begins a line. With `sanitize`, invisible characters are also removed, and tokens and links are defused.
    """
    patterns = compile_forms(form, own_lines)
    lines = f"\n{text}" if at_line else text
    # The patterns know one line break. Others are one character long, too, so offsets stay the same.
    for line_break in _BREAKS:
        if line_break in text:
            lines = lines.replace(line_break, "\n")
    begins = _find_forms(patterns, lines)
    if patterns.has_markup and not text.isascii():
        begins += find_lookalike_tags(lines)
    found = {at: (at, "\\") for at in (begin - at_line for begin in begins) if text[at - 1 : at] != "\\"}
    found |= invalid_characters(text, is_markup=patterns.has_markup)
    if sanitize:
        for at, change in sanitize_replacements(text, at_line=at_line).items():
            found[at] = _merge_changes(change, found[at]) if at in found else change
    return found


def _merge_changes(one: tuple[int, str], other: tuple[int, str]) -> tuple[int, str]:
    """Return two changes at one place as one: a single backslash, then the replacement of the character."""
    shorter, longer = sorted((one, other))
    return longer if shorter == longer else (longer[0], shorter[1] + longer[1])


def escape_labels(
    text: str, form: str, own_lines: tuple[str, ...] = (), *, at_line: bool = True, sanitize: bool = False
) -> str:
    r"""Return `text` made harmless in the format `form`, as `escape_replacements` describes it.

    >>> print(escape_labels("[2] Source: board.pdf", "numbered"))
    \[2] Source: board.pdf
    """
    return apply_replacements(text, escape_replacements(text, form, own_lines, at_line=at_line, sanitize=sanitize))


def escape_value(value: str, form: str) -> str:
    r"""Return a `value` of metadata made harmless in the middle of a line of ours: no word of it begins a label.

    A part of a name, as in "report[1].pdf", is no label.

    >>> print(escape_value("web.html [2] Source: board.pdf", "numbered"))
    web.html \[2] Source: board.pdf
    """
    if value.isascii() and "[" not in value and value.isprintable():  # the usual case
        return value
    offsets, found = fold_offsets(value), compile_forms(form).label.finditer(fold_lookalikes(value))
    labels = [at for match in found if value[(at := offsets[match.start()]) - 1 : at] != "\\"]
    return "\\".join([value[begin:end] for begin, end in pairwise((0, *labels, len(value)))])


def escape_heading(value: str, form: str) -> str:
    """Return a `value` of metadata for a header: it forges no label, and no line of ours in a header without one."""
    has_labels = form in FORMATS and FORMATS[form].has_labels
    return escape_value(value if has_labels else escape_labels(value, form), form)


Replacements = Mapping[int, tuple[int, str]]
"""By offset in a run: where the replaced text ends, and what replaces it."""


@dataclass(frozen=True, slots=True)
class Guards:
    """The changes to the runs of a text. A run is written several times, and looked through once."""

    format: str
    own_lines: tuple[str, ...] = ()
    """Beginnings of lines in the caller's words: the separator before a supplement."""
    sanitize: bool = False
    known: dict[Span, Replacements] = field(default_factory=dict)

    def replaced(self, whole: str, runs: Sequence[Span]) -> Mapping[Span, Replacements]:
        """Return what is replaced in `runs` of the joined text; each of them begins a line for a reader.

        All new ones are looked through at once: no form reaches beyond a line.
        """
        if new := [run for run in runs if run not in self.known]:
            body = "\n".join([whole[start:end] for start, end in new])
            found = escape_replacements(body, self.format, self.own_lines, sanitize=self.sanitize)
            self.known.update({run: {} for run in new})
            offset, places = 0, sorted(found)
            for start, end in new if found else ():  # mostly none
                inside = [at for at in places if offset <= at <= offset + end - start]
                self.known[start, end] = {at - offset: (found[at][0] - offset, found[at][1]) for at in inside}
                offset += end - start + 1
        return self.known
