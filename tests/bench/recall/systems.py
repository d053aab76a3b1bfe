"""Ways to retrieve: functions from a question and its vector to the ids of chunks, best first."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from ctxassembly import MemoryIndex, RetrievalConfig, retrieve
from quality.data import QuestionSet
from recall.exact import MOST, Scorer, Vectors, by_words

System = Callable[[str, Sequence[float]], list[str]]

PLAIN = RetrievalConfig(rescue="off", adjacency=0.0, stop_word_weight=1.0)
OURS: Mapping[str, RetrievalConfig] = {
    "vector": RetrievalConfig(strategy="vector"),
    "keyword": RetrievalConfig(strategy="keyword", rescue="off"),
    "fused": RetrievalConfig(rescue="off"),
    "fused + rescue": RetrievalConfig(),
    "fused, without adjacency": RetrievalConfig(rescue="off", adjacency=0.0),
    "fused, scores alone": PLAIN,
    "fused, RRF 60": replace(PLAIN, fusion="rrf", keyword_weight=0.5, candidates=MOST),
    "published, 20 hits": replace(RetrievalConfig.published(), limit=MOST),
}
EXACT = "exact BM25"


def systems(questions: QuestionSet, vectors: Vectors) -> dict[str, System]:
    """Ours and exact BM25, over the chunks of a set, whose vectors are in their order."""
    chunks = list(questions.chunks.values())
    index = MemoryIndex(chunks, vectors.tolist())
    made: dict[str, System] = {name: _ours(index, config) for name, config in OURS.items()}
    return {**made, EXACT: without_scores(by_words(chunks))}


def _ours(index: MemoryIndex, config: RetrievalConfig) -> System:
    def ask(question: str, vector: Sequence[float]) -> list[str]:
        retrieved = retrieve(question, config, index=index, embed=lambda _: vector)
        return [found.chunk.id for found in retrieved.chunks]

    return ask


def without_scores(scorer: Scorer) -> System:
    """The ids of what a search finds."""
    return lambda question, vector: [id_ for id_, _ in scorer(question, vector)]
