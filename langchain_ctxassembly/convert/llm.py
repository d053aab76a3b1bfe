"""LangChain's models as the engine asks them: functions from a prompt to an answer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from langchain_core.messages import BaseMessage
from langchain_core.runnables import Runnable, RunnableConfig

from ctxassembly.runtime.services import reading


def model(llm: Any, config: Callable[[], RunnableConfig]) -> Any:
    """A function from a prompt to the answer of `llm`: a Runnable is invoked with what `config` returns then.

    None stays None.

    Of a message only the text is the answer, without blocks of reasoning and the like.
    """
    if isinstance(llm, Runnable):
        return lambda prompt: _text(llm.invoke(prompt, config()))
    return None if llm is None else reading(llm, _text)


def async_model(llm: Any, config: Callable[[], RunnableConfig]) -> Any:
    """The same, awaited."""
    if not isinstance(llm, Runnable):
        return model(llm, config)

    async def ask(prompt: str) -> Any:
        return _text(await llm.ainvoke(prompt, config()))

    return ask


def _text(answer: Any) -> Any:
    return str(answer.text) if isinstance(answer, BaseMessage) else answer
