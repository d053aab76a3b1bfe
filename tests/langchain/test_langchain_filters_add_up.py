"""The filter of a call comes in addition to the retriever's own, for its hits and in agents' tools."""

from __future__ import annotations

from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.documents import Document
from langchain_core.embeddings import DeterministicFakeEmbedding
from langchain_core.language_models import GenericFakeChatModel
from langchain_core.messages import AIMessage
from langchain_core.runnables import RunnableLambda
from langchain_core.vectorstores import InMemoryVectorStore

from ctxassembly.errors import ConfigError
from langchain_ctxassembly import ContextAssemblyRetriever, context_tool

# The documents don't know their places.
pytestmark = pytest.mark.filterwarnings("ignore::ctxassembly.errors.NothingToJoinWarning")


class Model(GenericFakeChatModel):
    def bind_tools(self, tools: Any, **settings: Any) -> Model:
        return self


def of_tenant(document: Document) -> bool:
    return bool(document.metadata["tenant"] == "a")


def of_group(document: Document) -> bool:
    return bool(document.metadata["group"] == 1)


def retriever() -> ContextAssemblyRetriever:
    store = InMemoryVectorStore(DeterministicFakeEmbedding(size=8))
    store.add_documents(
        [
            Document(f"of {tenant}{group}", id=f"{tenant}{group}", metadata={"tenant": tenant, "group": group})
            for tenant in "ab"
            for group in (1, 2)
        ]
    )
    return ContextAssemblyRetriever.from_vectorstore(store, search_kwargs={"filter": of_tenant})


async def test_of_a_call() -> None:
    made = retriever()
    assert made.context("x", filter=of_group).text.endswith("of a1")
    for documents in (made.invoke("x", filter=of_group), await made.ainvoke("x", filter=of_group)):
        assert [each.metadata["chunk_ids"] for each in documents] == [["a1"]]


def test_of_an_agents_tool() -> None:
    tool = context_tool(retriever(), "search", "Searches.", filter=lambda runtime: of_group)
    call = AIMessage("", tool_calls=[{"name": "search", "args": {"query": "x"}, "id": "1"}])
    agent = create_agent(Model(messages=iter([call, AIMessage("ok")])), [tool])
    said = agent.invoke({"messages": [("user", "x")]})["messages"][2].content
    assert "of a1" in said
    assert "of b1" not in said
    assert "of a2" not in said


def test_a_wrapper_of_a_wrapper_is_refused_as_well() -> None:
    plain = ContextAssemblyRetriever(retriever=RunnableLambda(lambda query: [Document("Drink.")]))
    for wrapped in (plain.with_retry().with_config(tags=["x"]), plain.bind().with_retry()):
        with pytest.raises(ConfigError, match="belongs around the search inside"):
            context_tool(wrapped, "search", "Searches.")
