"""Overlaps of adjacent chunks that are too short to be seen in their texts later, recorded while both are at hand.

Of up to `MAX_SHORT_OVERLAP` characters an overlap may be an accident. But a splitter makes overlaps or makes none, and
all of its chunks together show which.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import replace
from typing import TypeVar

from ctxassembly.assembly.adjacency.overlap import overlap_length, short_overlap_length
from ctxassembly.assembly.adjacency.positions import overlap_by_offset
from ctxassembly.data.chunks import Chunk, section_of
from ctxassembly.data.metadata_keys import MetadataKeys

MAX_SHORT_OVERLAP = 20
"""Characters of the longest overlap to record: `AssemblyConfig.min_overlap_chars`, above which the texts show it."""
MIN_OVERLAPPING_SHARE = 0.05
"""Share of adjacent chunks that overlap if the splitter makes overlaps. Of one at sentences that makes none, 3 of 1,057
seemed to: the next sentence began with the last words of the one before."""

K = TypeVar("K", bound=Hashable)


def find_short_overlaps(pairs: Iterable[tuple[K, Chunk, Chunk]], keys: MetadataKeys) -> dict[K, int]:
    """Return the overlaps to record, in characters, by the key of each pair; none if the splitter seems to make none.

    `pairs` are a key and two adjacent chunks each. A splitter repeats nothing across the pages, sections and rows that
    a loader makes documents of, so these pairs don't count.
    """
    overlaps: dict[K, int] = {}
    pair_count = overlapping_count = 0
    for key, first, second in pairs:
        are_texts = isinstance(first.text, str) and isinstance(second.text, str)
        if not are_texts or section_of(first.metadata, keys) != section_of(second.metadata, keys):
            continue
        shared = overlap_by_offset(_with_valid_offset(first), _with_valid_offset(second))
        if shared is None:
            shared = overlap_length(first.text, second.text, MAX_SHORT_OVERLAP)
            if not shared and (shared := short_overlap_length(first.text, second.text, MAX_SHORT_OVERLAP)):
                overlaps[key] = shared
        pair_count += 1
        overlapping_count += shared > 0
    return overlaps if overlapping_count >= MIN_OVERLAPPING_SHARE * pair_count else {}


def _with_valid_offset(chunk: Chunk) -> Chunk:
    return chunk if type(chunk.start) is int and chunk.start >= 0 else replace(chunk, start=None)
