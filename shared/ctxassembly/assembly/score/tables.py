"""Chunks that are mostly numbers: a question hardly has the words of a row, so all rows have the value of the best."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ctxassembly.assembly.join import Text
from ctxassembly.assembly.units import Units
from ctxassembly.text.scan import scan

if TYPE_CHECKING:
    from ctxassembly.assembly.units import Floats

NUMBER_SHARE = 0.4
"""Share of the words of a chunk that begin with a digit, from which on it is a table."""
_ZERO, _NINE = ord("0"), ord("9")


def even_out(values: Floats, text: Text, units: Units) -> Floats:
    """Return `values` with the best one for all sentences of a chunk that is mostly numbers."""
    known = scan(text.text)
    first = known.plain[known.words]
    numbers = np.append(0, np.cumsum((first >= _ZERO) & (first <= _NINE)))
    begins, ends = np.searchsorted(known.words, text.begins), np.searchsorted(known.words, text.ends)
    tables = np.flatnonzero(numbers[ends] - numbers[begins] > NUMBER_SHARE * (ends - begins))
    if len(tables):
        values = values.copy()
        for number in tables.tolist():
            own = values[units.firsts[number] : units.lasts[number]]
            own[:] = own.max(initial=-np.inf)
    return values
