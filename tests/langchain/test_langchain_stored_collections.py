"""`number_stored_chunks` over Chroma and Qdrant in their embedded forms, filled as users fill them."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from random import Random
from typing import Any

import pytest
from langchain_chroma import Chroma
from langchain_core.documents import Document
from langchain_core.runnables import RunnableLambda
from langchain_qdrant import QdrantVectorStore
from langchain_text_splitters import RecursiveCharacterTextSplitter
from qdrant_client import QdrantClient, models

from ctxassembly import AssemblyConfig, ChunkRef, MetadataKeys, NothingToJoinWarning
from ctxassembly.errors import ConfigError
from langchain_ctxassembly import (
    ContextAssembler,
    ContextAssemblyRetriever,
    VectorStoreNeighbors,
    anumber_stored_chunks,
    number_chunks,
    number_stored_chunks,
)
from langchain_samples import WordEmbeddings

YEARS = [f"In year {year} the weavers of the valley paid {year + 7} bales of wool." for year in range(120)]
QUERY = "How many bales of wool did the weavers pay in year 12?"
UNFILTERED = AssemblyConfig(neighbors="unfiltered")
KINDS = ["chroma", "qdrant"]


def split(*sources: str, offsets: bool = True, overlap: int = 80) -> list[Document]:
    splitter = RecursiveCharacterTextSplitter(chunk_size=200, chunk_overlap=overlap, add_start_index=offsets)
    pages = [
        Document(" ".join(YEARS[40 * page : 40 * page + 40]), metadata={"source": source, "page": page})
        for source in sources
        for page in range(3)
    ]
    return splitter.split_documents(pages)


def stored(kind: str, documents: list[Document]) -> Any:
    """A vector store of the framework with `documents` under random ids."""
    store: Any
    if kind == "chroma":
        store = Chroma(f"chunks-{uuid.uuid4().hex}", embedding_function=WordEmbeddings())
    else:
        client = QdrantClient(":memory:")
        client.create_collection("chunks", models.VectorParams(size=64, distance=models.Distance.COSINE))
        store = QdrantVectorStore(client, "chunks", WordEmbeddings())
    if documents:
        store.add_documents(documents, ids=[str(uuid.uuid4()) for _ in documents])
    return store


def dump(store: Any) -> dict[str, tuple[str, Mapping[str, Any], list[float]]]:
    """The text, metadata and vector of all chunks, by id."""
    if isinstance(store, Chroma):
        found: Any = store._collection.get(include=["documents", "metadatas", "embeddings"])
        records = zip(found["documents"], found["metadatas"], found["embeddings"], strict=True)
        return {
            id_: (text, metadata or {}, [float(number) for number in vector])
            for id_, (text, metadata, vector) in zip(found["ids"], records, strict=True)
        }
    points, _ = store.client.scroll("chunks", limit=1000, with_vectors=True)
    return {
        point.id: (point.payload["page_content"], point.payload["metadata"] or {}, point.vector) for point in points
    }


def texts_by_index(store: Any, document: str) -> dict[int, str]:
    """The text at each index of a document, as neighbors are found."""
    found = VectorStoreNeighbors(store).fetch([ChunkRef(document, index) for index in range(100)])
    return {chunk.index: chunk.text for chunk in found if chunk.index is not None}


def over(store: Any) -> ContextAssemblyRetriever:
    return ContextAssemblyRetriever.from_vectorstore(store, hits=2, config=UNFILTERED)


@pytest.mark.parametrize("kind", KINDS)
def test_an_ordinary_collection_is_joined_once_it_is_numbered(kind: str) -> None:
    documents = split("a.pdf", "b.pdf")
    store = stored(kind, Random(7).sample(documents, len(documents)))
    before = dump(store)

    report = number_stored_chunks(store)

    assert (report.chunks, report.documents, report.unordered, report.nameless) == (len(documents), 2, (), 0)
    assert texts_by_index(store, "b.pdf") == dict(
        enumerate(each.page_content for each in documents if each.metadata["source"] == "b.pdf")
    )
    after = dump(store)
    assert {id_: (text, vector) for id_, (text, _, vector) in after.items()} == {
        id_: (text, vector) for id_, (text, _, vector) in before.items()
    }
    added = {"document_id", "chunk_index"}
    assert all(set(after[id_][1]) == set(metadata) | added for id_, (_, metadata, _) in before.items())
    found = over(store).invoke(QUERY)
    assert found[0].metadata["trace"]["missing"] is None
    assert max(len(each.metadata["chunk_ids"]) for each in found) >= 3


@pytest.mark.parametrize("kind", KINDS)
def test_a_chain_of_retriever_and_assembler_gets_neighbors(kind: str) -> None:
    store = stored(kind, split("a.pdf"))
    number_stored_chunks(store)
    assembler = ContextAssembler(config=UNFILTERED, store=VectorStoreNeighbors(store))
    with_query = RunnableLambda(lambda query: {"documents": retriever.invoke(query), "query": query})
    retriever = store.as_retriever(search_kwargs={"k": 1})
    (found,) = (with_query | assembler).invoke(QUERY)
    assert len(found.metadata["chunk_ids"]) >= 2


@pytest.mark.parametrize("kind", KINDS)
def test_a_second_run_and_a_dry_run_change_nothing(kind: str) -> None:
    store = stored(kind, split("a.pdf"))
    before = dump(store)
    planned = number_stored_chunks(store, dry_run=True)
    assert planned.chunks == len(before)
    assert dump(store) == before
    assert number_stored_chunks(store) == planned
    numbered = dump(store)
    assert (number_stored_chunks(store).chunks, dump(store)) == (0, numbered)


@pytest.mark.parametrize("kind", KINDS)
def test_a_run_that_was_interrupted_is_completed(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ctxassembly.stores.numbering.BATCH_SIZE", 8)
    monkeypatch.setattr("ctxassembly.stores.numbering.BATCH_SIZE", 8)
    documents = split("a.pdf")
    store, whole = stored(kind, documents), stored(kind, documents)
    number_stored_chunks(whole)
    target = (store._collection, "update") if kind == "chroma" else (store.client, "batch_update_points")
    write, calls = getattr(*target), []

    def fail_at_third(*arguments: Any, **options: Any) -> None:
        calls.append(1)
        if len(calls) == 3:
            raise ConnectionError
        write(*arguments, **options)

    with monkeypatch.context() as patched:
        patched.setattr(*target, fail_at_third)
        with pytest.raises(ConnectionError):
            number_stored_chunks(store)
    assert number_stored_chunks(store).chunks == len(documents) - 16
    assert texts_by_index(store, "a.pdf") == texts_by_index(whole, "a.pdf")


@pytest.mark.parametrize("kind", KINDS)
def test_chunks_that_do_not_show_their_order_are_reported(kind: str) -> None:
    documents = split("a.pdf", offsets=False)
    store = stored(kind, [*documents, *split("b.pdf"), Document("Alone.")])
    report = number_stored_chunks(store)
    assert (report.documents, report.unordered, report.unordered_count, report.nameless) == (1, ("a.pdf",), 1, 1)
    assert "1 document could not be ordered" in str(report)
    assert texts_by_index(store, "a.pdf") == {}
    assert ("trust_insertion_order" in str(report)) == (kind == "chroma")


def test_chroma_keeps_the_order_of_insertion() -> None:
    documents = split("a.pdf", offsets=False)
    store = stored("chroma", documents)
    assert number_stored_chunks(store, trust_insertion_order=True).documents == 1
    assert texts_by_index(store, "a.pdf") == dict(enumerate(each.page_content for each in documents))


def test_qdrant_does_not_keep_the_order_of_insertion() -> None:
    with pytest.raises(ConfigError, match="trust_insertion_order must be False for Qdrant"):
        number_stored_chunks(stored("qdrant", split("a.pdf")), trust_insertion_order=True)


@pytest.mark.parametrize("kind", KINDS)
def test_a_document_that_was_stored_twice_is_not_ordered(kind: str) -> None:
    report = number_stored_chunks(stored(kind, [*split("a.pdf"), *split("a.pdf")]))
    assert (report.chunks, report.unordered) == (0, ("a.pdf",))


@pytest.mark.parametrize("kind", KINDS)
def test_indexes_that_are_there_stay(kind: str) -> None:
    given = [Document(f"Text {at}.", metadata={"source": "a.txt", "chunk_index": 2 * at}) for at in range(4)]
    store = stored(kind, given)
    report = number_stored_chunks(store)
    assert (report.chunks, report.documents) == (4, 1)
    assert sorted(texts_by_index(store, "a.txt")) == [0, 2, 4, 6]


@pytest.mark.parametrize("kind", KINDS)
def test_an_index_in_text_is_written_as_a_number(kind: str) -> None:
    given = [Document(f"Text {at}.", metadata={"source": "a.txt", "chunk_index": str(at)}) for at in range(4)]
    store = stored(kind, given)
    number_stored_chunks(store)
    assert texts_by_index(store, "a.txt") == {at: f"Text {at}." for at in range(4)}


def test_a_short_overlap_is_recorded_as_number_chunks_records_it() -> None:
    splitter = RecursiveCharacterTextSplitter(chunk_size=80, chunk_overlap=15)
    documents = splitter.split_documents([Document(" ".join(YEARS), metadata={"source": "a.txt"})])
    store = stored("chroma", documents)
    number_stored_chunks(store, trust_insertion_order=True)
    found = VectorStoreNeighbors(store).fetch([ChunkRef("a.txt", index) for index in range(len(documents))])
    recorded = [chunk.metadata.get("overlap_chars") for chunk in sorted(found, key=lambda chunk: chunk.index or 0)]
    assert recorded == [chunk.metadata.get("overlap_chars") for chunk in number_chunks(documents)]
    assert any(recorded)


@pytest.mark.parametrize("kind", KINDS)
def test_the_callers_keys_are_written(kind: str) -> None:
    keys = MetadataKeys(document_id=("doc", "source"), index="seq")
    store = stored(kind, split("a.pdf"))
    number_stored_chunks(store, keys=keys)
    assert len(VectorStoreNeighbors(store, keys=keys).fetch([ChunkRef("a.pdf", at) for at in range(3)])) == 3
    with pytest.raises(ConfigError, match=r"keys\.index must be a key without a dot"):
        number_stored_chunks(store, keys=MetadataKeys(index="chunk.at"))


@pytest.mark.parametrize("kind", KINDS)
async def test_the_async_form_does_the_same(kind: str) -> None:
    store = stored(kind, split("a.pdf"))
    assert (await anumber_stored_chunks(store)).documents == 1
    assert len(texts_by_index(store, "a.pdf")) == len(split("a.pdf"))


@pytest.mark.parametrize("kind", KINDS)
def test_an_empty_collection_is_numbered(kind: str) -> None:
    assert number_stored_chunks(stored(kind, [])).documents == 0


@pytest.mark.parametrize("kind", KINDS)
def test_the_warning_offers_numbering_first(kind: str) -> None:
    made = over(stored(kind, split("a.pdf", offsets=False)))
    with pytest.warns(NothingToJoinWarning, match=r"Fix: number_stored_chunks\(vectorstore\)"):
        made.invoke(QUERY)


def test_other_vector_stores_are_an_error() -> None:
    from langchain_core.vectorstores import InMemoryVectorStore

    for store in (InMemoryVectorStore(WordEmbeddings()), "chunks"):
        with pytest.raises(ConfigError, match="PGVector, Chroma or QdrantVectorStore, got"):
            number_stored_chunks(store)  # type: ignore[arg-type]
