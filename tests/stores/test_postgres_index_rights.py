"""Who may read what: roles that may only read, and rows that policies keep from them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from typing import Any

import psycopg
import pytest
from langchain_postgres import PGEngine, PGVectorStore

from attached_samples import Hashed, langchain_store, searched
from ctxassembly import ChunkRef, ConfigError, RetrievalConfig, Retrieved, explain, retrieve
from ctxassembly.data.requests import FindTerms
from ctxassembly.retrieval import Question
from ctxassembly.stores.postgres import PostgresIndex
from postgres_samples import chunks, embed, execute

READER = 'The "Reader"'
QUOTED = '"The ""Reader"""'
COLUMNS = {"id_column": "id", "metadata_columns": ["document_id", "chunk_index", "tenant"]}
Opened = Callable[[], PGVectorStore]


@pytest.fixture
def reader_url(database_url: str) -> Iterator[str]:
    """The URL of a role that nothing was granted to yet."""
    execute(database_url, f"DROP ROLE IF EXISTS {QUOTED}", f"CREATE ROLE {QUOTED} LOGIN")
    yield database_url.replace("postgres@", "The%20%22Reader%22@")
    execute(database_url, f"DROP OWNED BY {QUOTED}", f"DROP ROLE {QUOTED}")


@pytest.fixture
def readers(reader_url: str) -> Iterator[Opened]:
    """A function that opens the reader's store on the table that there is."""
    engine = PGEngine.from_connection_string(reader_url)
    yield lambda: PGVectorStore.create_sync(engine, Hashed(), "documents", **COLUMNS)
    asyncio.run(engine.close())


def near(index: PostgresIndex, word: str) -> tuple[str, ...]:
    return index.find_terms(FindTerms(word, 8, 4)).terms[0].variants


def test_who_may_read_the_chunks_may_read_their_words(engine: PGEngine, database_url: str, readers: Opened):
    store = langchain_store(engine)
    execute(database_url, f"GRANT SELECT ON documents TO {QUOTED}")
    assert f'GRANT SELECT ON "public"."documents_lexemes" TO {QUOTED};' in str(
        PostgresIndex.attach(store, dry_run=True)
    )
    PostgresIndex.attach(store)
    assert PostgresIndex.attach(store, dry_run=True).steps == ()

    index = PostgresIndex.attach(readers())
    assert near(index, "epilepsie") == ("kinderepilepsie",)
    assert searched(index, "wheelchair") == ["lab#3"]
    assert len(index.fetch([ChunkRef("lab")])) == 5
    state = index.check()
    assert (state.chunks, state.missing_indexes) == (5, ())
    with pytest.raises(ConfigError, match=r"one for which this user may do that.*permission denied"):
        index.refresh()


def test_an_owner_whose_table_somebody_else_attached_reads_its_words(
    engine: PGEngine, database_url: str, readers: Opened
):
    store = langchain_store(engine)
    execute(database_url, f"ALTER TABLE documents OWNER TO {QUOTED}")
    PostgresIndex.attach(store)
    assert near(PostgresIndex.attach(readers()), "epilepsie") == ("kinderepilepsie",)


def test_a_reader_opens_a_table_that_its_owner_made(database_url: str, reader_url: str):
    PostgresIndex.create(database_url, dimensions=16).add(chunks(), embed=embed, progress=False)
    execute(database_url, f"GRANT SELECT ON chunks TO {QUOTED}")
    PostgresIndex.create(database_url, dimensions=16)  # grants the words, too
    index = PostgresIndex.create(reader_url, dimensions=16)
    assert searched(index, "wheelchair") == ["lab#3"]
    assert near(index, "epilepsie") == ("kinderepilepsie",)
    assert index.check().missing_indexes == ()
    with pytest.raises(ConfigError, match=r"one for which this user may do that.*permission denied"):
        index.add(chunks(["More."], "more"), embed=embed, progress=False)


def test_who_may_not_even_read_gets_an_error(database_url: str, reader_url: str):
    PostgresIndex.create(database_url, dimensions=16)
    with pytest.raises(ConfigError, match=r'may read "public"\."chunks_lexemes": its owner grants it'):
        PostgresIndex.create(reader_url, dimensions=16)


@pytest.fixture
def of_a(engine: PGEngine, database_url: str, readers: Opened) -> PostgresIndex:
    """The index of a reader whom policies show the rows of tenant a alone: lab#0, lab#2 and lab#4."""
    store = langchain_store(engine)
    execute(
        database_url,
        f"GRANT SELECT ON documents TO {QUOTED}",
        "ALTER TABLE documents ENABLE ROW LEVEL SECURITY",
        f"CREATE POLICY own_rows ON documents FOR SELECT TO {QUOTED} USING (tenant = 'a')",
    )
    PostgresIndex.attach(store)
    return PostgresIndex.attach(readers())  # without a warning: so it should be


@pytest.mark.parametrize("made", ["attached", "created"])
def test_policies_switched_on_later_hide_the_words_at_once(
    engine: PGEngine, database_url: str, reader_url: str, readers: Opened, made: str
):
    """Who reads the table of words as another role finds none, whether or not the owner attaches again."""
    table = "documents" if made == "attached" else "chunks"
    if made == "attached":
        store = langchain_store(engine)
        PostgresIndex.attach(store)
    else:
        PostgresIndex.create(database_url, dimensions=16).add(chunks(tenant="b"), embed=embed, progress=False)
    execute(database_url, f"GRANT SELECT ON {table} TO {QUOTED}")

    def opened_by_owner() -> PostgresIndex:
        return PostgresIndex.attach(store) if made == "attached" else PostgresIndex.create(database_url, dimensions=16)

    opened_by_owner()  # grants the words, too
    index = PostgresIndex.attach(readers()) if made == "attached" else PostgresIndex.create(reader_url, dimensions=16)
    assert near(index, "weelchair") == ("wheelchair",)

    def words() -> int:
        with psycopg.connect(reader_url.replace("+psycopg", "", 1)) as connection:
            (count,) = connection.execute(f"SELECT count(*) FROM {table}_lexemes".encode()).fetchone() or (0,)
            return int(count)

    assert words()
    execute(
        database_url,
        f"ALTER TABLE {table} ENABLE ROW LEVEL SECURITY",
        f"CREATE POLICY none ON {table} FOR SELECT TO {QUOTED} USING (false)",
    )
    assert words() == 0
    assert near(index, "weelchair") == ()
    assert [term.chunk_count for term in index.find_terms(FindTerms("wheelchair", 8, 4)).terms] == [0]
    assert near(opened_by_owner(), "weelchair") == ("wheelchair",)
    assert words() == 0


@pytest.mark.pooled
def test_policies_hold_in_every_channel_and_for_words(of_a: PostgresIndex):
    for query in ("weelchair", "wheelchai examination", "wheelchairs ferritin"):
        retrieved = retrieve(query, RetrievalConfig(rescue="first"), index=of_a, embed=Hashed())
        assert {hit.chunk.metadata["tenant"] for hit in retrieved.hits} == {"a"}
        assert "a wheelchair" not in said(retrieved)
    assert near(of_a, "weelchair") == ()
    assert [(term.text, term.chunk_count) for term in of_a.find_terms(FindTerms("wheelchair", 8, 4)).terms] == [
        ("wheelchair", 0)
    ]
    assert len(of_a.fetch([ChunkRef("lab")])) == 3
    state = of_a.check()
    assert (state.chunks, state.missing_indexes) == (3, ())


def said(retrieved: Retrieved) -> str:
    """All that a retrieval gives and prints."""
    return f"{retrieved!r}\n{retrieved}\n{retrieved.trace}"


@pytest.mark.parametrize("rescue", ["first", "last"])
def test_no_word_of_another_tenant_is_shown(engine: PGEngine, rescue: Any):
    """Near words are looked up among those of all, and only searched for."""
    index = PostgresIndex.attach(langchain_store(engine))
    assert near(index, "weelchair") == ("wheelchair",)  # lab#3, of tenant b
    config = RetrievalConfig(strategy="keyword", rescue=rescue)
    for tenant, shown in (("a", False), ("b", True)):
        retrieved = retrieve(Question("weelchair breakfast", filter={"tenant": tenant}), config, index=index)
        assert ("wheelchair" in said(retrieved)) is shown
    why = explain(Question("weelchair", filter={"tenant": "a"}), "lab#3", config, index=index)
    assert "wheelchair" not in f"{why!r} {why}"
