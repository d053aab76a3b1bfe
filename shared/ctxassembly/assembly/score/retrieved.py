"""What the retriever makes of each chunk: rank of the nearest hit, steps to it, and the hits of its document."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ctxassembly.assembly.pool import Pool
from ctxassembly.assembly.score.weights import Weights

if TYPE_CHECKING:
    from ctxassembly.assembly.units import Floats

_SECOND = 2
"""A hit counts 1 / (2 + rank) for its document, so that several good hits outweigh one."""


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
