"""Documents split by LangChain and read best first: the best sentences, the chunk around them, and so on."""

from __future__ import annotations

from dataclasses import replace

import pytest
from langchain_core.documents import Document
from langchain_text_splitters import RecursiveCharacterTextSplitter

from builders import count
from ctxassembly import AssemblyConfig
from langchain_ctxassembly import ContextAssembler, number_chunks

QUERY = "When is ferritin measured?"
ANSWER = "Ferritin is measured in the morning, before breakfast."
CONFIG = AssemblyConfig(max_tokens=4_000, neighbors="unfiltered", fill=True)


def sentence(name: str, number: int) -> str:
    return f"In room {number} of {name} the visitors wait for their doctor and read the news of day {number}."


def assembled(config: AssemblyConfig, separator: str = ". ") -> list[Document]:
    """One document for each label; the answer is in the middle of the second of three split documents."""
    texts = {name: [sentence(name, number) for number in range(50)] for name in ("A", "B", "C")}
    texts["B"].insert(25, ANSWER)
    sources = [Document(" ".join(text), metadata={"source": name}) for name, text in texts.items()]
    splitter = RecursiveCharacterTextSplitter(
        chunk_size=900, chunk_overlap=180, separators=[separator], keep_separator="end", add_start_index=True
    )
    documents = number_chunks(splitter.split_documents(sources))
    return ContextAssembler(config=config).invoke({"documents": documents, "query": QUERY})


@pytest.mark.parametrize("cite", ["document", "passage", "chunk"])
def test_the_answer_is_in_the_first_label_and_its_chunk_comes_next(cite: str):
    read = assembled(replace(CONFIG, cite=cite))
    assert ANSWER in read[0].page_content
    text = "\n\n".join(document.page_content for document in read)
    assert text.index(sentence("B", 24)) < text.index(sentence("A", 5))
    assert count(text[: text.index(sentence("B", 23))]) < 500
    for name in ("A", "B", "C"):
        for number in range(50):
            assert text.count(sentence(name, number)) == 1


def test_with_a_label_for_each_chunk_each_document_is_a_chunk_by_its_id():
    read = assembled(replace(CONFIG, cite="chunk"), separator=" ")  # chunks end within sentences
    ids = [document.id for document in read]
    assert len(ids) == len(set(ids)) > 10
    assert all(document.metadata["chunk_ids"] == [document.id] for document in read)


def test_by_documents_it_comes_late():
    assert ANSWER not in assembled(replace(CONFIG, order="documents"))[0].page_content
