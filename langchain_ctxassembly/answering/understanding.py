"""`understanding_chain`: only the step before retrieval."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from langchain_core.runnables import Runnable, RunnableConfig, RunnableLambda

from ctxassembly.config.answering import AnswerConfig
from ctxassembly.data.retrieval import QueryUnderstanding
from ctxassembly.runtime.answer import aunderstand, understand
from ctxassembly.runtime.answer_run import check_answer_config
from langchain_ctxassembly.answering.chat_model import AnswerModels, check_model, question_in
from langchain_ctxassembly.answering.run import exchanges_of, messages_of


def understanding_chain(
    llm: Runnable[Any, Any], config: AnswerConfig | None = None, *, structured: bool = True
) -> Runnable[Any, QueryUnderstanding]:
    """Return a runnable from `{"input": ..., "chat_history": ...}` to a `QueryUnderstanding`.

    The result has the intent, the rewritten question, the filter and the sub-questions that `config` requests. The
    model is called once, and not at all if `config` requests nothing. If the call fails, or the reply has the wrong
    form, the question stays unchanged, with a note. The arguments are the same as for `answer_chain`.

    >>> from ctxassembly.answering import AnswerConfig, Intent
    >>> from langchain_core.language_models import FakeListChatModel
    >>> config = AnswerConfig(intents=(Intent("practical", "Parking."), Intent("care", "Treatments.")))
    >>> llm = FakeListChatModel(responses=['{"intent": "practical", "confidence": 0.9}'])
    >>> understanding_chain(llm, config).invoke({"input": "Is parking free?"}).intent
    'practical'

    Raises:
        ConfigError: an argument has another type.
    """
    check_model("llm", llm)
    config = check_answer_config(config)

    def arguments(inputs: Any, run: RunnableConfig) -> Mapping[str, Any]:
        return {
            "question": question_in(inputs),
            "history": exchanges_of(messages_of(inputs.get("chat_history"))),
            "model": AnswerModels(llm, {}, structured, run),
            "config": config,
        }

    def run_understanding(inputs: Any, config: RunnableConfig) -> QueryUnderstanding:
        return understand(**arguments(inputs, config))

    async def arun_understanding(inputs: Any, config: RunnableConfig) -> QueryUnderstanding:
        return await aunderstand(**arguments(inputs, config))

    return RunnableLambda(run_understanding, arun_understanding, name="understanding")
