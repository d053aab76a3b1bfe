"""The words of a query as a table knows them, by one statement.

The server makes lexemes of the text, as it made them of the chunks. How many chunks have one was learned from the
column's statistics, which hold the commonest (10,000 of them where they are kept at 1,000); ranking with these equals
ranking with exact counts. What isn't among them is rare, and the GIN index counts it in no time. A lexeme that no chunk
has is looked up among those that there are: what it is part of, then what has most of its trigrams.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import Any

from sqlalchemy import TextClause, bindparam, text

from ctxassembly.data.requests import FindTerms
from ctxassembly.data.retrieval import Term, Vocabulary
from ctxassembly.stores.postgres.lexemes import lexemes_name
from ctxassembly.stores.postgres.schema import full_name, text_literal
from ctxassembly.stores.postgres.table import TSV, IndexedTable
from ctxassembly.wording.unicode import sendable

MOST_CHARACTERS = 20_000
"""Of a query, so much is read: more than 1 MB of lexemes is an error to PostgreSQL, and no question is so long."""
MOST_LEXEMES = 400
"""The first ones of a query are looked up."""
MOST_COUNTED = 10_000
"""Chunks counted of a lexeme that the statistics don't have."""
MOST_MISSING = 16
"""Lexemes of a query for which near ones are looked up, 1 to 10 ms each: the first that no chunk has."""
SHORTEST = 3
"""Letters of a lexeme for which near ones are looked up. A shorter one has no trigram of its own."""

_STATEMENT = """
WITH asked AS (
  SELECT lexeme, positions[1] AS place
  FROM unnest(to_tsvector(CAST(:language AS regconfig), :text))
  ORDER BY place, lexeme LIMIT :most_lexemes
), size AS (
  -- As the planner estimates it, by the pages that there are now; counted if nobody has analysed the table.
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


def statement(home: IndexedTable, request: FindTerms, language: str) -> TextClause:
    """The words in `request` with their counts: rows of number of chunks, lexeme, its chunks, near lexemes.

    Without a word there is one row, with the number of chunks alone.
    """
    bound = {
        "language": language,
        "text": sendable(request.text.replace("\0", " "))[:MOST_CHARACTERS],
        "most_lexemes": MOST_LEXEMES,
        "most_counted": MOST_COUNTED,
        "most": request.most,
    }
    looks_near = home.has_trigrams and home.reads_lexemes and request.near > 0
    if looks_near:
        bound |= {"most_missing": MOST_MISSING, "shortest": SHORTEST, "near": request.near}
    return _made(home, looks_near=looks_near).bindparams(*(bindparam(name, value) for name, value in bound.items()))


@lru_cache(maxsize=64)
def _made(home: IndexedTable, *, looks_near: bool) -> TextClause:
    written = {
        "table": full_name(home),
        "name": text_literal(full_name(home)),
        "words": TSV,
        "quoted": _QUOTED,
        "lexemes": lexemes_name(home) if home.reads_lexemes else _NO_LEXEMES,
        "inside": _INSIDE,
    }
    # SQLAlchemy takes a colon for the beginning of a parameter.
    names = {name: text.replace("\\:", ":").replace(":", "\\:") for name, text in written.items()}
    near = _NEAR if looks_near else "CAST(NULL AS text[])"
    return text(_STATEMENT.replace("{near}", near).format_map(names))


def vocabulary(rows: Iterable[Any]) -> Vocabulary:
    """The rows of `statement` as retrieval takes them."""
    rows = list(rows)
    terms = tuple(Term(word, df, tuple(near or ())) for _, word, df, near in rows if word is not None)
    return Vocabulary(int(max([rows[0][0], *(term.chunks for term in terms)])) if rows else 0, terms)
