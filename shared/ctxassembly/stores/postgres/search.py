"""Chunks by vectors and words, by one statement: candidates of both, their union, and both scores of each.

Words without BM25. `ts_rank` of a single word is a sum of 1/j^2 over its j occurrences: it saturates, as BM25's count
does. What it lacks is that rare words weigh more. So a chunk's score is the sum over the words of the query of weight x
`ts_rank`, and it finds as much evidence among 20 chunks as exact BM25 does (.973, .717 and .980 for .974, .720 and .977
on an English, a Dutch and a German corpus), where `ts_rank_cd` over all words finds .383 to .705.

Common words needn't be matched, only scored. Candidates have one of the rarest words, taken until they have
`TARGET_CANDIDATES` chunks together, or two of the next ones. A bound on the rarest alone loses hits as the table grows
(.87 of the best at 200,000 chunks), the pairs bring them back (1.00), and the time stays flat. In a table of a million
even two words may have 50,000 chunks together; those scored of them would be the first stored, and crowd out the ones
with a rare word (.15 of the best). So there more words go together, or none.

The words of a query are read by a statement before it. The server makes lexemes of the text, as it made them of the
chunks. The number of chunks that have a lexeme comes from the column's statistics, which have the commonest (10,000 of
them where they are kept at 1,000); ranking with these equals ranking with exact counts. Other lexemes are rare, and the
GIN index counts them in no time. For a lexeme that no chunk has, similar ones are looked up: first those that contain
it, then those that share most of its trigrams.
"""

from __future__ import annotations

import math
from array import array as array_of
from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import accumulate, combinations
from typing import Any, NamedTuple

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import ARRAY, TSQUERY, array

from ctxassembly.data.requests import FindTerms, SearchChunks
from ctxassembly.data.retrieval import QueryVocabulary, TermStats
from ctxassembly.errors import ConfigError
from ctxassembly.stores.postgres.lookup import columns_for
from ctxassembly.stores.postgres.table import ROW_ESTIMATE, TSV, IndexedTable, members_sql
from ctxassembly.text.words import separate_unspaced
from ctxassembly.wording.unicode import is_storable, make_encodable

TARGET_CANDIDATES = 1_000
"""Chunks with one of the rarest words, and as many again with pairs of the next ones."""
TARGET_CANDIDATES_FILTERED = 10_000
"""The same under a filter, which excludes most of them: how many chunks with a word remain is unknown."""
MAX_PAIRED = 6
"""Maximum of words that are combined to pairs."""
MAX_SCORED = 10_000
"""Maximum of chunks scored if even the rarest word of a query is common; the first stored ones are taken."""


_FIELD_WEIGHTS = sa.cast(sa.bindparam("by_field", [0.1] * 4, ARRAY(sa.REAL)), ARRAY(sa.REAL))
"""The weight of an occurrence in text, context, questions and title, as PostgreSQL gives it to a text.

Of Dutch standards, whose titles are headings, the best 5 / 10 / 20 chunks have .637 .712 .787 of the evidence with
titles at the weight of the text; at half of it .015 .012 .015 less, without titles .064 .065 .051 less (standard errors
.008 and .015), and at twice it .034 less at 5. Where titles are names of files or of persons, nothing changes by more
than .002. No set has questions for its chunks: their benefit isn't measured."""
_MAX_VALUES = {"vector": 3.4028234663852886e38, "halfvec": 65504.0}
"""The greatest number that a type of pgvector holds."""
MAX_LEXEME_BYTES = 2046
"""Bytes of a lexeme."""


def quote_lexeme(lexeme: str) -> str:
    """Quote a lexeme so that `tsquery` reads it back unchanged, whatever operators and quotes it has.

    >>> print(quote_lexeme("o'brien | x"))
    'o''brien | x'
    """
    return "'" + lexeme.replace("\\", "\\\\").replace("'", "''") + "'"


def candidate_query(vocabulary: QueryVocabulary, target: int) -> str:
    """Return the `tsquery` of the candidate chunks; empty if no chunk has a word of the query.

    >>> counts = {"the": 80_000, "iron": 950, "level": 4_000, "ferritin": 20}
    >>> known = QueryVocabulary(90_000, tuple(TermStats(term, count) for term, count in counts.items()))
    >>> print(candidate_query(known, 1_000))
    'ferritin' | 'iron' | 'level' & 'the'
    """
    terms = sorted(_searchable(vocabulary.terms), key=lambda term: term.chunk_count)
    parts: list[str] = []
    total = 0
    # Else the pairs alone are more than enough.
    can_take_rarest = len(terms) == 1 or (terms and terms[0].chunk_count <= MAX_SCORED)
    while terms and (total + terms[0].chunk_count <= target or (can_take_rarest and not parts)):
        term = terms.pop(0)
        total += term.chunk_count
        parts.append(quote_lexeme(term.text))
    room = max(MAX_SCORED, MAX_SCORED // TARGET_CANDIDATES * target) - total
    sets = _combine_terms(terms[:MAX_PAIRED], vocabulary.chunk_count, target, room, is_required=not parts)
    return " | ".join(parts + sets)


def _combine_terms(
    terms: Sequence[TermStats], chunks: int, target: int, max_chunks: int, *, is_required: bool
) -> list[str]:
    """Pairs of `terms` that a chunk has to have both of, the rarest, until they have `target` chunks.

    Where even the first would have more than there is `max_chunks` for, sets of three, and so on; a set that has too
    many all the same is taken if one is `is_required`. How many have a set is what would be if words kept to
    themselves.
    """
    for size in range(2, len(terms) + 1):
        sets = sorted(
            (
                chunks * math.prod(term.chunk_count / max(chunks, 1) for term in some),
                [quote_lexeme(term.text) for term in some],
            )
            for some in combinations(terms, size)
        )
        if sets[0][0] <= max_chunks or (is_required and size == len(terms)):
            totals = accumulate(estimate for estimate, _ in sets)
            return [
                " & ".join(words)
                for at, ((_, words), total) in enumerate(zip(sets, totals, strict=True))
                if not at or total <= target
            ]
    return []


class SearchShape(NamedTuple):
    """The form of a search's statement, apart from values and filter."""

    has_vector: bool
    word_count: int | None
    """The number of candidates scored; None if none is asked for."""
    has_candidates: bool
    """True if a chunk may have one of them."""


def bind_search(request: SearchChunks, *, is_filtered: bool) -> tuple[SearchShape, dict[str, Any]]:
    """Return the shape of a search, and the values of its parameters."""
    bound: dict[str, Any] = {"limit": request.limit}
    if request.vector is not None:
        bound["vector"] = format_vector(request.vector)
    if request.vocabulary is None:
        return SearchShape(request.vector is not None, None, has_candidates=False), bound
    weights, terms = request.vocabulary.weights, _searchable(request.vocabulary.terms)
    for at, term in enumerate(terms):
        bound |= {f"word_{at}": term.text, f"query_{at}": quote_lexeme(term.text), f"weight_{at}": weights[term.text]}
    query_text = candidate_query(request.vocabulary, TARGET_CANDIDATES_FILTERED if is_filtered else TARGET_CANDIDATES)
    if query_text:
        bound |= {"candidate_query": query_text, "max_scored": MAX_SCORED}
    return SearchShape(request.vector is not None, len(terms), has_candidates=bool(query_text)), bound


def search_statement(
    table: IndexedTable,
    shape: SearchShape,
    condition: sa.ColumnElement[bool] | None,
) -> sa.Select[Any] | None:
    """Return the statement for the best chunks of each channel: columns, similarity, keyword score, matched words.

    None if there is nothing to search by.
    """
    channels: list[Any] = []
    similarity: sa.ColumnElement[Any] = sa.cast(sa.null(), sa.Double)
    score: sa.ColumnElement[Any] = sa.cast(sa.null(), sa.Double)
    matched: sa.ColumnElement[Any] = sa.cast(sa.null(), ARRAY(sa.Text))
    key = table.c[table.key]
    if shape.has_vector:
        distance = table.distance()
        similarity = 1 - sa.cast(distance, sa.Double)
        nearest = sa.select(key.label("key")).where(table.c[table.embedding].is_not(None), *_as_conditions(condition))
        channels.append(sa.select(nearest.order_by(distance).limit(_LIMIT).cte("nearest")))
    if shape.word_count is not None:
        score = _score(table.tsv, shape.word_count)
        matched = _matched_terms(table.tsv, shape.word_count)
    if shape.word_count and shape.has_candidates:
        matches = table.tsv.op("@@", is_comparison=True)(_tsquery("candidate_query"))
        matching_rows = sa.select(key.label("key"), table.tsv.label("tsv")).where(matches, *_as_conditions(condition))
        candidate_rows = matching_rows.limit(sa.bindparam("max_scored", type_=sa.Integer)).subquery("looked_at")
        best = _score(candidate_rows.c.tsv, shape.word_count)
        ranked = sa.select(candidate_rows.c.key).order_by(best.desc(), candidate_rows.c.key)
        channels.append(sa.select(ranked.limit(_LIMIT).cte("best")))
    if not channels:
        return None
    keys = (sa.union(*channels) if len(channels) > 1 else channels[0]).subquery("found")
    return sa.select(
        *columns_for(table), similarity.label("similarity"), score.label("keyword_score"), matched.label("terms")
    ).join_from(table.sql_table, keys, keys.c.key == key)


cached_search_statement = lru_cache(maxsize=64)(search_statement)
_LIMIT = sa.bindparam("limit", type_=sa.Integer)


def _as_conditions(condition: sa.ColumnElement[bool] | None) -> list[sa.ColumnElement[bool]]:
    return [] if condition is None else [condition]


def format_vector(vector: Sequence[float]) -> str:
    """Return a vector as pgvector reads it."""
    return str(list(map(float, vector)))


def check_vector(vector: Sequence[float], table: IndexedTable) -> None:
    """Check that the table takes `vector`.

    Raises:
        ConfigError: it has another length, or numbers that aren't finite or that the column can't hold.
    """
    greatest = _MAX_VALUES["halfvec" if table.is_half_precision else table.vector_type]
    try:
        numbers = array_of("d", vector)
        length = len(vector)
    except (TypeError, OverflowError):
        raise ConfigError("embed", "a function that gives finite numbers", vector) from None
    if table.dimensions not in (None, length):
        hint = ": embed queries by the model that embedded the chunks"
        raise ConfigError("embed", f"of {table.dimensions} dimensions, as table {table.name!r} is", length, hint)
    if not all(map(greatest.__ge__, map(abs, numbers))):  # NaN is not, either
        raise ConfigError("embed", f"a function that gives finite numbers from -{greatest:g} to {greatest:g}", vector)


def _searchable(terms: Sequence[TermStats]) -> list[TermStats]:
    """Return the words that chunks have and that PostgreSQL can hold, each once."""
    kept = {term.text: term for term in terms if term.chunk_count and term.text and is_storable(term.text)}
    return [term for term in kept.values() if len(term.text.encode()) <= MAX_LEXEME_BYTES]


def _score(tsv: sa.ColumnElement[Any], word_count: int) -> sa.ColumnElement[Any]:
    """Return the keyword score of a chunk; 0 without a word."""
    total: sa.ColumnElement[Any] = sa.cast(sa.literal(0.0), sa.Double)
    for at in range(word_count):
        # One word at a time, written out: as a join with a table of words it takes twice the time.
        rank = sa.cast(sa.func.ts_rank(_FIELD_WEIGHTS, tsv, _tsquery(f"query_{at}")), sa.Double)
        total = total + sa.bindparam(f"weight_{at}", type_=sa.Double) * rank
    return total


def _matched_terms(tsv: sa.ColumnElement[Any], word_count: int) -> sa.ColumnElement[Any]:
    """Return the words that a chunk has, as an array."""
    matching = [
        sa.case((tsv.op("@@", is_comparison=True)(_tsquery(f"query_{at}")), sa.bindparam(f"word_{at}", type_=sa.Text)))
        for at in range(word_count)
    ]
    all_of_them: sa.ColumnElement[Any] = array(matching, type_=sa.Text())
    return sa.func.array_remove(all_of_them, sa.null(), type_=ARRAY(sa.Text))


def _tsquery(parameter: str) -> sa.ColumnElement[Any]:
    return sa.cast(sa.bindparam(parameter, type_=sa.Text), TSQUERY)


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
  -- Of the table or its partitions; counted if nobody has analyzed one that has rows.
  SELECT CASE WHEN sum(reltuples) > 0 AND bool_and(reltuples > 0 OR pg_relation_size(oid) = 0)
    THEN round(sum({estimate})) ELSE (SELECT count(*) FROM {table}) END AS chunks
  FROM pg_catalog.pg_class WHERE oid = ANY ({members}) AND relkind = 'r'
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
SELECT chunks, lexeme, CAST(df AS bigint) AS df, {near} AS near
FROM size LEFT JOIN ranked ON rank <= :most ORDER BY place, lexeme
"""
_NEAR = """CASE WHEN df = 0 AND turn <= :most_missing AND char_length(lexeme) >= :shortest THEN ARRAY(
  SELECT word FROM {lexemes} WHERE word LIKE {inside} OR word % lexeme
  ORDER BY word LIKE {inside} DESC, similarity(word, lexeme) DESC, word LIMIT :near
) END"""
_QUOTED = r"""CAST('''' || replace(replace(asked.lexeme, E'\\', E'\\\\'), '''', '''''') || '''' AS tsquery)"""
"""A lexeme as `tsquery` reads it back unchanged, whatever operators and quotes are in it."""
_INSIDE = r"""'%' || replace(replace(replace(lexeme, E'\\', E'\\\\'), '%', E'\\%'), '_', E'\\_') || '%'"""
"""The pattern of words that a lexeme is part of."""
MAX_CHECKED = 64
"""Near words of a lexeme that are looked up under a filter."""


def terms_statement(
    table: IndexedTable, request: FindTerms, language: str, condition: sa.ColumnElement[bool] | None
) -> Any:
    """Return the statement for the words in `request`: rows of total chunks, lexeme, its chunks, similar lexemes.

    Under a condition similar lexemes are of chunks that pass it. Without a word there is one row, with the number of
    chunks alone.
    """
    text = make_encodable(request.text.replace("\0", " "))[:MAX_QUERY_CHARS]
    bound = {
        "language": language,
        "text": separate_unspaced(text)[:MAX_QUERY_CHARS] if table.has_pairs else text,
        "most_lexemes": MAX_LEXEMES,
        "most_counted": MAX_COUNTED,
        "most": request.max_terms,
    }
    should_find_near = request.max_variants > 0
    if should_find_near:
        near = request.max_variants if condition is None else MAX_CHECKED
        bound |= {"most_missing": MAX_MISSING, "shortest": MIN_CHARS, "near": near}
    parameters: list[sa.BindParameter[Any]] = [sa.bindparam(name, value) for name, value in bound.items()]
    statement = _build_statement(table, should_find_near=should_find_near).bindparams(*parameters)
    if condition is None or not should_find_near:
        return statement
    asked = statement.columns(
        sa.column("chunks", sa.Double),
        sa.column("lexeme", sa.Text),
        sa.column("df", sa.BigInteger),
        sa.column("near", ARRAY(sa.Text)),
    ).cte("asked_words")
    similar = sa.func.unnest(asked.c.near).table_valued("word", with_ordinality="place").render_derived(name="similar")
    # As tsquery reads it back unchanged: see `_QUOTED`. The parameter keeps the backslash out of the statement.
    backslash, quote = sa.literal("\\", sa.Text), sa.literal("'", sa.Text)
    escaped = sa.func.replace(sa.func.replace(similar.c.word, backslash, backslash + backslash), quote, quote + quote)
    matches = table.tsv.op("@@", is_comparison=True)(sa.cast(quote + escaped + quote, TSQUERY))
    is_readable = sa.exists(sa.select(sa.literal_column("1")).select_from(table.sql_table).where(matches, condition))
    words = sa.select(similar.c.word).where(is_readable).order_by(similar.c.place).limit(request.max_variants)
    near_words = sa.func.array(words.correlate(asked).scalar_subquery(), type_=ARRAY(sa.Text))
    near_or_null = sa.case((asked.c.near.is_not(None), near_words))
    return sa.select(asked.c.chunks, asked.c.lexeme, asked.c.df, near_or_null)


@lru_cache(maxsize=64)
def _build_statement(table: IndexedTable, *, should_find_near: bool) -> sa.TextClause:
    values = {
        "table": table.full_name,
        "estimate": ROW_ESTIMATE,
        "members": members_sql(table.full_name),
        "words": TSV,
        "quoted": _QUOTED,
        "lexemes": table.lexemes_name,
        "inside": _INSIDE,
    }
    # SQLAlchemy takes a colon for the beginning of a parameter.
    names = {name: text.replace("\\:", ":").replace(":", "\\:") for name, text in values.items()}
    near = _NEAR if should_find_near else "CAST(NULL AS text[])"
    return sa.text(_STATEMENT.replace("{near}", near).format_map(names))


def read_vocabulary(rows: Iterable[Any]) -> QueryVocabulary:
    """Convert the rows of `terms_statement` to a `QueryVocabulary`."""
    rows = list(rows)
    terms = tuple(TermStats(word, df, tuple(near or ())) for _, word, df, near in rows if word is not None)
    return QueryVocabulary(int(max([rows[0][0], *(term.chunk_count for term in terms)])) if rows else 0, terms)
