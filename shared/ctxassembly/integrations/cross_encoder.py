"""A cross-encoder as a reranker: it reads query and chunk together and gives a score."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any

from ctxassembly.data.chunks import Chunk
from ctxassembly.errors import ConfigError
from ctxassembly.protocols import RerankedPosition, Reranker
from ctxassembly.runtime.scorers import PAIR_METHODS

PairScoreFunction = Callable[[list[tuple[str, str]]], Iterable[Any]]
"""A function from pairs of query and text to a number for each, higher is better."""


def to_reranker(model: Any, allowed: str) -> Reranker:
    """Return a reranker that calls `score` or `predict` of `model`; a function is returned unchanged.

    >>> from ctxassembly import Chunk
    >>> class Shorter:
    ...     def predict(self, pairs):
    ...         return [-len(text) for _, text in pairs]
    >>> rerank = to_reranker(Shorter(), "a cross-encoder")
    >>> rerank("short?", [Chunk("a", "a", "A long text."), Chunk("b", "b", "Short.")])
    [(1, -6.0), (0, -12.0)]

    Raises:
        ConfigError: `model` is neither; the message says what is `allowed`.
    """
    score = next((getattr(model, name) for name in PAIR_METHODS if callable(getattr(model, name, None))), None)
    if score is not None:
        return partial(_rerank, score)
    if not callable(model):
        raise ConfigError("rerankers", allowed, model)
    return model  # type: ignore[no-any-return]


def _rerank(score: PairScoreFunction, query: str, chunks: Sequence[Chunk]) -> list[RerankedPosition]:
    scores = [float(one) for one in score([(query, chunk.text) for chunk in chunks])]
    return [(place, scores[place]) for place in sorted(range(len(scores)), key=lambda place: -scores[place])]
