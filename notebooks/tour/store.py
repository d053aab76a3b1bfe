"""The demo's documents in PostgreSQL while the kernel lives: a notebook has no `with` around all its cells."""

from __future__ import annotations

import asyncio
import atexit
from collections.abc import Sequence
from contextlib import ExitStack

import psycopg
from langchain_postgres import Column, PGEngine, PGVectorStore
from rich.console import Console
from sqlalchemy import URL

from ctxassembly import Chunk
from demo.corpus import load_chunks
from demo.embedding import DIMENSIONS, SentenceEncoder
from demo.store import TABLE, database, vector_store

SILENT = Console(quiet=True)
"""What a notebook stores is the same wherever it runs: it doesn't say which server was started where."""
SECTIONS = "ctxassembly_sections"
"""The schema of `section_store`."""
_OPEN = ExitStack()
atexit.register(_OPEN.close)


def database_url() -> URL:
    """The database of DATABASE_URL, or an embedded one that is up in a second and stops with the kernel."""
    return _OPEN.enter_context(database(SILENT))


def reference_store() -> PGVectorStore:
    """The Python language reference as `make demo` stores it. The first time it is embedded, which takes 10 seconds."""
    return _OPEN.enter_context(vector_store(database_url(), load_chunks(), SILENT))


def section_store(chunks: Sequence[Chunk]) -> PGVectorStore:
    """`chunks` in a new table, as langchain-postgres makes it. It is embedded each time, which takes 10 seconds."""
    url = database_url()
    plain = url.set(drivername="postgresql").render_as_string(hide_password=False)
    with psycopg.connect(plain, autocommit=True) as connection:
        for extension in ("vector", "pg_trgm"):
            connection.execute(f"CREATE EXTENSION IF NOT EXISTS {extension}")
        connection.execute(f"DROP SCHEMA IF EXISTS {SECTIONS} CASCADE")
        connection.execute(f"CREATE SCHEMA {SECTIONS}")
    engine = PGEngine.from_connection_string(url)
    _OPEN.callback(lambda: asyncio.run(engine.close()))
    engine.init_vectorstore_table(
        TABLE,
        DIMENSIONS,
        schema_name=SECTIONS,
        id_column=Column("chunk_id", "text"),
        metadata_columns=[Column("document_id", "text"), Column("chunk_index", "int")],
    )
    store = PGVectorStore.create_sync(
        engine,
        SentenceEncoder(),
        TABLE,
        schema_name=SECTIONS,
        id_column="chunk_id",
        metadata_columns=["document_id", "chunk_index"],
    )
    places = [{"document_id": each.document_id, "chunk_index": each.index} for each in chunks]
    store.add_texts(
        [each.text for each in chunks],
        [{**each.metadata, **place} for each, place in zip(chunks, places, strict=True)],
        [each.id for each in chunks],
    )
    return store
