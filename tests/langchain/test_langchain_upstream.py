"""What LangChain's own tests ask of the parts that we stand in for, or around, asked of ours.

Restated from langchain's and langchain-community's tests of LongContextReorder, EmbeddingsRedundantFilter and
ParentDocumentRetriever. Where ours answers otherwise, the row says why. Those of DocumentCompressorPipeline stand in
test_langchain_copies.py.
"""

from __future__ import annotations

from typing import Any

import pytest
from langchain_classic.retrievers import ParentDocumentRetriever
from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.stores import InMemoryStore
from langchain_core.vectorstores import InMemoryVectorStore
from langchain_text_splitters import CharacterTextSplitter

from ctxassembly import AssemblyConfig
from langchain_ctxassembly import ContextAssembler, ContextAssemblyRetriever
from langchain_samples import WordEmbeddings

TEXTS = [
    "Basketball is a great sport.",
    "Fly me to the moon is one of my favorite songs.",
    "The Celtics are my favorite team.",
    "This is a document about the Boston Celtics.",
    "I simply love going to the movies.",
    "The Boston Celtics won the game by 20 points.",
    "This is just a random text.",
    "Elden Ring is one of the best games in the last 15 years.",
    "L. Kornet is one of the best Celtics players.",
    "Larry Bird was an iconic NBA player.",
]


@pytest.mark.parametrize(
    ("order", "difference"),
    [
        ("interleaved", None),
        ("edges", "only the best two stand at the ends, the rest in their order: published so"),
        ("documents", "nothing is moved unless it is asked for"),
    ],
)
def test_long_context_reorder_has_the_most_relevant_at_the_ends(order: Any, difference: str | None) -> None:
    store = InMemoryVectorStore.from_texts(TEXTS, WordEmbeddings())
    found = store.as_retriever(search_kwargs={"k": 10}).invoke("Tell me about the Celtics")
    read = ContextAssembler(config=AssemblyConfig(order=order)).invoke(found)
    assert sorted(each.metadata["chunk_ids"][0] for each in read) == sorted(str(each.id) for each in found)
    ends = {each.metadata["chunk_ids"][0] for each in (*read[:2], *read[-2:])}
    assert (ends == {each.id for each in found[:4]}) == (difference is None)
    assert read[0].metadata["chunk_ids"] == [found[0].id]  # theirs puts the best last where there are ten


class Cookies(Embeddings):
    """Near each other if they are about cookies."""

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [[1.0, 0.1 * ("Where" in text)] if "cookies" in text else [0.0, 1.0] for text in texts]

    def embed_query(self, text: str) -> list[float]:
        return self.embed_documents([text])[0]


class Same(Cookies):
    """The same for all."""

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [[0.5] * 10 for _ in texts]


@pytest.mark.parametrize("better", [0, 1])
def test_embeddings_redundant_filter_keeps_one_of_two_that_say_the_same(better: int) -> None:
    """The higher-ranked one; theirs keeps either."""
    about = ["What happened to all of my cookies?", "Where did all of my cookies go?"]
    texts = [about[better], about[1 - better], "I wish there were better Italian restaurants in my neighborhood."]
    made = ContextAssembler(config=AssemblyConfig(dedup="semantic", format="minimal"), embeddings=Cookies())
    read = made.invoke([Document(text, id=f"{at}") for at, text in enumerate(texts)])
    assert [each.page_content for each in read] == [texts[0], texts[2]]
    assert (
        ContextAssembler(config=AssemblyConfig(dedup="exact", format="minimal"))
        .invoke([Document(text) for text in texts])[1]
        .page_content
        == texts[1]
    )


def test_embeddings_redundant_filter_goes_by_embeddings_alone() -> None:
    made = ContextAssembler(config=AssemblyConfig(dedup="semantic"), embeddings=Same())
    assert len(made.invoke([Document("What happened to all of my cookies?"), Document("foo bar baz")])) == 1


def test_parent_document_retriever_gives_the_parent() -> None:
    retriever = ParentDocumentRetriever(
        vectorstore=InMemoryVectorStore(WordEmbeddings()),
        docstore=InMemoryStore(),
        child_splitter=CharacterTextSplitter(chunk_size=400),
    )
    retriever.add_documents([Document("test document")])
    (found,) = ContextAssemblyRetriever(
        retriever=retriever, assembler=ContextAssembler(config=AssemblyConfig(format="minimal"))
    ).invoke("test")
    assert found.page_content == "test document"


def test_parent_document_retriever_reads_a_parent_once_however_many_of_its_children_are_found() -> None:
    retriever = ParentDocumentRetriever(
        vectorstore=InMemoryVectorStore(WordEmbeddings()),
        docstore=InMemoryStore(),
        child_splitter=CharacterTextSplitter(separator=". ", chunk_size=60, chunk_overlap=0),
    )
    whole = ". ".join(f"In year {year} the weavers paid {year + 7} bales" for year in range(9))
    retriever.add_documents([Document(whole, metadata={"source": "a.txt"})])
    (found,) = ContextAssemblyRetriever(
        retriever=retriever, assembler=ContextAssembler(config=AssemblyConfig(format="minimal"))
    ).invoke("How many bales did the weavers pay?")
    assert found.page_content == whole
