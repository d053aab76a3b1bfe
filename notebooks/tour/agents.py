"""Stand-ins for models that search before they answer: each question is looked up once, then answered with a label."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from llama_index.core.base.llms.types import ChatMessage, TextBlock, ToolCallBlock
from llama_index.core.llms.mock import MockFunctionCallingLLM

_LABEL = re.compile(r"^\[(\d+)\] Source", re.MULTILINE)


class SearchingChatModel(BaseChatModel):
    """A LangChain model that calls the tool `search` with the question, then cites the first source of the result."""

    @property
    def _llm_type(self) -> str:
        return "searching"

    def bind_tools(self, tools: Any, **_: Any) -> Any:  # noqa: ARG002
        """Return the model itself: it calls one tool, whatever it is given."""
        return self

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,  # noqa: ARG002
        run_manager: CallbackManagerForLLMRun | None = None,  # noqa: ARG002
        **_: Any,
    ) -> ChatResult:
        last = messages[-1]
        if isinstance(last, HumanMessage):
            call = {"name": "search", "args": {"query": last.text}, "id": f"call-{len(messages)}", "type": "tool_call"}
            answer = AIMessage("", tool_calls=[call])
        else:
            answer = AIMessage(cite(last.text))
        return ChatResult(generations=[ChatGeneration(message=answer)])


def searching_llm() -> MockFunctionCallingLLM:
    """Return a LlamaIndex model that does the same."""

    def respond(messages: Sequence[ChatMessage], **_: Any) -> ChatMessage:
        last = messages[-1]
        if last.role.value == "user":
            block = ToolCallBlock(
                tool_call_id=f"call-{len(messages)}", tool_name="search", tool_kwargs={"query": last.content}
            )
            return ChatMessage(role="assistant", blocks=[block])
        return ChatMessage(role="assistant", blocks=[TextBlock(text=cite(last.content or ""))])

    return MockFunctionCallingLLM(response_generator=respond, is_chat_model=True)


def cite(read: str) -> str:
    """Return an answer that cites the first source of `read`."""
    label = _LABEL.search(read)
    return f"That is in [{label[1]}]." if label else "That is given above."
