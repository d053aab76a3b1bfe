"""Check that a store contains the hits: the neighbors from a store without the hit belong to other text.

A search may read one collection and the store another one, which has other chunks under the same document ids. So the
hits are requested from the store, too, by the same references and in the same round trip. The store contains a hit if
it returned a chunk with the hit's id, index or offset and with the hit's text. If the store contains no hit of a
document, the document's chunks are left out.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

from ctxassembly.assembly.adjacency.positions import chunk_section
from ctxassembly.data.chunks import Chunk, ChunkRef
from ctxassembly.text.words import is_same_text


class StoredHits:
    """The hits of one assembly: those that the store holds, and those that it doesn't."""

    def __init__(self, hits: Sequence[Chunk]) -> None:
        self._hits = hits
        self._at: dict[tuple[str, object], list[int]] = defaultdict(list)
        """The numbers of the hits by the id by which the store finds the document, and by the hit's id and place."""
        self._by_text: dict[tuple[str, str], list[int]] = defaultdict(list)
        """The hits without index and offset. A framework may have given them another id."""
        for number, hit in enumerate(hits):
            name = hit.lookup_id
            self._at[name, hit.id].append(number)
            place = _place(hit)
            if place is None:
                self._by_text[name, hit.text.strip()].append(number)
            else:
                self._at[name, place].append(number)
        self._stored: set[int] = set()
        self._returned: set[str] = set()

    def refs(self, wanted: Iterable[ChunkRef]) -> list[ChunkRef]:
        """Return references to the hits themselves, if other chunks of their document are `wanted` in the same way."""
        asked = {
            (ref.document_id, ref.index is None) for ref in wanted if ref.index is not None or ref.chunk_id is not None
        }
        return [
            ChunkRef(hit.lookup_id, hit.index, hit.id if hit.index is None else None)
            for hit in self._hits
            if (hit.lookup_id, hit.index is None) in asked
        ]

    def record(self, chunks: Sequence[Chunk], names: Sequence[str]) -> list[bool]:
        """Enter the hits that the store holds, by the `chunks` that came, of documents that the store has by `names`.

        Return for each chunk whether a stored hit has its place: the chunk is that hit, or has its index.
        """
        self._returned.update(names)
        at_places: list[tuple[int, ...]] = []
        for name, chunk in zip(names, chunks, strict=True):
            place = _place(chunk) if chunk.index is None else chunk.index
            hits = (*self._at.get((name, chunk.id), ()), *self._at.get((name, place), ()))
            alike = self._by_text.get((name, chunk.text.strip()), ())
            for number in (*hits, *alike):
                text = self._hits[number].text
                if number not in self._stored and (text == chunk.text or is_same_text(text, chunk.text)):
                    self._stored.add(number)
            at_places.append(hits)
        return [not self._stored.isdisjoint(hits) for hits in at_places]

    def known_documents(self) -> set[str]:
        """Return the ids of the documents of which the store holds a hit, its own and grouping ones."""
        stored = [self._hits[number] for number in self._stored]
        return {name for hit in stored for name in (hit.lookup_id, hit.document_id)}

    def unstored_hits(self) -> list[Chunk]:
        """Return the hits that the store doesn't hold although it has chunks of their document."""
        return [
            hit
            for number, hit in enumerate(self._hits)
            if hit.lookup_id in self._returned and number not in self._stored
        ]


def _place(chunk: Chunk) -> object:
    """Return the place in its document at which a chunk of the same text is the same chunk; None if it is unknown.

    An offset counts only without an index, since offsets may restart on each page.
    """
    return chunk.index if chunk.index is not None or chunk.start is None else (chunk.start, chunk_section(chunk))
