"""Labels of an agent's contexts follow from the branch of the conversation that it is in, whatever ran before."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Annotated, Any, TypedDict

import pytest
from langchain.agents import create_agent
from langchain_core.documents import Document
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, ToolMessage
from langchain_core.tools import BaseTool
from langchain_core.vectorstores import InMemoryVectorStore
from langchain_text_splitters import RecursiveCharacterTextSplitter
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, StateGraph, add_messages
from langgraph.prebuilt import ToolNode
from pydantic import BaseModel

from agent_samples import run
from ctxassembly import AssemblyConfig, Context, resolve
from langchain_ctxassembly import (
    ContextAssembler,
    ContextChannel,
    context_node,
    context_tool,
)
from langchain_samples import WORDS, WordEmbeddings

pytestmark = pytest.mark.filterwarnings("ignore::ctxassembly.NothingToJoinWarning")  # an ordinary index: no numbers
TOPICS = ("drinking", "eating", "walking")
THREAD: Any = {"configurable": {"thread_id": "1"}}
CHUNKS = AssemblyConfig(neighbors="unfiltered", cite="chunk")


def store() -> InMemoryVectorStore:
    """An ordinary index: pages of a PDF, split, with ids of the store."""
    pages = [
        Document(
            " ".join(f"Rule {n} on {topic} is the {WORDS[n]}, says page {page}." for n in range(6)),
            metadata={"source": f"{topic}.pdf", "page": page},
        )
        for topic in TOPICS
        for page in (1, 2)
    ]
    splitter = RecursiveCharacterTextSplitter(chunk_size=120, chunk_overlap=0)
    made = InMemoryVectorStore(WordEmbeddings())
    made.add_documents(splitter.split_documents(pages))
    return made


STORE = store()


def searching(name: str = "search_documents", k: int = 3, **settings: Any) -> BaseTool:
    assembler = ContextAssembler(config=AssemblyConfig(neighbors="unfiltered", cite="chunk", **settings))
    return context_tool(STORE.as_retriever(search_kwargs={"k": k}), name, "Searches.", assembler=assembler)


class Model(GenericFakeChatModel):
    """Says what it is told to, whatever its tools are."""

    def bind_tools(self, tools: Any, **kwargs: Any) -> Any:
        return self


def calling(*queries: str, turn: str = "a", names: Sequence[str] = ()) -> AIMessage:
    calls: Any = [
        {"name": name, "args": {"query": query}, "id": f"{turn}-{n}", "type": "tool_call"}
        for n, (query, name) in enumerate(zip(queries, names or ["search_documents"] * len(queries), strict=True))
    ]
    return AIMessage("", tool_calls=calls)


def labels(messages: Sequence[Any]) -> list[list[int]]:
    """Those of each tool's context, in the order of the messages."""
    found = [Context.from_dict(one.artifact) for one in messages if isinstance(one, ToolMessage)]
    return [[int(citation.label) for citation in context.citations] for context in found]


def all_differ(found: Sequence[Sequence[int]]) -> bool:
    every = [label for one in found for label in one]
    return len(every) == len(set(every))


ASKED: Any = {"messages": [HumanMessage("What of drinking?")]}


@pytest.mark.parametrize("awaited", [False, True])
@pytest.mark.parametrize("interrupted", [False, True])
async def test_calls_at_once_share_no_label_whichever_tool_runs_first(awaited: bool, interrupted: bool) -> None:
    """Also of two tools, one at a time, and when each call is taken from a checkpoint."""
    tools = [searching(), searching("search_rules", k=2)]
    names = ["search_documents", "search_rules", "search_documents"]
    queries = [f"Rule {n} on {topic}" for n, topic in enumerate(TOPICS)]
    answers = [calling(*queries, names=names), *[AIMessage("Done.")] * 3]
    app = create_agent(
        Model(messages=iter(answers)),
        tools,
        checkpointer=InMemorySaver(),
        interrupt_before=["tools"] if interrupted else None,
    )
    config = {**THREAD, "max_concurrency": 1} if interrupted else THREAD
    state = await run(app, ASKED, config, awaited=awaited)
    if interrupted:
        state = await run(app, None, config, awaited=awaited)
    found = labels(state["messages"])
    assert sorted(map(len, found)) == [2, 3, 3]
    assert all_differ(found)
    assert min(min(one) for one in found) == 1
    assert resolve("All.", state["messages"], tools=["search"]).unused
    if not interrupted:
        before = next(one.config for one in app.get_state_history(THREAD) if one.next and one.next[0] == "tools")
        assert labels((await run(app, None, before, awaited=awaited))["messages"]) == found


class Chat(TypedDict):
    chat: Annotated[list[AnyMessage], add_messages]


class ChatModel(BaseModel):
    chat: Annotated[list[AnyMessage], add_messages]


@pytest.mark.parametrize("awaited", [False, True])
@pytest.mark.parametrize("state", [Chat, ChatModel])
async def test_messages_may_have_another_key(state: Any, awaited: bool) -> None:
    answers = iter(
        [
            calling("Rule 1 on drinking", "Rule 2 on eating"),
            calling("Rule 3 on walking", turn="b"),
            AIMessage("See [1]."),
            calling("Rule 5 on drinking, says page 2", turn="c"),
            AIMessage("See [2]."),
        ]
    )
    graph = StateGraph(state)
    graph.add_node("model", lambda _: {"chat": [next(answers)]})
    graph.add_node("tools", ToolNode([searching()], messages_key="chat"))
    graph.add_edge(START, "model").add_edge("tools", "model")

    def calls(given: Any) -> str:
        chat = given["chat"] if isinstance(given, dict) else given.chat
        return "tools" if chat[-1].tool_calls else END

    graph.add_conditional_edges("model", calls, ["tools", END])
    app = graph.compile(checkpointer=InMemorySaver())
    for question in ("What of drinking?", "What of walking?"):
        kept = await run(app, {"chat": [HumanMessage(question)]}, THREAD, awaited=awaited)
    found = labels(kept["chat"])
    assert len(found) == 4
    assert all_differ(found)
    assert found[2][0] == max(*found[0], *found[1]) + 1
    assert found[3][0] == found[2][-1] + 1
    texts = "".join(one.text for one in kept["chat"] if isinstance(one, ToolMessage))
    rules = re.findall(r"Rule .*?says page \d", texts)
    assert len(rules) == len(set(rules)) > 4


class Mixed(TypedDict):
    messages: Annotated[list[AnyMessage], add_messages]
    chat: Annotated[list[AnyMessage], add_messages]
    contexts: Annotated[list[Context], ContextChannel]
    query: str


def test_tools_and_nodes_of_one_state_count_on_after_each_other() -> None:
    """Contexts under a key of their own, messages under another."""
    graph = StateGraph(Mixed)
    node = context_node(
        STORE.as_retriever(search_kwargs={"k": 2}), assembler=ContextAssembler(config=CHUNKS), context="contexts"
    )
    graph.add_node("read", node)
    graph.add_node("ask", lambda _: {"chat": [calling("Rule 2 on eating")]})
    graph.add_node("tools", ToolNode([searching()], messages_key="chat"))
    graph.add_node("again", node)
    for one, two in ((START, "read"), ("read", "ask"), ("ask", "tools"), ("tools", "again")):
        graph.add_edge(one, two)
    state = graph.compile(checkpointer=InMemorySaver()).invoke({"query": "Rule 1 on drinking"}, THREAD)
    # The node finds the same text again: it is in no message, so it is sent again, under its labels. Of two contexts
    # that are the same, the state has one.
    (read,) = ([int(one.label) for one in context.citations] for context in state["contexts"])
    assert (read, labels(state["chat"])) == ([1, 2], [[3, 4, 5]])


def test_the_first_label_of_the_config_is_the_least() -> None:
    model = Model(messages=iter([calling("Rule 1 on drinking", "Rule 1 on eating"), AIMessage("Done.")]))
    state = create_agent(model, [searching(first_label=40)]).invoke(ASKED)
    assert sorted(label for one in labels(state["messages"]) for label in one) == [40, 41, 42, 43, 44, 45]
