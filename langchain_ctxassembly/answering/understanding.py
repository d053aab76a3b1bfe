"""`understanding`: the step before retrieval by itself."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from langchain_core.runnables import Runnable, RunnableConfig, RunnableLambda

from ctxassembly.config.answering import AnswerConfig
from ctxassembly.data.retrieval import Understanding
from ctxassembly.runtime.answer import aunderstand, understand
from langchain_ctxassembly.answering.chat_model import AskedModel, check_model, checked_config, question_in
from langchain_ctxassembly.answering.run import exchanges_of, messages_of


def understanding(
    llm: Runnable[Any, Any], config: AnswerConfig | None = None, *, structured: bool = True
) -> Runnable[Any, Understanding]:
    """A runnable from `{"input": ..., "chat_history": ...}` to intent, rewritten question, filter and sub-questions.

    It asks for what `config` says, in one call, and not at all where there is nothing to ask. A call that fails, or an
    answer of the wrong form, leaves the question as it is, with a note. Arguments are those of `answer_chain`.

    >>> from ctxassembly import AnswerConfig, Intent
    >>> from langchain_core.language_models import FakeListChatModel
    >>> config = AnswerConfig(intents=(Intent("practical", "Parking."), Intent("care", "Treatments.")))
    >>> llm = FakeListChatModel(responses=['{"intent": "practical", "confidence": 0.9}'])
    >>> understanding(llm, config).invoke({"input": "Is parking free?"}).intent
    'practical'

    Raises:
        ConfigError: an argument has another type.
    """
    check_model("llm", llm)
    config = checked_config(config)

    def given(inputs: Any, run: RunnableConfig) -> Mapping[str, Any]:
        asked = question_in(inputs)
        history = exchanges_of(messages_of(inputs.get("chat_history")))
        return {"question": asked, "history": history, "model": AskedModel(llm, {}, structured, run), "config": config}

    def called(inputs: Any, config: RunnableConfig) -> Understanding:
        return understand(**given(inputs, config))

    async def awaited(inputs: Any, config: RunnableConfig) -> Understanding:
        return await aunderstand(**given(inputs, config))

    return RunnableLambda(called, awaited, name="understanding")
