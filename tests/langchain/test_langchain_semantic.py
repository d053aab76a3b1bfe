"""`embeddings=` of the LangChain adapter."""

import pytest
from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.vectorstores import InMemoryVectorStore
from langchain_text_splitters import RecursiveCharacterTextSplitter

from ctxassembly import AssemblyConfig
from ctxassembly.errors import ConfigError
from langchain_ctxassembly import ContextAssembler, ContextAssemblyRetriever, number_chunks
from langchain_samples import Recorder, documents, vector_store

SEMANTIC = AssemblyConfig(dedup="semantic")
DOCUMENTS = [
    Document(id="water", page_content="You may drink water.", metadata={"document_id": "A"}),
    Document(id="park", page_content="The car park is open.", metadata={"document_id": "B"}),
    Document(id="drink", page_content="Drinking is allowed.", metadata={"document_id": "C"}),
]


class AboutDrinking(Embeddings):
    def __init__(self) -> None:
        self.batches: list[list[str]] = []

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        self.batches.append(texts)
        return [[1.0, 0.0] if "rink" in text else [0.0, 1.0] for text in texts]

    def embed_query(self, text: str) -> list[float]:
        return self.embed_documents([text])[0]


async def test_embeddings_collapse_what_means_the_same_sync_and_async() -> None:
    embeddings = AboutDrinking()
    assembler = ContextAssembler(config=SEMANTIC, embeddings=embeddings)
    found = assembler.invoke(DOCUMENTS)
    assert [document.id for document in found] == ["water", "park"]
    (dropped,) = [each for each in found[0].metadata["trace"]["decisions"] if each["outcome"] == "duplicate"]
    assert (dropped["chunk_id"], dropped["reason"], dropped["because_of"]) == ("drink", "semantic duplicate", "water")
    assert [document.id for document in await assembler.ainvoke(DOCUMENTS)] == ["water", "park"]
    assert embeddings.batches == [[document.page_content for document in DOCUMENTS]] * 2


class Meaning(Embeddings):
    """A cosine of .80 between two and three hours; a paraphrase has the same."""

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [[1.0, 0.0] if "water" in text else [0.8, 0.6] for text in texts]

    def embed_query(self, text: str) -> list[float]:
        return [1.0, 0.0]


def test_a_chain_keeps_three_hours_next_to_two_hours_and_drops_a_paraphrase() -> None:
    """Three hours isn't dropped for two hours at a cosine of .80: numbers that differ forbid a semantic copy."""
    texts = {
        "two": "You may drink water until two hours before the gastroscopy.",
        "three": "Drinking is fine up to three hours ahead of the gastroscopy.",
        "again": "Drinking is fine up to 2 hours ahead of the gastroscopy.",
    }
    vectorstore = InMemoryVectorStore(Meaning())
    splitter = RecursiveCharacterTextSplitter(chunk_size=100, chunk_overlap=0)
    vectorstore.add_documents(
        number_chunks(
            splitter.split_documents([Document(text, metadata={"source": name}) for name, text in texts.items()])
        )
    )
    config = AssemblyConfig(dedup="semantic", semantic_threshold=0.8, neighbors="unfiltered", format="minimal")
    assembler = ContextAssembler(config=config, embeddings=Meaning())
    chain = ContextAssemblyRetriever.from_vectorstore(vectorstore, assembler=assembler, hits=3) | (
        lambda found: "\n".join(document.page_content for document in found)
    )
    read = chain.invoke("When may I drink before a gastroscopy?")
    assert [name for name, text in texts.items() if text in read] == ["two", "three"]


def test_a_function_can_embed() -> None:
    assembler = ContextAssembler(config=SEMANTIC, embeddings=AboutDrinking().embed_documents)
    assert len(assembler.invoke(DOCUMENTS)) == 2


def test_semantic_without_embeddings_is_an_error_at_construction() -> None:
    with pytest.raises(ConfigError, match="dedup='semantic' needs embeddings: pass embeddings=, or write dedup='near'"):
        ContextAssembler(config=SEMANTIC)


def test_what_can_not_embed_is_an_error_at_construction() -> None:
    with pytest.raises(ConfigError, match=r"embeddings must be an object with embed_documents\(texts\)"):
        ContextAssembler(embeddings="all-MiniLM-L6-v2")


def test_the_retriever_takes_an_assembler_with_embeddings() -> None:
    vectorstore = vector_store(documents("a", "b"))
    assembler = ContextAssembler(config=SEMANTIC, embeddings=vectorstore.embeddings)
    retriever = ContextAssemblyRetriever.from_vectorstore(vectorstore, assembler=assembler, hits=3)
    assert retriever.invoke("harbour", config={"callbacks": [Recorder()]})
