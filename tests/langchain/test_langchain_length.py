"""The length of a context behind LangChain's own splitter, store and retriever: as short as the answer needs."""

from __future__ import annotations

from dataclasses import replace
from pydoc_data.topics import topics

import pytest
from langchain_core.documents import Document
from langchain_core.embeddings import DeterministicFakeEmbedding
from langchain_core.vectorstores import InMemoryVectorStore
from langchain_text_splitters import RecursiveCharacterTextSplitter

from ctxassembly import AssemblyConfig, Context, presets
from langchain_ctxassembly import ContextAssembler, VectorStoreNeighbors, number_chunks

QUESTION = "How does the with statement call __exit__ when an exception is raised?"
ANSWER = "If an exception caused the suite to be exited"
TOPICS = ("with", "try", "for", "while", "assignment", "import", "class", "function", "lambda", "raise")


@pytest.fixture(scope="module")
def assembler() -> ContextAssembler:
    documents = [Document(topics[name], metadata={"source": f"{name}.txt"}) for name in TOPICS]
    splitter = RecursiveCharacterTextSplitter(chunk_size=1_000, chunk_overlap=200, add_start_index=True)
    store = InMemoryVectorStore(DeterministicFakeEmbedding(size=8))
    store.add_documents(number_chunks(splitter.split_documents(documents)))
    return ContextAssembler(config=AssemblyConfig(neighbors="unfiltered"), store=VectorStoreNeighbors(store))


def asked(assembler: ContextAssembler, config: AssemblyConfig, query: str | None = QUESTION) -> Context:
    store: InMemoryVectorStore = assembler.store.vectorstore  # type: ignore[union-attr]
    found = [store.get_by_ids([f"{name}.txt#{at}"]) for at in range(2) for name in TOPICS]
    documents = [document for each in found for document in each]
    config = replace(config, neighbors="unfiltered")
    made = (
        ContextAssembler(config=config, store=assembler.store)
        .as_context()
        .invoke({"documents": documents, "query": query})
    )
    assert isinstance(made, Context)
    return made


def test_a_context_ends_where_more_text_is_hardly_relevant(assembler: ContextAssembler):
    filled, default, concise = (
        asked(assembler, config) for config in (AssemblyConfig(fill=True), AssemblyConfig(), presets.CONCISE)
    )
    assert 6_000 < filled.token_count <= 8_000
    assert concise.token_count < default.token_count < 0.8 * filled.token_count
    assert all(ANSWER in " ".join(context.text.split()) for context in (filled, default, concise))
    assert not any("stopped at" in note for note in filled.trace.notes)
    (note,) = (note for note in default.trace.notes if "stopped at" in note)
    assert note.startswith(f"min_relevance: stopped at {default.token_count:,} tokens; the next 1,000 would add ")


def test_in_a_small_budget_and_without_a_query_it_is_filled(assembler: ContextAssembler):
    for limit, query in ((1_000, QUESTION), (8_000, None)):
        filled, default = (
            asked(assembler, AssemblyConfig(fill=fill, max_tokens=limit), query) for fill in (True, False)
        )
        assert default.text == filled.text
