"""Indexes on servers find what one in memory finds: `make test-engines`. Without a server the test is skipped."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import Any
from uuid import uuid4

import pytest
from index_cases import index_cases
from langchain_core.documents import Document
from langchain_core.embeddings import DeterministicFakeEmbedding
from langchain_qdrant import QdrantVectorStore
from qdrant_client import QdrantClient, models

from ctxassembly import Chunk, retrieve
from ctxassembly.stores.qdrant import QdrantIndex

pytestmark = pytest.mark.engines
PREFIX = f"ctxassembly_test_{uuid4().hex}"
"""How the names of this run's collections begin. They are deleted after it."""


def new_name() -> str:
    return f"{PREFIX}_{uuid4().hex}"


@pytest.fixture
def qdrant() -> Iterator[QdrantClient]:
    url = os.environ.get("CTXASSEMBLY_QDRANT_URL")
    if not url:
        pytest.skip("CTXASSEMBLY_QDRANT_URL is not the URL of a server")
    client = QdrantClient(url)
    yield client
    for one in client.get_collections().collections:
        if one.name.startswith(PREFIX):
            client.delete_collection(one.name)
    client.close()


def test_qdrant_passes_all_cases_of_an_index(qdrant: QdrantClient):
    def make_index(chunks: Sequence[Chunk], vectors: Any) -> QdrantIndex:
        index = QdrantIndex.create(qdrant, new_name(), dimensions=8)
        index.add(chunks, vectors, progress=False)
        return index

    for case in index_cases(make_index):
        case.check()


def test_qdrant_indexes_the_collection_of_a_vector_store(qdrant: QdrantClient):
    name, embeddings = new_name(), DeterministicFakeEmbedding(size=8)
    qdrant.create_collection(name, models.VectorParams(size=8, distance=models.Distance.COSINE))
    store = QdrantVectorStore(qdrant, name, embeddings)
    texts = ("Ferritin is measured in the morning.", "Eat nothing before it.", " ")
    store.add_documents([Document(text, metadata={"document_id": "lab"}) for text in texts])
    plan = QdrantIndex.attach(store, dry_run=True)
    assert plan[-1] == "add words and places to 3 chunks"
    index = QdrantIndex.attach(store, progress=False)
    assert QdrantIndex.attach(store, dry_run=True) == []
    assert index.check().missing == ()
    found = retrieve("ferritin", index=index, embed=embeddings.embed_query)
    assert texts[0] in [hit.chunk.text for hit in found.hits]
    assert len(store.similarity_search("ferritin", k=3)) == 3
