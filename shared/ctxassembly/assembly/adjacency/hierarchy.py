"""Chunks that were cut from larger ones: the neighbours of each, and its offset in the document.

In a hierarchy a small chunk says where it begins in its parent, and a parent names its children in order. So the next
chunk is the next sibling, or behind the last one the first child of the parent's own neighbour.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping
from dataclasses import replace

from ctxassembly.assembly.adjacency.positions import part_of
from ctxassembly.data.chunks import Chunk

MOST_LEVELS = 8
"""Levels of a hierarchy that are climbed; frameworks make three. Chunks that name each other as parents have no end."""


def kin_wanted(
    chunk: Chunk, known: Mapping[str, Chunk], window: int, missing: Container[str] = ()
) -> tuple[str, ...] | None:
    """The ids of the next unknown chunks on the way to the neighbours of `chunk`; an empty tuple once all are known.

    These are its parents, level by level, and what stands up to `window` steps beside it. None if it was cut from no
    larger chunk, or from one that is `missing` in the store.
    """
    parent_id = _parent_id(chunk)
    if parent_id is None or (parent_id in missing and parent_id not in known):
        return None
    wanted: dict[str, None] = {}
    # Upwards to the next unknown parent: only the top one tells the offset in the document.
    for _ in range(MOST_LEVELS):
        if parent_id is None:
            break
        if parent_id not in known:
            wanted[parent_id] = None
            break
        parent_id = _parent_id(known[parent_id])
    # Sideways to the next unknown neighbour on each side.
    for step in (-1, 1):
        at = chunk
        for _ in range(window):
            beside = _beside(at, known, step)
            if beside is None:
                break
            if beside not in known:
                wanted[beside] = None
                break
            at = known[beside]
    return tuple(chunk_id for chunk_id in wanted if chunk_id not in missing)


def _beside(chunk: Chunk, known: Mapping[str, Chunk], step: int, levels: int = MOST_LEVELS) -> str | None:
    """The id of the chunk next to `chunk`, or of an unknown one that names it; None at the end of a document."""
    parent_id = _parent_id(chunk)
    if parent_id is None:
        return chunk.next_id if step > 0 else chunk.prev_id
    if parent_id not in known:
        return parent_id
    siblings = _children(known[parent_id])
    if chunk.id not in siblings or not levels:
        return None
    at = siblings.index(chunk.id) + step
    if 0 <= at < len(siblings):
        return siblings[at]
    # Past the last sibling: the neighbour of the parent has the next one.
    beside = _beside(known[parent_id], known, step, levels - 1)
    if beside is None or beside not in known:
        return beside
    cousins = _children(known[beside])
    return (cousins[0] if step > 0 else cousins[-1]) if cousins else None


def parents_of(chunks: Iterable[Chunk]) -> set[str]:
    """The ids of the chunks that `chunks` were cut from."""
    return {chunk.origin.parent_id for chunk in chunks if chunk.origin and chunk.origin.parent_id}


def in_document(chunk: Chunk, known: Mapping[str, Chunk], levels: int = MOST_LEVELS) -> Chunk:
    """`chunk` with its offset in the document, or in the largest known chunk around it.

    The offset is dropped if the chunk's text doesn't stand in its parent's there.
    """
    parent = known.get(_parent_id(chunk) or "")
    if parent is None or parent.id == chunk.id or chunk.start is None or chunk.origin is None or not levels:
        return chunk
    if not parent.text.startswith(chunk.text, chunk.start):
        return replace(chunk, start=None)
    above = in_document(parent, known, levels - 1)
    if above.start is None:
        return chunk
    return replace(chunk, start=above.start + chunk.start, origin=replace(chunk.origin, part=part_of(above)))


def _parent_id(chunk: Chunk) -> str | None:
    return chunk.origin.parent_id if chunk.origin else None


def _children(chunk: Chunk) -> tuple[str, ...]:
    return chunk.origin.child_ids if chunk.origin else ()
