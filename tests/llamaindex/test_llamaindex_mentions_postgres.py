"""A document that a hit mentions by its title joins a LlamaIndex context from PostgreSQL, if the caller may read it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from llama_index.core import StorageContext, VectorStoreIndex
from llama_index.core.schema import NodeWithScore, QueryBundle
from llama_index.core.vector_stores.types import MetadataFilter, MetadataFilters
from llama_index.vector_stores.postgres import PGVectorStore
from sqlalchemy import NullPool, make_url

from llamaindex_ctxassembly import ContextAssemblyPostprocessor, PGVectorNeighbors, number_stored_chunks
from llamaindex_samples import WordEmbedding
from test_llamaindex_mentions import CONFIG, NORTH, QUESTION, SOUTH, text_of


@pytest.fixture(params=["json", "jsonb"])
def store(database_url: str, request: pytest.FixtureRequest) -> Iterator[PGVectorStore]:
    url = make_url(database_url)
    made = PGVectorStore(
        connection_string=url.set(drivername="postgresql+psycopg2"),
        async_connection_string=url.set(drivername="postgresql+asyncpg"),
        table_name="chunks",
        embed_dim=64,
        use_jsonb=request.param == "jsonb",
        create_engine_kwargs={"poolclass": NullPool},
    )
    storage = StorageContext.from_defaults(vector_store=made)
    VectorStoreIndex([*NORTH, *SOUTH], storage_context=storage, embed_model=WordEmbedding())
    yield made
    made._engine.dispose()


def tenant(name: str) -> MetadataFilters:
    return MetadataFilters(filters=[MetadataFilter(key="tenant", value=name)])


def retrieved(store: PGVectorStore, name: str) -> list[NodeWithScore]:
    index = VectorStoreIndex.from_vector_store(store, embed_model=WordEmbedding())
    found = index.as_retriever(similarity_top_k=3, filters=tenant(name)).retrieve(QUESTION)
    assert not any("came from" in one.text for one in found)
    return found


async def test_the_named_document_joins_under_the_filter(store: PGVectorStore) -> None:
    def context(name: str) -> str:
        neighbors = PGVectorNeighbors(store, filter=tenant(name))
        assembler = ContextAssemblyPostprocessor(config=CONFIG, store=neighbors)
        return text_of(assembler.postprocess_nodes(retrieved(store, name), QueryBundle(QUESTION)))

    assert "Aarhus" not in context("north")  # no index of titles yet
    number_stored_chunks(store)
    for name, own, other in (("north", "Aarhus", "Seville"), ("south", "Seville", "Aarhus")):
        assert own in context(name)
        assert other not in context(name)
    neighbors = PGVectorNeighbors(store, filter=tenant("north"))
    assembler = ContextAssemblyPostprocessor(config=CONFIG, store=neighbors)
    found = await assembler.apostprocess_nodes(retrieved(store, "north"), QueryBundle(QUESTION))
    assert text_of(found) == context("north")


def test_nothing_joins_where_the_filter_is_unknown(store: PGVectorStore) -> None:
    number_stored_chunks(store)
    assembler = ContextAssemblyPostprocessor(config=CONFIG, vector_store=store)
    found = text_of(assembler.postprocess_nodes(retrieved(store, "north"), QueryBundle(QUESTION)))
    assert "Aarhus" not in found
    assert "Seville" not in found
