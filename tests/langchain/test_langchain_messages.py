from __future__ import annotations

import pytest
from langchain_core.messages import HumanMessage, SystemMessage

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
