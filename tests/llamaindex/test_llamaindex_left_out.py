"""The tool for what was left out in an agent of LlamaIndex: tests/adapters has what it does by itself."""

from __future__ import annotations

from typing import Any

import pytest
from llama_index.core.agent.workflow import FunctionAgent
from llama_index.core.base.llms.types import ChatMessage, TextBlock, ToolCallBlock
from llama_index.core.llms.mock import MockFunctionCallingLLM

from ctxassembly import AssemblyConfig, Chunk, Conversation, Hit, Labels, MemoryStore, assemble
from llamaindex_ctxassembly import ContextAssemblyPostprocessor, left_out_tool, resolve
from llamaindex_samples import TEXTS

pytestmark = [
    pytest.mark.filterwarnings("ignore::pydantic.warnings.PydanticDeprecatedSince20"),  # of LlamaIndex's own agents
    pytest.mark.filterwarnings("ignore::pydantic.warnings.PydanticDeprecatedSince211"),
]

CHUNKS = [
    Chunk(f"A#{at}", "A", text, at, metadata={"source": "valley.pdf", "page": at + 1}) for at, text in enumerate(TEXTS)
]
CONTEXT = assemble(
    [Hit(CHUNKS[index]) for index in (4, 0, 2, 6)], AssemblyConfig(granularity="chunk", max_tokens=60, cite="document")
)


def own_tool(**settings: Any) -> Any:
    config = AssemblyConfig(neighbors="unfiltered", window=0, cite="document")
    ours = ContextAssemblyPostprocessor(store=MemoryStore(CHUNKS), config=config, **settings)
    return left_out_tool(CONTEXT, postprocessor=ours)


async def test_an_agent_cites_what_it_asked_for() -> None:
    def respond(messages: Any, **_: Any) -> ChatMessage:
        if messages[-1].role.value == "tool":
            return ChatMessage(role="assistant", blocks=[TextBlock(text="They came back [1].")])
        call = ToolCallBlock(tool_call_id="1", tool_name="read_left_out", tool_kwargs={"words": "came back"})
        return ChatMessage(role="assistant", blocks=[call])

    llm = MockFunctionCallingLLM(response_generator=respond, is_chat_model=True)
    agent: Any = FunctionAgent(tools=[own_tool()], llm=llm, streaming=False)
    output = await agent.run("Who came back?")
    assert output.tool_calls[0].tool_output.content.startswith("[1] Source: valley.pdf, page 7\n")
    assert [(one.label, one.page) for one in resolve(output).citations] == [("1", 7)]


def test_labels_of_a_conversation_are_counted_on() -> None:
    assert own_tool(conversation=Conversation(labels=Labels(8))).call(words="came back").content.startswith("[8] ")
