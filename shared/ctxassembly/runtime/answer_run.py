"""One run of an answer chain, in the engine and in every adapter: the pipeline, driven by a model and evidence.

A chain holds `ChainParts` and starts an `AnswerRun` for each call. An adapter's subclass adds what only its framework
has: a span around each request, and the output in the framework's objects.
"""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator, Generator
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Generic, TypeVar

from ctxassembly.answering.answer import Answer, AnswerPiece
from ctxassembly.answering.cache import HiddenFilter, Reach, reach
from ctxassembly.answering.pipeline import Flow, answer_flow
from ctxassembly.answering.requests import AnswerCall
from ctxassembly.config.answering import AnswerConfig
from ctxassembly.errors import ConfigError
from ctxassembly.protocols import AnswerCache
from ctxassembly.runtime.answer_services import AnswerServices
from ctxassembly.runtime.driver import adrive_stream, drive_stream
from ctxassembly.user_warnings import WarnOnce

M = TypeVar("M")
E = TypeVar("E")


@dataclass(frozen=True)
class ChainParts(Generic[M, E]):
    """The model, evidence, settings and cache of an answer chain, shared by all of its runs."""

    model: M
    evidence: E
    config: AnswerConfig
    cache: AnswerCache | None
    warnings: WarnOnce = field(default_factory=WarnOnce)
    """Warns once if answers can't be cached."""


class AnswerRun:
    """One call of an answer chain, and the services that answer its requests."""

    def __init__(self, parts: ChainParts[Any, Any], call: AnswerCall, filter_remedy: str) -> None:
        """Prepare the run of `call`, without its date and reach.

        A cached answer keeps the labels it was given, so the cache is used only while the conversation has no labels.
        `filter_remedy` is the line to write if a filter can't be seen and the answer therefore can't be cached.

        Raises:
            InputError: the model is neither a function nor an object with `ask` or `aask`.
        """
        self._config = parts.config
        self._services = AnswerServices(parts.model, parts.evidence, parts.cache)
        call_reach = None
        if parts.cache is not None and (call.labels is None or call.labels.next == 1):
            call_reach = reach_of(parts.evidence, call.filter).warn(parts.warnings, filter_remedy)
        self.call = replace(call, today=today(), reach=call_reach)

    def events(self) -> Generator[AnswerPiece | Answer, None, None]:
        """Yield the pieces of the answer, then the answer."""
        with self._services:
            yield from drive_stream(self._flow(), self.ask, AnswerPiece)

    async def aevents(self) -> AsyncGenerator[AnswerPiece | Answer, None]:
        """Async version of `events`."""
        async with self._services:
            async for event in adrive_stream(self._flow(), self.aask, AnswerPiece):
                yield event

    def ask(self, request: Any) -> Any:
        """Return the reply to a request of the pipeline."""
        return self._services.ask(request)

    async def aask(self, request: Any) -> Any:
        """Async version of `ask`."""
        return await self._services.aask(request)

    def _flow(self) -> Flow:
        return answer_flow(self.call, self._config, time.perf_counter)


def reach_of(evidence: Any, filter: Any) -> Reach:
    """Return what a call with `filter` may read of `evidence`; without a `reach` of its own it may filter by itself."""
    if hasattr(evidence, "reach"):
        found: Reach = evidence.reach(filter)
        return found
    return reach(source=HiddenFilter(type(evidence).__name__, evidence))


def today() -> str:
    """Return the date, for words like "this year" in a question."""
    return datetime.now().astimezone().date().isoformat()


def check_answer_config(config: Any) -> AnswerConfig:
    """Return `config`, or the default settings for None.

    Raises:
        ConfigError: `config` is not an AnswerConfig.
    """
    if not (config is None or isinstance(config, AnswerConfig)):
        raise ConfigError("config", "an AnswerConfig or None", config)
    return config or AnswerConfig()
