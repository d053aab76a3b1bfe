"""Conversations through LangChain: what the prompt still has isn't sent again, and labels count on."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any, TypedDict

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import SummarizationMiddleware
from langchain_core.documents import Document
from langchain_core.messages import AIMessage, HumanMessage, RemoveMessage
from langchain_core.runnables import RunnableParallel
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.graph import START, StateGraph

from agent_samples import (
    Scripted,
    agent,
    asked,
    assert_labels_count_on,
    calls,
    index,
    pages,
    run,
    search,
    tool_messages,
)
from ctxassembly import (
    AssemblyConfig,
    Chunk,
    Context,
    Conversation,
    Labels,
    MemoryIndex,
    RetrievalConfig,
    TokenBudget,
    resolve,
)
from ctxassembly.errors import InputError
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
OPEN = AssemblyConfig(neighbors="unfiltered", cite="document")
WHOLE = replace(OPEN, fill=True)
ABOVE = "The sources that were found are given above ([1])."


def found_of(*numbers: int) -> list[Document]:
    return [PAGES[number] for number in numbers]


def retriever(k: int = 2) -> Any:
    return index(*PAGES).as_retriever(search_kwargs={"k": k})


def searching() -> Any:
    """A tool that assembles by itself."""
    return context_tool(retriever(), "search", "Searches.", assembler=ContextAssembler(config=OPEN))


def answered(*questions: str) -> Scripted:
    return Scripted(*[one for question in questions for one in (calls(question), AIMessage("So [1]."))])


def summarizing(keep: int) -> SummarizationMiddleware:
    model = Scripted(*[AIMessage("Topic1 was asked [1].")] * 9)
    return SummarizationMiddleware(model, trigger=("messages", 5), keep=("messages", keep))


def texts_sent(contexts: list[Context]) -> list[str]:
    return [context.text[slice(*source.span)] for context in contexts for source in context.provenance]


@pytest.mark.parametrize("awaited", [False, True])
async def test_an_assembler_takes_the_conversation_of_a_call(awaited: bool) -> None:
    runnable = ContextAssembler(config=OPEN).as_context()

    async def assembled(**inputs: Any) -> Context:
        context: Context = await run(runnable, inputs, awaited=awaited)
        return context

    first = await assembled(documents=found_of(0, 1), conversation=Conversation())
    conversation = Conversation().after(first)
    for given in (conversation, conversation.to_dict(), [first]):
        second = await assembled(documents=found_of(1, 2), conversation=given)
        assert [one.chunk_id for one in second.provenance] == [PAGES[2].id]
        assert second.citations[0].label == "1"
    message = HumanMessage(f"Context:\n{first.text}")
    again = await assembled(documents=found_of(1), conversation=conversation.seen_in([message]))
    assert again.text == ABOVE
    whole = await assembled(documents=found_of(1), conversation=conversation.seen_in([AIMessage("A summary.")]))
    assert PAGES[1].page_content.strip() in whole.text
    with pytest.raises(ValueError, match="conversation"):
        ContextAssembler(conversation=[Labels()])


@pytest.mark.parametrize("awaited", [False, True])
async def test_retrievers_take_the_conversation_of_a_call(awaited: bool) -> None:
    chunks = [Chunk(f"lab#{at}", "lab", f"Ferritin is measured on day {at} of the week.", at) for at in range(3)]
    keyword, assembler = RetrievalConfig(strategy="keyword", limit=3), ContextAssembler(config=OPEN)
    for one in (
        ContextRetriever(MemoryIndex(chunks), config=keyword, assembler=assembler),
        ContextAssemblyRetriever(retriever=retriever(3), assembler=assembler),
    ):
        query = "ferritin topic1"
        first = one.context(query)
        for given in (Conversation().after(first), [first]):
            named: Any = {"conversation": given}
            context = await one.acontext(query, **named) if awaited else one.context(query, **named)
            assert context.text.startswith("The sources that were found are given above ([1]")
            documents = await one.ainvoke(query, **named) if awaited else one.invoke(query, **named)
            assert [each.page_content for each in documents] == [context.text]


def test_labels_count_on_from_a_counter_that_a_call_or_an_assembler_has() -> None:
    assembler = ContextAssembler(config=OPEN, conversation=Conversation(labels=Labels(5)))
    ours = ContextAssemblyRetriever(retriever=retriever(1), assembler=assembler)

    def label(conversation: Conversation | None = None) -> int:
        return int(ours.invoke("topic1", conversation=conversation)[0].metadata["citation"]["label"])

    own = Conversation(labels=Labels(20))
    assert [label(), label(own), label(), label(own)] == [5, 20, 6, 21]


def test_the_documents_and_contexts_of_several_chains_resolve_together() -> None:
    two, three = pages("two.pdf", 1), pages("three.pdf", 1)
    assembler = ContextAssembler(conversation=Conversation(labels=Labels()))
    first, second = assembler.invoke([PAGES[0], *two]), assembler.invoke(three)
    third = assembler.as_context().invoke({"documents": [PAGES[1], *two, *three], "supplement": "Facts."})
    resolved = resolve("One [1], two [3], three [6] and none [9].", [first, second, third])
    assert [each.source for each in resolved.citations] == ["before.pdf", "three.pdf", "three.pdf"]
    assert resolved.text == "One [1], two [2], three [3] and none [9]."
    assert resolved.unknown == ("9",)
    with pytest.raises(InputError, match=r"label 1 refers to two sources, .* pass conversation="):
        resolve("It is [1].", [first, ContextAssembler().invoke(two)])


@pytest.mark.parametrize("sources", [3, [Document("x"), "text"], {"messages": []}])
def test_what_holds_no_sources_is_an_error(sources: Any) -> None:
    with pytest.raises(InputError, match=r"sources must be contexts|a context can be made again"):
        resolve("It is [1].", sources)


# In agents


@pytest.mark.parametrize("awaited", [False, True])
@pytest.mark.parametrize("is_ours", [False, True])
async def test_an_agent_reads_each_text_once(awaited: bool, is_ours: bool) -> None:
    """By itself, or by the middleware, which leaves what a tool of ours has assembled as it is."""
    questions, recorder, texts = ["topic1", "topic1 topic2", "topic2 topic3"], Recorder(), []
    middleware = ContextMiddleware(ContextAssembler(config=OPEN), tools=["search"])
    for own in ([], [middleware]) if is_ours else ([middleware],):
        model = answered(*questions)
        tools = [searching() if is_ours else search(retriever())]
        app = create_agent(model, tools, middleware=own, checkpointer=InMemorySaver())
        for question in questions:
            state = await run(app, asked(question), {**THREAD, "callbacks": [recorder]}, awaited=awaited)
        contexts = contexts_in(state["messages"], ["search"])
        sent = texts_sent(contexts)
        assert len(sent) == len(set(sent)) >= 3
        assert_labels_count_on(contexts)
        texts.append([one.text for one in tool_messages(model.prompts[-1])])
        assert texts[-1] == texts[0] == [one.text for one in contexts]
        assert not resolve("So [1].", state["messages"], tools=["search"]).unknown
    assert [name for name, _ in recorder.events] == ["context_assembled"] * len(questions) * len(texts)


def test_a_context_that_repeats_text_and_labels_is_assembled_again_by_the_middleware() -> None:
    never_sees = ContextAssembler(config=OPEN, conversation=Conversation())
    tool = context_tool(retriever(), "search", "Searches.", assembler=never_sees)
    middleware = [ContextMiddleware(ContextAssembler(config=OPEN))]
    app = create_agent(answered("topic1", "topic1 topic2"), [tool], middleware=middleware)
    messages = app.invoke(asked("topic1"))["messages"]
    messages = app.invoke({"messages": [*messages, ("user", "topic2")]})["messages"]
    sent = texts_sent(contexts_in(messages, ["search"]))
    assert len(sent) == len(set(sent)) >= 2
    assert_labels_count_on(contexts_in(messages, ["search"]))


@pytest.mark.parametrize("awaited", [False, True])
async def test_a_context_tool_counts_on_after_a_summary(awaited: bool) -> None:
    """The messages with the first labels are gone; an answer in the summary may have them."""
    found = index(*pages("one.pdf", 2), *pages("three.pdf", 4)[3:]).as_retriever(search_kwargs={"k": 1})
    assembler = ContextAssembler(config=OPEN)
    tool = context_tool(found, "search", "Searches.", assembler=assembler)
    middleware = [summarizing(1), ContextMiddleware(assembler, tools=["search"])]
    app = create_agent(answered("topic1", "topic3"), [tool], middleware=middleware, checkpointer=InMemorySaver())
    for question in ("What is topic1?", "And topic3?"):
        state = await run(app, asked(question), THREAD, awaited=awaited)
    (after,) = contexts_in(state["messages"], ["search"])
    assert [(one.label, one.source) for one in after.citations] == [("2", "three.pdf")]


@pytest.mark.parametrize("has_middleware", [False, True])
def test_text_that_a_summary_replaced_is_sent_again(has_middleware: bool) -> None:
    model = answered("topic1", "topic1")
    tool = search(retriever()) if has_middleware else searching()
    own = [ContextMiddleware(ContextAssembler(config=OPEN), tools=["search"])] if has_middleware else []
    app = create_agent(model, [tool], middleware=[summarizing(1), *own], checkpointer=InMemorySaver())
    sent = []
    for question in ("What is topic1?", "And topic1?"):
        (context,) = contexts_in(app.invoke(asked(question), THREAD)["messages"], ["search"])
        sent.append(texts_sent([context]))
    assert sent[0] == sent[1]
    assert "Topic1 was asked" in str(model.prompts[-1])


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
async def test_only_what_the_messages_of_a_branch_still_have_is_not_sent_again(awaited: bool) -> None:
    app = create_agent(answered(*["topic1"] * 5), [searching()], checkpointer=InMemorySaver())

    async def text_of(given: Any, config: Any = THREAD) -> str:
        state = await run(app, given, config, awaited=awaited)
        return tool_messages(state["messages"])[-1].text

    first = await text_of(asked("What is topic1?"))
    assert await text_of(asked("And again?")) == ABOVE
    start = next(one.config for one in app.get_state_history(THREAD) if len(one.values.get("messages", ())) == 1)
    assert await text_of(None, start) == first  # the branch hasn't read anything yet
    messages = app.get_state(THREAD).values["messages"]
    edited = tool_messages(messages)[-1].model_copy(update={"content": first[:-5]})
    app.update_state(THREAD, {"messages": [edited]})
    assert await text_of(asked("And again?")) == first  # under the label that it had
    messages = app.get_state(THREAD).values["messages"]
    app.update_state(THREAD, {"messages": [RemoveMessage(id=one.id) for one in messages]})
    assert await text_of(asked("And again?")) == first


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


# In a graph's state


class State(TypedDict):
    documents: Any
    query: str
    context: Any


class Annotated(State):
    context: Context  # type: ignore[misc]


@pytest.mark.parametrize("state", [State, Annotated])
def test_contexts_and_documents_go_through_a_checkpoint(silently: str, state: Any) -> None:
    """As plain data, or as they are, if LangGraph reads the types to know from the state."""
    if silently == "permissive" and state is Annotated:
        pytest.skip("LangGraph reads no types then")
    assembler = ContextAssembler(config=OPEN)
    context: Any = assembler.as_context()
    node = RunnableParallel(context=context if state is Annotated else context | Context.to_dict, documents=assembler)
    saver = InMemorySaver(serde=JsonPlusSerializer(allowed_msgpack_modules=None))
    app = StateGraph(state).add_node("assemble", node).add_edge(START, "assemble").compile(checkpointer=saver)
    given: Any = {"documents": found_of(0, 2), "query": "topic2"}
    app.invoke(given, THREAD)
    kept = app.get_state(THREAD).values
    assert isinstance(kept["context"], Context) is (state is Annotated)
    assert Context.from_dict(kept["context"]) == context.invoke(given)
    if state is State:
        assert kept["context"] == json.loads(json.dumps(kept["context"]))
    assert resolve("It is [1].", kept["documents"]).citations == ()
    assert resolve("It is [1].", kept["context"]).citations[0].source == "before.pdf"
