"""LangChain's models as the engine asks them: functions from a prompt to an answer."""

from __future__ import annotations

from typing import Any

from langchain_core.messages import BaseMessage
from langchain_core.runnables import Runnable, RunnableConfig

from ctxassembly.drivers.ask import reading


def model(llm: Any, config: RunnableConfig) -> Any:
    """A function that invokes `llm` with `config`, if it is a Runnable; of a function, itself; of None, None.

    Of an answer that is a message its text counts: what blocks of reasoning and the like hold is no part of it.
    """
    if isinstance(llm, Runnable):
        return lambda prompt: _text(llm.invoke(prompt, config))
    return None if llm is None else reading(llm, _text)


def async_model(llm: Any, config: RunnableConfig) -> Any:
    """The same, with `ainvoke`."""
    if not isinstance(llm, Runnable):
        return model(llm, config)

    async def ask(prompt: str) -> Any:
        return _text(await llm.ainvoke(prompt, config))

    return ask


def _text(answer: Any) -> Any:
    return str(answer.text) if isinstance(answer, BaseMessage) else answer
