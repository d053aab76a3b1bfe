"""Writing into a collection: chunks in batches, and the words of the index with their counts.

Counts change with each batch. A mark is set before the first write and taken away after the last, so that a run that
finds one of another, killed run counts all words again.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from qdrant_client import models

from ctxassembly.data import enrichment
from ctxassembly.data.chunks import Chunk
from ctxassembly.errors import ConfigError
from ctxassembly.stores.filtered import shared_values
from ctxassembly.stores.ingest import (
    IngestReport,
    Row,
    Vector,
    batches,
    documents_of,
    get_embed_function,
    hash_chunk,
    incomplete_error,
    metadata_json,
    write_missing,
)
from ctxassembly.stores.numbering import create_payload_index, scroll_points
from ctxassembly.stores.qdrant.rows import (
    BATCH_SIZE,
    OWN,
    STATE_ID,
    TRIGRAMS,
    WORDS,
    Layout,
    Stored,
    lexeme_id,
    match_any,
    own_key,
    own_values,
    point_id,
    read_points,
    sparse_vector,
    title_changes,
    trigram_vector,
)
from ctxassembly.stores.simple_words import term_counts

_INDEXES: Mapping[str, models.PayloadSchemaType] = {
    **{own_key(name): models.PayloadSchemaType.KEYWORD for name in ("id", "document_id", "mark", "title")},
    own_key("index"): models.PayloadSchemaType.INTEGER,
}
"""The paths that are looked up, with the kinds of their values."""
_UNMARKED = models.Filter(must=[models.IsEmptyCondition(is_empty=models.PayloadField(key=own_key("mark")))])
"""The condition of a chunk that others have written since."""


@dataclass(frozen=True)
class Writer:
    """The collections of an index, which are written to by a sync client."""

    client: Any
    layout: Layout

    def prepare(self, *, dry_run: bool = False) -> list[str]:
        """Create what the collections lack; return what it was, or would be, as lines.

        Raises:
            ConfigError: the words of the index are made from other fields.
        """
        steps = [*self._missing()]
        if state := self.state():
            if state["dialect"] != self.layout.dialect:
                raise ConfigError("collection", f"one of {state['dialect']}, as it was indexed", self.layout.dialect)
            if state["fields"] != self.layout.named_fields:
                allowed = f"{state['fields']}, as the collection was made"
                raise ConfigError("title and questions", allowed, self.layout.named_fields)
        if not dry_run:
            for _, make in steps:
                make()
        return [line for line, _ in steps]

    def _missing(self) -> Iterator[tuple[str, Callable[[], object]]]:
        """Yield what the collections lack, as lines, each with the function that creates it."""
        layout, client = self.layout, self.client
        present: set[str] = set()
        if not client.collection_exists(layout.collection):
            dense = models.VectorParams(size=layout.dimensions, distance=models.Distance.COSINE)
            yield self._creation(layout.collection, {layout.vector: dense}, WORDS)
        else:
            info = client.get_collection(layout.collection)
            present = set(info.payload_schema or {})
            if WORDS not in (info.config.params.sparse_vectors or {}):
                config = models.SparseVectorNameConfig(sparse=models.SparseVectorConfig())
                create = partial(client.create_vector_name, layout.collection, WORDS, config)
                yield f"create sparse vector {WORDS}", create
        for path in sorted(_INDEXES.keys() - present):
            create = partial(create_payload_index, client, layout.collection, path, _INDEXES[path])
            yield f"create payload index {path}", create
        if not client.collection_exists(layout.lexemes):
            yield self._creation(layout.lexemes, {}, TRIGRAMS)

    def _creation(self, name: str, dense: dict[str, Any], sparse: str) -> tuple[str, Callable[[], object]]:
        vectors = {"vectors_config": dense, "sparse_vectors_config": {sparse: models.SparseVectorParams()}}
        return f"create collection {name}", partial(self.client.create_collection, name, **vectors)

    # The words

    def state(self) -> Mapping[str, Any]:
        """Return the number of chunks, whether a run is writing, and the fields of words; empty for a new index."""
        if not self.client.collection_exists(self.layout.lexemes):
            return {}
        points = self.client.retrieve(self.layout.lexemes, [STATE_ID])
        return points[0].payload if points else {}

    def write_state(self, *, is_open: bool) -> None:
        """Write the number of chunks, and whether a run is writing."""
        state = {"chunks": self.count(), "is_open": is_open, "fields": self.layout.named_fields}
        payload = {**state, "dialect": self.layout.dialect}
        self.client.upsert(self.layout.lexemes, [models.PointStruct(id=STATE_ID, payload=payload, vector={})])

    def change_counts(self, changes: Mapping[str, int]) -> None:
        """Add `changes` to the counts of words; a word that no chunk has is deleted."""
        for batch in batches([word for word, change in changes.items() if change], BATCH_SIZE):
            points = self.client.retrieve(self.layout.lexemes, list(map(lexeme_id, batch)))
            known = {point.payload["word"]: point.payload["count"] for point in points}
            self._write_counts({word: known.get(word, 0) + changes[word] for word in batch})

    def _write_counts(self, counts: Mapping[str, int]) -> None:
        """Set the counts of words; one whose count isn't above 0 is deleted."""
        kept = [
            models.PointStruct(
                id=lexeme_id(word), payload={"word": word, "count": count}, vector={TRIGRAMS: trigram_vector(word)}
            )
            for word, count in counts.items()
            if count > 0
        ]
        if kept:
            self.client.upsert(self.layout.lexemes, kept)
        if gone := [lexeme_id(word) for word, count in counts.items() if count <= 0]:
            self.client.delete(self.layout.lexemes, models.PointIdsList(points=list(gone)))

    def recount(self) -> None:
        """Count the words of all chunks again, and find the first chunk of each document."""
        counts: Counter[str] = Counter()

        def counted() -> Iterator[Stored]:
            for stored in self.read_all():
                counts.update(stored.words(self.layout).keys())
                yield stored

        self.write_titles(counted())
        points = scroll_points(self.client, self.layout.lexemes, BATCH_SIZE)
        words = [point.payload["word"] for point in points if "word" in point.payload]
        gone = dict.fromkeys((word for word in words if word not in counts), 0)
        for batch in batches({**counts, **gone}.items(), BATCH_SIZE):
            self._write_counts(dict(batch))

    # The chunks

    def count(self) -> int:
        """Return the number of chunks."""
        return int(self.client.count(self.layout.collection, exact=True).count)

    def count_unmarked(self) -> int:
        """Return the number of chunks that others have written since."""
        return int(self.client.count(self.layout.collection, count_filter=_UNMARKED, exact=True).count)

    def read(self, keys: Sequence[Any]) -> list[Stored]:
        """Return the chunks under `keys`."""
        return read_points(self.client.retrieve(self.layout.collection, list(keys)), self.layout)

    def read_all(self, documents: Iterable[str] | None = None) -> Iterator[Stored]:
        """Yield the chunks of documents, or of all."""
        of_these = None if documents is None else models.Filter(must=[match_any(own_key("document_id"), [*documents])])
        for point in scroll_points(self.client, self.layout.collection, BATCH_SIZE, scroll_filter=of_these):
            yield from read_points([point], self.layout)

    def _vectors(self, vector: Vector | None, words: Mapping[str, float]) -> dict[str, Any]:
        embedding = {} if vector is None else {self.layout.vector: [float(number) for number in vector]}
        return {**embedding, WORDS: sparse_vector(words)}

    def update(self, changed: Sequence[tuple[Stored, Vector | None]]) -> None:
        """Replace what we keep of stored chunks, their words, and a vector if it is given, in one request."""
        vectors = [
            models.PointVectors(id=one.key, vector=self._vectors(vector, one.words(self.layout)))
            for one, vector in changed
        ]
        payloads = [_set_payload(one.key, {OWN: dict(one.own)}) for one, _ in changed]
        written = models.UpdateVectorsOperation(update_vectors=models.UpdateVectors(points=vectors))
        self.client.batch_update_points(self.layout.collection, [written, *payloads])

    def write_titles(self, chunks: Iterable[Stored]) -> None:
        """Store the title of each document among `chunks`, which are all of its own, with the first of them alone."""
        stored = ((one.key, one.chunk, one.title) for one in chunks)
        for batch in batches(title_changes(stored, self.layout.keys).items(), BATCH_SIZE):
            changes = [_set_payload(key, {"title": title}, OWN) for key, title in batch]
            self.client.batch_update_points(self.layout.collection, changes)

    def add(
        self,
        pairs: Iterator[tuple[Chunk, Vector | None]],
        embed: Any,
        on_batch: Callable[[int], object],
        *,
        replace: bool,
    ) -> IngestReport:
        """Write chunks with vectors, as far as they aren't stored; with `replace` delete the others of their documents.

        Raises:
            InputError: `embed` is no function, or something in a chunk can't be stored; without `replace`, others of
                the documents are stored.
            ConfigError: an id is given twice, or is stored for another document; a vector of another length.
        """
        get_embed_function(embed)  # refused before a run is marked as writing
        stored: dict[str, Stored] = {}

        def read_stored(chunks: list[Chunk]) -> dict[str, tuple[str, str, bool]]:
            stored.clear()
            stored.update((one.chunk.id, one) for one in self.read([point_id(chunk.id) for chunk in chunks]))
            return {
                id_: (one.chunk.document_id, one.own["mark"], not one.own["has_vector"]) for id_, one in stored.items()
            }

        def write(rows: list[Row]) -> None:
            self._write(rows, [stored[chunk.id] for chunk, *_ in rows if chunk.id in stored])

        must_recount, given, check = self.open(), batches(pairs, BATCH_SIZE), self.layout.check_vector
        documents, added, unchanged = write_missing(given, embed, check, read_stored, write, on_batch)
        others: list[Stored] = []
        for some in batches(dict.fromkeys(documents.values()), BATCH_SIZE):
            known = [*self.read_all(some)]
            others += [one for one in known if one.chunk.id not in documents]
            self.write_titles(one for one in known if one.chunk.id in documents)
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

    def _write(self, rows: Sequence[Row], replaced: Iterable[Stored]) -> None:
        words = [term_counts(chunk, self.layout.fields) for chunk, *_ in rows]
        changes = Counter(word for of_chunk in words for word in of_chunk)
        for stored in replaced:
            changes.subtract(stored.words(self.layout).keys())
        points = []
        for (chunk, vector, mark), own_words in zip(rows, words, strict=True):
            payload = {
                self.layout.text: chunk.text,
                str(self.layout.metadata): json.loads(metadata_json(chunk)),
                OWN: own_values(chunk, mark, has_vector=vector is not None),
            }
            vectors = self._vectors(vector, own_words)
            points.append(models.PointStruct(id=point_id(chunk.id), payload=payload, vector=vectors))
        self.client.upsert(self.layout.collection, points)
        self.change_counts(changes)

    def check_whole(self, chunks: Iterable[Any]) -> None:
        """Check that no other chunks of their documents are stored.

        Raises:
            InputError: some are.
        """
        documents = documents_of(chunks)
        for some in batches(dict.fromkeys(documents.values()), BATCH_SIZE):
            _check_none([one for one in self.read_all(some) if one.chunk.id not in documents])

    def mark_new(self, on_batch: Callable[[int], object]) -> None:
        """Give each chunk that a vector store has written its words and its place, and its document its title.

        Chunks that are done have a mark, so a run that was killed continues where it ended.
        """
        before, must_recount, new = self.state().get("chunks", 0), self.open(), 0
        documents: dict[str, None] = {}
        while points := self.client.scroll(self.layout.collection, _UNMARKED, limit=BATCH_SIZE)[0]:
            stored = read_points(points, self.layout)
            self._mark(stored)
            documents |= dict.fromkeys(one.chunk.document_id for one in stored)
            new += len(stored)
            on_batch(len(stored))
        # A chunk that was overwritten, or deleted, has left its words.
        must_recount = must_recount or self.count() != before + new
        if not must_recount:  # which finds all titles
            for names in batches(documents, BATCH_SIZE):
                self.write_titles(self.read_all(names))
        self.close(must_recount=must_recount)

    def _mark(self, chunks: Sequence[Stored]) -> None:
        marked = [
            one._replace(own={**one.own, **own_values(one.chunk, hash_chunk(one.chunk), has_vector=True)})
            for one in chunks
        ]
        self.update([(one, None) for one in marked])
        self.change_counts(Counter(word for one in marked for word in one.words(self.layout)))

    def delete(self, document_ids: Sequence[str]) -> int:
        """Delete all chunks of documents."""
        must_recount = self.open()
        deleted = self._delete(list(self.read_all(document_ids))) if document_ids else 0
        self.close(must_recount=must_recount)
        return deleted

    def _delete(self, chunks: Sequence[Stored]) -> int:
        if chunks:
            self.client.delete(self.layout.collection, models.PointIdsList(points=[one.key for one in chunks]))
            changes: Counter[str] = Counter()
            for one in chunks:
                changes.subtract(one.words(self.layout).keys())
            self.change_counts(changes)
        return len(chunks)


@dataclass(frozen=True)
class CollectionNotes:
    """The notes on the chunks that pass a test, as `enrich` reads and writes them.

    They are kept with what is ours of each chunk, and searched with its words. A chunk that a vector store overwrites
    loses its notes, and the next run of `enrich` sees that it has none.
    """

    writer: Writer
    passes: Callable[[Chunk], bool]

    def outlines(self, varying_keys: Sequence[str] = ()) -> Sequence[enrichment.Outline]:
        """Return the documents that pass the index's filter, in one pass over the collection."""
        rows = (
            enrichment.StoredChunk(one.key, one.chunk, one.notes.fingerprint)
            for one in self.writer.read_all()
            if self.passes(one.chunk)
        )
        return enrichment.group_outlines(rows, shared_values(self.writer.layout.keys, varying_keys))

    def read(self, outline: enrichment.Outline) -> enrichment.StoredDocument:
        """Return the document as it is now."""
        stored = {one.key: (one.chunk, one.notes) for one in self.writer.read(outline.keys)}
        return enrichment.stored_document(outline, stored, self.writer.layout.keys)

    def write(self, request: enrichment.WriteNotes) -> bool:
        """Write the notes on a document in one request, if its chunks still have the texts of `request`.

        Their words are counted by `commit`, since documents are written from several threads.

        Raises:
            ConfigError: the collection doesn't take the vectors.
        """
        for vector in request.vectors or ():
            self.writer.layout.check_vector(vector)
        by_key = {one.key: one for one in self.writer.read(request.outline.keys)}
        stored = [by_key[key] for key in request.outline.keys if key in by_key]
        if [one.chunk.text for one in stored] != list(request.texts):
            return False
        self.writer.write_state(is_open=True)
        changed: list[tuple[Stored, Vector | None]] = []
        for place, one in enumerate(stored):
            notes = one.notes.updated(request, place)
            own = {**one.own, "notes": {**notes._asdict(), "labels": dict(notes.labels)}}
            now = one._replace(own=own if request.vectors is None else {**own, "has_vector": True})
            changed.append((now, request.vectors[place] if request.vectors else None))
        self.writer.update(changed)
        return True

    def commit(self, chunks: int) -> None:
        """Count the words of all chunks with their notes, if there are new ones."""
        if chunks:
            self.writer.close(must_recount=True)


def _set_payload(key: Any, values: Mapping[str, Any], path: str | None = None) -> models.SetPayloadOperation:
    payload = models.SetPayload(payload=dict(values), points=[key], key=path)
    return models.SetPayloadOperation(set_payload=payload)


def _check_none(others: Sequence[Stored]) -> None:
    documents = [one.chunk.document_id for one in others]
    if others:
        raise incomplete_error(documents[0], documents.count(documents[0]), others[0].chunk.id)
