"""Ids and indexes that several texts share: their chunks are treated as different, and none is lost.

This happens when a splitter copies the metadata of the text it cuts, when two stores both count from 0, or when a new
version of a file is stored next to the old one. A shared id gets a suffix that no database allows. A shared index is
unreliable: it gives the approximate position of the chunks, but not which chunks are adjacent.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import replace

from ctxassembly.assembly.adjacency.positions import chunk_section
from ctxassembly.data.chunks import Chunk, ChunkOrigin, renumber_document

_ID_SEPARATOR = "\0"
"""Separates an id from the suffix that makes it unique among chunks with this id; databases have no such id."""


def find_by_id(chunks_by_id: Mapping[str, Chunk], chunk_id: str, document_id: str) -> Chunk | None:
    """Return the chunk of the document that is known under that id; one of another document may have the same."""
    found = chunks_by_id.get(chunk_id)
    if found is None or found.document_id == document_id:
        return found
    return chunks_by_id.get(scoped_id(chunk_id, document_id))


def index_by_id(chunks: Sequence[Chunk]) -> dict[str, Chunk]:
    """Return `chunks` by the name that they are known under; of several in one document with the same id, the first."""
    known = {chunk.id: chunk for chunk in reversed(chunks)}
    if len(known) < len(chunks):
        for chunk in chunks:
            if known[chunk.id].document_id != chunk.document_id:
                known.setdefault(scoped_id(chunk.id, chunk.document_id), chunk)
    return known


def scoped_id(chunk_id: str, document_id: str) -> str:
    """Return the name that a chunk is known under if one of another document has its id."""
    return f"{chunk_id}{_ID_SEPARATOR}{document_id}"


def disambiguate_ids(chunks: Sequence[Chunk]) -> Sequence[Chunk]:
    """Return `chunks` with an id of its own for each text of a document; the first one keeps the shared id."""
    first_seen: dict[tuple[str, str], Chunk] = {}
    # Nearly always no id is shared: then nothing is copied.
    if all(
        (same := first_seen.setdefault((chunk.document_id, chunk.id), chunk)) is chunk or same.text == chunk.text
        for chunk in chunks
    ):
        return chunks
    texts: dict[tuple[str, str], dict[str, str]] = defaultdict(dict)
    result: list[Chunk] = []
    for chunk in chunks:
        id_by_text = texts[chunk.document_id, chunk.id]
        name = id_by_text.setdefault(chunk.text, f"{chunk.id}{_ID_SEPARATOR * bool(id_by_text)}{len(id_by_text) or ''}")
        result.append(chunk if name == chunk.id else replace(chunk, id=name))
    return result


def disambiguate_documents(hits: Sequence[Chunk], group_key: Callable[[Chunk], Hashable]) -> Sequence[Chunk]:
    """Return `hits`, with documents of their own for texts that have one id in one document.

    Two collections may both have a `handbook.pdf#0`. Which of them a chunk of another id is from, its metadata may say:
    `group_key` gives what the chunks of a document share. Else nobody knows, so no chunk of such a document is joined
    to another one by its index or its offset alone. An id that follows from the place is no sign of two documents: the
    pieces of a chunk share it.
    """
    contested = contested_documents(hits)
    if not contested:
        return hits
    documents: dict[str, list[tuple[Hashable, dict[str, str]]]] = defaultdict(list)
    taken = {hit.document_id for hit in hits}
    result: list[Chunk] = []
    for hit in hits:
        if hit.document_id not in contested:
            result.append(hit)
            continue
        groups, hit_group, text = documents[hit.document_id], group_key(hit), hit.text.strip()
        matching = (
            at for at, (other, texts) in enumerate(groups) if other == hit_group and texts.get(hit.id, text) == text
        )
        group_number = next(matching, len(groups))
        if group_number == len(groups):
            groups.append((hit_group, {}))
        groups[group_number][1][hit.id] = text
        result.append(without_adjacency(renumber_document(hit, group_number, taken)))
    return result


def contested_documents(hits: Iterable[Chunk]) -> set[str]:
    """Return the ids of the documents in which two texts have one id."""
    first_text: dict[tuple[str, str], str] = {}
    return {
        hit.document_id
        for hit in hits
        if not (hit.origin and hit.origin.has_no_id)
        and first_text.setdefault((hit.document_id, hit.id), text := hit.text.strip()) != text
    }


def without_adjacency(chunk: Chunk) -> Chunk:
    """Return `chunk` as one that neither its index nor its offset makes adjacent to another."""
    return _with_shared_index(chunk, ("chunk", chunk.id))


def flag_shared_indexes(chunks: Sequence[Chunk]) -> Sequence[Chunk]:
    """Return `chunks` with `shares_index` set in the origin of those whose index other texts of their document have.

    Their offsets then count in a part named by the index, since a splitter counts them in the text that it cut.
    """
    first_seen: dict[tuple[str, int], Chunk] = {}
    shared = {
        (chunk.document_id, chunk.index)
        for chunk in chunks
        if chunk.index is not None
        and (same := first_seen.setdefault((chunk.document_id, chunk.index), chunk)) is not chunk
        and same.text.strip() != chunk.text.strip()
    }
    if not shared:
        return chunks
    return [
        _with_shared_index(chunk, ("index", chunk.index or 0)) if (chunk.document_id, chunk.index) in shared else chunk
        for chunk in chunks
    ]


def _with_shared_index(chunk: Chunk, section_item: tuple[str, str | int]) -> Chunk:
    part = tuple(sorted({**dict(chunk_section(chunk)), section_item[0]: section_item[1]}.items()))
    return replace(chunk, origin=replace(chunk.origin or ChunkOrigin(), section=part, shares_index=True))


def has_shared_index(chunk: Chunk) -> bool:
    """Return True if other texts have its index, which then gives only its approximate position."""
    return chunk.origin is not None and chunk.origin.shares_index


def separate_positions(chunks: Iterable[Chunk], positions: Mapping[str, int]) -> Mapping[str, int]:
    """Return the `positions` of one document's chunks, by id, with a position for each chunk that shares an index.

    Chunks with the same index are spread only if each has a different offset: only offsets give their order.
    """
    sharing: dict[int, list[Chunk]] = defaultdict(list)
    for chunk in chunks:
        if has_shared_index(chunk):
            sharing[positions[chunk.id]].append(chunk)
    if not sharing:
        return positions
    # The order of chunks of one index, and the positions that they take beyond the one they share.
    steps: dict[str, int] = {}
    added: Counter[int] = Counter()
    for position, members in sharing.items():
        starts = sorted({chunk.start for chunk in members if chunk.start is not None})
        if len(starts) == len({chunk.id for chunk in members}) and None not in [chunk.start for chunk in members]:
            steps |= {chunk.id: starts.index(chunk.start or 0) for chunk in members}
            added[position] = len(starts) - 1
    # Later chunks are shifted by the number of positions added before them.
    shift, shifted = 0, dict[int, int]()
    for position in sorted(set(positions.values())):
        shifted[position] = position + shift
        shift += added[position]
    return {chunk_id: shifted[position] + steps.get(chunk_id, 0) for chunk_id, position in positions.items()}
