"""The plan of a fetch, never the fetch itself: references to the chunks near the hits that nobody has seen yet.

A chunk finds its neighbors in one of three ways, in this order: by its index; by links, a step at a time; by its
offset, if the store can be asked so. A document that offers none is asked for whole.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from ctxassembly.assembly.adjacency.positions import chunk_section, page_key
from ctxassembly.data.chunks import Chunk, ChunkRef, OffsetRange

Known = Mapping[tuple[str, str], Chunk]
"""All chunks seen so far, by document id and chunk id."""


def index_refs(hits: Sequence[Chunk], window: int, known: Iterable[Chunk]) -> list[ChunkRef]:
    """References to the chunks at index +- `window` of `hits`, by document, then by index.

    Chunks among `known` are left out. No index is negative; only the store knows where a document ends.
    """
    near: dict[str, set[int]] = defaultdict(set)
    for hit in hits:
        if hit.index is not None:
            near[hit.lookup_id].update(range(max(0, hit.index - window), hit.index + window + 1))
    for chunk in known:
        name = chunk.document_id if chunk.origin is None else chunk.lookup_id
        if name in near and chunk.index is not None:
            near[name].discard(chunk.index)
    return [ChunkRef(name, index) for name, indexes in near.items() for index in sorted(indexes)]


def link_refs(
    hits: Iterable[Chunk], known: Known, window: int, per_side: int, page_keys: Sequence[str]
) -> list[ChunkRef]:
    """References to the next unknown chunks around the `hits`, which have no index, in both directions.

    Links are followed for at most `window` steps. A chunk without links is asked for by its offset, `per_side` chunks
    on each side; 0 means that the store can't be asked so. A document whose links are missing on a side, and that can't
    be asked by offset, is asked for whole: a reference without index and id. `page_keys` are the metadata keys of a
    page's number.
    """
    following = {(chunk.document_id, chunk.prev_id): chunk.id for chunk in known.values() if chunk.prev_id}
    preceding = {(chunk.document_id, chunk.next_id): chunk.id for chunk in known.values() if chunk.next_id}
    refs: dict[ChunkRef | None, None] = {}
    for hit in hits:
        place = hit.document_id, hit.id
        if hit.prev_id or hit.next_id or place in following or place in preceding:
            for forward, links in ((False, preceding), (True, following)):
                refs[_next_ref(hit, known, window, links, forward, (per_side, page_keys))] = None
        elif per_side and hit.start is not None:
            refs[_offset_ref(hit, hit.start, per_side, page_key([hit], page_keys))] = None
        # Without an offset its neighbors on the page are unknown, and fetching the document doesn't help.
        elif hit.start is not None or not chunk_section(hit):
            refs[ChunkRef(hit.lookup_id)] = None
    return [ref for ref in refs if ref is not None]


def _next_ref(
    hit: Chunk,
    known: Known,
    window: int,
    links: Mapping[tuple[str, str], str],
    forward: bool,
    offsets: tuple[int, Sequence[str]],
) -> ChunkRef | None:
    """Return the reference to ask for on one side of `hit`: the next unknown chunk, or the document if links fail.

    Where the links end with the page, the store may find the next page by the offset. `links` are the links back from
    neighbors, which will do where a chunk's own is missing.
    """
    current = hit
    for _ in range(window):
        own = current.next_id if forward else current.prev_id
        link = own or links.get((hit.document_id, current.id))
        if link is None:
            if _is_one_sided(current, known, forward):
                return ChunkRef(hit.lookup_id)
            per_side, page_keys = offsets
            page = page_key([current], page_keys)
            if not per_side or current.start is None or page is None or current.lookup_id == current.document_id:
                return None
            return _offset_ref(current, current.start, per_side, page)
        neighbor = known.get((hit.document_id, link))
        if neighbor is None:
            return ChunkRef(hit.lookup_id, chunk_id=link)
        current = neighbor
    return None


def _is_one_sided(chunk: Chunk, known: Known, forward: bool) -> bool:
    """Return True if the known chunk on the other side doesn't link back: a missing link is then no end."""
    other = known.get((chunk.document_id, (chunk.prev_id if forward else chunk.next_id) or ""))
    return other is not None and (other.next_id if forward else other.prev_id) != chunk.id


def _offset_ref(chunk: Chunk, start: int, per_side: int, page: str | None) -> ChunkRef:
    """Return a reference to the chunks next to `chunk` by its offset."""
    grouped_by = None if chunk.lookup_id == chunk.document_id else chunk.document_id
    return ChunkRef(chunk.lookup_id, around_offset=OffsetRange(start, per_side, chunk_section(chunk), page, grouped_by))
