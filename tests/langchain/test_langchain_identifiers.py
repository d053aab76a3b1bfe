"""Identifiers and operators of a question, through LangChain's splitter and assembler."""

from __future__ import annotations

import pytest
from langchain_core.documents import Document
from langchain_text_splitters import RecursiveCharacterTextSplitter

from ctxassembly import AssemblyConfig
from langchain_ctxassembly import ContextAssembler

FILLER = "The certificate covers the whole organization, and the auditors renew it each year. "


def manuals(asked: str, other: str) -> list[Document]:
    """Six manuals about `other`, and one in which a sentence is about `asked`."""
    many = [
        FILLER * 3 + f"Part {number} has the requirements of {other} with all controls. " * 2 for number in range(6)
    ]
    texts = [*many[:3], FILLER * 2 + f"The annex has the requirements of {asked}. " + FILLER * 2, *many[3:]]
    documents = [Document(text, metadata={"source": f"{number}.pdf"}) for number, text in enumerate(texts)]
    splitter = RecursiveCharacterTextSplitter(chunk_size=600, chunk_overlap=60, add_start_index=True)
    return splitter.split_documents(documents)


@pytest.mark.parametrize("max_tokens", [120, 200, 300])
@pytest.mark.parametrize(
    ("asked", "other"),
    [
        ("ISO27001", "ISO27002"),
        ("artikel12", "artikel13"),
        ("sensor33", "sensor34"),
        ("getUserName", "getUserMail"),
        ("get_user_name", "get_user_mail"),
        ("a != b", "a == b"),
    ],
)
def test_an_identifier_is_not_taken_for_one_that_begins_alike(asked: str, other: str, max_tokens: int):
    assembler = ContextAssembler(config=AssemblyConfig(max_tokens=max_tokens))
    context = assembler.as_context().invoke(
        {"documents": manuals(asked, other), "query": f"What are the requirements of {asked}?"}
    )
    assert f"The annex has the requirements of {asked}." in context.text
