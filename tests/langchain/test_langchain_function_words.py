"""A question through LangChain's chain, with more instruction than subject, over an ordinary index."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.documents import Document
from langchain_core.embeddings import DeterministicFakeEmbedding
from langchain_core.runnables import RunnablePassthrough
from langchain_core.vectorstores import InMemoryVectorStore
from langchain_text_splitters import RecursiveCharacterTextSplitter

from ctxassembly import AssemblyConfig
from langchain_ctxassembly import ContextAssembler, number_chunks

# An ordinary index without numbers: what it lacks is tested in test_langchain_silence.py.
pytestmark = pytest.mark.filterwarnings("ignore::ctxassembly.errors.NothingToJoinWarning")

GUIDES = {
    "en": ("Explain ferritin", "Ferritin stores iron.", "Doctors explain."),
    "nl": ("Beschrijf ferritine", "Ferritine slaat ijzer op.", "Lees en beschrijf."),
    "de": ("Erkläre Ferritin", "Ferritin speichert Eisen.", "Ein Arzt erkläre."),
    "fr": ("Explique : ferritine", "Ferritine garde du fer.", "Le médecin explique."),
    "es": ("Explica: ferritina", "Ferritina guarda hierro.", "El médico explica."),
}


def asked(query: str, answer: str, instruction: str, **options: Any) -> str:
    """What the chain hands the model: two chunks are about the subject, only one has the word of the instruction."""
    rooms = [f"Room {number} is on floor {number % 7}, next to stairs {number}." for number in range(12)]
    texts = [answer, f"{answer} {rooms[0]} {rooms[1]}", instruction, *rooms]
    store = InMemoryVectorStore(DeterministicFakeEmbedding(size=8))
    store.add_documents([Document(text, metadata={"source": "guide.txt"}) for text in texts])
    documents = store.as_retriever(search_kwargs={"k": len(texts)})
    config = AssemblyConfig(max_tokens=10, format="minimal", order="relevance", **options)
    assembler = ContextAssembler(config=config)
    chain = {"documents": documents, "query": RunnablePassthrough()} | assembler.as_context()
    return str(chain.invoke(query))


@pytest.mark.parametrize("language", GUIDES)
def test_the_subject_of_a_question_stands_before_its_instruction(
    language: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, answer, instruction = GUIDES[language]
    assert asked(*GUIDES[language]) == answer
    monkeypatch.setattr("ctxassembly.assembly.scoring.weights.STOP_WORD_WEIGHT", 1.0)
    assert asked(*GUIDES[language]) == instruction


@pytest.mark.parametrize(
    ("before", "after", "query"),
    [
        (
            "The looms of all workshops in the valley were built in the far north.",
            "They were paid with forty bales of the best wool that anybody had.",
            "With how many bales of wool were they paid for?",
        ),
        (
            "De weefgetouwen van alle werkplaatsen in het dal kwamen uit het noorden.",
            "Deze werden met veertig balen van de beste wol van het land betaald.",
            "Met hoeveel balen wol werd er betaald?",
        ),
    ],
)
def test_a_sentence_that_refers_back_is_read_after_the_one_before(before: str, after: str, query: str) -> None:
    filler = [f"Paragraph {number} tells of the roads and the fields on the other side." for number in range(40)]
    text = " ".join([*filler[:20], before, after, *filler[20:]])
    splitter = RecursiveCharacterTextSplitter(chunk_size=400, chunk_overlap=40, add_start_index=True)
    chunks = number_chunks(splitter.split_documents([Document(text, metadata={"source": "a.txt"})]))
    config = AssemblyConfig(max_tokens=60, granularity="sentence")
    context = ContextAssembler(config=config).as_context().invoke({"documents": chunks, "query": query})
    assert f"{before} {after}" in context.text
