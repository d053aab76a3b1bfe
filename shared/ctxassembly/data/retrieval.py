"""The outcome of retrieval: hits, and how each of them came to its place."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any, Literal, NamedTuple

from ctxassembly.data.chunks import Chunk, Hit
from ctxassembly.lazy import cached_property
from ctxassembly.safe_repr import join_first, pluralize

Channel = Literal["vector", "keyword", "questions", "entities", "list", "rescue"]
"""The ways in which chunks are found."""


@dataclass(frozen=True, slots=True)
class Explanation:
    """The way of a chunk through a retrieval. It prints as a table of the steps.

    >>> from ctxassembly import Chunk, MemoryIndex, RetrievalConfig, explain
    >>> index = MemoryIndex([Chunk("lab#0", "lab", "Ferritin."), Chunk("lab#1", "lab", "Ferritin, and iron.")])
    >>> explained = explain("ferritin", "lab#1", RetrievalConfig(strategy="keyword", limit=1), index=index)
    >>> explained.lost_at, explained.reason, explained.displaced_by
    ('limit', 'place 2 after fuse, where 1 are kept', ('lab#0',))
    """

    query: str
    expected: str
    chunk_id: str | None
    """None if no chunk was found that has the id or the text."""
    lost_at: str | None
    """The step after which it wasn't there: "index" and "filter" come before the first; None if it is a hit."""
    reason: str
    rank: int | None
    """Its place among the hits, from 0."""
    ranks: Mapping[str, int | None]
    """Its place after each step, from 0; None where it wasn't there."""
    sizes: Mapping[str, int] = field(repr=False)
    """The number of chunks after each step."""
    displaced_by: tuple[str, ...] = ()
    """The ids in the places that it would have needed, best first."""
    channel_ranks: Mapping[Channel, int] = field(default_factory=dict, repr=False)
    """Its place in each channel, from 0, for a chunk below the candidates that a wider search found."""

    def __str__(self) -> str:
        rows = [("step", "place", "of")]
        rows += [
            (step, "-" if rank is None else str(rank + 1), str(self.sizes[step])) for step, rank in self.ranks.items()
        ]
        widths = [max(len(row[at]) for row in rows) for at in range(3)]
        table = "\n".join(f"{a:<{widths[0]}}  {b:>{widths[1]}}  {c:>{widths[2]}}" for a, b, c in rows)
        displaced = f"\nIn its stead: {', '.join(self.displaced_by)}" if self.displaced_by else ""
        return f"{self.chunk_id or self.expected}: {self.reason}\n\n{table}{displaced}"


class TermStats(NamedTuple):
    """A word of a query, in the form in which an index keeps it.

    >>> from ctxassembly import Chunk, MemoryIndex
    >>> from ctxassembly.data.requests import FindTerms
    >>> index = MemoryIndex([Chunk("a", "d", "Ferritin.")])
    >>> index.find_terms(FindTerms("feritin", max_terms=32, max_variants=4)).terms
    (TermStats(text='feritin', chunk_count=0, variants=('ferritin',)),)
    """

    text: str
    chunk_count: int
    """The number of chunks that have it. Of a common word an estimate will do; 0 is exact."""
    variants: tuple[str, ...] = ()
    """For a word that no chunk has: words of the index that it is part of, or nearly equals, best first."""


@dataclass(frozen=True)
class QueryVocabulary:
    """The words of a query as an index knows them.

    >>> words = QueryVocabulary(100, (TermStats("the", 90), TermStats("ferritin", 2)))
    >>> max(words.weights, key=words.weights.get)
    'ferritin'
    """

    chunk_count: int
    """The number of chunks in the index."""
    terms: tuple[TermStats, ...]
    """Each once, in the order of the query."""
    factors: Mapping[str, float] = field(default_factory=dict, hash=False)
    """Factors for the weights of some words; the others keep theirs."""

    @cached_property
    def weights(self) -> Mapping[str, float]:
        """The weight of each word: the rarer, the higher (the idf of BM25, which never is below 0), times its factor.

        >>> weights = QueryVocabulary(100, (TermStats("the", 90), TermStats("ferritin", 2))).weights
        >>> {word: round(weight, 2) for word, weight in weights.items()}
        {'the': 0.11, 'ferritin': 3.7}
        """
        weights = {}
        for term in self.terms:
            containing = min(term.chunk_count, self.chunk_count)
            idf = math.log(1 + (self.chunk_count - containing + 0.5) / (containing + 0.5))
            weights[term.text] = idf * self.factors.get(term.text, 1.0)
        return weights


SINGLE_OCCURRENCE = 0.1 / 1.64493406685
"""The count of a word that occurs once, .0608, as `ts_rank` has it for a text of the lowest weight. The j-th time adds
1 / j^2 of it, so that however often it occurs the count is below .1."""


class ScoredChunk(NamedTuple):
    """A chunk that a search found, with its score in each channel that searched, whichever of them found it.

    >>> from ctxassembly import Chunk, MemoryIndex
    >>> from ctxassembly.data.requests import FindTerms, SearchChunks
    >>> index = MemoryIndex([Chunk("a", "d", "Ferritin."), Chunk("b", "d", "Iron.")], [[1.0, 0.0], [0.8, 0.6]])
    >>> words = index.find_terms(FindTerms("ferritin", max_terms=32, max_variants=4))
    >>> found = index.search(SearchChunks(10, vector=(1.0, 0.0), vocabulary=words, filter=None))
    >>> [(one.chunk.id, round(one.similarity, 2), round(one.keyword_score, 3), one.terms) for one in found]
    [('a', 1.0, 0.042, ('ferritin',)), ('b', 0.8, 0.0, ())]
    """

    chunk: Chunk
    similarity: float | None = None
    """Cosine of the chunk's embedding and the query's, -1 to 1; None if there was no vector search."""
    keyword_score: float | None = None
    """Sum over the query's words of weight x saturated count (`SINGLE_OCCURRENCE`); None without keyword search."""
    terms: tuple[str, ...] = ()
    """The query's words that the chunk has, as the index finds them."""
    question_similarity: float | None = None
    """Cosine of the nearest question that the chunk answers and the query; None if no questions were searched."""


AFFINITY_PREFIX = "affinity:"
"""Before the category, in the name of a factor of affinity."""
SIMILARITY_KEY, FUSED_SCORE_KEY = "vector_similarity", "fused_score"
SCORE_KEYS = ("search_method", SIMILARITY_KEY, "keyword_score", FUSED_SCORE_KEY, "vector_rank", "keyword_rank")
"""The metadata keys under which a hit carries its scores, as plain numbers; a score that it hasn't is left out."""
MATCHED_TERMS_KEY = "matched_terms"
"""The metadata key of the query's words that a hit has; left out if it has none."""


@dataclass(frozen=True, slots=True)
class RetrievedChunk:
    """A chunk on its way through retrieval: what found it, and what its score is made of.

    >>> from ctxassembly import Chunk, MemoryIndex, RetrievalConfig, retrieve
    >>> index = MemoryIndex([Chunk("lab#0", "lab", "Ferritin is measured in the morning.", 0)])
    >>> [found] = retrieve("When is ferritin measured?", RetrievalConfig(strategy="keyword"), index=index).chunks
    >>> found.channels, found.terms, dict(found.ranks)
    (('keyword',), ('is', 'ferritin', 'measured'), {'keyword': 0})
    """

    chunk: Chunk
    score: float
    """All scores from fusion on have one scale: the best fused chunk has 1. A chunk inserted at a fixed place has the
    score of its neighbor in the list, so that scores never rise."""
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
    """The id of the better chunk next to it, which raised its fused score."""
    factors: tuple[tuple[str, float], ...] = ()
    """Name and factor of each boost, of reranking and of affinity, in the order of their multiplication."""
    because_of: tuple[str, ...] = ()
    """The query's words that brought it, for a rescued chunk; the names, for one of entities."""
    published_score: float | None = None
    """The published rule's own number for chunks that came by another way (.85 to .95)."""


def chunk_with_scores(retrieved: RetrievedChunk) -> Chunk:
    """Return the chunk with its scores in the metadata."""
    values = (
        "+".join(retrieved.channels),
        retrieved.similarity,
        retrieved.keyword_score,
        retrieved.fused_score,
        retrieved.ranks.get("vector"),
        retrieved.ranks.get("keyword"),
    )
    known: dict[str, Any] = {key: value for key, value in zip(SCORE_KEYS, values, strict=True) if value is not None}
    if retrieved.terms:
        known[MATCHED_TERMS_KEY] = list(retrieved.terms)
    return replace(retrieved.chunk, metadata={**retrieved.chunk.metadata, **known})


SearchMethod = Literal["hybrid_bm25_vector", "vector_only", "keyword_only", "graph_only", "other", "none"]
"""The ways to search a query, by the names that production traces use; "other" is a retriever of another make."""
StepName = Literal["resolve", "search", "fuse", "boost", "rerank", "affinity", "limit", "entities", "rescue"]
"""The steps of retrieval, in their order."""
_STEP_LABELS: Mapping[StepName, str] = {
    "search": "found",
    "fuse": "fused",
    "boost": "boosted",
    "rerank": "reranked",
    "affinity": "weighed",
}
"""For each step before the limit that has chunks, what a line for a reader calls them."""
_ADDED_LABELS: Mapping[StepName, str] = {"entities": "from the taxonomy", "rescue": "rescued"}
"""The same for steps that bring chunks to those kept. "resolve" has none, and "limit" ends the line."""
MAX_SHOWN_WORDS = 8
"""Most words in a line for a reader."""


@dataclass(frozen=True, slots=True)
class Step:
    """One step of retrieval: the number of chunks before it, the chunks after it, and its time.

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
    keyword_only for iron, or, ferritin: 2 found -> 2 fused -> 1 kept, 2 keyword matches, evidence 0.39, 2 round trips
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
    lowered: tuple[RetrievedChunk, ...] = ()
    """Chunks whose category doesn't go with the intent."""
    keyword_matches: int | None = None
    """The number of chunks that keyword search found, of which the best are kept; None without keyword search."""

    @property
    def summary(self) -> str:
        """One line for a log: what was searched, the chunks after each step, evidence and round trips."""
        words = join_first([" ".join(word.split()) for word in self.terms], MAX_SHOWN_WORDS)
        searched = self.search_method + (f" for {words}" if words else "")
        matches = self.keyword_matches
        parts = [
            *self._counts(),
            *([] if matches is None else [pluralize(matches, "keyword match", "keyword matches")]),
            *([] if self.evidence is None else [f"evidence {self.evidence:.2f}"]),
            pluralize(self.round_trips, "round trip"),
        ]
        return f"{searched}: {', '.join(parts)}"

    def _counts(self) -> list[str]:
        """Return one entry for the chunks after each step up to the limit, and one for each step that adds others."""
        counts = [f"{step.chunks_out:,} {_STEP_LABELS[step.name]}" for step in self.steps if step.name in _STEP_LABELS]
        if any(step.name == "limit" for step in self.steps):
            counts.append(f"{self.steps[-1].chunks_out:,} kept")
        brought = [
            f"{len(set(step.ids).difference(before.ids)):,} {_ADDED_LABELS[step.name]}"
            for before, step in pairwise(self.steps)
            if step.name in _ADDED_LABELS
        ]
        return [" -> ".join(counts), *brought] if counts else []

    def __str__(self) -> str:
        return "\n".join((self.summary, *self.notes))


@dataclass(frozen=True, slots=True)
class Retrieved:
    """The hits for a query, best first, and their trace. A notebook shows how each came to its place.

    >>> from ctxassembly import Chunk, MemoryIndex, RetrievalConfig, retrieve
    >>> index = MemoryIndex([Chunk("lab#0", "lab", "Ferritin."), Chunk("lab#1", "lab", "Ferritin, and iron.")])
    >>> retrieved = retrieve("iron or ferritin", RetrievalConfig(strategy="keyword"), index=index)
    >>> print(retrieved)
    rank  score  channels  id
       1  1.000  keyword   lab#1
       2  0.208  keyword   lab#0
    >>> "How it was found" in retrieved.to_html()
    True
    """

    query: str
    """The query of the vectors, for assembly: rewritten, with the names that it resolves to."""
    chunks: tuple[RetrievedChunk, ...]
    trace: RetrievalTrace
    statements: tuple[str, ...] = ()
    """Sentences of the taxonomy on what the question names, for a supplement."""
    intent: str | None = None
    """The intent of the question."""

    def mismatches(self) -> list[dict[str, Any]]:
        """Return a row for each chunk whose category doesn't match the intent, as plain values for a table.

        >>> from ctxassembly import Chunk, MemoryIndex, RetrievalConfig, retrieve
        >>> from ctxassembly.retrieval import Question
        >>> heart = Chunk("card#0", "card", "A wheelchair is ready.", metadata={"category": "clinical_info"})
        >>> config = RetrievalConfig(strategy="keyword", affinity={"navigate": {"clinical_info": 0.5}})
        >>> asked = Question("Where is a wheelchair?", intent="navigate")
        >>> retrieve(asked, config, index=MemoryIndex([heart])).mismatches() == [{
        ...     "query": "Where is a wheelchair?", "intent": "navigate", "category": "clinical_info", "factor": 0.5,
        ...     "chunk_id": "card#0", "document_id": "card", "score": 0.5, "place": 0}]
        True

        `score` is the one with the factor, `place` that among the hits, from 0, and None for a chunk that isn't one.
        The order is that before affinity. Chunks that a rescue left out for their category aren't among them. pandas
        makes a DataFrame of the list, and SQLAlchemy inserts it if it isn't empty:
        `connection.execute(insert(table), rows)`.
        """
        ranks = {found.chunk.identity: place for place, found in enumerate(self.chunks)}
        return [
            {
                "query": self.query,
                "intent": self.intent,
                "category": name.removeprefix(AFFINITY_PREFIX),
                "factor": factor,
                "chunk_id": found.chunk.id,
                "document_id": found.chunk.document_id,
                "score": found.score,
                "place": ranks.get(found.chunk.identity),
            }
            for found in self.trace.lowered
            for name, factor in found.factors[-1:]
        ]

    @property
    def hits(self) -> tuple[Hit, ...]:
        """The hits for assembly, with `SCORE_KEYS` and `MATCHED_TERMS_KEY` in the metadata of their chunks."""
        return tuple(Hit(chunk_with_scores(found), found.score) for found in self.chunks)

    def explain(self, chunk_id: str) -> Explanation:
        """Return the way of a chunk through this retrieval from its trace, without another search.

        >>> from ctxassembly import Chunk, MemoryIndex, RetrievalConfig, retrieve
        >>> index = MemoryIndex([Chunk("lab#0", "lab", "Ferritin."), Chunk("lab#1", "lab", "Ferritin, and iron.")])
        >>> retrieved = retrieve("ferritin", RetrievalConfig(strategy="keyword", limit=1), index=index)
        >>> explained = retrieved.explain("lab#1")
        >>> explained.lost_at, explained.reason, dict(explained.ranks)
        ('limit', 'place 2 after fuse, where 1 are kept', {'search': 1, 'fuse': 1, 'limit': None})

        A chunk that no channel found is in no trace. `ctxassembly.explain` searches again, so it also explains such a
        chunk, and one that is named by a part of its text.
        """
        steps = [step for step in self.trace.steps if step.name != "resolve"]
        ranks: dict[str, int | None] = {
            step.name: step.ids.index(chunk_id) if chunk_id in step.ids else None for step in steps
        }
        hits = tuple(found.chunk.id for found in self.chunks)
        hit_rank = hits.index(chunk_id) if chunk_id in hits else None
        is_known = hit_rank is not None or any(rank is not None for rank in ranks.values())
        lost_at, reason = (
            self._explain_loss(chunk_id, steps) if hit_rank is None else (None, self._describe_hit(hit_rank))
        )
        return Explanation(
            query=self.query,
            expected=chunk_id,
            chunk_id=chunk_id if is_known else None,
            lost_at=lost_at,
            reason=reason,
            rank=hit_rank,
            ranks=ranks,
            sizes={step.name: step.chunks_out for step in steps},
            displaced_by=() if lost_at is None else hits,
        )

    def _describe_hit(self, rank: int) -> str:
        """Return the place of a hit, the channels that found it, and the factors on its score."""
        found = self.chunks[rank]
        factors = "".join(f", {name} x {factor:g}" for name, factor in found.factors)
        return f"hit {rank + 1} of {len(self.chunks)}, by {' and '.join(found.channels)}{factors}"

    def _explain_loss(self, chunk_id: str, steps: Sequence[Step]) -> tuple[str, str]:
        """Return the step at which a chunk that is no hit was lost, and why."""
        last = max((at for at, step in enumerate(steps) if chunk_id in step.ids), default=-1)
        if last < 0:
            return "search", "no channel brought it" if steps else "; ".join(self.trace.notes) or "there was no search"
        if last + 1 == len(steps):
            return "evidence", next((note for note in self.trace.notes if note.startswith("evidence")), "")
        last_step, lost_step = steps[last], steps[last + 1]
        reasons: Mapping[str, str] = {
            "fuse": "its similarity is below min_similarity, and its words don't bring it",
            "limit": (
                f"place {last_step.ids.index(chunk_id) + 1} after {last_step.name}, where "
                f"{lost_step.chunks_out} are kept"
            ),
        }
        reason = reasons.get(lost_step.name, f"it made room for {lost_step.name}")
        lowered = next((found for found in self.trace.lowered if found.chunk.id == chunk_id), None)
        if lost_step.name == "limit" and lowered:
            reason += "".join(f", {name} x {factor:g}" for name, factor in lowered.factors)
        return lost_step.name, reason

    def __str__(self) -> str:
        channels = ["+".join(found.channels) for found in self.chunks]
        width = max(map(len, ("channels", *channels)))
        rows = [
            f"{rank:4}  {found.score:5.3f}  {by:{width}}  {' '.join(found.chunk.id.split())}"
            for rank, (found, by) in enumerate(zip(self.chunks, channels, strict=True), 1)
        ]
        return "\n".join((f"rank  score  {'channels':{width}}  id", *rows)) if rows else "no hits"

    # The views are above this room, and imported where one is asked for: assembling alone stays fast to load.

    def to_html(self) -> str:
        """Return a page with each hit's rank in the channels, the factors on its score, the steps, and the losses.

        It is one file of HTML and CSS without scripts, below a megabyte. A notebook shows the same by itself; the page
        of a context has it next to the text: `context.to_html(retrieved=retrieved)`.
        """
        from ctxassembly.views.html import wrap_page

        return wrap_page(self._repr_html_())

    def _repr_html_(self) -> str:
        from ctxassembly.views.retrieval import retrieval_html

        return retrieval_html(self)


@dataclass(frozen=True, slots=True)
class QueryUnderstanding:
    """A question as a model understood it. What wasn't asked for, or came malformed, has its default.

    >>> from ctxassembly import understand
    >>> from ctxassembly.answering import AnswerConfig, Exchange
    >>> def model(request):
    ...     return '{"question": "May I eat before a gastroscopy?"}'
    >>> history = [Exchange("May I drink before a gastroscopy?", "Until two hours before [1].")]
    >>> understand("And eat?", AnswerConfig(), model=model, history=history).rewritten
    'May I eat before a gastroscopy?'
    """

    intent: str | None = None
    confidence: float | None = None
    """The model's own for the intent, 0 to 1, even where the default label took its place."""
    rewritten: str | None = None
    """The question made self-contained, in the language of the corpus; None if it is so already."""
    sub_questions: tuple[str, ...] = ()
    """Questions with evidence of their own; empty for one that needs a single piece."""
    is_dissatisfied: bool = False
    """True if the user says that the last answer was wrong, incomplete or not what was asked."""
    notes: tuple[str, ...] = ()
    """Fallbacks taken."""
