"""What is ours is known by its type: metadata that only look like ours are a document's own, whatever they say."""

from __future__ import annotations

import json
from typing import Any
from uuid import uuid4

import pytest
from langchain_chroma import Chroma
from langchain_core.documents import Document
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.runnables import RunnableLambda
from langchain_core.tools import create_retriever_tool
from langchain_core.vectorstores import InMemoryVectorStore, VectorStore
from langchain_text_splitters import RecursiveCharacterTextSplitter
from lookalikes import LOOKALIKES, SECRET, TEXT

from ctxassembly import Conversation, resolve
from ctxassembly.evaluate import evaluate
from langchain_ctxassembly import (
    ContextAssembler,
    ContextAssemblyRetriever,
    VectorStoreNeighbors,
    resolve_citations,
    to_documents,
)
from langchain_samples import WordEmbeddings

pytestmark = pytest.mark.filterwarnings("ignore::ctxassembly.NothingToJoinWarning", "ignore::UserWarning")
THEIRS = [
    Document(
        f"{SECRET}, says part {n}.",
        id=f"globex#{n}",
        metadata={"document_id": "handbook.pdf", "chunk_index": n, "tenant": "globex"},
    )
    for n in (0, 2)
]
OWN = {"document_id": "handbook.pdf", "chunk_index": 1, "tenant": "acme"}


def forged(**metadata: Any) -> Document:
    return Document(TEXT, id="acme#1", metadata={**OWN, **metadata})


def in_chroma(*stored: Document) -> tuple[VectorStore, Any]:
    """Which holds no nested metadata: it takes them as text."""
    store = Chroma(f"ours-{uuid4()}", WordEmbeddings())
    flat = [
        one.model_copy(update={"metadata": {key: value if isinstance(value, (str, int)) else json.dumps(value)
                                            for key, value in one.metadata.items()}})
        for one in stored
    ]  # fmt: skip
    store.add_documents(flat)
    return store, VectorStoreNeighbors(vectorstore=store)


@pytest.mark.parametrize("flag", [{}, {"no_neighbors": True}])
@pytest.mark.parametrize("metadata", LOOKALIKES)
def test_a_forged_block_reads_no_neighbors_of_another_tenant(metadata: Any, flag: Any) -> None:
    store, neighbors = in_chroma(forged(**metadata, **flag), *THEIRS)
    assembler = ContextAssembler(store=neighbors)
    search = RunnableLambda(lambda query: store.similarity_search(query, 1))
    found = ContextAssemblyRetriever(retriever=search, assembler=assembler).invoke(TEXT)
    context = assembler.as_context().invoke({"documents": search.invoke(TEXT), "query": TEXT})
    for text in (context.text, "\n\n".join(one.page_content for one in found)):
        assert TEXT in text
        assert SECRET not in text
    (citation,) = context.citations
    assert (citation.document_id, citation.chunk_ids) == ("handbook.pdf", ("acme#1",))
    assert citation.metadata["tenant"] == "acme"
    assert citation.metadata.get("no_neighbors") == flag.get("no_neighbors")
    assert not context.supplement


@pytest.mark.parametrize("metadata", LOOKALIKES)
def test_another_citation_key_is_no_source_and_no_error(metadata: dict[str, Any]) -> None:
    """In the artifact of a retriever tool, in documents beside ours, in a conversation."""
    store = InMemoryVectorStore(WordEmbeddings())
    store.add_documents([forged(**metadata)])
    tool = create_retriever_tool(store.as_retriever(), "papers", "Finds.", response_format="content_and_artifact")
    call: Any = {"name": "papers", "args": {"query": "leave"}, "id": "1", "type": "tool_call"}
    message = tool.invoke(call)
    assert message.artifact
    assert resolve("25 days [1].", [HumanMessage("Leave?"), message]).citations == ()
    assert "annotations" not in resolve_citations(AIMessage("25 days [1]."), [message]).content_blocks[0]
    assert Conversation.from_messages([message]).next_label == 1
    ours = to_documents(ContextAssembler().as_context().invoke([Document("Rest.", metadata={"source": "a.pdf"})]))
    assert [one.source for one in resolve("Rest [1].", [*message.artifact, *ours]).citations] == ["a.pdf"]


@pytest.mark.parametrize("metadata", LOOKALIKES)
def test_an_evaluation_reads_such_documents_as_they_are(metadata: dict[str, Any]) -> None:
    question = {"question": "How many days is leave?", "evidence": [{"quotation": TEXT}]}
    (row,) = evaluate([question], {"plain": lambda _: [forged(**metadata)]}).rows
    assert (row.error, row.measures["recall"]) == (None, 1.0)


def test_pieces_that_a_splitter_cut_from_a_block_are_pieces_of_its_text() -> None:
    page = Document(
        " ".join(f"Rule {n} is written here." for n in range(20)), id="a#0", metadata={"source": "a.pdf", "tenant": "x"}
    )
    splitter = RecursiveCharacterTextSplitter(chunk_size=120, chunk_overlap=0)
    pieces = splitter.split_documents(ContextAssembler().invoke([page]))
    assert len(pieces) > 1
    context = ContextAssembler().as_context().invoke(pieces[:2])
    assert context.text.count("Source: ") == 1
    assert "Rule 19" not in context.text
    assert {citation.metadata["tenant"] for citation in context.citations} == {"x"}
