"""A graph of one's own: a node that assembles, and contexts in a state that checkpoints strictly."""

from __future__ import annotations

import operator
from dataclasses import dataclass
from typing import Annotated, Any

import pytest
from langchain_core.documents import Document
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import add_messages
from langgraph.types import Overwrite, Send
from pydantic import BaseModel
from typing_extensions import TypedDict

from agent_samples import assert_labels_count_on, index, may_read, pages, run, tenant_chunks
from ctxassembly import AssemblyConfig, Chunk, Context, Hit, MemoryIndex, RetrievalConfig, resolve
from ctxassembly import Conversation as SentConversation
from ctxassembly.errors import ConfigError, InputError
from langchain_ctxassembly import (
    ContextAssembler,
    ContextAssemblyRetriever,
    ContextChannel,
    ContextRetriever,
    VectorStoreNeighbors,
    context_node,
)
from langchain_samples import WORDS

pytestmark = pytest.mark.filterwarnings("ignore::ctxassembly.NothingToJoinWarning")

THREAD: Any = {"configurable": {"thread_id": "1"}}
BEFORE, AFTER = pages("before.pdf"), pages("after.pdf")
RETRIEVER = index(*BEFORE, *AFTER).as_retriever(search_kwargs={"k": 3})


class Conversation(TypedDict):
    messages: Annotated[list[AnyMessage], add_messages]
    contexts: Annotated[list[Context], ContextChannel]


class One(TypedDict):
    query: str
    documents: list[Document]
    context: Annotated[Context, ContextChannel]


def chatting(node: Any, saver: Any, state: Any = Conversation) -> Any:
    """Searches, stops, and answers with what the checkpoint has."""

    def answer(kept: Any) -> Any:
        context = kept["contexts"][-1]
        assert isinstance(context, Context)
        return {"messages": [AIMessage(f"It is [{context.citations[0].label}].")]}

    made = StateGraph(state).add_node("search", node).add_node("answer", answer)
    made.add_edge(START, "search").add_edge("search", "answer").add_edge("answer", END)
    return made.compile(checkpointer=saver, interrupt_before=["answer"])


@pytest.mark.parametrize("awaited", [True, False])
async def test_contexts_of_a_conversation_come_back_as_contexts(silently: str, awaited: bool) -> None:
    graph = chatting(context_node(RETRIEVER, context="contexts"), InMemorySaver())
    for question in ("What is topic1?", "And topic3?"):
        await run(graph, {"messages": [HumanMessage(question)]}, awaited=awaited, config=THREAD)
        kept = graph.get_state(THREAD).values["contexts"]
        assert all(isinstance(each, Context) for each in kept)
        assert kept[-1].query == question
        await run(graph, None, awaited=awaited, config=THREAD)
    kept = graph.get_state(THREAD).values
    assert len(kept["contexts"]) == 2
    assert_labels_count_on(kept["contexts"])
    resolved = resolve(kept["messages"][-1].text, kept["contexts"])
    assert [each.label for each in resolved.citations] == [kept["contexts"][1].citations[0].label]


@pytest.mark.parametrize("awaited", [True, False])
async def test_the_last_context_alone_may_be_kept(silently: str, awaited: bool) -> None:
    by_document = ContextAssembler(config=AssemblyConfig(cite="document"))
    made = StateGraph(One).add_node("assemble", context_node(by_document)).add_edge(START, "assemble")
    graph = made.compile(checkpointer=InMemorySaver())
    for number, hits in enumerate((BEFORE[:2], AFTER[:3])):
        given = {"query": "What is topic1?", "documents": hits}
        state = await run(graph, given, awaited=awaited, config=THREAD)
        context = graph.get_state(THREAD).values["context"]
        assert context == state["context"]
        assert (context.citations[0].label, context.citations[0].source) == (
            str(number + 1),
            hits[0].metadata["source"],
        )


# Branches side by side, and graphs in graphs


class Mapped(TypedDict):
    query: str
    parts: list[str]
    found: Annotated[list[list[Document]], operator.add]
    context: Annotated[Context, ContextChannel]


def search_part(given: Any) -> Any:
    return {"found": [RETRIEVER.invoke(given["part"])]}


def mapped(saver: Any = None) -> Any:
    made = StateGraph(Mapped).add_node("search", search_part)
    made.add_node("assemble", context_node(ContextAssembler(), documents="found"))
    made.add_conditional_edges(START, lambda state: [Send("search", {"part": each}) for each in state["parts"]])
    made.add_edge("search", "assemble")
    return made.compile(checkpointer=saver)


@pytest.mark.parametrize("awaited", [True, False])
async def test_what_branches_found_side_by_side_is_one_context(silently: str, awaited: bool) -> None:
    given = {"query": "What are topic1 and topic4?", "parts": ["topic1 before1", "topic4 after4", "topic1"]}
    graph = mapped(InMemorySaver())
    await run(graph, given, awaited=awaited, config=THREAD)
    context = graph.get_state(THREAD).values["context"]
    assert isinstance(context, Context)
    assert context.text.count("Page 1 of before.pdf") == context.text.count("Page 4 of after.pdf") == 1
    labels = [each.label for each in context.citations]
    assert labels == [str(number) for number in range(1, len(labels) + 1)]
    # Fused by rank: the best of each branch is among the first, whatever branch wrote first.
    best = [RETRIEVER.invoke(part)[0].id for part in given["parts"][:2]]
    ranked = sorted(context.trace.decisions, key=lambda each: each.rank)
    assert set(best) <= {each.chunk_id for each in ranked[:4]}


class Gathered(TypedDict):
    query: str
    parts: list[str]
    gathered: Annotated[list[Context], ContextChannel]
    context: Annotated[Context, ContextChannel]


def test_contexts_of_branches_become_one_with_labels_of_its_own(silently: str) -> None:
    """Each branch begins with label 1, since none sees the others."""
    search = context_node(RETRIEVER, query="part", context="gathered")
    made = StateGraph(Gathered).add_node("search", search)
    made.add_node("assemble", context_node(ContextAssembler(), documents="gathered"))
    made.add_conditional_edges(START, lambda state: [Send("search", {"part": each}) for each in state["parts"]])
    made.add_edge("search", "assemble")
    graph = made.compile(checkpointer=InMemorySaver())
    graph.invoke({"query": "What are both?", "parts": ["topic1 before1", "topic4 after4"]}, THREAD)
    kept = graph.get_state(THREAD).values
    assert [each.citations[0].label for each in kept["gathered"]] == ["1", "1"]
    labels = [each.label for each in kept["context"].citations]
    assert labels == [str(number) for number in range(1, len(labels) + 1)]
    assert kept["context"].text.count("Page 1 of before.pdf") == kept["context"].text.count("Page 4 of after.pdf") == 1


def test_contexts_may_be_written_over(silently: str) -> None:
    made = StateGraph(Conversation).add_node("forget", lambda state: {"contexts": Overwrite([])})
    made.add_edge(START, "forget")
    graph = made.compile(checkpointer=InMemorySaver())
    context = ContextAssembler().as_context().invoke(BEFORE[:1]).to_dict()
    assert graph.invoke({"messages": [], "contexts": [context]}, THREAD)["contexts"] == []
    assert graph.get_state(THREAD).values["contexts"] == []


# What a node searches with


@dataclass
class Typed:
    query: str
    documents: list[Document]


class Modeled(BaseModel):
    query: str
    documents: list[Document]


@pytest.mark.parametrize("state", [Typed, Modeled, dict])
def test_a_state_may_be_a_dataclass_or_a_model(state: Any) -> None:
    found = context_node(ContextAssembler()).invoke(state(query="topic1", documents=BEFORE[:1]))
    assert "topic0" in Context.from_dict(found["context"]).text


def test_hits_and_retrieved_are_evidence_as_well() -> None:
    hit = Hit(Chunk("a", "a", "Drink water."))
    index = MemoryIndex([hit.chunk])
    ours = ContextRetriever(index, config=RetrievalConfig(strategy="keyword"))
    for given in ([hit], [[hit], [hit]], ours.retrieve("water")):
        context = Context.from_dict(context_node(ContextAssembler()).invoke({"documents": given})["context"])
        assert context.text.count("Drink water.") == 1


@dataclass
class User:
    tenant: str


@pytest.mark.parametrize("awaited", [True, False])
@pytest.mark.parametrize("searches", [True, False])
async def test_a_users_filter_holds_for_hits_and_neighbors(awaited: bool, searches: bool) -> None:
    corpus = [one for tenant in ("ours", "theirs") for one in tenant_chunks(tenant)]
    store, config = index(*corpus), AssemblyConfig(window=2)
    neighbors = VectorStoreNeighbors(store, id_of=lambda document_id, at: f"{document_id}#{at}")
    source: Any = ContextAssembler(config=config, store=neighbors)
    if searches:
        source = ContextAssemblyRetriever.from_vectorstore(store, hits=1, assembler=source)
    node = context_node(source, filter=lambda runtime: may_read(runtime.context.tenant))
    graph: Any = StateGraph(One, context_schema=User).add_node("assemble", node).add_edge(START, "assemble").compile()
    for tenant in ("ours", "theirs"):
        given: Any = {"query": WORDS[4], "documents": [each for each in corpus if each.id == f"{tenant}-A#4"]}
        user = User(tenant)
        state = await graph.ainvoke(given, context=user) if awaited else graph.invoke(given, context=user)
        ids = {each.chunk_id for each in state["context"].trace.decisions if each.is_in_context}
        assert ids == {f"{tenant}-A#{at}" for at in (2, 4, 6)}


# Wrong arguments and states


OPEN_ENDED = ContextAssembler(conversation=SentConversation())


@pytest.mark.parametrize(
    ("source", "settings", "message"),
    [
        (3, {}, "retriever must be"),
        (OPEN_ENDED, {}, "assembler.conversation must be None here"),
        (ContextAssembler(), {"assembler": ContextAssembler()}, "assembler must be None with"),
        (RETRIEVER, {"filter": {"tenant": "ours"}}, "filter must be a function from the runtime"),
    ],
)
def test_wrong_arguments_are_an_error(source: Any, settings: Any, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        context_node(source, **settings)


@pytest.mark.parametrize("state", [{}, {"query": 3}])
def test_a_state_without_a_query_is_an_error(state: Any) -> None:
    with pytest.raises(InputError, match="the state must have a text under 'query', or a user's message"):
        context_node(RETRIEVER).invoke(state)


@pytest.mark.parametrize("given", ["text", ["text"], [[BEFORE[0], "text"]]])
def test_what_is_no_evidence_is_an_error(given: Any) -> None:
    with pytest.raises(InputError, match="what was found must be documents, hits or a context"):
        context_node(ContextAssembler()).invoke({"documents": given})


@pytest.mark.parametrize("given", [3, [3], {"no": "context"}])
def test_what_is_no_context_is_an_error(given: Any) -> None:
    graph = StateGraph(One).add_node("assemble", context_node(ContextAssembler())).add_edge(START, "assemble").compile()
    with pytest.raises(InputError, match=r"contexts must be of Context|a context must be as Context.to_dict"):
        graph.invoke({"query": "x", "documents": [], "context": given})
