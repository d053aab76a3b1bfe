"""`diagnose` over LangChain's ensemble of retrievers, alone and in a chain with the assembler."""

from __future__ import annotations

from pydoc_data.topics import topics
from typing import Any

import pytest
from langchain_classic.retrievers import EnsembleRetriever
from langchain_core.documents import Document
from langchain_core.embeddings import DeterministicFakeEmbedding
from langchain_core.vectorstores import InMemoryVectorStore
from langchain_text_splitters import RecursiveCharacterTextSplitter

from ctxassembly import AssemblyConfig
from ctxassembly.evaluate import diagnose
from langchain_ctxassembly import number_chunks
from langchain_samples import WordEmbeddings

TOPICS = ("with", "try", "for", "while", "assignment", "import", "class", "lambda", "raise")
CORPUS = {f"{name}.txt": "\n".join(map(str.strip, topics[name].splitlines())) for name in TOPICS}
ASKED = "What if an exception caused the suite of with to be exited?"
READ = {"question": ASKED, "quotation": "If an exception caused the suite to be exited"}
ELSEWHERE = {
    "question": ASKED,
    "quotation": "are used to create anonymous functions",
    "id": "lambda",
}


@pytest.fixture(scope="module")
def stores() -> list[InMemoryVectorStore]:
    splitter = RecursiveCharacterTextSplitter(chunk_size=600, chunk_overlap=100, add_start_index=True)
    documents = number_chunks(
        splitter.split_documents([Document(text, metadata={"source": name}) for name, text in CORPUS.items()])
    )
    stores = [InMemoryVectorStore(made) for made in (WordEmbeddings(), DeterministicFakeEmbedding(size=8))]
    for store in stores:
        store.add_documents(documents)
    return stores


@pytest.fixture(scope="module")
def ensemble(stores: list[InMemoryVectorStore]) -> EnsembleRetriever:
    return EnsembleRetriever(retrievers=[store.as_retriever(search_kwargs={"k": 4}) for store in stores])


def layers(report: Any) -> list[str | None]:
    return [row.layer for row in report.rows]


def test_an_ensemble_is_one_layer(ensemble: EnsembleRetriever):
    report = diagnose([READ, ELSEWHERE], retriever=ensemble)
    assert layers(report) == [None, "not found"]
    assert report.rows[1].reason == "no hit of the retriever has it"


def test_a_tight_budget_is_named_and_a_larger_one_tried(ensemble: EnsembleRetriever):
    config = AssemblyConfig(max_tokens=60, rank_by="rank", granularity="chunk", format="minimal")
    hits = [document.page_content for document in ensemble.invoke(ASKED)]
    last = " ".join(hits[-1].split()[-8:])
    report = diagnose([{"question": ASKED, "quotation": last}], retriever=ensemble, assembly=config)
    [row] = report.rows
    assert row.layer == "over budget"
    assert [*row.remedies] == ["granularity='auto'", "max_tokens=120"]
