"""Ordinary LlamaIndex indexes: what they lack for neighbors is said, once an object, with the line that mends it."""

from __future__ import annotations

import asyncio
import uuid
import warnings
from collections.abc import Iterator
from typing import Any

import chromadb
import pytest
from llama_index.core import Document, StorageContext, VectorStoreIndex
from llama_index.core.node_parser import SentenceSplitter
from llama_index.core.schema import BaseNode, NodeWithScore, QueryBundle
from llama_index.vector_stores.chroma import ChromaVectorStore

from ctxassembly import AssemblyConfig, NothingToJoinWarning
from llamaindex_ctxassembly import ContextAssemblyPostprocessor
from llamaindex_samples import TextVectorStore, WordEmbedding, scored

YEARS = [f"In year {year} the weavers of the valley paid {year + 7} bales of wool." for year in range(60)]
SPLITTER = SentenceSplitter(chunk_size=90, chunk_overlap=20)
QUERY = "How many bales of wool did the weavers pay in year 12?"


def pages(count: int = 3) -> list[Document]:
    """As the readers of PDFs make them: a Document each, with an id of its own."""
    return [
        Document(
            text=" ".join(YEARS[20 * page : 20 * page + 20]),
            metadata={"file_name": "a.pdf", "page_label": str(page + 1)},
        )
        for page in range(count)
    ]


def split(count: int = 3) -> list[BaseNode]:
    return SPLITTER.get_nodes_from_documents(pages(count))


@pytest.fixture
def chroma() -> Iterator[ChromaVectorStore]:
    client = chromadb.EphemeralClient()
    name = uuid.uuid4().hex
    yield ChromaVectorStore(chroma_collection=client.create_collection(name))
    client.delete_collection(name)


def index_over(vector_store: Any, nodes: list[BaseNode]) -> VectorStoreIndex:
    context = StorageContext.from_defaults(vector_store=vector_store)
    return VectorStoreIndex(nodes, storage_context=context, embed_model=WordEmbedding())


def ours(**settings: Any) -> ContextAssemblyPostprocessor:
    settings.setdefault("config", AssemblyConfig(order="documents"))
    return ContextAssemblyPostprocessor(neighbors="unfiltered", **settings)


def warned(run: Any) -> list[str]:
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        run()
    return [str(each.message) for each in seen if each.category is NothingToJoinWarning]


@pytest.fixture(params=["sync", "async"])
def run(request: pytest.FixtureRequest) -> Any:
    def call(made: ContextAssemblyPostprocessor, nodes: list[NodeWithScore]) -> list[NodeWithScore]:
        if request.param == "sync":
            return made.postprocess_nodes(nodes, QueryBundle(QUERY))
        return asyncio.run(made.apostprocess_nodes(nodes, QueryBundle(QUERY)))

    return call


def found_by(index: VectorStoreIndex, hits: int = 5) -> list[NodeWithScore]:
    return index.as_retriever(similarity_top_k=hits).retrieve(QUERY)


# Where the nodes are


def test_the_docstore_of_an_index_over_a_vector_store_is_empty_and_that_is_told(
    chroma: ChromaVectorStore, run: Any
) -> None:
    index = index_over(chroma, split())
    made, hits = ours(docstore=index.docstore), found_by(index)

    (message,) = warned(lambda: run(made, hits))
    labeled = run(made, hits)  # the warning was given

    assert message.startswith("The store has no chunk next to the retrieved ones, but chunk ")
    assert "Fix: ContextAssemblyPostprocessor.from_index(index)" in message
    assert labeled[0].metadata["trace"]["missing"] == message
    answered = warned(lambda: run(ours(vector_store=index.vector_store), hits))
    assert [each for each in answered if not each.startswith("Pages '")] == []  # each page is a document here


class NoNodes(TextVectorStore):
    """Stores text, and has no `get_nodes` of its own, as many have."""

    def get_nodes(self, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError("get_nodes not implemented")


def test_a_vector_store_without_get_nodes_is_told(run: Any) -> None:
    nodes = split()
    (message,) = warned(lambda: run(ours(vector_store=NoNodes()), scored(nodes[2])))
    assert message.startswith("The store can't find adjacent chunks (NotImplementedError: get_nodes not implemented)")
    assert "store_nodes_override=True" in message


# What the nodes say


# One query's failure


# Numbered


@pytest.mark.parametrize("size", [2048, 64])
def test_pages_of_a_file_are_said_to_be_documents_whatever_the_number_of_their_chunks(size: int) -> None:
    """As SimpleDirectoryReader loads a PDF: each page is a document, whose chunks are linked to each other."""
    pages = [
        Document(text=" ".join(YEARS[at : at + 4]), metadata={"file_path": "/a.pdf", "page_label": f"{at // 4 + 1}"})
        for at in (0, 4)
    ]
    nodes = SentenceSplitter(chunk_size=size, chunk_overlap=0).get_nodes_from_documents(pages)
    index = VectorStoreIndex(nodes, embed_model=WordEmbedding())
    hits = scored(nodes[0], nodes[-1])
    (said,) = warned(lambda: ours(docstore=index.docstore).postprocess_nodes(hits, QueryBundle(QUERY)))
    assert said.startswith(
        "Pages '1' and '2' of '/a.pdf' are separate documents. Text that runs over a page break isn't joined. Fix: "
    )
