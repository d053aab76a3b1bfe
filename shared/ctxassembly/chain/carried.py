"""Chunks that the conversation brings along: they come in again only if this call may read them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ctxassembly.assembly.expansion.access import Scope
from ctxassembly.config.assembly import AssemblyConfig
from ctxassembly.data.chunks import Chunk, ChunkRef, Hit


def passing(cited: Sequence[Hit], tests: Sequence[Callable[[Any], bool]]) -> tuple[Hit, ...]:
    """Those of `cited` that pass all of `tests`."""
    return tuple(hit for hit in cited if all(test(hit.chunk) for test in tests))


def agreeing(cited: Sequence[Hit], found: Sequence[Hit], config: AssemblyConfig | None = None) -> tuple[Hit, ...]:
    """Those of `cited` that a search whose filter can't be seen may give, by what it has just `found`.

    As a neighbour has to, each agrees with a hit of its document on all metadata but those that vary within one.
    """
    scope = Scope(config or AssemblyConfig())
    scope.add_hits(hit.chunk for hit in found)
    return tuple(hit for hit in cited if scope.admits(hit.chunk))


def refs_of(cited: Sequence[Hit]) -> list[ChunkRef]:
    """The references by which a store finds the chunks of `cited`."""
    return [ChunkRef(hit.chunk.lookup_id, chunk_id=hit.chunk.id) for hit in cited]


def as_stored(cited: Sequence[Hit], stored: Sequence[Chunk]) -> tuple[Hit, ...]:
    """`cited` with the chunks as they are `stored` now; those that aren't are left out."""
    chunks = {(chunk.lookup_id, chunk.id): chunk for chunk in stored}
    keyed = [((hit.chunk.lookup_id, hit.chunk.id), hit.score) for hit in cited]
    return tuple(Hit(chunks[key], score) for key, score in keyed if key in chunks)
