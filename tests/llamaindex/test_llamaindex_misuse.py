"""What an error tells who begins to write instead."""

from __future__ import annotations

import re
from typing import Any

import pytest
from llama_index.core import VectorStoreIndex
from llama_index.core.llms import MockLLM

from ctxassembly import Chunk, MemoryIndex, assemble
from ctxassembly.errors import ConfigError, InputError
from llamaindex_ctxassembly import (
    AnswerQueryEngine,
    ContextAssemblyPostprocessor,
    ContextRetriever,
    DocstoreNeighbors,
    PGVectorNeighbors,
    VectorStoreNeighbors,
    to_messages,
)
from llamaindex_samples import WordEmbedding, document, scored

NODES = document("A")
INDEX = VectorStoreIndex(NODES, embed_model=WordEmbedding())
CHUNKS = MemoryIndex([Chunk("a", "a", "Rest.")])


@pytest.mark.parametrize("hits", [scored(*NODES[:2]), NODES[:2]])
def test_nodes_are_no_hits(hits: Any) -> None:
    with pytest.raises(InputError, match=r"ContextAssemblyPostprocessor\(\)\.context\(nodes\)"):
        assemble(hits)


@pytest.mark.parametrize("one", [NODES[0], *scored(NODES[0])])
def test_one_node_is_told_to_be_a_list_of_one(one: Any) -> None:
    with pytest.raises(InputError, match=r"got one: write \[NodeWithScore\(node=node\)\]"):
        ContextAssemblyPostprocessor().context(one)


@pytest.mark.parametrize(
    ("settings", "instead"),
    [
        ({"window": 2}, "Did you mean config=AssemblyConfig(window=2)"),
        ({"docstore": INDEX}, "write docstore=index.docstore"),
        ({"docstore": INDEX.storage_context}, "write docstore=index.docstore"),
        ({"vector_store": INDEX}, "write vector_store=index.vector_store"),
        ({"store": INDEX}, "write ContextAssemblyPostprocessor.from_index(index)"),
        ({"store": INDEX.docstore}, "write docstore=docstore"),
        ({"docstore": INDEX.vector_store}, "write vector_store=vector_store"),
        ({"store": INDEX.vector_store}, "write vector_store=vector_store"),
        ({"index": INDEX}, "write ContextAssemblyPostprocessor.from_index(index)"),
        ({"filter": {"tenant": "north"}}, "write filter=MetadataFilters(filters=["),
    ],
)
def test_a_wrong_parameter_names_the_right_one(settings: dict[str, Any], instead: str) -> None:
    with pytest.raises(ConfigError, match=re.escape(instead)):
        ContextAssemblyPostprocessor(**settings)


def test_filters_as_json_are_filters() -> None:
    filters = {"filters": [{"key": "tenant", "value": "north"}]}
    (found,) = ContextAssemblyPostprocessor(filter=filters).filter.filters  # type: ignore[union-attr]
    assert (found.key, found.value) == ("tenant", "north")  # type: ignore[union-attr]


def test_a_list_makes_no_messages() -> None:
    with pytest.raises(InputError, match=r"context must be a Context, got .*context\(nodes\) gives one"):
        to_messages(scored(*NODES[:2]), "Why?")  # type: ignore[arg-type]


def test_a_postprocessor_takes_neither_documents_nor_bare_nodes() -> None:
    with pytest.raises(InputError, match=r"write NodeWithScore\(node=node\)"):
        ContextAssemblyPostprocessor().postprocess_nodes(NODES)  # type: ignore[arg-type]

    class Document:
        page_content, metadata = "Text.", {}  # type: ignore[var-annotated]

    with pytest.raises(InputError, match=r"ContextAssembler\(\)\.as_context\(\)\.invoke\(documents\)"):
        ContextAssemblyPostprocessor().postprocess_nodes([Document()])  # type: ignore[list-item]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: ContextAssemblyPostprocessor(INDEX), r": write ContextAssemblyPostprocessor\.from_index\(index\)"),
        (lambda: ContextAssemblyPostprocessor(filter="north"), r"filter must be .*MetadataFilters.*, got 'north'\Z"),
        (lambda: DocstoreNeighbors(INDEX), r"docstore must be a docstore, got .*: write docstore=index.docstore"),
        (lambda: VectorStoreNeighbors(INDEX), r"a vector store, got .*: write vector_store=index.vector_store"),
        (lambda: PGVectorNeighbors(INDEX.vector_store), "vector_store must be a PGVectorStore, got SimpleVectorStore"),
        (lambda: ContextRetriever(INDEX), r": write AnswerQueryEngine\.from_args\(index\)"),
        (
            lambda: ContextRetriever(CHUNKS),
            r"an embedding model: .* config=RetrievalConfig\(strategy='keyword'\)",
        ),
        (lambda: AnswerQueryEngine.from_args(INDEX.as_retriever()), r": write AnswerQueryEngine\(llm, retriever\)"),
        (lambda: AnswerQueryEngine.from_args(INDEX, llm="gpt-4o"), "llm must be a LlamaIndex LLM, got 'gpt-4o'"),
    ],
)
def test_a_constructor_raises_its_own_error_at_the_call(make: Any, message: str) -> None:
    with pytest.raises((ConfigError, InputError), match=message):
        make()


def test_a_postprocessor_names_the_arguments_to_write() -> None:
    postprocessor = ContextAssemblyPostprocessor()
    with pytest.raises(InputError, match=r"write postprocess_nodes\(nodes, query_str=query\)"):
        postprocessor.postprocess_nodes("May I drink?", scored(*NODES[:1]))  # type: ignore[arg-type]
    response = INDEX.as_query_engine(llm=MockLLM()).query("May I drink?")
    for call in (postprocessor.postprocess_nodes, postprocessor.context):
        with pytest.raises(InputError, match=r"nodes must be a list of NodeWithScore, got Response: write response"):
            call(response)
