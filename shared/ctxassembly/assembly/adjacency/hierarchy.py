"""Chunks that were cut from larger ones: the neighbors of each, and its offset in the document.

In a hierarchy a small chunk says where it begins in its parent, and a parent names its children in order. So the next
chunk is the next sibling, or behind the last one the first child of the parent's own neighbor.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping
from dataclasses import replace

from ctxassembly.assembly.adjacency.positions import chunk_section
from ctxassembly.data.chunks import Chunk

MAX_LEVELS = 8
"""Levels of a hierarchy that are climbed; frameworks make three. Chunks that name each other as parents have no end."""


def missing_relatives(
    chunk: Chunk, known: Mapping[str, Chunk], window: int, absent: Container[str] = ()
) -> tuple[str, ...] | None:
    """Return the ids of the next unknown chunks on the way to the neighbors of `chunk`; none once all are known.

    These are its parents, level by level, and the chunks up to `window` steps next to it. None if it was cut from no
    larger chunk, or from one that is `absent` in the store.
    """
    parent_id = _parent_id(chunk)
    if parent_id is None or (parent_id in absent and parent_id not in known):
        return None
    needed: dict[str, None] = {}
    # Go up to the next unknown parent: only the top parent has the offset in the document.
    for _ in range(MAX_LEVELS):
        if parent_id is None:
            break
        if parent_id not in known:
            needed[parent_id] = None
            break
        parent_id = _parent_id(known[parent_id])
    # Sideways to the next unknown neighbor on each side.
    for step in (-1, 1):
        current = chunk
        for _ in range(window):
            neighbor_id = _neighbor_id(current, known, step)
            if neighbor_id is None:
                break
            if neighbor_id not in known:
                needed[neighbor_id] = None
                break
            current = known[neighbor_id]
    return tuple(chunk_id for chunk_id in needed if chunk_id not in absent)


def _neighbor_id(chunk: Chunk, known: Mapping[str, Chunk], step: int, levels: int = MAX_LEVELS) -> str | None:
    """Return the id of the chunk next to `chunk`, or of an unknown one that names it; None at the end of a document."""
    parent_id = _parent_id(chunk)
    if parent_id is None:
        return chunk.next_id if step > 0 else chunk.prev_id
    if parent_id not in known:
        return parent_id
    siblings = _children(known[parent_id])
    if chunk.id not in siblings or not levels:
        return None
    sibling_index = siblings.index(chunk.id) + step
    if 0 <= sibling_index < len(siblings):
        return siblings[sibling_index]
    # Past the last sibling: the neighbor of the parent has the next one.
    parent_neighbor_id = _neighbor_id(known[parent_id], known, step, levels - 1)
    if parent_neighbor_id is None or parent_neighbor_id not in known:
        return parent_neighbor_id
    cousins = _children(known[parent_neighbor_id])
    return (cousins[0] if step > 0 else cousins[-1]) if cousins else None


def parent_ids(chunks: Iterable[Chunk]) -> set[str]:
    """Return the ids of the chunks that `chunks` were cut from."""
    return {chunk.origin.parent_id for chunk in chunks if chunk.origin and chunk.origin.parent_id}


def with_document_offset(chunk: Chunk, known: Mapping[str, Chunk], levels: int = MAX_LEVELS) -> Chunk:
    """Return `chunk` with its offset in the document, or in the largest known chunk around it.

    The offset is dropped if the parent's text differs from the chunk's there.
    """
    parent = known.get(_parent_id(chunk) or "")
    if parent is None or parent.id == chunk.id or chunk.start is None or chunk.origin is None or not levels:
        return chunk
    if not parent.text.startswith(chunk.text, chunk.start):
        return replace(chunk, start=None)
    parent_in_document = with_document_offset(parent, known, levels - 1)
    if parent_in_document.start is None:
        return chunk
    return replace(
        chunk,
        start=parent_in_document.start + chunk.start,
        origin=replace(chunk.origin, section=chunk_section(parent_in_document)),
    )


def _parent_id(chunk: Chunk) -> str | None:
    return chunk.origin.parent_id if chunk.origin else None


def _children(chunk: Chunk) -> tuple[str, ...]:
    return chunk.origin.child_ids if chunk.origin else ()
