"""A model's notes on the chunks of an index in memory."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from ctxassembly.data.chunks import Chunk
from ctxassembly.data.enrichment import (
    ChunkNotes,
    Outline,
    StoredChunk,
    StoredDocument,
    WriteNotes,
    group_outlines,
    stored_document,
    with_summary,
)
from ctxassembly.data.metadata_keys import MetadataKeys


def _searchable_chunk(chunk: Chunk, notes: ChunkNotes) -> Chunk:
    """Return `chunk` with its notes in its text."""
    return replace(chunk, text="\n".join((*notes.questions, notes.context, chunk.text)))


class ChunkRecord(NamedTuple):
    """Notes kept with a chunk."""

    notes: ChunkNotes = ChunkNotes()
    summary: str = ""
    fingerprint: str = ""
    vector: Sequence[float] | None = None


@dataclass
class IndexState:
    """The chunks of an index and the notes on them, which it shares with its copies under filters."""

    build_corpus: Callable[[Sequence[Chunk], Mapping[str, Sequence[float]]], Any]
    """A function from chunks and their vectors, by their ids, to what is searched."""
    chunks: Mapping[str, Chunk]
    vectors: Mapping[str, Sequence[float]]
    records: dict[str, ChunkRecord] = field(default_factory=dict)
    visible_chunks: Mapping[str, Chunk] = field(default_factory=dict)
    """The chunks as a search gives them: with summaries, without contexts and questions."""
    corpus: Any = None

    def __post_init__(self) -> None:
        self.rebuild()

    def rebuild(self) -> None:
        """Rebuild the searched index and the chunks shown."""
        all_records = {id_: self.records.get(id_, ChunkRecord()) for id_ in self.chunks}
        embedded = {id_: one.vector for id_, one in all_records.items() if one.vector is not None}
        self.corpus = self.build_corpus(
            [_searchable_chunk(chunk, all_records[id_].notes) for id_, chunk in self.chunks.items()],
            {**self.vectors, **embedded},
        )
        self.visible_chunks = {id_: with_summary(chunk, all_records[id_].summary) for id_, chunk in self.chunks.items()}


@dataclass(frozen=True)
class MemoryEnrichment:
    """The notes on the chunks that pass a test, as `enrich` reads and writes them."""

    state: IndexState
    is_included: Callable[[Chunk], bool]
    on_change: Callable[[], object]
    """Called when the notes have changed."""

    def outlines(self) -> Sequence[Outline]:
        """Return the documents of the index."""
        return group_outlines(
            StoredChunk(id_, chunk, self.state.records.get(id_, ChunkRecord()).fingerprint)
            for id_, chunk in self.state.chunks.items()
            if self.is_included(chunk)
        )

    def read(self, outline: Outline) -> StoredDocument:
        """Return the document as it is now."""
        stored = {
            id_: (self.state.chunks[id_], self.state.records.get(id_, ChunkRecord()).notes.context)
            for id_ in outline.keys
        }
        return stored_document(outline, stored, MetadataKeys())

    def write(self, request: WriteNotes) -> bool:
        """Write the notes on a document: they are searched from `commit` on."""
        for place, id_ in enumerate(request.outline.keys):
            record = self.state.records.get(id_, ChunkRecord())._replace(fingerprint=request.fingerprint)
            if request.notes is not None:
                record = record._replace(notes=request.notes.chunks[place], summary=request.notes.summary)
            if request.vectors is not None:
                record = record._replace(vector=request.vectors[place])
            self.state.records[id_] = record
        return True

    def commit(self, chunks: int) -> None:
        """Search by the notes from now on."""
        if chunks:
            self.state.rebuild()
            self.on_change()
