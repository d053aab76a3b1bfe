"""A LangChain model and a LlamaIndex LLM write the same notes as a function does."""

from __future__ import annotations

import json
from typing import Any

import pytest
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from llama_index.core.base.llms.types import CompletionResponse, LLMMetadata
from llama_index.core.llms import CustomLLM

from ctxassembly import ConfigError, MemoryIndex, RetrievalConfig, retrieve
from ctxassembly.answering import AskModel
from ctxassembly.enrichment import aenrich, enrich
from enrichment_samples import chunks, notes_on
from langchain_ctxassembly import chat_model as of_langchain
from llamaindex_ctxassembly import chat_model as of_llamaindex


def written(prompt: str) -> str:
    """The notes that a function gives, found by the last line of a prompt."""
    data = prompt[prompt.index('{"title"') :].split("\nassistant:", maxsplit=1)[0].strip()
    request = AskModel("enrich", ({"role": "user", "content": data},), 1.0)
    return json.dumps(notes_on(request), ensure_ascii=False)


class ChatModel(BaseChatModel):
    def _generate(self, messages: list[BaseMessage], *_: Any, **__: Any) -> ChatResult:
        usage = {"input_tokens": 100, "output_tokens": 10, "total_tokens": 110}
        message = AIMessage(written(str(messages[-1].content)), usage_metadata=usage)
        return ChatResult(generations=[ChatGeneration(message=message)])

    @property
    def _llm_type(self) -> str:
        return "scripted"


class Completing(CustomLLM):
    @property
    def metadata(self) -> LLMMetadata:
        return LLMMetadata()

    def complete(self, prompt: str, formatted: bool = False, **_: Any) -> CompletionResponse:
        return CompletionResponse(text=written(prompt))

    def stream_complete(self, *_: Any, **__: Any) -> Any:
        raise NotImplementedError


def results(index: MemoryIndex) -> list[Any]:
    hits = [
        retrieve(word, RetrievalConfig(strategy="keyword"), index=index).hits for word in ("labfrage1", "visitkontext2")
    ]
    return [[(hit.chunk.id, hit.score, hit.chunk.metadata) for hit in every] for every in hits]


@pytest.mark.parametrize("model", [of_langchain(ChatModel()), of_llamaindex(Completing())], ids=type)
@pytest.mark.parametrize("awaited", [False, True])
async def test_the_notes_are_the_same(model: Any, awaited: bool):
    expected, index = MemoryIndex(chunks()), MemoryIndex(chunks())
    enrich(expected, lambda request: json.dumps(notes_on(request)), progress=False)
    result = await aenrich(index, model, progress=False) if awaited else enrich(index, model, progress=False)
    assert (result.documents, result.failed) == (3, {})
    assert results(index) == results(expected)
    assert results(index)[0][0][0] == "lab#0"


@pytest.mark.parametrize("chat_model", [of_langchain, of_llamaindex])
def test_something_else_is_no_model(chat_model: Any):
    with pytest.raises(ConfigError, match="llm must be"):
        chat_model(lambda request: "")
