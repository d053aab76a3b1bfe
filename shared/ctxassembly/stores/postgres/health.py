"""The state of an index, measured on the user's own table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ctxassembly.data.validation import check_int
from ctxassembly.stores.postgres.table import (
    TSV,
    IndexedTable,
    TableInfo,
    members_sql,
    quoted_name,
    text_literal,
)

if TYPE_CHECKING:
    from psycopg import Connection

STALE_SHARE = 0.1
"""Share of the rows that changed since the last ANALYZE."""
GOOD_RECALL = 0.95
"""Share of the exact hits that HNSW finds: below it, raise `ef_search`."""


@dataclass(frozen=True)
class Health:
    """The state of an index. Printed, it is a table."""

    chunks: int
    without_words: int
    """Chunks without an indexed word: they are empty, or the language has no words for their text."""
    without_vector: int
    changed_since_analyze: float
    """Share of the rows; 1 if the table was never analyzed."""
    recall: float | None
    """Mean share of the exact nearest chunks among those that a search finds, for vectors of the table itself; None
    without an HNSW index or vectors."""
    sampled: int
    """Chunks whose vectors were searched for."""
    limit: int
    """Nearest chunks of each."""
    missing_indexes: Sequence[str] = ()
    """Indexes that aren't there, or can't be used."""
    remedies: Mapping[str, str] = field(default_factory=dict, hash=False)
    """A remedy for each problem; empty if there is none."""

    def __str__(self) -> str:
        recall = "not measured" if self.recall is None else f"{self.recall:.3f} of {self.limit}, {self.sampled} sampled"
        rows = [
            ("chunks", f"{self.chunks:,}", ""),
            ("without words", f"{self.without_words:,}", ""),
            ("without vector", f"{self.without_vector:,}", "vectors"),
            ("changed since ANALYZE", f"{self.changed_since_analyze:.0%}", "statistics"),
            ("recall of HNSW", recall, "recall"),
            ("missing indexes", ", ".join(self.missing_indexes) or "none", "indexes"),
        ]
        widths = [max(len(row[at]) for row in rows) for at in (0, 1)]
        return "\n".join(
            f"{name:{widths[0]}}  {value:{widths[1]}}  {self.remedies.get(problem, '')}".rstrip()
            for name, value, problem in rows
        )


def measure_health(
    connection: Connection[Any], table: IndexedTable, info: TableInfo, *, sample: int, limit: int
) -> Health:
    """Return the state of `table`. Exact search reads the whole table once for each sampled chunk.

    Raises:
        ConfigError: `sample` or `limit` is below 1.
    """
    check_int("sample", sample, 1)
    check_int("limit", limit, 1)
    key, vector = quoted_name(table.key), quoted_name(table.embedding)

    def fetch(statement: str, *values: Any) -> list[Any]:
        return connection.execute(statement.encode(), values or None).fetchall()

    [(chunks, without_words, without_vector)] = fetch(
        f"SELECT count(*), count(*) FILTER (WHERE {TSV} = '' OR {TSV} IS NULL),"
        f" count(*) FILTER (WHERE {vector} IS NULL) FROM {table.full_name}"
    )
    # Autovacuum analyzes the partitions, and not the whole: its statistics are as old as its number of rows.
    is_whole = f"oid = {text_literal(table.full_name)}::regclass"
    [(modified, is_unknown)] = fetch(
        f"SELECT sum(n_mod_since_analyze + CASE relkind WHEN 'p' THEN abs(reltuples - {chunks}) ELSE 0 END),"
        f" bool_or({is_whole} AND coalesce(last_analyze, last_autoanalyze) IS NULL)"
        f" FROM pg_stat_user_tables JOIN pg_class ON oid = relid WHERE oid = ANY ({members_sql(table.full_name)})"
    )
    changed = 0.0
    if chunks:
        changed = 1.0 if is_unknown else min((modified or 0) / chunks, 1.0)
    ids: list[Any] = []
    if info.has_vector_index:
        order = f"ORDER BY md5({key}::text), {key} LIMIT {sample}"
        ids = [one for (one,) in fetch(f"SELECT {key} FROM {table.full_name} WHERE {vector} IS NOT NULL {order}")]
    recall = _measure_recall(connection, table, ids, limit) if ids else None
    missing_indexes = [name for name, there in _expected_indexes(table, info, chunks) if not there]
    # attach makes no extension: that is for the database's owner to decide.
    first = "" if "pg_trgm" in info.extensions else "CREATE EXTENSION pg_trgm, then "
    way, embedding = "attach(...)", "the vector store has none for them"
    if table.is_own:
        way, embedding = "create(...) or add(...)", "add(chunks, embed=...) embeds them"
    possible = (
        ("vectors", without_vector > 0, embedding),
        ("statistics", changed >= STALE_SHARE, "index.refresh()"),
        ("recall", recall is not None and recall < GOOD_RECALL, "a higher ef_search"),
        ("indexes", bool(missing_indexes), f"{first}{way} by the table's owner"),
    )
    remedies = {problem: remedy for problem, is_there, remedy in possible if is_there}
    return Health(
        chunks, without_words, without_vector, changed, recall, len(ids), limit, tuple(missing_indexes), remedies
    )


def _expected_indexes(table: IndexedTable, info: TableInfo, chunks: int) -> list[tuple[str, bool]]:
    definitions = " ".join(info.indexes.values())
    hides_words = info.has_lexeme_policy or not (info.has_policies and info.lexeme_readers)
    return [
        ("GIN on the words", f"gin ({TSV})" in definitions),
        ("HNSW on the vectors", info.has_vector_index or not chunks or not table.can_have_hnsw),
        ("table of words", info.has_lexemes),
        ("policy that hides the words of other rows", hides_words),
        ("right to read it", info.can_read_lexemes or info.has_policies or not info.has_lexemes),
        ("pg_trgm", "pg_trgm" in info.extensions),
        *((f"{name}, which is invalid", False) for name in info.invalid_indexes),
    ]


def _measure_recall(connection: Connection[Any], table: IndexedTable, ids: Sequence[Any], limit: int) -> float:
    """Compare the hits of a normal search with the hits of a search without indexes."""
    # A percent sign in a name would begin a parameter.
    names = (quoted_name(table.key), table.full_name, quoted_name(table.embedding))
    key, table_name, vector = (name.replace("%", "%%") for name in names)
    column = f"{vector}::halfvec({table.dimensions})" if table.is_half_precision else vector
    nearest = (
        f"SELECT {key} FROM {table_name} WHERE {vector} IS NOT NULL"
        f" ORDER BY {column} <=> (SELECT {column} FROM {table_name} WHERE {key} = %s)"
    )
    by_index, statement = f"{nearest} LIMIT {limit}", f"{nearest}, {key} LIMIT {limit}"
    shares: list[float] = []
    for id_ in ids:
        found = {one for (one,) in connection.execute(by_index.encode(), (id_,)).fetchall()}
        connection.execute("SET LOCAL enable_indexscan = off")
        exact = {one for (one,) in connection.execute(statement.encode(), (id_,)).fetchall()}
        connection.execute("SET LOCAL enable_indexscan = on")
        shares.append(len(found & exact) / len(exact))
    return sum(shares) / len(shares)
