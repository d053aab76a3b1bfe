"""Several calls in one conversation: an agent's tool, a graph's state and its checkpoints."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from typing import Any, TypedDict

import pytest
from langchain.agents import create_agent
from langchain_core.documents import Document
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.runnables import RunnableParallel
from langchain_core.tools import create_retriever_tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.graph import END, START, StateGraph

from ctxassembly import AssemblyConfig, Context, Conversation, Labels, resolve
from ctxassembly.errors import InputError
from langchain_ctxassembly import ContextAssembler, ContextAssemblyRetriever
from langchain_samples import document, documents, memory_store, vector_store

# They are about other things: nobody here has a filter.
pytestmark = pytest.mark.filterwarnings("ignore::ctxassembly.FilterNotSeenWarning")

CORPUS = [*documents("A"), *documents("B"), *documents("C")]
HITS = [document("A", 5, score=0.9), document("B", 2), document("C", 7)]


class Model(GenericFakeChatModel):
    """Says what it is told to, whatever its tools are."""

    def bind_tools(self, tools: Any, **kwargs: Any) -> Any:
        return self


def calls(*queries: str) -> AIMessage:
    asked = [{"name": "search", "args": {"query": each}, "id": each, "type": "tool_call"} for each in queries]
    return AIMessage("", tool_calls=asked)


def agent(answers: list[AIMessage], labels: Any, **settings: Any) -> Any:
    retriever = ContextAssemblyRetriever.from_vectorstore(
        vector_store(CORPUS), hits=3, assembler=ContextAssembler(conversation=labels and Conversation(labels=labels))
    )
    tool = create_retriever_tool(retriever, "search", "Searches.", response_format="content_and_artifact")
    return create_agent(Model(messages=iter(answers)), [tool], **settings)


def test_without_labels_a_mistaken_answer_is_refused() -> None:
    state = agent([calls("falcon in A"), calls("ember in B"), AIMessage("It is [1].")], None).invoke(
        {"messages": [HumanMessage("What is what?")]}
    )
    with pytest.raises(InputError, match=r"label 1 refers to two sources, .* pass conversation="):
        resolve("It is [1].", state["messages"], tools=["search"])


def test_each_call_may_have_a_conversation_of_its_own() -> None:
    retriever = ContextAssemblyRetriever.from_vectorstore(vector_store(CORPUS), hits=2)

    def label(conversation: Conversation | None) -> int:
        return int(retriever.invoke("falcon", conversation=conversation)[0].metadata["citation"]["label"])

    first, second = Conversation(labels=Labels()), Conversation(labels=Labels(20))
    assert (label(first), label(second)) == (1, 20)
    assert 1 < label(first) < 20
    assert (label(None), label(None)) == (1, 1)


def test_k_counts_labels_wherever_they_begin() -> None:
    retriever = ContextAssemblyRetriever.from_vectorstore(
        vector_store(CORPUS), hits=9, assembler=ContextAssembler(conversation=Conversation(labels=Labels(5))), k=2
    )
    assert [each.metadata["citation"]["label"] for each in retriever.invoke("ember")] == ["5", "6"]


@pytest.mark.parametrize("given", [3, "conversation", Conversation, [Labels()]])
def test_a_wrong_conversation_is_an_error(given: Any) -> None:
    with pytest.raises(ValueError, match="conversation"):
        ContextAssembler(conversation=given)


# Of answers and what was read for them


def test_the_documents_of_several_chains_resolve_together() -> None:
    labels = Labels()
    assembler = ContextAssembler(store=memory_store(CORPUS), conversation=Conversation(labels=labels))
    first, second = assembler.invoke(HITS[:2]), assembler.invoke(HITS[2:])
    third = assembler.as_context().invoke({"documents": HITS, "supplement": "Facts."})
    answer = "One [1], two [3], three [6] and none [9]."
    resolved = resolve(answer, [first, second, third])
    assert [each.label for each in resolved.citations] == ["1", "3", "6"]
    assert resolved.unknown == ("9",)
    assert resolved.text == "One [1], two [2], three [3] and none [9]."
    assert resolved.citations[2] is third.citations[2]
    whole = Labels()
    context = (
        ContextAssembler(store=memory_store(CORPUS), conversation=Conversation(labels=whole))
        .as_context()
        .invoke(HITS[:2])
    )
    for field in (
        "label",
        "document_id",
        "chunk_ids",
        "span",
        "snippet",
        "score",
        "source",
        "page",
        "pages",
        "metadata",
    ):
        assert getattr(resolved.citations[0], field) == getattr(context.citations[0], field)


@pytest.mark.parametrize("sources", [3, "text", None, [Document("x"), "text"], {"messages": []}])
def test_what_holds_no_sources_is_an_error(sources: Any) -> None:
    with pytest.raises(InputError, match=r"sources must be contexts|a context can be made again"):
        resolve("It is [1].", sources)


# A graph's state


class State(TypedDict):
    documents: list[Document]
    query: str
    chat_history: list[Any]
    context: Any
    answer: str


def graph(node: Any, saver: Any = None, state: Any = State) -> Any:
    """Assembles, stops, and goes on with what the checkpoint has."""

    def answer(kept: Any) -> dict[str, str]:
        context = Context.from_dict(kept["context"])
        assert [each.source for each in context.sources()] == ["A.pdf", "B.pdf", "C.pdf"]
        return {"answer": f"Read {context.resolve('It is [2].').citations[0].source}."}

    made = StateGraph(state)
    made.add_node("assemble", node)
    made.add_node("answer", answer)
    made.add_edge(START, "assemble")
    made.add_edge("assemble", "answer")
    made.add_edge("answer", END)
    return made.compile(checkpointer=saver or InMemorySaver(), interrupt_before=["answer"])


@pytest.fixture
def unregistered(caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch) -> Callable[[], list[str]]:
    """What a checkpoint says of types that it doesn't know; it says each thing once in a process."""
    from langgraph.checkpoint.serde import jsonplus

    for name in ("_warned_unregistered_types", "_warned_blocked_types", "_warned_unreconstructable_types"):
        monkeypatch.setattr(jsonplus, name, set())
    caplog.set_level(logging.WARNING)
    return lambda: [each.getMessage() for each in caplog.records]


IN_ORDER = AssemblyConfig(order="documents")
THREAD: Any = {"configurable": {"thread_id": "1"}}
PUT: Any = {"documents": HITS, "query": "the falcon", "chat_history": [HumanMessage("Hello")]}


def test_a_context_goes_through_a_checkpoint_as_plain_data(unregistered: Callable[[], list[str]]) -> None:
    assembler = ContextAssembler(config=IN_ORDER, store=memory_store(CORPUS))
    app = graph(RunnableParallel(context=assembler.as_context() | Context.to_dict))
    app.invoke(PUT, THREAD)
    kept = app.get_state(THREAD).values["context"]
    assert kept == json.loads(json.dumps(kept))
    assert Context.from_dict(kept) == assembler.as_context().invoke(PUT)
    assert app.invoke(None, THREAD)["answer"] == "Read B.pdf."
    assert unregistered() == []


def test_a_context_itself_comes_back_whole_and_is_the_one_type_to_register(
    unregistered: Callable[[], list[str]],
) -> None:
    assembler = ContextAssembler(config=IN_ORDER, store=memory_store(CORPUS))
    app = graph(RunnableParallel(context=assembler.as_context()))
    app.invoke(PUT, THREAD)
    context, kept = assembler.as_context().invoke(PUT), app.get_state(THREAD).values["context"]
    assert isinstance(kept, Context)
    assert kept == context
    assert kept.hits == context.hits
    assert app.invoke(None, THREAD)["answer"] == "Read B.pdf."
    (warned,) = unregistered()
    assert "ctxassembly.context.Context" in warned


def test_where_types_have_to_be_known_the_states_annotation_makes_it_so(
    unregistered: Callable[[], list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """As under LANGGRAPH_STRICT_MSGPACK, which LangGraph says that it will make the default."""
    monkeypatch.setattr("langgraph._internal._serde.STRICT_MSGPACK_ENABLED", True)

    class Annotated(State):
        context: Context  # type: ignore[misc]

    saver = InMemorySaver(serde=JsonPlusSerializer(allowed_msgpack_modules=None))
    app = graph(RunnableParallel(context=ContextAssembler(config=IN_ORDER).as_context()), saver=saver, state=Annotated)
    app.invoke(PUT, THREAD)
    assert isinstance(app.get_state(THREAD).values["context"], Context)
    assert app.invoke(None, THREAD)["answer"] == "Read B.pdf."
    assert unregistered() == []


def test_documents_go_through_a_checkpoint_as_they_are(unregistered: Callable[[], list[str]]) -> None:
    app = graph(
        RunnableParallel(
            documents=ContextAssembler(config=IN_ORDER),
            context=ContextAssembler(config=IN_ORDER).as_context() | Context.to_dict,
        )
    )
    app.invoke(PUT, THREAD)
    kept = app.get_state(THREAD).values["documents"]
    assert [each.metadata["citation"]["label"] for each in kept] == ["1", "2", "3"]
    assert resolve("It is [3].", kept).citations == ()
    context = app.get_state(THREAD).values["context"]
    assert resolve("It is [3].", context).citations[0].source == "C.pdf"
    assert unregistered() == []


# The config of a call
