"""The state of an index, measured on the user's own table."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ctxassembly.errors import ConfigError
from ctxassembly.stores.postgres.catalog import Described
from ctxassembly.stores.postgres.schema import full_name, quoted_name
from ctxassembly.stores.postgres.table import TSV, IndexedTable

if TYPE_CHECKING:
    from psycopg import Connection

STALE_FROM = 0.1
"""Share of the rows that changed since the last ANALYZE."""
GOOD_RECALL = 0.95
"""Share of the exact hits that HNSW finds: below it, raise `ef_search`."""


@dataclass(frozen=True)
class Health:
    """The state of an index. Printed, it is a table."""

    chunks: int
    without_words: int
    """Chunks of which no word is indexed: they are empty, or what they say is no word to the language."""
    without_vector: int
    changed_since_analyse: float
    """Share of the rows; 1 if nobody ever analysed the table."""
    recall: float | None
    """Mean share of the exact nearest chunks among those that a search finds, for vectors of the table itself; None
    without an HNSW index or vectors."""
    sampled: int
    """Chunks whose vectors were searched for."""
    limit: int
    """Nearest chunks of each."""
    missing: Sequence[str] = ()
    """Indexes that aren't there, or can't be used."""
    remedies: Mapping[str, str] = field(default_factory=dict, hash=False)
    """A remedy for each problem; empty if there is none."""

    def __str__(self) -> str:
        recall = "not measured" if self.recall is None else f"{self.recall:.3f} of {self.limit}, {self.sampled} sampled"
        rows = [
            ("chunks", f"{self.chunks:,}", ""),
            ("without words", f"{self.without_words:,}", self.remedies.get("words", "")),
            ("without vector", f"{self.without_vector:,}", self.remedies.get("vectors", "")),
            ("changed since ANALYZE", f"{self.changed_since_analyse:.0%}", self.remedies.get("statistics", "")),
            ("recall of HNSW", recall, self.remedies.get("recall", "")),
            ("missing indexes", ", ".join(self.missing) or "none", self.remedies.get("indexes", "")),
        ]
        widths = [max(len(row[at]) for row in rows) for at in (0, 1)]
        return "\n".join(f"{name:{widths[0]}}  {value:{widths[1]}}  {todo}".rstrip() for name, value, todo in rows)


def measured(
    connection: Connection[Any], home: IndexedTable, found: Described, *, sample: int, limit: int, seed: int
) -> Health:
    """The state of `home`, whose description is `found`. Exact search reads the table once for each chunk sampled.

    Raises:
        ConfigError: `sample` or `limit` is below 1.
    """
    for name, value in (("sample", sample), ("limit", limit)):
        if type(value) is not int or value < 1:
            raise ConfigError(name, "an integer from 1", value)
    table, vector = full_name(home), quoted_name(home.embedding)
    counted = _row(
        connection,
        f"SELECT count(*), count(*) FILTER (WHERE {TSV} = '' OR {TSV} IS NULL),"
        f" count(*) FILTER (WHERE {vector} IS NULL) FROM {table}",
    )
    chunks, without_words, without_vector = counted or (0, 0, 0)
    changed = _changed(connection, home, chunks)
    ids: list[Any] = []
    if found.has_hnsw and chunks > without_vector:
        ids = _sampled(connection, home, sample, seed)
    recall = _recall(connection, home, ids, limit) if ids else None
    missing = [name for name, there in _expected(home, found, chunks) if not there]
    told: dict[str, str] = {}
    if without_vector:
        told["vectors"] = "add(chunks, embed=...) embeds them" if home.is_own else "the vector store has none for them"
    if changed >= STALE_FROM:
        told["statistics"] = "index.refresh()"
    if recall is not None and recall < GOOD_RECALL:
        told["recall"] = "a higher ef_search"
    if missing:
        # attach makes no extension: that is for the database's owner to decide.
        first = "" if "pg_trgm" in found.extensions else "CREATE EXTENSION pg_trgm, then "
        told["indexes"] = f"{first}{'create(...) or add(...)' if home.is_own else 'attach(...)'} by the table's owner"
    return Health(chunks, without_words, without_vector, changed, recall, len(ids), limit, tuple(missing), told)


def _row(connection: Connection[Any], statement: str, *values: Any) -> Any:
    return connection.execute(statement.encode(), values or None).fetchone()


def _expected(home: IndexedTable, found: Described, chunks: int) -> list[tuple[str, bool]]:
    definitions = " ".join(found.indexes.values())
    return [
        ("GIN on the words", f"gin ({TSV})" in definitions),
        ("HNSW on the vectors", found.has_hnsw or not chunks or not home.can_have_hnsw),
        ("table of words", found.has_lexemes),
        (
            "policy that hides the words of other rows",
            found.hides_lexemes or not (found.has_policies and found.read_by),
        ),
        ("right to read it", found.reads_lexemes or found.has_policies or not found.has_lexemes),
        ("pg_trgm", "pg_trgm" in found.extensions),
        *((f"{name}, which is invalid", False) for name in found.invalid),
    ]


def _changed(connection: Connection[Any], home: IndexedTable, chunks: int) -> float:
    row = _row(
        connection,
        "SELECT n_mod_since_analyze, coalesce(last_analyze, last_autoanalyze) IS NULL"
        " FROM pg_stat_user_tables WHERE schemaname = %s AND relname = %s",
        home.schema,
        home.name,
    )
    if row is None or not chunks:
        return 0.0
    return 1.0 if row[1] else min(row[0] / chunks, 1.0)


def _sampled(connection: Connection[Any], home: IndexedTable, sample: int, seed: int) -> list[Any]:
    key = quoted_name(home.key)
    every = connection.execute(
        f"SELECT {key} FROM {full_name(home)} WHERE {quoted_name(home.embedding)} IS NOT NULL ORDER BY {key}".encode()
    ).fetchall()
    return random.Random(seed).sample([one for (one,) in every], min(sample, len(every)))  # noqa: S311


def _recall(connection: Connection[Any], home: IndexedTable, ids: Sequence[Any], limit: int) -> float:
    """Found the way that a search finds them, and with the indexes switched off."""
    # A percent sign in a name would begin a parameter.
    names = (quoted_name(home.key), full_name(home), quoted_name(home.embedding))
    key, table, vector = (name.replace("%", "%%") for name in names)
    column = f"{vector}::halfvec({home.dimensions})" if home.is_halved else vector
    nearest = (
        f"SELECT {key} FROM {table} WHERE {vector} IS NOT NULL"
        f" ORDER BY {column} <=> (SELECT {column} FROM {table} WHERE {key} = %s)"
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
