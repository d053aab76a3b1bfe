"""Writing into Qdrant: collections, chunks in batches, and the words of the index with their counts.

Counts change with each batch. A mark is set before the first write and taken away after the last, so that a run that
finds one of another, killed run counts all words again.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import Any

from qdrant_client import models

from ctxassembly.data.chunks import Chunk
from ctxassembly.data.metadata_keys import MetadataKeys
from ctxassembly.errors import ConfigError, InputError
from ctxassembly.safe_repr import safe_repr
from ctxassembly.stores.chunk_terms import term_counts
from ctxassembly.stores.ingest import (
    IngestReport,
    Row,
    Vector,
    check_documents,
    embed_missing,
    get_embed_function,
    get_model_name,
    hash_chunk,
    is_stored,
    mark_rows,
    metadata_json,
)
from ctxassembly.stores.qdrant.points import (
    OWN,
    STATE_ID,
    TRIGRAMS,
    WORDS,
    Layout,
    chunk_from_payload,
    lexeme_id,
    named_vector,
    own_key,
    own_payload,
    point_id,
    sparse_vector,
    trigram_vector,
)
from ctxassembly.stores.qdrant.search import check_vector, match_any
from ctxassembly.user_warnings import ignored_warnings

BATCH_SIZE = 256
"""Chunks, or words, a request; embeddings are asked for as many texts at once."""
_INDEXES: Mapping[str, models.PayloadSchemaType] = {
    own_key("id"): models.PayloadSchemaType.KEYWORD,
    own_key("document_id"): models.PayloadSchemaType.KEYWORD,
    own_key("index"): models.PayloadSchemaType.INTEGER,
    own_key("mark"): models.PayloadSchemaType.KEYWORD,
}
"""The paths that are looked up, with the kinds of their values."""
UNMARKED = models.Filter(must=[models.IsEmptyCondition(is_empty=models.PayloadField(key=own_key("mark")))])
"""The condition of a chunk that others have written since."""


@dataclass(frozen=True)
class Writer:
    """A collection that is written to."""

    client: Any
    layout: Layout
    keys: MetadataKeys

    def prepare(self, *, dry_run: bool = False) -> list[str]:
        """Create what the collections lack; return what it was, or would be, as lines.

        Raises:
            ConfigError: the words of the index are made from other fields.
        """
        layout, client = self.layout, self.client
        steps: list[tuple[str, Callable[[], object]]] = []
        present: set[str] = set()
        if not client.collection_exists(layout.collection):
            dense = models.VectorParams(size=layout.dimensions, distance=models.Distance.COSINE)
            steps.append(self._creation(layout.collection, {layout.vector: dense}, WORDS))
        else:
            info = client.get_collection(layout.collection)
            present = set(info.payload_schema or {})
            if WORDS not in (info.config.params.sparse_vectors or {}):
                config = models.SparseVectorNameConfig(sparse=models.SparseVectorConfig())
                create = partial(client.create_vector_name, layout.collection, WORDS, config)
                steps.append((f"create sparse vector {WORDS}", create))
        paths = sorted(_INDEXES.keys() - present)
        steps += [(f"create payload index {path}", partial(self._index_payload, path)) for path in paths]
        if not client.collection_exists(layout.lexemes):
            steps.append(self._creation(layout.lexemes, {}, TRIGRAMS))
        elif state := self.state():
            if state["dialect"] != layout.dialect:
                raise ConfigError("collection", f"one of {state['dialect']}, as it was indexed", layout.dialect)
            if state["fields"] != list(layout.fields):
                allowed = f"{state['fields']}, as the collection was made"
                raise ConfigError("title and questions", allowed, list(layout.fields))
        if not dry_run:
            for _, make in steps:
                make()
        return [line for line, _ in steps]

    def _creation(self, name: str, dense: dict[str, Any], sparse: str) -> tuple[str, Callable[[], object]]:
        vectors = {"vectors_config": dense, "sparse_vectors_config": {sparse: models.SparseVectorParams()}}
        return f"create collection {name}", partial(self.client.create_collection, name, **vectors)

    def _index_payload(self, path: str) -> None:
        with ignored_warnings("Payload indexes have no effect"):  # in the client's own local form
            self.client.create_payload_index(self.layout.collection, path, _INDEXES[path])

    # The words

    def state(self) -> Mapping[str, Any]:
        """Return the number of chunks, whether a run is writing, and the fields of words; empty for a new index."""
        points = self.client.retrieve(self.layout.lexemes, [STATE_ID])
        return points[0].payload if points else {}

    def write_state(self, *, is_open: bool) -> None:
        """Write the number of chunks, and whether a run is writing."""
        chunks = self.client.count(self.layout.collection, exact=True).count
        state = {"chunks": chunks, "is_open": is_open, "fields": list(self.layout.fields)}
        state["dialect"] = self.layout.dialect
        self.client.upsert(self.layout.lexemes, [models.PointStruct(id=STATE_ID, payload=state, vector={})])

    def words(self, chunk: Chunk) -> dict[str, float]:
        """Return the words of a chunk with their saturated counts."""
        return term_counts(chunk, self.layout.fields)

    def change_counts(self, changes: Mapping[str, int]) -> None:
        """Add `changes` to the counts of words; a word that no chunk has is deleted."""
        remaining = iter([word for word, change in changes.items() if change])
        while batch := list(islice(remaining, BATCH_SIZE)):
            points = self.client.retrieve(self.layout.lexemes, list(map(lexeme_id, batch)))
            known = {point.payload["word"]: point.payload["count"] for point in points}
            self._write_counts({word: known.get(word, 0) + changes[word] for word in batch})

    def _write_counts(self, counts: Mapping[str, int]) -> None:
        kept = [
            models.PointStruct(
                id=lexeme_id(word), payload={"word": word, "count": count}, vector={TRIGRAMS: trigram_vector(word)}
            )
            for word, count in counts.items()
            if count > 0
        ]
        if kept:
            self.client.upsert(self.layout.lexemes, kept)
        gone: list[Any] = [lexeme_id(word) for word, count in counts.items() if count <= 0]
        if gone:
            self.client.delete(self.layout.lexemes, models.PointIdsList(points=gone))

    def recount(self) -> None:
        """Count the words of all chunks again."""
        counts = Counter(word for _, chunk in self.scroll() for word in self.words(chunk))
        gone = [
            point.payload["word"]
            for point in self._scroll_points(self.layout.lexemes, None)
            if point.payload.get("word", "") not in counts and "word" in point.payload
        ]
        remaining = iter({**counts, **dict.fromkeys(gone, 0)}.items())
        while batch := dict(islice(remaining, BATCH_SIZE)):
            self._write_counts(batch)

    # The chunks

    def scroll(self, condition: models.Filter | None = None) -> Iterator[tuple[Any, Chunk]]:
        """Yield the points that meet `condition`, id and chunk."""
        for point in self._scroll_points(self.layout.collection, condition):
            yield point.id, chunk_from_payload(point.id, point.payload, self.layout, self.keys)

    def _scroll_points(self, collection: str, condition: models.Filter | None) -> Iterator[Any]:
        offset = None
        while True:
            points, offset = self.client.scroll(collection, condition, limit=BATCH_SIZE, offset=offset)
            yield from points
            if offset is None:
                return

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
        function, model = get_embed_function(embed), get_model_name(embed)
        must_recount = self._open()
        documents: dict[str, str] = {}
        added = unchanged = 0
        while batch := list(islice(pairs, BATCH_SIZE)):
            rows = mark_rows(batch, model, self._check_vector)
            for chunk, *_ in rows:
                if chunk.id in documents:
                    raise ConfigError("chunks", "of different ids", chunk.id)
                documents[chunk.id] = chunk.document_id
            missing, replaced = self._find_missing(rows, can_embed=function is not None)
            self._write(embed_missing(missing, function, self._check_vector), replaced)
            added, unchanged = added + len(missing), unchanged + len(rows) - len(missing)
            on_batch(len(rows))
        others = self._others(documents)
        deleted = self._delete_points(others) if replace else 0
        self._close(must_recount=must_recount)
        if not replace:
            _check_none(others)
        return IngestReport(added, unchanged, deleted)

    def _open(self) -> bool:
        """Mark that a run is writing; return True if another one was interrupted."""
        was_open = bool(self.state().get("is_open"))
        self.write_state(is_open=True)
        return was_open

    def _close(self, *, must_recount: bool) -> None:
        if must_recount:
            self.recount()
        self.write_state(is_open=False)

    def _check_vector(self, vector: Vector) -> None:
        check_vector(vector, self.layout)

    def _find_missing(self, rows: Sequence[Row], *, can_embed: bool) -> tuple[list[Row], list[Chunk]]:
        """Return the rows that aren't stored unchanged, and the chunks that they replace."""
        points = self.client.retrieve(self.layout.collection, [point_id(chunk.id) for chunk, *_ in rows])
        stored = {point.payload[OWN]["id"]: point for point in points}
        check_documents(((id_, point.payload[OWN]["document_id"]) for id_, point in stored.items()), rows)
        own = {id_: point.payload[OWN] for id_, point in stored.items()}
        marks = {id_: (one["mark"], not one["has_vector"]) for id_, one in own.items()}
        missing = [row for row in rows if not is_stored(row, *marks.get(row[0].id, ("", False)), can_embed=can_embed)]
        replaced = [stored[chunk.id] for chunk, *_ in missing if chunk.id in stored]
        return missing, [chunk_from_payload(one.id, one.payload, self.layout, self.keys) for one in replaced]

    def _write(self, rows: Sequence[Row], replaced: Iterable[Chunk]) -> None:
        if not rows:
            return
        changes: Counter[str] = Counter()
        points = []
        for chunk, vector, mark in rows:
            words = self.words(chunk)
            changes.update(words.keys())
            payload = {
                self.layout.text: chunk.text,
                str(self.layout.metadata): json.loads(metadata_json(chunk)),
                OWN: own_payload(chunk, mark, has_vector=vector is not None),
            }
            vectors = named_vector(self.layout, vector, sparse_vector(words))
            points.append(models.PointStruct(id=point_id(chunk.id), payload=payload, vector=vectors))
        for chunk in replaced:
            changes.subtract(self.words(chunk).keys())
        self.client.upsert(self.layout.collection, points)
        self.change_counts(changes)

    def check_whole(self, chunks: Iterable[Any]) -> None:
        """Check that no other chunks of their documents are stored.

        Raises:
            InputError: some are.
        """
        names = ((chunk.id, chunk.document_id) for chunk in chunks if isinstance(chunk, Chunk))
        _check_none(self._others({id_: document for id_, document in names if type(id_) is type(document) is str}))

    def _others(self, documents: Mapping[str, str]) -> list[tuple[Any, Chunk]]:
        """Return the points of documents that aren't among the given ones, ids and chunks."""
        names, others = iter(dict.fromkeys(documents.values())), []
        while some := list(islice(names, BATCH_SIZE)):
            of_these = models.Filter(must=[match_any(own_key("document_id"), some)])
            others += [(id_, chunk) for id_, chunk in self.scroll(of_these) if chunk.id not in documents]
        return others

    def delete(self, document_ids: Sequence[str]) -> int:
        """Delete all chunks of documents."""
        must_recount = self._open()
        of_these = models.Filter(must=[match_any(own_key("document_id"), document_ids)])
        deleted = self._delete_points(list(self.scroll(of_these))) if document_ids else 0
        self._close(must_recount=must_recount)
        return deleted

    def _delete_points(self, points: Sequence[tuple[Any, Chunk]]) -> int:
        if points:
            self.client.delete(self.layout.collection, models.PointIdsList(points=[id_ for id_, _ in points]))
            changes: Counter[str] = Counter()
            for _, chunk in points:
                changes.subtract(self.words(chunk).keys())
            self.change_counts(changes)
        return len(points)

    # Chunks that a framework has written

    def mark_new(self, on_batch: Callable[[int], object]) -> int:
        """Give each chunk that others have written its words and its place; return their number.

        Those that are done have a mark, so a run that was killed continues where it ended.
        """
        before, must_recount, new = self.state().get("chunks", 0), self._open(), 0
        while True:
            points, _ = self.client.scroll(self.layout.collection, UNMARKED, limit=BATCH_SIZE)
            if not points:
                break
            self._mark_points(points)
            new += len(points)
            on_batch(len(points))
        # A chunk that was overwritten, or deleted, has left its words.
        total = self.client.count(self.layout.collection, exact=True).count
        self._close(must_recount=must_recount or total != before + new)
        return new

    def _mark_points(self, points: Sequence[Any]) -> None:
        changes: Counter[str] = Counter()
        vectors, payloads = [], []
        for point in points:
            chunk = chunk_from_payload(point.id, point.payload, self.layout, self.keys)
            words = self.words(chunk)
            changes.update(words.keys())
            own = own_payload(chunk, hash_chunk(chunk), has_vector=True)
            if words:
                vectors.append(models.PointVectors(id=point.id, vector={WORDS: sparse_vector(words)}))
            payloads.append(
                models.SetPayloadOperation(set_payload=models.SetPayload(payload={OWN: own}, points=[point.id]))
            )
        update = models.UpdateVectorsOperation(update_vectors=models.UpdateVectors(points=vectors))
        self.client.batch_update_points(self.layout.collection, [*([update] if vectors else []), *payloads])
        self.change_counts(changes)


def _check_none(others: Sequence[tuple[Any, Chunk]]) -> None:
    for _, other in others:
        raise InputError(
            f"document {safe_repr(other.document_id)} has stored chunks that weren't given (such as "
            f"{safe_repr(other.id)}). Nothing was deleted: give all chunks of a document, or "
            "delete the others with add(..., replace=True)"
        )
