"""Rerankers in the place of a cross-encoder: they read the query and each sentence of a chunk together."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace

import numpy as np

from ctxassembly.protocols import Reranker
from ctxassembly.runtime.scorers import to_reranker
from ctxassembly.stores.simple_words import lexemes
from ctxassembly.text.sentences import sentence_ends
from quality.data import QuestionSet
from recall.exact import Vectors

Embed = Callable[[Sequence[str]], Vectors]
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


def by_sentence_vectors(questions: QuestionSet, asked: Vectors, embed: Embed, folder: Path) -> Reranker:
    """The cosine of the query and the best sentence of a chunk, whose vectors are kept in `folder`."""
    said = {chunk.text: _sentences(chunk.text) for chunk in questions.chunks.values()}
    every = list(dict.fromkeys(sentence for sentences in said.values() for sentence in sentences))
    path = folder / f"{questions.name}-{questions.digest}-sentences.npy"
    if not path.is_file():
        np.save(path, embed(every))
    vectors: Vectors = np.load(path)
    of_query = dict(zip((question.text for question in questions.questions), asked, strict=True))
    places = {sentence: place for place, sentence in enumerate(every)}
    rows = {text: [places[sentence] for sentence in sentences] for text, sentences in said.items()}

    def predict(pairs: Sequence[tuple[str, str]]) -> list[float]:
        cosines = vectors @ of_query[pairs[0][0]]
        return [float(max(cosines[rows[text]], default=0.0)) for _, text in pairs]

    return to_reranker(SimpleNamespace(predict=predict), "a model")


def _sentences(text: str) -> list[str]:
    edges = (0, *sentence_ends(text), len(text))
    return [part for begin, end in pairwise(edges) if (part := text[begin:end].strip())]


def _terms(text: str) -> frozenset[Term]:
    """The words of a text, and the pairs of those beside each other."""
    words = lexemes(text)
    return frozenset([*words, *pairwise(words)])
