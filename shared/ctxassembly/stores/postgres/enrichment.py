"""A model's notes on the chunks of a table: columns of their own, which whoever else writes to it need not know of.

The words of questions and context are part of the column of words. A mark says of which texts the notes on a row were
made. A row whose text others have changed keeps its notes until the next run, which sees that they are of another text.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

from sqlalchemy import ColumnElement, Select, Text, Update, bindparam, cast, event, func, select, update
from sqlalchemy.sql.sqltypes import NULLTYPE

from ctxassembly.data.chunks import Chunk
from ctxassembly.data.enrichment import (
    Outline,
    StoredChunk,
    StoredDocument,
    WriteNotes,
    outlined,
    stored_document,
)
from ctxassembly.data.metadata_keys import MetadataKeys
from ctxassembly.errors import ConfigError
from ctxassembly.stores.postgres import migrate
from ctxassembly.stores.postgres.catalog import Described
from ctxassembly.stores.postgres.chunk_lookup import texts
from ctxassembly.stores.postgres.connection import Server, rows
from ctxassembly.stores.postgres.ingest import keep_words
from ctxassembly.stores.postgres.maintenance import Upkeep, upkeep
from ctxassembly.stores.postgres.rows import ToChunk, chunk_in, columns_of
from ctxassembly.stores.postgres.schema import (
    Fields,
    Plan,
    Step,
    added_words,
    analysed,
    full_name,
    marked,
    words_indexed,
    words_of,
)
from ctxassembly.stores.postgres.search import as_vector, check_vector
from ctxassembly.stores.postgres.table import (
    CONTEXT,
    NOTES,
    NOTES_MARK,
    QUESTIONS,
    SUMMARY,
    TSV,
    IndexedTable,
    VectorOf,
)

BATCH = 1_000
"""Rows that are read at a time."""


def prepared(
    server: Server, home: IndexedTable, fields: Fields, seconds: float, *, dry_run: bool
) -> tuple[IndexedTable, Plan]:
    """The table with columns for notes, and the statements that it needed; with `dry_run` those that it needs.

    Raises:
        ConfigError: this user doesn't own the table.
    """
    whole = replace(home, has_notes=True)
    with upkeep(server, seconds) as work:
        found = work.described(home)
        plan = Plan(() if found.has_notes else tuple(missing(whole, found, fields)))
        if plan.steps and not dry_run:
            if not found.is_owned:
                allowed = "one whose table this user owns; with_enrichment(dry_run=True) prints its owner's statements"
                raise ConfigError("index", allowed, full_name(home))
            with work.turn(full_name(home)):
                work.execute(full_name(home), plan.steps)
    return whole, plan


def missing(home: IndexedTable, found: Described, fields: Fields) -> Iterator[Step]:
    """The columns for notes, and the column of words made anew with the words of these."""
    table = full_name(home)
    yield Step(f"ALTER TABLE {table} " + ", ".join(f"ADD COLUMN IF NOT EXISTS {name} text" for name in NOTES))
    if found.version >= 170_000:
        rewrites = "rewrites the table; nobody reads or writes it meanwhile"
        yield Step(f"ALTER TABLE {table} ALTER COLUMN {TSV} SET EXPRESSION AS ({words_of(home, fields)})", rewrites)
        yield marked(home, fields)
    else:
        yield Step(f"ALTER TABLE {table} DROP COLUMN IF EXISTS {TSV}", "until the next step nobody searches by words")
        yield from added_words(home, fields, found.version)
        yield from words_indexed(home)
    yield analysed(home)


@dataclass(frozen=True)
class PostgresNotes:
    """The notes on the chunks of a table, as `enrich` reads and writes them."""

    server: Server
    home: IndexedTable
    keys: MetadataKeys
    chunk_of: ToChunk | None
    condition: ColumnElement[bool] | None
    timeout_seconds: float

    def __post_init__(self) -> None:
        if not self.home.has_notes:
            allowed = "one whose table has columns for notes: index = index.with_enrichment(), dry_run=True prints how"
            raise ConfigError("index", allowed, full_name(self.home))

    def outlines(self) -> Sequence[Outline]:
        """The documents that pass the index's filter, by one look at the whole table."""

        def outlines(work: Upkeep) -> Sequence[Outline]:
            event.listen(work.sql.engine, "handle_error", _closed)
            with work.sql.execute(self._rows, execution_options={"yield_per": BATCH}) as found:
                return outlined(StoredChunk(key, self._chunk(row), mark or "") for key, mark, _, *row in found)

        with upkeep(self.server, self.timeout_seconds) as work:
            return work.patiently(full_name(self.home), partial(outlines, work))

    def read(self, outline: Outline) -> StoredDocument:
        """The document as it is now."""
        chosen = self._rows.where(self.home.c[self.home.key] == _any_key)
        found = rows(self.server, (chosen, {"keys": list(outline.keys)}), self.timeout_seconds)
        return stored_document(
            outline, {key: (self._chunk(row), context or "") for key, _, context, *row in found}, self.keys
        )

    @cached_property
    def _rows(self) -> Select[Any]:
        home = self.home
        every = select(home.c[home.key], home.c[NOTES_MARK], home.c[CONTEXT], *columns_of(home))
        return every if self.condition is None else every.where(self.condition)

    def _chunk(self, row: Sequence[Any]) -> Chunk:
        chunk = chunk_in(row, self.home, self.keys, self.chunk_of)
        # Another reading may give another text than the stored one, which stands behind the id.
        return replace(chunk, text=row[1]) if self.chunk_of else chunk

    def write(self, request: WriteNotes) -> bool:
        """Write the notes on a document in one transaction, if its chunks still have the texts of `request`.

        Raises:
            ConfigError: the table doesn't take the vectors.
        """
        keys = list(request.outline.keys)
        given = {"keys": keys, "names": list(map(str, keys)), **self._given(request)}
        from psycopg import Rollback

        def write(work: Upkeep) -> bool:
            with work.connection.transaction() as changes:
                written = work.sql.execute(self._update(given.keys()), given).rowcount == len(request.texts)
                if not written:
                    raise Rollback(changes)
                keep_words(work.connection, self.home, keys)
            return written

        with upkeep(self.server, self.timeout_seconds) as work:
            return work.patiently(full_name(self.home), partial(write, work), in_turn=True)

    def _given(self, request: WriteNotes) -> dict[str, Any]:
        """The values to write, by the names of their parameters."""
        given: dict[str, Any] = {"texts": list(request.texts), NOTES_MARK: request.mark}
        if request.notes is not None:
            given[SUMMARY] = request.notes.summary
            given[CONTEXT] = [one.context for one in request.notes.chunks]
            given[QUESTIONS] = ["\n".join(one.questions) for one in request.notes.chunks]
        if request.vectors is not None:
            for vector in request.vectors:
                check_vector(vector, self.home)
            given["vectors"] = list(map(as_vector, request.vectors))
        return given

    def _update(self, given: Collection[str]) -> Update:
        """The statement that writes what is given to all rows of a document."""
        c = self.home.c
        arrays = [name for name in ("names", "texts", CONTEXT, QUESTIONS, "vectors") if name in given]
        each = func.unnest(*map(texts, arrays)).table_valued(*arrays).render_derived(name="given")
        values: dict[Any, Any] = {c[name]: each.c[name] for name in (CONTEXT, QUESTIONS) if name in given}
        values |= {c[name]: cast(bindparam(name), Text) for name in (SUMMARY, NOTES_MARK) if name in given}
        if "vectors" in given:
            values[c[self.home.embedding]] = cast(each.c.vectors, VectorOf(self.home.vector_type, None))
        # The keys find the rows by the table's index, whatever their type is; as text each finds what is its own.
        mine = (c[self.home.key] == _any_key, cast(c[self.home.key], Text) == each.c.names)
        return update(self.home.table).values(values).where(*mine, c[self.home.content] == each.c.texts)

    def settle(self, chunks: int) -> None:
        """Learn the words and their shares anew, if there are new ones."""
        if not chunks:
            return
        with upkeep(self.server, self.timeout_seconds) as work:
            if self.home.is_own:
                migrate.settle(work, self.home, chunks)
            else:
                migrate.refresh(work, self.home)


def _closed(failed: Any) -> None:
    """Close a cursor of the server whose connection is lost, which SQLAlchemy leaves open."""
    if failed.is_disconnect and failed.execution_context:
        failed.execution_context.cursor.close()


_any_key = func.any(bindparam("keys", type_=NULLTYPE))
"""Bound with the type of the column, which may be uuid."""
