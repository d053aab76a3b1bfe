"""Workflows and agents: a step that assembles, its context in a saved run, and tools whose sources are resolved."""

from __future__ import annotations

from typing import Any

import pytest
from llama_index.core import VectorStoreIndex
from llama_index.core.agent.workflow import AgentWorkflow, FunctionAgent
from llama_index.core.base.llms.types import ChatMessage, TextBlock, ToolCallBlock
from llama_index.core.llms.mock import MockFunctionCallingLLM
from llama_index.core.tools import QueryEngineTool, RetrieverTool

from ctxassembly import Conversation, Labels
from llamaindex_ctxassembly import AnswerQueryEngine, ContextAssemblyPostprocessor, resolve
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
