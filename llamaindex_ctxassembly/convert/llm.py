"""LlamaIndex's models as the engine asks them: functions from a prompt to an answer."""

from __future__ import annotations

from inspect import getattr_static
from typing import Any

from llama_index.core.base.llms.base import BaseLLM
from llama_index.core.base.llms.types import CompletionResponse
from llama_index.core.llms import CustomLLM

from ctxassembly.runtime.services import reading


def model(llm: Any) -> Any:
    """A function from a prompt to the answer of `llm`: a LlamaIndex model completes it; None stays None."""
    if isinstance(llm, BaseLLM):
        return lambda prompt: llm.complete(prompt).text
    return None if llm is None else reading(llm, _text)


def async_model(llm: Any) -> Any:
    """The same, awaited. A model whose `acomplete` would block the event loop is called in a thread instead."""
    if not isinstance(llm, BaseLLM) or is_stalling(llm):
        return model(llm)

    async def ask(prompt: str) -> str:
        return (await llm.acomplete(prompt)).text

    return ask


def is_stalling(llm: BaseLLM) -> bool:
    """True if its `acomplete` is that of CustomLLM, which awaits nothing, so that no deadline would hold."""
    return getattr_static(type(llm), "acomplete") is getattr_static(CustomLLM, "acomplete")


def _text(answer: Any) -> Any:
    return answer.text if isinstance(answer, CompletionResponse) else answer
