"""A reranker in the place of a cross-encoder: it reads the query and each sentence of a chunk together."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from types import SimpleNamespace

from ctxassembly.protocols import Reranker
from ctxassembly.runtime.scorers import to_reranker
from ctxassembly.stores.simple_words import lexemes
from ctxassembly.text.sentences import sentence_ends
from quality.data import QuestionSet

Term = str | tuple[str, str]


def by_sentence_words(questions: QuestionSet) -> Reranker:
    """The share of the query's words, by their idf, and of its pairs of words, in the best sentence of a chunk."""
    said = {chunk.text: [_terms(one) for one in _sentences(chunk.text)] for chunk in questions.chunks.values()}
    having = Counter(term for sentences in said.values() for term in set().union(*sentences))

    def weight(term: Term) -> float:
        return math.log(1 + (len(said) - having[term] + 0.5) / (having[term] + 0.5))

    def predict(pairs: Sequence[tuple[str, str]]) -> list[float]:
        weights = {term: weight(term) for term in _terms(pairs[0][0])}
        total = sum(weights.values()) or 1.0
        return [
            max((sum(weights.get(term, 0.0) for term in sentence) for sentence in said[text]), default=0.0) / total
            for _, text in pairs
        ]

    return to_reranker(SimpleNamespace(predict=predict), "a model")


def _sentences(text: str) -> list[str]:
    edges = (0, *sentence_ends(text), len(text))
    return [part for begin, end in pairwise(edges) if (part := text[begin:end].strip())]


def _terms(text: str) -> frozenset[Term]:
    """The words of a text, and the pairs of those beside each other."""
    words = lexemes(text)
    return frozenset([*words, *pairwise(words)])
