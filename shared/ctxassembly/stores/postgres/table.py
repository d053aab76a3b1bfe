"""A table with chunks, as an index reads it: its own, or one that a framework made."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

from sqlalchemy import (
    JSON,
    BigInteger,
    Column,
    ColumnElement,
    MetaData,
    Table,
    Text,
    bindparam,
    cast,
    func,
    literal,
    quoted_name,
)
from sqlalchemy.dialects.postgresql import JSONB, TSVECTOR
from sqlalchemy.types import UserDefinedType

from ctxassembly.errors import ConfigError
from ctxassembly.wording.unicode import is_storable

Dialect = Literal["mapping", "llamaindex"]
"""The form of a filter."""
OWN_COLUMNS: Mapping[str, str] = {"document_id": "text", "chunk_index": "bigint", "start_index": "bigint"}
"""The columns of a table of our own that a filter reads, before it looks into the metadata."""
MAX_DIMENSIONS: Mapping[str, int] = {"vector": 2000, "halfvec": 4000}
"""The most dimensions that pgvector's HNSW takes of a type."""
TSV = "ctxassembly_tsv"
"""The column with the words of a chunk."""
SUMMARY, CONTEXT = "ctxassembly_page_summary", "ctxassembly_context"
QUESTIONS, NOTES_MARK = "ctxassembly_questions", "ctxassembly_notes_mark"
NOTES = (SUMMARY, CONTEXT, QUESTIONS, NOTES_MARK)
"""The columns for a model's notes on a chunk, and for the mark of what they were made of."""


class VectorType(UserDefinedType[Any]):
    """A type of pgvector, `vector` or `halfvec`. Values are bound as texts."""

    cache_ok = True

    def __init__(self, kind: str, dimensions: int | None) -> None:
        self.kind, self.dimensions = kind, dimensions

    def get_col_spec(self, **_: Any) -> str:
        """Return the type as it is written in SQL."""
        return self.kind if self.dimensions is None else f"{self.kind}({self.dimensions})"


@dataclass(frozen=True)
class IndexedTable:
    """The names and types of a table of chunks. Names are always quoted, so that they are used unchanged.

    Raises:
        ConfigError: a name that PostgreSQL can't hold.
    """

    name: str
    schema: str
    key: str
    """The primary key."""
    id: str
    """The names of the chunks; mostly the same column."""
    content: str
    embedding: str
    metadata: str | None
    """The column of metadata; None if there is none."""
    columns: Mapping[str, str] = field(default_factory=dict, hash=False)
    """The columns that hold one key of the metadata each, under its name, with their types as PostgreSQL names them."""
    is_jsonb: bool = True
    vector_type: str = "vector"
    dimensions: int | None = None
    dialect: Dialect = "mapping"
    has_trigrams: bool = True
    """False if pg_trgm is missing, so that similar words aren't found."""
    has_notes: bool = False
    """True if it has the columns for notes, and the words of a chunk include the words of its notes."""
    can_read_lexemes: bool = True
    """False if the user may not read the table of lexemes: words are counted one by one, and there are no near ones."""
    is_own: bool = False
    """True if the index made it."""

    def __post_init__(self) -> None:
        for name in (self.name, self.schema, self.key, self.id, self.content, self.embedding, *self.columns):
            check_name("table", name)

    @property
    def lexemes_name(self) -> str:
        """The name of the table of lexemes: every word that a chunk has or had, and the share of the common ones."""
        return derived_name(self.name, "lexemes")

    @cached_property
    def sql_table(self) -> Table:
        """The same for SQLAlchemy."""
        kinds: dict[str, Any] = dict.fromkeys((*self.columns, self.key, self.id))
        kinds |= {self.content: Text, TSV: TSVECTOR, self.embedding: VectorType(self.vector_type, self.dimensions)}
        if self.has_notes:
            kinds |= dict.fromkeys(NOTES, Text)
        if self.is_own:
            kinds |= dict.fromkeys(("id", "document_id", "prev_id", "next_id", "content_hash"), Text)
            kinds |= dict.fromkeys(("chunk_index", "start_index"), BigInteger)
        if self.metadata:
            kinds[self.metadata] = JSONB if self.is_jsonb else JSON
        sql_columns = [Column(quoted_name(name, quote=True), kind) for name, kind in kinds.items()]
        return Table(
            quoted_name(self.name, quote=True), MetaData(), *sql_columns, schema=quoted_name(self.schema, quote=True)
        )

    @property
    def c(self) -> Any:
        """The columns."""
        return self.sql_table.c

    @property
    def tsv(self) -> ColumnElement[Any]:
        """The words of a chunk."""
        return self.sql_table.c[TSV]

    @property
    def is_half_precision(self) -> bool:
        """True if HNSW takes so many dimensions only in half precision, which the column hasn't."""
        return self.vector_type == "vector" and (self.dimensions or 0) > MAX_DIMENSIONS["vector"]

    @property
    def can_have_hnsw(self) -> bool:
        """True if HNSW takes the embeddings: of one length, and not too long."""
        return 0 < (self.dimensions or 0) <= MAX_DIMENSIONS["halfvec"]

    def distance(self) -> ColumnElement[Any]:
        """Return the cosine distance of the embedding to the parameter `vector`, written as the index on it is."""
        kind = VectorType("halfvec" if self.is_half_precision else self.vector_type, self.dimensions)
        column = cast(self.c[self.embedding], kind) if self.is_half_precision else self.c[self.embedding]
        return column.op("<=>")(cast(bindparam("vector", type_=Text), kind))

    def json(self, *path: str) -> ColumnElement[Any]:
        """Return the metadata as JSONB, or its value at `path`; NULL if there is none."""
        if self.metadata is None:
            return cast(None, JSONB)
        column = self.c[self.metadata]
        found = column if self.is_jsonb else cast(column, JSONB)
        for step in path:
            found = found.op("->", return_type=JSONB())(bindparam(None, step, Text))
        return func.nullif(found, cast(literal("null", Text), JSONB), type_=JSONB()) if path else found


def check_name(parameter: str, name: str) -> str:
    """`name`, which PostgreSQL can hold.

    Raises:
        ConfigError: it can't.
    """
    if not isinstance(name, str) or not name or not is_storable(name) or len(name.encode()) > 63:
        raise ConfigError(parameter, "a name of 1 to 63 bytes without NUL", name)
    return name


def derived_name(table: str, ending: str) -> str:
    """Return the name of something that belongs to a table, within the 63 bytes that PostgreSQL keeps of it."""
    name = f"{table}_{ending}"
    if len(name.encode()) <= 63:
        return name
    digest = hashlib.sha256(table.encode()).hexdigest()[:8]
    room = 63 - len(ending) - len(digest) - 2
    return f"{table.encode()[:room].decode(errors='ignore')}_{digest}_{ending}"
