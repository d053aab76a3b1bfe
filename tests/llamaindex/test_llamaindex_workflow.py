"""Workflows and agents: a step that assembles, its context in a saved run, and tools whose sources are resolved."""

from __future__ import annotations

import json
from typing import Any

import pytest
from llama_index.core import VectorStoreIndex
from llama_index.core.agent.workflow import AgentWorkflow, FunctionAgent
from llama_index.core.base.llms.types import ChatMessage, TextBlock, ToolCallBlock
from llama_index.core.base.response.schema import Response
from llama_index.core.llms.mock import MockFunctionCallingLLM
from llama_index.core.schema import NodeWithScore
from llama_index.core.tools import QueryEngineTool, RetrieverTool
from llama_index.core.workflow import Context as WorkflowContext
from llama_index.core.workflow import Event, StartEvent, StopEvent, Workflow, step

from ctxassembly import Context, Conversation, Labels
from llamaindex_ctxassembly import (
    AnswerQueryEngine,
    ContextAssemblyPostprocessor,
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


class Assembled(Event):
    """What a step of one's own hands on: nodes as objects, and the context as plain data."""

    nodes: list[NodeWithScore]
    context: dict[str, Any]


def workflow_over(index: VectorStoreIndex, llm: Answering) -> Workflow:
    postprocessor = ContextAssemblyPostprocessor.from_index(index)

    class Answered(Workflow):
        @step
        async def read(self, event: StartEvent) -> Assembled:
            found = await index.as_retriever(similarity_top_k=4).aretrieve(event.question)
            context = await postprocessor.acontext(found, event.question)
            nodes = await postprocessor.apostprocess_nodes(found, query_str=event.question)
            return Assembled(nodes=nodes, context=context.to_dict())

        @step
        async def write(self, run: WorkflowContext, event: Assembled) -> StopEvent:
            await run.store.set("read", event.context)
            said = await llm.acomplete("\n\n".join(node.text for node in event.nodes))
            return StopEvent(result=resolve(Response(said.text, event.nodes)))

    return Answered()


async def test_a_step_s_nodes_are_resolved_in_another_step(index: VectorStoreIndex) -> None:
    llm = Answering()
    resolved = await workflow_over(index, llm).run(question=QUESTION)
    assert [citation.source for citation in resolved.citations] == ["tax.pdf", "dye.pdf"]
    nodes = index.as_retriever(similarity_top_k=4).retrieve(QUESTION)
    assert llm.prompts == [ContextAssemblyPostprocessor.from_index(index).context(nodes, QUESTION).text]


async def test_a_saved_run_has_the_context_again(index: VectorStoreIndex) -> None:
    workflow = workflow_over(index, Answering())
    run = WorkflowContext(workflow)
    await workflow.run(question=QUESTION, ctx=run)
    saved = json.loads(json.dumps(run.to_dict()))
    again = WorkflowContext.from_dict(workflow_over(index, Answering()), saved)
    context = Context.from_dict(await again.store.get("read"))
    nodes = index.as_retriever(similarity_top_k=4).retrieve(QUESTION)
    assert context == ContextAssemblyPostprocessor.from_index(index).context(nodes, QUESTION)
    assert context.resolve("By night [1].").citations[0].source == "tax.pdf"


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
