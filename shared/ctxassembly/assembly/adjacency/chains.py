"""Chunks that name no document but are linked: a link is evidence that two of them are of one document."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from ctxassembly.data.chunks import Chunk, ChunkRef


def adopted(chunks: Iterable[Chunk], refs: Iterable[ChunkRef]) -> list[Chunk]:
    """`chunks`, those that name no document as of the document whose link asked for them."""
    askers = {ref.chunk_id: ref.document_id for ref in reversed(tuple(refs)) if ref.chunk_id is not None}
    return [
        replace(chunk, document_id=askers[chunk.id]) if is_nameless(chunk) and chunk.id in askers else chunk
        for chunk in chunks
    ]


def is_nameless(chunk: Chunk) -> bool:
    """Whether it stands as a document of its own, since it names none."""
    return chunk.document_id == chunk.id


def one_document(hits: Sequence[Chunk], near: Iterable[Chunk]) -> Mapping[str, str]:
    """For each document that is none of its own, since links join it to a better-ranked hit: that hit's document.

    The documents are those of `hits` that name none; `near` are chunks that came to them by links.
    """
    rank = {hit.document_id: place for place, hit in enumerate(hits) if is_nameless(hit)}
    if not any(hit.prev_id or hit.next_id for hit in hits if is_nameless(hit)):
        return {}
    home = {document_id: document_id for document_id in rank}

    def top(document_id: str) -> str:
        while home[document_id] != document_id:
            home[document_id] = document_id = home[home[document_id]]
        return document_id

    of = {chunk.id: chunk.document_id for chunk in (*near, *hits) if chunk.document_id in home}
    for chunk in (*hits, *near):
        for link in (chunk.prev_id, chunk.next_id):
            if chunk.id in of and link in of:
                first, second = sorted((top(of[chunk.id]), top(of[link])), key=rank.__getitem__)
                home[second] = first
    return {document_id: top(document_id) for document_id in home if top(document_id) != document_id}


def at_home(chunk: Chunk, homes: Mapping[str, str]) -> Chunk:
    """`chunk` in the document that `homes` has for its own."""
    home = homes.get(chunk.document_id)
    return chunk if home is None else replace(chunk, document_id=home)
