"""Chunks and their scores, made by hand, and an index that finds them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ctxassembly import Chunk, RetrievalConfig, Retrieved, retrieve
from ctxassembly.retrieval import FindTerms, QueryVocabulary, RetrievedChunk, ScoredChunk, SearchChunks, TermStats

COMMON = QueryVocabulary(100, (TermStats("the", 100),))
"""A word that weighs next to nothing."""
ALONE: dict[str, Any] = {"limit": 99, "adjacency": 0, "rescue": "off"}
"""Settings of fusion and nothing after it."""


def chunk(name: str, text: str = "", **metadata: Any) -> Chunk:
    return Chunk(name, name[0], text or f"Text of {name}.", metadata=metadata)


def scored(
    name: str, similarity: float | None = None, keyword_score: float | None = None, *terms: str, **metadata: Any
) -> ScoredChunk:
    return ScoredChunk(chunk(name, **metadata), similarity, keyword_score, terms)


class Found:
    """An index that finds what it is given for every query, and `rescued` for words that are missing."""

    def __init__(
        self,
        found: Sequence[ScoredChunk],
        vocabulary: QueryVocabulary | None = COMMON,
        rescued: Sequence[ScoredChunk] = (),
    ) -> None:
        self.found, self.vocabulary, self.rescued = found, vocabulary, rescued

    def find_terms(self, request: FindTerms) -> QueryVocabulary | None:
        return self.vocabulary

    def search(self, request: SearchChunks) -> Sequence[ScoredChunk]:
        is_rescue = request.vector is None and request.vocabulary is not self.vocabulary
        return self.rescued if is_rescue else self.found


def retrieved(
    index: Found | Sequence[ScoredChunk], query: str = "the", *, given: Any = None, **settings: Any
) -> Retrieved:
    """What a search for words and a vector gives."""
    found: Any = index if isinstance(index, Found) else Found(index)
    return retrieve(query, RetrievalConfig(**settings), index=found, embed=lambda _: [1.0], **(given or {}))


def scores(some: Sequence[RetrievedChunk]) -> dict[str, float]:
    return {one.chunk.id: round(one.score, 4) for one in some}


def ids(some: Any) -> list[str]:
    return [one.chunk.id for one in some]
