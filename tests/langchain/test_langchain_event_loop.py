"""Every awaited way through LangChain leaves the event loop free while an assembly works."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from heartbeat import Slow
from langchain_core.documents import Document
from langchain_core.messages import AIMessage

from agent_samples import Scripted, asked, calls, index, pages, search
from agent_samples import agent as agent_of
from chain_samples import QUESTION, retriever
from chain_samples import Scripted as ScriptedAnswers
from ctxassembly import Chunk, MemoryIndex, RetrievalConfig
from langchain_ctxassembly import (
    ContextAssembler,
    ContextAssemblyRetriever,
    ContextMiddleware,
    ContextRetriever,
    answer_chain,
    context_node,
    context_tool,
)

pytestmark = pytest.mark.filterwarnings("ignore::ctxassembly.NothingToJoinWarning")  # these chunks have no order

DOCUMENTS = [
    Document("Drink water until two hours before.", metadata={"source": "before.pdf"}),
    Document("Then rest.", metadata={"source": "after.pdf"}),
]
CHUNKS = [Chunk(f"leaflet#{at}", "leaflet", document.page_content, at) for at, document in enumerate(DOCUMENTS)]
KEYWORD = RetrievalConfig(strategy="keyword")
Way = Callable[[ContextAssembler], Awaitable[Any]]


async def _streamed(assembler: ContextAssembler) -> Any:
    return [piece async for piece in assembler.astream(DOCUMENTS)]


async def _retrieved(assembler: ContextAssembler) -> Any:
    found = index(*DOCUMENTS).as_retriever()
    return await ContextAssemblyRetriever(retriever=found, assembler=assembler).ainvoke("water?")


async def _searched(assembler: ContextAssembler) -> Any:
    return await ContextRetriever(MemoryIndex(CHUNKS), config=KEYWORD, assembler=assembler).ainvoke("drink water?")


async def _listened(assembler: ContextAssembler) -> Any:
    return [event async for event in assembler.as_context().astream_events(DOCUMENTS, version="v2")]


async def _by_node(assembler: ContextAssembler) -> Any:
    return await context_node(assembler).ainvoke({"query": "water?", "documents": DOCUMENTS})


async def _by_middleware(assembler: ContextAssembler) -> Any:
    model = Scripted(calls("topic1 before1"), AIMessage("It is [1]."))
    middleware = ContextMiddleware(assembler, tools=["search"])
    graph = agent_of(model, search(index(*pages("before.pdf")).as_retriever()), middleware=middleware)
    return await graph.ainvoke(asked("What is topic1?"))


async def _by_tool(assembler: ContextAssembler) -> Any:
    tool = context_tool(index(*DOCUMENTS).as_retriever(), "leaflets", "Searches.", assembler=assembler)
    return await tool.ainvoke({"name": "leaflets", "args": {"query": "water?"}, "id": "1", "type": "tool_call"})


async def _answered(assembler: ContextAssembler) -> Any:
    chain: Any = answer_chain(ScriptedAnswers(), retriever(assembler=assembler))
    return await chain.ainvoke({"input": QUESTION})


WAYS: dict[str, tuple[Way, str]] = {
    "ainvoke": (lambda assembler: assembler.ainvoke(DOCUMENTS), "trace_to_plain"),
    "astream": (_streamed, "trace_to_plain"),
    "acompress_documents": (lambda assembler: assembler.acompress_documents(DOCUMENTS, "water?"), "trace_to_plain"),
    "ContextAssemblyRetriever": (_retrieved, "trace_to_plain"),
    "ContextRetriever": (_searched, "trace_to_plain"),
    "listeners": (_listened, "trace_to_plain"),
    "a node": (_by_node, "to_plain"),
    "the middleware": (_by_middleware, "to_plain"),
    "a tool": (_by_tool, "to_plain"),
    "an answer chain": (_answered, "trace_to_plain"),
}


@pytest.mark.parametrize("way", WAYS)
async def test_what_takes_long_is_done_beside_the_loop(way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    slow, (run, writes) = Slow(monkeypatch), WAYS[way]
    assembler = ContextAssembler(config=slow.config)
    assert await slow.leaves_the_loop_free(lambda: run(assembler), "count", writes)
