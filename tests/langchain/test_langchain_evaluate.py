"""`evaluate` over chains of LangChain: its splitter, stores, an ensemble of retrievers, then the assembler."""

from __future__ import annotations

from pydoc_data.topics import topics
from typing import Any

import pytest
from langchain_classic.retrievers import EnsembleRetriever
from langchain_core.documents import Document
from langchain_core.embeddings import DeterministicFakeEmbedding
from langchain_core.runnables import RunnablePassthrough
from langchain_core.vectorstores import InMemoryVectorStore
from langchain_text_splitters import RecursiveCharacterTextSplitter

from ctxassembly import AssemblyConfig
from ctxassembly.evaluate import evaluate
from langchain_ctxassembly import (
    ContextAssembler,
    ContextAssemblyRetriever,
    VectorStoreNeighbors,
    number_chunks,
)
from langchain_samples import WordEmbeddings

TOPICS = ("with", "try", "for", "while", "assignment", "import", "class", "lambda", "raise")
CORPUS = {f"{name}.txt": "\n".join(map(str.strip, topics[name].splitlines())) for name in TOPICS}
QUESTIONS = [
    {"question": "What if an exception caused the suite of with to be exited?", "quotation":
     "If an exception caused the suite to be exited"},
    {"question": "When is the else clause of a while loop executed?", "quotation":
     "if the expression is\nfalse (which may be the first time it is tested) the suite of the\n\"else\" clause"},
]  # fmt: skip


@pytest.fixture(scope="module")
def found() -> tuple[InMemoryVectorStore, EnsembleRetriever, list[Document]]:
    splitter = RecursiveCharacterTextSplitter(chunk_size=600, chunk_overlap=100, add_start_index=True)
    documents = number_chunks(
        splitter.split_documents([Document(text, metadata={"source": name}) for name, text in CORPUS.items()])
    )
    stores = [InMemoryVectorStore(made) for made in (WordEmbeddings(), DeterministicFakeEmbedding(size=8))]
    for store in stores:
        store.add_documents(documents)
    return stores[0], EnsembleRetriever(retrievers=[store.as_retriever() for store in stores]), documents


@pytest.fixture(scope="module")
def systems(found: Any) -> dict[str, Any]:
    store, ensemble, _ = found
    assembler = ContextAssembler(
        config=AssemblyConfig(neighbors="unfiltered", max_tokens=1_500), store=VectorStoreNeighbors(store)
    )
    chain = {"documents": ensemble, "query": RunnablePassthrough()} | assembler
    return {
        "ensemble": ensemble,
        "chain": chain,
        "context": {"documents": ensemble, "query": RunnablePassthrough()} | assembler.as_context(),
        "retriever": ContextAssemblyRetriever(retriever=ensemble, assembler=assembler),
    }


def test_an_ensemble_and_chains_after_it_are_measured(systems: dict[str, Any]):
    report = evaluate(QUESTIONS, systems, corpus=CORPUS, progress=False)
    assert not report.errors
    assert report.estimate("ensemble", "recall").mean > 0
    assert report.estimate("chain", "recall").mean >= report.estimate("ensemble", "recall").mean
    for measure in report.measures:
        # The blocks of a chain are the same text as its context, and have the same sources.
        assert report.estimate("chain", measure) == report.estimate("context", measure)
        assert report.estimate("retriever", measure) == report.estimate("context", measure)
