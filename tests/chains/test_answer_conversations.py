"""Conversations of answer chains: with a checkpoint, a branch and two tenants both frameworks send the same prompts."""

from __future__ import annotations

import re
from typing import Annotated, Any, TypedDict

import pytest
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, StateGraph, add_messages
from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.base.llms.types import ChatMessage
from llama_index.core.memory import ChatMemoryBuffer
from llama_index.core.schema import NodeWithScore, TextNode

from chat_models import LlamaIndexModel, Prompt, Says, langchain_model
from ctxassembly import AssemblyConfig, Chunk, Conversation, MemoryIndex, RetrievalConfig, resolve
from ctxassembly.answering import AnswerConfig
from langchain_ctxassembly import ContextAssembler, answer_chain
from langchain_ctxassembly import ContextRetriever as LangChainRetriever
from llamaindex_ctxassembly import AnswerChatEngine, AnswerQueryEngine, ContextAssemblyPostprocessor
from llamaindex_ctxassembly import ContextRetriever as LlamaIndexRetriever

SAID = {
    "gastro": "Before a gastroscopy the patient may drink water until {} hours before it.",
    "sedation": "After sedation the patient may not drive for {} hours, after a gastroscopy too.",
    "parking": "Parking is free for {} hours, with the letter of the gastroscopy at hand.",
}
INDEX = MemoryIndex(
    [
        Chunk(f"{tenant}#{name}", f"{tenant}-{name}", text.format(hours), metadata={"tenant": tenant, "source": name})
        for tenant, hours in (("ann", "two"), ("bob", "nine"))
        for name, text in SAID.items()
    ]
)
RETRIEVAL, CONFIG = RetrievalConfig(strategy="keyword", limit=2), AnswerConfig(rewrite="off")
DRINK, DRIVE, PARK = "May I drink water?", "May I drive after sedation?", "Where is parking free?"
Prompts = list[list[str]]


def model_of(prompts: Prompts) -> Says:
    """A model that notes its prompts, and cites the first source of each."""

    def says(prompt: Prompt) -> str:
        prompts.append([text for _, text in prompt])
        label = re.findall(r"^\[(\d+)\] Source", prompts[-1][-1], re.MULTILINE)[0]
        return f"So it is [{label}]."

    return says


def langchain_chain(prompts: Prompts, **settings: Any) -> Any:
    assembler = ContextAssembler(config=AssemblyConfig(**settings))
    retriever = LangChainRetriever(INDEX, config=RETRIEVAL, assembler=assembler)
    return answer_chain(langchain_model(model_of(prompts)), retriever, CONFIG)


def llamaindex_engine(prompts: Prompts, **settings: Any) -> AnswerQueryEngine:
    postprocessor = ContextAssemblyPostprocessor(config=AssemblyConfig(**settings))
    retriever = LlamaIndexRetriever(INDEX, config=RETRIEVAL, postprocessor=postprocessor)
    return AnswerQueryEngine(LlamaIndexModel(says=model_of(prompts)), retriever, CONFIG)


class Fixed(BaseRetriever):
    """A retriever of the user's own."""

    def _retrieve(self, query_bundle: Any) -> list[NodeWithScore]:
        return [NodeWithScore(node=TextNode(text=SAID["parking"], metadata={"file_name": "parking.pdf"}))]


class State(TypedDict, total=False):
    messages: Annotated[list[AnyMessage], add_messages]
    conversation: dict[str, Any]
    has_bare_texts: bool


def graph(prompts: Prompts, **settings: Any) -> Any:
    chain = langchain_chain(prompts, **settings)

    def answer(state: State, config: RunnableConfig) -> dict[str, Any]:
        *history, question = state["messages"]
        given: dict[str, Any] = {"input": question.text, "chat_history": history}
        given["filter"] = {"tenant": config["configurable"]["tenant"]}
        if state.get("has_bare_texts"):
            given["conversation"] = state.get("conversation")
        output = chain.invoke(given)
        message = AIMessage(output["answer"]) if state.get("has_bare_texts") else output["message"]
        return {"messages": [message], "conversation": output["conversation"]}

    return StateGraph(State).add_node("answer", answer).add_edge(START, "answer").compile(InMemorySaver())


def through_langchain(tenant: str, turns: dict[str, list[str]], *, bare: bool, **settings: Any) -> dict[str, Prompts]:
    """The prompts of each branch: the second goes on from the checkpoint after the first question."""
    prompts: Prompts = []
    made, found = graph(prompts, **settings), {}
    config: Any = {"configurable": {"thread_id": tenant, "tenant": tenant}}
    for name, (first, *questions) in turns.items():
        prompts.clear()
        if not found:
            made.invoke({"messages": [HumanMessage(first)], "has_bare_texts": bare}, config)
            checkpoint = made.get_state(config).config
        branch = {"configurable": {**checkpoint["configurable"], "tenant": tenant}}
        for question in questions:
            state = made.invoke({"messages": [HumanMessage(question)]}, branch)
            branch = config
        found[name] = [*prompts]
        if not bare:
            check_citations(state["messages"], tenant)
    return found


def through_llamaindex(tenant: str, turns: dict[str, list[str]], *, bare: bool, **settings: Any) -> dict[str, Prompts]:
    prompts: Prompts = []
    engine, found = llamaindex_engine(prompts, **settings), {}
    filters = {"tenant": tenant}
    for name, (first, *questions) in turns.items():
        prompts.clear()
        if not found:
            chat = AnswerChatEngine(engine, filters=filters)
            response = chat.chat(first)
            saved, conversation = (
                [one.model_dump_json() for one in chat.chat_history],
                response.metadata["conversation"],
            )
        memory = ChatMemoryBuffer.from_defaults([ChatMessage.model_validate_json(one) for one in saved])
        if bare:
            memory.set([ChatMessage(content=one.content, role=one.role) for one in memory.get_all()])
        given = Conversation.from_dict(conversation) if bare else None
        chat = AnswerChatEngine(engine, memory, filters=filters, conversation=given)
        for question in questions:
            chat.chat(question)
        found[name] = [*prompts]
        check_citations(chat.chat_history, tenant)
    return found


def check_citations(messages: Any, tenant: str) -> None:
    """Every label of the conversation leads to one document of the tenant, whatever was cited in which turn."""
    cited = resolve(" ".join(str(message.content) for message in messages), messages)
    assert {one.document_id.partition("-")[0] for one in (*cited.citations, *cited.unused)} <= {tenant}


TURNS = {"first": [DRINK, DRIVE, DRINK], "branch": [DRINK, PARK, DRINK]}


@pytest.mark.parametrize("bare", [False, True], ids=["messages", "conversation"])
@pytest.mark.parametrize("settings", [{}, {"cite": "chunk"}, {"repeat": "always"}], ids=str)
def test_both_frameworks_send_the_same_prompts_in_each_branch_for_each_tenant(settings: Any, bare: bool) -> None:
    found: dict[str, dict[str, Prompts]] = {}
    for tenant, other in (("ann", "nine hours"), ("bob", "two hours")):
        found[tenant] = through_langchain(tenant, TURNS, bare=bare, **settings)
        assert through_llamaindex(tenant, TURNS, bare=bare, **settings) == found[tenant]
        assert other not in str(found[tenant])
        for branch in found[tenant].values():
            known: dict[str, str] = {}  # a label is of one source through all answers
            for prompt in branch:
                for label, source in re.findall(r"^\[(\d+)\] Source: (\w+)", prompt[-1], re.MULTILINE):
                    assert known.setdefault(label, source) == source
    ann, bob = (found[tenant] for tenant in ("ann", "bob"))
    assert str(ann).replace("two hours", "nine hours") == str(bob)


def test_a_conversation_that_is_set_up_goes_on_in_the_history() -> None:
    begun, every_hit = Conversation(next_label=7), AssemblyConfig(fill=True)
    assembler = ContextAssembler(config=every_hit, conversation=begun)
    retriever = LangChainRetriever(INDEX, config=RETRIEVAL, assembler=assembler)
    chain = answer_chain(langchain_model(model_of([])), retriever, CONFIG)
    postprocessor = ContextAssemblyPostprocessor(config=every_hit, conversation=begun)
    nodes = LlamaIndexRetriever(INDEX, config=RETRIEVAL, postprocessor=postprocessor)
    engine = AnswerQueryEngine(LlamaIndexModel(says=model_of([])), nodes, CONFIG)
    history: list[Any] = []
    messages: list[ChatMessage] = []
    for question, labels in ((DRINK, ["7", "8"]), (DRIVE, ["7", "8"]), (PARK, ["9"])):
        output: Any = chain.invoke({"input": question, "chat_history": history, "filter": {"tenant": "ann"}})
        history += [HumanMessage(question), output["message"]]
        run = engine.start_run(question, messages, filters={"tenant": "ann"})
        answer = run.answer()
        messages += [ChatMessage(content=question, role="user"), run.message(answer)]
        assert output["result"].context == answer.context
        assert sorted(one.label for one in answer.context.citations) == sorted(labels)
    assert Conversation.from_messages(history).next_label == 10


def test_contexts_of_two_conversations_are_joined_once() -> None:
    output = langchain_chain([]).invoke({"input": DRINK, "filter": {"tenant": "ann"}})
    conversation = Conversation.from_dict(output["conversation"])
    joined = Conversation(next_label=5).join(conversation).join(Conversation.from_messages([output["message"]]))
    assert joined == Conversation(conversation.sent, next_label=5)


def test_a_chat_engine_goes_on_after_answers_that_its_memory_does_not_have() -> None:
    first = llamaindex_engine([]).answer(DRINK, filters={"tenant": "ann"})
    given = {"postprocessor": ContextAssemblyPostprocessor(), "config": CONFIG, "conversation": first.conversation}
    chat = AnswerChatEngine.from_defaults(Fixed(), LlamaIndexModel(says=model_of([])), **given)
    assert chat.chat(PARK).source_nodes[0].metadata["citation"]["label"] == "3"
    assert chat.conversation.next_label == 4
    assert Conversation.from_dict(chat.conversation.to_dict()) == chat.conversation
    chat.reset()
    assert chat.conversation == Conversation()
