"""Labels of an agent's contexts follow from the conversation in its state, whatever ran before or runs beside it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, TypedDict

import pytest
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage
from langchain_core.tools import BaseTool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, StateGraph, add_messages
from langgraph.prebuilt import ToolNode
from pydantic import BaseModel

from agent_samples import Scripted, asked, calls, index, pages, run, tool_messages
from ctxassembly import AssemblyConfig, Context
from langchain_ctxassembly import ContextAssembler, ContextChannel, context_node, context_tool

pytestmark = pytest.mark.filterwarnings("ignore::ctxassembly.NothingToJoinWarning")  # an ordinary index: no numbers
THREAD: Any = {"configurable": {"thread_id": "1"}}
STORE = index(*pages("drinking.pdf"), *pages("eating.pdf"))


def assembler(**settings: Any) -> ContextAssembler:
    return ContextAssembler(config=AssemblyConfig(neighbors="unfiltered", cite="chunk", fill=True, **settings))


def searching(name: str = "search", k: int = 3, **settings: Any) -> BaseTool:
    retriever = STORE.as_retriever(search_kwargs={"k": k})
    return context_tool(retriever, name, "Searches.", assembler=assembler(**settings))


def labels(messages: Sequence[Any]) -> list[list[int]]:
    """The labels of each tool's context, in the order of the messages."""
    found = [Context.from_dict(one.artifact) for one in tool_messages(messages)]
    return [[int(citation.label) for citation in context.citations] for context in found]


@pytest.mark.parametrize("awaited", [False, True])
@pytest.mark.parametrize("interrupted", [False, True])
async def test_calls_at_once_share_no_label_whichever_tool_runs_first(awaited: bool, interrupted: bool) -> None:
    """Also of two tools, one at a time, and when each call is taken from a checkpoint, once and again."""
    turn = calls("topic1 drinking1", "topic2 eating2")
    turn.tool_calls.extend(calls("topic3 drinking3", name="rules").tool_calls)
    model, tools = (
        Scripted(turn, *[AIMessage("Done.")] * 3),
        [searching(first_label=5), searching("rules", k=2, first_label=5)],
    )
    stop = {"interrupt_before": ["tools"]} if interrupted else {}
    app: Any = create_agent(model, tools, checkpointer=InMemorySaver(), **stop)
    config = {**THREAD, "max_concurrency": 1} if interrupted else THREAD
    state = await run(app, asked("What?"), config, awaited=awaited)
    if interrupted:
        state = await run(app, None, config, awaited=awaited)
    found = labels(state["messages"])
    every = [label for one in found for label in one]
    assert sorted(map(len, found)) == [2, 3, 3]
    assert len(set(every)) == len(every)
    assert min(*found[0], *found[1]) == 5
    before = next(one.config for one in app.get_state_history(THREAD) if one.next and one.next[0] == "tools")
    assert labels((await run(app, None, before, awaited=awaited))["messages"]) == found


class Chat(TypedDict):
    chat: Annotated[list[AnyMessage], add_messages]


class ChatModel(BaseModel):
    chat: Annotated[list[AnyMessage], add_messages]


@pytest.mark.parametrize("awaited", [False, True])
@pytest.mark.parametrize("state", [Chat, ChatModel])
async def test_messages_may_have_another_key(state: Any, awaited: bool) -> None:
    turns = iter([calls("topic1 drinking1", "topic2 eating2"), calls("topic1 topic4 drinking4")])
    graph = StateGraph(state).add_node("model", lambda _: {"chat": [next(turns)]})
    graph.add_node("tools", ToolNode([searching()], messages_key="chat"))
    app = graph.add_edge(START, "model").add_edge("model", "tools").compile(checkpointer=InMemorySaver())
    for question in ("What of drinking?", "And eating?"):
        kept = await run(app, {"chat": [HumanMessage(question)]}, THREAD, awaited=awaited)
    first, second, third = labels(kept["chat"])
    assert set(first).isdisjoint(second)
    assert min(third) == max(*first, *second) + 1
    texts = "".join(one.text for one in tool_messages(kept["chat"]))
    assert all(texts.count(one.page_content.strip()) <= 1 for one in pages("drinking.pdf"))


class Mixed(TypedDict):
    messages: Annotated[list[AnyMessage], add_messages]
    chat: Annotated[list[AnyMessage], add_messages]
    contexts: Annotated[list[Context], ContextChannel]
    query: str


def test_tools_and_nodes_of_one_state_count_on_after_each_other() -> None:
    """Contexts under a key of their own, messages under another."""
    node = context_node(STORE.as_retriever(search_kwargs={"k": 2}), assembler=assembler(), context="contexts")
    graph = StateGraph(Mixed).add_node("read", node).add_node("again", node)
    graph.add_node("ask", lambda _: {"chat": [calls("topic4 eating4")]})
    graph.add_node("tools", ToolNode([searching()], messages_key="chat"))
    graph.add_edge(START, "read").add_edge("read", "ask").add_edge("ask", "tools").add_edge("tools", "again")
    state = graph.compile(checkpointer=InMemorySaver()).invoke({"query": "topic1 drinking1"}, THREAD)
    # The node finds the same text again: it is in no message, so it is sent again, under its labels. Of two contexts
    # that are the same, the state has one.
    (read,) = ([int(one.label) for one in context.citations] for context in state["contexts"])
    assert (read, labels(state["chat"])) == ([1, 2], [[3, 4, 5]])
