"""The prompt cache of a provider: what an agent has sent stays byte for byte as it was, run after run."""

from __future__ import annotations

import asyncio
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from llama_index.core import VectorStoreIndex
from llama_index.core.agent.workflow import FunctionAgent
from llama_index.core.base.llms.types import ChatMessage, TextBlock, ToolCallBlock
from llama_index.core.llms.mock import MockFunctionCallingLLM
from llama_index.core.memory import ChatMemoryBuffer
from llama_index.core.tools import RetrieverTool

from ctxassembly import AssemblyConfig
from llamaindex_ctxassembly import ContextAssemblyPostprocessor, MemoryConversation, left_out_tool
from llamaindex_samples import TEXTS, WordEmbedding, document

pytestmark = [
    pytest.mark.filterwarnings("ignore::ctxassembly.FilterNotSeenWarning"),
    pytest.mark.filterwarnings("ignore::pydantic.warnings.PydanticDeprecatedSince20"),  # of LlamaIndex's own agents
    pytest.mark.filterwarnings("ignore::pydantic.warnings.PydanticDeprecatedSince211"),
]

INDEX = VectorStoreIndex(
    [
        *document("A", TEXTS[:4], metadata={"file_name": "weavers.pdf"}),
        *document("B", TEXTS[4:], metadata={"file_name": "tax.pdf"}),
    ],
    embed_model=WordEmbedding(),
)
SMALL = AssemblyConfig(max_tokens=60)

searches = st.builds(lambda text: ("search", {"input": text}), st.sampled_from(TEXTS))
requests = st.builds(
    lambda wanted: ("read_left_out", wanted),
    st.sampled_from([{}, {"words": "smugglers"}, {"document": "tax"}, {"label": "1"}, {"label": "40"}]),
)
runs = st.lists(st.lists(searches | requests, max_size=3), min_size=2, max_size=5)


async def prompts_of(runs: list[list[Any]], memory: ChatMemoryBuffer) -> list[list[tuple[str, str]]]:
    """Return the prompts of an agent, role and text of each message."""
    prompts: list[list[tuple[str, str]]] = []
    steps = iter([step for run in runs for step in (*run, None)])

    def respond(messages: Any, **_: Any) -> ChatMessage:
        prompts.append([(message.role.value, str(message.content)) for message in messages])
        step = next(steps)
        if step is None:
            return ChatMessage(role="assistant", blocks=[TextBlock(text="It is said in [1].")])
        call = ToolCallBlock(tool_call_id=f"call-{len(prompts)}", tool_name=step[0], tool_kwargs=step[1])
        return ChatMessage(role="assistant", blocks=[call])

    postprocessor = ContextAssemblyPostprocessor(config=SMALL, conversation=MemoryConversation(memory))
    first = postprocessor.context(await INDEX.as_retriever(similarity_top_k=4).aretrieve(TEXTS[0]), TEXTS[0])
    memory.put(ChatMessage(role="user", content=first.text))
    own = ContextAssemblyPostprocessor(config=SMALL, conversation=postprocessor.conversation, docstore=INDEX.docstore)
    search = RetrieverTool.from_defaults(
        INDEX.as_retriever(similarity_top_k=4),
        node_postprocessors=[postprocessor],
        name="search",
        description="Searches.",
    )
    agent: Any = FunctionAgent(
        tools=[search, left_out_tool(first, postprocessor=own)],
        llm=MockFunctionCallingLLM(response_generator=respond, is_chat_model=True),
        streaming=False,
    )
    for number, _ in enumerate(runs):
        await agent.run(f"Question {number}?", memory=memory)
    return prompts


@settings(max_examples=15, deadline=None)
@given(runs=runs)
def test_what_was_sent_is_never_changed_and_no_text_is_sent_twice(runs: list[list[Any]]) -> None:
    prompts = asyncio.run(prompts_of(runs, ChatMemoryBuffer.from_defaults(token_limit=100_000)))
    for first, second in pairwise(prompts):
        assert second[: len(first)] == first
    sent = "\n".join(text for _, text in prompts[-1])
    assert all(sent.count(text) <= 1 for text in TEXTS)


@settings(max_examples=15, deadline=None)
@given(runs=runs, limit=st.integers(150, 300))
def test_a_memory_that_trims_only_drops_from_the_beginning(runs: list[list[Any]], limit: int) -> None:
    prompts = asyncio.run(prompts_of(runs, ChatMemoryBuffer.from_defaults(token_limit=limit)))
    everything: list[tuple[str, str]] = []
    for prompt in prompts:
        known = next(at for at in range(len(everything) + 1) if prompt[: len(everything) - at] == everything[at:])
        new = prompt[len(everything) - known :]
        assert len(new) <= 2 or not everything  # an answer or a call, and what follows it
        everything += new
