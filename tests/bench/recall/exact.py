"""Exact search of one kind: functions from a question and its vector to the best chunks and their scores."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from ctxassembly import Chunk
from ctxassembly.stores.simple_words import lexemes

Vectors = NDArray[np.float32]
Found = TypeVar("Found")
Scorer = Callable[[str, Sequence[float]], list[tuple[str, float]]]

MOST = 20
"""Chunks that a search gives."""


def by_vectors(chunks: Sequence[Chunk], vectors: Vectors, most: int = MOST) -> Scorer:
    """The cosine of vectors of length 1."""
    return lambda question, vector: _best(chunks, vectors @ np.asarray(vector, dtype=np.float32), most)


def by_words(chunks: Sequence[Chunk], most: int = MOST) -> Scorer:
    """BM25 as it is written (k1 1.2, b .75), over the same words as ours, by the library bm25s."""
    import bm25s

    texts = [lexemes(searched(chunk)) for chunk in chunks]
    index = bm25s.BM25(k1=1.2, b=0.75)
    index.index([words or [""] for words in texts], show_progress=False)
    known = set(index.vocab_dict)

    def ask(question: str, vector: Sequence[float]) -> list[tuple[str, float]]:
        sought = [word for word in dict.fromkeys(lexemes(question)) if word in known]
        found = _best(chunks, index.get_scores(sought), most) if sought else []
        return [(id_, score) for id_, score in found if score > 0]

    return ask


def once(ask: Callable[[str, Sequence[float]], Found]) -> Callable[[str, Sequence[float]], Found]:
    """Return a search that looks once for each question: several systems assemble what it finds."""
    known: dict[str, Found] = {}

    def asked(question: str, vector: Sequence[float]) -> Found:
        if question not in known:
            known[question] = ask(question, vector)
        return known[question]

    return asked


def searched(chunk: Chunk) -> str:
    """The text whose words our index searches."""
    return f"{chunk.metadata.get('title', '')} {chunk.text}"


def _best(chunks: Sequence[Chunk], scores: NDArray[np.float32], most: int) -> list[tuple[str, float]]:
    places = np.argsort(-scores, kind="stable")[:most]
    return [(chunks[place].id, float(scores[place])) for place in places]
