"""Hits by our own retrieval in the place of those that a set comes with.

It is asked anew for each number of hits, as an application would: what fusion puts first depends on that number.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from ctxassembly import Hit, MemoryIndex, RetrievalConfig, retrieve
from quality import minilm
from quality.data import Question, QuestionSet
from recall.measure import embedded

GIVEN, FUSED = "given", "fused"
"""The hits that a set comes with, by whatever retriever; and ours at our defaults."""
SEARCHES: Mapping[str, RetrievalConfig] = {
    "vectors": RetrievalConfig(strategy="vector"),
    "words": RetrievalConfig(strategy="keyword"),
    FUSED: RetrievalConfig(),
}
WAYS = (GIVEN, *SEARCHES)


def retrieved(questions: QuestionSet, way: str, most: int, folder: Path) -> QuestionSet:
    """The set with at most `most` hits for each question, found that way; vectors are kept in `folder`."""
    if way == GIVEN:
        return questions
    vectors, asked = embedded(questions, minilm.embed, folder)
    index = MemoryIndex(questions.chunks.values(), vectors.tolist())
    config = replace(SEARCHES[way], limit=most)

    def search(question: Question, vector: Sequence[float]) -> Question:
        hits: tuple[Hit, ...] = retrieve(question.text, config, index=index, embed=lambda _: vector).hits
        return replace(question, hits=hits)

    return replace(questions, questions=tuple(map(search, questions.questions, asked.tolist())))
