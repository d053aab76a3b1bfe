"""Ids and indexes that chunks with different texts share: such chunks are told apart, and none is lost.

A splitter copies the metadata of what it cuts, two stores both count from 0, a file is stored anew beside its old
version. An index that several texts have says about where they stand, but not what adjoins them.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from ctxassembly.assembly.adjacency.offsets import part_of
from ctxassembly.data.chunks import Chunk, Origin

_APART = "\0"
"""Between an id and what tells it from the same one of another chunk: databases have no such id."""


def known_as(known: Mapping[str, Chunk], chunk_id: str, document_id: str) -> Chunk | None:
    """The chunk with that id in the document; one of another document may have the same id."""
    found = known.get(chunk_id)
    if found is None or found.document_id == document_id:
        return found
    return known.get(name_in(chunk_id, document_id))


def by_id(chunks: Sequence[Chunk]) -> dict[str, Chunk]:
    """`chunks` by what they are known as; of those of one document that share an id the first one."""
    known = {chunk.id: chunk for chunk in reversed(chunks)}
    if len(known) < len(chunks):
        for chunk in chunks:
            if known[chunk.id].document_id != chunk.document_id:
                known.setdefault(name_in(chunk.id, chunk.document_id), chunk)
    return known


def name_in(chunk_id: str, document_id: str) -> str:
    """What the chunk is known as if one of another document has its id."""
    return f"{chunk_id}{_APART}{document_id}"


def with_own_ids(chunks: Sequence[Chunk]) -> Sequence[Chunk]:
    """`chunks` in which no two of a document share an id unless they share their text; the first one keeps it."""
    first: dict[tuple[str, str], Chunk] = {}
    if all(
        (same := first.setdefault((chunk.document_id, chunk.id), chunk)) is chunk or same.text == chunk.text
        for chunk in chunks
    ):
        return chunks
    texts: dict[tuple[str, str], dict[str, str]] = defaultdict(dict)
    named: list[Chunk] = []
    for chunk in chunks:
        names = texts[chunk.document_id, chunk.id]
        name = names.setdefault(chunk.text, f"{chunk.id}{_APART * bool(names)}{len(names) or ''}")
        named.append(chunk if name == chunk.id else replace(chunk, id=name))
    return named


def with_doubtful_places(chunks: Sequence[Chunk]) -> Sequence[Chunk]:
    """`chunks`, those of different texts that share an index of their document with that said in their origin.

    The offsets of such chunks then count in a part of its own: a splitter counts them in what it cut.
    """
    first: dict[tuple[str, int], Chunk] = {}
    doubtful = {
        (chunk.document_id, chunk.index)
        for chunk in chunks
        if chunk.index is not None
        and (same := first.setdefault((chunk.document_id, chunk.index), chunk)) is not chunk
        and same.text.strip() != chunk.text.strip()
    }
    if not doubtful:
        return chunks
    return [_doubted(chunk) if (chunk.document_id, chunk.index) in doubtful else chunk for chunk in chunks]


def _doubted(chunk: Chunk) -> Chunk:
    part = tuple(sorted({**dict(part_of(chunk)), "index": chunk.index or 0}.items()))
    return replace(chunk, origin=replace(chunk.origin or Origin(), part=part, shares_index=True))


def is_doubtful(chunk: Chunk) -> bool:
    """Whether its index says only about where it stands."""
    return chunk.origin is not None and chunk.origin.shares_index


def spread(chunks: Iterable[Chunk], places: Mapping[str, int]) -> Mapping[str, int]:
    """The `places` of one document's chunks, by id, with a place for each of those that share an index.

    Only where each has an offset of its own: nothing else tells their order.
    """
    sharing: dict[int, list[Chunk]] = defaultdict(list)
    for chunk in chunks:
        if is_doubtful(chunk):
            sharing[places[chunk.id]].append(chunk)
    steps: dict[str, int] = {}
    added: Counter[int] = Counter()
    for place, members in sharing.items():
        starts = sorted({chunk.start for chunk in members if chunk.start is not None})
        if len(starts) == len({chunk.id for chunk in members}) and None not in [chunk.start for chunk in members]:
            steps |= {chunk.id: starts.index(chunk.start or 0) for chunk in members}
            added[place] = len(starts) - 1
    if not steps:
        return places
    shift, moved = 0, dict[int, int]()
    for place in sorted(set(places.values())):
        moved[place] = place + shift
        shift += added[place]
    return {chunk_id: moved[place] + steps.get(chunk_id, 0) for chunk_id, place in places.items()}
