"""Chunks that name no document but are linked: a link proves that two of them are of one document.

A chunk without a document id stands as a document of its own, under its own id. Its links say better: chunks linked to
each other, directly or in steps, become one document under the id of the best-ranked hit among them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from ctxassembly.data.chunks import Chunk, ChunkRef


def adopted(chunks: Iterable[Chunk], refs: Iterable[ChunkRef]) -> list[Chunk]:
    """`chunks`, of which those without a document get the one whose link asked for them."""
    askers = {ref.chunk_id: ref.document_id for ref in reversed(tuple(refs)) if ref.chunk_id is not None}
    return [
        replace(chunk, document_id=askers[chunk.id]) if is_nameless(chunk) and chunk.id in askers else chunk
        for chunk in chunks
    ]


def is_nameless(chunk: Chunk) -> bool:
    """True if `chunk` names no document and stands as one of its own."""
    return chunk.document_id == chunk.id


def one_document(hits: Sequence[Chunk], near: Iterable[Chunk]) -> Mapping[str, str]:
    """The document of the best-ranked linked hit, for each document that links join to it and that isn't it.

    Only documents of `hits` that name none are joined; `near` are chunks that came to them by links.
    """
    rank = {hit.document_id: at for at, hit in enumerate(hits) if is_nameless(hit)}
    if not any(hit.prev_id or hit.next_id for hit in hits if is_nameless(hit)):
        return {}
    # Union-find: each document leads to a better-ranked one until one leads to itself.
    home = {document_id: document_id for document_id in rank}

    def best(document_id: str) -> str:
        while home[document_id] != document_id:
            home[document_id] = document_id = home[home[document_id]]
        return document_id

    document_of = {chunk.id: chunk.document_id for chunk in (*near, *hits) if chunk.document_id in home}
    for chunk in (*hits, *near):
        for link in (chunk.prev_id, chunk.next_id):
            if chunk.id in document_of and link in document_of:
                first, second = sorted((best(document_of[chunk.id]), best(document_of[link])), key=rank.__getitem__)
                home[second] = first
    return {document_id: best(document_id) for document_id in home if best(document_id) != document_id}


def at_home(chunk: Chunk, homes: Mapping[str, str]) -> Chunk:
    """`chunk` in the document that `homes` names for its own, if any."""
    home = homes.get(chunk.document_id)
    return chunk if home is None else replace(chunk, document_id=home)
