"""The prompt cache of a provider: what an agent has sent stays byte for byte as it was, turn after turn."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langgraph.checkpoint.memory import InMemorySaver

from agent_samples import Scripted, calls, search
from ctxassembly import AssemblyConfig
from langchain_ctxassembly import ContextAssembler, ContextMiddleware, context_tool, left_out_tool
from langchain_samples import WORDS, documents, memory_store, vector_store

THREAD: Any = {"configurable": {"thread_id": "1"}}
CORPUS = documents("A", "B", "C")
STORE = vector_store(CORPUS)
SMALL = ContextAssembler(config=AssemblyConfig(max_tokens=80, neighbors="unfiltered"), store=memory_store(CORPUS))

queries = st.lists(st.sampled_from(WORDS), min_size=1, max_size=3)
searches = st.builds(lambda words, name: calls(*words, name=name), queries, st.sampled_from(["plain", "ours"]))
wanted = st.sampled_from([{}, {"words": WORDS[3]}, {"document": "B"}, {"label": "1"}, {"label": "40"}])
requests = st.builds(
    lambda wanted, number: AIMessage(
        "", tool_calls=[{"name": "read_left_out", "args": wanted, "id": f"left-{number}", "type": "tool_call"}]
    ),
    wanted,
    st.uuids(),
)
turns = st.lists(st.lists(searches | requests, max_size=3), min_size=2, max_size=5)


def as_sent(message: BaseMessage) -> Any:
    return type(message), message.content, message.name, getattr(message, "tool_calls", None)


def changed_between(first: list[BaseMessage], second: list[BaseMessage]) -> list[int]:
    """Return the places of the messages of `first` that are others in `second`."""
    return [at for at, message in enumerate(first) if as_sent(message) != as_sent(second[at])]


def run(turns: list[list[AIMessage]], window: int, with_middleware: bool) -> list[list[BaseMessage]]:
    """Return the prompts of an agent whose every turn comes from a checkpoint."""
    retriever = STORE.as_retriever(search_kwargs={"k": 3})
    answers = [message for turn in turns for message in (*turn, AIMessage("It is said in [1]."))]
    model = Scripted(*answers, window=window)
    tools = [search(retriever, "plain"), context_tool(retriever, "ours", assembler=SMALL)]
    tools.append(left_out_tool(assembler=SMALL))
    middleware = [ContextMiddleware(SMALL, tools=["plain"])] if with_middleware else []
    agent = create_agent(model, tools, middleware=middleware, checkpointer=InMemorySaver())
    for number, _ in enumerate(turns):
        agent.invoke({"messages": [HumanMessage(f"Question {number}?")]}, THREAD)
    return model.prompts


@pytest.mark.parametrize("with_middleware", [True, False])
@settings(max_examples=25, deadline=None)
@given(turns=turns)
def test_what_was_sent_is_never_changed(with_middleware: bool, turns: list[list[AIMessage]]) -> None:
    prompts = run(turns, 100_000, with_middleware)
    for first, second in pairwise(prompts):
        assert changed_between(first, second) == []


@settings(max_examples=25, deadline=None)
@given(turns=turns, window=st.integers(2_000, 2_600))
@pytest.mark.filterwarnings("ignore:The prompt exceeds the model's window")
def test_where_the_window_forces_a_change_it_is_one(turns: list[list[AIMessage]], window: int) -> None:
    prompts = run(turns, window, with_middleware=True)
    changed: list[int] = []
    for first, second in pairwise(prompts):
        now = changed_between(first, second)
        assert all(second[at].content.startswith("Sources that were shown earlier") for at in now)
        changed += now
    assert len(changed) == len(set(changed))  # a message is changed once, and stays so
