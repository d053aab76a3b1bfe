"""What counts for a whole chunk: where the retriever found it, and whether it is a table of numbers.

The retriever says the rank of the nearest hit, the steps to it, and the hits of the document. A question hardly has the
words of a row of numbers, so all rows of a table have the value of the best.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ctxassembly.assembly.join import Text
from ctxassembly.assembly.pool import Pool
from ctxassembly.assembly.score.weights import Weights
from ctxassembly.assembly.units import Units
from ctxassembly.text.scan import scan

if TYPE_CHECKING:
    from ctxassembly.assembly.units import Floats

_SECOND = 2
"""A hit counts 1 / (2 + rank) for its document, so that several good hits outweigh one."""
ROW_SHARE = 0.1
"""How much of its distance to the best one a row keeps there: the one that is asked for comes before the others."""
NUMBER_SHARE = 0.4
"""Share of the words of a chunk that begin with a digit, from which on it is a table."""
_ZERO, _NINE = ord("0"), ord("9")


def retrieval_values(pool: Pool, weights: Weights) -> Floats:
    """Return the value of each chunk of `pool` by where the retriever found it."""
    ranks = np.array([candidate.rank for candidate in pool.candidates])
    distances = np.array([candidate.distance for candidate in pool.candidates])
    counts = np.diff(pool.documents, append=len(ranks))
    by_document = np.add.reduceat(np.where(distances == 0, 1 / (_SECOND + ranks), 0.0), pool.documents)
    document = np.repeat(by_document / (by_document.max() or 1.0), counts)
    # A document without a hit is here because one names it: its beginning is no neighbor.
    is_neighbor = (distances > 0) & (document > 0)
    neighbor = is_neighbor * (weights.neighbor + weights.distance * (distances - 1))
    values: Floats = weights.document * document - weights.rank * np.log1p(ranks) - neighbor
    return values


def even_out(values: Floats, text: Text, units: Units) -> Floats:
    """Return `values` with nearly the best one for all sentences of a chunk that is mostly numbers."""
    known = scan(text.text)
    first = known.plain[known.words]
    numbers = np.append(0, np.cumsum((first >= _ZERO) & (first <= _NINE)))
    begins, ends = np.searchsorted(known.words, text.begins), np.searchsorted(known.words, text.ends)
    tables = np.flatnonzero(numbers[ends] - numbers[begins] > NUMBER_SHARE * (ends - begins))
    if len(tables):
        values = values.copy()
        for number in tables.tolist():
            own = values[units.firsts[number] : units.lasts[number]]
            best = own.max(initial=-np.inf)
            own[:] = best - ROW_SHARE * (best - own) if np.isfinite(best) else best
    return values
