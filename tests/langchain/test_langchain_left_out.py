"""The tool for what was left out in agents: tests/adapters has what it does by itself."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

import pytest
from langchain.agents import create_agent
from langchain_core.documents import Document
from langchain_core.messages import AIMessage
from langchain_core.runnables import RunnableLambda
from langgraph.checkpoint.memory import InMemorySaver

from agent_samples import (
    Scripted,
    asked,
    assert_labels_count_on,
    calls,
    pages,
    prompt_tokens,
    run,
    search,
    tool_messages,
)
from ctxassembly import AssemblyConfig, Context, TokenBudget, resolve
from langchain_ctxassembly import (
    ContextAssembler,
    ContextMiddleware,
    VectorStoreNeighbors,
    context_tool,
    contexts_in,
    left_out_tool,
)
from langchain_samples import WORDS, documents, memory_store, vector_store

CORPUS = documents("A", "B")
FIRST = AssemblyConfig(granularity="chunk", max_tokens=60, neighbors="unfiltered", window=0, cite="document")
THREAD: Any = {"configurable": {"thread_id": "1"}}


def assembler(**settings: Any) -> ContextAssembler:
    settings = {"neighbors": "unfiltered", "max_tokens": 300, "cite": "document"} | settings
    return ContextAssembler(config=AssemblyConfig(**settings), store=memory_store(CORPUS))


def call(name: str = "read_left_out", **wanted: Any) -> AIMessage:
    return AIMessage("", tool_calls=[{"name": name, "args": wanted, "id": f"call-{uuid4()}", "type": "tool_call"}])


def shown_ids(context: Context) -> list[str]:
    return [piece.candidate.chunk.id for passage in context.passages for piece in passage.pieces]


def searching_tool() -> Any:
    """A search that finds nine chunks, of which two have room."""
    options = {"k": 9, "filter": lambda found: found.metadata["source"] == "A.pdf"}
    retriever = vector_store(CORPUS).as_retriever(search_kwargs=options)
    return context_tool(retriever, "search", "Searches.", assembler=ContextAssembler(config=FIRST))


@pytest.mark.parametrize("awaited", [False, True])
async def test_in_an_agent_it_reads_the_contexts_of_the_state(awaited: bool) -> None:
    answer = AIMessage("It is said in [1], not in [2].")
    model = Scripted(calls(WORDS[0]), call(words=WORDS[7]), AIMessage("In [2]."), call(words=WORDS[7]), answer)
    tools = [searching_tool(), left_out_tool(assembler=assembler(window=0))]
    agent = create_agent(model, tools, checkpointer=InMemorySaver())
    for question in ("What of it?", "And again?"):  # the second turn comes from a checkpoint
        state = await run(agent, asked(question), THREAD, awaited=awaited)
    _, second, third = tool_messages(state["messages"])
    assert second.text.startswith("[1] Source: A.pdf\n")
    assert WORDS[7] in second.text
    assert third.text.startswith("Nothing that was left out matches.")  # it has been read since
    resolved = resolve(answer.text, state["messages"], tools=["search", "read_left_out"])
    assert [one.label for one in resolved.citations] == ["1"]


@pytest.mark.parametrize("awaited", [False, True])
async def test_the_middleware_assembles_it_within_what_is_left_of_the_window(awaited: bool) -> None:
    """A place was asked for: the question doesn't choose what of it is read."""
    window = 1_500
    model = Scripted(calls(WORDS[0]), call(label="1"), AIMessage("Done."))
    own = ContextAssembler(config=AssemblyConfig(neighbors="unfiltered"), store=memory_store(CORPUS))
    budget = TokenBudget(window=window, system=0, query=0, conversation=0, generation=500, buffer=100)
    tools = [search(vector_store(CORPUS).as_retriever(search_kwargs={"k": 1})), left_out_tool(assembler=own)]
    agent = create_agent(model, tools, middleware=[ContextMiddleware(own, budget=budget, tools=["search"])])
    state = await run(agent, asked("What? " * 180), awaited=awaited)
    assert [prompt_tokens(prompt, tools) <= window - 600 for prompt in model.prompts] == [True] * 3
    contexts = contexts_in(state["messages"], ["search"])
    assert [message.text for message in tool_messages(model.prompts[-1])] == [context.text for context in contexts]
    assert_labels_count_on(contexts)
    first, around = contexts
    assert (around.query, around.token_count < 200) == (None, True)
    assert not set(shown_ids(first)) & set(shown_ids(around))
    assert len(shown_ids(around)) > 1


@pytest.mark.filterwarnings("ignore::ctxassembly.NothingToJoinWarning")
def test_a_context_that_had_to_make_room_counts_as_left_out() -> None:
    corpus = [*pages("one.pdf", 3, 9), *pages("two.pdf", 3, 9)]
    own = ContextAssembler(config=AssemblyConfig(neighbors="unfiltered", fill=True), store=memory_store(corpus))
    tool = search(RunnableLambda(lambda query: corpus[:3] if query == "one" else corpus[3:]))
    budget = TokenBudget(window=1_000, system=0, query=0, conversation=0, generation=50, buffer=0)
    turns = [calls("one"), AIMessage("So [1]."), calls("two"), call(words="one1x5"), AIMessage("So [2].")]
    middleware = [ContextMiddleware(own, budget=budget, tools=["search"])]
    tools = [tool, left_out_tool(assembler=own)]
    agent = create_agent(Scripted(*turns), tools, middleware=middleware, checkpointer=InMemorySaver())
    for question in ("What of one?", "And two?"):
        messages = tool_messages(agent.invoke(asked(question), THREAD)["messages"])
    assert messages[0].text.startswith("Sources that were shown earlier")
    assert "budget: 1 earlier context left out from here on" in str(messages[1].artifact["trace"]["notes"])
    assert "Rule one1x5 asks" in messages[2].text


# Two tenants


def condition(tenant: str) -> Any:
    return lambda document: document.metadata["tenant"] == tenant


TENANTS = ("ours", "theirs")
SHARED = [
    one.model_copy(update={"id": f"{tenant}-{one.id}", "page_content": f"{tenant}: {one.page_content}"})
    for tenant in TENANTS
    for one in documents("A", tenant=tenant)
]


def shared_assembler(vectorstore: Any, **settings: Any) -> ContextAssembler:
    def names(document_id: str, index: int) -> list[str]:
        return [f"{tenant}-{document_id}#{index}" for tenant in TENANTS]

    store = VectorStoreNeighbors(vectorstore, id_of=names)
    return ContextAssembler(config=AssemblyConfig(window=0, max_tokens=1_000), store=store, **settings)


ARGUMENTS = [2024, 7.5, "2024"]


def said(text: Any, name: str = "said") -> Document:
    return Document(f"{text} is what it says.", id=name, metadata={"document_id": name, "source": f"{name}.pdf"})


@pytest.mark.parametrize("words", ARGUMENTS)
def test_the_words_of_a_model_may_be_any_json(words: Any) -> None:
    found = [said("The first year"), said(words, "other")]
    own = ContextAssembler(config=AssemblyConfig(max_tokens=22, window=0), store=memory_store(found))
    turns = [calls("the", name="leaflets"), call(words=words), AIMessage("So."), AIMessage("Hi.")]
    agent = create_agent(
        Scripted(*turns),
        [context_tool(RunnableLambda(lambda _: found), "leaflets", assembler=own), left_out_tool(assembler=own)],
        middleware=[ContextMiddleware(own)],
        checkpointer=InMemorySaver(),
    )
    agent.invoke(asked("?"), THREAD)
    _, message = tool_messages(agent.invoke(asked("Hello?"), THREAD)["messages"])
    assert message.text.endswith(f"{words} is what it says.")


# What was kept is never shown as it was kept


@pytest.mark.parametrize("has_middleware", [False, True])
@pytest.mark.parametrize("awaited", [False, True])
async def test_a_role_that_changes_inside_a_thread_changes_what_is_read(has_middleware: bool, awaited: bool) -> None:
    vectorstore = vector_store(SHARED)
    own = shared_assembler(vectorstore)
    role = {"tenant": "ours"}
    of_call: Any = {"filter": lambda _: condition(role["tenant"])}
    middleware = [ContextMiddleware(own, **of_call)] if has_middleware else []
    tools = [left_out_tool(assembler=own, **of_call)]
    retriever = vectorstore.as_retriever(search_kwargs={"k": 9, "filter": condition("ours")})
    first = context_tool(retriever, "search", "Searches.", assembler=ContextAssembler(config=FIRST))
    turns = [calls(WORDS[0]), AIMessage("So.")]
    for _ in range(2):
        turns += [call(document="A"), call(label="1"), call(), AIMessage("So.")]
    agent = create_agent(Scripted(*turns), [first, *tools], middleware=middleware, checkpointer=InMemorySaver())

    async def texts() -> list[str]:
        state = await run(agent, asked("?"), THREAD, awaited=awaited)
        return [message.text for message in tool_messages(state["messages"])]

    await texts()
    role["tenant"] = "theirs"
    forbidden = (await texts())[1:]
    assert not any("ours:" in text or "A.pdf" in text for text in forbidden)
    assert forbidden == ["Nothing that was left out matches."] * 3
    role["tenant"] = "ours"
    allowed = (await texts())[4:]
    assert "ours:" in allowed[0]
    assert "A.pdf" in allowed[0]
