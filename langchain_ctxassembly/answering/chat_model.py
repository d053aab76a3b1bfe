"""The model of an answer chain: requests of the engine, answered by a LangChain model."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import aclosing, closing
from dataclasses import dataclass
from functools import partial
from typing import Any, cast

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import BaseMessage, convert_to_messages
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import Runnable, RunnableConfig, RunnableWithFallbacks
from langchain_core.runnables.base import RunnableBindingBase
from langchain_core.runnables.config import patch_config
from langchain_core.runnables.configurable import DynamicRunnable

from ctxassembly.answering.cache import name_of
from ctxassembly.answering.requests import FINISH_KEYS, AskModel, ModelReply
from ctxassembly.errors import ConfigError, InputError
from ctxassembly.safe_repr import safe_repr
from ctxassembly.tokens.models import model_info


def check_model(name: str, llm: Any) -> None:
    """Check that `llm` is a runnable other than a retriever.

    Raises:
        ConfigError: `llm` is not a runnable, or is a retriever.
    """
    if not isinstance(llm, Runnable) or isinstance(llm, BaseRetriever):
        raise ConfigError(name, "a chat model, or another Runnable from messages to a message", llm)


def question_in(inputs: Any) -> str:
    """Return the question of an input: a text or a message under "input".

    Raises:
        InputError: the input has no question.
    """
    question = inputs.get("input") if isinstance(inputs, Mapping) else None
    question = str(question.text) if isinstance(question, BaseMessage) else question
    if not isinstance(question, str):
        forms = "{'input': '...'}, and may have 'chat_history', 'mode' and 'filter'"
        raise InputError(f"the input must be {forms}, got {safe_repr(inputs)}")
    return question


LIMIT_FIELDS = ("max_tokens", "max_output_tokens", "max_completion_tokens", "max_new_tokens", "num_predict")
"""The names that chat models give to the limit of an answer, in tokens."""
SCHEMA_NAME = "question"
"""The name of the schema, as models that call tools see it."""

# Fallbacks, retries and bindings can replace a chat model, but don't pass on its settings: `with_structured_output` of
# a retry returns a model without the retry. So the wrapper is kept, and the models inside it are replaced.


def _replace_models(
    llm: Runnable[Any, Any],
    change: Callable[[BaseChatModel], Runnable[Any, Any]],
    *,
    should_enter_bound: bool = True,
) -> Runnable[Any, Any]:
    replace_in = partial(_replace_models, change=change, should_enter_bound=should_enter_bound)
    if isinstance(llm, BaseChatModel):
        return change(llm)
    if isinstance(llm, RunnableWithFallbacks):
        fallbacks = [replace_in(one) for one in llm.fallbacks]
        return llm.model_copy(update={"runnable": replace_in(llm.runnable), "fallbacks": fallbacks})
    if isinstance(llm, RunnableBindingBase) and (should_enter_bound or not llm.kwargs):
        return llm.model_copy(update={"bound": replace_in(llm.bound)})
    return llm


def _limit_model(llm: BaseChatModel, max_tokens: int) -> BaseChatModel:
    name = next((name for name in LIMIT_FIELDS if name in type(llm).model_fields), None)
    return llm if name is None else llm.model_copy(update={name: max_tokens})


def _structure_model(llm: BaseChatModel, schema: Mapping[str, Any]) -> Runnable[Any, Any]:
    can_call_tools = type(llm).bind_tools is not BaseChatModel.bind_tools
    return llm.with_structured_output(dict(schema), include_raw=True) if can_call_tools else llm


@dataclass(frozen=True)
class AnswerModels:
    """The models of one run. Each call is a run below it, named "understand" or "answer"."""

    llm: Runnable[Any, Any]
    models: Mapping[str, Runnable[Any, Any]]
    """Models by mode, used instead of `llm`."""
    structured: bool
    """True if the output of models that can call tools is constrained to a schema."""
    config: RunnableConfig

    def ask(self, request: AskModel) -> ModelReply:
        """Return the reply to `request`."""
        llm, config = self._prepare_model(request)
        return reply_of(llm.invoke(_to_messages(request), config))

    async def aask(self, request: AskModel) -> ModelReply:
        """Async version of `ask`."""
        llm, config = self._prepare_model(request)
        return reply_of(await llm.ainvoke(_to_messages(request), config))

    def stream(self, request: AskModel) -> Iterator[ModelReply]:
        """Yield the pieces of the reply. Closing this generator closes the model's own stream."""
        llm, config = self._prepare_model(request)
        with closing(cast(Any, llm.stream(_to_messages(request), config))) as pieces:
            for piece in pieces:
                yield reply_of(piece)

    async def astream(self, request: AskModel) -> AsyncIterator[ModelReply]:
        """Async version of `stream`."""
        llm, config = self._prepare_model(request)
        async with aclosing(cast(Any, llm.astream(_to_messages(request), config))) as pieces:
            async for piece in pieces:
                yield reply_of(piece)

    @property
    def name(self) -> str:
        """The names of the models by mode, for the key of a cached answer."""
        return json.dumps({mode: self._names(llm) for mode, llm in {"": self.llm, **self.models}.items()})

    def _names(self, llm: Runnable[Any, Any]) -> list[str]:
        names: list[str] = []

        def add_name(model: BaseChatModel) -> BaseChatModel:
            names.append(f"{name_of(model)} {model._get_ls_params().get('ls_model_name')}")  # noqa: SLF001
            return model

        if isinstance(llm, DynamicRunnable):
            llm = llm.prepare(self.config)[0]
        _replace_models(llm, add_name)
        return names or [name_of(llm)]

    def window_for(self, mode: str) -> int | None:
        """Return the window of the model of `mode`, if its profile says it."""
        info = model_info(self.models.get(mode, self.llm))
        return info.window if info else None

    def _prepare_model(self, request: AskModel) -> tuple[Runnable[Any, Any], RunnableConfig]:
        """Return the model for `request`, and the config of its run."""
        llm, config = self.models.get(request.mode, self.llm), self.config
        if isinstance(llm, DynamicRunnable):  # configurable fields and alternatives, chosen by the config
            llm, config = llm.prepare(config)
        if request.schema and self.structured:
            # LangChain's structured output would lose bound arguments: a model that has some answers in text.
            schema = {"title": SCHEMA_NAME, "description": "A question, prepared for a search.", **request.schema}
            llm = _replace_models(llm, partial(_structure_model, schema=schema), should_enter_bound=False)
        if request.max_tokens is not None:
            llm = _replace_models(llm, partial(_limit_model, max_tokens=request.max_tokens))
        return llm, patch_config(config, run_name=request.purpose)


def chat_model(
    llm: Runnable[Any, Any], *, structured: bool = True, config: RunnableConfig | None = None
) -> AnswerModels:
    """Return a chat model in the form the engine calls: for `enrich`, or an `AnswerChain` over an index.

    >>> from ctxassembly import Chunk, MemoryIndex
    >>> from ctxassembly.enrichment import enrich
    >>> from langchain_core.language_models import FakeListChatModel
    >>> notes = '{"summary": "On blood tests.", "chunks": [{"chunk": 1, "questions": ["When is iron tested?"]}]}'
    >>> index = MemoryIndex([Chunk("lab#0", "lab", "Ferritin is measured in the morning.", 0)])
    >>> enrich(index, chat_model(FakeListChatModel(responses=[notes])), progress=False).documents
    1

    Args:
        llm: a chat model, or another Runnable from messages to a message. Its retries and fallbacks are its own.
        structured: True constrains the output of models that can call tools to the requested schema.
        config: the config of its runs, such as callbacks and tags.

    Raises:
        ConfigError: `llm` is not a runnable, or is a retriever.
    """
    check_model("llm", llm)
    return AnswerModels(llm, {}, structured, config or {})


def reply_of(answer: Any) -> ModelReply:
    """Return the reply in a message, a text, or a structured output with its raw message; anything else unchanged."""
    fields = None
    if isinstance(answer, Mapping) and isinstance(answer.get("raw"), BaseMessage):
        answer, fields = answer["raw"], answer.get("parsed")
    if not isinstance(answer, BaseMessage):
        return cast(ModelReply, ModelReply(answer) if isinstance(answer, str) else answer)
    usage = getattr(answer, "usage_metadata", None) or {}
    metadata = {**answer.response_metadata, **(answer.response_metadata.get("incomplete_details") or {})}
    return ModelReply(
        json.dumps(fields) if isinstance(fields, Mapping) else str(answer.text),
        next((str(metadata[name]) for name in FINISH_KEYS if metadata.get(name)), None),
        usage.get("input_tokens"),
        usage.get("output_tokens"),
    )


def _to_messages(request: AskModel) -> list[BaseMessage]:
    return convert_to_messages([dict(message) for message in request.messages])
