"""Roles with settings of their own, on which no result depends, directly and behind PgBouncer."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest
from langchain_postgres import PGEngine

from attached_samples import langchain_store, llamaindex_store, searched
from ctxassembly import Chunk, ChunkRef, MemoryIndex, RetrievalConfig, retrieve
from ctxassembly.data.requests import FindTerms, SearchChunks
from ctxassembly.stores.postgres import PostgresIndex
from langchain_ctxassembly import PGVectorNeighbors
from llamaindex_ctxassembly import PGVectorNeighbors as LlamaIndexNeighbors
from postgres_samples import chunks, embed, execute

READER = "reader"
SETTINGS = {
    "standard_conforming_strings": "off",
    "quote_all_identifiers": "on",
    "row_security": "off",
    "pg_trgm.similarity_threshold": "0.9",
    "gin_fuzzy_search_limit": "1",
    "array_nulls": "off",
    "backslash_quote": "off",
    "escape_string_warning": "on",
}
ODD = Chunk("odd#0", "odd", r"A path as C:\lab\ferritin, and 100% of o'brien\x.", 0, metadata={"path": r"C:\lab"})
pytestmark = pytest.mark.pooled


@pytest.fixture(params=["identifiers quoted", "all others"])
def role_url(request: pytest.FixtureRequest, database_url: str) -> Iterator[str]:
    """The URL of a role that has one of the settings, or all others."""
    quoted = request.param == "identifiers quoted"
    settings = [(name, value) for name, value in SETTINGS.items() if (name == "quote_all_identifiers") is quoted]
    execute(
        database_url,
        f"DROP ROLE IF EXISTS {READER}",
        f"CREATE ROLE {READER} LOGIN",
        *(f"ALTER ROLE {READER} SET {name} = '{value}'" for name, value in settings),
        f"GRANT CREATE ON SCHEMA public TO {READER}",
    )
    yield database_url.replace("postgres@", f"{READER}@")
    execute(database_url, f"DROP OWNED BY {READER}", f"DROP ROLE {READER}")


def test_an_index_finds_what_one_in_memory_finds_whatever_its_role_has_set(role_url: str):
    stored = [*chunks(), ODD]
    index, expected = PostgresIndex.create(role_url, dimensions=16), MemoryIndex(stored)
    index.add(stored, embed=embed, progress=False)
    index.refresh()
    assert index == PostgresIndex.create(role_url, dimensions=16)
    assert index.add(stored, embed=embed, progress=False).unchanged == len(stored)
    assert (index.check().chunks, index.check().missing_indexes) == (6, ())
    for query in ("epilepsie", "ferirtin", r"o'brien\x", "100%", r"lab\ferritin", "wheelchairs", "the desk"):
        words = index.find_terms(FindTerms(query, 32, 4))
        assert words == expected.find_terms(FindTerms(query, 32, 4)), query
        for condition in (None, {"path": r"C:\lab"}, {"path": {"$like": r"C:\\l%"}}, {"path": {"$exists": False}}):
            request = SearchChunks(9, None, words, condition)
            found, wanted = ({one.chunk.id for one in of.search(request)} for of in (index, expected))
            assert found == wanted, (query, condition)
            near = FindTerms(query, 32, 4, condition)
            assert index.find_terms(near) == expected.find_terms(near)
    assert [chunk.id for chunk in index.fetch([ChunkRef("lab", 1)])] == ["lab#1"]
    retrieved = retrieve("weelchair", RetrievalConfig(strategy="keyword", limit=1), index=index)
    assert [hit.chunk.id for hit in retrieved.hits] == ["lab#3"]


def test_policies_hide_rows_and_raise_no_error_whatever_the_role_has_set(role_url: str, database_url: str):
    index = PostgresIndex.create(database_url, dimensions=16)
    index.add([*chunks(tenant="a"), ODD], embed=embed, progress=False)
    execute(
        database_url,
        f"GRANT SELECT ON chunks TO {READER}",
        "ALTER TABLE chunks ENABLE ROW LEVEL SECURITY",
        f"CREATE POLICY own_rows ON chunks FOR SELECT TO {READER} USING (metadata ->> 'tenant' = 'a')",
    )
    PostgresIndex.create(database_url, dimensions=16)  # grants the words, too
    of_reader = PostgresIndex.create(role_url, dimensions=16)
    assert searched(of_reader, "ferritin") == searched(of_reader, "ferritin iron")
    assert "odd#0" not in searched(of_reader, "ferritin path")
    assert of_reader.fetch([ChunkRef("odd", 0)]) == []
    assert len(of_reader.fetch([ChunkRef("lab", 0)])) == 1


def test_neighbors_of_a_llamaindex_table_are_found_whatever_the_role_has_set(role_url: str):
    nodes = llamaindex_store(role_url)
    refs = [ChunkRef("lab", 1), ChunkRef(r"C:\lab", 1)]
    assert [chunk.index for chunk in LlamaIndexNeighbors(nodes).fetch(refs)] == [1]
    assert [chunk.index for chunk in asyncio.run(LlamaIndexNeighbors(nodes).afetch(refs))] == [1]


def test_neighbors_of_a_langchain_table_are_found_whatever_the_role_has_set(
    role_url: str, request: pytest.FixtureRequest
):
    if "identifiers" in request.node.name:
        pytest.skip("langchain-postgres itself takes no table of such a role")
    engine = PGEngine.from_connection_string(role_url, connect_args={"prepare_threshold": None})
    store = langchain_store(engine)
    refs = [ChunkRef("lab", 1), ChunkRef(r"C:\lab", 1)]
    assert [chunk.id for chunk in PGVectorNeighbors(store).fetch(refs)] == ["lab#1"]
    found = asyncio.run(PGVectorNeighbors(store, filter={"tenant": "b"}).afetch(refs))
    assert [chunk.id for chunk in found] == ["lab#1"]
    attached = PostgresIndex.attach(store)
    assert PostgresIndex.attach(store, dry_run=True).steps == ()
    assert searched(attached, "wheelchair") == ["lab#3"]
    assert retrieve("weelchair", RetrievalConfig(strategy="keyword"), index=attached).hits
    asyncio.run(engine.close())
