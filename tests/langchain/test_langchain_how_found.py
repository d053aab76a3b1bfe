"""How a context was found, in one line of a notebook."""

from __future__ import annotations

from ctxassembly import AssemblyConfig, MemoryIndex, RetrievalConfig
from langchain_ctxassembly import ContextAssembler, ContextRetriever
from langchain_samples import WordEmbeddings, chunks, documents

CORPUS = documents("A", "B", "C", "D")
QUERY = "the falcon in C, the granite in A and B, the ember in D"


def retriever() -> ContextRetriever:
    vectors = WordEmbeddings().embed_documents([document.page_content for document in CORPUS])
    assembler = ContextAssembler(config=AssemblyConfig(max_tokens=120))
    return ContextRetriever(
        MemoryIndex(chunks(CORPUS), vectors), WordEmbeddings(), config=RetrievalConfig(limit=3), assembler=assembler
    )


def test_a_context_shows_how_its_hits_were_found() -> None:
    context = retriever().context(QUERY)
    assert context.retrieved == retriever().retrieve(QUERY)
    html = context._repr_html_()
    assert "How it was found" in html
    assert "The steps of retrieval" in html


async def test_awaited_it_shows_the_same() -> None:
    context = await retriever().acontext(QUERY)
    assert context.retrieved == retriever().retrieve(QUERY)


def test_a_retrieval_shows_itself() -> None:
    assert "How it was found" in retriever().retrieve(QUERY)._repr_html_()
