"""Every awaited way through LangChain leaves the event loop free while an assembly works."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from heartbeat import Slow
from langchain_core.documents import Document
from langchain_core.messages import AIMessage
from langchain_core.runnables import RunnableLambda
from langgraph.graph import END, START, MessagesState, StateGraph

from agent_samples import Scripted, asked, calls, index, pages, search
from agent_samples import agent as agent_of
from chain_samples import ANSWER, QUESTION, retriever
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


async def _piped(assembler: ContextAssembler) -> Any:
    return await (RunnableLambda(lambda _: DOCUMENTS) | assembler).ainvoke("water?")


async def _retrieved(assembler: ContextAssembler) -> Any:
    found = index(*DOCUMENTS).as_retriever()
    return await ContextAssemblyRetriever(retriever=found, assembler=assembler).ainvoke("water?")


async def _searched(assembler: ContextAssembler) -> Any:
    return await ContextRetriever(MemoryIndex(CHUNKS), config=KEYWORD, assembler=assembler).ainvoke("drink water?")


WAYS: dict[str, Way] = {
    "ainvoke": lambda assembler: assembler.ainvoke(DOCUMENTS),
    "abatch": lambda assembler: assembler.abatch([DOCUMENTS, DOCUMENTS]),
    "astream": _streamed,
    "atransform_documents": lambda assembler: assembler.atransform_documents(DOCUMENTS),
    "acompress_documents": lambda assembler: assembler.acompress_documents(DOCUMENTS, "water?"),
    "a pipe": _piped,
    "ContextAssemblyRetriever": _retrieved,
    "ContextRetriever": _searched,
}


@pytest.fixture
def slow(monkeypatch: pytest.MonkeyPatch) -> Slow:
    return Slow(monkeypatch)


@pytest.mark.parametrize("way", WAYS)
async def test_documents_are_made_beside_the_loop(way: str, slow: Slow) -> None:
    assembler = ContextAssembler(config=slow.config)
    assert await slow.leaves_the_loop_free(lambda: WAYS[way](assembler), "count", "trace_to_plain")


async def test_a_context_is_made_beside_the_loop(slow: Slow) -> None:
    context = ContextAssembler(config=slow.config).as_context()
    assert str(await slow.leaves_the_loop_free(lambda: context.ainvoke(DOCUMENTS), "count"))


async def test_what_listeners_hear_is_written_beside_the_loop(slow: Slow) -> None:
    context = ContextAssembler(config=slow.config).as_context()

    async def listen() -> list[Any]:
        return [event["event"] async for event in context.astream_events(DOCUMENTS, version="v2")]

    assert "on_custom_event" in await slow.leaves_the_loop_free(listen, "count", "trace_to_plain")


class State(MessagesState, total=False):
    question: str
    documents: list[Document]
    context: dict[str, Any]


async def test_a_node_of_a_graph_writes_its_context_beside_the_loop(slow: Slow) -> None:
    node: Any = context_node(ContextAssembler(config=slow.config), query="question")
    graph: Any = StateGraph(State).add_node("read", node).add_edge(START, "read").add_edge("read", END).compile()
    given = {"question": "water?", "documents": DOCUMENTS}
    state = await slow.leaves_the_loop_free(lambda: graph.ainvoke(given), "count", "to_plain")
    assert state["context"]["text"]


async def test_a_middleware_counts_and_writes_beside_the_loop(slow: Slow) -> None:
    model = Scripted(*[calls("topic1 before1"), AIMessage("It is [1].")] * 2)
    middleware = ContextMiddleware(ContextAssembler(config=slow.config), tools=["search"])
    graph = agent_of(model, search(index(*pages("before.pdf")).as_retriever()), middleware=middleware)
    await slow.leaves_the_loop_free(lambda: graph.ainvoke(asked("What is topic1?")), "count", "to_plain")


async def test_a_tool_writes_what_it_found_beside_the_loop(slow: Slow) -> None:
    tool = context_tool(
        index(*DOCUMENTS).as_retriever(), "leaflets", "Searches.", assembler=ContextAssembler(config=slow.config)
    )
    call = {"name": "leaflets", "args": {"query": "water?"}, "id": "1", "type": "tool_call"}
    assert (await slow.leaves_the_loop_free(lambda: tool.ainvoke(call), "count", "to_plain")).artifact["text"]


async def test_an_answer_chain_assembles_and_tells_beside_the_loop(slow: Slow) -> None:
    source = retriever(assembler=ContextAssembler(config=slow.config))
    chain: Any = answer_chain(ScriptedAnswers(), source)
    answered = await slow.leaves_the_loop_free(lambda: chain.ainvoke({"input": QUESTION}), "count", "trace_to_plain")
    assert answered["answer"] == ANSWER
