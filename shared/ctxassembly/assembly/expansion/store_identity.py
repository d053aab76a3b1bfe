"""Check that a store contains the hits: the neighbors from a store without the hit belong to other text.

A search may read one collection and the store another one, which has other chunks under the same document ids. So the
hits are requested from the store, too, by the same references and in the same round trip. The store contains a hit if
it returned a chunk with the hit's id, index or offset and with the hit's text. If the store contains no hit of a
document, the document's chunks are left out.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Container, Iterable

from ctxassembly.assembly.adjacency.positions import chunk_section, is_facts
from ctxassembly.data.chunks import Chunk, ChunkRef
from ctxassembly.text.words import is_same_text


def hit_refs(hits: Iterable[Chunk], wanted: Iterable[ChunkRef]) -> tuple[ChunkRef, ...]:
    """Return references to `hits` themselves, if other chunks of their document are requested in the same way."""
    asked = {
        (ref.document_id, ref.index is None) for ref in wanted if ref.index is not None or ref.chunk_id is not None
    }
    return tuple(_hit_ref(hit) for hit in hits if (hit.lookup_id, hit.index is None) in asked and not is_facts(hit))


def _hit_ref(hit: Chunk) -> ChunkRef:
    return ChunkRef(hit.lookup_id, chunk_id=hit.id) if hit.index is None else ChunkRef(hit.lookup_id, hit.index)


class StoredHits:
    """The hits of one assembly: those that the store holds, and those that it doesn't."""

    def __init__(self, hits: Iterable[Chunk]) -> None:
        self._hits = [hit for hit in hits if not is_facts(hit)]
        self._hits_by_key: dict[object, list[Chunk]] = defaultdict(list)
        for hit in self._hits:
            for place in (*_position_keys(hit), *(() if _has_position(hit) else (_text_key(hit),))):
                self._hits_by_key[place].append(hit)
        self._has_unpositioned = any(not _has_position(hit) for hit in self._hits)
        self._stored: set[int] = set()
        """By the `id` of the hit, which `_hits` keeps."""
        self._returned_documents: set[str] = set()

    def record(self, chunks: Iterable[Chunk]) -> None:
        """Enter the hits that the store holds, by the chunks that came."""
        for chunk in chunks:
            self._returned_documents.add(chunk.lookup_id)
            for place in (
                (*_position_keys(chunk), _text_key(chunk)) if self._has_unpositioned else _position_keys(chunk)
            ):
                for hit in self._hits_by_key.get(place, ()):
                    if id(hit) not in self._stored and is_same_text(hit.text, chunk.text):
                        self._stored.add(id(hit))

    def is_stored_hit(self, chunk: Chunk) -> bool:
        """Return True if a hit that the store holds has the position of `chunk`: it is the hit, or has its index."""
        at_place = [hit for place in _position_keys(chunk) for hit in self._hits_by_key.get(place, ())]
        return not self._stored.isdisjoint(map(id, at_place))

    def known_documents(self) -> set[str]:
        """Return the ids of the documents of which the store holds a hit, its own and grouping ones."""
        stored = [hit for hit in self._hits if id(hit) in self._stored]
        return {name for hit in stored for name in (hit.lookup_id, hit.document_id)}

    def unstored_hits(self) -> list[Chunk]:
        """Return the hits that the store doesn't hold although it has chunks of their document."""
        return [hit for hit in self._hits if hit.lookup_id in self._returned_documents and id(hit) not in self._stored]


def is_in_documents(chunk: Chunk, documents: Container[str]) -> bool:
    """Return True if `chunk` is of one of `documents`, by the document id of the store or by its own."""
    return chunk.document_id in documents or chunk.lookup_id in documents


def _has_position(chunk: Chunk) -> bool:
    return chunk.index is not None or chunk.start is not None


def _position_keys(chunk: Chunk) -> list[object]:
    """Return the places at which a chunk of the same text is the same chunk."""
    document_id = chunk.lookup_id
    keys: list[object] = [(document_id, "id", chunk.id)]
    if chunk.index is not None:
        keys.append((document_id, "index", chunk.index))
    elif chunk.start is not None:  # only without an index, since offsets may restart on each page
        keys.append((document_id, "start", chunk.start, chunk_section(chunk)))
    return keys


def _text_key(chunk: Chunk) -> object:
    """Where a chunk without any place is: a framework may have given it another id."""
    return chunk.lookup_id, "text", chunk.text.strip()
