"""The forms of a context through whole chains over an ordinary index: uuid ids, `source` and `page`, no index."""

from __future__ import annotations

import re
import uuid
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_classic.retrievers import EnsembleRetriever
from langchain_core.documents import Document
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langchain_core.runnables import RunnableLambda
from langchain_core.vectorstores import InMemoryVectorStore
from langchain_text_splitters import RecursiveCharacterTextSplitter
from langgraph.checkpoint.memory import InMemorySaver

from ctxassembly import AssemblyConfig, Context
from langchain_ctxassembly import (
    ContextAssembler,
    ContextAssemblyRetriever,
    VectorStoreNeighbors,
    context_tool,
    resolve_citations,
    to_documents,
)
from langchain_samples import WORDS, WordEmbeddings

pytestmark = pytest.mark.filterwarnings("ignore::ctxassembly.NothingToJoinWarning")  # an ordinary index: no numbers

TOPICS = ("drinking", "eating", "walking")
CONFIG = AssemblyConfig(neighbors="unfiltered", max_tokens=600)


def pages() -> list[Document]:
    """As a PDF reader gives them."""
    return [
        Document(
            " ".join(f"Rule {n} on {topic} is the {WORDS[n]}, says page {page}." for n in range(8)),
            metadata={"source": f"{topic}.pdf", "page": page, "title": f"On {topic}"},
        )
        for topic in TOPICS
        for page in (1, 2)
    ]


@pytest.fixture
def store() -> InMemoryVectorStore:
    splitter = RecursiveCharacterTextSplitter(chunk_size=160, chunk_overlap=50, add_start_index=True)
    made = InMemoryVectorStore(WordEmbeddings())
    made.add_documents(splitter.split_documents(pages()))
    return made


class Model(GenericFakeChatModel):
    """Asks once, and then answers from what its tools gave it."""

    answer: Any

    def bind_tools(self, tools: Any, **kwargs: Any) -> Any:
        return self

    def _generate(self, messages: list[Any], *rest: Any, **kwargs: Any) -> Any:
        if isinstance(messages[-1], ToolMessage):
            self.messages = iter([self.answer(messages)])
        return super()._generate(messages, *rest, **kwargs)


def asking(*queries: str) -> Any:
    calls = [
        {"name": "search_documents", "args": {"query": query}, "id": f"{n}", "type": "tool_call"}
        for n, query in enumerate(queries)
    ]
    return iter([AIMessage("", tool_calls=calls)])


def tool(store: InMemoryVectorStore, content: Any) -> Any:
    """An ensemble in a retry, in an agent's tool."""
    searched = store.as_retriever(search_kwargs={"k": 3})
    both: Any = EnsembleRetriever(retrievers=[searched, store.as_retriever(search_type="mmr")]).with_retry()
    assembler = ContextAssembler(config=CONFIG, store=VectorStoreNeighbors(store))
    return context_tool(both, assembler=assembler, content=content)


def all_annotations(message: AIMessage) -> list[tuple[str, Any]]:
    blocks: list[Any] = message.content_blocks
    return [
        (block["text"][one["start_index"] : one["end_index"]], one)
        for block in blocks
        if block["type"] == "text"
        for one in block["annotations"]
    ]


def test_an_agents_labels_lead_to_chunks_and_characters(store: InMemoryVectorStore) -> None:
    def answer(messages: list[Any]) -> AIMessage:
        read = "\n".join(str(one.content) for one in messages if isinstance(one, ToolMessage))
        labels = re.findall(r"^\[(\d+)\] Source", read, re.MULTILINE)
        assert len(labels) == len(set(labels)) > 2
        return AIMessage(" ".join(f"Claim {label} [{label}]." for label in labels))

    app = create_agent(
        Model(messages=asking("Rule 3 on drinking", "Rule 5 on walking"), answer=answer),
        [tool(store, "text")],
        checkpointer=InMemorySaver(),
    )
    thread: Any = {"configurable": {"thread_id": "1"}}
    app.invoke({"messages": [HumanMessage("What of drinking and walking?")]}, thread)
    messages = app.get_state(thread).values["messages"]
    resolved = resolve_citations(messages[-1], messages, ["search_documents"])
    found = all_annotations(resolved)
    contexts = [Context.from_dict(one.artifact) for one in messages if isinstance(one, ToolMessage)]
    assert len(found) == sum(len(context.citations) for context in contexts)
    for marker, one in found:
        extras = one["extras"]
        assert marker == f"[{extras['label']}]"
        assert one["title"].startswith("On ")
        assert one["cited_text"]
        for chunk in store.get_by_ids(extras["chunk_ids"]):
            assert uuid.UUID(chunk.id)
            assert chunk.metadata["source"] == extras["document_id"]
        for source in extras["sources"]:
            (chunk,) = store.get_by_ids([source["chunk_id"]])
            read = next(context.text for context in contexts for c in context.citations if c.label == extras["label"])
            assert chunk.page_content[slice(*source["chunk_span"])] == read[slice(*source["span"])]
    assert resolved.response_metadata["ctxassembly"] == {"unknown": []}


def test_an_agents_native_citations_lead_to_chunks(store: InMemoryVectorStore) -> None:
    """Each text block of each search result is cited once, as Anthropic's models do it."""

    def answer(messages: list[Any]) -> AIMessage:
        results = [block for one in messages if isinstance(one, ToolMessage) for block in one.content]
        blocks = [
            {
                "type": "text",
                "text": f"Claim {place}-{at}. ",
                "citations": [
                    {
                        "type": "search_result_location",
                        "cited_text": part["text"],
                        "search_result_index": place,
                        "start_block_index": at,
                        "end_block_index": at + 1,
                        "source": result["source"],
                        "title": result["title"],
                    }
                ],
            }
            for place, result in enumerate(results)
            for at, part in enumerate(result["content"])
        ]
        return AIMessage(blocks, response_metadata={"model_provider": "anthropic"})

    model = Model(messages=asking("Rule 3 on drinking", "Rule 5 on walking"), answer=answer)
    app = create_agent(model, [tool(store, "search_results")])
    messages = app.invoke({"messages": [HumanMessage("What of drinking and walking?")]})["messages"]
    resolved = resolve_citations(messages[-1], messages, ["search_documents"])
    found = all_annotations(resolved)
    assert len(found) > 4
    for claim, one in found:
        assert claim.startswith("Claim ")
        (chunk,) = store.get_by_ids(one["extras"]["chunk_ids"])
        pieces = [chunk.page_content[slice(*source["chunk_span"])] for source in one["extras"]["sources"]]
        assert all(piece in one["cited_text"] for piece in pieces)
        assert pieces
    assert resolved.response_metadata["ctxassembly"] == {"unknown": []}


def test_the_documents_of_a_context_are_those_of_the_retriever(store: InMemoryVectorStore) -> None:
    retriever = ContextAssemblyRetriever.from_vectorstore(store, config=CONFIG, hits=3)
    chain = RunnableLambda(retriever.context) | to_documents
    found, expected = chain.invoke("Rule 3 on drinking"), retriever.invoke("Rule 3 on drinking")
    assert [(one.id, one.page_content) for one in found] == [(one.id, one.page_content) for one in expected]
    assert [one.metadata["scores"] for one in found] == [one.metadata["scores"] for one in expected]
