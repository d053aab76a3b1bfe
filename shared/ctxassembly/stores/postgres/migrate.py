"""Tables made ready for an index: new ones, those that a framework made, and both after chunks were written."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from dataclasses import replace
from functools import partial
from typing import Any

from ctxassembly.data.metadata_keys import MetadataKeys
from ctxassembly.data.validation import check_int
from ctxassembly.errors import ConfigError, InputError
from ctxassembly.safe_repr import describe_error, safe_repr
from ctxassembly.stores.postgres import schema
from ctxassembly.stores.postgres.connection import Server, server_url
from ctxassembly.stores.postgres.lookup import CHUNK_COLUMNS, langchain_table
from ctxassembly.stores.postgres.maintenance import MaintenanceConnection
from ctxassembly.stores.postgres.table import (
    MAX_DIMENSIONS,
    OWN_COLUMNS,
    ROW_ESTIMATE,
    TSV,
    IndexedTable,
    TableInfo,
    describe_table,
    members_sql,
    text_literal,
    title_index_name,
)
from ctxassembly.user_warnings import with_remedy

# ruff: noqa: SLF001  what is private here has no public name: the store inside a PGVectorStore, LlamaIndex's table

_ANALYZE_DIVISOR = 10
"""Statistics are updated once a tenth of the rows has changed, as autovacuum does it a minute later."""


def make_server(url: Any, ef_search: int, *, pickles_password: bool = False) -> Server:
    """Return the server of a URL for any driver.

    Raises:
        ConfigError: it is no such URL, or `ef_search` is out of range.
    """
    check_int("ef_search", ef_search, 1, 1000)
    return Server(server_url(url), ef_search, pickles_password)


def create_table(
    work: MaintenanceConnection,
    name: str,
    schema_name: str,
    fields: schema.WordFields,
    dimensions: int,
    partitions: int | None,
) -> IndexedTable:
    """Return a table of our own, created if it doesn't exist.

    Raises:
        ConfigError: it was made otherwise.
    """
    table = IndexedTable(
        name=name,
        schema=schema_name,
        key="id",
        id="id",
        content="content",
        embedding="embedding",
        metadata="metadata",
        columns=OWN_COLUMNS,
        vector_type="vector" if dimensions <= MAX_DIMENSIONS["vector"] else "halfvec",
        dimensions=dimensions,
        has_notes=True,
        is_own=True,
    )
    _create_extensions(work, table)
    info = work.describe_table(table)
    table = replace(
        table,
        has_trigrams="pg_trgm" in info.extensions,
        has_pairs=info.languages.get(fields.language, False),
        has_titles=info.is_utf8,
    )

    def create_missing() -> None:
        # Another process may have done it while this one waited.
        for step in _own_missing_steps(describe_table(work.connection, schema_name, name), table, fields, partitions):
            work.connection.execute(step.sql.encode())

    if _own_missing_steps(info, table, fields, partitions):
        work.retry_on_lock(table.full_name, create_missing, turn="alone")
    return _with_lexeme_access(table, work.describe_table(table))


def _own_missing_steps(
    info: TableInfo, table: IndexedTable, fields: schema.WordFields, partitions: int | None
) -> list[schema.Step]:
    """Return the steps that a table of our own still needs.

    Raises:
        ConfigError: it was made otherwise.
    """
    _check_language(info, fields)
    if not info.exists:
        return [schema.create_table_step(table, fields, partitions), *schema.missing_lexeme_steps(table, info)]
    if info.types.keys() < {*CHUNK_COLUMNS, table.embedding, "content_hash"}:
        raise ConfigError("table", "a new one, or one that PostgresIndex.create made", table.name)
    if partitions not in (None, len(info.leaves)):
        raise ConfigError("partitions", f"as the existing table has them ({len(info.leaves) or None})", partitions)
    existing = info.dimensions[table.embedding]
    if existing != table.dimensions:
        hint = f": write dimensions={existing}, or give another table="
        raise ConfigError("dimensions", f"{existing}, as in the existing table {table.name!r}", table.dimensions, hint)
    if info.words_mark != schema.words_mark(table, fields):
        allowed = f"as the existing table has them ({info.words_mark})"
        raise ConfigError("language, title and questions", allowed, str(fields))
    return [*schema.missing_lexeme_steps(table, info)]


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
            work.retry_on_lock("extensions", partial(work.connection.execute, made), turn="alone")
        except refused as error:
            if name == "vector":
                reason = describe_error(error, max_lines=1)
                message = f"the database has no pgvector, and this user can't create it ({reason}): install pgvector "
                raise ConfigError.worded(
                    "url", f"{message}on the server, and let a superuser run CREATE EXTENSION vector in this database"
                ) from None
            _warn_no_trigrams()


def locate_table(vectorstore: Any) -> tuple[Any, IndexedTable]:
    """Return the URL of a vector store's database, and its table there.

    Raises:
        InputError: it isn't one that keeps a table in PostgreSQL.
    """
    inner = getattr(vectorstore, "_PGVectorStore__vs", vectorstore)
    if hasattr(inner, "metadata_json_column") and hasattr(inner, "id_column"):
        return inner.engine.url, langchain_table(inner)
    if hasattr(inner, "_table_class") and hasattr(inner, "embed_dim"):
        inner._initialize()  # the table is made on first use
        orm_table = inner._table_class.__table__
        return inner._engine.url, IndexedTable(
            name=orm_table.name,
            schema=orm_table.schema,
            key="id",
            id="node_id",
            content="text",
            embedding="embedding",
            metadata="metadata_",
            dialect="llamaindex",
        )
    raise InputError(
        "vectorstore must be a PGVectorStore or AsyncPGVectorStore of langchain-postgres, or a PGVectorStore of "
        f"llama-index-vector-stores-postgres, got {safe_repr(vectorstore)}; PostgresIndex.create() makes a table "
        "of its own"
    )


def attach_table(
    work: MaintenanceConnection,
    table: IndexedTable,
    fields: schema.WordFields,
    keys: MetadataKeys,
    *,
    hnsw: bool,
    dry_run: bool,
) -> tuple[IndexedTable, schema.Plan]:
    """Return a vector store's table and the steps executed; with `dry_run` the steps that are missing."""

    def make_plan() -> tuple[TableInfo, IndexedTable, schema.Plan]:
        info = work.describe_table(table)
        complete = _complete_types(table, info, fields)
        _check_language(info, fields)
        steps = _missing_steps(complete, info, fields, keys, hnsw=hnsw)
        return info, complete, schema.Plan(tuple(steps), tuple(_limits(complete, info, keys, hnsw=hnsw)))

    info, complete, plan = make_plan()
    if dry_run:
        return complete, plan
    if plan.steps:
        if not info.is_owned:
            allowed = "one whose table this user owns; attach(..., dry_run=True) prints what its owner has to run"
            raise ConfigError("vectorstore", allowed, table.full_name)
        # Another process may have done it while this one waited.
        work.hold_turn(table.full_name, lambda: work.execute(table.full_name, make_plan()[-1].steps))
        info, complete, _ = make_plan()
    if not complete.has_trigrams:
        _warn_no_trigrams()
    return _with_lexeme_access(complete, info), plan


def _complete_types(table: IndexedTable, info: TableInfo, fields: schema.WordFields) -> IndexedTable:
    """Return `table` with the types that the database gives.

    Raises:
        ConfigError: there is no such table, or its embeddings are of no type of pgvector.
    """
    if not info.exists:
        raise ConfigError("vectorstore", "one whose table exists", table.full_name)
    if not (info.is_ordinary or info.leaves):
        raise ConfigError("vectorstore", "one of a table, which may have partitions: no view", table.full_name)
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
        has_pairs=info.languages.get(fields.language, False),
        can_read_lexemes=info.can_read_lexemes,
        has_titles=info.is_utf8,
    )


def _missing_steps(
    table: IndexedTable, info: TableInfo, fields: schema.WordFields, keys: MetadataKeys, *, hnsw: bool
) -> list[schema.Step]:
    """Return the statements that a framework's table still needs.

    Raises:
        ConfigError: its words were indexed otherwise before.
    """
    steps: list[schema.Step] = []
    if TSV not in info.types:
        steps += schema.words_column_steps(table, fields, info.server_version)
    elif info.words_mark != schema.words_mark(table, fields):
        raise ConfigError(
            "language, title and questions",
            f"what the table was indexed with ({info.words_mark}); "
            f"to change that: ALTER TABLE {table.full_name} DROP COLUMN {TSV}",
            str(fields),
        )
    # An index of a partitioned table is made in one transaction: an invalid one is another client's, under way.
    for part in info.leaves:
        steps += schema.drop_index_steps(part, part.invalid_indexes)
    if not info.leaves:
        steps += schema.drop_index_steps(table, info.invalid_indexes)
    indexes = list(schema.words_index_steps(table, info.leaves))
    position_columns = _position_columns(table, keys)
    if position_columns and not info.has_index_on(*position_columns):
        indexes += schema.position_index_steps(table, *position_columns, info.leaves)
    steps += [step for step in indexes if step.name not in info.indexes]
    if hnsw and not info.has_vector_index:
        steps += schema.vector_index_steps(table, concurrently=True, leaves=info.leaves)
    if steps:
        steps.append(schema.analyze_step(table))
    return [*steps, *schema.missing_lexeme_steps(table, info)]


def _limits(table: IndexedTable, info: TableInfo, keys: MetadataKeys, *, hnsw: bool) -> list[str]:
    """Return what the index over a framework's table does without, for its plan."""
    limits: list[str] = []
    if table.dialect == "mapping" and not _position_columns(table, keys):
        limits.append("no columns of document and place: number_stored_chunks(vectorstore) makes an index of the JSON")
    if not info.has_vector_index and not (hnsw and table.can_have_hnsw):
        instruction = f"it takes a column of up to {MAX_DIMENSIONS['halfvec']:,} dimensions, the same for all rows"
        if table.can_have_hnsw:
            instruction = "attach(..., hnsw=True) makes one"
        limits.append(f"no HNSW index: vectors are compared one by one, exactly; {instruction}")
    if not table.has_trigrams:
        limits.append("no near words for words that no chunk has: CREATE EXTENSION pg_trgm, then attach again")
    if title_index_name(table.name) not in info.indexes:
        way = "number_stored_chunks(vectorstore) makes it" if info.is_utf8 else "it takes a database in UTF-8"
        limits.append(f"no index of titles: documents that others mention aren't found by theirs; {way}")
    if info.has_policies and info.readers_without_lexemes:
        limits.append(
            f"row-level security: {table.lexemes_name} has the words of all rows, so its owner alone reads it; "
            "others find no near words for words that no chunk has"
        )
    return limits


def _position_columns(table: IndexedTable, keys: MetadataKeys) -> tuple[str, str] | None:
    """Return the columns of document and index; None if one is missing."""
    document = next((name for name in keys.document_id if name in table.columns), None)
    index = next((name for name in keys.index if name in table.columns), None)
    return (document, index) if document and index else None


def _check_language(info: TableInfo, fields: schema.WordFields) -> None:
    if fields.language not in info.languages:
        known = ", ".join(sorted(name for name in info.languages if not name.startswith("pg_catalog.")))
        raise ConfigError("language", f"a text search configuration of this database ({known})", fields.language)


def _with_lexeme_access(table: IndexedTable, info: TableInfo) -> IndexedTable:
    """Return `table`; warn if the user may not read its words, unless row-level security is the reason."""
    if not info.can_read_lexemes and not info.has_policies:
        lexemes_table = table.lexemes_name
        message = with_remedy(
            f"This user may not read {lexemes_table[:60]}",
            "Searches take longer, and misspelled words find nothing",
            f"GRANT SELECT ON {lexemes_table} TO your_user",
        )
        warnings.warn(message, stacklevel=3)
    return replace(table, can_read_lexemes=info.can_read_lexemes)


def _warn_no_trigrams() -> None:
    message = with_remedy("There is no pg_trgm", "Misspelled words find nothing", "CREATE EXTENSION pg_trgm")
    warnings.warn(message, stacklevel=3)


def complete_changes(work: MaintenanceConnection, table: IndexedTable, changed_rows: int) -> None:
    """Do what is due after `changed_rows` rows were written: an index of the vectors, and statistics."""
    steps = _missing_hnsw_steps(work, table)
    # Autovacuum analyzes no partitioned table, so what earlier runs added to it counts, too.
    statement = (
        f"SELECT reltuples, (SELECT sum({ROW_ESTIMATE}) FROM pg_class"
        f" WHERE oid = ANY ({members_sql(table.full_name)}) AND relkind = 'r')"
        f" FROM pg_class WHERE oid = {text_literal(table.full_name)}::regclass"
    )
    [(analyzed_rows, rows)] = work.connection.execute(statement.encode()).fetchall()
    if changed_rows and max(changed_rows, abs(rows - analyzed_rows)) * _ANALYZE_DIVISOR >= max(analyzed_rows, 0):
        steps += [schema.analyze_step(table), schema.update_shares_step(table)]
    if changed_rows:
        steps += schema.flush_pending_steps(table)
    _execute_in_turn(work, table, steps)


def refresh(work: MaintenanceConnection, table: IndexedTable) -> None:
    """Update the statistics and the table of words, and make the missing HNSW index of a table of our own."""
    steps = _missing_hnsw_steps(work, table) if table.is_own else []
    _execute_in_turn(work, table, [*steps, schema.analyze_step(table), *schema.refresh_lexemes_steps(table)])


def _missing_hnsw_steps(work: MaintenanceConnection, table: IndexedTable) -> list[schema.Step]:
    if work.describe_table(table).has_vector_index:
        return []
    return list(schema.vector_index_steps(table, concurrently=False))


def _execute_in_turn(work: MaintenanceConnection, table: IndexedTable, steps: Iterable[schema.Step]) -> None:
    """Execute each of `steps` in a transaction of its own: a lock in the way of one costs no work on another."""
    for step in steps:
        work.retry_on_lock(table.full_name, partial(work.connection.execute, step.sql.encode()), turn="alone")
