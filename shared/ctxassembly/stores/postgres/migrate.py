"""Tables made ready for an index: new ones, those that a framework made, and both after chunks were written."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from ctxassembly.data.chunk_origin import origin_of
from ctxassembly.data.chunks import Chunk
from ctxassembly.data.metadata_keys import MetadataKeys
from ctxassembly.data.validation import check_int
from ctxassembly.errors import ConfigError, InputError
from ctxassembly.safe_repr import safe_repr, to_id
from ctxassembly.stores.postgres import columns
from ctxassembly.stores.postgres.catalog import TableInfo, describe_table
from ctxassembly.stores.postgres.connection import Server, server_url
from ctxassembly.stores.postgres.maintenance import MaintenanceConnection, open_maintenance
from ctxassembly.stores.postgres.schema import (
    Plan,
    Step,
    WordFields,
    analyze_step,
    create_table_step,
    drop_index_steps,
    flush_pending_steps,
    full_name,
    position_index_steps,
    vector_index_steps,
    words_column_steps,
    words_index_steps,
    words_mark,
)
from ctxassembly.stores.postgres.table import MAX_DIMENSIONS, OWN_COLUMNS, TSV, IndexedTable, derived_name
from ctxassembly.stores.postgres.vocabulary import (
    lexemes_name,
    missing_lexeme_steps,
    refresh_lexemes_steps,
    update_shares_step,
)
from ctxassembly.user_warnings import warn, with_remedy

if TYPE_CHECKING:
    from psycopg import Connection

# ruff: noqa: SLF001  what is private here has no public name: the store inside a PGVectorStore, LlamaIndex's table


_SOURCE, _PREVIOUS, _NEXT, _PARENT = "1", "2", "3", "4"
"""Relationships of a node, as LlamaIndex writes them."""


class AttachedTable(NamedTuple):
    """The table in which a vector store keeps its chunks."""

    url: Any
    table: IndexedTable
    """Taken from the vector store itself."""


def locate_table(vectorstore: Any) -> AttachedTable:
    """Return the table of a vector store.

    Raises:
        InputError: it isn't one that keeps a table in PostgreSQL.
    """
    inner = getattr(vectorstore, "_PGVectorStore__vs", vectorstore)
    if hasattr(inner, "metadata_json_column") and hasattr(inner, "id_column"):
        return AttachedTable(
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
        orm_table = inner._table_class.__table__
        table = IndexedTable(
            name=orm_table.name,
            schema=orm_table.schema,
            key="id",
            id="node_id",
            content="text",
            embedding="embedding",
            metadata="metadata_",
            dialect="llamaindex",
        )
        return AttachedTable(inner._engine.url, table)
    raise InputError(
        "vectorstore must be a PGVectorStore or AsyncPGVectorStore of langchain-postgres, or a PGVectorStore of "
        f"llama-index-vector-stores-postgres, got {safe_repr(vectorstore)}; PostgresIndex.create() makes a table "
        "of its own"
    )


def complete_types(table: IndexedTable, info: TableInfo) -> IndexedTable:
    """Return `table` with the types that the database gives.

    Raises:
        ConfigError: there is no such table, or its embeddings are of no type of pgvector.
    """
    if not info.exists:
        raise ConfigError("vectorstore", "one whose table exists", full_name(table))
    if not info.is_ordinary:
        raise ConfigError("vectorstore", "one of an ordinary table: no view, no partitions", full_name(table))
    kind = info.types.get(table.embedding)
    if kind not in ("vector", "halfvec"):
        raise ConfigError("vectorstore", f"one whose {table.embedding!r} is a vector or halfvec of pgvector", kind)
    return replace(
        table,
        columns={name: info.types[name] for name in table.columns if name in info.types},
        is_jsonb=table.metadata is None or info.types.get(table.metadata) == "jsonb",
        vector_type=kind,
        dimensions=info.dimensions[table.embedding],
        has_trigrams="pg_trgm" in info.extensions,
        has_notes=info.has_notes,
        can_read_lexemes=info.can_read_lexemes,
    )


def missing_steps(table: IndexedTable, info: TableInfo, fields: WordFields, keys: MetadataKeys, *, hnsw: bool) -> Plan:
    """Return the statements that a framework's table still needs.

    Raises:
        ConfigError: its words were indexed otherwise before.
    """
    steps: list[Step] = []
    notes: list[str] = []
    if TSV not in info.types:
        steps += words_column_steps(table, fields, info.server_version)
    elif info.words_mark != words_mark(table, fields):
        raise ConfigError(
            "language, title and questions",
            f"what the table was indexed with ({info.words_mark}); "
            f"to change that: ALTER TABLE {full_name(table)} DROP COLUMN {TSV}",
            str(fields),
        )
    invalid_indexes = [name for name in info.invalid_indexes if name in _own_index_names(table)]
    steps += drop_index_steps(table, invalid_indexes)
    steps += _without_existing(words_index_steps(table), info)
    position_columns = _position_columns(table, keys)
    if position_columns:
        steps += (
            []
            if info.has_index_on(*position_columns)
            else _without_existing(position_index_steps(table, *position_columns), info)
        )
    elif table.dialect == "mapping":
        notes.append("no columns of document and place: number_stored_chunks(vectorstore) makes an index of the JSON")
    if hnsw and not info.has_hnsw:
        steps += vector_index_steps(table, concurrently=True)
    if not info.has_hnsw and not (hnsw and table.can_have_hnsw):
        notes.append(f"no HNSW index: vectors are compared one by one, exactly; {hnsw_remedy(table)}")
    if steps:
        steps.append(analyze_step(table))
    steps += missing_lexeme_steps(table, info)
    if not table.has_trigrams:
        notes.append("no near words for words that no chunk has: CREATE EXTENSION pg_trgm, then attach again")
    if info.has_policies and info.readers_without_lexemes:
        notes.append(
            f"row-level security: {lexemes_name(table)} has the words of all rows, so its owner alone reads it; "
            "others find no near words for words that no chunk has"
        )
    return Plan(tuple(steps), tuple(notes))


def hnsw_remedy(table: IndexedTable) -> str:
    """Return the instruction that adds an HNSW index."""
    if table.can_have_hnsw:
        return "attach(..., hnsw=True) makes one"
    return f"it takes a column of up to {MAX_DIMENSIONS['halfvec']:,} dimensions, the same for all rows"


def _own_index_names(table: IndexedTable) -> set[str]:
    return {derived_name(table.name, f"ctxassembly_{ending}") for ending in ("tsv", "place", "hnsw")}


def _without_existing(steps: Iterator[Step], info: TableInfo) -> list[Step]:
    return [step for step in steps if step.name not in info.indexes]


def _position_columns(table: IndexedTable, keys: MetadataKeys) -> tuple[str, str] | None:
    """Return the columns of document and index; None if one is missing."""
    document = next((name for name in keys.document_id if name in table.columns), None)
    index = next((name for name in keys.index if name in table.columns), None)
    return (document, index) if document and index else None


def langchain_chunk(id_: Any, text: str, metadata: Mapping[str, Any], keys: MetadataKeys) -> Chunk:
    """Return the chunk in a LangChain row. Without an index, its offset is relative to the page or section it names."""
    document_id, index = keys.read_document_id(metadata), keys.read(metadata, "index")
    return Chunk(
        id=str(id_),
        document_id=to_id(document_id) or str(id_),
        text=text,
        index=index,
        start=keys.read(metadata, "start"),
        metadata=metadata,
        origin=origin_of(metadata, keys) if index is None else None,
    )


def llamaindex_chunk(id_: Any, text: str, metadata: Mapping[str, Any], keys: MetadataKeys) -> Chunk:
    """Return the chunk in a LlamaIndex row, whose metadata holds the node as JSON."""
    try:
        node = json.loads(metadata.get("_node_content") or "{}")
    except (TypeError, ValueError):
        node = {}
    node = node if isinstance(node, dict) else {}
    inner = node.get("metadata")
    node_metadata: Mapping[str, Any] = inner if isinstance(inner, dict) else metadata
    source, before, after = (_related_id(node, kind) for kind in (_SOURCE, _PREVIOUS, _NEXT))
    document_id = source or keys.read_document_id(node_metadata)
    # With a parent the offset counts in that one's text, which isn't at hand here.
    start = None if _related_id(node, _PARENT) else node.get("start_char_idx")
    return Chunk(
        id=str(id_),
        document_id=to_id(document_id) or str(id_),
        text=text,
        index=keys.read(node_metadata, "index"),
        start=start,
        prev_id=before,
        next_id=after,
        metadata=node_metadata,
        hidden_from_model=frozenset(
            key for key in node.get("excluded_llm_metadata_keys") or () if isinstance(key, str)
        ),
    )


def _related_id(node: Mapping[str, Any], kind: str) -> str | None:
    related = node.get("relationships")
    relation = related.get(kind) if isinstance(related, dict) else None
    name = relation.get("node_id") if isinstance(relation, dict) else None
    return name if isinstance(name, str) else None


_ANALYZE_DIVISOR = 10
"""Statistics are updated once a tenth of the rows has changed, as autovacuum does it a minute later."""


def create_table(
    server: Server, name: str, schema: str, fields: WordFields, *, dimensions: int, seconds: float
) -> IndexedTable:
    """Return a table of our own, created if it doesn't exist."""
    check_int("dimensions", dimensions, 1, 16_000)
    kind = "vector" if dimensions <= MAX_DIMENSIONS["vector"] else "halfvec"
    table = IndexedTable(
        name=name,
        schema=schema,
        key="id",
        id="id",
        content="content",
        embedding="embedding",
        metadata="metadata",
        columns=OWN_COLUMNS,
        vector_type=kind,
        dimensions=dimensions,
        is_own=True,
    )
    with open_maintenance(server, seconds) as work:
        _create_extensions(work, table)
        info = work.describe_table(table)
        trigrams = "pg_trgm" in info.extensions
        table = replace(table, has_trigrams=trigrams, has_notes=info.has_notes or not info.exists)
        if _own_missing_steps(info, table, fields):
            work.retry_on_lock(
                full_name(table), partial(_create_missing, work.connection, table, fields), should_take_turn=True
            )
        return _with_lexeme_access(table, work.describe_table(table))


def _create_missing(connection: Connection[Any], table: IndexedTable, fields: WordFields) -> None:
    """Make what is missing. Another process may have done it while this one waited."""
    info = describe_table(connection, table.schema, table.name)
    for step in _own_missing_steps(info, table, fields):
        connection.execute(step.sql.encode())


def _own_missing_steps(info: TableInfo, table: IndexedTable, fields: WordFields) -> list[Step]:
    _check_compatible(table, info, fields)
    new_steps = [] if info.exists else [create_table_step(table, fields)]
    return [*new_steps, *missing_lexeme_steps(table, info)]


class AttachOptions(NamedTuple):
    """The wanted state of a vector store's table."""

    fields: WordFields
    keys: MetadataKeys
    hnsw: bool


def attach_table(
    server: Server, table: IndexedTable, options: AttachOptions, *, dry_run: bool, seconds: float
) -> tuple[IndexedTable, Plan]:
    """Return a vector store's table and the steps executed; with `dry_run` the steps that are missing."""

    def make_plan() -> tuple[TableInfo, IndexedTable, Plan]:
        info = work.describe_table(table)
        complete = complete_types(table, info)
        _check_language(info, options.fields)
        return info, complete, missing_steps(complete, info, *options[:2], hnsw=options.hnsw)

    with open_maintenance(server, seconds) as work:
        info, complete, plan = make_plan()
        if dry_run:
            return complete, plan
        if plan.steps and not info.is_owned:
            allowed = "one whose table this user owns; attach(..., dry_run=True) prints what its owner has to run"
            raise ConfigError("vectorstore", allowed, full_name(table))
        if plan.steps:
            with work.hold_turn(full_name(table)):
                # Another process may have done it while this one waited.
                work.execute(full_name(table), make_plan()[-1].steps)
            info, complete, _ = make_plan()
    if not complete.has_trigrams:
        _warn_no_trigrams()
    return _with_lexeme_access(complete, info), plan


def apply_plan(work: MaintenanceConnection, table: IndexedTable, changed_rows: int) -> None:
    """Do what is due after `changed_rows` rows were written: an index of the vectors, and statistics."""
    _execute_in_turn(work, table, _pending_steps(work, table, changed_rows))


def _execute_in_turn(work: MaintenanceConnection, table: IndexedTable, steps: Iterable[Step]) -> None:
    """Execute each of `steps` in a transaction of its own: a lock in the way of one costs no work on another."""
    for step in steps:
        work.retry_on_lock(full_name(table), partial(work.connection.execute, step.sql.encode()), should_take_turn=True)


def _pending_steps(work: MaintenanceConnection, table: IndexedTable, changed_rows: int) -> list[Step]:
    steps: list[Step] = []
    info = work.describe_table(table)
    if not info.has_hnsw:
        steps += vector_index_steps(table, concurrently=False)
    estimate = work.connection.execute(
        "SELECT reltuples FROM pg_class WHERE oid = %s::regclass", (full_name(table),)
    ).fetchone()
    if changed_rows and estimate and changed_rows * _ANALYZE_DIVISOR >= max(estimate[0], 0):
        steps += [analyze_step(table), update_shares_step(table)]
    if changed_rows:
        steps += flush_pending_steps(table)
    return steps


def refresh(work: MaintenanceConnection, table: IndexedTable) -> None:
    """Update the statistics and the table of words."""
    _execute_in_turn(work, table, [analyze_step(table), *refresh_lexemes_steps(table)])


def make_server(url: Any, ef_search: int) -> Server:
    """Return the server of a URL for any driver.

    Raises:
        ConfigError: it is no such URL, or `ef_search` is out of range.
    """
    check_int("ef_search", ef_search, 1, 1000)
    return Server(server_url(url), ef_search)


def _create_extensions(work: MaintenanceConnection, table: IndexedTable) -> None:
    """Create the extensions that are needed.

    Raises:
        ConfigError: there is no pgvector, and it can't be created.
    """
    from psycopg import errors

    refused = (errors.InsufficientPrivilege, errors.FeatureNotSupported, errors.UndefinedFile, errors.InternalError)
    for name in ("vector", "pg_trgm"):
        if name in work.describe_table(table).extensions:
            continue
        try:
            made = f"CREATE EXTENSION IF NOT EXISTS {name}".encode()
            work.retry_on_lock("extensions", partial(work.connection.execute, made), should_take_turn=True)
        except refused as error:
            if name == "vector":
                raise ConfigError("url", "of a database with pgvector: CREATE EXTENSION vector", str(error)) from error
            _warn_no_trigrams()


def _with_lexeme_access(table: IndexedTable, info: TableInfo) -> IndexedTable:
    """Return `table`; warn if the user may not read its words, unless row-level security is the reason."""
    if not info.can_read_lexemes and not info.has_policies:
        lexemes_table = lexemes_name(table)
        warn(
            with_remedy(
                f"This user may not read {lexemes_table[:60]}: searches take longer, and misspelled words find nothing",
                f"GRANT SELECT ON {lexemes_table}, or PostgresIndex.attach or create by its owner",
            )
        )
    return replace(table, can_read_lexemes=info.can_read_lexemes)


def _warn_no_trigrams() -> None:
    warn(with_remedy("There is no pg_trgm: misspelled words find nothing", "CREATE EXTENSION pg_trgm"))


def _check_language(info: TableInfo, fields: WordFields) -> None:
    if fields.language not in info.languages:
        known = ", ".join(sorted(name for name in info.languages if not name.startswith("pg_catalog.")))
        raise ConfigError("language", f"a text search configuration of this database ({known})", fields.language)


def _check_compatible(table: IndexedTable, info: TableInfo, fields: WordFields) -> None:
    _check_language(info, fields)
    if not info.exists:
        return
    if info.types.keys() < {*columns.CHUNK_COLUMNS, table.embedding, "content_hash"}:
        raise ConfigError("table", "a new one, or one that PostgresIndex.create made", table.name)
    existing = (info.dimensions[table.embedding], info.words_mark)
    if existing != (table.dimensions, words_mark(table, fields)):
        raise ConfigError(
            "dimensions, language, title and questions",
            f"those of the existing table ({existing[0]}, {existing[1]})",
            f"{table.dimensions}, {fields}",
        )
