from __future__ import annotations

import pytest
from llama_index.core.llms import ChatMessage, MessageRole, MockLLM

from ctxassembly import AssemblyConfig, Chunk, Context, Hit, assemble
from llamaindex_ctxassembly import to_messages


def context(language: str = "en") -> Context:
    return assemble([Hit(Chunk("a", "A", "A {template} of {{braces}}."))], AssemblyConfig(language=language))


@pytest.mark.parametrize("style", ["grounded", "strict", "soft"])
@pytest.mark.parametrize("language", ["en", "nl"])
def test_the_messages_are_those_of_the_engine(style: str, language: str) -> None:
    own = {"extra_rules": ["Name the page."], "template": "{context}\n\nVraag: {question}"}
    found = to_messages(context(language), "Why?", style, "Be kind.", **own)
    assert all(type(each) is ChatMessage for each in found)
    assert [each.role for each in found] == [MessageRole.SYSTEM, MessageRole.USER]
    expected = context(language).to_messages("Why?", style, "Be kind.", **own)
    assert [each.content for each in found] == [each["content"] for each in expected]


def test_an_llm_takes_them_as_they_are() -> None:
    answer = MockLLM().chat(to_messages(context(), "{why}?"))
    assert "A {template} of {{braces}}.\n\n---\n\nQuestion: {why}?" in str(answer)
