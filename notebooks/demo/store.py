"""The store: langchain-postgres' PGVectorStore, in the database of DATABASE_URL or in an embedded server."""

from __future__ import annotations

import asyncio
import hashlib
import os
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import psycopg
from langchain_core.documents import Document
from langchain_postgres import Column, PGEngine, PGVectorStore
from rich.console import Console
from rich.progress import track
from sqlalchemy import URL, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError

from ctxassembly import PostgresIndex
from ctxassembly.stores.embedded_server import embedded_postgres
from demo.embedding import DIMENSIONS, MODEL, SentenceEncoder

SCHEMA = "ctxassembly_demo"
"""Everything that the demo stores is in this schema, so that in a database of the user's it touches nothing else."""
TABLE = "chunks"
BATCH = 32
CONNECT_SECONDS = 10
LOCK_SECONDS = 0.1
_FORMAT = 2
"""Counts the changes of what an index keeps in its table."""


class DatabaseError(Exception):
    """The database can't be used; the message is for the one who runs the demo."""


@contextmanager
def database(console: Console) -> Iterator[URL]:
    """The database of DATABASE_URL, or an embedded one that keeps its files for the next run."""
    given = os.environ.get("DATABASE_URL")
    if given:
        own = as_psycopg(given)
        console.print(
            f"Connecting to {own.render_as_string()}, for {CONNECT_SECONDS} s at most ...", soft_wrap=True, markup=False
        )
        yield own
        return
    # Below the temporary folder: as root the server runs as another user, who may not pass through root's home.
    folder = Path(tempfile.gettempdir(), f"ctxassembly-demo-{os.geteuid()}")
    console.print(f"Starting PostgreSQL in {folder} ...", soft_wrap=True, markup=False)
    with embedded_postgres(folder) as url:
        yield make_url(url)


def as_psycopg(given: str) -> URL:
    """The URL for the driver that the demo uses, from `postgres://`, `postgresql://` or any `postgresql+driver://`."""
    try:
        url = make_url(given)
    except ArgumentError as error:
        raise DatabaseError("DATABASE_URL must be a URL such as postgresql://user:password@host/database") from error
    if url.drivername.partition("+")[0] not in ("postgres", "postgresql"):
        raise DatabaseError(f"DATABASE_URL must begin with postgresql://, got {url.drivername}://")
    return url.set(drivername="postgresql+psycopg")


@contextmanager
def vector_store(url: URL, chunks: Sequence[Document], console: Console) -> Iterator[PGVectorStore]:
    """The store with all of `chunks` in it, indexed. It is filled unless an earlier run has filled it with the same.

    Raises:
        DatabaseError: the database is out of reach, or pgvector or a privilege is missing.
    """
    embedding = SentenceEncoder()
    engine = PGEngine.from_connection_string(url)
    try:
        try:
            with _connection(url) as connection:
                _lock(connection)
                if _fingerprint_of_table(connection) != fingerprint(chunks):
                    _create(connection, engine)
                    _fill(_opened(engine, embedding), chunks, console)
                    _seal(connection, fingerprint(chunks))
                _with_near_words(connection)
                # So few vectors are compared exactly in no time, and the demo shows the same each time.
                PostgresIndex.attach(_opened(engine, embedding), hnsw=False)
        except (psycopg.Error, DBAPIError) as error:
            reason = str(error).strip().partition("\n")[0]
            raise DatabaseError(f"The database {url.render_as_string()} can't be used: {reason}") from error
        yield _opened(engine, embedding)
    finally:
        asyncio.run(engine.close())


def fingerprint(chunks: Sequence[Document]) -> str:
    """A digest of all that decides what the store holds: the model, and each chunk's id, metadata and text.

    `_FORMAT` is part of it, so that a store of an earlier version is made again.
    """
    digest = hashlib.sha256(f"{MODEL} {_FORMAT}".encode())
    for chunk in chunks:
        digest.update(repr((chunk.id, sorted(chunk.metadata.items()), chunk.page_content)).encode())
    return digest.hexdigest()


def _connection(url: URL) -> psycopg.Connection:
    plain = url.set(drivername="postgresql").render_as_string(hide_password=False)
    return psycopg.connect(plain, autocommit=True, connect_timeout=CONNECT_SECONDS)


def _lock(connection: psycopg.Connection) -> None:
    """Wait until no other demo fills the table or indexes it. The lock goes with the connection."""
    # Tried again and again: a statement that waits for a lock holds a snapshot, and an index that the other demo makes
    # concurrently would wait for that.
    while connection.execute("SELECT pg_try_advisory_lock(hashtext(%s))", [SCHEMA]).fetchone() != (True,):
        time.sleep(LOCK_SECONDS)


def _with_near_words(connection: psycopg.Connection) -> None:
    """Create pg_trgm where the server has it: by it a word that no chunk has finds words like it."""
    if connection.execute("SELECT FROM pg_available_extensions WHERE name = 'pg_trgm'").fetchone() is not None:
        connection.execute("CREATE EXTENSION IF NOT EXISTS pg_trgm")


def _fingerprint_of_table(connection: psycopg.Connection) -> str | None:
    """What `_seal` wrote; None if there is no table, or only what an interrupted run left of it."""
    row = connection.execute("SELECT obj_description(to_regclass(%s), 'pg_class')", [f"{SCHEMA}.{TABLE}"]).fetchone()
    return None if row is None else row[0]


def _create(connection: psycopg.Connection, engine: PGEngine) -> None:
    connection.execute("CREATE EXTENSION IF NOT EXISTS vector")
    connection.execute(f"CREATE SCHEMA IF NOT EXISTS {SCHEMA}")
    engine.init_vectorstore_table(
        TABLE,
        DIMENSIONS,
        schema_name=SCHEMA,
        id_column=Column("chunk_id", "text"),
        metadata_columns=[
            Column("document_id", "text", nullable=False),
            Column("chunk_index", "int", nullable=False),
            Column("start_index", "int"),
        ],
        overwrite_existing=True,
    )
    # The vector store makes no such index; without it fetching neighbors reads the whole table.
    connection.execute(f"CREATE UNIQUE INDEX ON {SCHEMA}.{TABLE} (document_id, chunk_index)")


def _opened(engine: PGEngine, embedding: SentenceEncoder) -> PGVectorStore:
    return PGVectorStore.create_sync(
        engine,
        embedding,
        TABLE,
        schema_name=SCHEMA,
        id_column="chunk_id",
        metadata_columns=["document_id", "chunk_index", "start_index"],
    )


def _fill(store: PGVectorStore, chunks: Sequence[Document], console: Console) -> None:
    doing = f"Embedding and storing {len(chunks)} chunks"
    console.print("The first run takes about a minute, later ones some seconds.", soft_wrap=True, markup=False)
    if not console.is_terminal:
        console.print(f"{doing} ...", soft_wrap=True, markup=False)
    starts = track(
        range(0, len(chunks), BATCH),
        doing,
        console=console,
        disable=not console.is_terminal,
    )
    for start in starts:
        batch = chunks[start : start + BATCH]
        texts = [chunk.page_content for chunk in batch]
        # Embedded here and not by add_documents, which does it in a thread: Ctrl-C would start pg_ctl, a fork, while
        # that thread computes, and OpenBLAS never returns from a computation during which its process forked.
        vectors = store.embeddings.embed_documents(texts)
        store.add_embeddings(texts, vectors, [chunk.metadata for chunk in batch], [str(chunk.id) for chunk in batch])


def _seal(connection: psycopg.Connection, digest: str) -> None:
    """Mark the table as complete, last of all."""
    connection.execute(f"COMMENT ON TABLE {SCHEMA}.{TABLE} IS '{digest}'")
