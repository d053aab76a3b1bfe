"""A scripted model for notes, and documents to note."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from threading import Lock
from typing import Any

from ctxassembly import Chunk
from ctxassembly.answering import AskModel, ModelReply

TEXTS = {
    "lab": ("Ferritin is measured in the morning.", "The result comes by letter."),
    "visit": ("The garage is behind the main building.", "Two guests at a time are welcome."),
    "diet": ("Nothing but water for six hours.",),
}
QUESTION, CONTEXT, SUMMARY = "Wann wird {} geprüft?", "Zusammenhang: {}.", "Überblick {}."


def chunks(texts: dict[str, Sequence[str]] = TEXTS, **metadata: Any) -> list[Chunk]:  # type: ignore[assignment]
    return [
        Chunk(f"{name}#{at}", name, text, at, metadata={"source": f"{name}.pdf", **metadata})
        for name, every in texts.items()
        for at, text in enumerate(every)
    ]


def given(request: AskModel) -> dict[str, Any]:
    """What a prompt tells of a document."""
    told: dict[str, Any] = json.loads(request.messages[-1]["content"])
    return told


def notes_on(request: AskModel) -> dict[str, Any]:
    """Notes by words that no text has, but the number of a chunk and the name of its document."""
    told = given(request)
    name = told["title"].partition(".")[0]
    return {
        "summary": SUMMARY.format(name),
        "chunks": [
            {
                "chunk": one["chunk"],
                "context": CONTEXT.format(f"{name}kontext{one['chunk']}"),
                "questions": [QUESTION.format(f"{name}frage{one['chunk']}")],
            }
            for one in told["chunks"]
        ],
    }


class Scripted:
    """A model that answers by a function from a request to plain data or text. It keeps the requests."""

    def __init__(self, answer: Callable[[AskModel], Any] = notes_on) -> None:
        self.requests: list[AskModel] = []
        self._answer, self._lock = answer, Lock()

    @property
    def titles(self) -> list[str]:
        return sorted(given(request)["title"].partition(".")[0] for request in self.requests)

    def ask(self, request: AskModel) -> ModelReply:
        with self._lock:
            self.requests.append(request)
        made = self._answer(request)
        text = made if isinstance(made, str) else json.dumps(made, ensure_ascii=False)
        return ModelReply(text, "stop", 100, 10)
