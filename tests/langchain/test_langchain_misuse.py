"""What an error tells who begins to write instead."""

from __future__ import annotations

import re
from typing import Any

import pytest
from langchain_core.runnables import RunnableLambda

from ctxassembly import AssemblyConfig, Chunk, MemoryIndex, MemoryStore, assemble
from ctxassembly.errors import ConfigError, InputError, VocabularyError
from langchain_ctxassembly import ContextAssembler, ContextAssemblyRetriever, ContextRetriever, to_messages
from langchain_samples import document, documents, vector_store

VECTORSTORE = vector_store(documents("A"))
SEARCH = VECTORSTORE.as_retriever()
INDEX = MemoryIndex([Chunk("a", "a", "Rest.")])


@pytest.mark.parametrize(
    ("hits", "instead"),
    [
        ([document("A", 1)], "ContextAssembler().as_context().invoke(documents)"),
        (VECTORSTORE.similarity_search_with_score("falcon", k=2), "ContextAssemblyRetriever.from_vectorstore(vectorst"),
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
    with pytest.raises(ValueError, match=r"config must be an AssemblyConfig or .*, got 'May I drink'") as caught:
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


@pytest.mark.parametrize("found", [None, "text", document("A", 1), {"documents": []}])
def test_a_retriever_that_returns_no_list_is_named(found: Any) -> None:
    retriever = ContextAssemblyRetriever(retriever=RunnableLambda(lambda query: found), assembler=ContextAssembler())
    with pytest.raises(InputError, match=r"RunnableLambda must return a list of Document, got "):
        retriever.invoke("falcon")


CONTEXT_RETRIEVER = ContextAssemblyRetriever.from_vectorstore(VECTORSTORE, neighbors="unfiltered")
RETRIEVED = documents("A")


class Unawaited:
    """A coroutine that nobody awaits, without Python's warning."""

    def __await__(self) -> Any:
        raise AssertionError


@pytest.mark.parametrize(
    ("chain", "given", "instead"),
    [
        (ContextAssembler(), "May I drink?", ": write (retriever | assembler).invoke('May I drink?')"),
        (ContextAssembler(), RETRIEVED[0], ": write [document]"),
        (ContextAssembler(), Unawaited(), ": write await before it"),
        (
            ContextAssembler(),
            {"question": "May I drink?", "found": RETRIEVED},
            "write {'documents': itemgetter('found'), 'query': itemgetter('question')} | assembler",
        ),
        (CONTEXT_RETRIEVER, {"question": "May I drink?"}, ": write itemgetter('question') | retriever"),
        (CONTEXT_RETRIEVER, Unawaited(), ": write await before it"),
        (CONTEXT_RETRIEVER, RETRIEVED, "query must be a string, got [Document("),
    ],
)
def test_a_chain_names_the_input_to_write(chain: Any, given: Any, instead: str) -> None:
    with pytest.raises(InputError, match=re.escape(instead)):
        chain.invoke(given)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: ContextAssemblyRetriever(SEARCH), r"takes its parameters by name, got .*\. It takes .*retriever"),
        (lambda: ContextAssembler(AssemblyConfig()), r"takes its parameters by name, got .*\. It takes .*config"),
        (lambda: ContextAssembler(VECTORSTORE), r"got .*: write store=VectorStoreNeighbors\(vectorstore\)"),
        (ContextAssemblyRetriever, r"ContextAssemblyRetriever\(\) needs retriever=\Z"),
        (lambda: ContextAssemblyRetriever(vectorstore=VECTORSTORE), r": write ContextAssemblyRetriever\.from_vectorst"),
        (lambda: ContextAssembler(neighbors="unfilterd"), "neighbors must be 'auto', 'filtered' or 'unfiltered', got"),
        (ContextRetriever, "strategy='hybrid' needs an index: pass index="),
        (lambda: ContextRetriever(INDEX), r"needs an embedding model: .* config=RetrievalConfig\(strategy='keyword'\)"),
        (lambda: ContextRetriever(INDEX, limit=3), r"Did you mean config=RetrievalConfig\(limit=3\)\?"),
        (lambda: ContextRetriever(VECTORSTORE), r": write ContextAssemblyRetriever.from_vectorstore\(vectorstore\)"),
        (lambda: ContextAssembler(store=MemoryStore), r": write store=MemoryStore\(\.\.\.\)"),
    ],
)
def test_a_constructor_raises_its_own_error_at_the_call(make: Any, message: str) -> None:
    with pytest.raises((ConfigError, InputError), match=message) as caught:
        make()
    assert "pydantic" not in str(caught.value)
    assert caught.value.__suppress_context__ or caught.value.__context__ is None


def test_a_vocabulary_that_is_missing_is_an_error_at_construction(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> None:
        raise VocabularyError(f"the vocabulary of {name!r} is not on this machine")

    monkeypatch.setattr("langchain_ctxassembly.assembler.counter_for", missing)
    with pytest.raises(VocabularyError, match="'o200k_base' is not on this machine"):
        ContextAssembler(config=AssemblyConfig(encoding="o200k_base"))
