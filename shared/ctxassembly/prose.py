"""Which sentences of a text are prose, rather than headings, rows of tables, items of lists or lines of code."""

from __future__ import annotations

import re
from typing import NamedTuple

from ctxassembly.goes_on import WRAPPED
from ctxassembly.sentences import tiles

_STOPS, _CLOSING = ".!?…。！？｡।॥؟۔።፧៕။།", "\"'”’»)]」』）*_"
_ITEM = re.compile(r"[ \t]*(?:[-*+•·‣▪◦–—]|\(?(?:\d{1,3}(?:\.\d{1,3})*|[A-Za-z])[.)])\s")
_FENCE = re.compile(r"[ \t]*(?:```|~~~)")
_NO_PROSE = re.compile(r"[ \t]*(?:[|+#>]|//|/\*|\"\"\"|'''|\.\. |\.\.\. )")
_PARAGRAPH = re.compile(r"\n\s*\n")
_COLUMNS = re.compile(r"\S(?: *\t|   )[ \t]*\S")


class Statement(NamedTuple):
    """A sentence or line of a text, with the white space after it."""

    start: int
    end: int
    text: str
    """With one blank for all white space between two words."""
    is_prose: bool
    belongs: bool
    """Whether it is part of a table, a list or of code, where it says little without the rest."""


def statements(text: str) -> list[Statement]:
    """All of `text` in order."""
    found: list[Statement] = []
    fenced = belongs = False
    item = -1  # the indentation of the list that the line belongs to
    for start, end in tiles(text):
        tile = text[start:end]
        begins_line = not start or text[start - 1] == "\n"
        if begins_line:
            indent = len(tile) - len(tile.lstrip())
            fence = _FENCE.match(tile) is not None
            if _ITEM.match(tile):
                item = indent
            elif indent <= item:
                item = -1
            belongs = fenced or fence or item >= 0 or _NO_PROSE.match(tile) is not None
            fenced ^= fence
        words = " ".join(tile.split())
        apart = belongs or _COLUMNS.search(tile) is not None
        goes_on = (not begins_line or len(words) >= WRAPPED) and not _PARAGRAPH.search(tile)
        found.append(Statement(start, end, words, not apart and (_is_ended(words) or goes_on), apart))
    # What goes on is prose if that is in which it does.
    for at in range(len(found) - 1, -1, -1):
        each = found[at]
        if each.is_prose and not _is_ended(each.text):
            after = found[at + 1] if at + 1 < len(found) else None
            found[at] = each._replace(is_prose=after is not None and after.is_prose)
    return found


def _is_ended(words: str) -> bool:
    """Whether there is a stop: what ends without one is a heading, a label, a line of code, or goes on."""
    return words.rstrip(_CLOSING)[-1:] in _STOPS if words else False
