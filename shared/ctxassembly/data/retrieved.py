"""The outcome of retrieval: hits, and how each of them came to its place."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Literal

from ctxassembly.data.chunks import Hit
from ctxassembly.data.explained import Explained
from ctxassembly.data.found import AFFINITY, Found, chunk_with_scores
from ctxassembly.data.searched import Channel
from ctxassembly.shown import counted

SearchMethod = Literal["hybrid_bm25_vector", "vector_only", "keyword_only", "graph_only", "other", "none"]
"""The ways to search a query, by the names that production traces use; "other" is a retriever of another make."""
StepName = Literal["resolve", "search", "fuse", "boost", "rerank", "affinity", "limit", "entities", "rescue"]
"""The steps of retrieval, in their order."""
_LEAVES: Mapping[StepName, str] = {
    "search": "found",
    "fuse": "fused",
    "boost": "boosted",
    "rerank": "reranked",
    "affinity": "weighed",
}
"""For each step before the limit that has chunks, what a line for a reader calls them."""
_BRINGS: Mapping[StepName, str] = {"entities": "from the taxonomy", "rescue": "rescued"}
"""The same for steps that bring chunks to those kept. "resolve" has none, and "limit" ends the line."""
SHOWN_WORDS = 8
"""Most words in a line for a reader."""
SHOWN_HITS = 20
"""Most rows in a table for a reader."""


@dataclass(frozen=True, slots=True)
class Step:
    """One step of retrieval: how many chunks there were before and after it, which stood after it, and its time.

    >>> from ctxassembly import Chunk, MemoryIndex, RetrievalConfig, retrieve
    >>> index = MemoryIndex([Chunk("a", "d", "Ferritin."), Chunk("b", "d", "Ferritin, and iron.")])
    >>> one = RetrievalConfig(strategy="keyword", limit=1)
    >>> [(step.name, step.ids) for step in retrieve("iron or ferritin", one, index=index).trace.steps][-2:]
    [('fuse', ('b', 'a')), ('limit', ('b',))]
    """

    name: StepName
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
    keyword_only for iron, or, ferritin: 2 found -> 2 fused -> 1 kept, evidence 0.39, 2 round trips
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
            counted(self.round_trips, "round trip"),
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

    def mismatches(self) -> list[dict[str, Any]]:
        """A row for each chunk whose category doesn't go with the intent, as plain values for a table.

        >>> from ctxassembly import Chunk, MemoryIndex, Question, RetrievalConfig, retrieve
        >>> heart = Chunk("card#0", "card", "A wheelchair is ready.", metadata={"category": "clinical_info"})
        >>> config = RetrievalConfig(strategy="keyword", affinity={"navigate": {"clinical_info": 0.5}})
        >>> asked = Question("Where is a wheelchair?", intent="navigate")
        >>> retrieve(asked, config, index=MemoryIndex([heart])).mismatches() == [{
        ...     "query": "Where is a wheelchair?", "intent": "navigate", "category": "clinical_info", "factor": 0.5,
        ...     "chunk_id": "card#0", "document_id": "card", "score": 0.5, "place": 0}]
        True

        `score` is the one with the factor, `place` that among the hits, from 0, and None for a chunk that isn't one.
        The order is that before affinity. Chunks that a rescue left out for their category aren't among them. pandas
        makes a DataFrame of the list, and SQLAlchemy inserts it: `connection.execute(insert(table), rows)`.
        """
        places = {found.chunk.identity: place for place, found in enumerate(self.found)}
        return [
            {
                "query": self.query,
                "intent": self.intent,
                "category": name.removeprefix(AFFINITY),
                "factor": factor,
                "chunk_id": found.chunk.id,
                "document_id": found.chunk.document_id,
                "score": found.score,
                "place": places.get(found.chunk.identity),
            }
            for found in self.trace.lowered
            for name, factor in found.factors[-1:]
        ]

    @property
    def hits(self) -> tuple[Hit, ...]:
        """The hits for assembly. A chunk's metadata say, besides, how it was found (`SCORE_KEYS`)."""
        return tuple(Hit(chunk_with_scores(found), found.score) for found in self.found)

    def explain(self, chunk_id: str) -> Explained:
        """The way of a chunk through this retrieval as its trace has it, without another search.

        >>> from ctxassembly import Chunk, MemoryIndex, RetrievalConfig, retrieve
        >>> index = MemoryIndex([Chunk("lab#0", "lab", "Ferritin."), Chunk("lab#1", "lab", "Ferritin, and iron.")])
        >>> retrieved = retrieve("ferritin", RetrievalConfig(strategy="keyword", limit=1), index=index)
        >>> explained = retrieved.explain("lab#1")
        >>> explained.lost_at, explained.reason, dict(explained.ranks)
        ('limit', 'place 2 after fuse, where 1 are kept', {'search': 1, 'fuse': 1, 'limit': None})

        A chunk that no channel brought is in no trace. `ctxassembly.explain` searches again, and so tells of such a
        one, too, and of a chunk that is named by a part of its text.
        """
        steps = [step for step in self.trace.steps if step.name != "resolve"]
        ranks: dict[str, int | None] = {
            step.name: step.ids.index(chunk_id) if chunk_id in step.ids else None for step in steps
        }
        hits = tuple(found.chunk.id for found in self.found)
        place = hits.index(chunk_id) if chunk_id in hits else None
        is_known = place is not None or any(rank is not None for rank in ranks.values())
        lost_at, reason = self._lost(chunk_id, steps) if place is None else (None, self._told(place))
        return Explained(
            query=self.query,
            expect=chunk_id,
            chunk_id=chunk_id if is_known else None,
            lost_at=lost_at,
            reason=reason,
            rank=place,
            ranks=ranks,
            sizes={step.name: step.chunks_out for step in steps},
            lost_to=() if lost_at is None else hits,
        )

    def _told(self, place: int) -> str:
        """The place of a hit, the channels that found it, and the factors on its score."""
        found = self.found[place]
        factors = "".join(f", {name} x {factor:g}" for name, factor in found.factors)
        return f"hit {place + 1} of {len(self.found)}, by {' and '.join(found.channels)}{factors}"

    def _lost(self, chunk_id: str, steps: Sequence[Step]) -> tuple[str, str]:
        """The step at which a chunk that is no hit was lost, and why."""
        last = max((at for at, step in enumerate(steps) if chunk_id in step.ids), default=-1)
        if last < 0:
            return "search", "no channel brought it" if steps else "; ".join(self.trace.notes) or "there was no search"
        if last + 1 == len(steps):
            return "evidence", next((note for note in self.trace.notes if note.startswith("evidence")), "")
        before, lost_at = steps[last], steps[last + 1]
        reasons: Mapping[str, str] = {
            "fuse": "its similarity is below min_similarity, and its words don't bring it",
            "limit": f"place {before.ids.index(chunk_id) + 1} after {before.name}, where {lost_at.chunks_out} are kept",
        }
        reason = reasons.get(lost_at.name, f"it made room for {lost_at.name}")
        lowered = next((found for found in self.trace.lowered if found.chunk.id == chunk_id), None)
        if lost_at.name == "limit" and lowered:
            reason += "".join(f", {name} x {factor:g}" for name, factor in lowered.factors)
        return lost_at.name, reason

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
