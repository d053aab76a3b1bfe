"""Checks of what a chain is made of, and of what it is called with."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from langchain_core.messages import BaseMessage
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import Runnable

from ctxassembly.config.answering import AnswerConfig
from ctxassembly.errors import ConfigError, InputError
from ctxassembly.safe_repr import shown


def checked_config(config: Any) -> AnswerConfig:
    """The settings, the default ones for None.

    Raises:
        ConfigError: `config` is something else.
    """
    if not (config is None or isinstance(config, AnswerConfig)):
        raise ConfigError("config", "an AnswerConfig or None", config)
    return config or AnswerConfig()


def check_model(name: str, llm: Any) -> None:
    """Check that `llm` is a runnable, and no retriever.

    Raises:
        ConfigError: it isn't, or it is one.
    """
    if isinstance(llm, BaseRetriever):
        raise ConfigError(name, "a chat model", llm, ": write answer_chain(llm, retriever)")
    if not isinstance(llm, Runnable):
        raise ConfigError(name, "a chat model, or another Runnable from messages to a message", llm)


def question_in(given: Any) -> str:
    """The question of an input: a text, or a message under "input".

    Raises:
        InputError: there is none.
    """
    question = given.get("input") if isinstance(given, Mapping) else None
    question = str(question.text) if isinstance(question, BaseMessage) else question
    if not isinstance(question, str):
        forms = "{'input': '...'}, and may have 'chat_history', 'mode' and 'filter'"
        raise InputError(f"the input must be {forms}, got {shown(given)}")
    return question
