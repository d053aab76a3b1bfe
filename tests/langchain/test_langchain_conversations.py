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
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langchain_core.runnables import ConfigurableField, RunnableParallel
from langchain_core.tools import create_retriever_tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.graph import END, START, StateGraph

from ctxassembly import AssemblyConfig, Context, Conversation, Labels, resolve
from ctxassembly.errors import InputError
from langchain_ctxassembly import ContextAssembler, ContextAssemblyRetriever, context_tool, contexts_in
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


def labels_in(messages: list[Any]) -> list[list[str]]:
    """The labels of each tool message, of which its content shows the same."""
    found = []
    for each in messages:
        if isinstance(each, ToolMessage):
            own = [document.metadata["citation"]["label"] for document in each.artifact]
            assert all(f"[{label}] Source:" in str(each.content) for label in own)
            found.append(own)
    return found


async def test_a_tool_called_twice_gives_labels_of_its_own_to_each_call() -> None:
    answers = [calls("falcon in A"), calls("ember in B"), AIMessage("Done.")]
    state = agent(answers, Labels()).invoke({"messages": [HumanMessage("What is what?")]})
    first, second = labels_in(state["messages"])
    assert [*first, *second] == [str(number) for number in range(1, len(first) + len(second) + 1)]
    resolved = resolve(f"The falcon [1] is not the ember [{second[0]}].", state["messages"], tools=["search"])
    read = {each.metadata["citation"]["label"]: each for m in state["messages"] for each in getattr(m, "artifact", [])}
    assert [each.label for each in resolved.citations] == ["1", second[0]]
    assert resolved.text == "The falcon [1] is not the ember [2]."
    assert [each.best_chunk_id for each in resolved.citations] == [read["1"].id, read[second[0]].id]
    assert not resolved.unknown


@pytest.mark.parametrize("awaited", [True, False])
async def test_calls_at_the_same_time_have_labels_of_their_own(awaited: bool) -> None:
    graph = agent([calls("falcon", "ember", "willow", "copper"), AIMessage("Done.")], Labels())
    given = {"messages": [HumanMessage("What is what?")]}
    state = await graph.ainvoke(given) if awaited else graph.invoke(given)
    found = [label for own in labels_in(state["messages"]) for label in own]
    assert len(found) == len(set(found)) > 4
    assert len(resolve("All.", state["messages"], tools=["search"]).unused) == len(found)


def test_without_labels_a_mistaken_answer_is_refused() -> None:
    state = agent([calls("falcon in A"), calls("ember in B"), AIMessage("It is [1].")], None).invoke(
        {"messages": [HumanMessage("What is what?")]}
    )
    with pytest.raises(InputError, match=r"label 1 refers to two sources, .* pass conversation="):
        resolve("It is [1].", state["messages"], tools=["search"])


def test_a_conversation_goes_on_where_its_messages_end() -> None:
    """As in another process, which has no more of it than its messages, each with its context."""
    saver = InMemorySaver()
    thread: Any = {"configurable": {"thread_id": "1"}}

    def search_agent(answers: list[AIMessage], labels: Labels) -> Any:
        retriever = ContextAssemblyRetriever.from_vectorstore(
            vector_store(CORPUS), hits=3, assembler=ContextAssembler(conversation=Conversation(labels=labels))
        )
        tool = context_tool(retriever, "search", "Searches.")
        return create_agent(Model(messages=iter(answers)), [tool], checkpointer=saver)

    search_agent([calls("falcon in A"), AIMessage("The falcon [2].")], Labels()).invoke(
        {"messages": [HumanMessage("What is a falcon?")]}, thread
    )
    before = search_agent([], Labels()).get_state(thread).values["messages"]
    again = search_agent(
        [calls("ember in B"), AIMessage("Done.")], Labels(Conversation.from_messages(before, ["search"]).next_label)
    )
    state = again.invoke({"messages": [HumanMessage("And an ember?")]}, thread)
    kept = again.get_state(thread).values["messages"]
    first, second = contexts_in(kept, ["search"])
    last, next_one = first.citations[-1].label, second.citations[0].label
    assert int(next_one) > int(last)
    for messages in (kept, state["messages"]):
        resolved = resolve(f"The ember [{next_one}], as the falcon [{last}].", messages, tools=["search"])
        assert [each.label for each in resolved.citations] == [next_one, last]


def test_documents_of_a_tool_that_were_checkpointed_are_nobodys() -> None:
    saver = InMemorySaver()
    thread: Any = {"configurable": {"thread_id": "1"}}
    searching = agent([calls("falcon in A"), AIMessage("The falcon [1].")], Labels(), checkpointer=saver)
    state = searching.invoke({"messages": [HumanMessage("What is a falcon?")]}, thread)
    assert resolve("The falcon [1].", state["messages"]).citations
    kept = searching.get_state(thread).values["messages"]
    with pytest.warns(UserWarning, match="come from a checkpoint"):
        assert resolve("The falcon [1].", kept).citations == ()
    assert Conversation.from_messages(kept).next_label == 1


def test_each_call_may_have_a_conversation_of_its_own() -> None:
    retriever = ContextAssemblyRetriever.from_vectorstore(vector_store(CORPUS), hits=2)

    def label(conversation: Conversation | None) -> int:
        return int(retriever.invoke("falcon", conversation=conversation)[0].metadata["citation"]["label"])

    first, second = Conversation(labels=Labels()), Conversation(labels=Labels(20))
    assert (label(first), label(second)) == (1, 20)
    assert 1 < label(first) < 20
    assert (label(None), label(None)) == (1, 1)


def test_labels_may_be_given_to_a_call_by_its_config() -> None:
    assembler: Any = ContextAssembler().configurable_fields(conversation=ConfigurableField(id="conversation"))
    config = {"configurable": {"conversation": Conversation(labels=Labels(7))}}
    assert [each.metadata["citation"]["label"] for each in assembler.invoke(HITS, config)] == ["7", "8", "9"]
    assert assembler.invoke(HITS)[0].metadata["citation"]["label"] == "1"


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


def test_documents_tell_as_much_of_an_answer_as_their_context() -> None:
    quoted = Document('The rule says "as in [2] above" of it.', metadata={"source": "rule.txt", "document_id": "R"})
    assembler = ContextAssembler()
    for form in ("numbered", "source", "xml", "grouped", "minimal"):
        assembler = ContextAssembler(config=AssemblyConfig(format=form))
        hits = [quoted, HITS[0]]
        context, found = assembler.as_context().invoke(hits), assembler.invoke(hits)
        for answer in ('It is "as in [2] above".', "No label.", "[1] and [2], [3].", ""):
            one, other = context.resolve(answer), resolve(answer, found)
            assert (one.text, one.unknown, one.is_unlabeled, one.marks) == (
                other.text,
                other.unknown,
                other.is_unlabeled,
                other.marks,
            )
            assert [each.label for each in one.citations] == [each.label for each in other.citations]


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


def test_so_does_one_of_pages_and_sections_without_an_index() -> None:
    """As PDF loaders and Markdown splitters leave them: what their offsets count in has a name."""
    pages = [
        Document("The desk opens.", metadata={"source": "a.pdf", "start_index": 0, "page": 3, "page_label": "iv"}),
        Document("At nine.", metadata={"source": "a.md", "start_index": 0, "Header 1": "Hours", "Header 2": "Sunday"}),
    ]
    context = ContextAssembler(config=IN_ORDER).as_context().invoke(pages)
    assert Context.from_dict(json.loads(json.dumps(context.to_dict()))) == context


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


def test_registered_it_comes_back_without_a_word(unregistered: Callable[[], list[str]]) -> None:
    saver = InMemorySaver(serde=JsonPlusSerializer(allowed_msgpack_modules=[Context]))
    app = graph(RunnableParallel(context=ContextAssembler(config=IN_ORDER).as_context()), saver=saver)
    app.invoke(PUT, THREAD)
    assert app.invoke(None, THREAD)["answer"] == "Read B.pdf."
    assert unregistered() == []


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


def test_where_unknown_types_are_blocked_what_is_left_still_makes_it_again() -> None:
    saver = InMemorySaver(serde=JsonPlusSerializer(allowed_msgpack_modules=None))
    app = graph(RunnableParallel(context=ContextAssembler(config=IN_ORDER).as_context()), saver=saver)
    app.invoke(PUT, THREAD)
    assert app.invoke(None, THREAD)["answer"] == "Read B.pdf."


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


def test_other_keys_of_an_input_pass_by() -> None:
    assembler = ContextAssembler()
    whole = {**PUT, "input": "x", "messages": [HumanMessage("Hello")], 3: object()}
    asked = {"documents": HITS, "query": "the falcon"}
    assert assembler.as_context().invoke(whole) == assembler.as_context().invoke(asked)


@pytest.mark.parametrize("given", [{"context": HITS, "input": "q"}, {}])
def test_an_input_without_documents_says_how_they_are_named(given: Any) -> None:
    with pytest.raises(InputError, match=r"'documents': itemgetter\('context'\)"):
        ContextAssembler().invoke(given)


def test_the_trace_stands_once_in_the_documents() -> None:
    corpus = documents(*"ABCDEFGHIJKLMNOPQRST", count=3)
    hits = [document(each, 1) for each in "ABCDEFGHIJKLMNOPQRST"]
    found = ContextAssembler(store=memory_store(corpus)).invoke(hits)
    assert len(found) == 20
    assert ["trace" in each.metadata for each in found] == [True] + 19 * [False]


# The config of a call


def test_as_context_keeps_the_tags_of_a_config() -> None:
    runs: list[Any] = []

    def told(run: Any) -> None:
        runs.append(run.tags)

    ContextAssembler().with_config(tags=["mine"]).as_context().with_listeners(on_start=told).invoke(HITS)  # type: ignore[attr-defined]
    assert runs == [["mine"]]
