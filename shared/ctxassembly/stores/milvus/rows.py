"""The fields of a collection of Milvus, and the keys of its rows.

Ids are looked up by their hashes: Milvus Lite doesn't escape a backslash in a key, and the condition of a hash is safe
whatever an id contains.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from hashlib import blake2b
from typing import Any

from pymilvus import DataType, MilvusClient

from ctxassembly.data.chunks import origin_of
from ctxassembly.data.metadata_keys import MetadataKeys
from ctxassembly.errors import InputError
from ctxassembly.safe_repr import safe_repr
from ctxassembly.stores.ingest import Row, Vector, metadata_json
from ctxassembly.stores.sparse.rows import OWN, TRIGRAMS, WORDS, Layout, Stored, own_chunk, own_values, weights_by_hash

PK, TEXT, METADATA, VECTOR = "pk", "text", "metadata", "vector"
"""Fields named as LangChain's Milvus names them."""
DOCUMENT = "document"
"""The hash of the document's id."""
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


def row_key(text: str) -> str:
    """Return the key of a row, or of a document, for an id or a word of any kind."""
    return blake2b(text.encode(), digest_size=16).hexdigest()


STATE_KEY = row_key("")


def any_of(field: str, values: Sequence[Any]) -> str:
    """Return the condition that a field is one of `values`, which are keys or numbers."""
    return f"{field} in {json.dumps(list(values))}"


def sparse_vector(weights: Mapping[int, float]) -> Mapping[int, float]:
    """Return weights by their hashes as Milvus takes them."""
    return weights or _NO_WORDS


def chunk_row(row: Row, words: Mapping[str, float], layout: Layout) -> dict[str, Any]:
    """Return the row of a chunk."""
    chunk, vector, mark = row
    own = own_values(chunk, mark, has_vector=vector is not None)
    if chunk.hidden_from_model:
        own["hidden"] = sorted(chunk.hidden_from_model)
    if chunk.origin is not None:
        own["has_origin"] = True
    return {
        PK: row_key(chunk.id),
        DOCUMENT: row_key(chunk.document_id),
        PLACE: chunk.index,
        TEXT: chunk.text,
        METADATA: json.loads(metadata_json(chunk)),
        WORDS: sparse_vector(weights_by_hash(words)),
        **own_fields(own),
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


def read_row(row: Mapping[str, Any], layout: Layout, keys: MetadataKeys) -> Stored:
    """Return what a row keeps."""
    chunk, own = own_chunk(row, layout), row[OWN]
    if own.get("hidden") or own.get("has_origin"):
        origin = origin_of(chunk.metadata, keys) if own.get("has_origin") else None
        chunk = replace(chunk, origin=origin, hidden_from_model=frozenset(own.get("hidden", ())))
    return Stored(row[PK], chunk, own)


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
