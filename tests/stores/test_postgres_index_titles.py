"""Documents that a text mentions by their titles, found in PostgreSQL by an index."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_postgres import PGEngine

from attached_samples import langchain_store, llamaindex_store
from ctxassembly import Chunk, ChunkRef, MemoryIndex, PostgresIndex
from ctxassembly.stores.postgres import ingest
from ctxassembly.stores.postgres.connection import get_engine
from langchain_ctxassembly import number_stored_chunks
from llamaindex_ctxassembly import number_stored_chunks as number_stored_nodes

CHUNKS = [
    Chunk("m#1", "m", "Later.", 1, metadata={"title": "Mercury Orbit"}),
    Chunk("m#0", "m", "Hot.", 0, metadata={"title": "Mercury Orbit"}),
    Chunk("v#0", "v", "# Venus Express (probe)\n\nCold.", 0),
    Chunk("j#0", "j", "Jupiter's Moons\n===\n\nCold.", 0, start=0),
    Chunk("f#0", "f", "Wide.", 0, metadata={"source": "C:\\planets/rings_of_saturn.tar.gz"}),
    Chunk("h#0", "h", "Deep.", 0, metadata={"Header 1": "Neptune’s “Winds”", "source": "winds.md"}),
    Chunk("n#0", "n", "None.", 0),
    Chunk("水#0", "水", "热。", 0, metadata={"title": "水星探测器计划"}),
    Chunk("o#0", "o", "Far.", None, start=0, metadata={"title": "Oort Cloud", "page": 1}),
    Chunk("o#1", "o", "Far.", None, start=0, metadata={"title": "Oort Cloud", "page": 2}),
    Chunk("o#2", "o", "Far.", None, start=9, metadata={"title": "Oort Cloud", "page": 2}),
    Chunk("p#0", "p", "Short.", 0, metadata={"title": "Part 2"}),
    Chunk("i#0", "i", "Long.", 0, metadata={"title": "ISO27001标准文件"}),
    Chunk("北#0", "北", "冷。", 0, metadata={"title": "北京大学"}),
    Chunk("三#0", "三", "冷。", 0, metadata={"title": "三天内"}),
    Chunk("s#0", "s", "Sweet.", 0, metadata={"title": "Süßes"}),
]
TEXTS = {
    "After the Mercury orbit it joined VENUS EXPRESS.": {"m#0", "v#0"},
    "Mercury is not Venus; an orbit is no express.": set(),
    "这是水星探测器计划的一部分。": {"水#0"},
    "水星探测器": set(),
    "JUPITER’S moons and the rings of saturn.tar": {"j#0", "f#0"},
    "Neptune's winds": {"h#0"},
    "the Oort Cloud, in part 2": {"o#0"},
    "见iso27001标准文件。": {"i#0"},
    "Mercury orbital": set(),
    "他在北京大学学习。": {"北#0"},
    "三天内": set(),
    "Er mag süßes.": {"s#0"},
    "": set(),
    "\x00 Mercury\ud800Orbit": {"m#0"},
}


def found(store: Any, text: str, document_id: str = "x") -> set[str]:
    return {chunk.id for chunk in store.fetch([ChunkRef(document_id, named_in=text)])}


@pytest.fixture
def filled(database_url: str) -> PostgresIndex:
    made = PostgresIndex.create(database_url, dimensions=4)
    made.add(CHUNKS, progress=False)
    return made


def test_titles_come_with_neighbors_in_one_statement_by_the_place_of_their_mention(filled: PostgresIndex) -> None:
    refs = [
        ChunkRef("m", 1),
        ChunkRef("m", named_in="Venus Express"),
        ChunkRef("v", named_in="Oort cloud, Mercury orbit"),
    ]
    assert [chunk.id for chunk in filled.fetch(refs)] == ["m#1", "v#0", "o#0", "m#0"]


def test_a_filter_holds_for_titles(database_url: str) -> None:
    index = PostgresIndex.create(database_url, dimensions=4)
    index.add(
        (
            Chunk(f"{who}#0", who, "Hot.", 0, metadata={"title": "Mercury Orbit", "tenant": who})
            for who in ("north", "south")
        ),
        progress=False,
    )
    assert found(index.with_filter({"tenant": "north"}), "Mercury Orbit") == {"north#0"}
    assert found(index.with_filter({"tenant": "east"}), "Mercury Orbit") == set()
    assert found(index, "Mercury Orbit") == {"north#0", "south#0"}


def test_the_title_goes_with_the_first_chunk_in_whatever_order_chunks_come(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ingest, "BATCH_SIZE", 1)
    index = PostgresIndex.create(database_url, dimensions=4)
    index.add(CHUNKS, progress=False)
    memory = MemoryIndex(CHUNKS)
    assert {text: found(index, text) for text in TEXTS} == {text: found(memory, text) for text in TEXTS} == TEXTS
    title = {"title": "Mercury Orbit"}
    index.add([Chunk("m#1", "m", "Later.", 1, metadata=title)], replace=True, progress=False)
    assert found(index, "Mercury Orbit") == {"m#1"}
    index.add([Chunk("m#1", "m", "Later.", 1, metadata=title), Chunk("m#0", "m", "Hot.", 0)], progress=False)
    assert found(index, "Mercury Orbit") == set()


def explain(index: PostgresIndex, text: str) -> str:
    found_statement = index._chunks_statement([ChunkRef("x", named_in=text)])
    assert found_statement is not None
    statement, bound = found_statement
    with get_engine(index.server, index.timeout_seconds).connect() as connection:
        compiled = statement.compile(connection.engine, compile_kwargs={"render_postcompile": True})
        parameters = compiled.construct_params(dict(bound))
        return "\n".join(connection.exec_driver_sql(f"EXPLAIN {compiled}", parameters).scalars())


def test_the_plan_takes_the_index(database_url: str) -> None:
    index = PostgresIndex.create(database_url, dimensions=4)
    index.add(
        (
            Chunk(f"{number}#{at}", f"{number}", "Hot. " * 20, at, metadata={"title": f"Planet{number} orbit"})
            for number in range(500)
            for at in range(4)
        ),
        progress=False,
    )
    text = " ".join(f"Planet{number} orbit" for number in range(40))
    plan = explain(index, text)
    assert "Index Scan on chunks_ctxassembly_titles" in plan
    assert "Seq Scan on chunks" not in plan
    assert len(found(index, text)) == 40
    assert len(found(index, " ".join(f"Planet{number} orbit" for number in range(500)))) == 64  # a statement's most


def test_an_attached_table_has_titles_once_its_chunks_are_numbered(engine: PGEngine, database_url: str) -> None:
    store = langchain_store(engine, texts=("# Mercury Orbit\n\nHot.", "Cold."))
    index = PostgresIndex.attach(store)
    assert found(index, "Mercury orbit") == set()
    assert number_stored_chunks(store).chunks == 0  # all have an index
    assert found(index, "Mercury orbit") == {"lab#0"}
    assert str(PostgresIndex.attach(store, dry_run=True)) == "-- nothing is missing"
    number_stored_chunks(store)
    assert found(index, "Mercury orbit") == {"lab#0"}


@pytest.mark.parametrize("jsonb", [False, True])
def test_a_table_of_llamaindex_is_found_by_titles(database_url: str, jsonb: bool) -> None:
    store = llamaindex_store(database_url, jsonb=jsonb, texts=("# Mercury Orbit\n\nHot.", "Cold."))
    number_stored_nodes(store)
    (first,) = PostgresIndex.attach(store).fetch([ChunkRef("x", named_in="Mercury orbit")])
    assert first.id == "lab#0"
    assert "ctxassembly_title" not in first.metadata
