"""A real PDF through the frameworks' own readers, splitters, stores and retrievers, a document a page.

What reads as continuous is, across pages too; what isn't has a marker; and the pages that are read are cited.
"""

from __future__ import annotations

import math
import re
import uuid
import zlib
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import chromadb
import pytest
from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_text_splitters import RecursiveCharacterTextSplitter

from ctxassembly import AssemblyConfig, MetadataKeys, NothingToJoinWarning, uuid_of
from langchain_ctxassembly import ContextAssemblyRetriever
from llamaindex_ctxassembly import ContextAssemblyPostprocessor
from pdf import GAP, breaks, crosses, write_pdf

pytestmark = [
    pytest.mark.filterwarnings("ignore:`langchain-community` is being sunset:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:Payload indexes have no effect in the local Qdrant"),
]
UNFILTERED = AssemblyConfig(neighbors="unfiltered", max_tokens=100_000, dedup="none", order="documents", fill=True)
DIMENSIONS = 512


class WordEmbeddings(Embeddings):
    """Hashed words: a text finds itself, and what shares its words."""

    def embed_query(self, text: str) -> list[float]:
        vector = [0.0] * DIMENSIONS
        for word in re.findall(r"\w+", text):
            vector[zlib.crc32(word.encode()) % DIMENSIONS] += 1.0
        length = math.sqrt(sum(value * value for value in vector)) or 1.0
        return [value / length for value in vector]

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [self.embed_query(text) for text in texts]


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_pdf(tmp_path_factory.mktemp("in") / "report.pdf")


@pytest.fixture(scope="module")
def thesis(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three pages i, ii, iii before page 1."""
    return write_pdf(tmp_path_factory.mktemp("in") / "thesis.pdf", pages=8, front_matter=3)


# LangChain


def split(path: Path, **settings: Any) -> list[Document]:
    from langchain_community.document_loaders import PyPDFLoader

    pages = PyPDFLoader(str(path), **settings).load()
    return RecursiveCharacterTextSplitter(
        chunk_size=500, chunk_overlap=100, separators=["\n", " "], add_start_index=True
    ).split_documents(pages)


def stored(documents: Sequence[Document]) -> Any:
    """In a store that finds offsets, under random ids as it gives them."""
    from langchain_chroma import Chroma

    store = Chroma(f"c{uuid.uuid4().hex}", WordEmbeddings(), client=chromadb.EphemeralClient())
    store.add_documents([*documents], ids=[str(uuid.uuid4()) for _ in documents])
    return store


def on(chunks: Sequence[Document], page: int) -> list[Document]:
    return [each for each in chunks if each.metadata["page"] == page]


def asked(store: Any, *chunks: Document, config: AssemblyConfig = UNFILTERED) -> list[Document]:
    """What a chain reads that asks with the words of these chunks, as many hits as there are chunks."""
    made = ContextAssemblyRetriever.from_vectorstore(store, hits=len(chunks), config=config)
    return made.invoke(" ".join(each.page_content for each in chunks))


def test_the_text_goes_on_from_one_page_to_the_next(report: Path) -> None:
    chunks = split(report)
    store = stored(chunks)
    for hit in (on(chunks, 4)[-1], on(chunks, 5)[0]):
        (block,) = asked(store, hit)
        assert crosses(block.page_content, 4)
        assert GAP not in block.page_content
        assert breaks(block.page_content) == []
        assert block.metadata["citation"]["pages"] == [5, 6]
        assert block.page_content.split("\n")[0].endswith("report.pdf, pages 5-6")
        assert block.metadata["trace"]["missing"] is None


def test_front_matter_goes_on_into_page_1(thesis: Path) -> None:
    chunks = split(thesis)
    assert [on(chunks, page)[0].metadata["page_label"] for page in (0, 2, 3, 7)] == ["i", "iii", "1", "5"]
    (block,) = asked(stored(chunks), on(chunks, 2)[-1])
    assert crosses(block.page_content, 2)
    assert breaks(block.page_content) == []
    header = block.page_content.split("\n")[0]
    assert "iii" in header
    assert "1" in header


# LlamaIndex

BY_FILE = replace(UNFILTERED, keys=MetadataKeys(document_id="file_path"))


def numbered_nodes_of(path: Path, size: int) -> list[Any]:
    from llamaindex_ctxassembly import number_chunks as number_nodes

    return number_nodes(nodes_of(path, size), keys=BY_FILE.keys, id_of=uuid_of)


def nodes_of(path: Path, size: int) -> list[Any]:
    from llama_index.core import SimpleDirectoryReader
    from llama_index.core.node_parser import SentenceSplitter

    documents = SimpleDirectoryReader(input_files=[path]).load_data()
    assert len({each.id_ for each in documents}) == len(documents) > 1  # a Document a page
    return SentenceSplitter(chunk_size=size, chunk_overlap=40).get_nodes_from_documents(documents)


def llama_chroma() -> Any:
    from llama_index.vector_stores.chroma import ChromaVectorStore

    return ChromaVectorStore(chroma_collection=chromadb.EphemeralClient().create_collection(f"c{uuid.uuid4().hex}"))


LLAMAINDEX: dict[str, Any] = {"docstore": lambda: None, "Chroma": llama_chroma}


def engine_over(nodes: Sequence[Any], kind: str, config: AssemblyConfig, hits: int) -> Any:
    """A function from a question to the nodes that a query engine's LLM would read."""
    from llama_index.core import QueryBundle, StorageContext, VectorStoreIndex
    from llama_index.core.embeddings import BaseEmbedding
    from llama_index.core.llms import MockLLM

    class Words(BaseEmbedding):
        def _get_query_embedding(self, query: str) -> list[float]:
            return WordEmbeddings().embed_query(query)

        async def _aget_query_embedding(self, query: str) -> list[float]:
            return self._get_query_embedding(query)

        def _get_text_embedding(self, text: str) -> list[float]:
            return WordEmbeddings().embed_query(text)

    context = StorageContext.from_defaults(vector_store=LLAMAINDEX[kind]())
    index = VectorStoreIndex(list(nodes), storage_context=context, embed_model=Words())
    given = {"docstore": index.docstore} if kind == "docstore" else {"vector_store": index.vector_store}
    made = ContextAssemblyPostprocessor(config=config, **given)
    engine = index.as_query_engine(llm=MockLLM(), similarity_top_k=hits, node_postprocessors=[made])
    return lambda *asked: engine.retrieve(QueryBundle(" ".join(each.get_content() for each in asked)))


def on_page(nodes: Sequence[Any], page: int) -> list[Any]:
    return [each for each in nodes if each.metadata["page_label"] == str(page + 1)]


@pytest.mark.parametrize("size", [300, 4_000])
@pytest.mark.parametrize("kind", LLAMAINDEX)
def test_llamaindex_finds_the_next_page_by_its_number(report: Path, kind: str, size: int) -> None:
    nodes = numbered_nodes_of(report, size)
    ask = engine_over(nodes, kind, BY_FILE, hits=1)
    for hit, page in ((on_page(nodes, 9)[-1], 9), (on_page(nodes, 10)[0], 9)):
        (block,) = ask(hit)
        assert crosses(block.node.get_content(), page)
        assert GAP not in block.node.get_content()
        assert breaks(block.node.get_content()) == []


def test_without_the_setting_each_page_of_llamaindex_is_a_document(report: Path) -> None:
    nodes = nodes_of(report, 4_000)
    ask = engine_over(nodes, "docstore", UNFILTERED, hits=2)
    with pytest.warns(NothingToJoinWarning, match="are separate documents"):
        assert len(ask(on_page(nodes, 4)[0], on_page(nodes, 5)[0])) == 2
