"""Writing into a collection: chunks in batches, and the words of the index with their counts.

Counts change with each batch. A mark is set before the first write and taken away after the last, so that a run that
finds one of another, killed run counts all words again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

from ctxassembly.data.chunks import Chunk
from ctxassembly.data.metadata_keys import MetadataKeys
from ctxassembly.errors import ConfigError
from ctxassembly.stores.ingest import (
    IngestReport,
    Row,
    Vector,
    add_documents,
    batches,
    check_documents,
    documents_of,
    embed_missing,
    get_embed_function,
    get_model_name,
    incomplete_error,
    is_stored,
    mark_rows,
)
from ctxassembly.stores.simple_words import term_counts
from ctxassembly.stores.sparse.rows import Layout, Stored, title_changes

BATCH_SIZE = 256
"""Chunks, or words, a request; embeddings are asked for as many texts at once."""


class Changed(NamedTuple):
    """A stored chunk, of which we keep something else now."""

    stored: Stored
    words: Mapping[str, float]
    vector: Vector | None
    """None leaves the one that is stored."""


class Storage(Protocol):
    """What an engine stores: chunks in one collection, and words with their counts and a state in another."""

    @property
    def layout(self) -> Layout:
        """How the collection keeps its chunks."""

    def missing(self) -> Iterable[tuple[str, Callable[[], object]]]:
        """Return what the collections lack, as lines, each with the function that creates it."""

    def read_state(self) -> Mapping[str, Any]:
        """Return the state; empty for a new index."""

    def write_state(self, state: Mapping[str, Any]) -> None:
        """Replace the state."""

    def count(self) -> int:
        """Return the number of chunks."""

    def count_unmarked(self) -> int:
        """Return the number of chunks that others have written since."""

    def read_counts(self, words: Sequence[str]) -> Mapping[str, int]:
        """Return the counts of `words`, as far as there are any."""

    def write_counts(self, counts: Mapping[str, int]) -> None:
        """Set the counts of words."""

    def delete_words(self, words: Sequence[str]) -> None:
        """Delete words."""

    def all_words(self) -> Iterator[str]:
        """Yield all words."""

    @property
    def keys(self) -> MetadataKeys:
        """The metadata keys of a framework's chunks, and of titles."""

    def read(self, chunk_ids: Sequence[str]) -> list[Stored]:
        """Return the chunks of our own with these ids."""

    def read_keys(self, keys: Sequence[Any]) -> list[Stored]:
        """Return the chunks under `keys`."""

    def read_all(self, documents: Sequence[str] | None = None) -> Iterator[Stored]:
        """Yield the chunks of documents, or of all."""

    def write(self, rows: Sequence[Row], words: Sequence[Mapping[str, float]]) -> None:
        """Write chunks with their vectors and words."""

    def write_titles(self, titles: Mapping[Any, str | None]) -> None:
        """Store titles with the chunks under their keys; None deletes one."""

    def update(self, changed: Sequence[Changed]) -> None:
        """Replace what we keep of stored chunks in one request."""

    def delete(self, keys: Sequence[Any]) -> None:
        """Delete the chunks under `keys`."""


@dataclass(frozen=True)
class Writer:
    """A collection that is written to."""

    storage: Storage

    @property
    def layout(self) -> Layout:
        """How the collection keeps its chunks."""
        return self.storage.layout

    def prepare(self, *, dry_run: bool = False) -> list[str]:
        """Create what the collections lack; return what it was, or would be, as lines.

        Raises:
            ConfigError: the words of the index are made from other fields.
        """
        steps = [*self.storage.missing()]
        if state := self.state():
            if state["dialect"] != self.layout.dialect:
                raise ConfigError("collection", f"one of {state['dialect']}, as it was indexed", self.layout.dialect)
            if state["fields"] != list(self.layout.fields):
                allowed = f"{state['fields']}, as the collection was made"
                raise ConfigError("title and questions", allowed, list(self.layout.fields))
        if not dry_run:
            for _, make in steps:
                make()
        return [line for line, _ in steps]

    # The words

    def state(self) -> Mapping[str, Any]:
        """Return the number of chunks, whether a run is writing, and the fields of words; empty for a new index."""
        return self.storage.read_state()

    def write_state(self, *, is_open: bool) -> None:
        """Write the number of chunks, and whether a run is writing."""
        state = {"chunks": self.storage.count(), "is_open": is_open, "fields": list(self.layout.fields)}
        self.storage.write_state({**state, "dialect": self.layout.dialect})

    def change_counts(self, changes: Mapping[str, int]) -> None:
        """Add `changes` to the counts of words; a word that no chunk has is deleted."""
        for batch in batches([word for word, change in changes.items() if change], BATCH_SIZE):
            known = self.storage.read_counts(batch)
            self._write_counts({word: known.get(word, 0) + changes[word] for word in batch})

    def _write_counts(self, counts: Mapping[str, int]) -> None:
        if kept := {word: count for word, count in counts.items() if count > 0}:
            self.storage.write_counts(kept)
        if gone := [word for word, count in counts.items() if count <= 0]:
            self.storage.delete_words(gone)

    def recount(self) -> None:
        """Count the words of all chunks again, and find the first chunk of each document."""
        counts: Counter[str] = Counter()
        self.write_titles(self._count_words(self.storage.read_all(), counts))
        gone = [word for word in self.storage.all_words() if word not in counts]
        for batch in batches({**counts, **dict.fromkeys(gone, 0)}.items(), BATCH_SIZE):
            self._write_counts(dict(batch))

    def _count_words(self, chunks: Iterable[Stored], counts: Counter[str]) -> Iterator[Stored]:
        """Yield `chunks`, and add their words to `counts`."""
        for stored in chunks:
            counts.update(stored.words(self.layout).keys())
            yield stored

    # The chunks

    def write_titles(self, chunks: Iterable[Stored]) -> None:
        """Store the title of each document among `chunks`, which are all of its own, with the first of them alone."""
        stored = ((one.key, one.chunk, one.title) for one in chunks)
        for batch in batches(title_changes(stored, self.storage.keys).items(), BATCH_SIZE):
            self.storage.write_titles(dict(batch))

    def add(
        self,
        pairs: Iterator[tuple[Chunk, Vector | None]],
        embed: Any,
        on_batch: Callable[[int], object],
        *,
        replace: bool,
        is_whole: bool = False,
    ) -> IngestReport:
        """Write chunks with vectors, as far as they aren't stored; with `replace` delete the others of their documents.

        If they are the whole index, all other chunks are deleted.

        Raises:
            InputError: `embed` is no function, or something in a chunk can't be stored; without `replace`, others of
                the documents are stored.
            ConfigError: an id is given twice, or is stored for another document; a vector of another length.
        """
        function, model, check_vector = get_embed_function(embed), get_model_name(embed), self.layout.check_vector
        must_recount = self.open()
        documents: dict[str, str] = {}
        added = unchanged = 0
        for batch in batches(pairs, BATCH_SIZE):
            rows = mark_rows(batch, model, check_vector)
            add_documents(documents, rows)
            missing, replaced = self._find_missing(rows, can_embed=function is not None)
            self._write(embed_missing(missing, function, check_vector), replaced)
            added, unchanged = added + len(missing), unchanged + len(rows) - len(missing)
            on_batch(len(rows))
        others: list[Stored] = []
        for stored in [self.storage.read_all()] if is_whole else self._read_documents(documents):
            self.write_titles(_set_apart(stored, documents, others))
        deleted = self._delete(others) if replace else 0
        self.close(must_recount=must_recount)
        if not replace:
            _check_none(others)
        return IngestReport(added, unchanged, deleted)

    def open(self) -> bool:
        """Mark that a run is writing; return True if another one was interrupted."""
        was_open = bool(self.state().get("is_open"))
        self.write_state(is_open=True)
        return was_open

    def close(self, *, must_recount: bool) -> None:
        """Mark that the run has ended."""
        if must_recount:
            self.recount()
        self.write_state(is_open=False)

    def _find_missing(self, rows: Sequence[Row], *, can_embed: bool) -> tuple[list[Row], list[Stored]]:
        """Return the rows that aren't stored unchanged, and the chunks that they replace."""
        stored = {one.chunk.id: one for one in self.storage.read([chunk.id for chunk, *_ in rows])}
        check_documents(((id_, one.chunk.document_id) for id_, one in stored.items()), rows)
        marks = {id_: (one.own["mark"], not one.own["has_vector"]) for id_, one in stored.items()}
        missing = [row for row in rows if not is_stored(row, *marks.get(row[0].id, ("", False)), can_embed=can_embed)]
        return missing, [stored[chunk.id] for chunk, *_ in missing if chunk.id in stored]

    def _write(self, rows: Sequence[Row], replaced: Iterable[Stored]) -> None:
        if not rows:
            return
        words = [term_counts(chunk, self.layout.fields) for chunk, *_ in rows]
        changes = Counter(word for of_chunk in words for word in of_chunk)
        for stored in replaced:
            changes.subtract(stored.words(self.layout).keys())
        self.storage.write(rows, words)
        self.change_counts(changes)

    def check_whole(self, chunks: Iterable[Any]) -> None:
        """Check that no other chunks of their documents are stored.

        Raises:
            InputError: some are.
        """
        documents = documents_of(chunks)
        for stored in self._read_documents(documents):
            _check_none([one for one in stored if one.chunk.id not in documents])

    def count_missing(self, pairs: Iterator[tuple[Chunk, Vector]], *, is_new: bool) -> int:
        """Return how many of the chunks `add` would write; all of them for an index that is new."""
        missing = 0
        for batch in batches(pairs, BATCH_SIZE):
            rows = mark_rows(batch, None, self.layout.check_vector)
            missing += len(rows) if is_new else len(self._find_missing(rows, can_embed=False)[0])
        return missing

    def _read_documents(self, documents: Mapping[str, str]) -> Iterator[Iterator[Stored]]:
        """Yield the stored chunks of documents, the values of `documents`, some documents at a time."""
        for some in batches(dict.fromkeys(documents.values()), BATCH_SIZE):
            yield self.storage.read_all(some)

    def delete(self, document_ids: Sequence[str]) -> int:
        """Delete all chunks of documents."""
        must_recount = self.open()
        deleted = self._delete(list(self.storage.read_all(document_ids))) if document_ids else 0
        self.close(must_recount=must_recount)
        return deleted

    def _delete(self, chunks: Sequence[Stored]) -> int:
        if chunks:
            self.storage.delete([one.key for one in chunks])
            changes: Counter[str] = Counter()
            for one in chunks:
                changes.subtract(one.words(self.layout).keys())
            self.change_counts(changes)
        return len(chunks)


def _set_apart(chunks: Iterable[Stored], ids: Mapping[str, object], others: list[Stored]) -> Iterator[Stored]:
    """Yield the chunks with these `ids`, and add the others to `others`."""
    for stored in chunks:
        if stored.chunk.id in ids:
            yield stored
        else:
            others.append(stored)


def _check_none(others: Sequence[Stored]) -> None:
    documents = [one.chunk.document_id for one in others]
    if others:
        raise incomplete_error(documents[0], documents.count(documents[0]), others[0].chunk.id)
