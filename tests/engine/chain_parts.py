"""A scripted model and a small hospital for the tests of answer chains."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from ctxassembly import AnswerChain, AssemblyConfig, Chunk, MemoryIndex, RetrievalConfig
from ctxassembly.answering import AnswerConfig, AskModel, ModelReply

TEXTS = {
    "parking": ("a", "Parking is free for the first hour. After that it costs two euros."),
    "lab": ("a", "Ferritin is measured in the morning. Come before nine."),
    "cardiology": ("a", "The cardiologist works on the north campus on Mondays."),
    "scopy": ("a", "A gastroscopy takes ten minutes. Do not eat for six hours before a gastroscopy."),
    "secret": ("b", "Parking for the board is under the tower."),
}
KEYWORDS = RetrievalConfig(strategy="keyword")


def hospital() -> MemoryIndex:
    return MemoryIndex(
        [
            Chunk(f"{name}#0", name, text, 0, metadata={"source": f"{name}.pdf", "tenant": tenant})
            for name, (tenant, text) in TEXTS.items()
        ]
    )


class Scripted:
    """A model that replies from a script: for each purpose a text, an exception, or fields for JSON."""

    def __init__(self, answer: Any = "Parking is free [1].", understand: Any = None) -> None:
        self.script = {"answer": answer, "understand": understand}
        self.asked: list[AskModel] = []
        self.closed = 0

    def ask(self, request: AskModel) -> ModelReply:
        self.asked.append(request)
        said = self.script[request.purpose]
        if isinstance(said, list):
            said = said.pop(0)
        if isinstance(said, Exception):
            raise said
        return ModelReply(json.dumps(said) if isinstance(said, dict) else said, "stop", 100, 10)

    def stream(self, request: AskModel) -> Iterator[ModelReply]:
        try:
            words = self.ask(request).text.split(" ")
            for place, word in enumerate(words):
                yield ModelReply(word if place == len(words) - 1 else f"{word} ", tokens_out=1)
        finally:
            self.closed += 1

    def prompts(self, purpose: str) -> list[AskModel]:
        return [request for request in self.asked if request.purpose == purpose]


def chain(
    model: Any,
    config: AnswerConfig | None = None,
    *,
    index: Any = None,
    retrieval: RetrievalConfig = KEYWORDS,
    assembly: AssemblyConfig | None = None,
) -> AnswerChain:
    return AnswerChain.from_index(index or hospital(), model, retrieval, assembly, config)
