"""A conversation through LangChain: what the messages of a prompt still have isn't sent again."""

from __future__ import annotations

from typing import Any

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import SummarizationMiddleware
from langchain_core.documents import Document
from langchain_core.messages import AIMessage, HumanMessage, RemoveMessage
from langgraph.checkpoint.memory import InMemorySaver

from agent_samples import Scripted, agent, asked, assert_labels_count_on, calls, index, pages, search, tool_messages
from ctxassembly import (
    AssemblyConfig,
    Chunk,
    Context,
    Conversation,
    MemoryIndex,
    RetrievalConfig,
    TokenBudget,
    resolve,
)
from langchain_ctxassembly import (
    ContextAssembler,
    ContextAssemblyRetriever,
    ContextMiddleware,
    ContextRetriever,
    context_node,
    context_tool,
    contexts_in,
)
from langchain_samples import Recorder

pytestmark = pytest.mark.filterwarnings("ignore::ctxassembly.NothingToJoinWarning")
THREAD: Any = {"configurable": {"thread_id": "1"}}
PAGES = pages("before.pdf")
OPEN = AssemblyConfig(neighbors="unfiltered")
WHOLE = AssemblyConfig(neighbors="unfiltered", fill=True)


def found_of(*numbers: int) -> list[Document]:
    return [PAGES[number] for number in numbers]


def retriever(k: int = 2) -> Any:
    return index(*PAGES).as_retriever(search_kwargs={"k": k})


def texts_sent(contexts: list[Context]) -> list[str]:
    return [context.text[slice(*source.span)] for context in contexts for source in context.provenance]


async def run(graph: Any, given: Any, config: Any = THREAD, *, awaited: bool) -> Any:
    return await graph.ainvoke(given, config) if awaited else graph.invoke(given, config)


@pytest.mark.parametrize("awaited", [False, True])
async def test_an_assembler_takes_the_conversation_of_a_call(awaited: bool) -> None:
    runnable = ContextAssembler(config=OPEN).as_context()

    async def assembled(**inputs: Any) -> Context:
        return await runnable.ainvoke(inputs) if awaited else runnable.invoke(inputs)

    first = await assembled(documents=found_of(0, 1), conversation=Conversation())
    conversation = Conversation().after(first)
    message = HumanMessage(f"Context:\n{first.text}")
    for given in (conversation, conversation.to_dict(), [first]):
        second = await assembled(documents=found_of(1, 2), conversation=given)
        assert [one.chunk_id for one in second.provenance] == [PAGES[2].id]
        assert second.citations[0].label == "1"
    again = await assembled(documents=found_of(1), conversation=conversation.seen_in([message]))
    assert again.text == "The sources that were found are given above ([1])."
    whole = await assembled(documents=found_of(1), conversation=conversation.seen_in([AIMessage("A summary.")]))
    assert PAGES[1].page_content.strip() in whole.text


@pytest.mark.parametrize("awaited", [False, True])
async def test_retrievers_take_the_conversation_of_a_call(awaited: bool) -> None:
    chunks = [Chunk(f"lab#{at}", "lab", f"Ferritin is measured on day {at} of the week.", at) for at in range(3)]
    keyword = RetrievalConfig(strategy="keyword", limit=3)
    for one in (
        ContextRetriever(MemoryIndex(chunks), config=keyword, assembler=ContextAssembler(config=OPEN)),
        ContextAssemblyRetriever(retriever=retriever(3), assembler=ContextAssembler(config=OPEN)),
    ):
        query = "ferritin topic1"
        first = await one.acontext(query) if awaited else one.context(query)
        conversation = Conversation().after(first)
        for given in (conversation, [first]):
            context = (
                await one.acontext(query, conversation=given) if awaited else one.context(query, conversation=given)
            )
            assert context.text.startswith("The sources that were found are given above ([1]")
            documents = (
                await one.ainvoke(query, conversation=given) if awaited else one.invoke(query, conversation=given)
            )
            assert [each.page_content for each in documents] == [context.text]


@pytest.mark.parametrize("awaited", [False, True])
@pytest.mark.parametrize("has_middleware", [False, True])
async def test_an_agent_reads_each_text_once(awaited: bool, has_middleware: bool) -> None:
    questions = ["topic1", "topic1 topic2", "topic2 topic3"]
    model = Scripted(*[one for question in questions for one in (calls(question), AIMessage("So [1]."))])
    assembler = ContextAssembler(config=OPEN)
    if has_middleware:
        app = agent(
            model,
            search(retriever()),
            middleware=ContextMiddleware(assembler, tools=["search"]),
            checkpointer=InMemorySaver(),
        )
    else:
        tool = context_tool(retriever(), "search", "Searches.", assembler=assembler)
        app = create_agent(model, [tool], checkpointer=InMemorySaver())
    for question in questions:
        state = await run(app, asked(question), awaited=awaited)
    contexts = contexts_in(state["messages"], ["search"])
    sent = texts_sent(contexts)
    assert len(sent) == len(set(sent)) >= 3
    assert_labels_count_on(contexts)
    assert [one.text for one in tool_messages(model.prompts[-1])] == [one.text for one in contexts]
    assert not resolve("So [1].", state["messages"], tools=["search"]).unknown


@pytest.mark.parametrize("awaited", [False, True])
async def test_what_a_context_tool_assembled_is_not_assembled_again_by_the_middleware(awaited: bool) -> None:
    questions = ["topic1", "topic1 topic2", "topic2 topic3"]
    assembler, recorder = ContextAssembler(config=OPEN), Recorder()
    tool = context_tool(retriever(), "search", "Searches.", assembler=assembler)
    states = []
    for middleware in ([], [ContextMiddleware(assembler, tools=["search"])]):
        model = Scripted(*[one for question in questions for one in (calls(question), AIMessage("So [1]."))])
        app = create_agent(model, [tool], middleware=middleware, checkpointer=InMemorySaver())
        for question in questions:
            state = await run(app, asked(question), {**THREAD, "callbacks": [recorder]}, awaited=awaited)
        states.append([one.text for one in tool_messages(state["messages"])])
    assert states[0] == states[1]
    assert [name for name, _ in recorder.events] == ["context_assembled"] * 6


@pytest.mark.parametrize("awaited", [False, True])
async def test_a_context_tool_counts_on_after_a_summary(awaited: bool) -> None:
    """The messages with the first labels are gone; an answer in the summary may have them."""
    turns = [calls("topic1"), AIMessage("So [1]."), calls("topic3"), AIMessage("So [2].")]
    summarizing = SummarizationMiddleware(
        Scripted(*[AIMessage("Topic1 was asked [1].")] * 9), trigger=("messages", 5), keep=("messages", 1)
    )
    found = index(*pages("one.pdf", 2), *pages("three.pdf", 4)[3:]).as_retriever(search_kwargs={"k": 1})
    assembler = ContextAssembler(config=OPEN)
    tool = context_tool(found, "search", "Searches.", assembler=assembler)
    middleware = [summarizing, ContextMiddleware(assembler, tools=["search"])]
    app = create_agent(Scripted(*turns), [tool], middleware=middleware, checkpointer=InMemorySaver())
    await run(app, asked("What is topic1?"), awaited=awaited)
    state = await run(app, asked("And topic3?"), awaited=awaited)
    (after,) = contexts_in(state["messages"], ["search"])
    assert [(one.label, one.source) for one in after.citations] == [("2", "three.pdf")]


@pytest.mark.parametrize("has_middleware", [False, True])
def test_text_that_a_summary_replaced_is_sent_again(has_middleware: bool) -> None:
    turns = [calls("topic1"), AIMessage("So [1]."), calls("topic1"), AIMessage("Still [1].")]
    model, assembler = Scripted(*turns), ContextAssembler(config=OPEN)
    summarizing = SummarizationMiddleware(
        Scripted(*[AIMessage("Topic1 was asked.")] * 9), trigger=("messages", 5), keep=("messages", 1)
    )
    tool = (
        search(retriever()) if has_middleware else context_tool(retriever(), "search", "Searches.", assembler=assembler)
    )
    own = [ContextMiddleware(assembler, tools=["search"])] if has_middleware else []
    app = create_agent(model, [tool], middleware=[summarizing, *own], checkpointer=InMemorySaver())
    app.invoke(asked("What is topic1?"), THREAD)
    (before,) = contexts_in(app.get_state(THREAD).values["messages"], ["search"])
    state = app.invoke(asked("And topic1?"), THREAD)
    (after,) = contexts_in(state["messages"], ["search"])
    assert texts_sent([before]) == texts_sent([after])
    assert "Topic1 was asked." in str(model.prompts[-1])


def test_what_is_seen_already_needs_no_room() -> None:
    """A search finds the first context again: that isn't left out to make room for itself."""
    corpus = pages("one.pdf", 4, 9)
    tool = search(index(*corpus).as_retriever(search_kwargs={"k": 4}))
    model = Scripted(calls("topic1"), AIMessage("So [1]."), calls("topic1"), AIMessage("Still [1]."))
    budget = TokenBudget(window=900, generation=50, system=0, query=0, conversation=0, buffer=0)
    app = agent(
        model,
        tool,
        middleware=ContextMiddleware(ContextAssembler(config=WHOLE), budget=budget, tools=["search"]),
        checkpointer=InMemorySaver(),
    )
    app.invoke(asked("What is topic1?"), THREAD)
    state = app.invoke(asked("And again?"), THREAD)
    first, second = tool_messages(state["messages"])
    assert all(one.page_content.strip() in first.text for one in corpus)
    assert second.text == "The sources that were found are given above ([1])."


@pytest.mark.parametrize("awaited", [False, True])
async def test_a_branch_sees_what_its_own_messages_have(awaited: bool) -> None:
    model = Scripted(calls("topic1"), AIMessage("So [1]."), *[calls("topic1"), AIMessage("Still [1].")] * 2)
    tool = context_tool(retriever(), "search", "Searches.", assembler=ContextAssembler(config=OPEN))
    app = create_agent(model, [tool], checkpointer=InMemorySaver())
    first = await run(app, asked("What is topic1?"), awaited=awaited)
    await run(app, asked("And again?"), awaited=awaited)
    assert tool_messages(model.prompts[-1])[-1].text == "The sources that were found are given above ([1])."
    # Back to the first question: the branch hasn't read anything yet.
    start = next(one.config for one in app.get_state_history(THREAD) if len(one.values.get("messages", ())) == 1)
    branch = await run(app, None, start, awaited=awaited)
    assert contexts_in(branch["messages"], ["search"])[-1].text == contexts_in(first["messages"], ["search"])[0].text


def test_a_message_that_was_removed_or_edited_is_not_seen() -> None:
    model = Scripted(calls("topic1"), AIMessage("So [1]."), *[calls("topic1"), AIMessage("Still [1].")] * 2)
    tool = context_tool(retriever(), "search", "Searches.", assembler=ContextAssembler(config=OPEN))
    app = create_agent(model, [tool], checkpointer=InMemorySaver())
    first = app.invoke(asked("What is topic1?"), THREAD)
    (message,) = tool_messages(first["messages"])
    cleared = message.model_copy(update={"content": message.text[:-5]})
    app.update_state(THREAD, {"messages": [cleared]})
    second = app.invoke(asked("And again?"), THREAD)
    assert contexts_in(second["messages"], ["search"])[-1].text == message.text  # under the label that it had
    app.update_state(THREAD, {"messages": [RemoveMessage(id=one.id) for one in second["messages"]]})
    third = app.invoke(asked("And again?"), THREAD)
    assert contexts_in(third["messages"], ["search"])[-1].text == message.text


def test_a_node_leaves_out_what_the_messages_have() -> None:
    node = context_node(ContextAssembler(config=OPEN))
    first = Context.from_dict(node.invoke({"query": "topic1", "documents": found_of(0)})["context"])
    prompt = HumanMessage(f"{first.text}\n\ntopic1?")
    state = {"query": "topic1", "documents": found_of(0, 1), "earlier": [first], "messages": [prompt, AIMessage("So.")]}
    second = Context.from_dict(node.invoke(state)["context"])
    assert [one.chunk_id for one in second.provenance] == [PAGES[1].id]
    forgotten = Context.from_dict(node.invoke({**state, "messages": []})["context"])
    assert [one.chunk_id for one in forgotten.provenance] == [PAGES[0].id, PAGES[1].id]
    assert forgotten.citations[0].label == second.citations[0].label == "1"
