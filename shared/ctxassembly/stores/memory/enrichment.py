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
    outlined,
    stored_document,
    summarised,
)
from ctxassembly.data.metadata_keys import MetadataKeys


def _searched(chunk: Chunk, notes: ChunkNotes) -> Chunk:
    """`chunk` with its notes in its text."""
    return replace(chunk, text="\n".join((*notes.questions, notes.context, chunk.text)))


class Noted(NamedTuple):
    """What is kept of a chunk beside itself."""

    notes: ChunkNotes = ChunkNotes()
    summary: str = ""
    mark: str = ""
    vector: Sequence[float] | None = None


@dataclass
class Held:
    """The chunks of an index and the notes on them, which it shares with its copies under filters."""

    corpus_of: Callable[[Sequence[Chunk], Mapping[str, Sequence[float]]], Any]
    """A function from chunks and their vectors, by their ids, to what is searched."""
    chunks: Mapping[str, Chunk]
    vectors: Mapping[str, Sequence[float]]
    noted: dict[str, Noted] = field(default_factory=dict)
    shown: Mapping[str, Chunk] = field(default_factory=dict)
    """The chunks as a search gives them: with summaries, without contexts and questions."""
    corpus: Any = None

    def __post_init__(self) -> None:
        self.renew()

    def renew(self) -> None:
        """Make anew what is searched, and what is shown of it."""
        every = {id_: self.noted.get(id_, Noted()) for id_ in self.chunks}
        embedded = {id_: one.vector for id_, one in every.items() if one.vector is not None}
        self.corpus = self.corpus_of(
            [_searched(chunk, every[id_].notes) for id_, chunk in self.chunks.items()], {**self.vectors, **embedded}
        )
        self.shown = {id_: summarised(chunk, every[id_].summary) for id_, chunk in self.chunks.items()}


@dataclass(frozen=True)
class MemoryNotes:
    """The notes on the chunks that pass a test, as `enrich` reads and writes them."""

    held: Held
    passes: Callable[[Chunk], bool]
    renewed: Callable[[], object]
    """Called when the notes have changed."""

    def outlines(self) -> Sequence[Outline]:
        """The documents of the index."""
        return outlined(
            StoredChunk(id_, chunk, self.held.noted.get(id_, Noted()).mark)
            for id_, chunk in self.held.chunks.items()
            if self.passes(chunk)
        )

    def read(self, outline: Outline) -> StoredDocument:
        """The document as it is now."""
        stored = {id_: (self.held.chunks[id_], self.held.noted.get(id_, Noted()).notes.context) for id_ in outline.keys}
        return stored_document(outline, stored, MetadataKeys())

    def write(self, request: WriteNotes) -> bool:
        """Write the notes on a document: they are searched from `settle` on."""
        for place, id_ in enumerate(request.outline.keys):
            noted = self.held.noted.get(id_, Noted())._replace(mark=request.mark)
            if request.notes is not None:
                noted = noted._replace(notes=request.notes.chunks[place], summary=request.notes.summary)
            if request.vectors is not None:
                noted = noted._replace(vector=request.vectors[place])
            self.held.noted[id_] = noted
        return True

    def settle(self, chunks: int) -> None:
        """Search by the notes from now on."""
        if chunks:
            self.held.renew()
            self.renewed()
