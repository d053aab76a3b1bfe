"""`PostgresIndex` on a real PostgreSQL: its hits, and the traps of PostgreSQL and pgvector that it stays out of."""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

import psycopg
import pytest
from sqlalchemy import make_url

from ctxassembly import Chunk, ChunkRef, ConfigError, Hit, RetrievalConfig, aretrieve, retrieve
from ctxassembly.data.requests import FindTerms, SearchChunks
from ctxassembly.data.retrieval import QueryVocabulary, ScoredChunk, TermStats
from ctxassembly.stores.postgres import PostgresIndex, search
from ctxassembly.stores.postgres.connection import get_engine, server_url
from ctxassembly.stores.postgres.search import candidate_query
from postgres_samples import TEXTS, chunks, embed, embed_query, execute, statements, vectors


def by_words(index: PostgresIndex, text: str, limit: int = 10, condition: Any = None) -> list[ScoredChunk]:
    found = index.search(SearchChunks(limit, None, index.find_terms(FindTerms(text, 32, 4)), condition))
    return sorted(found, key=lambda one: -(one.keyword_score or 0.0))


def ids_of(hits: Sequence[Hit]) -> list[str]:
    return [hit.chunk.id for hit in hits]


def ids(found: list[ScoredChunk]) -> list[str]:
    return [one.chunk.id for one in found]


@pytest.mark.pooled
def test_a_query_takes_two_round_trips(index: PostgresIndex):
    with statements(index) as seen:
        retrieved = retrieve(
            "When is ferritin measured?", RetrievalConfig(rescue="off"), index=index, embed=embed_query
        )

    assert len(seen) == retrieved.trace.round_trips == 2
    assert retrieved.hits[0].chunk == replace(chunks()[0], metadata=retrieved.hits[0].chunk.metadata)
    assert retrieved.hits[0].chunk.metadata["search_method"] == "vector+keyword"


def known(*counts: int) -> QueryVocabulary:
    return QueryVocabulary(1_000_000, tuple(TermStats(chr(ord("a") + at), count) for at, count in enumerate(counts)))


@pytest.mark.parametrize(
    ("counts", "expected"),
    [
        # The rarest words, and pairs of the next ones: one at least, and more until they have 1,000 together.
        ((600, 300, 20_000, 10_000, 70_000), "'b' | 'a' | 'd' & 'c' | 'd' & 'e'"),
        # The rarest alone are many, and the rarest pair would be 50,000 more than can be scored.
        ((5_000, 170_000, 300_000), "'a'"),
        # No pair is rare enough: three words together are.
        ((100_000, 200_000, 300_000, 900_000), "'a' & 'b' & 'c'"),
        # Nothing is: all words together are the best guess.
        ((500_000, 600_000, 700_000), "'a' & 'b' & 'c'"),
        ((500_000,), "'a'"),
        ((), ""),
    ],
)
def test_candidates_are_few_however_large_the_table(counts: tuple[int, ...], expected: str):
    assert candidate_query(known(*counts), 1_000) == expected


def test_common_words_do_not_crowd_out_the_rare_one(database_url: str, monkeypatch: pytest.MonkeyPatch):
    # More chunks have both common words than are scored, and they are stored before those with the rare one.
    monkeypatch.setattr(search, "TARGET_CANDIDATES", 10)
    monkeypatch.setattr(search, "MAX_SCORED", 100)
    index = PostgresIndex.create(database_url, dimensions=16)
    common = [Chunk(f"c#{at}", "c", "raise and use", at) for at in range(300)]
    rare = [Chunk(f"r#{at}", "r", "bare raise" if at % 2 else "bare use", at) for at in range(40)]
    index.add([*common, *rare], progress=False)
    assert {one.chunk.document_id for one in by_words(index, "raise use bare", 20)} == {"r"}


def by_hnsw_alone(database_url: str) -> None:
    """Connections opened from now on compare no vectors one by one."""
    name = make_url(database_url).database
    for setting in ("enable_seqscan", "enable_sort"):
        execute(database_url, f"ALTER DATABASE {name} SET {setting} = off")
    others = (
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
        " WHERE datname = current_database() AND pid <> pg_backend_pid()"
    )
    with suppress(psycopg.OperationalError):
        execute(database_url, others, "SELECT pg_terminate_backend(pg_backend_pid())")


@pytest.mark.pooled
def test_a_limit_beyond_ef_search_is_reached(database_url: str):
    # HNSW gives at most hnsw.ef_search rows: LIMIT 100 gave 40.
    index = PostgresIndex.create(database_url, dimensions=8, ef_search=40)
    index.add(chunks([f"text {at}" for at in range(400)]), vectors(400, 8), progress=False)
    request = SearchChunks(100, vectors(1, 8, seed=1)[0], None, None)
    assert len(index.search(request)) == 100
    by_hnsw_alone(database_url)
    get_engine(index.server, index.timeout_seconds).dispose()
    with get_engine(index.server, index.timeout_seconds).connect() as connection:
        plan = connection.exec_driver_sql(
            "EXPLAIN SELECT id FROM chunks ORDER BY embedding <=> '[1,2,3,4,5,6,7,8]' LIMIT 9"
        ).all()
        assert any("hnsw" in line for (line,) in plan)
    assert len(index.search(request)) == 100


def test_a_narrow_filter_loses_no_vector_hits(database_url: str):
    # With a filter that 100 of 6,000 rows pass, an index scan gave 1 of 28 rows.
    index = PostgresIndex.create(database_url, dimensions=8, ef_search=40)
    stored = [
        replace(chunk, metadata={"tenant": "few" if at % 60 == 0 else "many"})
        for at, chunk in enumerate(chunks([f"text {at}" for at in range(6_000)]))
    ]
    index.add(stored, vectors(6_000, 8), progress=False)
    found = index.search(SearchChunks(28, vectors(1, 8, seed=1)[0], None, {"tenant": "few"}))
    assert len(found) == 28
    assert {one.chunk.metadata["tenant"] for one in found} == {"few"}


def test_three_thousand_dimensions_are_indexed(database_url: str):
    # `vector` has HNSW up to 2,000 dimensions.
    index = PostgresIndex.create(database_url, dimensions=3072)
    index.add(chunks(), vectors(5, 3072), progress=False)
    assert ids(index.search(SearchChunks(1, vectors(5, 3072)[3], None, None))) == ["lab#3"]
    with get_engine(index.server, index.timeout_seconds).connect() as connection:
        made = connection.exec_driver_sql("SELECT indexdef FROM pg_indexes WHERE tablename = 'chunks'").scalars().all()
    assert any("hnsw" in one and "halfvec_cosine_ops" in one for one in made)


HOSTILE = {
    "operators": "ferritin & | ! <-> :* () \\ 'x' :A",
    "quotes": "o'brien \"'' \\' ferritin",
    "injection": "'); DROP TABLE chunks; -- ferritin",
    "nul": "fer\0ritin ferritin",
    "surrogate": "\ud800 ferritin",
    "emoji": "😀 🧪 ferritin",
    "parameters": "%s %(a)s :name $1 {x} ferritin",
    "5,000 words": "ferritin " + " ".join(f"word{at}" for at in range(5_000)),
    "1 MB": "ferritin " + "x" * 1_000_000,
    "1 MB of words": "ferritin " + "ab cd-ef " * 120_000,
}


@pytest.mark.parametrize("name", HOSTILE)
async def test_a_hostile_query_obeys_the_filter_in_every_channel(index: PostgresIndex, name: str):
    config = RetrievalConfig(rescue="first", limit=10)
    for condition, found in (({"n": {"$gte": 3}}, {"lab#3", "lab#4"}), ({"n": 99}, set()), ({"no": "key"}, set())):
        asked = {"index": index, "embed": lambda _: embed_query("ferritin"), "filter": condition}
        ours, theirs = retrieve(HOSTILE[name], config, **asked), await aretrieve(HOSTILE[name], config, **asked)
        assert {hit.chunk.id for hit in ours.hits} == {hit.chunk.id for hit in theirs.hits} == found


@pytest.mark.parametrize("strategy", ["hybrid", "vector", "keyword"])
@pytest.mark.parametrize("rescue", ["off", "first", "last"])
def test_a_filter_that_matches_nothing_gives_nothing(index: PostgresIndex, strategy: Any, rescue: Any):
    config = RetrievalConfig(strategy=strategy, rescue=rescue)
    for query in ("When is ferritin measured?", "epilepsie", "wheelchiar"):
        nothing = retrieve(query, config, index=index, embed=embed_query, filter={"n": {"$in": []}})
        assert (nothing.hits, nothing.trace.notes) == ((), ())
    assert retrieve("When is ferritin measured?", config, index=index, embed=embed_query).hits


@pytest.mark.parametrize("query", ["", "   ", "\0", "& | !", "😀", "?!", "zzzz qqqq"])
def test_a_query_without_a_known_word_gives_nothing(index: PostgresIndex, query: str):
    assert retrieve(query, RetrievalConfig(strategy="keyword"), index=index).hits == ()
    assert index.search(SearchChunks(5, None, index.find_terms(FindTerms(query, 32, 4)), None)) == []


@pytest.mark.parametrize("word", ["a' | 'b", "\\", "x" * 3_000, "fer\0ritin", "\ud800", "'", ""])
def test_any_word_of_a_vocabulary_can_be_searched(index: PostgresIndex, word: str):
    # They are made elsewhere, too: rescue searches the near ones.
    vocabulary = QueryVocabulary(5, (TermStats(word, 1), TermStats("wheelchair", 1)))
    assert ids(index.search(SearchChunks(5, None, vocabulary, None))) == ["lab#3"]


@pytest.mark.parametrize("table", ['a"; DROP TABLE x; --', "O'Brien", "Ünïcode ✓", "%s :b {x}", "select", "l" * 63])
def test_any_name_will_do_for_a_table(database_url: str, table: str):
    index = PostgresIndex.create(database_url, table, dimensions=16)
    index.add(chunks(), embed=embed, progress=False)
    assert PostgresIndex.create(database_url, table, dimensions=16).table == index.table
    assert ids(by_words(index, "wheelchair")) == ["lab#3"]
    assert [chunk.id for chunk in index.fetch([ChunkRef("lab", 1)])] == ["lab#1"]
    index.refresh()


@pytest.mark.parametrize(
    "key", ["o'brien", "a\\'b", "%s :b {x} %(c)s", '"; DROP TABLE chunks; --', "ti.tle", "Ünïcode ✓"]
)
def test_any_name_will_do_for_a_title(database_url: str, key: str):
    index = PostgresIndex.create(database_url, dimensions=16, title=key)
    index.add([Chunk("a", "a", "text", metadata={key: "Thistles"}), Chunk("b", "b", "text")], progress=False)
    assert ids(by_words(index, "thistles")) == ["a"]
    assert ids(by_words(index, "text", condition={key: "Thistles"})) == ["a"]
    index.refresh()
    assert PostgresIndex.create(database_url, dimensions=16, title=key).find_terms(FindTerms("thistles", 9, 4)).terms


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"language": "klingon"}, "language must be a text search configuration of this database"),
        ({"language": "x'; DROP TABLE y"}, "language must be the name"),
        ({"dimensions": 0}, "dimensions must be"),
        ({"ef_search": 2_000}, "ef_search must be"),
        ({"timeout_seconds": 0}, "timeout_seconds must be"),
        ({"title": ""}, "title must be"),
        ({"schema": "nowhere"}, "schema must be one that exists"),
    ],
)
def test_a_setting_out_of_range_is_an_error(database_url: str, settings: dict[str, Any], message: str):
    with pytest.raises(ConfigError, match=message):
        PostgresIndex.create(database_url, **settings)


@pytest.mark.parametrize(
    ("given", "understood"),
    [
        ("postgresql://u:p%40@h/d", "postgresql+psycopg://u:p%40@h/d"),
        ("postgresql+asyncpg://u@h/d?ssl=require", "postgresql+psycopg://u@h/d?sslmode=require"),
        ("postgresql+asyncpg://u@h/d?prepared_statement_cache_size=0", "postgresql+psycopg://u@h/d"),
        (
            make_url("postgresql+psycopg2://u:secret@h:1/d?sslmode=require"),
            "postgresql+psycopg://u:secret@h:1/d?sslmode=require",
        ),
    ],
)
def test_a_url_for_any_driver_will_do(given: Any, understood: str):
    assert server_url(given) == understood


def test_a_table_that_was_made_otherwise_is_an_error(database_url: str):
    PostgresIndex.create(database_url, dimensions=16)
    with pytest.raises(ConfigError, match="as in the existing table"):
        PostgresIndex.create(database_url, dimensions=17)
    with pytest.raises(ConfigError, match="as the existing table has them"):
        PostgresIndex.create(database_url, dimensions=16, language="english")
    execute(database_url, "CREATE TABLE theirs (id text)")
    with pytest.raises(ConfigError, match="a new one"):
        PostgresIndex.create(database_url, "theirs")


def test_a_vector_of_another_length_is_an_error(index: PostgresIndex):
    with pytest.raises(ConfigError, match="embed must be of 16 dimensions"):
        index.search(SearchChunks(5, [1.0] * 15, None, None))
    with pytest.raises(ConfigError, match="finite numbers"):
        index.search(SearchChunks(5, [math.nan] * 16, None, None))
    assert len(index.search(SearchChunks(5, [0.0] * 16, None, None))) == 5  # no direction: nothing is nearer


@pytest.mark.pooled
def test_a_connection_that_died_in_the_pool_is_replaced(index: PostgresIndex, database_url: str):
    assert index.fetch([ChunkRef("lab", 1)])
    index.refresh()
    execute(
        database_url,
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
        " WHERE datname = current_database() AND pid <> pg_backend_pid()",
    )
    assert index.fetch([ChunkRef("lab", 1)])
    assert index.check().chunks == len(TEXTS)


def test_the_password_is_not_shown(database_url: str):
    index = PostgresIndex.create(database_url.replace("postgres@", "postgres:secret@"), dimensions=16)
    assert "secret" not in f"{index!r} {index.server!r}"
