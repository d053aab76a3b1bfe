"""LlamaIndex's models as the engine asks them: functions from a prompt to an answer."""

from __future__ import annotations

from inspect import getattr_static
from typing import Any

from llama_index.core.base.llms.base import BaseLLM
from llama_index.core.base.llms.types import CompletionResponse
from llama_index.core.llms import CustomLLM

from ctxassembly.drivers.ask import reading


def model(llm: Any) -> Any:
    """A function that has `llm` complete a prompt if it is a LlamaIndex model; of a function, itself; of None, None."""
    if isinstance(llm, BaseLLM):
        return lambda prompt: llm.complete(prompt).text
    return None if llm is None else reading(llm, _text)


def async_model(llm: Any) -> Any:
    """The same, with `acomplete`, unless that is the one that stalls the loop while it completes."""
    if not isinstance(llm, BaseLLM) or _is_stalling(llm):
        return model(llm)

    async def ask(prompt: str) -> str:
        return (await llm.acomplete(prompt)).text

    return ask


def _is_stalling(llm: BaseLLM) -> bool:
    """Whether its `acomplete` is that of CustomLLM, which awaits nothing: no deadline would hold."""
    return getattr_static(type(llm), "acomplete") is getattr_static(CustomLLM, "acomplete")


def _text(answer: Any) -> Any:
    return answer.text if isinstance(answer, CompletionResponse) else answer
