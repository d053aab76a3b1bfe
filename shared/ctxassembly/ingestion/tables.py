"""The head of the table that each line of a document is in: Markdown, grids, columns, HTML, and separated values."""

from __future__ import annotations

import csv
import re
from collections.abc import Sequence

MAX_HEAD = 300
"""Characters of a head as it is recorded."""
MAX_TAGGED = 4_000
"""Characters of HTML in which the first row of a table is looked for."""
MAX_GRID_HEAD = 8
"""Lines of a head that is drawn as a grid."""
MIN_ROWS, MAX_ROWS, MAX_CHUNKS = 4, 200, 40
"""Rows by which separated values are known, the most that are read, and the chunks they are taken from."""
_RULE = re.compile(r"\s*\|?\s*:?-{2,}:?\s*(\|\s*:?-{2,}:?\s*)*\|?\s*$")
_COLUMNS = re.compile(r"\s*(?:-{2,}|={2,})(?:[ +\t]+(?:-{2,}|={2,}))+\s*$")
_GRID = re.compile(r"\s*\+[-=]+(\+[-=]+)*\+\s*$")
_TAGGED = re.compile(
    r"<thead.*?</thead>|<tr[^>]*>(?:(?!</tr>).)*<th[\s>].*?</tr>|(?<=<table>)\s*<tr[^>]*>.*?</tr>",
    re.DOTALL | re.IGNORECASE,
)
_IN_COLUMNS = re.compile(r"\S\s{2,}\S|\t|\s{2,}$")
_NAME = re.compile(r"[^\W\d]")


class TableReader:
    """Reads a document line by line, and knows the head of the table that the next line is in."""

    def __init__(self) -> None:
        self.head = ""
        self.kind = ""
        """"pipe", "grid", "columns" or "tags"; empty outside of tables."""
        self._tagged = ""
        self._lines: list[str] = []

    def read(self, line: str) -> None:
        """Read a `line` with its line break."""
        before = self._lines[-1] if self._lines else ""
        lowered = line.lower()
        if self._tagged or "<table" in lowered:
            self._read_tags(line, lowered)
        line = line.rstrip("\r\n")
        if self.kind == "tags":
            if "</table>" in lowered:
                self._leave()
        elif _GRID.match(line):
            self._read_grid(line)
        elif "|" in before and "|" in line and _RULE.match(line):
            self.head, self.kind = f"{before}\n{line}", "pipe"
        elif _COLUMNS.match(line):
            is_opened = len(self._lines) > 1 and _COLUMNS.match(self._lines[-2])
            is_head = before.strip() and not _COLUMNS.match(before) and (is_opened or self.kind != "columns")
            self.head, self.kind = (f"{before}\n{line}", "columns") if is_head else ("", "")
        elif not line.strip():
            self._leave()
        self._lines = [*self._lines[-MAX_GRID_HEAD:], line]

    def head_above(self, first: str, second: str) -> str:
        """Return the head of the table that a text of these two first lines is in; empty if it is in none.

        The first may be the rest of a row.
        """
        return self.head if self._is_row(first) or self._is_row(second) else ""

    def _is_row(self, line: str) -> bool:
        if self.kind in ("pipe", "grid"):
            return "|" in line or line.startswith("+-")
        return self.kind == "tags" or _IN_COLUMNS.search(line) is not None

    def _read_tags(self, line: str, lowered: str) -> None:
        self._tagged += line
        if not self.head and (head := _TAGGED.search(self._tagged)):
            self.head, self.kind = head[0].strip(), "tags"
        if "</table>" in lowered or len(self._tagged) > MAX_TAGGED:
            self._tagged = ""

    def _read_grid(self, line: str) -> None:
        if "=" in line:
            rows = [row for row in self._lines if row.strip()[:1] in ("+", "|")]
            start = max((at for at, row in enumerate(rows) if _GRID.match(row)), default=0)
            self.head, self.kind = "\n".join([*rows[start:], line]), "grid"

    def _leave(self) -> None:
        self.head = self.kind = ""


def find_names(chunks: Sequence[str]) -> str:
    """Return the first line of a document of separated values, with the names of its columns; empty for any other.

    The first and the last line of a chunk may be parts of a row, so they don't count.
    """
    head = next((line for chunk in chunks[:2] for line in chunk.splitlines() if line.strip()), "")
    inner = [line for chunk in chunks[:MAX_CHUNKS] for line in chunk.splitlines()[1:-1] if line.strip()][:MAX_ROWS]
    for mark in "\t;," if len(inner) >= MIN_ROWS else "":
        cells = _cells(head, mark)
        width = len(cells)
        if width < (3 if mark == "," else 2) or len({*cells}) < width:
            continue
        is_named = sum(bool(_NAME.search(cell)) for cell in cells) >= 0.7 * width
        if is_named and sum(len(_cells(line, mark)) == width for line in inner) >= 0.85 * len(inner):
            return head
    return ""


def _cells(line: str, mark: str) -> list[str]:
    try:
        return next(csv.reader([line], delimiter=mark), [])
    except csv.Error:  # a field of more than 131,072 characters
        return []


def shorten(head: str) -> str:
    """Return a head of at most `MAX_HEAD` characters: the rule below it goes first, then whole cells at its end."""
    if len(head) > MAX_HEAD:
        head = re.sub(r"\n[\s|:+=-]+$", "", head)
    if len(head) > MAX_HEAD:
        head = re.sub(r"\s*(style|class|id|width|align|scope)=(\"[^\"]*\"|'[^']*')", "", head)
    return head if len(head) <= MAX_HEAD else re.sub(r"[^|\t,;>]*$", "", head[: MAX_HEAD - 1]) + "…"
