"""Vector stores of langchain-postgres over one database, filled as users fill them."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from typing import Any

from langchain_core.documents import Document
from langchain_postgres import Column, PGEngine, PGVector, PGVectorStore
from sqlalchemy import create_engine

from langchain_samples import WordEmbeddings

KINDS = ("columns", "json", "old")
"""A PGVectorStore with columns for document and index, one with JSON metadata alone, and a PGVector."""
PLACE = {"document_id": "text", "chunk_index": "integer"}


class PostgresStores(ExitStack):
    """Makes vector stores, and disposes of their engines in the end."""

    def __init__(self, url: str) -> None:
        super().__init__()
        self.url = url

    def make(
        self,
        kind: str,
        documents: Sequence[Document],
        *,
        table: str = "chunks",
        columns: Mapping[str, str] = PLACE,
        ids: Sequence[str] | None = None,
        **options: Any,
    ) -> Any:
        """Return a vector store with `documents`, under their ids, else random ones."""
        if kind == "old":
            connection = create_engine(self.url)
            self.callback(connection.dispose)
            store: Any = PGVector(WordEmbeddings(), connection=connection, collection_name=table)
        else:
            engine = PGEngine.from_connection_string(self.url)
            self.callback(lambda: asyncio.run(engine.close()))
            named = [Column(*each) for each in columns.items()] if kind == "columns" else []
            engine.init_vectorstore_table(
                table, 64, id_column=Column("id", "text"), metadata_columns=list(named), **options
            )
            json = {} if options.pop("store_metadata", True) else {"metadata_json_column": None}
            store = PGVectorStore.create_sync(
                engine, WordEmbeddings(), table, id_column="id", metadata_columns=[each.name for each in named],
                **json, **options,
            )  # fmt: skip
        store.add_documents([*documents], ids=ids or [one.id or str(uuid.uuid4()) for one in documents])
        return store
