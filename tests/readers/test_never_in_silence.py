"""Readers and splitters x stores: the text is joined and cited, or one warning says what is missing. Never silence.

Each pipeline's output goes into each store as its framework does it, and comes back by the framework's own retriever.
Numbered by `number_chunks` all of it is joined, and nothing warns.
"""

from __future__ import annotations

import uuid
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import chromadb
import pytest
from langchain_core.embeddings import DeterministicFakeEmbedding
from sqlalchemy import Engine, create_engine

import langchain_ctxassembly
import llamaindex_ctxassembly
from ctxassembly import AssemblyConfig, NothingToJoinWarning
from pipelines import LANGCHAIN, LLAMAINDEX

pytestmark = [
    pytest.mark.filterwarnings("ignore:`langchain-community` is being sunset:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:builtin type:DeprecationWarning"),  # FAISS's own
]
CONFIG = AssemblyConfig(neighbors="unfiltered")
EMBEDDING = DeterministicFakeEmbedding(size=8)
QUERY = "When did the weavers come over the northern pass?"
HITS = 3


def in_memory(documents: list[Any], ids: list[str], engine: Engine) -> Any:
    from langchain_core.vectorstores import InMemoryVectorStore

    store = InMemoryVectorStore(EMBEDDING)
    store.add_documents(documents, ids=ids)
    return store


def faiss(documents: list[Any], ids: list[str], engine: Engine) -> Any:
    from langchain_community.vectorstores import FAISS

    return FAISS.from_documents(documents, EMBEDDING, ids=ids)


def chroma(documents: list[Any], ids: list[str], engine: Engine) -> Any:
    from langchain_chroma import Chroma

    store = Chroma(f"c{uuid.uuid4().hex}", EMBEDDING, client=chromadb.EphemeralClient())
    store.add_documents(documents, ids=ids)
    return store


def postgres(documents: list[Any], ids: list[str], engine: Engine) -> Any:
    from langchain_postgres import PGVector

    store = PGVector(EMBEDDING, connection=engine, collection_name=uuid.uuid4().hex)
    store.add_documents(documents, ids=ids)
    return store


def docstore(nodes: list[Any]) -> dict[str, Any]:
    return {"docstore": _index(nodes, None).docstore}


def docstore_beside_a_vector_store(nodes: list[Any]) -> dict[str, Any]:
    return {"docstore": _index(nodes, _chroma()).docstore}


def chroma_of_llamaindex(nodes: list[Any]) -> dict[str, Any]:
    return {"vector_store": _index(nodes, _chroma()).vector_store}


def _chroma() -> Any:
    from llama_index.vector_stores.chroma import ChromaVectorStore

    client = chromadb.EphemeralClient()
    return ChromaVectorStore(chroma_collection=client.create_collection(f"c{uuid.uuid4().hex}"))


def _index(nodes: list[Any], vector_store: Any) -> Any:
    from llama_index.core import MockEmbedding, StorageContext, VectorStoreIndex

    context = StorageContext.from_defaults(vector_store=vector_store)
    return VectorStoreIndex(nodes, storage_context=context, embed_model=MockEmbedding(embed_dim=8))


Store = Callable[..., Any]
LANGCHAINS: dict[str, Store] = {"InMemory": in_memory, "FAISS": faiss, "Chroma": chroma, "PGVector": postgres}
LLAMAINDEXES: dict[str, Store] = {
    "docstore": docstore,
    "docstore beside a vector store": docstore_beside_a_vector_store,
    "Chroma": chroma_of_llamaindex,
}


@pytest.fixture(scope="module")
def engine(module_database_url: str) -> Iterator[Engine]:
    made = create_engine(module_database_url)
    yield made
    made.dispose()


def two_runs(run: Callable[[], list[Any]]) -> tuple[list[dict[str, Any]], list[str]]:
    """The metadata of the labels, and what was warned of in two runs of the same object."""
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        first, second = run(), run()
    assert [each["chunk_ids"] for each in first] == [each["chunk_ids"] for each in second]
    told = [str(each.message) for each in seen if each.category is NothingToJoinWarning]
    assert {each[0]["trace"]["missing"] for each in (first, second)} == set(told or [None])
    return second, told


def is_joined_and_cited(labels: list[dict[str, Any]]) -> bool:
    return all(each["citation"]["source"] for each in labels) and any(len(each["chunk_ids"]) > 1 for each in labels)


def langchains(documents: list[Any], store: Any) -> tuple[list[dict[str, Any]], list[str]]:
    made = langchain_ctxassembly.ContextAssemblyRetriever.from_vectorstore(store, hits=HITS, config=CONFIG)
    return two_runs(lambda: [each.metadata for each in made.invoke(QUERY)])


def llamaindexes(nodes: list[Any], given: dict[str, Any]) -> tuple[list[dict[str, Any]], list[str]]:
    made = llamaindex_ctxassembly.ContextAssemblyPostprocessor(config=CONFIG, **given)
    hits = _index(nodes, None).as_retriever(similarity_top_k=HITS).retrieve(QUERY)
    return two_runs(lambda: [each.metadata for each in made.postprocess_nodes(hits)])


@pytest.mark.parametrize("kind", LANGCHAINS)
@pytest.mark.parametrize("pipeline", LANGCHAIN)
def test_langchain(files: Path, engine: Engine, pipeline: str, kind: str) -> None:
    documents = LANGCHAIN[pipeline](files)
    ids = [str(uuid.uuid4()) for _ in documents]

    labels, told = langchains(documents, LANGCHAINS[kind](documents, ids, engine))
    assert len(told) == 1 or (not told and is_joined_and_cited(labels)), labels

    numbered = langchain_ctxassembly.number_chunks(documents, document_id="a.md")
    labels, told = langchains(numbered, LANGCHAINS[kind](numbered, [str(each.id) for each in numbered], engine))
    assert not told
    assert is_joined_and_cited(labels)


@pytest.mark.parametrize("kind", LLAMAINDEXES)
@pytest.mark.parametrize("pipeline", LLAMAINDEX)
def test_llamaindex(files: Path, pipeline: str, kind: str) -> None:
    nodes = LLAMAINDEX[pipeline](files)

    labels, told = llamaindexes(nodes, LLAMAINDEXES[kind](nodes))
    assert len(told) == 1 or (not told and is_joined_and_cited(labels)), labels

    numbered = llamaindex_ctxassembly.number_chunks(nodes)
    labels, told = llamaindexes(numbered, LLAMAINDEXES[kind](numbered))
    if kind == "docstore beside a vector store":
        assert len(told) == 1
    else:
        assert not told
        assert is_joined_and_cited(labels)
