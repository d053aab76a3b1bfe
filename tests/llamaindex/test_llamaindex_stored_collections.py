"""`number_stored_chunks` over Chroma and Qdrant in their embedded forms, filled as users fill them."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Sequence
from random import Random
from typing import Any

import chromadb
import pytest
from llama_index.core import Document, StorageContext, VectorStoreIndex
from llama_index.core.node_parser import SentenceSplitter
from llama_index.core.schema import BaseNode, MetadataMode, NodeRelationship, TextNode
from llama_index.core.vector_stores.types import BasePydanticVectorStore
from llama_index.vector_stores.chroma import ChromaVectorStore
from llama_index.vector_stores.qdrant import QdrantVectorStore
from qdrant_client import QdrantClient

from ctxassembly import ChunkRef
from ctxassembly.errors import ConfigError
from llamaindex_ctxassembly import VectorStoreNeighbors, number_chunks, number_stored_chunks
from llamaindex_samples import WordEmbedding

YEARS = [f"In year {year} the weavers of the valley paid {year + 7} bales of wool." for year in range(60)]
SPLITTER = SentenceSplitter(chunk_size=90, chunk_overlap=20)
KINDS = ["chroma", "qdrant"]
pytestmark = pytest.mark.filterwarnings("ignore:Payload indexes have no effect")  # in Qdrant's local form


def pages(name: str = "a.pdf") -> list[BaseNode]:
    """As the readers of PDFs make them: a Document for each page, with a random id."""
    documents = [
        Document(
            text=" ".join(YEARS[20 * page : 20 * page + 20]), metadata={"file_name": name, "page_label": str(page + 1)}
        )
        for page in range(3)
    ]
    return SPLITTER.get_nodes_from_documents(documents)


def bare(nodes: Sequence[BaseNode], *, offsets: bool = True) -> list[TextNode]:
    """Of another splitter than LlamaIndex's: text and metadata alone, under random ids."""
    return [
        TextNode(
            text=node.get_content(MetadataMode.NONE),
            metadata={**node.metadata, **({"start_index": node.start_char_idx} if offsets else {})},  # type: ignore[attr-defined]
        )
        for node in nodes
    ]


def stored(kind: str, nodes: Sequence[BaseNode]) -> BasePydanticVectorStore:
    """A vector store of LlamaIndex with `nodes`, added as users do."""
    store: BasePydanticVectorStore
    if kind == "chroma":
        store = ChromaVectorStore(chromadb.EphemeralClient().create_collection(uuid.uuid4().hex))
    else:
        store = QdrantVectorStore("chunks", client=QdrantClient(":memory:"))
    context = StorageContext.from_defaults(vector_store=store)
    VectorStoreIndex(list(nodes), storage_context=context, embed_model=WordEmbedding())
    return store


def dump(store: Any) -> dict[str, tuple[str, Any, list[float]]]:
    """The text, metadata and vector of all nodes, by id."""
    if isinstance(store, ChromaVectorStore):
        found: Any = store._collection.get(include=["documents", "metadatas", "embeddings"])
        records = zip(found["documents"], found["metadatas"], found["embeddings"], strict=True)
        return {
            id_: (text, metadata, [float(number) for number in vector])
            for id_, (text, metadata, vector) in zip(found["ids"], records, strict=True)
        }
    points, _ = store._client.scroll("chunks", limit=1000, with_vectors=True)
    return {
        point.id: (json.loads(point.payload["_node_content"])["text"], point.payload, point.vector) for point in points
    }


def texts_by_index(store: Any, document_id: str) -> dict[int, str]:
    """The text at each index of a document, as neighbors are found."""
    found = VectorStoreNeighbors(store).fetch([ChunkRef(document_id, index) for index in range(100)])
    return {chunk.index: chunk.text for chunk in found if chunk.index is not None}


@pytest.mark.parametrize("make", [list, bare])
@pytest.mark.parametrize("kind", KINDS)
def test_an_ordinary_collection_is_joined_once_it_is_numbered(
    kind: str, make: Callable[[Sequence[BaseNode]], Sequence[BaseNode]]
) -> None:
    nodes = make([*pages("a.pdf"), *pages("b.pdf")])
    store = stored(kind, Random(7).sample(nodes, len(nodes)))
    before = dump(store)

    report = number_stored_chunks(store)

    assert (report.chunks, report.documents, report.unordered, report.nameless) == (len(nodes), 2, (), 0)
    of_b = [node.get_content(MetadataMode.NONE) for node in nodes if node.metadata["file_name"] == "b.pdf"]
    assert texts_by_index(store, "b.pdf") == dict(enumerate(of_b))
    after = dump(store)
    assert {id_: (each[0], each[2]) for id_, each in after.items()} == {
        id_: (each[0], each[2]) for id_, each in before.items()
    }
    (node, *_) = store.get_nodes(node_ids=[nodes[3].node_id])
    fresh = next(one for one in number_chunks(nodes) if one.metadata["chunk_index"] == 3).metadata
    assert {**node.metadata, "document_id": "a.pdf"} == fresh
    assert node.ref_doc_id == "a.pdf"
    for relationship in (NodeRelationship.PREVIOUS, NodeRelationship.NEXT):
        assert node.relationships.get(relationship) == nodes[3].relationships.get(relationship)
    for mode in (MetadataMode.EMBED, MetadataMode.LLM):
        assert node.get_content(mode) == nodes[3].get_content(mode)
    numbered = dump(store)
    assert (number_stored_chunks(store).chunks, dump(store)) == (0, numbered)


@pytest.mark.parametrize("kind", KINDS)
def test_nodes_that_do_not_show_their_order_are_reported(kind: str) -> None:
    nodes = bare(pages(), offsets=False)
    store = stored(kind, nodes)
    report = number_stored_chunks(store)
    assert (report.chunks, report.unordered) == (0, ("a.pdf",))
    if kind == "chroma":
        assert number_stored_chunks(store, trust_insertion_order=True).documents == 1
        assert texts_by_index(store, "a.pdf") == {at: node.text for at, node in enumerate(nodes)}


def test_other_vector_stores_are_an_error() -> None:
    store = QdrantVectorStore("chunks", client=QdrantClient(":memory:"))
    store._client = None
    for other in (store, "chunks"):
        with pytest.raises(ConfigError, match="or a QdrantVectorStore with a sync client, got"):
            number_stored_chunks(other)  # type: ignore[arg-type]
