"""An agent's conversation through strict checkpoints: streamed, interrupted, restored, summarized."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AIMessage, BaseMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.checkpoint.sqlite import SqliteSaver

from agent_samples import Scripted, agent, asked, assert_labels_count_on, calls, index, pages, search
from ctxassembly import resolve
from langchain_ctxassembly import contexts_in

pytestmark = [
    pytest.mark.filterwarnings("ignore::ctxassembly.NothingToJoinWarning"),
    pytest.mark.usefixtures("silently"),
]

THREAD: Any = {"configurable": {"thread_id": "1"}}
TOOL = search(index(*pages("before.pdf"), *pages("after.pdf")).as_retriever(search_kwargs={"k": 3}))


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
