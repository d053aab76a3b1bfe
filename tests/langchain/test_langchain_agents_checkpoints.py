"""An agent's conversation through strict checkpoints: streamed, interrupted, restored, summarized."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import ModelRetryMiddleware, SummarizationMiddleware
from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.types import Command, interrupt

from agent_samples import Scripted, agent, asked, assert_labels_count_on, calls, index, pages, search, tool_messages
from ctxassembly import resolve
from langchain_ctxassembly import ContextMiddleware, contexts_in

pytestmark = [
    pytest.mark.filterwarnings("ignore::ctxassembly.NothingToJoinWarning"),
    pytest.mark.usefixtures("strictly"),
]

THREAD: Any = {"configurable": {"thread_id": "1"}}
TOOL = search(index(*pages("before.pdf"), *pages("after.pdf")).as_retriever(search_kwargs={"k": 3}))


@pytest.fixture
def strictly(caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """As under LANGGRAPH_STRICT_MSGPACK=true; no checkpoint may have anything to say."""
    from langgraph.checkpoint.serde import _msgpack, jsonplus

    monkeypatch.setattr("langgraph._internal._serde.STRICT_MSGPACK_ENABLED", True)
    monkeypatch.setattr(_msgpack, "STRICT_MSGPACK_ENABLED", True)
    for name in ("_warned_unregistered_types", "_warned_blocked_types", "_warned_unreconstructable_types"):
        monkeypatch.setattr(jsonplus, name, set())
    caplog.set_level(logging.WARNING)
    yield
    assert [each.getMessage() for each in caplog.get_records("call")] == []


def memory(path: Path) -> Any:
    return InMemorySaver(serde=JsonPlusSerializer(allowed_msgpack_modules=None))


def sqlite(path: Path) -> Any:
    return SqliteSaver.from_conn_string(str(path / "agent.db"))


def read(message: BaseMessage) -> Any:
    return message.content


@pytest.mark.parametrize("saver", [memory, sqlite])
def test_a_checkpoint_has_what_the_model_read(saver: Callable[[Path], Any], tmp_path: Path) -> None:
    from contextlib import nullcontext

    made = saver(tmp_path)
    with made if saver is sqlite else nullcontext(made) as opened:
        model = Scripted(calls("topic1", "topic2"), AIMessage("It is [1]."))
        agent(model, TOOL, checkpointer=opened).invoke(asked("What is topic1?"), THREAD)
    with sqlite(tmp_path) if saver is sqlite else nullcontext(made) as opened:  # as in another process
        again = Scripted(calls("topic3"), AIMessage("It is [1] and the rest."))
        graph = agent(again, TOOL, checkpointer=opened)
        kept = graph.get_state(THREAD).values["messages"]
        assert [read(each) for each in kept[:-1]] == [read(each) for each in model.prompts[-1]]
        state = graph.invoke(asked("And topic3?"), THREAD)
        assert [read(each) for each in again.prompts[0][:-1]] == [read(each) for each in kept]
        contexts = contexts_in(graph.get_state(THREAD).values["messages"], ["search"])
        assert contexts == contexts_in(state["messages"], ["search"])
    labels = [each.label for each in contexts[-1].citations]
    assert len(contexts) == 2
    assert_labels_count_on(contexts)
    resolved = resolve(f"Both [1] [{labels[0]}].", state["messages"], tools=["search"])
    assert [each.label for each in resolved.citations] == [*dict.fromkeys(["1", labels[0]])]
    assert all(context.trace.decisions for context in contexts)


def test_an_interrupt_before_the_model_changes_nothing(tmp_path: Path) -> None:
    """Then the documents that tools found come from a checkpoint, as dicts."""
    model = Scripted(calls("topic1", "topic2"), AIMessage("It is [1]."))
    graph = agent(model, TOOL, checkpointer=memory(tmp_path), interrupt_after=["tools"])
    graph.invoke(asked("What is topic1?"), THREAD)
    assert not contexts_in(graph.get_state(THREAD).values["messages"], ["search"])
    state = graph.invoke(None, THREAD)
    (context,) = contexts_in(state["messages"], ["search"])
    assert model.prompts[-1][2].content == context.text
    plain = Scripted(calls("topic1", "topic2"), AIMessage("It is [1]."))
    assert contexts_in(agent(plain, TOOL).invoke(asked("What is topic1?"))["messages"])[0].text == context.text


def test_a_tool_that_waits_for_a_person_holds_nothing_up(tmp_path: Path) -> None:
    @tool
    def ask_person(query: str) -> str:
        """Asks a person."""
        return str(interrupt(query))

    turn = calls("topic1")
    turn.tool_calls.extend(calls("May I?", name="ask_person").tool_calls)
    model = Scripted(turn, AIMessage("It is [1]."))
    graph = agent(model, TOOL, ask_person, checkpointer=memory(tmp_path))
    graph.invoke(asked("What is topic1?"), THREAD)
    state = graph.invoke(Command(resume="You may."), THREAD)
    by_name = {each.name: each for each in tool_messages(state["messages"])}
    assert by_name["ask_person"].content == "You may."
    assert by_name["search"].content == contexts_in(state["messages"], ["search"])[0].text


async def test_a_stream_of_messages_has_each_of_them_once() -> None:
    model = Scripted(calls("topic1", "topic2"), AIMessage("It is [1]."))
    found: list[Any] = []
    async for message, _ in agent(model, TOOL).astream(asked("What is topic1?"), stream_mode="messages"):
        found.append(message)
    ids = [each.id for each in found if isinstance(each, ToolMessage)]
    assert len(ids) == len(set(ids)) == 2
    assert "".join(str(each.content) for each in found if not isinstance(each, ToolMessage)) == "It is [1]."


def test_labels_count_on_where_old_messages_are_summarized(tmp_path: Path) -> None:
    summaries = Scripted(*[AIMessage("They spoke of topics.")] * 9)
    summary = SummarizationMiddleware(summaries, trigger=("messages", 5), keep=("messages", 2))
    model = Scripted(*[each for number in range(3) for each in (calls(f"topic{number}"), AIMessage("Yes."))])
    graph = create_agent(
        model, [TOOL], middleware=[summary, ContextMiddleware(tools=["search"])], checkpointer=memory(tmp_path)
    )
    last = 0
    for number in range(3):
        state = graph.invoke(asked(f"What is topic{number}?"), THREAD)
        labels = [int(each.label) for each in contexts_in(state["messages"], ["search"])[-1].citations]
        assert min(labels) == last + 1
        last = max(labels)
    assert len(summaries.prompts) >= 1
    assert len(contexts_in(state["messages"], ["search"])) < 3


def test_a_model_that_is_asked_again_reads_the_same(tmp_path: Path) -> None:
    def fails(messages: list[BaseMessage]) -> AIMessage:
        raise ConnectionError("busy")

    retry = ModelRetryMiddleware(max_retries=1, initial_delay=0.0, retry_on=(ConnectionError,))
    for middleware in ([retry, ContextMiddleware(tools=["search"])], [ContextMiddleware(tools=["search"]), retry]):
        model = Scripted(calls("topic1", "topic2"), fails, AIMessage("It is [1]."))
        state = create_agent(model, [TOOL], middleware=middleware).invoke(asked("What is topic1?"))
        first, again = model.prompts[1:]
        assert [read(each) for each in first] == [read(each) for each in again]
        assert contexts_in(state["messages"], ["search"])[0].citations[0].label == "1"


def test_a_call_that_fails_leaves_the_state_as_the_tools_left_it(tmp_path: Path) -> None:
    def fails(messages: list[BaseMessage]) -> AIMessage:
        raise ConnectionError("busy")

    model = Scripted(calls("topic1"), fails, AIMessage("It is [1]."))
    graph = agent(model, TOOL, checkpointer=memory(tmp_path))
    with pytest.raises(ConnectionError):
        graph.invoke(asked("What is topic1?"), THREAD)
    assert not contexts_in(graph.get_state(THREAD).values["messages"], ["search"])
    state = graph.invoke(None, THREAD)
    assert model.prompts[2][2].content == contexts_in(state["messages"], ["search"])[0].text


def test_structured_answers_pass(tmp_path: Path) -> None:
    from pydantic import BaseModel

    class Verdict(BaseModel):
        """The verdict."""

        answer: str

    verdict = {"name": "Verdict", "args": {"answer": "Yes [1]."}, "id": "v", "type": "tool_call"}
    model = Scripted(calls("topic1"), AIMessage("", tool_calls=[verdict]))
    graph = agent(model, TOOL, response_format=Verdict)
    state = graph.invoke(asked("What is topic1?"))
    assert state["structured_response"].answer == "Yes [1]."
    assert len(contexts_in(state["messages"], ["search"])) == 1
