"""Tables of langchain-postgres and of LlamaIndex's PGVectorStore that the tests of `attach` share."""

from __future__ import annotations

from typing import Any

from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_postgres import Column, PGEngine, PGVectorStore
from llama_index.core.schema import NodeRelationship, RelatedNodeInfo, TextNode
from llama_index.vector_stores.postgres import PGVectorStore as LlamaIndexPGVectorStore
from sqlalchemy import NullPool, make_url

from ctxassembly.data.requests import FindTerms, SearchChunks
from ctxassembly.stores.postgres import PostgresIndex
from postgres_samples import TEXTS, embed, embed_query


class Hashed(Embeddings):
    def embed_query(self, text: str) -> list[float]:
        return embed_query(text)

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return embed(texts)


def langchain_store(engine: PGEngine, *, columns: bool = True, texts: tuple[str, ...] = TEXTS) -> PGVectorStore:
    kinds = {"document_id": "text", "chunk_index": "integer", "tenant": "text"} if columns else {}
    engine.init_vectorstore_table(
        "documents", 16, id_column=Column("id", "text"), metadata_columns=[Column(*one) for one in kinds.items()]
    )
    store = PGVectorStore.create_sync(engine, Hashed(), "documents", id_column="id", metadata_columns=list(kinds))
    store.add_documents(
        [
            Document(
                id=f"lab#{at}",
                page_content=text,
                metadata={"document_id": "lab", "chunk_index": at, "tenant": "ab"[at % 2], "n": at},
            )
            for at, text in enumerate(texts)
        ]
    )
    return store


def llamaindex_store(
    database_url: str, *, jsonb: bool = False, halfvec: bool = False, texts: tuple[str, ...] = TEXTS
) -> LlamaIndexPGVectorStore:
    url = make_url(database_url)
    store = LlamaIndexPGVectorStore(
        connection_string=url.set(drivername="postgresql+psycopg2"),
        async_connection_string=url.set(drivername="postgresql+asyncpg"),
        table_name="chunks",
        embed_dim=16,
        use_jsonb=jsonb,
        use_halfvec=halfvec,
        create_engine_kwargs={"poolclass": NullPool},
    )
    nodes = [
        TextNode(
            id_=f"lab#{at}",
            text=text,
            metadata={"chunk_index": at, "tenant": "ab"[at % 2], "n": at},
            relationships={NodeRelationship.SOURCE: RelatedNodeInfo(node_id="lab")},
            embedding=vector,
            excluded_llm_metadata_keys=["n"],
        )
        for at, (text, vector) in enumerate(zip(texts, embed(list(texts)), strict=True))
    ]
    store.add(nodes)
    return store


def names(found: Any) -> list[str]:
    return sorted(getattr(one, "chunk", one).id for one in found)


def searched(index: PostgresIndex, text: str, condition: Any = None) -> list[str]:
    words = index.find_terms(FindTerms(text, 32, 4))
    return names(index.search(SearchChunks(10, None, words, condition)))
