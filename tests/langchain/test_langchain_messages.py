from __future__ import annotations

import pytest
from langchain_core.messages import HumanMessage, SystemMessage
from langchain_core.runnables import RunnableLambda

from ctxassembly import AssemblyConfig
from langchain_ctxassembly import ContextAssembler, to_messages
from langchain_samples import documents


@pytest.mark.parametrize("style", ["grounded", "strict", "soft"])
@pytest.mark.parametrize("language", ["en", "nl"])
def test_the_messages_are_those_of_the_engine(style: str, language: str) -> None:
    context = ContextAssembler(config=AssemblyConfig(language=language)).as_context().invoke(documents("a", count=2))
    own = {"extra_rules": ["Name the page."], "template": "{context}\n\nVraag: {question}"}
    system, user = to_messages(context, "Why?", style, "Be kind.", **own)
    assert (type(system), type(user)) == (SystemMessage, HumanMessage)
    expected = context.to_messages("Why?", style, "Be kind.", **own)
    assert [system.content, user.content] == [each["content"] for each in expected]


def test_a_chain_has_them_after_the_context() -> None:
    chain = ContextAssembler().as_context() | RunnableLambda(lambda context: to_messages(context, context.query))
    messages = chain.invoke({"documents": documents("a", count=1), "query": "Why?"})
    assert messages[-1].text.endswith("Question: Why?")


def test_braces_in_documents_are_mere_text() -> None:
    (document,) = documents("a", count=1)
    document.page_content = "A {template} of {{braces}}."
    context = ContextAssembler().as_context().invoke([document])
    assert "A {template} of {{braces}}." in to_messages(context, "{why}?")[1].text
