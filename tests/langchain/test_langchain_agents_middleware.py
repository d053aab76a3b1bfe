"""An agent whose tools retrieve: what the model reads, and what is left of it afterwards."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain.tools import ToolRuntime
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.tools import tool

from agent_samples import (
    TENANTS,
    Scripted,
    agent,
    asked,
    assert_labels_count_on,
    calls,
    index,
    may_read,
    pages,
    run,
    search,
    tenant_chunks,
    tool_messages,
)
from ctxassembly import AssemblyConfig, Conversation, FilterNotSeenWarning, Share, TokenBudget, resolve
from ctxassembly.errors import ConfigError
from langchain_ctxassembly import (
    ContextAssembler,
    ContextAssemblyRetriever,
    ContextMiddleware,
    VectorStoreNeighbors,
    contexts_in,
    to_tool_output,
)
from langchain_samples import WORDS

# Said of every index whose chunks have no order; here that is as it should be.
pytestmark = pytest.mark.filterwarnings("ignore::ctxassembly.NothingToJoinWarning")

BEFORE, AFTER = pages("before.pdf"), pages("after.pdf")


def retriever(k: int = 3) -> Any:
    return index(*BEFORE, *AFTER).as_retriever(search_kwargs={"k": k})


@pytest.mark.parametrize("awaited", [True, False])
async def test_the_model_reads_a_context_in_place_of_what_a_tool_found(awaited: bool) -> None:
    model = Scripted(calls("topic1 before1"), AIMessage("It is [1]."))
    state = await run(agent(model, search(retriever())), asked("What is topic1?"), awaited=awaited)
    (read,) = tool_messages(model.prompts[1])
    (kept,) = tool_messages(state["messages"])
    (context,) = contexts_in(state["messages"], ["search"])
    assert read.content == kept.content == context.text
    assert context.text.startswith("[1] Source: before.pdf, page")
    assert context.query == "topic1 before1"
    assert [each.type for each in state["messages"]] == ["human", "ai", "tool", "ai"]
    assert "context_last_label" not in state
    resolved = resolve(state["messages"][-1].text, state["messages"], tools=["search"])
    assert [each.source for each in resolved.citations] == ["before.pdf"]
    assert not resolved.unknown


@pytest.mark.parametrize("awaited", [True, False])
async def test_what_calls_at_the_same_time_found_is_said_once(awaited: bool) -> None:
    model = Scripted(calls("topic1 before1", "topic1 after1", "topic1"), AIMessage("Done."))
    state = await run(agent(model, search(retriever())), asked("What is topic1?"), awaited=awaited)
    first, second, third = tool_messages(model.prompts[1])
    (context,) = contexts_in(state["messages"], ["search"])
    assert first.content == context.text
    for document in BEFORE[1], AFTER[1]:
        assert "".join(str(each.content) for each in model.prompts[1]).count(document.page_content.strip()) == 1
    assert str(second.content).startswith("The sources that were found are given above ([")
    assert str(third.content).startswith("The sources that were found are given above ([")
    named = {each.label for each in context.citations if each.source == "after.pdf"}
    assert all(f"[{label}]" in str(second.content) for label in named)
    found = {each.chunk_id for each in context.trace.decisions}
    assert {BEFORE[1].id, AFTER[1].id} <= found
    assert context.query == "topic1 before1\ntopic1 after1\ntopic1"


def test_other_tools_and_errors_stay_as_they_are() -> None:
    @tool
    def clock(query: str) -> str:
        """Tells the time."""
        return f"It is nine in {query}."

    @tool(response_format="content_and_artifact")
    def table(query: str) -> Any:
        """Reads a table."""
        return "two rows", [{"city": query}, {"city": "Rome"}]

    @tool
    def failed(query: str, runtime: ToolRuntime) -> Any:
        """Fails, whatever it carries."""
        return ToolMessage("No.", artifact=BEFORE, name="failed", tool_call_id=runtime.tool_call_id, status="error")

    turn = calls("topic1 before1")
    for name in ("clock", "table", "failed"):
        turn.tool_calls.extend(calls("Paris", name=name).tool_calls)
    model = Scripted(turn, AIMessage("It is [1]."))
    middleware = ContextMiddleware(tools=["search", "failed"])
    state = agent(model, clock, table, failed, search(retriever()), middleware=middleware).invoke(asked("?"))
    by_name = {each.name: each for each in tool_messages(state["messages"])}
    assert by_name["search"].content == contexts_in(state["messages"], ["search"])[0].text
    assert by_name["clock"].content == "It is nine in Paris."
    assert by_name["table"].artifact == [{"city": "Paris"}, {"city": "Rome"}]
    assert by_name["table"].content == "two rows"
    assert (by_name["failed"].content, by_name["failed"].artifact) == ("No.", BEFORE)
    assert not any(by_name[name].response_metadata for name in ("clock", "table", "failed"))


def test_results_that_a_model_cites_by_itself_stay_in_blocks() -> None:
    blocks = [{"type": "search_result", "source": "a.pdf", "title": "a", "content": [{"type": "text", "text": "Hi."}]}]

    @tool(response_format="content_and_artifact")
    def native(query: str) -> Any:
        """Searches."""
        return blocks, ContextAssembler().as_context().invoke(retriever(1).invoke(query)).to_dict()

    turn = calls("topic1", name="native")
    turn.tool_calls.extend(calls("topic2").tool_calls)
    state = agent(Scripted(turn, AIMessage("Done.")), native, search(retriever())).invoke(asked("?"))
    by_name = {each.name: each for each in tool_messages(state["messages"])}
    assert by_name["native"].content == blocks
    first, second = contexts_in(state["messages"], ["search"])
    assert by_name["search"].content == second.text
    assert_labels_count_on([first, second])


@pytest.mark.parametrize("own", [True, False])
def test_contexts_that_tools_assembled_are_assembled_anew_with_their_supplements(own: bool) -> None:
    """Of a tool of ours, or of one around a retriever that assembles: both begin with label 1."""
    assembler = ContextAssembler(config=AssemblyConfig(max_tokens=60))
    ours = ContextAssemblyRetriever(retriever=retriever(4), assembler=assembler, supplement="Appointment: Friday.")

    @tool(response_format="content_and_artifact")
    def search_context(query: str) -> Any:
        """Searches."""
        return to_tool_output(ours.context(query))

    model = Scripted(calls("topic1 before1", "topic2 after2", name="search_context"), AIMessage("Done."))
    middleware = ContextMiddleware(tools=["search_context"])
    found = search_context if own else search(ours, "search_context")
    (context,) = contexts_in(agent(model, found, middleware=middleware).invoke(asked("?"))["messages"])
    labels = [each.label for each in context.citations]
    assert labels == [str(number) for number in range(1, len(labels) + 1)]
    assert context.text.count("Source:") == len(labels)
    assert all(topic in context.text for topic in ("topic1", "topic2"))
    assert context.text.count("Appointment: Friday.") == context.text.count("SUPPLEMENTARY") == 1
    if own:
        assert any("was left out by the tool's own assembly: " in note for note in context.trace.notes)


@dataclass
class User:
    tenant: str


@tool("search", response_format="content_and_artifact")
def search_own(query: str, runtime: ToolRuntime[User]) -> Any:
    """Searches."""  # by the user of the call, as nobody can see from outside
    return "", [tenant_chunks(runtime.context.tenant)[4]]


@pytest.mark.parametrize("is_told", [True, False])
@pytest.mark.parametrize("awaited", [True, False])
async def test_each_users_neighbors_pass_the_filter_of_the_runtime_else_agree_with_their_hit(
    is_told: bool, awaited: bool
) -> None:
    store = index(*(one for tenant in TENANTS for one in tenant_chunks(tenant)))
    neighbors = VectorStoreNeighbors(store, id_of=lambda document_id, at: f"{document_id}#{at}")
    assembler = ContextAssembler(config=AssemblyConfig(window=2, fill=True), store=neighbors)
    condition: Any = {"filter": lambda runtime: may_read(runtime.context.tenant)} if is_told else {}
    model = Scripted(*[calls(WORDS[4]), AIMessage("Done [1].")] * 2)
    middleware = [ContextMiddleware(assembler, tools=["search"], **condition)]
    graph: Any = create_agent(model, [search_own], middleware=middleware, context_schema=User)
    with nullcontext() if is_told else pytest.warns(FilterNotSeenWarning):
        for tenant in TENANTS:
            user = {"context": User(tenant)}
            state = await graph.ainvoke(asked("?"), **user) if awaited else graph.invoke(asked("?"), **user)
            (context,) = contexts_in(state["messages"])
            assert {one.chunk_id for one in context.provenance} == {f"{tenant}-A#{at}" for at in (2, 4, 6)}


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"assembler": 3}, "assembler must be a ContextAssembler, got 3"),
        (
            {"assembler": ContextAssembler(conversation=Conversation())},
            "assembler.conversation must be None here",
        ),
        ({"budget": -3}, "budget must be the model's window in tokens, at least 1, a TokenBudget, or None, got -3"),
        ({"budget": TokenBudget(shares=(Share("documents"),))}, "budget.shares must be empty here"),
        ({"filter": {"tenant": "ours"}}, "filter must be a function from the runtime of a call"),
        ({"tools": "search"}, "tools must be a list of names"),
    ],
)
def test_wrong_arguments_are_an_error(wrong: Any, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        ContextMiddleware(**wrong)
