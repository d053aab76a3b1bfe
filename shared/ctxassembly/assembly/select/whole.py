"""Chunks that are marked to be kept whole, and the units of a coarser granularity."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ctxassembly.assembly.compress import chunk_by_chunk
from ctxassembly.assembly.join import Text
from ctxassembly.assembly.merge import merge
from ctxassembly.assembly.pool import Pool
from ctxassembly.assembly.score.score import rank_values
from ctxassembly.assembly.units import Units, best_in_chunks, chunk_units
from ctxassembly.config.assembly import AssemblyConfig, Granularity
from ctxassembly.data.chunks import has_flag
from ctxassembly.data.metadata_keys import MetadataKeys

if TYPE_CHECKING:
    from ctxassembly.assembly.units import Floats

AHEAD = 1e9
"""Added to the value of a hit that has to stay whole: it goes before all others."""


def coarser(text: Text, pool: Pool, units: Units, config: AssemblyConfig, query: str | None) -> Units:
    """Return the units that `config` asks for in the place of sentences; chunks that are marked stay whole."""
    granularity = config.effective_granularity(query)
    if config.compress != "none":
        best = best_in_chunks(units, units.values) if config.is_query_aware(query) else rank_values(pool)
        return chunk_by_chunk(units, best)
    if not config.is_query_aware(query):
        if granularity == "passage":
            units = merge(units, ~units.continues)
        return _raised(pool, units, config.keys)
    if granularity == "sentence":
        return keep_marked(text, pool, units, config.keys)
    return _raised(pool, in_chunks(text, units, granularity), config.keys)


def _raised(pool: Pool, units: Units, keys: MetadataKeys) -> Units:
    """Return `units` with hits that are marked to stay whole before all others."""
    values = units.values.copy()
    for number in _marked(pool, keys):
        if not pool.candidates[number].distance and units.firsts[number] < len(values):
            values[units.firsts[number]] = AHEAD - pool.candidates[number].rank
    return units._replace(values=values)


def _marked(pool: Pool, keys: MetadataKeys) -> list[int]:
    """Return the numbers of the chunks that are marked to stay whole."""
    return [number for number, one in enumerate(pool.candidates) if has_flag(one.chunk, "keep_whole", keys)]


def in_chunks(text: Text, units: Units, granularity: Granularity) -> Units:
    """Return chunks or passages in the place of sentences.

    A chunk has the value of its best sentence and of the mean of all, half of each: many that answer say much else.
    """
    values = (best_in_chunks(units, units.values) + _means(units, units.values)) / 2
    chunks = chunk_units(text)
    values[chunks.ends <= chunks.starts] = -np.inf
    chunks = chunks._replace(values=values, relevance=best_in_chunks(units, units.relevance))
    return merge(chunks, ~chunks.continues) if granularity == "passage" else chunks


def _means(units: Units, values: Floats) -> Floats:
    """Return the mean of the values of the units of each chunk."""
    total = np.append(0.0, np.cumsum(np.where(np.isfinite(values), values, 0.0)))
    means: Floats = (total[units.lasts] - total[units.firsts]) / np.maximum(units.lasts - units.firsts, 1)
    return means


def keep_marked(text: Text, pool: Pool, units: Units, keys: MetadataKeys) -> Units:
    """Return the units with each chunk that is marked to stay whole as one unit, of hits before all others."""
    marked = _marked(pool, keys)
    if not marked:
        return units
    begins, values = np.ones(len(units.starts), bool), units.values.copy()
    for number in marked:
        first = int(np.searchsorted(units.starts, text.begins[number], "right")) - 1
        last = int(np.searchsorted(units.starts, text.ends[number]))
        begins[first + 1 : last] = False
        candidate = pool.candidates[number]
        if not candidate.distance and first < last:
            values[first] = AHEAD - candidate.rank
    return merge(units._replace(values=values), begins)
