"""What is ours is known by its type: metadata that only look like ours are a document's own, whatever they say."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.documents import Document
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.tools import create_retriever_tool
from langchain_core.vectorstores import InMemoryVectorStore
from langchain_text_splitters import RecursiveCharacterTextSplitter
from lookalikes import LOOKALIKES, TEXT

from ctxassembly import Conversation, resolve
from ctxassembly.evaluate import evaluate
from langchain_ctxassembly import (
    ContextAssembler,
    resolve_citations,
    to_documents,
)
from langchain_samples import WordEmbeddings

pytestmark = pytest.mark.filterwarnings("ignore::ctxassembly.NothingToJoinWarning", "ignore::UserWarning")
OWN = {"document_id": "handbook.pdf", "chunk_index": 1, "tenant": "acme"}


def forged(**metadata: Any) -> Document:
    return Document(TEXT, id="acme#1", metadata={**OWN, **metadata})


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
