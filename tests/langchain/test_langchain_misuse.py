"""What an error tells who begins to write instead."""

from __future__ import annotations

import re
from typing import Any

import pytest

from ctxassembly import AssemblyConfig, Hit, assemble
from ctxassembly.errors import ConfigError, InputError
from langchain_ctxassembly import ContextAssembler, ContextAssemblyRetriever, to_messages
from langchain_samples import document, documents, vector_store

VECTORSTORE = vector_store(documents("A"))
SEARCH = VECTORSTORE.as_retriever()


@pytest.mark.parametrize(
    ("hits", "instead"),
    [
        ([document("A", 1)], "ContextAssembler().as_context().invoke(documents)"),
        (VECTORSTORE.similarity_search_with_score("falcon", k=2), "ContextAssemblyRetriever.from_vectorstore(vectorst"),
        ([Hit(document("A", 1))], "ContextAssembler().as_context().invoke(documents)"),  # type: ignore[arg-type]
    ],
)
def test_documents_are_no_hits(hits: Any, instead: str) -> None:
    with pytest.raises(InputError, match=re.escape(instead)):
        assemble(hits)
    with pytest.raises(InputError, match=r"VectorStoreNeighbors\(vectorstore\)"):
        assemble([], store=VECTORSTORE)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("make", "settings", "instead"),
    [
        (ContextAssembler, {"window": 2}, "Did you mean config=AssemblyConfig(window=2)"),
        (ContextAssembler, {"config": {"window": 2}}, "write config=AssemblyConfig(window=2)"),
        (ContextAssembler, {"config": 2_000}, "write config=AssemblyConfig(max_tokens=2000)"),
        (ContextAssembler, {"config": "voice"}, "write config=AssemblyConfig.for_use('voice')"),
        (ContextAssembler, {"store": VECTORSTORE}, "write store=VectorStoreNeighbors(vectorstore)"),
        (ContextAssembler, {"vectorstore": VECTORSTORE}, "write store=VectorStoreNeighbors(vectorstore)"),
        (ContextAssembler, {"store": SEARCH}, "give its vector store or docstore"),
        (
            ContextAssemblyRetriever,
            {"retriever": VECTORSTORE},
            "write ContextAssemblyRetriever.from_vectorstore(vectorstore)",
        ),
        (
            ContextAssemblyRetriever,
            {"retriever": SEARCH, "window": 2},
            "Did you mean assembler=ContextAssembler(config=AssemblyConfig(window=2))",
        ),
        (
            ContextAssemblyRetriever,
            {"retriever": SEARCH, "config": AssemblyConfig()},
            "Did you mean assembler=ContextAssembler(config=...)",
        ),
    ],
)
def test_a_wrong_parameter_names_the_right_one(make: Any, settings: dict[str, Any], instead: str) -> None:
    with pytest.raises(ValueError, match=re.escape(instead)):
        make(**settings)


def test_an_assembler_that_has_no_query_suggests_none() -> None:
    with pytest.raises(ValueError, match="config must be an AssemblyConfig, got 'May I drink'") as caught:
        ContextAssembler(config="May I drink")  # type: ignore[arg-type]
    assert "write query" not in str(caught.value)


@pytest.mark.parametrize(
    ("given", "settings", "message"),
    [
        (SEARCH, {}, "vectorstore must be a VectorStore, got VectorStoreRetriever"),
        (SEARCH, {}, ": write ContextAssemblyRetriever(retriever=...)"),
        (VECTORSTORE.embeddings, {}, "vectorstore must be a VectorStore, got"),
        (VECTORSTORE, {"hits": 0}, "hits must be an integer of at least 1, got 0"),
    ],
)
def test_only_a_vector_store_can_be_searched_for_hits(given: Any, settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=re.escape(message)):
        ContextAssemblyRetriever.from_vectorstore(given, **settings)


def test_what_is_made_already_is_taken_as_it_is() -> None:
    for made in (ContextAssembler(name="mine"), ContextAssemblyRetriever(retriever=SEARCH, name="mine", tags=["a"])):
        assert type(made).model_validate(made) is made


def test_a_list_makes_no_messages() -> None:
    with pytest.raises(
        InputError, match=r"context must be a Context, got .*as_context\(\).invoke\(documents\) gives one"
    ):
        to_messages(documents("A"), "Why?")  # type: ignore[arg-type]


def test_an_assembler_takes_neither_pairs_nor_nodes() -> None:
    class Node:
        get_content = str

    for given in (VECTORSTORE.similarity_search_with_score("falcon", k=2), {"documents": [(document("A", 1), 0.5)]}):
        with pytest.raises(InputError, match=r"from_vectorstore\(vectorstore\).*document.metadata\['score'\]"):
            ContextAssembler().invoke(given)
    with pytest.raises(InputError, match=r"ContextAssemblyPostprocessor\(\)\.context\(nodes\)"):
        ContextAssembler().invoke([Node()])
    with pytest.raises(InputError, match=r"got \['text'\]\Z"):
        ContextAssembler().invoke(["text"])
