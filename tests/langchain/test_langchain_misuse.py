"""What an error tells who begins to write instead."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.runnables import RunnableLambda

from ctxassembly import AssemblyConfig
from ctxassembly.errors import InputError
from langchain_ctxassembly import ContextAssembler, ContextAssemblyRetriever, to_messages
from langchain_samples import document, documents, vector_store

VECTORSTORE = vector_store(documents("A"))
SEARCH = VECTORSTORE.as_retriever()


def test_what_is_made_already_is_taken_as_it_is() -> None:
    for made in (ContextAssembler(name="mine"), ContextAssemblyRetriever(retriever=SEARCH, name="mine", tags=["a"])):
        assert type(made).model_validate(made) is made


def test_a_list_makes_no_messages() -> None:
    with pytest.raises(
        InputError, match=r"context must be a Context, got .*as_context\(\).invoke\(documents\) gives one"
    ):
        to_messages(documents("A"), "Why?")  # type: ignore[arg-type]


@pytest.mark.parametrize("found", [None, "text", document("A", 1), {"documents": []}])
def test_a_retriever_that_returns_no_list_is_named(found: Any) -> None:
    retriever = ContextAssemblyRetriever(retriever=RunnableLambda(lambda query: found), assembler=ContextAssembler())
    with pytest.raises(InputError, match=r"RunnableLambda must return a list of Document, got "):
        retriever.invoke("falcon")


def test_a_constructor_takes_its_parameters_by_name() -> None:
    with pytest.raises(TypeError, match="positional argument"):
        ContextAssembler(AssemblyConfig())  # type: ignore[call-arg]
