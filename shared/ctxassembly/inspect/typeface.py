"""The typeface of a text: of one width where its columns mean something, as in code and in tables.

Metadata seldom say that a chunk is code, and never in one way. So nothing is guessed about what a text is: its lines
tell whether it was laid out with blanks, and then it is shown with the blanks as wide as they were meant.
"""

from __future__ import annotations

import re

_LAID_OUT = re.compile(
    r"^(?:\t|[ ]{2,})(?![-*+•‣o][ ]|\d{1,3}[.)][ ])\S"  # indented, and no item of a list
    r"|\S(?:[ ]{3,}|\t)\S"  # columns, further apart than the blanks after a sentence
    r"|\|.*\|"  # a row of a table
    r"|^\s*[-=+|][-=+| ]+$"  # a rule of one
)
_SHARE = 0.4
"""Part of the lines, blank ones aside: what begins a function or introduces code isn't indented."""
READ_CHARS = 4_000
"""Characters of a text that are looked at: its beginning."""


def is_laid_out(text: str) -> bool:
    r"""True if `text` has two lines or more, and blanks or bars lay out at least two of them and two fifths of all.

    >>> is_laid_out("def area(r):\n    square = r * r\n    return 3.14159 * square")
    True
    >>> is_laid_out("Drink water.\n  - Until two hours before.\n  - Then no more.")
    False
    """
    lines = [line for line in text[:READ_CHARS].split("\n") if line.strip()]
    found = sum(_LAID_OUT.search(line) is not None for line in lines)
    return found >= 2 and found >= _SHARE * len(lines)


def face(text: str) -> str:
    """The CSS class of `text`, with a blank before it; empty for running text."""
    return " cxa-mono" if is_laid_out(text) else ""
