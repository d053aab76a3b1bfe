"""Ways to retrieve: functions from a question and its vector to the ids of chunks, best first."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ctxassembly import MemoryIndex, RetrievalConfig, retrieve
from ctxassembly.text.lexemes import lexemes
from quality.data import QuestionSet

Vectors = NDArray[np.float32]
System = Callable[[str, Sequence[float]], list[str]]

MOST = 20
"""Chunks that a system gives."""
OURS: Mapping[str, RetrievalConfig] = {
    "vector": RetrievalConfig(strategy="vector"),
    "keyword": RetrievalConfig(strategy="keyword", rescue="off"),
    "fused": RetrievalConfig(rescue="off"),
    "fused + rescue": RetrievalConfig(),
    "fused, RRF 60": RetrievalConfig(rescue="off", fusion="rrf", keyword_weight=0.5, candidates=MOST),
    "published, 20 hits": replace(RetrievalConfig.published(), limit=MOST),
}
PEERS = ("exact BM25",)


def systems(questions: QuestionSet, vectors: Vectors) -> dict[str, System]:
    """All of them, over the chunks of a set, whose vectors are in their order."""
    chunks = list(questions.chunks.values())
    index = MemoryIndex(chunks, vectors.tolist())
    made: dict[str, System] = {name: _ours(index, config) for name, config in OURS.items()}
    texts = [f"{chunk.metadata.get('title', '')} {chunk.text}" for chunk in chunks]  # what the index searches
    return {**made, PEERS[0]: _bm25([chunk.id for chunk in chunks], list(map(lexemes, texts)))}


def _ours(index: MemoryIndex, config: RetrievalConfig) -> System:
    def ask(question: str, vector: Sequence[float]) -> list[str]:
        retrieved = retrieve(question, config, index=index, embed=lambda _: vector)
        return [found.chunk.id for found in retrieved.found]

    return ask


def _bm25(ids: Sequence[str], texts: Sequence[list[str]]) -> System:
    """BM25 as it is written (k1 1.2, b .75), over the same words, by the library bm25s."""
    import bm25s

    index = bm25s.BM25(k1=1.2, b=0.75)
    index.index([words or [""] for words in texts], show_progress=False)
    known = set(index.vocab_dict)

    def ask(question: str, vector: Sequence[float]) -> list[str]:
        sought = [word for word in dict.fromkeys(lexemes(question)) if word in known]
        if not sought:
            return []
        scores = index.get_scores(sought)
        best = np.argsort(-scores, kind="stable")[:MOST]
        return [ids[at] for at in best if scores[at] > 0]

    return ask
