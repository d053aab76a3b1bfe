"""The outcome of retrieval: hits, and how each of them came to its place."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Literal

from ctxassembly.data.chunks import Chunk, Hit
from ctxassembly.data.searched import Channel

SearchMethod = Literal["hybrid_bm25_vector", "vector_only", "keyword_only", "graph_only", "other", "none"]
"""The ways to search a query, by the names that production traces use; "other" is a retriever of another make."""
_LEAVES = {"search": "found", "fuse": "fused", "rerank": "reranked", "affinity": "weighed", "boost": "boosted"}
"""For each step before the limit, its chunks as a line for a reader calls them."""
_BRINGS = {"entities": "from the taxonomy", "rescue": "rescued"}
"""The same for steps that bring chunks to those kept."""
SHOWN_WORDS = 8
"""Most words in a line for a reader."""
SHOWN_HITS = 20
"""Most rows in a table for a reader."""


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
    factors: tuple[tuple[str, float], ...] = ()
    """Name and factor of each boost, of reranking and of affinity, in the order of their multiplication."""
    because_of: tuple[str, ...] = ()
    """The query's words that brought it, for a rescued chunk; the names, for one of entities."""
    published_score: float | None = None
    """The published rule's own number for chunks that came by another way (.85 to .95)."""


@dataclass(frozen=True, slots=True)
class Step:
    """One step of retrieval: how many chunks there were before and after it, which stood after it, and its time.

    >>> from ctxassembly import Chunk, MemoryIndex, RetrievalConfig, retrieve
    >>> index = MemoryIndex([Chunk("a", "d", "Ferritin."), Chunk("b", "d", "Ferritin, and iron.")])
    >>> one = RetrievalConfig(strategy="keyword", limit=1)
    >>> [(step.name, step.ids) for step in retrieve("iron or ferritin", one, index=index).trace.steps][-2:]
    [('fuse', ('b', 'a')), ('limit', ('b',))]
    """

    name: str
    chunks_in: int
    ids: tuple[str, ...]
    """Best first."""
    elapsed_ms: float = field(default=0.0, compare=False)

    @property
    def chunks_out(self) -> int:
        """The number of chunks after it."""
        return len(self.ids)


@dataclass(frozen=True, slots=True)
class RetrievalTrace:
    """Every decision between a query and its hits.

    >>> from ctxassembly import Chunk, MemoryIndex, RetrievalConfig, retrieve
    >>> index = MemoryIndex([Chunk("a", "d", "Ferritin."), Chunk("b", "d", "Ferritin, and iron.")])
    >>> one = RetrievalConfig(strategy="keyword", limit=1)
    >>> print(retrieve("iron or ferritin", one, index=index).trace)
    keyword_only for iron, or, ferritin: 2 found -> 2 fused -> 1 kept, evidence 0.33, 2 round trips
    """

    search_method: SearchMethod
    steps: tuple[Step, ...] = ()
    notes: tuple[str, ...] = ()
    """Fallbacks taken: a channel that failed, a reranker's own cut, evidence too thin."""
    queries: Mapping[Channel, str] = field(default_factory=dict, hash=False)
    """The text that each channel was asked with."""
    names: tuple[str, ...] = ()
    """The names that the taxonomy resolved."""
    terms: Mapping[str, float] = field(default_factory=dict, hash=False)
    """The words that were searched, and their weights."""
    round_trips: int = 0
    """Requests to an index or a channel of another make."""
    evidence: float | None = None
    """The best sum of similarity and share of the query's words of one chunk, 0 to 2; None if neither was searched."""
    lowered: tuple[Found, ...] = ()
    """Chunks whose category doesn't go with the intent."""

    @property
    def summary(self) -> str:
        """One line for a log: what was searched, the chunks after each step, evidence and round trips."""
        words = [" ".join(word.split()) for word in self.terms]
        more = [f"{len(words) - SHOWN_WORDS:,} more"] if len(words) > SHOWN_WORDS else []
        searched = self.search_method + (f" for {', '.join(words[:SHOWN_WORDS] + more)}" if words else "")
        parts = [
            *self._counts(),
            *([] if self.evidence is None else [f"evidence {self.evidence:.2f}"]),
            f"{self.round_trips:,} round trip{'' if self.round_trips == 1 else 's'}",
        ]
        return f"{searched}: {', '.join(parts)}"

    def _counts(self) -> list[str]:
        """The chunks after each step up to the limit as one entry, and an entry for each step that brings others."""
        counts = [f"{step.chunks_out:,} {_LEAVES[step.name]}" for step in self.steps if step.name in _LEAVES]
        if any(step.name == "limit" for step in self.steps):
            counts.append(f"{self.steps[-1].chunks_out:,} kept")
        brought = [
            f"{len(set(step.ids).difference(before.ids)):,} {_BRINGS[step.name]}"
            for before, step in pairwise(self.steps)
            if step.name in _BRINGS
        ]
        return [" -> ".join(counts), *brought] if counts else []

    def __str__(self) -> str:
        return "\n".join((self.summary, *self.notes))


@dataclass(frozen=True, slots=True)
class Retrieved:
    """The hits for a query, best first, and their trace.

    >>> from ctxassembly import Chunk, MemoryIndex, RetrievalConfig, retrieve
    >>> index = MemoryIndex([Chunk("lab#0", "lab", "Ferritin."), Chunk("lab#1", "lab", "Ferritin, and iron.")])
    >>> print(retrieve("iron or ferritin", RetrievalConfig(strategy="keyword"), index=index))
    rank  score  channels  id
       1  1.000  keyword   lab#1
       2  0.208  keyword   lab#0
    """

    query: str
    """The query of the vectors, for assembly: rewritten, with the names that it resolves to."""
    found: tuple[Found, ...]
    trace: RetrievalTrace
    facts: tuple[str, ...] = ()
    """Sentences of the taxonomy on what the question names, for a supplement."""
    intent: str | None = None
    """The question's, for the gate of a supplement."""

    @property
    def hits(self) -> tuple[Hit, ...]:
        """The hits for assembly. A chunk's metadata say, besides, how it was found (`SCORE_KEYS`)."""
        return tuple(Hit(chunk_with_scores(found), found.score) for found in self.found)

    def __str__(self) -> str:
        if not self.found:
            return "no hits"
        shown = self.found[:SHOWN_HITS]
        channels = ["+".join(found.channels) for found in shown]
        width = max(map(len, ("channels", *channels)))
        rows = [
            f"{rank:4}  {found.score:5.3f}  {by:{width}}  {' '.join(found.chunk.id.split())}"
            for rank, (found, by) in enumerate(zip(shown, channels, strict=True), 1)
        ]
        rest = len(self.found) - len(shown)
        return "\n".join((f"rank  score  {'channels':{width}}  id", *rows, *([f"and {rest:,} more"] if rest else [])))


SCORE_KEYS = ("search_method", "vector_similarity", "keyword_score", "fused_score", "vector_rank", "keyword_rank")
"""The metadata keys under which a hit carries its scores, as plain numbers; a score that it hasn't is left out."""


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
