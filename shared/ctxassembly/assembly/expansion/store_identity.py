"""Check that a store contains the hits: the neighbors from a store without the hit belong to other text.

A search may read one collection and the store another one, which has other chunks under the same document ids. So the
hits are requested from the store, too, by the same references and in the same round trip. The store contains a hit if
it returned a chunk with the hit's id, index or offset and with the hit's text. If the store contains no hit of a
document, the document's chunks are left out.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Container, Iterable, Sequence

from ctxassembly.assembly.adjacency.positions import chunk_section
from ctxassembly.data.chunks import Chunk, ChunkRef
from ctxassembly.text.words import is_same_text


class StoredHits:
    """The hits of one assembly: those that the store holds, and those that it doesn't."""

    def __init__(self, hits: Iterable[Chunk]) -> None:
        self._hits = [*hits]
        self._by_document: dict[str, dict[object, list[Chunk]]] = defaultdict(lambda: defaultdict(list))
        """By the id by which the store finds the document, and by the hit's id and its index or offset."""
        self._by_text: dict[tuple[str, str], list[Chunk]] = defaultdict(list)
        """The hits without index and offset. A framework may have given them another id."""
        for hit in self._hits:
            place, by_place = _place(hit), self._by_document[hit.lookup_id]
            by_place[hit.id].append(hit)
            if place is not None:
                by_place[place].append(hit)
            else:
                self._by_text[hit.lookup_id, hit.text.strip()].append(hit)
        self._stored: set[int] = set()
        """By the `id` of the hit, which `_hits` keeps."""
        self._returned_documents: set[str] = set()

    def refs(self, wanted: Iterable[ChunkRef]) -> tuple[ChunkRef, ...]:
        """Return references to the hits themselves, if other chunks of their document are `wanted` in the same way."""
        asked = {
            (ref.document_id, ref.index is None) for ref in wanted if ref.index is not None or ref.chunk_id is not None
        }
        return tuple(
            ChunkRef(hit.lookup_id, hit.index, hit.id if hit.index is None else None)
            for hit in self._hits
            if (hit.lookup_id, hit.index is None) in asked
        )

    def record(self, chunks: Sequence[Chunk]) -> list[bool]:
        """Enter the hits that the store holds, by the `chunks` that came.

        Return for each chunk whether a stored hit has its place: the chunk is that hit, or has its index.
        """
        at_places: list[list[Chunk]] = []
        for chunk in chunks:
            document_id = chunk.lookup_id
            self._returned_documents.add(document_id)
            by_place = self._by_document.get(document_id, {})
            hits = [*by_place.get(chunk.id, ()), *by_place.get(_place(chunk), ())]
            at_places.append(hits)
            alike = self._by_text.get((document_id, chunk.text.strip()), ()) if self._by_text else ()
            for hit in (*hits, *alike):
                if id(hit) not in self._stored and is_same_text(hit.text, chunk.text):
                    self._stored.add(id(hit))
        return [bool(hits) and not self._stored.isdisjoint(map(id, hits)) for hits in at_places]

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


def _place(chunk: Chunk) -> object:
    """Return the place in its document at which a chunk of the same text is the same chunk; None if it is unknown.

    An offset counts only without an index, since offsets may restart on each page.
    """
    return chunk.index if chunk.index is not None or chunk.start is None else (chunk.start, chunk_section(chunk))
