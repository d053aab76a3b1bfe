"""Milvus' side of an index: its fields and the keys of its rows, writing them, and the calls of a search.

Ids are looked up by their hashes: Milvus Lite doesn't escape a backslash in a key, and the condition of a hash is safe
whatever an id contains.

A search is a flow of calls, since either client may make them. Both channels are one hybrid search. Its own fusion
doesn't say which channel found what, so the vectors of what it finds are read along, and both scores are computed from
them.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from pymilvus import AnnSearchRequest, DataType, MilvusClient, RRFRanker

from ctxassembly.data.chunks import ChunkRef
from ctxassembly.data.metadata_keys import MetadataKeys
from ctxassembly.errors import InputError
from ctxassembly.safe_repr import safe_repr
from ctxassembly.stores.ingest import Row, Vector, batches, metadata_json
from ctxassembly.stores.milvus.filters import DOCUMENT, METADATA, PK, all_of, any_of, engine_filter, row_key
from ctxassembly.stores.sparse.ingest import BATCH_SIZE, Changed
from ctxassembly.stores.sparse.rows import (
    OWN,
    TRIGRAMS,
    WORDS,
    Layout,
    Stored,
    own_chunk,
    own_values,
    trigram_weights,
    weights_by_hash,
)
from ctxassembly.stores.sparse.search import NEAR_CANDIDATES, Call, Channel, Flow, Found, split_places

TEXT, VECTOR = "text", "vector"
"""Fields named as LangChain's Milvus names them."""
PLACE = "place"
"""The index of a chunk in its document."""
TITLE = "title"
"""The hash of the title that is stored with the first chunk of a document; empty for none."""
HAS_VECTOR = "has_vector"
"""False for a chunk without an embedding, which has any vector: each row needs one."""
CHUNK_FIELDS = [PK, TEXT, METADATA, OWN]
WORD, COUNT, STATE = "word", "count", "state"
"""Fields of the words. The state is in the row with no word."""
MAX_BYTES = 65_535
"""Milvus' limit of a text. The limit of a JSON value is one byte more."""
_NO_WORDS = {0: 1e-6}
"""The vector of a chunk without words: an empty one is refused."""
MAX_WINDOW = 16_384
"""Milvus gives no more results of a search, however many times it is asked for the next ones."""
STATE_KEY = row_key("")


@dataclass(frozen=True)
class MilvusEngine:
    """The collections of an index, which are searched and written to."""

    client: Any
    layout: Layout
    keys: MetadataKeys

    def missing(self) -> Iterator[tuple[str, Callable[[], object]]]:
        """Yield what is lacking, as lines, each with the function that creates it."""
        for name, create in ((self.layout.collection, create_chunks), (self.layout.lexemes, create_words)):
            if not self.client.has_collection(name):
                yield f"create collection {name}", partial(create, self.client, self.layout)

    # The words

    def read_state(self) -> Mapping[str, Any]:
        """Return the state; empty for a new index."""
        if not self.client.has_collection(self.layout.lexemes):
            return {}
        rows = self._query(self.layout.lexemes, any_of(PK, [STATE_KEY]), [STATE])
        return rows[0][STATE] if rows else {}

    def write_state(self, state: Mapping[str, Any]) -> None:
        """Replace the state."""
        self.client.upsert(self.layout.lexemes, [_word_row("", state["chunks"], state)])

    def read_counts(self, words: Sequence[str]) -> dict[str, int]:
        """Return the counts of `words`, as far as there are any."""
        rows = self._query(self.layout.lexemes, any_of(PK, list(map(row_key, words))), [WORD, COUNT])
        return {row[WORD]: row[COUNT] for row in rows}

    def write_counts(self, counts: Mapping[str, int]) -> None:
        """Set the counts of words."""
        self.client.upsert(self.layout.lexemes, [_word_row(word, count, {}) for word, count in counts.items()])

    def delete_words(self, words: Sequence[str]) -> None:
        """Delete words."""
        self.client.delete(self.layout.lexemes, ids=list(map(row_key, words)))

    def all_words(self) -> Iterator[str]:
        """Yield all words."""
        return (row[WORD] for row in read_rows(self.client, self.layout.lexemes, [WORD]) if row[WORD])

    # The chunks

    def count(self) -> int:
        """Return the number of chunks."""
        return int(self._query(self.layout.collection, "", ["count(*)"])[0]["count(*)"])

    def count_unmarked(self) -> int:
        """Return 0: only the index writes its collection."""
        return 0

    def read(self, chunk_ids: Sequence[str]) -> list[Stored]:
        """Return the chunks with these ids."""
        return self.read_keys(list(map(row_key, chunk_ids)))

    def read_keys(self, keys: Sequence[Any]) -> list[Stored]:
        """Return the chunks under `keys`."""
        return list(map(self._stored, self._query(self.layout.collection, any_of(PK, keys), CHUNK_FIELDS)))

    def read_all(self, documents: Sequence[str] | None = None) -> Iterator[Stored]:
        """Yield the chunks of documents, or of all."""
        if documents is None:
            rows = read_rows(self.client, self.layout.collection, CHUNK_FIELDS)
        else:
            condition = any_of(DOCUMENT, list(map(row_key, documents)))
            rows = iter(self._query(self.layout.collection, condition, CHUNK_FIELDS))
        return map(self._stored, rows)

    def _stored(self, row: Mapping[str, Any]) -> Stored:
        return Stored(row[PK], own_chunk(row, self.layout), row[OWN])

    def write(self, rows: Sequence[Row], words: Sequence[Mapping[str, float]]) -> None:
        """Write chunks with their vectors and words.

        Raises:
            InputError: Milvus can't hold something in a chunk.
        """
        self._upsert([chunk_row(row, own_words, self.layout) for row, own_words in zip(rows, words, strict=True)])

    def write_titles(self, titles: Mapping[Any, str | None]) -> None:
        """Store titles with the chunks under their keys; None deletes one."""
        for rows in self._read_whole(list(titles)):
            self._upsert([{**row, **own_fields({**row[OWN], "title": titles[row[PK]]})} for row in rows])

    def update(self, changed: Sequence[Changed]) -> None:
        """Replace what we keep of stored chunks."""
        by_key = {one.stored.key: one for one in changed}
        for rows in self._read_whole(list(by_key)):
            self._upsert([_updated(row, by_key[row[PK]]) for row in rows])

    def _read_whole(self, keys: Sequence[Any]) -> Iterator[list[Any]]:
        """Yield the whole rows under `keys` in batches: a change of some fields replaces the row."""
        for some in batches(keys, BATCH_SIZE):
            yield self._query(self.layout.collection, any_of(PK, some), ["*"])

    def _upsert(self, rows: list[dict[str, Any]]) -> None:
        for row in rows:
            check_size(row)
        if rows:
            self.client.upsert(self.layout.collection, rows)

    def delete(self, keys: Sequence[Any]) -> None:
        """Delete the chunks under `keys`."""
        self.client.delete(self.layout.collection, ids=list(keys))

    def _query(self, collection: str, condition: str, fields: list[str]) -> list[Any]:
        """Return rows as they are now: counts are changed by what was read."""
        return list(self.client.query(collection, filter=condition, output_fields=fields, consistency_level="Strong"))

    # Searching

    def condition(self, filters: Sequence[Any]) -> str:
        """Return a condition that passes at least the chunks that pass all `filters`; an empty one passes all."""
        return engine_filter(filters)

    def read_words(self, words: Sequence[str]) -> Flow[tuple[int, Mapping[str, int]]]:
        """Return the number of chunks, and the number that have each of `words`, as far as there are any."""
        condition = any_of(PK, [STATE_KEY, *map(row_key, words)])
        rows = yield _call("query", self.layout.lexemes, filter=condition, output_fields=[WORD, COUNT])
        counts = {row[WORD]: row[COUNT] for row in rows}
        return counts.pop("", 0), counts

    def read_near(self, words: Sequence[str]) -> Flow[list[list[str]]]:
        """Return for each word those that share most trigrams with it."""
        # All trigrams inside a word are in one that contains it: at twice the value these come first.
        vectors = [sparse_vector(trigram_weights(word, inner=2.0)) for word in words]
        options = {"anns_field": TRIGRAMS, "limit": NEAR_CANDIDATES, "output_fields": [WORD]}
        answers = yield _call("search", self.layout.lexemes, data=vectors, **options)
        return [[hit["entity"][WORD] for hit in answer if hit["entity"][WORD]] for answer in answers]

    def read_having(self, words: Sequence[str], limit: int, condition: Any) -> Flow[list[list[Stored]]]:
        """Return for each word at most `limit` chunks that have it, or one of the same hash."""
        asked = {"data": [weights_by_hash({word: 1.0}) for word in words], "anns_field": WORDS, "filter": condition}
        answers = yield _call("search", self.layout.collection, **asked, limit=limit, output_fields=CHUNK_FIELDS)
        return [[self._stored(hit["entity"]) for hit in answer] for answer in answers]

    def read_best(
        self, channels: Sequence[Channel], condition: Any
    ) -> Flow[tuple[list[list[Found]], dict[Any, float]]]:
        """Return what each channel finds; with two, also the similarities of what words find."""
        if len(channels) == 1:
            return [(yield from self._read_channel(channels[0], condition))], {}
        by_vector, by_words = channels
        limits = [min(channel.limit, MAX_WINDOW) for channel in channels]
        requests = [
            AnnSearchRequest([_query(channel)], _field(channel), {}, limit, expr=_expr(channel, condition))
            for channel, limit in zip(channels, limits, strict=True)
        ]
        options = {"limit": min(sum(limits), MAX_WINDOW), "output_fields": [*CHUNK_FIELDS, HAS_VECTOR, VECTOR, WORDS]}
        (answer,) = yield _call("hybrid_search", self.layout.collection, reqs=requests, ranker=RRFRanker(), **options)
        rows = {hit["entity"][PK]: hit["entity"] for hit in answer}
        stored = {key: self._stored(row) for key, row in rows.items()}
        similarities = _similarities(by_vector.query, rows.values())
        relevances = {key: _inner_product(by_words.query, row[WORDS]) for key, row in rows.items()}
        found: list[list[Found]] = []
        for scores, limit in zip((similarities, {k: v for k, v in relevances.items() if v > 0}), limits, strict=True):
            best = sorted(scores, key=lambda key: (-scores[key], stored[key].chunk.id))[:limit]
            found.append([Found(stored[key], scores[key]) for key in best])
        return found, similarities

    def _read_channel(self, channel: Channel, condition: str) -> Flow[list[Found]]:
        limit = min(channel.limit, MAX_WINDOW - channel.offset)
        if limit <= 0:
            return []
        asked = {"data": [_query(channel)], "anns_field": _field(channel), "filter": _expr(channel, condition)}
        page = {"limit": limit, "offset": channel.offset, "output_fields": CHUNK_FIELDS}
        (answer,) = yield _call("search", self.layout.collection, **asked, **page)
        return [Found(self._stored(hit["entity"]), hit["distance"]) for hit in answer]

    def read_similarities(self, vector: list[float], keys: Sequence[Any]) -> Flow[dict[Any, float]]:
        """Return the similarities of the chunks under `keys` that have an embedding."""
        fields = [PK, HAS_VECTOR, VECTOR]
        rows = yield _call("query", self.layout.collection, filter=any_of(PK, keys), output_fields=fields)
        return _similarities(vector, rows)

    def read_places(self, places: Mapping[str, Sequence[ChunkRef]], condition: Any) -> Flow[list[Stored]]:
        """Return the chunks that exist among references by document, in one round trip."""
        documents = " or ".join(f"({_document_condition(id_, refs)})" for id_, refs in places.items())
        return (yield from self._read_where([documents, condition]))

    def read_titled(self, titles: Sequence[str], limit: int, condition: Any) -> Flow[list[Stored]]:
        """Return chunks with which one of `titles` is stored, at most `limit`."""
        return (yield from self._read_where([any_of(TITLE, list(map(row_key, titles))), condition], limit=limit))

    def _read_where(self, conditions: Sequence[str], **options: Any) -> Flow[list[Stored]]:
        asked = {"filter": all_of(conditions), "output_fields": CHUNK_FIELDS, **options}
        rows = yield _call("query", self.layout.collection, **asked)
        return list(map(self._stored, rows))


def sparse_vector(weights: Mapping[int, float]) -> Mapping[int, float]:
    """Return weights by their hashes as Milvus takes them."""
    return weights or _NO_WORDS


def chunk_row(row: Row, words: Mapping[str, float], layout: Layout) -> dict[str, Any]:
    """Return the row of a chunk."""
    chunk, vector, mark = row
    return {
        PK: row_key(chunk.id),
        DOCUMENT: row_key(chunk.document_id),
        PLACE: chunk.index,
        TEXT: chunk.text,
        METADATA: json.loads(metadata_json(chunk)),
        WORDS: sparse_vector(weights_by_hash(words)),
        **own_fields(own_values(chunk, mark, has_vector=vector is not None)),
        **vector_fields([1.0] + [0.0] * (layout.dimensions - 1) if vector is None else vector, vector is not None),
    }


def own_fields(own: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a row that follow from what we keep of a chunk."""
    title = own.get("title")
    return {OWN: dict(own), TITLE: "" if title is None else row_key(title)}


def vector_fields(vector: Vector, is_known: bool = True) -> dict[str, Any]:
    """Return the fields of a row that follow from its embedding."""
    return {VECTOR: [float(number) for number in vector], HAS_VECTOR: is_known}


def check_size(row: Mapping[str, Any]) -> None:
    """Check that Milvus can hold a row.

    Raises:
        InputError: its text, its metadata, or its ids and notes are too large.
    """
    for name, what in ((TEXT, "text"), (METADATA, "metadata"), (OWN, "ids and notes")):
        written = row[name] if name == TEXT else json.dumps(row[name], ensure_ascii=False)
        if (size := len(written.encode())) > MAX_BYTES:
            id_ = safe_repr(row[OWN]["id"])
            raise InputError(f"{what} of chunk {id_} must be of at most {MAX_BYTES:,} bytes for Milvus, got {size:,}")


def create_chunks(client: Any, layout: Layout) -> None:
    """Create the collection of chunks. A client finds in it at once what it has written itself."""
    schema = MilvusClient.create_schema(auto_id=False, enable_dynamic_field=False)
    for name in (PK, DOCUMENT, TITLE):
        schema.add_field(name, DataType.VARCHAR, is_primary=name == PK, max_length=32)
    schema.add_field(PLACE, DataType.INT64, nullable=True)
    schema.add_field(HAS_VECTOR, DataType.BOOL)
    schema.add_field(TEXT, DataType.VARCHAR, max_length=MAX_BYTES)
    for name in (METADATA, OWN):
        schema.add_field(name, DataType.JSON)
    schema.add_field(VECTOR, DataType.FLOAT_VECTOR, dim=layout.dimensions)
    schema.add_field(WORDS, DataType.SPARSE_FLOAT_VECTOR)
    indexes = MilvusClient.prepare_index_params()
    indexes.add_index(VECTOR, index_type="AUTOINDEX", metric_type="COSINE")
    indexes.add_index(WORDS, index_type="SPARSE_INVERTED_INDEX", metric_type="IP")
    for name in (DOCUMENT, TITLE):
        indexes.add_index(name, index_type="INVERTED")
    client.create_collection(layout.collection, schema=schema, index_params=indexes, consistency_level="Session")


def create_words(client: Any, layout: Layout) -> None:
    """Create the collection of words."""
    schema = MilvusClient.create_schema(auto_id=False, enable_dynamic_field=False)
    schema.add_field(PK, DataType.VARCHAR, is_primary=True, max_length=32)
    schema.add_field(WORD, DataType.VARCHAR, max_length=MAX_BYTES)
    schema.add_field(COUNT, DataType.INT64)
    schema.add_field(STATE, DataType.JSON)
    schema.add_field(TRIGRAMS, DataType.SPARSE_FLOAT_VECTOR)
    indexes = MilvusClient.prepare_index_params()
    indexes.add_index(TRIGRAMS, index_type="SPARSE_INVERTED_INDEX", metric_type="IP")
    client.create_collection(layout.lexemes, schema=schema, index_params=indexes, consistency_level="Session")


def _updated(row: Mapping[str, Any], changed: Changed) -> dict[str, Any]:
    """Return `row` with what we keep of its chunk now."""
    vector = {} if changed.vector is None else vector_fields(changed.vector)
    words = sparse_vector(weights_by_hash(changed.words))
    return {**row, **own_fields(changed.stored.own), **vector, WORDS: words}


def _word_row(word: str, count: int, state: Mapping[str, Any]) -> dict[str, Any]:
    trigrams = sparse_vector(trigram_weights(word))
    return {PK: row_key(word), WORD: word, COUNT: count, STATE: dict(state), TRIGRAMS: trigrams}


def read_rows(client: Any, collection: str, fields: list[str]) -> Iterator[Mapping[str, Any]]:
    """Yield all rows of a collection, in batches."""
    batches = client.query_iterator(collection, batch_size=BATCH_SIZE, output_fields=fields, consistency_level="Strong")
    try:
        while batch := batches.next():
            yield from batch
    finally:
        batches.close()


def _call(name: str, collection: str, **options: Any) -> Call:
    return name, {"collection_name": collection, **options}


def _query(channel: Channel) -> Any:
    return sparse_vector(channel.query) if isinstance(channel.query, dict) else channel.query


def _field(channel: Channel) -> str:
    return WORDS if isinstance(channel.query, dict) else VECTOR


def _expr(channel: Channel, condition: str) -> str:
    return condition if isinstance(channel.query, dict) else all_of([f"{HAS_VECTOR} == true", condition])


def _similarities(vector: Any, rows: Iterable[Mapping[str, Any]]) -> dict[Any, float]:
    """Return the cosines of `vector` and the embeddings of `rows`, by their keys."""
    stored = {row[PK]: row[VECTOR] for row in rows if row[HAS_VECTOR]}
    if not stored:
        return {}
    query, matrix = np.asarray(vector, dtype=float), np.asarray([*stored.values()], dtype=float)
    lengths = np.linalg.norm(matrix, axis=1) * np.linalg.norm(query)
    cosines = np.divide(matrix @ query, lengths, out=np.zeros(len(matrix)), where=lengths > 0)
    return dict(zip(stored, cosines.tolist(), strict=True))


def _inner_product(query: Any, stored: Mapping[int, float]) -> float:
    return float(sum(weight * stored.get(at, 0.0) for at, weight in query.items()))


def _document_condition(document_id: str, refs: Sequence[ChunkRef]) -> str:
    """Return the condition of the chunks of a document that `refs` ask for."""
    needed = [f'{DOCUMENT} == "{row_key(document_id)}"']
    if (asked := split_places(refs)) is not None:
        by_index = [any_of(PLACE, asked["index"])] if "index" in asked else []
        by_id = [any_of(PK, list(map(row_key, asked["id"])))] if "id" in asked else []
        needed.append(" or ".join([*by_index, *by_id]))
    return all_of(needed)
