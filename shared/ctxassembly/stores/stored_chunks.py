"""A table with chunks as langchain-postgres keeps them: metadata in columns of their own, in JSON, or in both."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import (
    JSON,
    Column,
    ColumnElement,
    MetaData,
    Select,
    Table,
    Text,
    cast,
    func,
    literal,
    literal_column,
    null,
    quoted_name,
    select,
)

from ctxassembly.data.metadata_keys import MetadataKeys
from ctxassembly.errors import ConfigError
from ctxassembly.stores.numbered import parsed, told
from ctxassembly.stores.postgres.chunk_table import json_text

_STORED_AT = "ctxassembly_stored_at"
"""The name under which a statement reads `ctid`, the place of a row in the table's file."""


@dataclass(frozen=True)
class StoredChunks:
    """A table of chunks, and the condition for the rows that count."""

    table: Table
    id: str
    json: str | None
    """The column of metadata, JSON or JSONB."""
    columns: frozenset[str]
    """The columns that hold one key of the metadata each, under its name."""
    keys: MetadataKeys
    condition: ColumnElement[bool] | None = None

    def text(self, key: str, of: Any = None) -> ColumnElement[Any]:
        """The value under `key` as text, in the table or in what was read `of` it; NULL if there is none."""
        home = self.table if of is None else of
        if key in self.columns:
            return cast(home.c[key], Text)
        return json_text(home.c[self.json], key) if self.json else cast(null(), Text)

    def rows(self) -> Select[Any]:
        """A statement for the places of the rows, as `ctxassembly.stores.numbered.Stored` describes it."""
        keys, home = self.keys, self.table
        read = [home.c[self.id], literal_column("ctid").label(_STORED_AT)]
        read += [home.c[name] for name in sorted(self.columns - {self.id})]
        # Parsed once, and materialised: with JSON kept as text, each look at a key would parse it again.
        read += [parsed(home.c[self.json]).label(self.json)] if self.json else []
        found = select(*read) if self.condition is None else select(*read).where(self.condition)
        row = found.cte("parsed").prefix_with("MATERIALIZED")

        def first(names: Iterable[str]) -> ColumnElement[Any]:
            return func.coalesce(*(self.text(name, row) for name in names), null())

        return select(
            row.c[self.id].label("id"),
            first(keys.documents).label("document"),
            first(keys.document_id).label("named"),
            *told(lambda key: self.text(key, row), keys),
            row.c[_STORED_AT].label("stored_at"),
            cast(null(), Text).label("link"),
            cast(null(), Text).label("following"),
        )

    def written(self, planned: Any) -> Mapping[Any, Any]:
        """The new document id and index: in columns of their own if the table has them, else in the JSON metadata."""
        home, keys = self.table, self.keys
        values: dict[Any, Any] = {}
        patch: list[Any] = []
        for names, value in ((keys.document_id, planned.c.document), (keys.index, planned.c.index)):
            name = self.home(names)
            if name in self.columns:
                values[home.c[name]] = value
            else:
                patch += [cast(literal(name), Text), value]
        if patch and self.json:
            json = home.c[self.json]
            values[json] = cast(parsed(json).op("||")(func.jsonb_build_object(*patch)), json.type)
        return values

    def found_by(self) -> Sequence[ColumnElement[Any]]:
        """Document and place, as the statements of `ctxassembly.stores.postgres.chunk_table` compare them."""
        names = (self.home(self.keys.document_id), self.home(self.keys.index))
        return [self.table.c[name] if name in self.columns else self.text(name) for name in names]

    def home(self, keys: Sequence[str]) -> str:
        """The key to write: the first of `keys` with a column of its own, else the first one.

        Raises:
            ConfigError: the table has no place for it.
        """
        found = next((key for key in keys if key in self.columns), keys[0])
        if found not in self.columns and (self.json is None or "." in found):
            raise ConfigError(
                "vectorstore", f"one whose table has a column {found!r} or JSON metadata", self.table.name
            )
        return found


def table_of(name: str, schema: str | None, columns: Iterable[str], json: str | None, json_type: Any = JSON) -> Table:
    """A table with quoted names, so that capitals and odd signs in them stay."""
    kept: list[Column[Any]] = [Column(quoted_name(column, quote=True)) for column in columns if column != json]
    kept += [Column(quoted_name(json, quote=True), json_type)] if json else []
    within = None if schema is None else quoted_name(schema, quote=True)
    return Table(quoted_name(name, quote=True), MetaData(), *kept, schema=within)
