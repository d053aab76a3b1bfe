"""Places for marks in running text: at the beginning of a word, never inside one."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from functools import cache
from typing import Any

# Not those that are shown by a picture or a number, as `visible` does: a mark among them would part what is one.
_BLANKS = re.compile(r"(?:\r\n|[^\S\x0b-\r\x1c-\x1f\x85\u2028\u2029])*")


def word_begins(text: str, places: Sequence[int]) -> list[int]:
    """Each of `places` in `text`, ascending, as the beginning of the word that it lies inside; blanks are passed over.

    >>> word_begins("Drink allowed water.", [6, 9, 13])
    [6, 6, 14]
    """
    boundaries = [0, *(match.start() for match in _boundary().finditer(text))]
    found: list[int] = []
    for place in places:
        at = place
        if found and at < found[-1]:  # the blanks may be many, and those of the place before the same ones
            at = found[-1]
        elif (blanks := _BLANKS.match(text, at)) and blanks.end() > at:
            at = blanks.end()
        else:
            at = boundaries[bisect_right(boundaries, at) - 1]
        found.append(at)
    return found


@cache
def _boundary() -> Any:
    """The default boundaries of Unicode (UAX 29), which know what `re` doesn't.

    That is combining marks, apostrophes, decimal points, emoji of several characters, and scripts without spaces, where
    nearly every character begins a word. `regex` imports threading, so it is imported when it is first needed.
    """
    import regex

    return regex.compile(r"\b", regex.WORD)
