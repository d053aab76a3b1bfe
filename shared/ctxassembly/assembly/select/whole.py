"""Chunks that are marked to be kept whole, and the units of a coarser granularity."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ctxassembly.assembly.compress import chunk_by_chunk
from ctxassembly.assembly.join import Text
from ctxassembly.assembly.render.layout import lay_out
from ctxassembly.assembly.render.page import Page
from ctxassembly.assembly.render.write import write
from ctxassembly.assembly.score.score import rank_values
from ctxassembly.assembly.units import Units, best_in_chunks, chunk_units, merge
from ctxassembly.data.chunks import find_flagged
from ctxassembly.safe_repr import safe_repr

if TYPE_CHECKING:
    from ctxassembly.assembly.units import Floats

AHEAD = 1e9
"""The value of a hit that has to stay whole: it goes before all others."""


def coarser(page: Page, units: Units, notes: list[str]) -> Units:
    """Return the units that the config asks for in the place of sentences; chunks that are marked stay whole."""
    config, pool = page.config, page.pool
    granularity = config.effective_granularity(page.query)
    if page.is_by_query and granularity in ("chunk", "passage") and config.compress == "none":
        units = in_chunks(page.text, units)
    if config.enabled:
        units = keep_marked(page, units, notes)
    if config.compress == "none":
        return units
    by_rank = np.maximum(rank_values(pool), np.where(best_in_chunks(units, units.values) > AHEAD / 2, AHEAD, -np.inf))
    return chunk_by_chunk(units, best_in_chunks(units, units.values) if page.is_by_query else by_rank)


def in_chunks(text: Text, units: Units) -> Units:
    """Return chunks in the place of sentences.

    A chunk has the value of its best sentence and of the mean of all, half of each: many that answer say much else.
    """
    # A chunk that is a part of a sentence has the value of that.
    whole = units._replace(firsts=np.where(units.lasts > units.firsts, units.firsts, np.maximum(units.firsts - 1, 0)))
    whole = whole._replace(lasts=np.maximum(whole.firsts + 1, units.lasts))
    values = (best_in_chunks(whole, units.values) + _means(whole, units.values)) / 2
    chunks = chunk_units(text)
    values[chunks.ends <= chunks.starts] = -np.inf
    return chunks._replace(values=values, relevance=best_in_chunks(whole, units.relevance))


def _means(units: Units, values: Floats) -> Floats:
    """Return the mean of the values of the units of each chunk."""
    total = np.append(0.0, np.cumsum(np.where(np.isfinite(values), values, 0.0)))
    means: Floats = (total[units.lasts] - total[units.firsts]) / np.maximum(units.lasts - units.firsts, 1)
    return means


def keep_marked(page: Page, units: Units, notes: list[str]) -> Units:
    """Return the units with each chunk that is marked to stay whole as one, of hits before all others.

    A hit that doesn't fit whole is as any other, and a note says so; a neighbor that doesn't isn't read.
    """
    candidates, text, keys = page.pool.candidates, page.text, page.config.keys
    marked = find_flagged([one.chunk for one in candidates], "keep_whole", keys)
    if not marked:
        return units
    begins, values, relevance = np.ones(len(units.starts), bool), units.values.copy(), units.relevance.copy()
    chunks = chunk_units(text)
    for number in marked:
        first = int(np.searchsorted(units.starts, text.begins[number], "right")) - 1
        last = max(int(np.searchsorted(units.starts, text.ends[number])), first + 1)
        candidate = candidates[number]
        if page.weigh(write(page, lay_out(page, chunks, np.arange(len(candidates)) == number)).text).share <= 1:
            begins[first + 1 : last] = False
            if not candidate.distance:
                values[first], relevance[first] = AHEAD - candidate.rank, 1.0
        elif candidate.distance:
            values[first:last] = -np.inf
        else:
            notes.append(f"keep_whole: {safe_repr(candidate.chunk.id, 80)} does not fit whole, treated as any other")
    return merge(units._replace(values=values, relevance=relevance), begins)
