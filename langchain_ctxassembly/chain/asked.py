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

from ctxassembly.chain.requests import AskModel, ModelReply
from langchain_ctxassembly.chain.models import limited, structured

FINISH = ("finish_reason", "stop_reason", "done_reason")
"""The names under which providers tell the reason that an answer ended by."""


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
        return reply_of(self._llm(request).invoke(_messages(request), self._config(request)))

    async def aask(self, request: AskModel) -> ModelReply:
        """The same, awaited."""
        return reply_of(await self._llm(request).ainvoke(_messages(request), self._config(request)))

    def stream(self, request: AskModel) -> Iterator[ModelReply]:
        """The pieces of the reply. Closed before its end, the model's own stream is."""
        pieces = cast(Any, self._llm(request).stream(_messages(request), self._config(request)))
        with closing(pieces):
            for piece in pieces:
                yield reply_of(piece)

    async def astream(self, request: AskModel) -> AsyncIterator[ModelReply]:
        """The same, awaited."""
        pieces = cast(Any, self._llm(request).astream(_messages(request), self._config(request)))
        async with aclosing(pieces):
            async for piece in pieces:
                yield reply_of(piece)

    def _llm(self, request: AskModel) -> Runnable[Any, Any]:
        llm = self.models.get(request.mode, self.llm)
        if request.schema and self.structured:
            llm = structured(llm, request.schema)
        return llm if request.max_tokens is None else limited(llm, request.max_tokens)

    def _config(self, request: AskModel) -> RunnableConfig:
        return patch_config(self.config, run_name=request.purpose)


def reply_of(answer: Any) -> ModelReply:
    """The reply in a message, a text, or a structured output with its raw message. Anything else stays as it is."""
    fields = None
    if isinstance(answer, Mapping) and isinstance(answer.get("raw"), BaseMessage):
        answer, fields = answer["raw"], answer.get("parsed")
    if not isinstance(answer, BaseMessage):
        return cast(ModelReply, ModelReply(answer) if isinstance(answer, str) else answer)
    usage = getattr(answer, "usage_metadata", None) or {}
    told = answer.response_metadata
    return ModelReply(
        json.dumps(fields) if isinstance(fields, Mapping) else str(answer.text),
        next((str(told[name]) for name in FINISH if told.get(name)), None),
        usage.get("input_tokens"),
        usage.get("output_tokens"),
    )


def _messages(request: AskModel) -> list[BaseMessage]:
    return convert_to_messages([dict(message) for message in request.messages])
