"""Vector stores of LangChain and LlamaIndex as tables to index, told by their attributes: neither is imported."""

# ruff: noqa: SLF001  what is private here has no public name: the store inside a PGVectorStore, LlamaIndex's table

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

from ctxassembly.data.chunk_origin import origin_in
from ctxassembly.data.chunks import Chunk
from ctxassembly.data.metadata_keys import MetadataKeys
from ctxassembly.errors import ConfigError, InputError
from ctxassembly.safe_repr import as_name, shown
from ctxassembly.stores.postgres.catalog import Described
from ctxassembly.stores.postgres.lexemes import lexemes_missing, lexemes_name
from ctxassembly.stores.postgres.schema import (
    Fields,
    Plan,
    Step,
    added_words,
    analysed,
    dropped,
    full_name,
    mark,
    place_indexed,
    vectors_indexed,
    words_indexed,
)
from ctxassembly.stores.postgres.table import MOST_INDEXED, TSV, IndexedTable, shortened

_SOURCE, _PREVIOUS, _NEXT, _PARENT = "1", "2", "3", "4"
"""Relationships of a node, as LlamaIndex writes them."""


class Attached(NamedTuple):
    """The table in which a vector store keeps its chunks."""

    url: Any
    home: IndexedTable
    """Taken from the vector store itself."""


def located(vectorstore: Any) -> Attached:
    """The table of a vector store.

    Raises:
        InputError: it isn't one that keeps a table in PostgreSQL.
    """
    inner = getattr(vectorstore, "_PGVectorStore__vs", vectorstore)
    if hasattr(inner, "metadata_json_column") and hasattr(inner, "id_column"):
        return Attached(
            inner.engine.url,
            IndexedTable(
                name=inner.table_name,
                schema=inner.schema_name,
                key=inner.id_column,
                id=inner.id_column,
                content=inner.content_column,
                embedding=inner.embedding_column,
                metadata=inner.metadata_json_column,
                columns=dict.fromkeys(inner.metadata_columns, ""),
            ),
        )
    if hasattr(inner, "_table_class") and hasattr(inner, "embed_dim"):
        inner._initialize()  # the table is made on first use
        table = inner._table_class.__table__
        home = IndexedTable(
            name=table.name,
            schema=table.schema,
            key="id",
            id="node_id",
            content="text",
            embedding="embedding",
            metadata="metadata_",
            dialect="llamaindex",
        )
        return Attached(inner._engine.url, home)
    raise InputError(
        "vectorstore must be a PGVectorStore or AsyncPGVectorStore of langchain-postgres, or a PGVectorStore of "
        f"llama-index-vector-stores-postgres, got {shown(vectorstore)}; PostgresIndex.create() makes a table of its own"
    )


def completed(home: IndexedTable, found: Described) -> IndexedTable:
    """`home` with the types that the database gives.

    Raises:
        ConfigError: there is no such table, or its embeddings are of no type of pgvector.
    """
    if not found.exists:
        raise ConfigError("vectorstore", "one whose table exists", full_name(home))
    if not found.is_plain:
        raise ConfigError("vectorstore", "one of an ordinary table: no view, no partitions", full_name(home))
    kind = found.types.get(home.embedding)
    if kind not in ("vector", "halfvec"):
        raise ConfigError("vectorstore", f"one whose {home.embedding!r} is a vector or halfvec of pgvector", kind)
    return replace(
        home,
        columns={name: found.types[name] for name in home.columns if name in found.types},
        is_jsonb=home.metadata is None or found.types.get(home.metadata) == "jsonb",
        vector_type=kind,
        dimensions=found.dimensions[home.embedding],
        has_trigrams="pg_trgm" in found.extensions,
        has_notes=found.has_notes,
        reads_lexemes=found.reads_lexemes,
    )


def missing(home: IndexedTable, found: Described, fields: Fields, keys: MetadataKeys, *, hnsw: bool) -> Plan:
    """The statements that a framework's table still needs.

    Raises:
        ConfigError: its words were indexed otherwise before.
    """
    steps: list[Step] = []
    notes: list[str] = []
    if TSV not in found.types:
        steps += added_words(home, fields, found.version)
    elif found.words_of != mark(home, fields):
        raise ConfigError(
            "language, title and questions",
            f"what the table was indexed with ({found.words_of}); "
            f"to change that: ALTER TABLE {full_name(home)} DROP COLUMN {TSV}",
            str(fields),
        )
    own = [name for name in found.invalid if name in _names(home)]
    steps += dropped(home, own)
    steps += _new(words_indexed(home), found)
    place = _place(home, keys)
    if place:
        steps += [] if found.has_index_on(*place) else _new(place_indexed(home, *place), found)
    elif home.dialect == "mapping":
        notes.append("no columns of document and place: number_stored_chunks(vectorstore) makes an index of the JSON")
    if hnsw and not found.has_hnsw:
        steps += vectors_indexed(home, concurrently=True)
    if not found.has_hnsw and not (hnsw and home.can_have_hnsw):
        notes.append(f"no HNSW index: vectors are compared one by one, exactly; {hnsw_remedy(home)}")
    if steps:
        steps.append(analysed(home))
    steps += lexemes_missing(home, found)
    if not home.has_trigrams:
        notes.append("no near words for words that no chunk has: CREATE EXTENSION pg_trgm, then attach again")
    if found.has_policies and found.unread_by:
        notes.append(
            f"row-level security: {lexemes_name(home)} has the words of all rows, so its owner alone reads it; "
            "others find no near words for words that no chunk has"
        )
    return Plan(tuple(steps), tuple(notes))


def hnsw_remedy(home: IndexedTable) -> str:
    """The way to an HNSW index."""
    if home.can_have_hnsw:
        return "attach(..., hnsw=True) makes one"
    return f"it takes a column of up to {MOST_INDEXED['halfvec']:,} dimensions, the same for all rows"


def _names(home: IndexedTable) -> set[str]:
    return {shortened(home.name, f"ctxassembly_{ending}") for ending in ("tsv", "place", "hnsw")}


def _new(steps: Iterator[Step], found: Described) -> list[Step]:
    return [step for step in steps if step.name not in found.indexes]


def _place(home: IndexedTable, keys: MetadataKeys) -> tuple[str, str] | None:
    """The columns of document and place; None if one isn't there."""
    document = next((name for name in keys.document_id if name in home.columns), None)
    index = next((name for name in keys.index if name in home.columns), None)
    return (document, index) if document and index else None


def langchain_chunk(id_: Any, text: str, metadata: Mapping[str, Any], keys: MetadataKeys) -> Chunk:
    """The chunk in a row of LangChain's. Without an index its offset counts in the page or section that it names."""
    document, index = keys.document_of(metadata), keys.read(metadata, "index")
    return Chunk(
        id=str(id_),
        document_id=as_name(document) or str(id_),
        text=text,
        index=index,
        start=keys.read(metadata, "start"),
        metadata=metadata,
        origin=origin_in(metadata, keys) if index is None else None,
    )


def llamaindex_chunk(id_: Any, text: str, metadata: Mapping[str, Any], keys: MetadataKeys) -> Chunk:
    """The chunk in a row of LlamaIndex's: a node as JSON in the metadata, whose own they are."""
    try:
        node = json.loads(metadata.get("_node_content") or "{}")
    except (TypeError, ValueError):
        node = {}
    node = node if isinstance(node, dict) else {}
    inner = node.get("metadata")
    own: Mapping[str, Any] = inner if isinstance(inner, dict) else metadata
    source, before, after = (_related(node, kind) for kind in (_SOURCE, _PREVIOUS, _NEXT))
    document = source or keys.document_of(own)
    # With a parent the offset counts in that one's text, which isn't at hand here.
    start = None if _related(node, _PARENT) else node.get("start_char_idx")
    return Chunk(
        id=str(id_),
        document_id=as_name(document) or str(id_),
        text=text,
        index=keys.read(own, "index"),
        start=start,
        prev_id=before,
        next_id=after,
        metadata=own,
        unread=frozenset(key for key in node.get("excluded_llm_metadata_keys") or () if isinstance(key, str)),
    )


def _related(node: Mapping[str, Any], kind: str) -> str | None:
    related = node.get("relationships")
    one = related.get(kind) if isinstance(related, dict) else None
    name = one.get("node_id") if isinstance(one, dict) else None
    return name if isinstance(name, str) else None
