"""A model's notes on the chunks of a collection: kept with what is ours of each, searched with the chunk's words.

A chunk that a vector store overwrites loses its notes, and the next run of `enrich` sees that it has none.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ctxassembly.data import enrichment
from ctxassembly.data.chunks import Chunk
from ctxassembly.stores.sparse.ingest import Changed, Writer


@dataclass(frozen=True)
class CollectionNotes:
    """The notes on the chunks that pass a test, as `enrich` reads and writes them."""

    writer: Writer
    passes: Callable[[Chunk], bool]

    def outlines(self) -> Sequence[enrichment.Outline]:
        """Return the documents that pass the index's filter, in one pass over the collection."""
        return enrichment.group_outlines(
            enrichment.StoredChunk(one.key, one.chunk, one.notes.fingerprint)
            for one in self.writer.storage.read_all()
            if self.passes(one.chunk)
        )

    def read(self, outline: enrichment.Outline) -> enrichment.StoredDocument:
        """Return the document as it is now."""
        storage = self.writer.storage
        stored = {one.key: (one.chunk, one.notes) for one in storage.read_keys(outline.keys)}
        return enrichment.stored_document(outline, stored, storage.keys)

    def write(self, request: enrichment.WriteNotes) -> bool:
        """Write the notes on a document in one request, if its chunks still have the texts of `request`.

        Their words are counted by `commit`, since documents are written from several threads.

        Raises:
            ConfigError: the collection doesn't take the vectors.
        """
        storage = self.writer.storage
        for vector in request.vectors or ():
            storage.layout.check_vector(vector)
        by_key = {one.key: one for one in storage.read_keys(request.outline.keys)}
        stored = [by_key[key] for key in request.outline.keys if key in by_key]
        if [one.chunk.text for one in stored] != list(request.texts):
            return False
        self.writer.write_state(is_open=True)
        changed: list[Changed] = []
        for place, one in enumerate(stored):
            notes = one.notes.updated(request, place)
            own = {**one.own, "notes": {**notes._asdict(), "labels": dict(notes.labels)}}
            now = one._replace(own=own if request.vectors is None else {**own, "has_vector": True})
            changed.append(Changed(now, now.words(storage.layout), request.vectors[place] if request.vectors else None))
        storage.update(changed)
        return True

    def commit(self, chunks: int) -> None:
        """Count the words of all chunks with their notes, if there are new ones."""
        if chunks:
            self.writer.close(must_recount=True)
