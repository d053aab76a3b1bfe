"""A script as the engine's model, as a chat model of LangChain and as an LLM of LlamaIndex: the same prompt in each."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

from langchain_core.messages import AIMessageChunk
from langchain_core.runnables import RunnableGenerator
from llama_index.core.base.llms.types import ChatMessage, ChatResponse, LLMMetadata
from llama_index.core.llms import LLM

Prompt = list[tuple[str, str]]
"""The role and the text of each message."""
Says = Callable[[Prompt], str]


def engine_model(says: Says) -> Any:
    return lambda request: says([(message["role"], message["content"]) for message in request.messages])


def langchain_model(says: Says) -> Any:
    roles = {"system": "system", "human": "user", "ai": "assistant"}

    def pieces(given: Iterator[Any]) -> Iterator[AIMessageChunk]:
        for messages in given:
            text = says([(roles[message.type], message.content) for message in messages])
            yield from (AIMessageChunk(piece) for piece in re.findall(r".{1,5}", text, re.DOTALL))

    return RunnableGenerator(pieces)


class LlamaIndexModel(LLM):
    says: Any
    window: int = 100_000

    @property
    def metadata(self) -> LLMMetadata:
        return LLMMetadata(is_chat_model=True, context_window=self.window)

    def chat(self, messages: Any, **_: Any) -> ChatResponse:
        text = self.says([(message.role.value, message.content) for message in messages])
        return ChatResponse(message=ChatMessage(content=text, role="assistant"))

    async def achat(self, messages: Any, **_: Any) -> ChatResponse:
        return self.chat(messages)

    def stream_chat(self, messages: Any, **_: Any) -> Any:
        said = self.chat(messages).message
        return (
            ChatResponse(message=said, delta=piece) for piece in re.findall(r".{1,7}", said.content or "", re.DOTALL)
        )

    def complete(self, *_: Any, **__: Any) -> Any:
        raise NotImplementedError

    stream_complete = acomplete = astream_chat = astream_complete = complete
