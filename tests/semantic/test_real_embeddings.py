"""The whole way with a real sentence-transformers model, which comes inside a wheel."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.vectorstores import InMemoryVectorStore

from ctxassembly import AssemblyConfig
from langchain_ctxassembly import ContextAssemblyRetriever

pytestmark = pytest.mark.semantic

LEAFLETS = {
    "gastroscopy": [
        "Before a gastroscopy do not eat for six hours. A full stomach hides what the doctor wants to see.",
        "You may drink water until two hours before the examination. Coffee with milk counts as food.",
        "Afterwards your throat is numb for an hour. Do not drink anything hot during that time.",
    ],
    "parking": [
        "The car park is open day and night. The entrance is in Mill Street.",
        "The first half hour is free. After that an hour costs two euros.",
        "Disabled visitors park free of charge in the first row. Show the card behind the windscreen.",
    ],
}


class MiniLM(Embeddings):
    def __init__(self, model: Any) -> None:
        self.model = model

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return self.model.encode(texts, show_progress_bar=False).tolist()

    def embed_query(self, text: str) -> list[float]:
        return self.embed_documents([text])[0]


@pytest.fixture(scope="module")
def vectorstore(model: Any) -> InMemoryVectorStore:
    vectorstore = InMemoryVectorStore(MiniLM(model))
    vectorstore.add_documents(
        [
            Document(
                id=f"{leaflet}#{index}",
                page_content=text,
                metadata={"document_id": leaflet, "chunk_index": index, "source": f"{leaflet}.pdf"},
            )
            for leaflet, texts in LEAFLETS.items()
            for index, text in enumerate(texts)
        ]
    )
    return vectorstore


@pytest.mark.parametrize(
    ("question", "leaflet", "hit"),
    [
        ("Am I allowed a glass of water before my stomach is examined?", "gastroscopy", 1),
        ("How much does it cost to leave my car for three hours?", "parking", 1),
    ],
)
def test_a_question_in_other_words_gets_its_passage_with_what_stands_around_it(
    vectorstore: InMemoryVectorStore, question: str, leaflet: str, hit: int
) -> None:
    config = AssemblyConfig(max_tokens=200)
    (document,) = ContextAssemblyRetriever.from_vectorstore(vectorstore, config=config, hits=1).invoke(question)
    assert document.id == f"{leaflet}#{hit}"
    assert document.page_content == f"[1] Source: {leaflet}.pdf\n" + "\n".join(LEAFLETS[leaflet])
    assert document.metadata["citation"]["chunk_ids"] == [f"{leaflet}#{index}" for index in range(3)]
