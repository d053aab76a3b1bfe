"""The model of an answer chain: requests of the engine, answered by a LangChain model."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import aclosing, closing
from dataclasses import dataclass
from typing import Any, cast

from langchain_core.messages import BaseMessage, convert_to_messages
from langchain_core.runnables import Runnable, RunnableConfig
from langchain_core.runnables.config import patch_config
from langchain_core.runnables.configurable import DynamicRunnable

from ctxassembly.answering.requests import AskModel, ModelReply
from langchain_ctxassembly.chain.checks import check_model
from langchain_ctxassembly.chain.models import limited
from langchain_ctxassembly.chain.models import structured as held_to

FINISH = ("finish_reason", "stop_reason", "done_reason", "reason")
"""The names under which providers tell the reason that an answer ended by; the last one is in `incomplete_details`."""


@dataclass(frozen=True)
class AskedModel:
    """The models of one run: each call is a run below it, named "understand" or "answer"."""

    llm: Runnable[Any, Any]
    models: Mapping[str, Runnable[Any, Any]]
    """Models by mode, in the place of `llm`."""
    structured: bool
    """True if models that can call tools are held to a schema."""
    config: RunnableConfig

    def ask(self, request: AskModel) -> ModelReply:
        """The reply to `request`."""
        llm, config = self._prepared(request)
        return reply_of(llm.invoke(_messages(request), config))

    async def aask(self, request: AskModel) -> ModelReply:
        """The same, awaited."""
        llm, config = self._prepared(request)
        return reply_of(await llm.ainvoke(_messages(request), config))

    def stream(self, request: AskModel) -> Iterator[ModelReply]:
        """The pieces of the reply. Closed before its end, the model's own stream is."""
        llm, config = self._prepared(request)
        with closing(cast(Any, llm.stream(_messages(request), config))) as pieces:
            for piece in pieces:
                yield reply_of(piece)

    async def astream(self, request: AskModel) -> AsyncIterator[ModelReply]:
        """The same, awaited."""
        llm, config = self._prepared(request)
        async with aclosing(cast(Any, llm.astream(_messages(request), config))) as pieces:
            async for piece in pieces:
                yield reply_of(piece)

    def _prepared(self, request: AskModel) -> tuple[Runnable[Any, Any], RunnableConfig]:
        """The model for `request`, and the config of its run."""
        llm, config = self.models.get(request.mode, self.llm), self.config
        if isinstance(llm, DynamicRunnable):  # configurable fields and alternatives, chosen by the config
            llm, config = llm.prepare(config)
        if request.schema and self.structured:
            llm = held_to(llm, request.schema)
        if request.max_tokens is not None:
            llm = limited(llm, request.max_tokens)
        return llm, patch_config(config, run_name=request.purpose)


def chat_model(llm: Runnable[Any, Any], *, structured: bool = True, config: RunnableConfig | None = None) -> AskedModel:
    """A chat model as the engine asks one: for `enrich`, or an `AnswerChain` over an index.

    >>> from ctxassembly import Chunk, MemoryIndex, enrich
    >>> from langchain_core.language_models import FakeListChatModel
    >>> notes = '{"summary": "On blood tests.", "chunks": [{"chunk": 1, "questions": ["When is iron tested?"]}]}'
    >>> index = MemoryIndex([Chunk("lab#0", "lab", "Ferritin is measured in the morning.", 0)])
    >>> enrich(index, chat_model(FakeListChatModel(responses=[notes])), progress=False).documents
    1

    Args:
        llm: a chat model, or another Runnable from messages to a message. Its retries and fallbacks are its own.
        structured: hold models that can call tools to the schema of what they are asked for.
        config: of its runs, such as callbacks and tags.

    Raises:
        ConfigError: `llm` is something else.
    """
    check_model("llm", llm)
    return AskedModel(llm, {}, structured, config or {})


def reply_of(answer: Any) -> ModelReply:
    """The reply in a message, a text, or a structured output with its raw message. Anything else stays as it is."""
    fields = None
    if isinstance(answer, Mapping) and isinstance(answer.get("raw"), BaseMessage):
        answer, fields = answer["raw"], answer.get("parsed")
    if not isinstance(answer, BaseMessage):
        return cast(ModelReply, ModelReply(answer) if isinstance(answer, str) else answer)
    usage = getattr(answer, "usage_metadata", None) or {}
    told = {**answer.response_metadata, **(answer.response_metadata.get("incomplete_details") or {})}
    return ModelReply(
        json.dumps(fields) if isinstance(fields, Mapping) else str(answer.text),
        next((str(told[name]) for name in FINISH if told.get(name)), None),
        usage.get("input_tokens"),
        usage.get("output_tokens"),
    )


def _messages(request: AskModel) -> list[BaseMessage]:
    return convert_to_messages([dict(message) for message in request.messages])
