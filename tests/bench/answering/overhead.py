"""The time that each step of a chain takes besides the model, which answers at once here."""

from __future__ import annotations

from statistics import median

from ctxassembly import AnswerChain, MemoryIndex, RetrievalConfig
from ctxassembly.answering import AnswerConfig, AskModel, Exchange, Intent
from quality.data import QuestionSet

CONFIG = AnswerConfig(intents=(Intent("any", "Any question."),), decompose="auto", keywords=True)
REPLY = '{"intent": "any", "confidence": 1, "question": null, "keywords": [], "sub_questions": []}'
HISTORY = [Exchange("What is a with statement?", "It runs a block within a context [1].")] * 5


def overhead(questions: QuestionSet, most: int) -> dict[str, float]:
    """Milliseconds of each step, the median over the questions."""
    index = MemoryIndex(list(questions.chunks.values()))

    def model(request: AskModel) -> str:
        return REPLY if request.purpose == "understand" else "So it is [1]. " * 20

    chain = AnswerChain.from_index(index, model, RetrievalConfig(strategy="keyword"), config=CONFIG)
    times: dict[str, list[float]] = {}
    for question in questions.questions[:most]:
        for step in chain.answer(question.text, history=HISTORY).steps:
            times.setdefault(step.name, []).append(step.elapsed_ms)
    return {name: median(values) for name, values in times.items()}
