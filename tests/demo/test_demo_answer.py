from __future__ import annotations

import io
import sys
from types import ModuleType
from typing import Any

import pytest
from langchain_core.documents import Document
from langchain_core.language_models import BaseChatModel, FakeListChatModel
from rich.console import Console
from sqlalchemy import URL

from demo.answer import HOW, VARIABLE, answered, model
from demo.store import vector_store

QUESTION = "What does a true value of __exit__ suppress?"
SAID = "It suppresses the exception [1]."


class ChatMistralAI(FakeListChatModel):
    """The class that LangChain looks for in the provider's package."""

    responses: list[str] = [SAID]  # noqa: RUF012 - a field of pydantic
    model: str


@pytest.fixture
def named(monkeypatch: pytest.MonkeyPatch) -> None:
    """A provider's package is installed, and the environment names one of its models."""
    package: Any = ModuleType("langchain_mistralai")
    package.ChatMistralAI = ChatMistralAI
    monkeypatch.setitem(sys.modules, "langchain_mistralai", package)
    monkeypatch.setenv(VARIABLE, "mistralai:small")


def printed(url: URL, chunks: list[Document], question: str, llm: BaseChatModel | None) -> str:
    file = io.StringIO()
    console = Console(file=file, highlight=False, width=60)
    with vector_store(url, chunks, Console(file=io.StringIO())) as store:
        answered(console, store, question, llm)
    return file.getvalue()


@pytest.mark.filterwarnings("ignore::ctxassembly.NothingToJoinWarning")  # all chunks of so small a store are hits
def test_the_model_of_the_environment_answers_with_its_citations(url: URL, chunks: list[Document], named: None) -> None:
    llm = model()
    assert isinstance(llm, ChatMistralAI)
    assert llm.model == "small"
    output = printed(url, chunks, QUESTION, llm)
    assert f"\n{SAID}\n" in output
    assert "The answer of mistralai:small" in output
    assert "\n[1] with.txt: " in output or "\n[1] compound.txt: " in output
    assert "1 of 2 labels used" in output or "1 of 1 labels used" in output


def test_without_a_model_it_says_how_to_name_one(
    url: URL, chunks: list[Document], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    assert model() is None
    assert printed(url, chunks, QUESTION, None).strip() == HOW
