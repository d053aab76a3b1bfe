"""A scripted chat model, a leaflet's index and a handler that notes runs: for tests of answer chains."""

from __future__ import annotations

import asyncio
import json
import re
import time
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from functools import reduce
from operator import add
from typing import Any

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from pydantic import PrivateAttr

from ctxassembly import Chunk, MemoryIndex, RetrievalConfig
from langchain_ctxassembly import ContextRetriever

TEXTS = {
    "gastro": ("Drink water until two hours before a gastroscopy.", "Eat nothing for six hours before a gastroscopy."),
    "lab": ("Ferritin is measured in the morning.", "The laboratory opens at seven."),
    "parking": ("Parking costs two euros an hour.", "Patients of the dialysis park for free."),
}
QUESTION = "When is ferritin measured?"
ANSWER = "In the morning [1]."
KEYWORD = RetrievalConfig(strategy="keyword", limit=2)
USAGE = {"input_tokens": 40, "output_tokens": 5, "total_tokens": 45}


def leaflets(*names: str, **metadata: Any) -> list[Chunk]:
    return [
        Chunk(f"{name}#{at}", name, text, at, metadata={"source": f"{name}.pdf", **metadata})
        for name in names or TEXTS
        for at, text in enumerate(TEXTS[name])
    ]


def retriever(chunks: Sequence[Chunk] = (), **given: Any) -> ContextRetriever:
    return ContextRetriever(MemoryIndex(chunks or leaflets()), config=KEYWORD, **given)


class Scripted(BaseChatModel):
    """Answers by a function from the messages to a text, and notes what it was asked."""

    says: Callable[[Sequence[BaseMessage]], str] = lambda messages: ANSWER
    max_tokens: int | None = None
    fails: str = ""
    """ "at once" or "after three": an error before the first piece, or after the third."""
    seconds: float = 0.0
    """Time before each piece."""
    _asked: list[list[BaseMessage]] = PrivateAttr(default_factory=list)
    _limits: list[int | None] = PrivateAttr(default_factory=list)
    _closed: list[int] = PrivateAttr(default_factory=list)

    @property
    def _llm_type(self) -> str:
        return "scripted"

    @property
    def asked(self) -> list[list[BaseMessage]]:
        return self._asked

    @property
    def limits(self) -> list[int | None]:
        return self._limits

    @property
    def closed(self) -> list[int]:
        """For each stream that came to its end or was closed, the pieces that it gave."""
        return self._closed

    def _begin(self, messages: list[BaseMessage]) -> str:
        self._asked.append(messages)
        self._limits.append(self.max_tokens)
        if self.fails == "at once":
            raise ConnectionError("429 too many requests")
        return self.says(messages)

    def _generate(self, messages: list[BaseMessage], stop: Any = None, run_manager: Any = None, **_: Any) -> ChatResult:
        text = self._begin(messages)
        time.sleep(self.seconds)
        told = AIMessage(text, usage_metadata=USAGE, response_metadata={"finish_reason": "stop"})
        return ChatResult(generations=[ChatGeneration(message=told)])

    def _stream(
        self, messages: list[BaseMessage], stop: Any = None, run_manager: Any = None, **_: Any
    ) -> Iterator[ChatGenerationChunk]:
        given = 0
        try:
            for piece in self._pieces(self._begin(messages)):
                time.sleep(self.seconds)
                yield piece
                given += 1
                self._fail(given)
        finally:
            self._closed.append(given)

    async def _astream(
        self, messages: list[BaseMessage], stop: Any = None, run_manager: Any = None, **_: Any
    ) -> AsyncIterator[ChatGenerationChunk]:
        given = 0
        try:
            for piece in self._pieces(self._begin(messages)):
                await asyncio.sleep(self.seconds)
                yield piece
                given += 1
                self._fail(given)
        finally:
            self._closed.append(given)

    def _fail(self, given: int) -> None:
        if self.fails == "after three" and given == 3:
            raise ConnectionError("connection reset")

    def _pieces(self, text: str) -> Iterator[ChatGenerationChunk]:
        for piece in re.findall(r"\s*\S{1,4}", text):
            yield ChatGenerationChunk(message=AIMessageChunk(piece))
        end = AIMessageChunk("", usage_metadata=USAGE, response_metadata={"finish_reason": "stop"})
        yield ChatGenerationChunk(message=end)


async def _astreamed(chain: Any, asked: Any, config: Any) -> Any:
    return reduce(add, [piece async for piece in chain.astream(asked, config)])


HOW: dict[str, Callable[..., Any]] = {
    "invoke": lambda chain, asked, config=None: chain.invoke(asked, config),
    "ainvoke": lambda chain, asked, config=None: asyncio.run(chain.ainvoke(asked, config)),
    "stream": lambda chain, asked, config=None: reduce(add, chain.stream(asked, config)),
    "astream": lambda chain, asked, config=None: asyncio.run(_astreamed(chain, asked, config)),
}
"""The ways to call a chain, each with all of its output."""


def is_understanding(messages: Sequence[BaseMessage]) -> bool:
    return str(messages[0].content).startswith("Prepare a user's question")


def following(understood: dict[str, Any], answer: str = ANSWER) -> Callable[[Sequence[BaseMessage]], str]:
    """A script: that understanding, then that answer."""
    return lambda messages: json.dumps(understood) if is_understanding(messages) else answer


class Runs(BaseCallbackHandler):
    """Notes each run: its name, its parent's, how it ended, and the tokens of a model's."""

    def __init__(self) -> None:
        self.names: dict[Any, tuple[str, Any]] = {}
        self.ended: dict[str, Any] = {}
        self.failed: list[str] = []
        self.tokens: dict[str, Any] = {}
        self.events: list[tuple[str, Any]] = []

    def _begun(self, *_: Any, **given: Any) -> None:
        self.names[given["run_id"]] = (given["name"], given.get("parent_run_id"))

    def on_chain_start(self, *given: Any, **named: Any) -> None:
        self._begun(**named)

    def on_retriever_start(self, *given: Any, **named: Any) -> None:
        self._begun(**named)

    def on_chat_model_start(self, *given: Any, **named: Any) -> None:
        self._begun(**named)

    def on_chain_end(self, outputs: Any, **given: Any) -> None:
        self.ended[self.names[given["run_id"]][0]] = outputs

    def on_llm_end(self, response: Any, **given: Any) -> None:
        name = self.names[given["run_id"]][0]
        self.ended[name] = response
        self.tokens[name] = response.generations[0][0].message.usage_metadata

    def on_chain_error(self, error: BaseException, **given: Any) -> None:
        self.failed.append(self.names[given["run_id"]][0])

    def on_custom_event(self, name: str, data: Any, **_: Any) -> None:
        self.events.append((name, data))

    def below(self, name: str) -> list[str]:
        """The runs directly below those of that name, in the order of their beginning."""
        return [run for run, parent in self.names.values() if parent and self.names[parent][0] == name]
