"""What needs no assembly: the chunks as they were retrieved, and the same reranked by the question's words."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from ctxassembly.text.words import words
from quality.data import QuestionSet
from quality.filling import Case, Fill, Strategy, cut, whole

STEM_CHARS = 6
"""Letters that two forms of a word share."""
RANK_WEIGHT, WORDS_WEIGHT = 0.6, 4.0
"""Of the logarithm of the rank, and of BM25 in parts of the best chunk's."""


def concatenation(_: QuestionSet) -> Strategy:
    """The top chunks one after the other until the budget is full."""
    return lambda case: cut([whole(hit.chunk) for hit in case.hits])


def bm25_rerank(_: QuestionSet) -> Strategy:
    """The same, best first by rank and BM25 over the retrieved chunks."""

    def strategy(case: Case) -> Fill:
        found = bm25([hit.chunk.text for hit in case.hits])(case.question.text)
        best = max(found, default=0) or 1
        value = [WORDS_WEIGHT * each / best - RANK_WEIGHT * math.log(1 + rank) for rank, each in enumerate(found)]
        order = sorted(range(len(value)), key=lambda rank: -value[rank])
        return cut([whole(case.hits[rank].chunk) for rank in order])

    return strategy


def bm25(texts: list[str]) -> Callable[[str], list[float]]:
    """A function from a query to the BM25 of each of `texts`, by the library bm25s, on stems of six letters."""
    import bm25s

    index = bm25s.BM25()
    index.index([stems(text) or [""] for text in texts], show_progress=False)
    known = set(index.vocab_dict)

    def scores(query: str) -> list[float]:
        sought = [stem for stem in dict.fromkeys(stems(query)) if stem in known]
        found = index.get_scores(sought) if sought else np.zeros(len(texts))
        return [float(each) for each in found]

    return scores


def stems(text: str) -> list[str]:
    return [word[:STEM_CHARS] for word in words(text)]
