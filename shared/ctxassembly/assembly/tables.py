"""Rows of tables and their heads, which may be in another chunk: rows without them say nothing.

A splitter cuts a long table anywhere. A chunk that begins with a row needs the head of the last table before it in its
document that has as many columns. In Markdown a rule of dashes below a row says that it is a head, in HTML it is the
first row, and in a document of separated values the first line.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ctxassembly.assembly.join import Text
from ctxassembly.assembly.pool import Pool
from ctxassembly.assembly.units import Units, divide
from ctxassembly.text.lines import Lines, read_lines
from ctxassembly.text.scan import scan

if TYPE_CHECKING:
    from ctxassembly.assembly.units import Bools, Ints
    from ctxassembly.text.kinds import Codes

_RULE = re.compile(r"\n([^\S\n]*\|[ \t:|+=]*-[ \t:|+=-]*)(?=\r?\n)")
"""A rule with the break before it, which is found 15 times as fast as the beginning of a line."""
_TAGGED_HEAD = re.compile(
    r"<t(?:able\b[^>]{0,300}>\s*(?:<thead\b[^>]{0,300}>\s*)?<tr\b|r\b[^>]{0,300}>\s*<th\b).{0,1000}?</tr\s*>"
    r"(?:\s*</thead\s*>)?(?:\s*<tbody\b[^>]{0,300}>)?",
    re.DOTALL,
)
_CELL = re.compile(r"<t[dh]\b")
SEPARATORS = {"\t": 1, ";": 1, ",": 2}
"""The fewest of each in the first line of a document of separated values: a sentence may have a comma and a blank."""
_QUOTED = re.compile(r'"[^"\n]*"')
SAME_LINES = 3
"""The lines at the beginning of such a document that have as many separators."""
MAX_GROUP = 60
"""Characters of the longest line between rows that names a group of them."""
_FEED, _LETTER, _DIGIT = ord("\n"), re.compile(r"[^\W\d_]"), re.compile(r"\d")
MAX_LINES = 2_000
"""Characters in which they are looked for."""


class Head(NamedTuple):
    """The head of a table, with its rule or tags, in the joined text."""

    start: int
    end: int
    mark: str
    """What is between two cells: "|", a separator, or "<" for tags."""
    marks: int
    """How many of these a row has."""
    document: int


def find_heads(text: Text, pool: Pool, *, has_rows: bool) -> list[Head]:
    """Return the heads of the tables in `text`; unless it `has_rows`, with bars or tags, of separated values alone."""
    whole, found = text.text, list[tuple[int, int, str, int]]()
    if has_rows:
        found += filter(None, [_above_rule(whole, *one.span(1)) for one in _RULE.finditer(whole)])
        rows = [one for one in _TAGGED_HEAD.finditer(whole) if one[0].startswith("<table") or "<td" not in one[0]]
        found += [(one.start(), one.end(), "<", len(_CELL.findall(one[0]))) for one in rows]
    heads = [Head(*one, int(np.searchsorted(text.opens, one[0], "right")) - 1) for one in found]
    for document, first in enumerate(pool.documents):
        if pool.candidates[first].chunk.index in (0, None) and (head := _first_line(text, document)):
            heads.append(head)
    return sorted(heads)


def _above_rule(whole: str, start: int, end: int) -> tuple[int, int, str, int] | None:
    """Return the head with the rule of dashes, the line from `start` to `end`; None if no row is above it."""
    row = whole.rfind("\n", 0, start - 1) + 1
    line = whole[row : start - 1]
    return (row, end, "|", line.count("|")) if line.lstrip().startswith("|") else None


def _first_line(text: Text, document: int) -> Head | None:
    """Return the first line of a document of separated values; None if it is another document."""
    start, end = [*text.opens, len(text.text)][document : document + 2]
    lines = [*filter(None, text.text[start : min(end, start + MAX_LINES)].split("\n"))][:SAME_LINES]
    for mark, least in SEPARATORS.items() if len(lines) == SAME_LINES and ". " not in lines[0] else ():
        counts = {_QUOTED.sub("", line).count(mark) for line in lines}
        has_blanks = any(f"{mark} " in line for line in lines)
        if len(counts) == 1 and min(counts) >= (least if has_blanks else 1):
            return Head(start, start + len(lines[0]), mark, min(counts), document)
    return None


def head_of(text: Text, heads: list[Head], start: int, document: int) -> Head | None:
    """Return the head of the row at `start` in `document`, which may be the row itself; None if it isn't known."""
    whole = text.text
    line = whole[start : whole.find("</tr" if whole[start] == "<" else "\n", start)]
    for head in reversed(heads):
        count = len(_CELL.findall(line)) if head.mark == "<" else line.count(head.mark)
        is_row = count >= head.marks if head.mark in SEPARATORS else line.startswith(head.mark) and count == head.marks
        if head.document == document and head.start <= start and is_row:
            return head
    return None


def _separated_rows(text: Text, units: Units, lines: Lines, heads: list[Head]) -> Bools:
    """Return which sentences begin a line of a document of separated values."""
    found = np.zeros(len(units.starts), bool)
    for head in heads:
        if head.mark in SEPARATORS:
            for number in np.flatnonzero((units.documents == head.document) & lines.begins).tolist():
                start = int(units.starts[number])
                found[number] = text.text.count(head.mark, start, text.text.find("\n", start)) >= head.marks
    return found


def rows_with_heads(text: Text, pool: Pool, units: Units) -> tuple[Ints, Ints]:
    """Return the numbers of the sentences in rows whose head is known, and for each the number of its head."""
    known = scan(text.text)
    lines = read_lines(units.starts, units.ends, known.kinds, known.plain)
    _, heads = read_rows(text, pool, units, lines, known.plain)
    rows = np.flatnonzero(heads != np.arange(len(heads)))
    return rows, heads[rows]


def read_rows(text: Text, pool: Pool, units: Units, lines: Lines, plain: Codes) -> tuple[Bools, Ints]:
    """Return which sentences are in a row of separated values or of cells, and for each of any row the table's head.

    A head, and a sentence of which none is known, has its own number.
    """
    heads = find_heads(text, pool, has_rows=bool(lines.is_row.any()))
    line = np.maximum.accumulate(np.where(lines.begins | ~units.continues, np.arange(len(units.starts)), 0))
    is_separated = _separated_rows(text, units, lines, heads)[line]
    is_cells, first = _cell_rows(text, units, lines, plain)
    is_cells &= ~(lines.is_row | is_separated)
    lines = lines._replace(is_row=lines.is_row | is_separated)
    return is_separated | is_cells, np.where(is_cells, first, _heads_of_rows(text, units, lines, heads))


def _cell_rows(text: Text, units: Units, lines: Lines, plain: Codes) -> tuple[Bools, Ints]:
    """Return which sentences are rows with a cell a line, as in filings: a label, and lines without letters below it.

    And for each one the first row of its table, which mostly has the years or other names of the columns; short lines
    between rows, such as the name of a group, divide no table.
    """
    feeds = np.flatnonzero(plain == _FEED)
    may_be = ~lines.is_ended & (np.searchsorted(feeds, lines.last) > np.searchsorted(feeds, lines.first))
    is_row = np.zeros(len(may_be), bool)
    for number in np.flatnonzero(may_be & lines.begins).tolist():
        last_line = text.text[lines.first[number] : lines.last[number] + 1].rsplit("\n", 1)[1]
        is_row[number] = _LETTER.search(last_line) is None and _DIGIT.search(last_line) is not None
    numbers = np.arange(len(is_row))
    is_group = lines.begins & ~lines.is_ended & ~lines.is_item & (lines.last - lines.first < MAX_GROUP)
    run = run_starts(is_row | is_group, ~units.continues)
    first = np.full(len(is_row), len(is_row))
    np.minimum.at(first, run[is_row], numbers[is_row])
    return is_row, np.where(is_row, first[run], numbers)


def run_starts(mask: Bools, begins: Bools) -> Ints:
    """Return for each unit the first one of the run in `mask` that it is in; of others nothing is meant.

    A run also begins where `begins` is true.
    """
    is_first = mask & (begins | ~np.append(False, mask[:-1]))
    starts: Ints = np.maximum.accumulate(np.where(is_first, np.arange(len(mask)), 0))
    return starts


def _heads_of_rows(text: Text, units: Units, lines: Lines, heads: list[Head]) -> Ints:
    """Return for each row the head of its table; for a head, and where none is known, itself."""
    numbers = np.arange(len(units.starts))
    own = np.searchsorted(units.starts, [head.start for head in heads], "right") - 1
    begins = ~units.continues
    begins[own] = True
    found = run_starts(lines.is_row, begins)
    # A table that goes on after a gap has its head before that; its first row may be cut, and no row then.
    before = np.maximum.accumulate(np.where(lines.is_row, numbers + 1, np.where(units.continues, 0, numbers)))
    for number in np.flatnonzero(lines.is_row & (found == numbers)).tolist() if heads else ():
        first = before[number - 1] if number and units.continues[number] else number
        cut = text.text[units.starts[first] : units.starts[number]]
        if number in own or "<tr" in cut or ("<t" not in cut and cut.count("\n") > 2):
            continue
        head = head_of(text, heads, int(lines.first[number]), int(units.documents[number]))
        rows = found == number
        found[rows] = numbers[rows] if head is None else own[heads.index(head)]
    return np.where(lines.is_row, found, numbers)


def with_heads(text: Text, pool: Pool, units: Units) -> Units:
    """Return the chunks `units`, of which heads of tables are units of their own if a chunk begins inside a table."""
    offered = np.flatnonzero(units.values > -np.inf).tolist()
    heads = find_heads(text, pool, has_rows="|" in text.text or "<t" in text.text)
    needed: dict[int, Head] = {}
    for number in offered if heads else ():
        start = int(units.starts[number])
        # A splitter may cut the first row.
        places = start, text.text.find("\n", start) + 1, text.text.find("<tr", start)
        rows = (at for at in places if start <= at < units.ends[number])
        found = (head_of(text, heads, at, int(units.documents[number])) for at in rows)
        head = next(filter(None, found), None)
        if head is not None and head.end < start:
            needed[start] = head
    if not needed:
        return units
    for offset in sorted({edge for head in needed.values() for edge in (head.start, head.end)}):
        number = int(np.searchsorted(units.starts, offset, "right")) - 1
        if units.starts[number] < offset < units.ends[number]:
            units = divide(units, number, offset)
    needs = np.arange(len(units.starts))
    for start, head in needed.items():
        needs[np.searchsorted(units.starts, start)] = np.searchsorted(units.starts, head.start)
    return units._replace(needs=needs)
