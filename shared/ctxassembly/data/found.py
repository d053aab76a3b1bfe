"""A chunk that retrieval found: what found it, and what its score is made of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from ctxassembly.data.chunks import Chunk
from ctxassembly.data.searched import Channel

AFFINITY = "affinity:"
"""Before the category, in the name of a factor of affinity."""
SCORE_KEYS = ("search_method", "vector_similarity", "keyword_score", "fused_score", "vector_rank", "keyword_rank")
"""The metadata keys under which a hit carries its scores, as plain numbers; a score that it hasn't is left out."""


@dataclass(frozen=True, slots=True)
class Found:
    """A chunk on its way through retrieval: what found it, and what its score is made of.

    >>> from ctxassembly import Chunk, MemoryIndex, RetrievalConfig, retrieve
    >>> index = MemoryIndex([Chunk("lab#0", "lab", "Ferritin is measured in the morning.", 0)])
    >>> [found] = retrieve("When is ferritin measured?", RetrievalConfig(strategy="keyword"), index=index).found
    >>> found.channels, found.terms, dict(found.ranks)
    (('keyword',), ('is', 'ferritin', 'measured'), {'keyword': 0})
    """

    chunk: Chunk
    score: float
    """On one scale from fusion on: the best of fusion has 1. A chunk with a place of its own has that of its
    neighbour in the list, so that scores never rise."""
    channels: tuple[Channel, ...]
    """The channels that found it, in the order of searching."""
    similarity: float | None = None
    keyword_score: float | None = None
    terms: tuple[str, ...] = ()
    """The query's words that it has, as the index finds them."""
    rerank_score: float | None = None
    """A reranker's own, 0 to 1."""
    fused_score: float | None = None
    """None for a chunk that came by another way than fusion."""
    ranks: Mapping[Channel, int] = field(default_factory=dict, hash=False)
    """Its rank from 0 in each channel that found it."""
    raised_by: str | None = None
    """The id of the better chunk beside it, which raised its fused score."""
    factors: tuple[tuple[str, float], ...] = ()
    """Name and factor of each boost, of reranking and of affinity, in the order of their multiplication."""
    because_of: tuple[str, ...] = ()
    """The query's words that brought it, for a rescued chunk; the names, for one of entities."""
    published_score: float | None = None
    """The published rule's own number for chunks that came by another way (.85 to .95)."""


def chunk_with_scores(found: Found) -> Chunk:
    """The chunk with its scores in the metadata."""
    values = (
        "+".join(found.channels),
        found.similarity,
        found.keyword_score,
        found.fused_score,
        found.ranks.get("vector"),
        found.ranks.get("keyword"),
    )
    known = {key: value for key, value in zip(SCORE_KEYS, values, strict=True) if value is not None}
    return replace(found.chunk, metadata={**found.chunk.metadata, **known})
