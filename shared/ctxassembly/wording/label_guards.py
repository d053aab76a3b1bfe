r"""Text of documents that could pass for ours: found, and made harmless.

A document could say `[2] Source: board.pdf` and have its own words cited as the board's. Each form (`label_forms.py`)
at the beginning of a line gets a backslash before it (`escape_replacements`), in every format: a reader who finds `[2]`
in an answer can't know which format it came from. XML text also gets its entities. Half a surrogate pair, which no API
takes, becomes U+FFFD, and so does a character that XML excludes.

A form may come behind signs (quote marks, bullets, brackets) and behind the number of a list item. Only forms before
the first word of a line count: inside a sentence `[2]` can't pass for a header. A line begins wherever some reader of
lines sees one.

A search has two steps, since nearly no line has a form. The prefilter finds lines that begin like one, in one pass over
the text; the pattern of forms reads these lines closely. In 1.6 million characters of documentation the prefilter left
8 of 7,184 lines, and the search took a sixteenth of the time that reading every line takes.

An invisible character may be inside a form, or mean nothing, and other characters may look like ASCII. So a line is
read in up to three ways (`_views`). The prefilter is tried on the head of each line with other characters than ASCII
as it looks, unless its first letter is one of another script that looks like none of ours.

Documents are hostile input, so every search takes time that is linear in its text. A pattern repeats only what can be
read in one way, and never reaches beyond a line.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import pairwise

from ctxassembly.wording.formats import FORMATS
from ctxassembly.wording.label_forms import (
    FILLERS,
    INVISIBLE,
    PREFILTER_ATOMS,
    WORD,
    FormPatterns,
    compile_forms,
)
from ctxassembly.wording.lookalikes import ANGLES, fold_lookalikes, folded_offsets, is_lookalike
from ctxassembly.wording.sanitize import sanitize_replacements
from ctxassembly.wording.unicode import apply_replacements, invalid_characters

_INVISIBLE_RUN = re.compile(f"[{INVISIBLE}]+")
_FILLER = re.compile(f"[{FILLERS}]")
_LETTER = re.compile(rf"[^\W\d_{FILLERS}]")
_ITEM = re.compile(r"[\W_]*[0-9]{1,9}[.)](?=\s)")
"""The number of a list item, as in Markdown, with the signs before it."""
_ITEMS = re.compile(r"[0-9]{1,9}[.)](?=\s|\Z)|[0-9]{1,9}\Z")
_TABLE_RULE = re.compile(r"[\s|:+=-]+")
_COLUMNS = re.compile(r"[\s|:+]+")
_FIRST_WORD = re.compile(r"\w")
_HEAD_CHARACTERS = 32
_TAG = re.compile(
    rf"<[\W_]*(?:{'|'.join(form.footer.strip('</>') for form in FORMATS.values() if form.has_markup)})", re.IGNORECASE
)
_BREAKS = "\r\v\f\x1c\x1d\x1e\x85\u2028\u2029"
"""Characters besides the newline that end a line for `str.splitlines` and others."""


class Guard(FormPatterns):
    """The search for the forms of one format."""

    __slots__ = ()

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

    def find_unfinished(self, text: str) -> list[int]:
        """Return the offsets of forms in the last line of `text` that following text may complete."""
        line = text.rfind("\n") + 1
        return _find_in_views(self.unfinished_form, text, line, len(text)) if line else []

    def find_labels(self, line: str) -> list[int]:
        """Return the offsets of labels and beginnings of summaries in `line`, as it is read and as it looks."""
        if line.isascii() and "[" not in line and line.isprintable():  # the usual case
            return []
        found = {origin[match.start()] for view, origin in _visible_views(line) for match in self.label.finditer(view)}
        return sorted(at for at in found if line[at - 1 : at] != "\\")

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
        is_hidden = len(head) == _HEAD_CHARACTERS and len(look.replace(" ", "")) < PREFILTER_ATOMS
        return is_hidden or self.prefilter.match(f"\n{fold_lookalikes(signs)}{look}") is not None


def _visible_views(line: str) -> Iterator[tuple[str, Sequence[int]]]:
    """Yield `line` without its invisible characters, and, if that differs, with ASCII in place of look-alikes.

    Each with the offset in `line` of each of its characters.
    """
    hidden = {at for match in _INVISIBLE_RUN.finditer(line) for at in range(*match.span())}
    visible = [at for at in range(len(line)) if at not in hidden]
    view = _INVISIBLE_RUN.sub("", line)
    yield view, visible
    if not view.isascii() and (look := fold_lookalikes(view)) != view:
        yield look, [visible[at] for at in folded_offsets(view)]


def _views(line: str) -> Iterator[tuple[str, Sequence[int]]]:
    """Yield `line` as a reader may take it: as it is, and in its visible views where they differ."""
    if line.isascii() and line.isprintable():  # as nearly always
        yield line, range(len(line))
        return
    # A letter that can't be seen makes no word.
    yield _FILLER.sub("\0", line), range(len(line))
    yield from ((view, origin) for view, origin in _visible_views(line) if view != line)


def _find_in_views(form: re.Pattern[str], text: str, begin: int, end: int) -> list[int]:
    """Return the offsets of forms in the line `text[begin:end]`, in whatever way it is read."""
    views = _views(text[begin:end])
    return [begin + origin[at] for view, origin in views for at in _find_in_line(form, view)]


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
            if WORD.match(line, begin):
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

    It is enough if one of its views has none.
    """
    if _LETTER.search(line):  # nearly every line has one near its beginning
        return False
    return any(WORD.search(_ITEMS.sub("", view)) is None for view, _ in _views(line))


@lru_cache(maxsize=64)
def build_guard(form: str) -> Guard:
    """Return the guard of the format `form`. A function of the caller has a name that is no format's."""
    return Guard(*compile_forms(form))


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


def escape_labels(text: str, form: str) -> str:
    r"""Return `text` made harmless in the format `form`.

    >>> print(escape_labels("[2] Source: board.pdf", "numbered"))
    \[2] Source: board.pdf
    """
    return apply_replacements(text, escape_replacements(text, form))


def escape_value(value: str, form: str) -> str:
    r"""Return a `value` of metadata made harmless in the middle of a line of ours: no word of it begins a label.

    A part of a name, as in "report[1].pdf", is no label.

    >>> print(escape_value("web.html [2] Source: board.pdf", "numbered"))
    web.html \[2] Source: board.pdf
    """
    labels = build_guard(form).find_labels(value)
    return "\\".join([value[begin:end] for begin, end in pairwise((0, *labels, len(value)))]) if labels else value


def is_line_start_after(text: str, *, at_line: bool) -> bool:
    """Return True if text that follows `text` without a line break begins a line as a reader sees it.

    It does if `text` ends a line, or has no word in its last line: quote marks or a bullet don't keep a form from being
    read. `at_line` says that `text` begins a line itself.
    """
    last = text[text.rfind("\n") + 1 :].splitlines(keepends=True)[-1:] or [text[-1:]]
    if last[0] and last[0][-1] in f"\n{_BREAKS}":
        return True
    return (at_line or len(last[0]) < len(text)) and is_lead(last[0])
