"""A conversation in an agent's memory: what it holds isn't sent again, what it lost is, and labels stay."""

from __future__ import annotations

from typing import Any

import pytest
from llama_index.core import VectorStoreIndex
from llama_index.core.agent.workflow import FunctionAgent
from llama_index.core.base.llms.types import ChatMessage, TextBlock, ToolCallBlock
from llama_index.core.llms.mock import MockFunctionCallingLLM
from llama_index.core.memory import ChatMemoryBuffer
from llama_index.core.schema import NodeWithScore
from llama_index.core.tools import RetrieverTool

from ctxassembly import AssemblyConfig, Conversation, MemoryIndex, RetrievalConfig
from ctxassembly.errors import ConfigError, InputError
from llamaindex_ctxassembly import AnswerQueryEngine, ContextAssemblyPostprocessor, ContextRetriever, MemoryConversation
from llamaindex_samples import TEXTS, Answering, WordEmbedding, document

pytestmark = [
    pytest.mark.filterwarnings("ignore::ctxassembly.FilterNotSeenWarning"),
    pytest.mark.filterwarnings("ignore::pydantic.warnings.PydanticDeprecatedSince20"),  # of LlamaIndex's own agents
    pytest.mark.filterwarnings("ignore::pydantic.warnings.PydanticDeprecatedSince211"),
]

NODES = [
    *document("A", TEXTS[:4], metadata={"file_name": "weavers.pdf"}),
    *document("B", TEXTS[4:], metadata={"file_name": "tax.pdf"}),
]
GIVEN_ABOVE = "The sources that were found are given above ([1])."


def found(*places: int) -> list[NodeWithScore]:
    return [NodeWithScore(node=NODES[place], score=1.0) for place in places]


def buffer(limit: int = 1_000) -> ChatMemoryBuffer:
    return ChatMemoryBuffer.from_defaults(token_limit=limit)


def tool_message(text: str) -> ChatMessage:
    return ChatMessage(role="tool", content=text, additional_kwargs={"tool_call_id": "1"})


def conversing(memory: Any, conversation: Conversation | None = None) -> ContextAssemblyPostprocessor:
    return ContextAssemblyPostprocessor(conversation=MemoryConversation(memory, conversation))


# By itself


TURNS = {
    (0, 1): f"[1] Source: weavers.pdf\n{TEXTS[0]} {TEXTS[1]}",
    (1, 2): f"[2] Source: weavers.pdf\n[1] continues above\n{TEXTS[2]}",
    (4,): f"[3] Source: tax.pdf\n{TEXTS[4]}",
    (1, 0): GIVEN_ABOVE,
}


def test_what_the_memory_holds_is_not_sent_again() -> None:
    memory = buffer()
    postprocessor = conversing(memory)
    for places, text in TURNS.items():
        context = postprocessor.context(found(*places))
        assert context.text == text
        memory.put(tool_message(context.text))


def test_what_the_memory_has_trimmed_comes_back_under_its_label() -> None:
    memory = buffer(limit=60)
    postprocessor = conversing(memory)
    first = postprocessor.context(found(0, 1))
    memory.put_messages([tool_message(first.text), ChatMessage(role="user", content="And then? " * 12)])
    assert first.text not in [message.content for message in memory.get()]
    assert (
        postprocessor.context(found(4, 0, 1)).text
        == f"[2] Source: tax.pdf\n{TEXTS[4]}\n\n[1] Source: weavers.pdf\n{TEXTS[0]} {TEXTS[1]}"
    )


def test_a_context_of_the_present_run_is_in_no_memory_yet_and_counts() -> None:
    memory = buffer()
    memory.put(ChatMessage(role="user", content="Who came?"))
    postprocessor = conversing(memory)
    first = postprocessor.context(found(0))
    assert postprocessor.context(found(0)).text == GIVEN_ABOVE
    # The run failed: its messages never reach the memory, and the next question does.
    memory.put(ChatMessage(role="user", content="Who came over the pass?"))
    assert postprocessor.context(found(0)).text == first.text


def test_a_saved_conversation_goes_on_in_another_process() -> None:
    memory = buffer()
    postprocessor = conversing(memory)
    memory.put(tool_message(postprocessor.context(found(0)).text))
    saved = postprocessor.conversation.conversation.to_dict()
    again = conversing(
        ChatMemoryBuffer.from_defaults(chat_history=memory.get_all(), token_limit=1_000), Conversation.from_dict(saved)
    )
    assert again.context(found(0)).text == GIVEN_ABOVE
    assert again.context(found(4)).text.startswith("[2] ")


def test_two_users_of_one_postprocessor_have_nothing_of_each_other() -> None:
    memories = {user: buffer() for user in ("ours", "theirs")}
    conversations = {user: MemoryConversation(memory) for user, memory in memories.items()}
    user = "ours"
    postprocessor = ContextAssemblyPostprocessor(conversation=lambda: conversations[user])
    memories["ours"].put(tool_message(postprocessor.context(found(0, 4)).text))
    assert postprocessor.context(found(0)).text == GIVEN_ABOVE
    user = "theirs"
    context = postprocessor.context(found(4))
    assert context.text == f"[1] Source: tax.pdf\n{TEXTS[4]}"
    assert context.earlier_citations == ()


def test_a_plain_conversation_is_a_value() -> None:
    first = ContextAssemblyPostprocessor().context(found(0))
    postprocessor = ContextAssemblyPostprocessor(conversation=Conversation().after(first))
    assert [postprocessor.context(found(0)).text for _ in range(2)] == [GIVEN_ABOVE] * 2
    repeating = ContextAssemblyPostprocessor(
        config=AssemblyConfig(repeat="always"), conversation=Conversation().after(first)
    )
    assert repeating.context(found(0)).text == first.text


def test_wrong_arguments_are_errors() -> None:
    with pytest.raises(ConfigError, match=r"^memory must be a LlamaIndex memory"):
        MemoryConversation([])  # type: ignore[arg-type]
    with pytest.raises(InputError, match=r"^conversation must be a Conversation"):
        MemoryConversation(buffer(), [])  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match=r"^conversation must be a MemoryConversation"):
        ContextAssemblyPostprocessor(conversation=buffer())
    with pytest.raises(InputError, match=r"^conversation must be a Conversation"):
        ContextAssemblyPostprocessor(conversation=lambda: 3).context(found(0))
    for parts in (
        (index().as_retriever(), conversing(buffer())),
        (
            ContextRetriever(
                MemoryIndex([]), config=RetrievalConfig(strategy="keyword"), postprocessor=conversing(buffer())
            ),
            None,
        ),
    ):
        with pytest.raises(
            ConfigError, match=r"^postprocessor.conversation must be a Conversation or None in an answer engine"
        ):
            AnswerQueryEngine(Answering(), parts[0], postprocessor=parts[1])


# In agents and engines


def scripted(*calls: tuple[str, dict[str, Any]]) -> MockFunctionCallingLLM:
    """A model that makes each of `calls`, then answers; the same in each run."""

    def respond(messages: Any, **_: Any) -> ChatMessage:
        last_question = max(at for at, message in enumerate(messages) if message.role.value == "user")
        done = sum(message.role.value == "tool" for message in messages[last_question:])
        if done >= len(calls):
            return ChatMessage(role="assistant", blocks=[TextBlock(text="It is said in [1].")])
        name, arguments = calls[done]
        block = ToolCallBlock(tool_call_id=f"{len(messages)}", tool_name=name, tool_kwargs=arguments)
        return ChatMessage(role="assistant", blocks=[block])

    return MockFunctionCallingLLM(response_generator=respond, is_chat_model=True)


def index() -> VectorStoreIndex:
    return VectorStoreIndex(NODES, embed_model=WordEmbedding())


def search_tool(postprocessor: ContextAssemblyPostprocessor) -> RetrieverTool:
    retriever = index().as_retriever(similarity_top_k=2)
    return RetrieverTool.from_defaults(
        retriever, node_postprocessors=[postprocessor], name="search", description="Searches."
    )


async def test_an_agent_with_a_memory_pays_once() -> None:
    memory = buffer(10_000)
    postprocessor = conversing(memory)
    call = ("search", {"input": "looms in the attics"})
    agent: Any = FunctionAgent(tools=[search_tool(postprocessor)], llm=scripted(call, call), streaming=False)
    outputs = [
        one.tool_output.content.strip()
        for _ in range(2)
        for one in (await agent.run("Where were the looms?", memory=memory)).tool_calls
    ]
    assert TEXTS[1] in outputs[0]
    assert [TEXTS[1] in output for output in outputs[1:]] == [False] * 3
    assert [output.startswith("The sources that were found are given above") for output in outputs[1:]] == [True] * 3
