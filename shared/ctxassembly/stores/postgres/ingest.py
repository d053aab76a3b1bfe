"""Chunks written into a table of our own, and the rows of any table numbered in place.

Chunks are written by COPY, in batches that commit each, and only what isn't there yet. The rule of numbering is the one
of `ctxassembly.stores.numbering`; after the numbers, the title of each document is stored with its first chunk.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import ARRAY, JSONB
from sqlalchemy.schema import CreateIndex

from ctxassembly.data.chunks import Chunk
from ctxassembly.data.metadata_keys import MetadataKeys, to_integer
from ctxassembly.errors import ConfigError, StoreError
from ctxassembly.stores.ingest import (
    IngestReport,
    Row,
    Vector,
    batches,
    check_documents,
    extras_json,
    incomplete_error,
    metadata_json,
    plain_values,
    write_missing,
)
from ctxassembly.stores.numbering import BATCH_SIZE as NUMBERED_AT_ONCE
from ctxassembly.stores.numbering import NumberingReport, RecordForm, number_collection, place_order
from ctxassembly.stores.postgres.lookup import json_text, stored_title
from ctxassembly.stores.postgres.maintenance import MaintenanceConnection
from ctxassembly.stores.postgres.schema import MAX_LEXEME_CHARS
from ctxassembly.stores.postgres.search import check_vector, format_vector
from ctxassembly.stores.postgres.table import (
    EXTRAS,
    TITLE,
    TSV,
    IndexedTable,
    any_key,
    derived_name,
    quoted_name,
    title_beginning,
    title_index_name,
)

BATCH_SIZE = 512
"""Chunks a transaction; embeddings are asked for as many texts at once."""
_COLUMNS = (
    f"id, document_id, chunk_index, start_index, prev_id, next_id, content, metadata, {EXTRAS}, content_hash, embedding"
)


Firsts = dict[str, tuple[int, str, str | None]]
"""By the ids of documents, the place, id and title of their first chunk."""


def write_chunks(
    work: MaintenanceConnection,
    table: IndexedTable,
    pairs: Iterator[tuple[Chunk, Vector | None]],
    keys: MetadataKeys,
    embed: Any,
    on_batch: Callable[[int], object],
    *,
    replace: bool,
) -> IngestReport:
    """Write chunks with vectors, and titles under `keys`; `on_batch` gets the number of chunks done after each batch.

    Raises:
        InputError: `embed` is no function, something in a chunk can't be stored, or other chunks of the documents are
            stored, and `replace` is False.
        ConfigError: an id is given twice, or is stored for another document; a vector that the table can't take.
        StoreError: another run has deleted some of the chunks, as it had other chunks of a document.
    """
    firsts: Firsts = {}

    def read_stored(chunks: list[Chunk]) -> dict[str, tuple[str, str, bool]]:
        for chunk in chunks:
            place = chunk.index or 0
            if chunk.document_id not in firsts or place < firsts[chunk.document_id][0]:
                firsts[chunk.document_id] = place, chunk.id, stored_title(chunk, keys)
        read = partial(_read_stored, work, table, [chunk.id for chunk in chunks])
        return work.retry_on_lock(table.full_name, read)

    given, check = batches(pairs, BATCH_SIZE), partial(check_vector, table=table)
    write = partial(_write_rows, work, table)
    documents, added, unchanged = write_missing(given, embed, check, read_stored, write, on_batch)
    if not replace:
        check_whole(work, table, documents)
    deleted = _delete_others(work, table, documents, replace=replace)
    _write_titles(work, table, firsts)
    return IngestReport(added, unchanged, deleted)


def _read_stored(work: MaintenanceConnection, table: IndexedTable, ids: list[str]) -> dict[str, tuple[str, str, bool]]:
    """Return document and mark of what is stored under `ids`, and True where it has no vector."""
    name = _escaped_table(table)
    statement = f"SELECT id, document_id, content_hash, embedding IS NULL FROM {name} WHERE id = ANY(%s)"
    return {id_: (*stored,) for id_, *stored in work.connection.execute(statement.encode(), (ids,))}


def _write_rows(work: MaintenanceConnection, table: IndexedTable, rows: list[Row]) -> None:
    """Replace `rows` in one transaction, while others may write other rows."""
    ids = [chunk.id for chunk, *_ in rows]
    delete_statement = f"DELETE FROM {_escaped_table(table)} WHERE id = ANY(%s) RETURNING id, document_id"

    def replace_rows() -> None:
        with work.connection.cursor() as cursor:
            cursor.execute(delete_statement.encode(), (ids,))
            # Another run may have taken an id meanwhile. The error rolls the deletion back.
            check_documents(cursor.fetchall(), rows)
            with cursor.copy(f"COPY {table.full_name} ({_COLUMNS}) FROM STDIN".encode()) as copy:
                for chunk, vector, mark in rows:
                    written_vector = None if vector is None else format_vector(vector)
                    values = (*plain_values(chunk), metadata_json(chunk), extras_json(chunk))
                    copy.write_row((*values, mark, written_vector))
            insert_words(cursor, table, ids)

    work.retry_on_lock(table.full_name, replace_rows, turn="shared")


def _write_titles(work: MaintenanceConnection, table: IndexedTable, firsts: Firsts) -> None:
    """Store each title with the first chunk of its document alone."""
    title = "CASE stored.id WHEN given.id THEN given.title END"
    statement = (
        f"UPDATE {_escaped_table(table)} AS stored SET {TITLE} = {title} "
        "FROM unnest(%s::text[], %s::text[], %s::text[]) AS given(document_id, id, title) "
        f"WHERE stored.document_id = given.document_id AND stored.{TITLE} IS DISTINCT FROM {title}"
    )
    for batch in batches(firsts.items(), BATCH_SIZE):
        given = tuple(map(list, zip(*((document, id_, title) for document, (_, id_, title) in batch), strict=True)))
        update = partial(work.connection.execute, statement.encode(), given)
        work.retry_on_lock(table.full_name, update, turn="alone")


def insert_words(cursor: Any, table: IndexedTable, keys: Sequence[Any]) -> None:
    """Add the words of these rows to those that the table has.

    In their order, so one of two writers may wait for the other, but never each for the other.
    """
    cursor.execute(
        f"INSERT INTO {_escape_percent(table.lexemes_name)} SELECT DISTINCT lexeme FROM {_escaped_table(table)}, "
        f"unnest({TSV}) "
        f"WHERE {_escape_percent(quoted_name(table.key))} = ANY(%s) AND length(lexeme) <= {MAX_LEXEME_CHARS} "
        "ORDER BY lexeme ON CONFLICT DO NOTHING".encode(),
        (list(keys),),
    )


def _escaped_table(table: IndexedTable) -> str:
    return _escape_percent(table.full_name)


def _escape_percent(name: str) -> str:
    """Return a name as it is written in a statement with parameters."""
    return name.replace("%", "%%")


def _by_document(documents: Mapping[str, str]) -> Iterator[tuple[list[str], list[str]]]:
    """Yield some of `documents` at a time, and all keys of their chunks."""
    ids_by_document: dict[str, list[str]] = defaultdict(list)
    for id_, document in documents.items():
        ids_by_document[document].append(id_)
    for some in batches(ids_by_document, BATCH_SIZE):
        yield some, [id_ for document in some for id_ in ids_by_document[document]]


def check_whole(work: MaintenanceConnection, table: IndexedTable, documents: Mapping[str, str]) -> None:
    """Check that all stored chunks of `documents` are among their keys.

    Raises:
        InputError: one isn't.
    """
    statement = (
        f"SELECT document_id, count(*), min(id) FROM {_escaped_table(table)} "
        "WHERE document_id = ANY(%s) AND id <> ALL(%s) GROUP BY document_id ORDER BY document_id LIMIT 1"
    )
    for given in _by_document(documents):
        select = partial(work.connection.execute, statement.encode(), given)
        for found in work.retry_on_lock(table.full_name, select).fetchall():
            raise incomplete_error(*found)


def _delete_others(
    work: MaintenanceConnection, table: IndexedTable, documents: Mapping[str, str], *, replace: bool
) -> int:
    """With `replace`, delete the chunks of `documents` that aren't among their keys; return the number of deleted ones.

    Raises:
        StoreError: another run has deleted some of them, as it had other chunks of the same document. Its chunks stay.
    """
    name = _escaped_table(table)
    missing_statement = (
        "SELECT id FROM unnest(%s::text[]) AS given(id) "
        f"WHERE NOT EXISTS (SELECT FROM {name} AS stored WHERE stored.id = given.id) LIMIT 1"
    )
    delete_statement = f"DELETE FROM {name} WHERE document_id = ANY(%s) AND id <> ALL(%s)"

    def delete(document_ids: list[str], ids: list[str]) -> int:
        lost = work.connection.execute(missing_statement.encode(), (ids,)).fetchone()
        if lost:
            raise StoreError(
                f"another run has written other chunks of document {documents[lost[0]]!r} meanwhile, and its own "
                "stay; add the newest ones again"
            )
        if not replace:
            return 0
        return work.connection.execute(delete_statement.encode(), (document_ids, ids)).rowcount

    deleted = 0
    for given in _by_document(documents):
        deleted += work.retry_on_lock(table.full_name, partial(delete, *given), turn="alone")
    return deleted


@dataclass(frozen=True)
class TableRecords:
    """The rows of a table of chunks, read and written in an open transaction."""

    keeps_insertion_order: ClassVar[bool] = True

    connection: sa.Connection
    table: sa.Table
    id: str
    content: str
    json_column: str | None
    """The column of metadata, JSON or JSONB."""
    columns: frozenset[str] = frozenset()
    """The columns that hold one key of the metadata each, under its name."""
    stored_at: sa.ColumnElement[Any] = sa.literal_column("ctid")  # noqa: RUF009 - it is never changed
    """What sorts earlier rows first. `ctid` is the place of a row in the table's file."""
    condition: sa.ColumnElement[bool] = sa.true()  # noqa: RUF009
    """The condition for the rows that count."""

    def scan(self) -> Iterator[tuple[Any, Mapping[str, Any]]]:
        """Yield the id and the metadata of all rows, as they were stored."""
        statement = sa.select(self.table.c[self.id], self._metadata).where(self.condition).order_by(self.stored_at)
        with self.connection.execute(statement.execution_options(yield_per=NUMBERED_AT_ONCE)) as rows:
            yield from ((id_, metadata) for id_, metadata in rows)

    def read(self, ids: Sequence[Any]) -> dict[Any, tuple[str, Mapping[str, Any]]]:
        """Return the text and the metadata of the rows that exist under `ids`."""
        c = self.table.c
        statement = sa.select(c[self.id], c[self.content], self._metadata).where(c[self.id] == any_key("ids"))
        rows = self.connection.execute(statement, {"ids": [*ids]})
        return {id_: (text or "", metadata) for id_, text, metadata in rows}

    def write(self, metadata_by_id: Mapping[Any, Mapping[str, Any]]) -> None:
        """Add keys to the metadata of rows, or replace their values; None deletes one."""
        c = self.table.c
        keys = dict.fromkeys(key for metadata in metadata_by_id.values() for key in metadata)
        patches = [
            {key: value for key, value in metadata.items() if key not in self.columns and value is not None}
            for metadata in metadata_by_id.values()
        ]
        given: dict[str, tuple[Any, list[Any]]] = {
            "row_id": (sa.Text, [*map(str, metadata_by_id)]),
            "patch": (sa.Text, [json.dumps(patch, ensure_ascii=False) for patch in patches]),
        }
        for key in self.columns.intersection(keys):
            values = [metadata.get(key) for metadata in metadata_by_id.values()]
            given[key] = (sa.BigInteger if any(isinstance(value, int) for value in values) else sa.Text, values)
        arrays = (sa.literal(values, ARRAY(kind)) for kind, values in given.values())
        rows = sa.func.unnest(*arrays).table_valued(*given).render_derived(name="ctxassembly_given")
        changed: dict[Any, Any] = {c[key]: rows.c[key] for key in given if key in self.columns}
        if self.json_column and any(key not in self.columns for key in keys):
            column = c[self.json_column]
            deleted = [key for key in keys if any(metadata.get(key, 0) is None for metadata in metadata_by_id.values())]
            kept = _as_jsonb(column).op("-")(sa.literal(deleted, ARRAY(sa.Text)))
            changed[column] = sa.cast(kept.op("||")(sa.cast(rows.c.patch, JSONB)), column.type)
        if changed:
            # The ids find the rows by the table's index, whatever their type is; as text each finds what is its own.
            is_same_row = (c[self.id] == any_key("ids"), sa.cast(c[self.id], sa.Text) == rows.c.row_id)
            statement = sa.update(self.table).values(changed).where(*is_same_row)
            self.connection.execute(statement, {"ids": [*metadata_by_id]})

    def text(self, key: str) -> sa.ColumnElement[Any]:
        """Return the value under `key` as the statements of `ctxassembly.stores.postgres.lookup` compare it."""
        return self.table.c[key] if key in self.columns else json_text(self.table.c[self.json_column or ""], key)

    def key_to_write(self, keys: Sequence[str]) -> str:
        """Return the key to write: the first of `keys` with a column of its own, else the first one.

        Raises:
            ConfigError: the table has no place for it.
        """
        found = next((key for key in keys if key in self.columns), keys[0])
        if found not in self.columns and self.json_column is None:
            allowed = f"one whose table has a column {found!r} or JSON metadata"
            raise ConfigError("vectorstore", allowed, self.table.name)
        return found

    @property
    def _metadata(self) -> sa.ColumnElement[Any]:
        parts = [part for name in sorted(self.columns) for part in (sa.cast(name, sa.Text), self.table.c[name])]
        metadata = sa.func.jsonb_build_object(*parts, type_=JSONB())
        json_metadata = _as_jsonb(self.table.c[self.json_column]) if self.json_column else None
        return metadata if json_metadata is None else json_metadata.op("||", return_type=JSONB())(metadata)


def _as_jsonb(column: sa.ColumnElement[Any]) -> sa.ColumnElement[Any]:
    """Return a column of JSON or JSONB as JSONB; an empty object if it is NULL or null."""
    known = sa.func.nullif(sa.cast(sa.type_coerce(column, sa.Text), JSONB), sa.cast(sa.literal("null"), JSONB))
    return sa.func.coalesce(known, sa.cast(sa.literal("{}"), JSONB), type_=JSONB())


def number_rows(
    records: TableRecords,
    form: RecordForm,
    keys: MetadataKeys,
    *,
    document_key: str | None = None,
    trust_insertion_order: bool = False,
    dry_run: bool = False,
) -> NumberingReport:
    """Number the rows of a table by document and index, store their titles, and create the indexes of both.

    `document_key` is the key by which neighbors are found; None for the one that is written.

    Raises:
        ConfigError: the table has no place for a document or an index.
    """
    names = {name: records.key_to_write(getattr(keys, name)) for name in form.writes}
    first_keys: dict[str, Any] = {name: (key, *getattr(keys, name)) for name, key in names.items()}
    written = replace(keys, **first_keys)
    report = number_collection(records, form, written, trust_insertion_order=trust_insertion_order, dry_run=dry_run)
    if not dry_run:
        place = (document_key or names["document_id"], names["index"])
        _create_index(records, derived_name(records.table.name, "document_place"), map(records.text, place))
        if records.json_column:
            _write_record_titles(records, form, written)
            title = title_beginning(json_text(records.table.c[records.json_column], TITLE))
            _create_index(records, title_index_name(records.table.name), [title])
    return report


def _create_index(records: TableRecords, name: str, columns: Iterable[sa.ColumnElement[Any]]) -> None:
    index = sa.Index(sa.quoted_name(name, quote=True), *columns, _table=records.table)
    records.connection.execute(CreateIndex(index, if_not_exists=True))


def _write_record_titles(records: TableRecords, form: RecordForm, keys: MetadataKeys) -> None:
    """Store the title of each document in the metadata of its first chunk alone."""
    firsts: dict[str, tuple[Any, Any]] = {}
    stored: dict[Any, Any] = {}
    for id_, metadata in records.scan():
        place = form.place(id_, metadata, keys)
        if TITLE in metadata:
            stored[id_] = metadata[TITLE]
        if place.document is not None:
            first = (place_order((to_integer(place.index), *place.order)), id_)
            firsts[place.document] = min(firsts.get(place.document, first), first, key=lambda each: each[0])
    titles: dict[Any, str | None] = dict.fromkeys(stored)
    for batch in batches((id_ for _, id_ in firsts.values()), NUMBERED_AT_ONCE):
        for id_, record in records.read(batch).items():
            titles[id_] = stored_title(form.chunk(id_, *record, keys), keys)
    for changes in batches((item for item in titles.items() if item[1] != stored.get(item[0])), NUMBERED_AT_ONCE):
        records.write({id_: {TITLE: title} for id_, title in changes})
