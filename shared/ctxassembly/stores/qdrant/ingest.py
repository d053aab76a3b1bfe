"""Writing into Qdrant: collections and their points."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from qdrant_client import models

from ctxassembly.data.metadata_keys import MetadataKeys
from ctxassembly.stores.ingest import Row, metadata_json
from ctxassembly.stores.qdrant.points import STATE_ID, lexeme_id, named_vector, own_key, point_id, sparse_vector
from ctxassembly.stores.qdrant.search import match_any
from ctxassembly.stores.sparse.ingest import BATCH_SIZE, Changed
from ctxassembly.stores.sparse.rows import (
    OWN,
    TRIGRAMS,
    WORDS,
    Layout,
    Stored,
    own_values,
    read_row,
    trigram_weights,
    weights_by_hash,
)
from ctxassembly.user_warnings import ignored_warnings

_INDEXES: Mapping[str, models.PayloadSchemaType] = {
    own_key("id"): models.PayloadSchemaType.KEYWORD,
    own_key("document_id"): models.PayloadSchemaType.KEYWORD,
    own_key("index"): models.PayloadSchemaType.INTEGER,
    own_key("mark"): models.PayloadSchemaType.KEYWORD,
    own_key("title"): models.PayloadSchemaType.KEYWORD,
}
"""The paths that are looked up, with the kinds of their values."""
UNMARKED = models.Filter(must=[models.IsEmptyCondition(is_empty=models.PayloadField(key=own_key("mark")))])
"""The condition of a chunk that others have written since."""


@dataclass(frozen=True)
class QdrantStorage:
    """The collections of an index."""

    client: Any
    layout: Layout
    keys: MetadataKeys

    def missing(self) -> Iterator[tuple[str, Callable[[], object]]]:
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
            yield f"create payload index {path}", partial(self._index_payload, path)
        if not client.collection_exists(layout.lexemes):
            yield self._creation(layout.lexemes, {}, TRIGRAMS)

    def _creation(self, name: str, dense: dict[str, Any], sparse: str) -> tuple[str, Callable[[], object]]:
        vectors = {"vectors_config": dense, "sparse_vectors_config": {sparse: models.SparseVectorParams()}}
        return f"create collection {name}", partial(self.client.create_collection, name, **vectors)

    def _index_payload(self, path: str) -> None:
        with ignored_warnings("Payload indexes have no effect"):  # in the client's own local form
            self.client.create_payload_index(self.layout.collection, path, _INDEXES[path])

    # The words

    def read_state(self) -> Mapping[str, Any]:
        """Return the state; empty for a new index."""
        if not self.client.collection_exists(self.layout.lexemes):
            return {}
        points = self.client.retrieve(self.layout.lexemes, [STATE_ID])
        return points[0].payload if points else {}

    def write_state(self, state: Mapping[str, Any]) -> None:
        """Replace the state."""
        self.client.upsert(self.layout.lexemes, [models.PointStruct(id=STATE_ID, payload=dict(state), vector={})])

    def read_counts(self, words: Sequence[str]) -> dict[str, int]:
        """Return the counts of `words`, as far as there are any."""
        points = self.client.retrieve(self.layout.lexemes, list(map(lexeme_id, words)))
        return {point.payload["word"]: point.payload["count"] for point in points}

    def write_counts(self, counts: Mapping[str, int]) -> None:
        """Set the counts of words."""
        points = [
            models.PointStruct(
                id=lexeme_id(word),
                payload={"word": word, "count": count},
                vector={TRIGRAMS: sparse_vector(trigram_weights(word))},
            )
            for word, count in counts.items()
        ]
        self.client.upsert(self.layout.lexemes, points)

    def delete_words(self, words: Sequence[str]) -> None:
        """Delete words."""
        ids: list[Any] = [lexeme_id(word) for word in words]
        self.client.delete(self.layout.lexemes, models.PointIdsList(points=ids))

    def all_words(self) -> Iterator[str]:
        """Yield all words."""
        for point in self._scroll(self.layout.lexemes, None):
            if "word" in point.payload:
                yield point.payload["word"]

    # The chunks

    def count(self) -> int:
        """Return the number of chunks."""
        return int(self.client.count(self.layout.collection, exact=True).count)

    def read(self, chunk_ids: Sequence[str]) -> list[Stored]:
        """Return the chunks of our own with these ids."""
        return self.read_keys(list(map(point_id, chunk_ids)))

    def read_keys(self, keys: Sequence[Any]) -> list[Stored]:
        """Return the chunks under `keys`."""
        return list(map(self._stored, self.client.retrieve(self.layout.collection, list(keys))))

    def read_all(self, documents: Sequence[str] | None = None) -> Iterator[Stored]:
        """Yield the chunks of documents, or of all."""
        of_these = None if documents is None else models.Filter(must=[match_any(own_key("document_id"), documents)])
        yield from map(self._stored, self._scroll(self.layout.collection, of_these))

    def _stored(self, point: Any) -> Stored:
        return read_row(point.id, point.payload, self.layout, self.keys)

    def unmarked(self) -> list[Stored]:
        """Return some of the chunks that others have written since."""
        points, _ = self.client.scroll(self.layout.collection, UNMARKED, limit=BATCH_SIZE)
        return list(map(self._stored, points))

    def _scroll(self, collection: str, condition: models.Filter | None) -> Iterator[Any]:
        offset = None
        while True:
            points, offset = self.client.scroll(collection, condition, limit=BATCH_SIZE, offset=offset)
            yield from points
            if offset is None:
                return

    def write(self, rows: Sequence[Row], words: Sequence[Mapping[str, float]]) -> None:
        """Write chunks with their vectors and words."""
        points = []
        for (chunk, vector, mark), own_words in zip(rows, words, strict=True):
            payload = {
                self.layout.text: chunk.text,
                str(self.layout.metadata): json.loads(metadata_json(chunk)),
                OWN: own_values(chunk, mark, has_vector=vector is not None),
            }
            vectors = named_vector(self.layout, vector, sparse_vector(weights_by_hash(own_words)))
            points.append(models.PointStruct(id=point_id(chunk.id), payload=payload, vector=vectors))
        self.client.upsert(self.layout.collection, points)

    def delete(self, keys: Sequence[Any]) -> None:
        """Delete the chunks under `keys`."""
        self.client.delete(self.layout.collection, models.PointIdsList(points=list(keys)))

    def write_titles(self, titles: Mapping[Any, str | None]) -> None:
        """Store titles with the chunks under their keys; None deletes one."""
        self._update([_set_payload(key, {"title": title}, OWN) for key, title in titles.items()])

    def update(self, changed: Sequence[Changed]) -> None:
        """Replace what we keep of stored chunks in one request."""
        vectors = [
            models.PointVectors(
                id=one.stored.key,
                vector=named_vector(self.layout, one.vector, sparse_vector(weights_by_hash(one.words))),
            )
            for one in changed
        ]
        payloads = [_set_payload(one.stored.key, {OWN: dict(one.stored.own)}) for one in changed]
        self._update([models.UpdateVectorsOperation(update_vectors=models.UpdateVectors(points=vectors)), *payloads])

    def _update(self, operations: Sequence[Any]) -> None:
        self.client.batch_update_points(self.layout.collection, list(operations))


def _set_payload(key: Any, values: Mapping[str, Any], path: str | None = None) -> models.SetPayloadOperation:
    payload = models.SetPayload(payload=dict(values), points=[key], key=path)
    return models.SetPayloadOperation(set_payload=payload)
