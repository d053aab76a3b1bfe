"""The table of lexemes of a table of chunks: every word that a chunk has or had, the shares of the common ones.

All users who may read the chunks may read it, since a query looks up its words there. If row-level security separates
the rows of tenants, only the owner may: the words come from all rows. Then a query counts its words under the policies,
and finds no similar ones. A policy of the table of lexemes hides its rows as soon as row-level security is
switched on, also after it was made.

The words of a query are read by one statement. The server makes lexemes of the text, as it made them of the chunks. The
number of chunks that have a lexeme comes from the column's statistics, which have the commonest (10,000 of them where
they are kept at 1,000); ranking with these equals ranking with exact counts. Other lexemes are rare, and the GIN index
counts them in no time. For a lexeme that no chunk has, similar ones are looked up: first those that contain it, then
those that share most of its trigrams.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Any

from sqlalchemy import TextClause, bindparam, text

from ctxassembly.data.requests import FindTerms
from ctxassembly.data.retrieval import QueryVocabulary, TermStats
from ctxassembly.stores.postgres.catalog import TableInfo
from ctxassembly.stores.postgres.schema import Step, full_name, quoted_name, text_literal
from ctxassembly.stores.postgres.table import TSV, IndexedTable, derived_name
from ctxassembly.wording.unicode import make_encodable

MAX_LEXEME_CHARS = 100
"""Characters of a lexeme in the table; longer ones are no words."""


def missing_lexeme_steps(table: IndexedTable, info: TableInfo) -> Iterator[Step]:
    """Yield the steps that the table of lexemes still needs. A table older than the column of words is out of date."""
    if not info.has_lexemes:
        yield from create_lexemes_steps(table)
    elif TSV not in info.types:
        yield from refresh_lexemes_steps(table)
    if table.has_trigrams and not info.has_trigram_index:
        yield trigram_index_step(table)
    if not info.is_owned:
        return
    if info.has_lexemes and not info.has_lexeme_policy:
        yield _policy_step(table)
    word, way, roles = (
        ("REVOKE", "FROM", info.lexeme_readers) if info.has_policies else ("GRANT", "TO", info.readers_without_lexemes)
    )
    for role in roles:
        yield Step(f"{word} SELECT ON {lexemes_name(table)} {way} {role}")


def lexemes_name(table: IndexedTable) -> str:
    """Return the schema and name of the table of lexemes, quoted."""
    return f"{quoted_name(table.schema)}.{quoted_name(table.lexemes_name)}"


def create_lexemes_steps(table: IndexedTable) -> Iterator[Step]:
    """Yield the steps that create and fill the table of lexemes."""
    lexemes_table = f"CREATE TABLE IF NOT EXISTS {lexemes_name(table)} (word text PRIMARY KEY, share real)"
    yield Step(f"{lexemes_table};\n{_policy_step(table).sql}")
    yield from refresh_lexemes_steps(table)


def _policy_step(table: IndexedTable) -> Step:
    """Hide the words from users who don't see all chunks, as soon as a policy hides some."""
    # The table by its name: as `regclass` nobody could drop it anymore.
    active = f"row_security_active({text_literal(full_name(table))})"
    return Step(
        f"ALTER TABLE {lexemes_name(table)} ENABLE ROW LEVEL SECURITY;\n"
        f"DROP POLICY IF EXISTS ctxassembly_all_rows ON {lexemes_name(table)};\n"
        f"CREATE POLICY ctxassembly_all_rows ON {lexemes_name(table)} FOR SELECT USING (NOT {active})"
    )


def trigram_index_step(table: IndexedTable) -> Step:
    """Return the step for the index that finds lexemes similar to a word."""
    name = quoted_name(derived_name(table.name, "lexemes_trgm"))
    return Step(f"CREATE INDEX IF NOT EXISTS {name} ON {lexemes_name(table)} USING gin (word gin_trgm_ops)")


def refresh_lexemes_steps(table: IndexedTable) -> Iterator[Step]:
    """Yield the steps that replace the lexemes by the current words of all chunks, after an ANALYZE."""
    every = text_literal(f"SELECT {TSV} FROM {full_name(table)}")
    lexemes_table = lexemes_name(table)
    yield Step(
        f"WITH fresh AS MATERIALIZED (SELECT word FROM ts_stat({every}) WHERE length(word) <= {MAX_LEXEME_CHARS}),\n"
        f"  gone AS (DELETE FROM {lexemes_table} WHERE word NOT IN (SELECT word FROM fresh))\n"
        f"INSERT INTO {lexemes_table} SELECT word FROM fresh ON CONFLICT DO NOTHING"
    )
    yield update_shares_step(table)
    yield Step(f"ANALYZE {lexemes_table}")


def update_shares_step(table: IndexedTable) -> Step:
    """Return the step that updates, from the statistics, the share of chunks that have each common word.

    Looked up there, all 10,000 of them would be unpacked for each query, which takes longer than its search.
    """
    lexemes_table = lexemes_name(table)
    return Step(
        "WITH common AS MATERIALIZED (\n"
        "  SELECT word, max(share) AS share FROM pg_catalog.pg_stats,\n"
        "    unnest(most_common_elems::text::text[], most_common_elem_freqs) AS each(word, share)\n"
        f"  WHERE schemaname = {text_literal(table.schema)} AND tablename = {text_literal(table.name)}\n"
        f"    AND attname = '{TSV}' AND length(word) <= {MAX_LEXEME_CHARS} GROUP BY word\n"
        f"), rare AS (\n  UPDATE {lexemes_table} SET share = NULL\n"
        "  WHERE share IS NOT NULL AND word NOT IN (SELECT word FROM common)\n"
        f")\nINSERT INTO {lexemes_table} SELECT word, share FROM common\n"
        "ON CONFLICT (word) DO UPDATE SET share = EXCLUDED.share"
    )


MAX_QUERY_CHARS = 20_000
"""Maximum of characters read of a query: more than 1 MB of lexemes is an error in PostgreSQL."""
MAX_LEXEMES = 400
"""The first ones of a query are looked up."""
MAX_COUNTED = 10_000
"""Chunks counted of a lexeme that the statistics don't have."""
MAX_MISSING = 16
"""Lexemes of a query for which near ones are looked up, 1 to 10 ms each: the first that no chunk has."""
MIN_CHARS = 3
"""Letters of a lexeme for which near ones are looked up. A shorter one has no trigram of its own."""

_STATEMENT = """
WITH asked AS (
  SELECT lexeme, positions[1] AS place
  FROM unnest(to_tsvector(CAST(:language AS regconfig), :text))
  ORDER BY place, lexeme LIMIT :most_lexemes
), size AS (
  -- As the planner estimates it, by the pages that there are now; counted if nobody has analyzed the table.
  SELECT CASE WHEN reltuples > 0 THEN round(greatest(reltuples, reltuples / greatest(relpages, 1)
      * (pg_relation_size(oid) / CAST(current_setting('block_size') AS float8))))
    ELSE (SELECT count(*) FROM {table}) END AS chunks
  FROM pg_catalog.pg_class WHERE oid = CAST({name} AS regclass)
), known AS MATERIALIZED (
  SELECT lexeme, place, CASE WHEN share IS NOT NULL THEN round(share * chunks) ELSE (
    SELECT count(*) FROM (SELECT FROM {table} AS chunk WHERE chunk.{words} @@ {quoted} LIMIT :most_counted) AS these
  ) END AS df
  FROM asked CROSS JOIN size LEFT JOIN {lexemes} AS common ON word = lexeme
), ranked AS (
  -- The rarest first; what no chunk has goes last, since nothing is found by it.
  SELECT *, row_number() OVER (ORDER BY df = 0, df, place, lexeme) AS rank,
    row_number() OVER (PARTITION BY df = 0 ORDER BY place, lexeme) AS turn
  FROM known
)
SELECT chunks, lexeme, CAST(df AS bigint), {near}
FROM size LEFT JOIN ranked ON rank <= :most ORDER BY place, lexeme
"""
_NEAR = """CASE WHEN df = 0 AND turn <= :most_missing AND char_length(lexeme) >= :shortest THEN ARRAY(
  SELECT word FROM {lexemes} WHERE word LIKE {inside} OR word % lexeme
  ORDER BY word LIKE {inside} DESC, similarity(word, lexeme) DESC, word LIMIT :near
) END"""
_NO_LEXEMES = "(SELECT CAST(NULL AS text) AS word, CAST(NULL AS real) AS share)"
"""In the place of a table that may not be read."""
_QUOTED = r"""CAST('''' || replace(replace(asked.lexeme, '\', '\\'), '''', '''''') || '''' AS tsquery)"""
"""A lexeme as `tsquery` reads it back unchanged, whatever operators and quotes are in it."""
_INSIDE = r"""'%' || replace(replace(replace(lexeme, '\', '\\'), '%', '\%'), '_', '\_') || '%'"""
"""The pattern of words that a lexeme is part of."""


def terms_statement(table: IndexedTable, request: FindTerms, language: str) -> TextClause:
    """Return the statement for the words in `request`: rows of total chunks, lexeme, its chunks, similar lexemes.

    Without a word there is one row, with the number of chunks alone.
    """
    bound = {
        "language": language,
        "text": make_encodable(request.text.replace("\0", " "))[:MAX_QUERY_CHARS],
        "most_lexemes": MAX_LEXEMES,
        "most_counted": MAX_COUNTED,
        "most": request.max_terms,
    }
    should_find_near = table.has_trigrams and table.can_read_lexemes and request.max_variants > 0
    if should_find_near:
        bound |= {"most_missing": MAX_MISSING, "shortest": MIN_CHARS, "near": request.max_variants}
    return _build_statement(table, should_find_near=should_find_near).bindparams(
        *(bindparam(name, value) for name, value in bound.items())
    )


@lru_cache(maxsize=64)
def _build_statement(table: IndexedTable, *, should_find_near: bool) -> TextClause:
    values = {
        "table": full_name(table),
        "name": text_literal(full_name(table)),
        "words": TSV,
        "quoted": _QUOTED,
        "lexemes": lexemes_name(table) if table.can_read_lexemes else _NO_LEXEMES,
        "inside": _INSIDE,
    }
    # SQLAlchemy takes a colon for the beginning of a parameter.
    names = {name: text.replace("\\:", ":").replace(":", "\\:") for name, text in values.items()}
    near = _NEAR if should_find_near else "CAST(NULL AS text[])"
    return text(_STATEMENT.replace("{near}", near).format_map(names))


def read_vocabulary(rows: Iterable[Any]) -> QueryVocabulary:
    """Convert the rows of `terms_statement` to a `QueryVocabulary`."""
    rows = list(rows)
    terms = tuple(TermStats(word, df, tuple(near or ())) for _, word, df, near in rows if word is not None)
    return QueryVocabulary(int(max([rows[0][0], *(term.chunk_count for term in terms)])) if rows else 0, terms)
