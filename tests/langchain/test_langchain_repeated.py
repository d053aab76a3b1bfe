"""Two files that share a section, split at other places: LangChain's chain hands the model the section once."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.documents import Document
from langchain_core.embeddings import DeterministicFakeEmbedding
from langchain_core.vectorstores import InMemoryVectorStore
from langchain_text_splitters import RecursiveCharacterTextSplitter

from ctxassembly import AssemblyConfig
from langchain_ctxassembly import ContextAssembler

# An ordinary index without numbers: what it lacks is tested in test_langchain_silence.py.
pytestmark = pytest.mark.filterwarnings("ignore::ctxassembly.errors.NothingToJoinWarning")

SENTENCES = [
    "Wie een klacht heeft, meldt zich bij de balie op de begane grond.",
    "De medewerker noteert de naam, de datum en de aard van de klacht.",
    "Binnen tien werkdagen volgt een schriftelijk antwoord van de afdeling.",
    "Is het antwoord niet naar tevredenheid, dan kan bezwaar worden gemaakt.",
    "Het bezwaar wordt behandeld door een commissie van drie leden.",
    "De commissie hoort beide partijen en beslist binnen zes weken.",
]
SECTION = "## Klachten\n\n" + " ".join(SENTENCES)
OWN = {
    "zwembad.md": "# Zwembad\n\nHet bad is open van zeven tot tien. Kinderen zwemmen onder toezicht.\n\n",
    "museum.md": "# Museum\n\nMaandag is het museum dicht. Tassen gaan in de kluis. Fotograferen mag.\n\n",
}
AFTER = {"zwembad.md": "\n\n## Kleding\n\nZonder badmuts geen toegang.", "museum.md": "\n\n## Winkel\n\nVol kaarten."}


def retrieved(**options: Any) -> list[Document]:
    """What the chain from a question to the documents returns; the chunks are all of both files."""
    chunks: list[Document] = []
    for name, size in {"zwembad.md": 180, "museum.md": 230}.items():
        splitter = RecursiveCharacterTextSplitter(chunk_size=size, chunk_overlap=40, add_start_index=True)
        chunks += splitter.create_documents([OWN[name] + SECTION + AFTER[name]], [{"source": name}])
    store = InMemoryVectorStore(DeterministicFakeEmbedding(size=8))
    store.add_documents(chunks)
    chain = store.as_retriever(search_kwargs={"k": len(chunks)}) | ContextAssembler(config=AssemblyConfig(**options))
    texts = [{each.page_content.strip() for each in chunks if each.metadata["source"] == name} for name in OWN]
    assert not texts[0] & texts[1]  # no chunk is a copy of another one
    return chain.invoke("Hoe dien ik een klacht in?")


@pytest.mark.parametrize("dedup", ["exact", "near"])
def test_a_section_that_two_files_share_stands_once(dedup: Any) -> None:
    documents = retrieved(dedup=dedup)
    text = "\n\n".join(each.page_content for each in documents)
    assert {sentence: text.count(sentence) for sentence in SENTENCES} == dict.fromkeys(SENTENCES, 1)
    for own in (*OWN.values(), *AFTER.values()):
        assert all(line in text for line in own.split("\n\n"))


def test_the_better_ranked_file_keeps_it_and_the_other_one_has_a_marker() -> None:
    first, second = retrieved()
    assert all(sentence in first.page_content for sentence in SENTENCES)
    assert "## Klachten\n[...]\n" in second.page_content


def test_the_trace_of_the_chain_says_where_it_stands() -> None:
    documents = retrieved()
    ids = documents[0].metadata["chunk_ids"]
    told = [each for each in documents[0].metadata["trace"]["decisions"] if each["reason"] == "repeated"]
    assert told
    assert all(each["because_of"] in ids for each in told)


def test_switched_off_it_stands_in_both() -> None:
    text = "\n\n".join(each.page_content for each in retrieved(dedup="none"))
    assert all(text.count(sentence) >= 2 for sentence in SENTENCES)
