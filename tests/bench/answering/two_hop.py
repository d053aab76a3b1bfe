"""Questions with two independent pieces of evidence, made of pairs of questions of a set.

Each pair is of two documents, and the question is both in one sentence. So this measures whether searching for the
parts finds both pieces, not whether a model can part a question: the parts are given.
"""

from __future__ import annotations

import json
import random
from collections.abc import Mapping, Sequence
from dataclasses import replace

from ctxassembly import AnswerChain, MemoryIndex, RetrievalConfig
from ctxassembly.answering import AnswerConfig, AskModel, Mode
from quality.data import Question, QuestionSet
from recall.exact import Vectors
from recall.systems import System

KEPT = 20
CONFIG = AnswerConfig(decompose="auto", modes={"normal": Mode(limit=KEPT)})
Parts = Mapping[str, tuple[str, str]]


def paired(questions: QuestionSet, most: int, seed: int = 7) -> tuple[QuestionSet, Parts]:
    """At most `most` questions of two parts, and the parts of each."""
    shuffled = random.Random(seed).sample(questions.questions, len(questions.questions))
    pairs = [
        (one, other)
        for one, other in zip(shuffled[::2], shuffled[1::2], strict=False)
        if one.evidence[0].document_id != other.evidence[0].document_id
    ][:most]
    made = tuple(_both(one, other) for one, other in pairs)
    parts = {question.text: (one.text, other.text) for question, (one, other) in zip(made, pairs, strict=True)}
    return replace(questions, name=f"{questions.name}, two hops", questions=made, digest=f"{questions.digest}-2"), parts


def _both(one: Question, other: Question) -> Question:
    text = f"{one.text.rstrip('?.')}, and {other.text}"
    return Question(f"{one.id}+{other.id}", text, (*one.evidence, *other.evidence), ())


def systems(
    questions: QuestionSet, vectors: Vectors, parts: Parts, known: Mapping[str, Sequence[float]]
) -> dict[str, System]:
    """The question searched as it is, and with its parts. `known` has the vectors of all of them."""
    index = MemoryIndex(list(questions.chunks.values()), vectors.tolist())

    def given(request: AskModel) -> str:
        if request.purpose == "answer":
            return "[1]"
        asked = json.loads(request.messages[-1]["content"])["question"]
        return json.dumps({"sub_questions": parts[asked]})

    def system(config: AnswerConfig, retrieval: RetrievalConfig) -> System:
        chain = AnswerChain.from_index(index, given, retrieval, config=config, embed=known.__getitem__)
        return lambda question, vector: [hit.chunk.id for hit in chain.answer(question).hits]

    whole = replace(CONFIG, decompose="off")
    words, both = RetrievalConfig(strategy="keyword"), RetrievalConfig()
    return {
        "keyword": system(whole, words),
        "keyword, by parts": system(CONFIG, words),
        "fused": system(whole, both),
        "fused, by parts": system(CONFIG, both),
    }
