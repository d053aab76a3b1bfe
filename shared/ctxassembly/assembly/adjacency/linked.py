"""Chunks that name no document but are linked: a link proves that two of them are of one document.

A chunk without a document id is a document of its own, under its own id. Its links say better: chunks linked to each
other, directly or in steps, become one document under the id of the best-ranked hit among them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from ctxassembly.data.chunks import Chunk, ChunkRef


def adopt_documents(chunks: Sequence[Chunk], refs: Sequence[ChunkRef]) -> Sequence[Chunk]:
    """Return `chunks`, of which those without a document get the one whose link asked for them."""
    asked_by = {ref.chunk_id: ref.document_id for ref in reversed(refs) if ref.chunk_id is not None}
    return [
        replace(chunk, document_id=asked_by[chunk.id]) if chunk.document_id == chunk.id in asked_by else chunk
        for chunk in chunks
    ]


def merge_linked(hits: Sequence[Chunk], linked: Iterable[Chunk]) -> Mapping[str, str]:
    """Return the document of the best-ranked linked hit, for each document that links join to it and that isn't it.

    Only documents of `hits` that name none are joined; `linked` are chunks that came to them by links.
    """
    nameless = {hit.document_id: None for hit in hits if hit.document_id == hit.id}
    if not any(hit.prev_id or hit.next_id for hit in hits if hit.document_id == hit.id):
        return {}
    document_of = {chunk.id: chunk.document_id for chunk in (*linked, *hits) if chunk.document_id in nameless}
    joined: dict[str, set[str]] = defaultdict(set)
    for chunk in (*hits, *linked):
        for link in (chunk.prev_id, chunk.next_id):
            if chunk.id in document_of and link in document_of:
                first, second = document_of[chunk.id], document_of[link]
                joined[first].add(second)
                joined[second].add(first)
    leader: dict[str, str] = {}
    for name in nameless:
        pending = [name]
        while pending:
            document_id = pending.pop()
            if document_id not in leader:
                leader[document_id] = name
                pending += joined[document_id]
    return {document_id: name for document_id, name in leader.items() if document_id != name}


def assign_document(chunk: Chunk, document_map: Mapping[str, str]) -> Chunk:
    """Return `chunk` in the document that `document_map` names for its own, if any."""
    document_id = document_map.get(chunk.document_id)
    return chunk if document_id is None else replace(chunk, document_id=document_id)
