"""Tables filled and made ready, each phase timed: one of langchain-postgres that `attach` takes, and one of our own."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

import psycopg
from langchain_core.embeddings import DeterministicFakeEmbedding
from langchain_postgres import Column, PGEngine, PGVectorStore
from tqdm import tqdm

from ctxassembly import Chunk
from ctxassembly.stores.postgres import PostgresIndex
from scale.rows import Corpus, Row

T = TypeVar("T")
COLUMNS = {"document_id": "text", "chunk_index": "int", "tenth": "text", "ward": "text"}
_COPIED = ("id", "content", "embedding", *COLUMNS, "langchain_metadata")
_PHASES = {
    "ADD COLUMN": "column of words",
    "USING gin (ctxassembly_tsv)": "index of words",
    "USING hnsw": "HNSW",
    "_place": "index of places",
    "ANALYZE": "statistics",
    "_lexemes": "table of words",
}
"""By what their statements have in them; the rest takes no time."""


@dataclass(frozen=True)
class Database:
    """A database that is measured, and what may be spent on building its indexes."""

    url: str
    memory: str
    """`maintenance_work_mem` for building indexes."""
    workers: int

    @contextmanager
    def connected(self) -> Iterator[psycopg.Connection[Any]]:
        """A connection that commits each statement by itself."""
        with psycopg.connect(self.url.replace("+psycopg", "", 1), autocommit=True) as connection:
            connection.execute("SELECT set_config('maintenance_work_mem', %s, false)", (self.memory,))
            connection.execute("SELECT set_config('max_parallel_maintenance_workers', %s, false)", (str(self.workers),))
            yield connection

    @contextmanager
    def vector_store(self, table: str, dimensions: int) -> Iterator[PGVectorStore]:
        """The PGVectorStore over `table`, which is made if it isn't there."""
        engine = PGEngine.from_connection_string(self.url)
        try:
            with self.connected() as connection:
                connection.execute("CREATE EXTENSION IF NOT EXISTS vector")
                connection.execute("CREATE EXTENSION IF NOT EXISTS pg_trgm")
                there = connection.execute("SELECT to_regclass(%s)", (table,)).fetchone()
            if there == (None,):
                columns = [Column(name, kind) for name, kind in COLUMNS.items()]
                engine.init_vectorstore_table(
                    table, dimensions, id_column=Column("id", "text"), metadata_columns=list(columns)
                )
            unused = DeterministicFakeEmbedding(size=dimensions)
            yield PGVectorStore.create_sync(engine, unused, table, id_column="id", metadata_columns=list(COLUMNS))
        finally:
            asyncio.run(engine.close())


def timed(seconds: dict[str, float], phase: str, run: Callable[[], T]) -> T:
    """What `run` returns; its seconds are added to those of `phase`."""
    began = time.perf_counter()
    try:
        return run()
    finally:
        seconds[phase] = seconds.get(phase, 0.0) + time.perf_counter() - began


def fill(database: Database, table: str, corpus: Corpus, chunks: int) -> None:
    """Write the rows that the vector store's `table` still lacks. As other writers of it do, it makes no index."""
    with database.connected() as connection:
        row = connection.execute(f"SELECT count(*) FROM {table}").fetchone()
        if row and row[0] == chunks:
            return
        connection.execute(f"TRUNCATE {table}")
        with connection.cursor() as cursor, cursor.copy(f"COPY {table} ({', '.join(_COPIED)}) FROM STDIN") as copy:
            for one in told(corpus.rows(chunks), chunks, "rows"):
                written = (one.document_id, one.place, one.tenth, one.ward, json.dumps({"module": one.ward}))
                copy.write_row((one.id, one.text, str(one.vector), *written))
        for name in ("tenth", "ward"):  # as whoever filters by them has it
            connection.execute(f"CREATE INDEX ON {table} ({name})")


def attach(database: Database, table: str, store: PGVectorStore) -> tuple[PostgresIndex, dict[str, float]]:
    """The index over the vector store's table, and the seconds of each of its phases, which the table remembers."""
    seconds: dict[str, float] = {}
    plan = PostgresIndex.attach(store, dry_run=True, hnsw=True)
    with database.connected() as connection:
        for step in tqdm(plan.steps, desc=f"attach {table}", unit="step", disable=None):
            phase = next((name for mark, name in _PHASES.items() if mark in step.sql), "the rest")
            timed(seconds, phase, partial(connection.execute, step.sql.encode()))
        if seconds:
            connection.execute(f"COMMENT ON TABLE {table} IS '{json.dumps(seconds)}'".encode())
        known = connection.execute("SELECT obj_description(%s::regclass)", (table,)).fetchone()
    return PostgresIndex.attach(store, hnsw=True), json.loads(known[0]) if known and known[0] else seconds


def add(database: Database, table: str, corpus: Corpus, chunks: int) -> tuple[PostgresIndex, dict[str, float]]:
    """A table of our own with the chunks and their vectors, and the seconds that `index.add` takes for it.

    The time in which the chunks are made up isn't counted.
    """
    index = PostgresIndex.create(database.url, table, dimensions=corpus.dimensions)
    seconds = {"made up": 0.0}
    began = time.perf_counter()
    report = index.add(_chunks(corpus, chunks, seconds), progress=False)
    ended = time.perf_counter()
    if report.added != chunks:
        raise RuntimeError(f"of {chunks:,} chunks: {report}")
    copied = seconds["copied"]
    return index, {"COPY": copied - began - seconds["made up"], "HNSW and statistics": ended - copied}


def _chunks(corpus: Corpus, chunks: int, seconds: dict[str, float]) -> Iterator[Chunk]:
    """The chunks; `seconds` gets the time in which they were made up, and the moment when the last one was taken."""
    rows = iter(told(corpus.rows(chunks), chunks, "add"))
    while row := timed(seconds, "made up", lambda: next(rows, None)):
        metadata = {"tenth": row.tenth, "ward": row.ward}
        yield Chunk(row.id, row.document_id, row.text, row.place, metadata=metadata, vector=row.vector)
    seconds["copied"] = time.perf_counter()


def told(rows: Iterable[Row], chunks: int, what: str) -> Iterable[Row]:
    """The same rows, with a bar where somebody looks on."""
    bar: Iterable[Row] = tqdm(rows, total=chunks, desc=what, unit="chunk", disable=None)
    return bar
