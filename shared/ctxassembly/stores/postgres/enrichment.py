"""A model's notes on the chunks of a table: columns of their own, which other writers can ignore.

The words of questions and context are part of the column of words. A mark says of which texts the notes on a row were
made. A row whose text others have changed keeps its notes until the next run, which sees that they are of another text.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import sqlalchemy as sa

from ctxassembly.data import enrichment
from ctxassembly.data.metadata_keys import MetadataKeys
from ctxassembly.errors import ConfigError
from ctxassembly.lazy import cached_property
from ctxassembly.stores.filtered import shared_values
from ctxassembly.stores.postgres import schema
from ctxassembly.stores.postgres.connection import Server, query_rows
from ctxassembly.stores.postgres.ingest import insert_words
from ctxassembly.stores.postgres.lookup import chunk_from_row, columns_for
from ctxassembly.stores.postgres.maintenance import open_maintenance
from ctxassembly.stores.postgres.search import check_vector, format_vector
from ctxassembly.stores.postgres.table import (
    CONTEXT,
    LABELS,
    NOTES,
    NOTES_MARK,
    QUESTIONS,
    SUMMARY,
    IndexedTable,
    VectorType,
    any_key,
    text_array,
)

BATCH_ROWS = 1_000
"""Rows that are read at a time."""


def add_note_columns(server: Server, table: IndexedTable, fields: schema.WordFields, seconds: float) -> IndexedTable:
    """Return the table with columns for notes.

    Raises:
        ConfigError: this user doesn't own the table.
    """
    whole = replace(table, has_notes=True)
    with open_maintenance(server, seconds) as work:
        info = work.describe_table(table)
        if not info.has_notes:
            if not info.is_owned:
                allowed = "one whose table this user owns; its owner calls with_enrichment() once"
                raise ConfigError("index", allowed, table.full_name)
            columns = (f"ADD COLUMN IF NOT EXISTS {name} text" for name in NOTES)
            words = schema.words_column_step(whole, fields, *columns)
            steps = (words, schema.words_index_step(whole), schema.analyze_step(whole))
            work.hold_turn(table.full_name, partial(work.execute, table.full_name, steps))
    return whole


@dataclass(frozen=True)
class PostgresNotes:
    """The notes on the chunks of a table, as `enrich` reads and writes them."""

    server: Server
    table: IndexedTable
    keys: MetadataKeys
    condition: sa.ColumnElement[bool] | None
    timeout_seconds: float

    def __post_init__(self) -> None:
        if not self.table.has_notes:
            allowed = "one whose table has columns for notes: index = index.with_enrichment()"
            raise ConfigError("index", allowed, self.table.full_name)

    def outlines(self, varying_keys: Sequence[str] = ()) -> Sequence[enrichment.Outline]:
        """Return the documents that pass the index's filter, in one pass over the table."""
        # What a model has noted on a document says nothing of who may read it.
        plain_table = replace(self.table, has_notes=False)

        def outlines() -> Sequence[enrichment.Outline]:
            sa.event.listen(work.sql.engine, "handle_error", _close_cursor)
            with work.sql.execute(self._select_rows, execution_options={"yield_per": BATCH_ROWS}) as found:
                rows = (
                    enrichment.StoredChunk(key, chunk_from_row(row, plain_table, self.keys), mark or "")
                    for key, mark, _, _, *row, _summary, _labels in found
                )
                return enrichment.group_outlines(rows, shared_values(self.keys, varying_keys))

        with open_maintenance(self.server, self.timeout_seconds) as work:
            return work.retry_on_lock(self.table.full_name, outlines)

    def read(self, outline: enrichment.Outline) -> enrichment.StoredDocument:
        """Return the document as it is now."""
        statement = self._select_rows.where(self.table.c[self.table.key] == any_key("keys"))
        found = query_rows(self.server, (statement, {"keys": list(outline.keys)}), self.timeout_seconds)
        stored = {}
        for key, _, context, questions, *row in found:
            notes = enrichment.ChunkNotes(tuple((questions or "").splitlines()), context or "")
            stored[key] = chunk_from_row(row, self.table, self.keys), notes
        return enrichment.stored_document(outline, stored, self.keys)

    @cached_property
    def _select_rows(self) -> sa.Select[Any]:
        table = self.table
        notes = (table.c[name] for name in (NOTES_MARK, CONTEXT, QUESTIONS))
        statement = sa.select(table.c[table.key], *notes, *columns_for(table))
        return statement if self.condition is None else statement.where(self.condition)

    def write(self, request: enrichment.WriteNotes) -> bool:
        """Write the notes on a document in one transaction, if its chunks still have the texts of `request`.

        Raises:
            ConfigError: the table doesn't take the vectors.
        """
        keys = list(request.outline.keys)
        given = {"keys": keys, "names": list(map(str, keys)), **self._bound_values(request)}
        from psycopg import Rollback

        def write() -> bool:
            with work.connection.transaction() as changes:
                written = work.sql.execute(self._update_statement(given.keys()), given).rowcount == len(request.texts)
                if not written:
                    raise Rollback(changes)
                insert_words(work.connection, self.table, keys)
            return written

        with open_maintenance(self.server, self.timeout_seconds) as work:
            return work.retry_on_lock(self.table.full_name, write, turn="alone")

    def _bound_values(self, request: enrichment.WriteNotes) -> dict[str, Any]:
        """Return the values to write, by the names of their parameters."""
        given: dict[str, Any] = {"texts": list(request.texts), NOTES_MARK: request.fingerprint}
        if request.notes is not None:
            given[SUMMARY] = request.notes.summary
            given[LABELS] = json.dumps(dict(request.notes.labels), ensure_ascii=False)
            given[CONTEXT] = [chunk_notes.context for chunk_notes in request.notes.chunks]
            given[QUESTIONS] = ["\n".join(chunk_notes.questions) for chunk_notes in request.notes.chunks]
        if request.vectors is not None:
            for vector in request.vectors:
                check_vector(vector, self.table)
            given["vectors"] = list(map(format_vector, request.vectors))
        return given

    def _update_statement(self, names: Collection[str]) -> sa.Update:
        """Return the statement that writes the passed values to all rows of a document."""
        c = self.table.c
        arrays = [name for name in ("names", "texts", CONTEXT, QUESTIONS, "vectors") if name in names]
        given_rows = sa.func.unnest(*map(text_array, arrays)).table_valued(*arrays).render_derived(name="given")
        values: dict[Any, Any] = {c[name]: given_rows.c[name] for name in (CONTEXT, QUESTIONS) if name in names}
        of_document = [name for name in (SUMMARY, LABELS, NOTES_MARK) if name in names]
        values |= {c[name]: sa.cast(sa.bindparam(name), sa.Text) for name in of_document}
        if "vectors" in names:
            values[c[self.table.embedding]] = sa.cast(given_rows.c.vectors, VectorType(self.table.vector_type, None))
        # The keys find the rows by the table's index, whatever their type is; as text each finds what is its own.
        is_same_row = (c[self.table.key] == any_key("keys"), sa.cast(c[self.table.key], sa.Text) == given_rows.c.names)
        has_same_text = c[self.table.content] == given_rows.c.texts
        return sa.update(self.table.sql_table).values(values).where(*is_same_row, has_same_text)

    def commit(self, chunks: int) -> None:
        """Update the words and their shares, if there are new ones."""
        if not chunks:
            return
        with open_maintenance(self.server, self.timeout_seconds) as work:
            if self.table.is_own:
                schema.complete_changes(work, self.table, chunks)
            else:
                schema.refresh(work, self.table)


def _close_cursor(error_context: Any) -> None:
    """Close a cursor of the server whose connection is lost, which SQLAlchemy leaves open."""
    if error_context.is_disconnect and error_context.execution_context:
        error_context.execution_context.cursor.close()
