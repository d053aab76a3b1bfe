"""`number_chunks` after LangChain's splitters, into LangChain's stores."""

from __future__ import annotations

import pytest
from langchain_core.documents import Document
from langchain_qdrant import QdrantVectorStore
from langchain_text_splitters import RecursiveCharacterTextSplitter
from qdrant_client import QdrantClient, models

from ctxassembly import AssemblyConfig, ChunkRef, MetadataKeys, uuid_of
from ctxassembly.errors import InputError
from langchain_ctxassembly import ContextAssembler, VectorStoreNeighbors, number_chunks
from langchain_samples import WordEmbeddings, vector_store

PAGES = [
    Document(f"Page {page} begins here. It goes on and on. It ends here.", metadata={"source": "a.pdf", "page": page})
    for page in range(3)
]
SPLITTER = RecursiveCharacterTextSplitter(chunk_size=30, chunk_overlap=0)


def test_a_splitter_s_documents_find_each_other_across_pages() -> None:
    given = SPLITTER.split_documents(PAGES)
    before = [each.model_copy(deep=True) for each in given]

    chunks = number_chunks(given)

    assert given == before
    assert [each.id for each in chunks] == [f"a.pdf#{at}" for at in range(len(given))]
    added = {"document_id": "a.pdf", "chunk_index": 4, "overlap_chars": 0, "chunk_count": len(given)}
    version = chunks[0].metadata["document_version"]
    assert chunks[4].metadata == {**given[4].metadata, **added, "document_version": version}
    assert number_chunks(chunks) == chunks
    last = max(at for at, each in enumerate(chunks) if each.metadata["page"] == 0)
    store = VectorStoreNeighbors(vector_store(chunks))
    (found,) = ContextAssembler(config=AssemblyConfig(neighbors="unfiltered", page_base=0), store=store).invoke(
        [chunks[last]]
    )
    assert found.metadata["chunk_ids"] == [f"a.pdf#{at}" for at in (last - 1, last, last + 1)]
    assert found.metadata["citation"]["pages"] == [1, 2]


def test_keys_of_one_s_own_are_written_and_read() -> None:
    keys = MetadataKeys(document_id=("doc", "source"), index=("seq", "n"))
    (found,) = number_chunks([Document("Text.", metadata={"source": "a"})], keys=keys)
    assert found.metadata.items() >= {"source": "a", "seq": 0}.items()
    assert found.metadata.keys() == {"source", "seq", "overlap_chars", "chunk_count", "document_version"}
    (found,) = number_chunks([Document("Text.", metadata={"doc": "b", "n": 7})], keys=keys)
    assert (found.id, found.metadata) == ("b#7", {"doc": "b", "n": 7, "overlap_chars": 0})  # others are missing


def test_what_a_second_splitter_copied_is_refused() -> None:
    whole = number_chunks([Document("One sentence is here. Another one is there.", metadata={"source": "a"})])
    with pytest.raises(InputError, match=r"two texts of document 'a' have index 0: a splitter copies the index"):
        number_chunks(SPLITTER.split_documents(whole))


def test_stores_that_take_uuids_alone() -> None:
    chunks = number_chunks(SPLITTER.split_documents(PAGES), id_of=uuid_of)
    client = QdrantClient(":memory:")
    client.create_collection("c", models.VectorParams(size=64, distance=models.Distance.COSINE))
    store = QdrantVectorStore(client, "c", WordEmbeddings())
    store.add_documents(chunks)
    (found,) = VectorStoreNeighbors(store, id_of=uuid_of).fetch([ChunkRef("a.pdf", 2)])
    assert (found.document_id, found.index, found.text) == ("a.pdf", 2, chunks[2].page_content)


@pytest.mark.parametrize("has_offsets", [False, True])
def test_a_short_overlap_of_the_splitter_is_read_once(has_offsets: bool) -> None:
    text = " ".join(f"In year {year} the weavers paid {year * 7} bales." for year in range(30))
    splitter = RecursiveCharacterTextSplitter(chunk_size=60, chunk_overlap=15, add_start_index=has_offsets)
    pieces = splitter.split_documents([Document(text, metadata={"source": "a.txt"})])
    chunks = number_chunks(pieces)
    assert sum(len(each.page_content) - each.metadata["overlap_chars"] for each in chunks) == len(text)
    assert number_chunks(chunks) == chunks
    store = VectorStoreNeighbors(vector_store(chunks))
    assembler = ContextAssembler(config=AssemblyConfig(neighbors="unfiltered"), store=store)
    (found,) = assembler.invoke(chunks[1::2])
    assert found.page_content.split("\n", 1)[1].replace("\n", " ") == text
