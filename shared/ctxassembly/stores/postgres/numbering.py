"""The rows of a table as records that are numbered, with the indexes by which neighbors and titles are found.

The rule is the one of `ctxassembly.stores.numbering`. After the numbers, the title of each document is stored with its
first chunk.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import ARRAY, JSONB
from sqlalchemy.schema import CreateIndex

from ctxassembly.data.metadata_keys import MetadataKeys, to_integer
from ctxassembly.errors import ConfigError
from ctxassembly.stores.ingest import batches
from ctxassembly.stores.numbering import BATCH_SIZE, NumberingReport, RecordForm, number_collection, place_order
from ctxassembly.stores.postgres.chunk_lookup import json_text
from ctxassembly.stores.postgres.table import TITLE, any_key, derived_name
from ctxassembly.stores.postgres.titles import stored_title, title_beginning, title_index_name


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
        with self.connection.execute(statement.execution_options(yield_per=BATCH_SIZE)) as rows:
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
        """Return the value under `key` as the statements of `ctxassembly.stores.postgres.chunk_lookup` compare it."""
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
        if records.json_column and records.connection.scalar(sa.text("SHOW server_encoding")) == "UTF8":
            _write_titles(records, form, written)
            title = title_beginning(json_text(records.table.c[records.json_column], TITLE))
            _create_index(records, title_index_name(records.table.name), [title])
    return report


def _create_index(records: TableRecords, name: str, columns: Iterable[sa.ColumnElement[Any]]) -> None:
    index = sa.Index(sa.quoted_name(name, quote=True), *columns, _table=records.table)
    records.connection.execute(CreateIndex(index, if_not_exists=True))


def _write_titles(records: TableRecords, form: RecordForm, keys: MetadataKeys) -> None:
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
    for batch in batches((id_ for _, id_ in firsts.values()), BATCH_SIZE):
        for id_, record in records.read(batch).items():
            titles[id_] = stored_title(form.chunk(id_, *record, keys), keys)
    for changes in batches((item for item in titles.items() if item[1] != stored.get(item[0])), BATCH_SIZE):
        records.write({id_: {TITLE: title} for id_, title in changes})
