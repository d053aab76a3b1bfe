"""A table as the database describes it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ctxassembly.stores.postgres.schema import WITH_NOTES
from ctxassembly.stores.postgres.table import TSV, derived_name

if TYPE_CHECKING:
    from psycopg import Connection

_COLUMNS = """
SELECT a.attname, format_type(a.atttypid, NULL), format_type(a.atttypid, a.atttypmod), col_description(c.oid, a.attnum)
FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE n.nspname = %s AND c.relname = %s AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum
"""
_INDEXES = """
SELECT i.relname, m.amname, x.indisvalid, pg_get_indexdef(x.indexrelid)
FROM pg_index x JOIN pg_class i ON i.oid = x.indexrelid JOIN pg_am m ON m.oid = i.relam
JOIN pg_class c ON c.oid = x.indrelid JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE n.nspname = %s AND c.relname = %s ORDER BY i.relname
"""
_TABLE = """
SELECT pg_has_role(c.relowner, 'USAGE'), c.relkind::text, c.relrowsecurity, has_table_privilege(c.oid, 'SELECT')
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = %s AND c.relname = %s
"""
_READERS_WITHOUT_LEXEMES = """
WITH tables AS (
  SELECT c.* FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = %(schema)s
), readers AS (
  SELECT c.relowner AS role FROM tables c WHERE c.relname = %(table)s
  UNION SELECT g.grantee FROM tables c, aclexplode(c.relacl) g WHERE c.relname = %(table)s AND privilege_type = 'SELECT'
), named AS (
  SELECT role, CASE role WHEN 0 THEN 'public' ELSE pg_get_userbyid(role) END AS name FROM readers
)
SELECT CASE role WHEN 0 THEN 'PUBLIC' ELSE quote_ident(name) END FROM named
WHERE name <> current_user AND NOT EXISTS (
  SELECT FROM tables c WHERE c.relname = %(lexemes)s AND has_table_privilege(name, c.oid, 'SELECT')
) ORDER BY 1
"""

_LEXEME_READERS = """
SELECT CASE g.grantee WHEN 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(g.grantee)) END
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace, aclexplode(c.relacl) g
WHERE n.nspname = %s AND c.relname = %s AND privilege_type = 'SELECT' AND g.grantee <> c.relowner ORDER BY 1
"""
_LANGUAGES = """
SELECT cfgname FROM pg_ts_config WHERE pg_ts_config_is_visible(oid)
UNION SELECT nspname || '.' || cfgname FROM pg_ts_config c JOIN pg_namespace n ON n.oid = c.cfgnamespace
"""


@dataclass(frozen=True)
class TableInfo:
    """A table: its columns, indexes and owner, and what its server has."""

    exists: bool
    is_owned: bool
    """True if the user may change it."""
    is_ordinary: bool
    """True of an ordinary table; false of a view, and of one in partitions."""
    has_policies: bool
    """True if row-level security is on."""
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
    can_read_lexemes: bool
    """True if the user may read it."""
    has_lexeme_policy: bool
    """True if users whom row-level security keeps from rows of the table can't read the table of lexemes."""
    lexeme_readers: Sequence[str]
    """Roles, quoted, that may read the table of lexemes, besides its owner."""
    readers_without_lexemes: Sequence[str]
    """Roles, quoted, that may read the table and not the table of lexemes."""
    has_trigram_index: bool
    """True if it has an index by which near ones are found."""
    extensions: frozenset[str]
    languages: frozenset[str]
    """Text search configurations: all with their schema, and without it those on the search path."""
    server_version: int

    @property
    def has_notes(self) -> bool:
        """True if the column of words includes the words of a model's notes."""
        return bool(self.words_mark and self.words_mark.endswith(WITH_NOTES))

    @property
    def has_hnsw(self) -> bool:
        """True if there is an HNSW index for cosine distances."""
        return any("USING hnsw" in definition and "cosine_ops" in definition for definition in self.indexes.values())

    def has_index_on(self, *columns: str) -> bool:
        """Return True if there is a B-tree over all rows on these columns, of whatever name."""
        ending = f"USING btree ({', '.join(columns)})"
        return any(each.replace('"', "").endswith(ending) for each in self.indexes.values())


def describe_table(connection: Connection[Any], schema: str, name: str) -> TableInfo:
    """Describe the table of that name as it is now."""
    table_row = connection.execute(_TABLE, (schema, name)).fetchone()
    columns = connection.execute(_COLUMNS, (schema, name)).fetchall()
    indexes = connection.execute(_INDEXES, (schema, name)).fetchall()
    lexemes_row = connection.execute(_TABLE, (schema, derived_name(name, "lexemes"))).fetchone()
    lexeme_indexes = connection.execute(_INDEXES, (schema, derived_name(name, "lexemes"))).fetchall()
    names = {"schema": schema, "table": name, "lexemes": derived_name(name, "lexemes")}
    lexeme_readers = connection.execute(_LEXEME_READERS, (schema, derived_name(name, "lexemes"))).fetchall()
    readers_without_lexemes = connection.execute(_READERS_WITHOUT_LEXEMES, names).fetchall()
    extensions = connection.execute("SELECT extname FROM pg_extension").fetchall()
    languages = connection.execute(_LANGUAGES).fetchall()
    return TableInfo(
        exists=table_row is not None,
        is_owned=bool(table_row and table_row[0]),
        is_ordinary=bool(table_row and table_row[1] == "r"),
        has_policies=bool(table_row and table_row[2]),
        types={column: kind.rpartition(".")[2] for column, kind, *_ in columns},
        dimensions={column: _parse_dimensions(full) for column, _, full, _ in columns},
        words_mark=next((comment for column, *_, comment in columns if column == TSV), None),
        indexes={index: definition for index, _, valid, definition in indexes if valid},
        invalid_indexes=[index for index, _, valid, _ in indexes if not valid],
        has_lexemes=lexemes_row is not None,
        can_read_lexemes=bool(lexemes_row and lexemes_row[3]),
        has_lexeme_policy=bool(lexemes_row and lexemes_row[2]),
        lexeme_readers=[role for (role,) in lexeme_readers],
        readers_without_lexemes=[role for (role,) in readers_without_lexemes],
        has_trigram_index=any("gin_trgm_ops" in definition for *_, definition in lexeme_indexes),
        extensions=frozenset(extension for (extension,) in extensions),
        languages=frozenset(language for (language,) in languages),
        server_version=connection.info.server_version,
    )


def _parse_dimensions(full_type: str) -> int | None:
    found = re.search(r"vec(?:tor)?\((\d+)\)$", full_type)
    return int(found[1]) if found else None
