"""One run of an answer chain."""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from langchain_core.runnables import Runnable, RunnableConfig

from ctxassembly.answering.answer import Answer, AnswerPiece
from ctxassembly.answering.call import Call
from ctxassembly.answering.pipeline import Flow, answer_flow
from ctxassembly.config.answering import AnswerConfig
from ctxassembly.conversations.labels import Labels
from ctxassembly.integrations.messages import may_recall
from ctxassembly.integrations.metadata import Told, parts_of
from ctxassembly.protocols import AnswerCache
from ctxassembly.runtime.answer import today
from ctxassembly.runtime.answer_services import Answering
from ctxassembly.runtime.driver import astream_run, stream_run
from ctxassembly.user_warnings import Once
from langchain_ctxassembly.chain.asked import AskedModel
from langchain_ctxassembly.chain.asking import Asking, Source
from langchain_ctxassembly.chain.checks import question_in
from langchain_ctxassembly.chain.evidence import Evidence
from langchain_ctxassembly.chain.turns import exchanges_of, message_of, messages_of
from langchain_ctxassembly.convert.documents import document_of, documents_from

REMEDY = (
    "Give the filter as data, ContextAssembler(filter=...), or say neighbours='unfiltered' if every caller may read "
    "everything"
)


@dataclass(frozen=True)
class Parts:
    """The parts of a chain."""

    llm: Runnable[Any, Any]
    models: Mapping[str, Runnable[Any, Any]]
    structured: bool
    evidence: Evidence
    config: AnswerConfig
    cache: AnswerCache | None
    warned: Once = field(default_factory=Once)
    """The warning given that nothing is cached."""

    def asked(self, config: RunnableConfig) -> AskedModel:
        """The models of one run."""
        return AskedModel(self.llm, self.models, self.structured, config)


class Run:
    """One run: its call, and what answers it."""

    def __init__(self, parts: Parts, given: Any, config: RunnableConfig, *, streamed: bool) -> None:
        question, messages = question_in(given), messages_of(given.get("chat_history"))
        mode, condition = given.get("mode") or "normal", parts.evidence.filter_of(given.get("filter"))
        self.labels = Labels.after(messages)
        source, found = Source(parts.evidence, self.labels, config), None
        if may_recall(parts.cache, self.labels):
            found = source.reach(condition).warn(parts.warned, REMEDY)
        self.call = Call(question, exchanges_of(messages), mode, condition, today(), streamed, found, self.labels)
        self._settings = parts.config
        self._answering = Answering(parts.asked(config), source, parts.config, parts.cache)
        self._asking = Asking(self._answering, config)

    def events(self) -> Iterator[AnswerPiece | Answer]:
        """The pieces of the answer, and then the answer."""
        with self._answering:
            yield from stream_run(self._flow(), self._asking.ask, AnswerPiece)

    async def aevents(self) -> AsyncGenerator[AnswerPiece | Answer, None]:
        """The same, awaited."""
        async with self._answering:
            async for event in astream_run(self._flow(), self._asking.aask, AnswerPiece):
                yield event

    def output(self, answer: Answer) -> dict[str, Any]:
        """All of the output but the text."""
        told = Told(answer.context) if answer.context else None
        return {
            "input": self.call.question,
            "context": documents_from(told) if told else [],
            "documents": [document_of(hit) for hit in answer.hits],
            **parts_of(answer, told),
            "result": answer,
            "message": message_of(answer, self.labels),
        }

    def _flow(self) -> Flow:
        return answer_flow(self.call, self._settings, time.perf_counter)
