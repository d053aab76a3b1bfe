"""Which sentences of a text are prose, rather than headings, rows of tables, items of lists or lines of code."""

from __future__ import annotations

import re
from typing import NamedTuple

from ctxassembly.text.goes_on import WRAPPED
from ctxassembly.text.sentences import CLOSING, STOPS, tiles

# What a line begins with that is an item of a list, a fence around code, a heading, or no prose for another reason.
_FORM = re.compile(
    r"[ \t]*(?:((?:[-*+•·‣▪◦\u2013\u2014]|\(?(?:\d{1,3}(?:\.\d{1,3})*|[A-Za-z])[.)])\s)|(```|~~~)"
    r"|(#{1,6}[ \t])|[|+#>]|//|/\*|\"\"\"|'''|\.\. |\.\.\. )"
)
_ITEM, _FENCE, _HEADING = 1, 2, 3
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
    fenced = belongs = is_heading = False
    item = -1  # the indentation of the list that the line belongs to
    for start, end in tiles(text):
        tile = text[start:end]
        begins_line = not start or text[start - 1] == "\n"
        if begins_line:
            form = _FORM.match(tile)
            which = form.lastindex if form else None
            if form and which == _ITEM:
                item = form.start(_ITEM)
            elif item >= 0 and len(tile) - len(tile.lstrip()) <= item:
                item = -1
            is_heading = which == _HEADING
            belongs = fenced or item >= 0 or (form is not None and not is_heading)
            fenced ^= which == _FENCE
        words = " ".join(tile.split())
        apart = belongs or (("   " in tile or "\t" in tile) and _COLUMNS.search(tile) is not None)
        is_prose = not (apart or is_heading) and (_is_ended(words) or _may_go_on(tile, words, begins_line=begins_line))
        found.append(Statement(start, end, words, is_prose, apart))
    after = False
    for at in range(len(found) - 1, -1, -1):
        each = found[at]
        if each.is_prose and not after and not _is_ended(each.text):  # it goes on in what is none
            found[at] = each._replace(is_prose=False)
        after = found[at].is_prose
    return found


def _is_ended(words: str) -> bool:
    """Whether there is a stop: what ends without one is a heading, a label, a line of code, or goes on."""
    last = words[-1:]
    return bool(last) and not last.isalnum() and (last in STOPS or words.rstrip(CLOSING)[-1:] in STOPS)


def _may_go_on(tile: str, words: str, *, begins_line: bool) -> bool:
    return (not begins_line or len(words) >= WRAPPED) and not _PARAGRAPH.search(tile)
