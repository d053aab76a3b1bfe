"""Heads of tables that go on in another chunk: rows without them say nothing.

A splitter cuts a long table anywhere. A chunk that begins with a row needs the head of the last table before it in its
document that has as many columns; a rule of dashes below a row says that it is a head.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ctxassembly.assembly.join import Text
from ctxassembly.assembly.merge import divide
from ctxassembly.assembly.units import Units

if TYPE_CHECKING:
    from ctxassembly.assembly.units import Ints

_HEAD = re.compile(r"^[ \t]*(\|[^\n]*)\n[ \t]*\|[ \t:|+=-]*-[ \t:|+=-]*$", re.MULTILINE)


class Head(NamedTuple):
    """The head of a table with its rule, in the joined text."""

    start: int
    end: int
    bars: int


def find_heads(text: Text) -> list[Head]:
    """Return the heads of the tables in `text`; in most texts there is none."""
    whole = text.text
    if "\n|" not in whole:
        return []
    return [Head(found.start(), found.end(), found[1].count("|")) for found in _HEAD.finditer(whole)]


def head_of(text: Text, heads: list[Head], start: int, first: int) -> Head | None:
    """Return the head of the row at `start`, in a document that begins at `first`; None if it isn't known."""
    whole = text.text
    bars = whole[start : whole.find("\n", start)].count("|")
    known = (head for head in reversed(heads) if first <= head.start <= start and head.bars == bars)
    return next(known, None)


def with_heads(text: Text, units: Units) -> tuple[Units, Ints | None]:
    """Return chunks of which heads of tables are units of their own, and the head that each chunk needs.

    The second has the number of a unit for each, its own if it needs none; None if no chunk begins inside a table.
    """
    heads = find_heads(text)
    needed: dict[int, Head] = {}
    for number in np.flatnonzero(units.values > -np.inf).tolist() if heads else ():
        start = int(units.starts[number])
        first = text.opens[int(units.documents[number])]
        if text.text.startswith("|", start) and (head := head_of(text, heads, start, first)) and head.end < start:
            needed[start] = head
    if not needed:
        return units, None
    for offset in sorted({edge for head in needed.values() for edge in (head.start, head.end)}):
        number = int(np.searchsorted(units.starts, offset, "right")) - 1
        if units.starts[number] < offset < units.ends[number]:
            units = divide(units, number, offset)
    needs = np.arange(len(units.starts))
    for start, head in needed.items():
        needs[np.searchsorted(units.starts, start)] = np.searchsorted(units.starts, head.start)
    return units, needs
