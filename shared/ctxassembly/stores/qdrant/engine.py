"""The collections of an index: the ids, paths and vectors of points, writing them, and the calls of a search.

A search is a flow of calls, since either client may make them; what writes calls the sync client.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple, TypeVar
from uuid import UUID, uuid5

from qdrant_client import models

from ctxassembly.data.chunks import ChunkRef
from ctxassembly.data.metadata_keys import MetadataKeys
from ctxassembly.stores.ingest import Row, Vector, metadata_json
from ctxassembly.stores.numbering import create_payload_index, scroll_points
from ctxassembly.stores.qdrant.filters import own_key
from ctxassembly.stores.qdrant.rows import (
    OWN,
    TRIGRAMS,
    WORDS,
    Changed,
    Layout,
    Stored,
    own_values,
    read_point,
    sparse_vector,
    trigram_vector,
)

Call = tuple[str, dict[str, Any]]
"""The name of a method of the client, and its arguments."""
T = TypeVar("T")
Flow = Generator[Call, Any, T]
BATCH_SIZE = 256
"""Chunks, or words, a request; embeddings are asked for as many texts at once."""
NEAR_CANDIDATES = 256
"""Words with the most trigrams of a missing one, which are then compared with it."""
PAGE = 1_000
"""Chunks of a document read at once."""
_INDEXES: Mapping[str, models.PayloadSchemaType] = {
    **{own_key(name): models.PayloadSchemaType.KEYWORD for name in ("id", "document_id", "mark", "title")},
    own_key("index"): models.PayloadSchemaType.INTEGER,
}
"""The paths that are looked up, with the kinds of their values."""
_UNMARKED = models.Filter(must=[models.IsEmptyCondition(is_empty=models.PayloadField(key=own_key("mark")))])
"""The condition of a chunk that others have written since."""
_NAMESPACE = UUID("6d1f3f0e-7a0a-5b55-9d53-0f2f4d7e0c11")


def point_id(chunk_id: str) -> str:
    """Return the id of the point for a chunk, which may have an id of any kind."""
    return str(uuid5(_NAMESPACE, f"chunk {chunk_id}"))


def lexeme_id(word: str) -> str:
    """Return the id of the point for a word."""
    return str(uuid5(_NAMESPACE, f"lexeme {word}"))


STATE_ID = str(uuid5(_NAMESPACE, "state"))
"""The point among the words that has the number of chunks."""


class Channel(NamedTuple):
    """What one channel asks for: the nearest by the embedding, or by a sparse vector of words."""

    query: list[float] | models.SparseVector
    limit: int
    offset: int = 0


class Found(NamedTuple):
    """A chunk that a channel has found."""

    stored: Stored
    score: float


@dataclass(frozen=True)
class QdrantEngine:
    """The collections of an index, which are searched and written to."""

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
            create = partial(create_payload_index, client, layout.collection, path, _INDEXES[path])
            yield f"create payload index {path}", create
        if not client.collection_exists(layout.lexemes):
            yield self._creation(layout.lexemes, {}, TRIGRAMS)

    def _creation(self, name: str, dense: dict[str, Any], sparse: str) -> tuple[str, Callable[[], object]]:
        vectors = {"vectors_config": dense, "sparse_vectors_config": {sparse: models.SparseVectorParams()}}
        return f"create collection {name}", partial(self.client.create_collection, name, **vectors)

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
        points = []
        for word, count in counts.items():
            vector: dict[str, Any] = {TRIGRAMS: trigram_vector(word)}
            points.append(models.PointStruct(id=lexeme_id(word), payload={"word": word, "count": count}, vector=vector))
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

    def count_unmarked(self) -> int:
        """Return the number of chunks that others have written since."""
        return int(self.client.count(self.layout.collection, count_filter=_UNMARKED, exact=True).count)

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
        return read_point(point, self.layout, self.keys)

    def unmarked(self) -> list[Stored]:
        """Return some of the chunks that others have written since."""
        points, _ = self.client.scroll(self.layout.collection, _UNMARKED, limit=BATCH_SIZE)
        return list(map(self._stored, points))

    def _scroll(self, collection: str, condition: models.Filter | None) -> Iterator[Any]:
        return scroll_points(self.client, collection, BATCH_SIZE, scroll_filter=condition)

    def write(self, rows: Sequence[Row], words: Sequence[Mapping[str, float]]) -> None:
        """Write chunks with their vectors and words."""
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

    def _vectors(self, vector: Vector | None, words: Mapping[str, float]) -> dict[str, Any]:
        embedding = {} if vector is None else {self.layout.vector: [float(number) for number in vector]}
        return {**embedding, WORDS: sparse_vector(words)}

    def delete(self, keys: Sequence[Any]) -> None:
        """Delete the chunks under `keys`."""
        self.client.delete(self.layout.collection, models.PointIdsList(points=list(keys)))

    def write_titles(self, titles: Mapping[Any, str | None]) -> None:
        """Store titles with the chunks under their keys; None deletes one."""
        self._update([_set_payload(key, {"title": title}, OWN) for key, title in titles.items()])

    def update(self, changed: Sequence[Changed]) -> None:
        """Replace what we keep of stored chunks in one request."""
        vectors = [
            models.PointVectors(id=one.stored.key, vector=self._vectors(one.vector, one.words)) for one in changed
        ]
        payloads = [_set_payload(one.stored.key, {OWN: dict(one.stored.own)}) for one in changed]
        self._update([models.UpdateVectorsOperation(update_vectors=models.UpdateVectors(points=vectors)), *payloads])

    def _update(self, operations: Sequence[Any]) -> None:
        self.client.batch_update_points(self.layout.collection, list(operations))

    # Searching

    def read_words(self, words: Sequence[str]) -> Flow[tuple[int, Mapping[str, int]]]:
        """Return the number of chunks, and the number that have each of `words`, as far as there are any."""
        ids = [STATE_ID, *map(lexeme_id, words)]
        points = yield "retrieve", {"collection_name": self.layout.lexemes, "ids": ids, "with_payload": True}
        payloads = {point.payload.get("word"): point.payload for point in points}
        chunk_count = payloads.pop(None, {}).get("chunks", 0)
        return chunk_count, {word: payload["count"] for word, payload in payloads.items()}

    def read_near(self, words: Sequence[str]) -> Flow[list[list[str]]]:
        """Return for each word those that share most trigrams with it."""
        requests = [
            # All trigrams inside a word are in one that contains it: at twice the value these come first.
            _query(trigram_vector(word, inner=2.0), TRIGRAMS, NEAR_CANDIDATES, None)
            for word in words
        ]
        answers = yield "query_batch_points", {"collection_name": self.layout.lexemes, "requests": requests}
        return [[point.payload["word"] for point in answer.points] for answer in answers]

    def read_having(
        self, words: Sequence[str], limit: int, condition: models.Filter | None
    ) -> Flow[list[list[Stored]]]:
        """Return for each word at most `limit` chunks that have it, or one of the same hash."""
        requests = [self._best(Channel(sparse_vector({word: 1.0}), limit), condition) for word in words]
        answers = yield "query_batch_points", {"collection_name": self.layout.collection, "requests": requests}
        return [list(map(self._stored, answer.points)) for answer in answers]

    def read_best(
        self, channels: Sequence[Channel], condition: models.Filter | None
    ) -> Flow[tuple[list[list[Found]], dict[Any, float]]]:
        """Return what each channel finds; with two, also the similarities of what words find."""
        requests = [self._best(channel, condition) for channel in channels]
        if len(channels) == 2:
            by_vector, by_words = requests
            best = models.Prefetch(query=by_words.query, using=WORDS, limit=by_words.limit, filter=condition)
            limit = by_words.limit or 0
            scored = _query(by_vector.query, self.layout.vector, limit, None, prefetch=best, with_payload=False)
            requests.append(scored)
        answers = yield "query_batch_points", {"collection_name": self.layout.collection, "requests": requests}
        by_channel, scored = answers[: len(channels)], answers[len(channels) :]
        found = [[Found(self._stored(point), point.score) for point in answer.points] for answer in by_channel]
        return found, {point.id: point.score for answer in scored for point in answer.points}

    def _best(self, channel: Channel, condition: models.Filter | None) -> models.QueryRequest:
        using = WORDS if isinstance(channel.query, models.SparseVector) else self.layout.vector
        return _query(channel.query, using, channel.limit, condition, offset=channel.offset)

    def read_similarities(self, vector: list[float], keys: Sequence[Any]) -> Flow[dict[Any, float]]:
        """Return the similarities of the chunks under `keys` that have an embedding."""
        here = models.Filter(must=[models.HasIdCondition(has_id=list(keys))])
        exact = _query(vector, self.layout.vector, len(keys), here, with_payload=False)
        (answer,) = yield "query_batch_points", {"collection_name": self.layout.collection, "requests": [exact]}
        return {point.id: point.score for point in answer.points}

    def read_places(
        self, places: Mapping[str, Sequence[ChunkRef]], condition: models.Filter | None
    ) -> Flow[list[Stored]]:
        """Return the chunks that exist among references by document. There is a round trip for each page of them."""
        documents: list[Any] = [_document_condition(document_id, refs) for document_id, refs in places.items()]
        call = self._scroll_call(models.Filter(should=documents), PAGE, condition)
        points, offset = yield call
        found = list(map(self._stored, points))
        while offset is not None:
            points, offset = yield call[0], {**call[1], "offset": offset}
            found += map(self._stored, points)
        return found

    def read_titled(self, titles: Sequence[str], limit: int, condition: models.Filter | None) -> Flow[list[Stored]]:
        """Return chunks with which one of `titles` is stored, at most `limit`."""
        points, _ = yield self._scroll_call(models.Filter(must=[match_any(own_key("title"), titles)]), limit, condition)
        return list(map(self._stored, points))

    def _scroll_call(self, wanted: models.Filter, limit: int, condition: models.Filter | None) -> Call:
        both = models.Filter(must=[wanted, *([condition] if condition else [])])
        return "scroll", {"collection_name": self.layout.collection, "scroll_filter": both, "limit": limit}


def _set_payload(key: Any, values: Mapping[str, Any], path: str | None = None) -> models.SetPayloadOperation:
    payload = models.SetPayload(payload=dict(values), points=[key], key=path)
    return models.SetPayloadOperation(set_payload=payload)


def _query(query: Any, using: str, limit: int, condition: models.Filter | None, **more: Any) -> models.QueryRequest:
    options = {"with_payload": True, **more}
    return models.QueryRequest(query=query, using=using, limit=limit, filter=condition, **options)


def _document_condition(document_id: str, refs: Sequence[ChunkRef]) -> models.Filter:
    """Return the condition of the chunks of a document that `refs` ask for."""
    here = match_any(own_key("document_id"), [document_id])
    if any(ref.index is None and ref.chunk_id is None for ref in refs):  # all chunks; those by offset, too
        return models.Filter(must=[here])
    asked: Mapping[str, list[Any]] = {
        "index": [ref.index for ref in refs if ref.index is not None],
        "id": [ref.chunk_id for ref in refs if ref.index is None],
    }
    either: list[Any] = [match_any(own_key(name), values) for name, values in asked.items() if values]
    return models.Filter(must=[here, models.Filter(should=either)])


def match_any(path: str, values: Sequence[Any]) -> models.FieldCondition:
    """Return the condition that the value under `path` is one of `values`."""
    return models.FieldCondition(key=path, match=models.MatchAny(any=list(values)))
