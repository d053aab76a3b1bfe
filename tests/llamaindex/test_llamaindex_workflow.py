"""Workflows and agents: the assembling step, its events in a saved run, and tools whose sources are resolved."""

from __future__ import annotations

import json
from typing import Any

import pytest
from llama_index.core import VectorStoreIndex
from llama_index.core.agent.workflow import AgentWorkflow, FunctionAgent
from llama_index.core.base.llms.types import ChatMessage, TextBlock, ToolCallBlock
from llama_index.core.llms.mock import MockFunctionCallingLLM
from llama_index.core.schema import ImageNode, NodeWithScore, TextNode
from llama_index.core.tools import QueryEngineTool, RetrieverTool
from llama_index.core.workflow import Context as WorkflowContext
from llama_index.core.workflow import StartEvent, StopEvent, Workflow, step

from ctxassembly import AssemblyConfig, ConfigError, Context, Conversation, InputError, Labels
from llamaindex_ctxassembly import (
    AnswerQueryEngine,
    ContextAssemblyPostprocessor,
    ContextEvent,
    RetrievedEvent,
    add_assembly_step,
    resolve,
)
from llamaindex_samples import QUESTION, Answering, splitted

# They are about other things: nobody here has a filter.
pytestmark = [
    pytest.mark.filterwarnings("ignore::ctxassembly.FilterNotSeenWarning"),
    pytest.mark.filterwarnings("ignore::pydantic.warnings.PydanticDeprecatedSince20"),  # of LlamaIndex's own agents
    pytest.mark.filterwarnings("ignore::pydantic.warnings.PydanticDeprecatedSince211"),
]


@pytest.fixture
def index() -> VectorStoreIndex:
    return splitted()


def workflow_over(index: VectorStoreIndex, llm: Answering, **settings: Any) -> type[Workflow]:
    class Answered(Workflow):
        @step
        async def retrieve(self, event: StartEvent) -> RetrievedEvent:
            nodes = await index.as_retriever(similarity_top_k=4).aretrieve(event.question)
            return RetrievedEvent(nodes=nodes, query=event.question)

        @step
        async def answer(self, run: WorkflowContext, event: ContextEvent) -> StopEvent:
            await run.store.set("read", event)
            said = await llm.acomplete(
                "\n".join(one["content"] for one in event.context.to_messages(event.query or ""))
            )
            return StopEvent(result=event.context.resolve(said.text))

    add_assembly_step(Answered, ContextAssemblyPostprocessor.from_index(index, **settings))
    return Answered


async def test_a_step_assembles_what_another_has_retrieved(index: VectorStoreIndex) -> None:
    llm = Answering()
    resolved = await workflow_over(index, llm)().run(question=QUESTION)
    assert [citation.source for citation in resolved.citations] == ["tax.pdf", "dye.pdf"]
    nodes = index.as_retriever(similarity_top_k=4).retrieve(QUESTION)
    context = ContextAssemblyPostprocessor.from_index(index).context(nodes, QUESTION)
    assert context.text in llm.prompts[0]


async def test_a_saved_run_has_the_context_again(index: VectorStoreIndex) -> None:
    kind = workflow_over(index, Answering())
    workflow = kind()
    run = WorkflowContext(workflow)
    await workflow.run(question=QUESTION, ctx=run)
    saved = json.loads(json.dumps(run.to_dict()))
    again = WorkflowContext.from_dict(kind(), saved)
    event, before = await again.store.get("read"), await run.store.get("read")
    assert isinstance(event.context, Context)
    assert event.context == before.context
    assert event.context.resolve("By night [1].").citations[0].source == "tax.pdf"


async def test_the_step_has_the_name_that_is_free(index: VectorStoreIndex) -> None:
    class Own(Workflow):
        @step
        async def assemble(self, event: StartEvent) -> RetrievedEvent:
            return RetrievedEvent(nodes=await index.as_retriever().aretrieve(event.question), query=event.question)

        @step
        async def answer(self, event: ContextEvent) -> StopEvent:
            return StopEvent(result=event.context.text)

    with pytest.raises(Exception, match="assemble is already part of this workflow"):
        add_assembly_step(Own)
    add_assembly_step(Own, name="read")
    assert (await Own().run(question=QUESTION)).startswith("[1] Source: ")
    with pytest.raises(ConfigError, match="name must be the name of a step, an identifier, got 'my step'"):
        add_assembly_step(Own, name="my step")


def test_nodes_come_back_as_what_they_were() -> None:
    nodes = [
        NodeWithScore(node=TextNode(id_="t", text="Wool.", metadata={"page": 3}), score=0.5),
        NodeWithScore(node=ImageNode(id_="i", text="A loom.", image_path="/pictures/loom.png")),
    ]
    event = RetrievedEvent(nodes=nodes, query=QUESTION)
    again = RetrievedEvent.model_validate(json.loads(event.model_dump_json()))
    assert again.nodes == nodes
    assert [type(one.node) for one in again.nodes] == [TextNode, ImageNode]


class Row(TextNode):
    """A node of a caller's own, with a field more."""

    row: int = 0

    @classmethod
    def class_name(cls) -> str:
        return "Row"


def test_nodes_of_a_caller_s_own_class_come_back_too() -> None:
    event = RetrievedEvent(nodes=[NodeWithScore(node=Row(text="Drink water.", row=7))])
    (again,) = RetrievedEvent.model_validate(json.loads(event.model_dump_json())).nodes
    assert again.node == event.nodes[0].node


def test_what_is_no_workflow_and_what_is_no_context_is_an_error(index: VectorStoreIndex) -> None:
    with pytest.raises(ConfigError, match=r"^workflow must be a class of workflows, got"):
        add_assembly_step(workflow_over(index, Answering())())  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match=r"^postprocessor must be a ContextAssemblyPostprocessor or None, got"):
        add_assembly_step(Workflow, AssemblyConfig())  # type: ignore[arg-type]
    with pytest.raises(InputError):
        ContextEvent(context="[1] Source: a.pdf")


async def test_the_awaited_context_is_the_context(index: VectorStoreIndex) -> None:
    nodes = index.as_retriever(similarity_top_k=4).retrieve(QUESTION)
    postprocessor = ContextAssemblyPostprocessor.from_index(index)
    assert (await postprocessor.acontext(nodes, QUESTION)).text == postprocessor.context(nodes, QUESTION).text


# Agents


def scripted(*tools: str, answer: str) -> MockFunctionCallingLLM:
    """A model that calls each of `tools`, then answers."""

    def respond(messages: Any, **_: Any) -> ChatMessage:
        said = sum(message.role.value == "tool" for message in messages)
        if said >= len(tools):
            return ChatMessage(role="assistant", blocks=[TextBlock(text=answer)])
        call = ToolCallBlock(tool_call_id=f"call-{said}", tool_name=tools[said], tool_kwargs={"input": QUESTION})
        return ChatMessage(role="assistant", blocks=[call])

    return MockFunctionCallingLLM(response_generator=respond, is_chat_model=True)


def tools_of(index: VectorStoreIndex, labels: Labels | None) -> list[Any]:
    postprocessor = ContextAssemblyPostprocessor.from_index(index, conversation=labels and Conversation(labels=labels))
    engine = AnswerQueryEngine.from_args(
        index, Answering(says="By night [1]."), postprocessor=postprocessor, similarity_top_k=4
    )
    retriever = index.as_retriever(similarity_top_k=4)
    return [
        QueryEngineTool.from_defaults(engine, name="asked", description="Answers from the chronicle."),
        RetrieverTool.from_defaults(
            retriever, node_postprocessors=[postprocessor], name="found", description="Finds in the chronicle."
        ),
    ]


@pytest.mark.parametrize("multi", [False, True])
async def test_an_agent_s_answer_is_resolved_over_all_that_its_tools_found(
    index: VectorStoreIndex, multi: bool
) -> None:
    llm = scripted("asked", "found", answer="By night [1], and a tax [4].")
    agent: Any = FunctionAgent(tools=tools_of(index, Labels()), llm=llm, streaming=False)
    runner = AgentWorkflow(agents=[agent], root_agent=agent.name) if multi else agent
    output = await runner.run(QUESTION)
    assert str(output) == "By night [1], and a tax [4]."
    resolved = resolve(output)
    assert [(one.label, one.source) for one in resolved.citations] == [("1", "tax.pdf"), ("4", "dye.pdf")]
    assert [one.label for one in resolved.unused] == ["2", "3"]
    found = output.tool_calls[1].tool_output.content
    assert found.startswith("[3] Source: tax.pdf, page 1\n")
    assert "\n\n[4] Source: dye.pdf, page 1\n" in found


async def test_tools_that_found_the_same_need_no_common_labels(index: VectorStoreIndex) -> None:
    agent: Any = FunctionAgent(
        tools=tools_of(index, None), llm=scripted("asked", "found", answer="A tax [1]."), streaming=False
    )
    output = await agent.run(QUESTION)
    assert [one.source for one in resolve(output).citations] == ["tax.pdf"]


async def test_an_agent_that_used_no_tool_cites_nothing(index: VectorStoreIndex) -> None:
    agent: Any = FunctionAgent(tools=tools_of(index, None), llm=scripted(answer="Hello [1]."), streaming=False)
    assert resolve(await agent.run("Hello!")).unknown == ("1",)
