"""A table with chunks, as an index reads it and as the database describes it: its own, or one that a framework made."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import ARRAY, JSONB, TSVECTOR
from sqlalchemy.sql.sqltypes import NULLTYPE
from sqlalchemy.types import UserDefinedType

from ctxassembly.errors import ConfigError
from ctxassembly.lazy import cached_property
from ctxassembly.wording.unicode import is_storable

if TYPE_CHECKING:
    from psycopg import Connection

Dialect = Literal["mapping", "llamaindex"]
"""The form of a filter."""
OWN_COLUMNS: Mapping[str, str] = {"document_id": "text", "chunk_index": "bigint", "start_index": "bigint"}
"""The columns of a table of our own that a filter reads, before it looks into the metadata."""
MAX_DIMENSIONS: Mapping[str, int] = {"vector": 2000, "halfvec": 4000}
"""The most dimensions that pgvector's HNSW takes of a type."""
EXTRAS = "extras"
"""The column of a table of our own with what `extras_json` writes."""
TSV = "ctxassembly_tsv"
"""The column with the words of a chunk."""
SUMMARY, CONTEXT = "ctxassembly_page_summary", "ctxassembly_context"
QUESTIONS, NOTES_MARK = "ctxassembly_questions", "ctxassembly_notes_mark"
LABELS = "ctxassembly_labels"
NOTES = (SUMMARY, CONTEXT, QUESTIONS, LABELS, NOTES_MARK)
"""The columns for a model's notes on a chunk, and for the mark of what they were made of."""
TITLE = "ctxassembly_title"
"""The column with the title of a document, at its first chunk; in a table of a framework's the key of the metadata."""
WITH_NOTES = ", with notes"
"""The ending of the mark of a column whose words include the words of notes."""


class VectorType(UserDefinedType[Any]):
    """A type of pgvector, `vector` or `halfvec`. Values are bound as texts."""

    cache_ok = True

    def __init__(self, kind: str, dimensions: int | None) -> None:
        self.kind, self.dimensions = kind, dimensions

    def get_col_spec(self, **_: Any) -> str:
        """Return the type as it is written in SQL."""
        return self.kind if self.dimensions is None else f"{self.kind}({self.dimensions})"


def quoted_name(name: str) -> str:
    """Return a name quoted for SQL, whatever characters it has."""
    return '"' + name.replace('"', '""') + '"'


def members_sql(name: str) -> str:
    """Return the SQL array of a table or index, of a quoted name, and of all its partitions."""
    whole = f"CAST({text_literal(name)} AS regclass)"
    return f"ARRAY(SELECT {whole} UNION ALL SELECT relid FROM pg_partition_tree({whole}))"


ROW_ESTIMATE = (
    "greatest(0, reltuples, reltuples / greatest(relpages, 1)"
    " * (pg_relation_size(oid) / CAST(current_setting('block_size') AS float8)))"
)
"""The rows of a table without partitions in pg_class as the planner estimates them, by the pages that there are now."""


def text_array(name: str) -> sa.ColumnElement[Any]:
    """Return the parameter `name`, an array of text."""
    return sa.cast(sa.bindparam(name), ARRAY(sa.Text))


def any_key(name: str) -> sa.ColumnElement[Any]:
    """Return any of the parameter `name`, an array that is bound with the type of the column, which may be uuid."""
    return sa.func.any(sa.bindparam(name, type_=NULLTYPE))


def text_literal(text: str) -> str:
    """Return a text as an SQL literal, whatever characters it has."""
    escaped = text.replace("\\", "\\\\").replace("'", "''")
    return f"E'{escaped}'" if "\\" in text else f"'{escaped}'"


def build_table(name: str, schema: str | None, columns: Mapping[str, Any] | None = None) -> sa.Table:
    """Return a table with `columns`, types by name. Its names are quoted, so that capitals and odd signs stay."""
    sql_columns = [sa.Column(sa.quoted_name(name, quote=True), kind) for name, kind in (columns or {}).items()]
    quoted_schema = None if schema is None else sa.quoted_name(schema, quote=True)
    return sa.Table(sa.quoted_name(name, quote=True), sa.MetaData(), *sql_columns, schema=quoted_schema)


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
    has_notes: bool = False
    """True if it has the columns for notes, and the words of a chunk include the words of its notes."""
    has_pairs: bool = False
    """True if every two adjacent characters of a script without spaces are a word."""
    is_own: bool = False
    """True if the index made it."""
    wants_hnsw: bool = True
    """False if vectors are compared one by one, exactly."""

    def __post_init__(self) -> None:
        for name in (self.name, self.schema, self.key, self.id, self.content, self.embedding, *self.columns):
            check_name("table", name)

    @property
    def full_name(self) -> str:
        """The schema and name of the table, quoted."""
        return f"{quoted_name(self.schema)}.{quoted_name(self.name)}"

    @property
    def lexemes_name(self) -> str:
        """The same for the table of lexemes: every word that a chunk has or had, and the share of the common ones."""
        return f"{quoted_name(self.schema)}.{quoted_name(derived_name(self.name, 'lexemes'))}"

    @cached_property
    def sql_table(self) -> sa.Table:
        """The same for SQLAlchemy."""
        kinds: dict[str, Any] = dict.fromkeys((*self.columns, self.key, self.id))
        kinds |= {self.content: sa.Text, TSV: TSVECTOR, self.embedding: VectorType(self.vector_type, self.dimensions)}
        if self.has_notes:
            kinds |= dict.fromkeys(NOTES, sa.Text)
        if self.is_own:
            kinds |= dict.fromkeys(("id", "document_id", "prev_id", "next_id", "content_hash"), sa.Text)
            kinds |= dict.fromkeys(("chunk_index", "start_index"), sa.BigInteger)
            kinds |= {EXTRAS: JSONB, TITLE: sa.Text}
        if self.metadata:
            kinds[self.metadata] = JSONB if self.is_jsonb else sa.JSON
        return build_table(self.name, self.schema, kinds)

    @property
    def c(self) -> Any:
        """The columns."""
        return self.sql_table.c

    @property
    def tsv(self) -> sa.ColumnElement[Any]:
        """The words of a chunk."""
        return self.sql_table.c[TSV]

    @property
    def is_half_precision(self) -> bool:
        """True if HNSW takes so many dimensions only in half precision, which the column hasn't."""
        return self.vector_type == "vector" and (self.dimensions or 0) > MAX_DIMENSIONS["vector"]

    @property
    def can_have_hnsw(self) -> bool:
        """True if HNSW is wanted, and takes the embeddings: of one length, and not too long."""
        return self.wants_hnsw and 0 < (self.dimensions or 0) <= MAX_DIMENSIONS["halfvec"]

    def distance(self) -> sa.ColumnElement[Any]:
        """Return the cosine distance of the embedding to the parameter `vector`, written as the index on it is."""
        kind = VectorType("halfvec" if self.is_half_precision else self.vector_type, self.dimensions)
        column = sa.cast(self.c[self.embedding], kind) if self.is_half_precision else self.c[self.embedding]
        return column.op("<=>")(sa.cast(sa.bindparam("vector", type_=sa.Text), kind))

    def json(self, *path: str) -> sa.ColumnElement[Any]:
        """Return the metadata as JSONB, or its value at `path`; NULL if there is none."""
        if self.metadata is None:
            return sa.cast(None, JSONB)
        column = self.c[self.metadata]
        found = column if self.is_jsonb else sa.cast(column, JSONB)
        for step in path:
            found = found.op("->", return_type=JSONB())(sa.bindparam(None, step, sa.Text))
        return sa.func.nullif(found, sa.cast(sa.literal("null", sa.Text), JSONB), type_=JSONB()) if path else found


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


def title_index_name(table: str) -> str:
    """Return the name of the index on the beginnings of titles."""
    return derived_name(table, "ctxassembly_titles")


def title_beginning(stored: sa.ColumnElement[Any]) -> sa.ColumnElement[Any]:
    """Return how a stored title begins, as the index has it."""
    return title_part(stored, 1)


def title_part(stored: sa.ColumnElement[Any], number: int) -> sa.ColumnElement[Any]:
    """Return a part of a stored title: how it begins (1), or all of it (2)."""
    return sa.func.split_part(stored, sa.literal_column("'|'"), sa.literal_column(str(number)))


_DESCRIPTION = """
WITH named AS (
  SELECT c.*, coalesce(c.relacl, acldefault('r', c.relowner)) AS rights
  FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = %(schema)s
), chunks AS (SELECT * FROM named WHERE relname = %(table)s),
lexemes AS (SELECT * FROM named WHERE relname = %(lexemes)s),
columns AS (
  SELECT attname, regexp_replace(format_type(atttypid, NULL), '^.*[.]', '') AS kind, atttypmod AS dimensions,
    col_description(oid, attnum) AS comment
  FROM chunks JOIN pg_attribute ON attrelid = oid WHERE attnum > 0 AND NOT attisdropped
), indexes AS (
  SELECT i.relname::text AS name, x.indrelid, x.indisvalid, pg_get_indexdef(x.indexrelid) AS definition
  FROM pg_index x JOIN pg_class i ON i.oid = x.indexrelid
  WHERE x.indrelid IN (SELECT oid FROM chunks UNION SELECT oid FROM lexemes)
), configurations AS (
  SELECT c.oid, nspname, cfgname, prsname = 'default' AS has_pairs
  FROM pg_ts_config c JOIN pg_namespace n ON n.oid = c.cfgnamespace JOIN pg_ts_parser p ON p.oid = c.cfgparser
)
SELECT
  (SELECT relkind::text FROM chunks) AS kind,
  coalesce((SELECT pg_has_role(relowner, 'USAGE') FROM chunks), false) AS is_owned,
  (SELECT count(*) FROM chunks, pg_partition_tree(oid) WHERE isleaf AND relkind = 'p') AS partitions,
  (SELECT coalesce(jsonb_object_agg(attname, kind), '{}') FROM columns) AS types,
  (SELECT coalesce(jsonb_object_agg(attname, nullif(dimensions, -1)), '{}') FROM columns) AS dimensions,
  (SELECT comment FROM columns WHERE attname = %(words)s) AS words_mark,
  (SELECT coalesce(jsonb_object_agg(name, definition), '{}') FROM indexes, chunks
    WHERE indrelid = oid AND indisvalid) AS indexes,
  ARRAY(SELECT name FROM indexes, chunks WHERE indrelid = oid AND NOT indisvalid) AS invalid_indexes,
  EXISTS (SELECT FROM lexemes) AS has_lexemes,
  (SELECT bool_or(has_table_privilege(oid, 'SELECT')) FROM lexemes) AS can_read_lexemes,
  EXISTS (SELECT FROM indexes, lexemes WHERE indrelid = oid AND definition ~ 'gin_trgm_ops') AS has_trigram_index,
  ARRAY(
    SELECT CASE grantee WHEN 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(grantee)) END FROM (
      SELECT grantee FROM chunks, aclexplode(rights) WHERE privilege_type = 'SELECT'
      EXCEPT SELECT grantee FROM lexemes, aclexplode(rights) WHERE privilege_type = 'SELECT'
    ) AS missing WHERE grantee <> (SELECT oid FROM pg_roles WHERE rolname = current_user) ORDER BY 1
  ) AS readers_without_lexemes,
  ARRAY(SELECT extname::text FROM pg_extension) AS extensions,
  (SELECT jsonb_object_agg(name, has_pairs) FROM (
    SELECT cfgname AS name, has_pairs FROM configurations WHERE pg_ts_config_is_visible(oid)
    UNION SELECT nspname || '.' || cfgname, has_pairs FROM configurations
  ) AS visible) AS languages,
  getdatabaseencoding()::text AS encoding
"""
_VECTOR_INDEX = re.compile("USING (?:hnsw|diskann) .*cosine_ops")


@dataclass(frozen=True)
class TableInfo:
    """A table: its columns, indexes and owner, and what its server has."""

    kind: str | None
    """As PostgreSQL has it: "r" of an ordinary table, "p" of a partitioned one; None if there is no table."""
    is_owned: bool
    """True if the user may change it."""
    partitions: int
    types: Mapping[str, str]
    """The types of its columns, without lengths."""
    dimensions: Mapping[str, int | None]
    """The dimensions of the columns of vectors."""
    words_mark: str | None
    """The mark of the column of words."""
    indexes: Mapping[str, str]
    """The definitions of those that are valid."""
    invalid_indexes: Sequence[str]
    has_lexemes: bool
    """True if there is a table of lexemes."""
    can_read_lexemes: bool | None
    """True if the user may read it."""
    has_trigram_index: bool
    """True if it has an index by which near ones are found."""
    readers_without_lexemes: Sequence[str]
    """Roles, quoted, that may read the table and not the table of lexemes."""
    extensions: Sequence[str]
    languages: Mapping[str, bool]
    """Text search configurations: all with their schema, and without it those on the search path. True if scripts
    without spaces are separated for it: its parser doesn't know their words."""
    encoding: str

    @property
    def has_notes(self) -> bool:
        """True if the column of words includes the words of a model's notes."""
        return bool(self.words_mark and self.words_mark.endswith(WITH_NOTES))

    @property
    def has_vector_index(self) -> bool:
        """True if there is an index for cosine distances: HNSW, or the DiskANN of pgvectorscale."""
        return any(_VECTOR_INDEX.search(definition) for definition in self.indexes.values())

    def has_index_on(self, *columns: str) -> bool:
        """Return True if there is a B-tree over all rows on these columns, of whatever name."""
        ending = f"USING btree ({', '.join(columns)})"
        return any(each.replace('"', "").endswith(ending) for each in self.indexes.values())


def describe_table(connection: Connection[Any], schema: str, name: str) -> TableInfo:
    """Describe the table of that name as it is now."""
    from psycopg.rows import class_row

    names = {"schema": schema, "table": name, "lexemes": derived_name(name, "lexemes"), "words": TSV}
    with connection.cursor(row_factory=class_row(TableInfo)) as cursor:
        return cursor.execute(_DESCRIPTION, names).fetchone()  # type: ignore[return-value]
