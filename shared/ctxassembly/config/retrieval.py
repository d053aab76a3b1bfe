"""The settings of retrieval. A wrong value is an error at construction that names parameter, range and value."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

from ctxassembly.config.field_docs import config_class
from ctxassembly.data.filters import as_predicate
from ctxassembly.data.validation import NonBlank, Range, check_fields, check_int, check_number
from ctxassembly.errors import ConfigError

Strategy = Literal["hybrid", "vector", "keyword", "graph"]
Fusion = Literal["convex", "rrf"]
Rescue = Literal["last", "first", "off"]
OnSearchError = Literal["degrade", "raise"]


@config_class
@dataclass(frozen=True, slots=True)
class Boost:
    """A factor for chunks whose metadata agree with the query or the conversation.

    >>> Boost("category", 1.2, {"category": "practical"})
    Boost(name='category', factor=1.2, where={'category': 'practical'})
    """

    name: Annotated[str, NonBlank()]
    """Its name in the trace."""
    factor: Annotated[float, Range(above=0)]
    """Above 0; 1.2 is +20 %."""
    where: Mapping[str, Any] = field(hash=False)
    """Metadata keys (dotted paths too), each with the value to have, a collection of values to have one of, or
    operators as in a filter, `{"updated": {"$gte": "2026-01-01"}}`. "id" and "document_id" are the chunk's own."""

    def __post_init__(self) -> None:
        check_fields(self, "boost.")
        if not isinstance(self.where, Mapping) or not self.where:
            raise ConfigError("boost.where", "a non-empty mapping of metadata keys to values", self.where)
        for key, wanted in self.where.items():
            if isinstance(wanted, Mapping):
                as_predicate({key: wanted})


@config_class
@dataclass(frozen=True, slots=True, kw_only=True)
class RetrievalConfig:
    """The settings of a retrieval. The defaults are what is measured best; see `published` for the others.

    >>> RetrievalConfig(limit=10).candidates_per_channel
    40
    """

    # What is searched
    strategy: Strategy = "hybrid"
    """The search: "hybrid" goes by vectors, words and the taxonomy; "vector", "keyword" and "graph" by one of them
    alone. Measured on three sets: .947, .978 and .637 of the evidence among the best 5 chunks by "hybrid", .803, .774
    and .249 by "vector", .921, .962 and .585 by "keyword" (`make bench-retrieval`)."""
    limit: Annotated[int, Range(1)] = 20
    """The number of hits, from 1. Published is 7, with nothing chosen after it. Assembly chooses, and finds most with
    20: measured at 8,000 tokens .863 of the evidence, .734 with 5 (`make bench`)."""
    candidates: Annotated[int, Range(1)] | None = None
    """The chunks that each channel gives to fusion, at least `limit`. None gives 4 x `limit`, or `rerank_candidates` if
    that is more."""
    min_similarity: Annotated[float, Range(-1, 1)] | None = None
    """The cosine below which a vector hit is left out, -1 to 1; None keeps all. The published .40 costs up to .23 of
    the evidence with a small embedder."""
    query_prefix: str = ""
    """The text before the query where it is embedded, as some models want it."""
    max_terms: Annotated[int, Range(1, 200)] = 32
    """The most words of a query that are searched, the rarest ones, 1 to 200."""
    stop_word_weight: Annotated[float, Range(0, 1)] = 0.75
    """The part of its weight that a function word of the query ("what", "explain", "waarom") keeps where words are
    searched, 0 to 1. 1 (published) goes by rareness alone: of questions on papers that finds .005 to .009 less of the
    evidence, with a standard error of .003. Assembly has its own, `stop_words`."""
    on_search_error: OnSearchError = "degrade"
    """The step when a channel fails: "degrade" goes on without it, and says so in the trace; all failing is an error.
    "raise" raises at the first."""
    timeout_seconds: Annotated[float, Range(above=0)] = 10.0
    """The time for each request to the channels, above 0. A channel that is late counts as failed."""

    # How the channels become one list
    fusion: Fusion = "convex"
    """The way from scores of several channels to one: "convex" adds normalized scores: each divided by the best of its
    channel, the keyword score times `keyword_weight`, the similarity times the rest. "rrf" adds 1 / (rrf_k + rank),
    ranks from 0, in the same proportion; the trace says where that puts all chunks of one channel before those of the
    other. Measured on three sets: "rrf" has .908, .959 and .483 of the evidence among the best 5, "convex" .947, .978
    and .637 (`make bench-retrieval`)."""
    keyword_weight: Annotated[float, Range(0, 1)] = 0.6
    """The part of the words, 0 to 1. `tune` fits it on questions of your own. Published: .5."""
    rrf_k: Annotated[float, Range(1)] = 60.0
    """The constant of "rrf", from 1; published: 60. The larger, the more two lukewarm agreements outweigh one best
    hit."""
    adjacency: Annotated[float, Range(0, 1)] = 0.15
    """The part of the way that a chunk's score is raised towards that of a better chunk beside it in its document, 0
    (published) to 1: answers tend to go on there. Only "hybrid" does it: one channel alone keeps its order. Measured on
    three sets: .000 to .016 more of the evidence among the best 20 (`make bench-retrieval`)."""

    # What changes the order after that
    boosts: tuple[Boost, ...] = ()
    """The factors for chunks with certain metadata, multiplied. Measured with a factor of 1.2: .004 to .081 more among
    the best 20 where it knows the right document, up to .021 less among the best 5 where it names a wrong one."""
    affinity: Mapping[str, Mapping[str, float]] = field(default_factory=dict, hash=False)
    """The factors by intent and category of content, each above 0. What it doesn't name has factor 1."""
    category_key: str = "category"
    """The metadata key that has a chunk's category of content."""
    rerank_candidates: Annotated[int, Range(1)] | None = None
    """The number of chunks, best first, that a reranker gets, from 1; `limit` is how many of all are kept. The others
    stay behind those, in their order. None gives it all of them, up to `candidates` a channel."""

    # What is brought in besides
    rescue: Rescue = "last"
    """The place of chunks that are fetched for specific words of the query that no hit has: the "last" places, or the
    "first"; "off" fetches none. Measured: .000 to .003 more of the evidence, since most words stand in the hits."""
    rescue_terms: Annotated[int, Range(0)] = 2
    """The most words that are rescued, from 0."""
    rescue_max_chunks: Annotated[int, Range(0)] = 1
    """The chunks that may have a word at most for it to be specific, from 0. At 5 % of all chunks recall falls."""
    rescue_min_letters: Annotated[int, Range(1)] | None = None
    """The letters, from 1, that make a word specific as well; None looks at rareness alone. Published: 6."""
    min_evidence: Annotated[float, Range(0, 2)] | None = None
    """The evidence that at least one chunk has to have for any hits to be given, 0 to 2: its similarity and its share
    of the query's words, added up; None always gives some. With a small embedder 95 % of the questions that a corpus
    answers had at least .63 to .90, and 95 % of those of another field and language at most .48. Where words or vectors
    alone are searched the sum is at most 1; after a failure nothing is judged."""

    def __post_init__(self) -> None:
        check_fields(self)
        if self.candidates is not None:
            check_int("candidates", self.candidates, self.limit)
        object.__setattr__(self, "boosts", check_boosts(self.boosts))
        _check_affinity(self.affinity)

    @property
    def candidates_per_channel(self) -> int:
        """The number of chunks that each channel gives to fusion."""
        return max(4 * self.limit, self.rerank_candidates or 0) if self.candidates is None else self.candidates

    @classmethod
    def published(cls) -> RetrievalConfig:
        """The published numbers: 28 candidates for 7 hits, a similarity of .40 at least, RRF 60, rescue from 6 letters.

        >>> RetrievalConfig.published().candidates_per_channel
        28
        """
        return cls(
            limit=7,
            min_similarity=0.40,
            fusion="rrf",
            keyword_weight=0.5,
            adjacency=0.0,
            stop_word_weight=1.0,
            rescue_min_letters=6,
        )


def check_boosts(boosts: Any) -> tuple[Boost, ...]:
    """The boosts as a tuple.

    Raises:
        ConfigError: there is something else among them.
    """
    if not isinstance(boosts, (tuple, list)) or not all(isinstance(boost, Boost) for boost in boosts):
        raise ConfigError("boosts", "a tuple of Boost", boosts)
    return tuple(boosts)


def _check_affinity(affinity: Any) -> None:
    rows = list(affinity.values()) if isinstance(affinity, Mapping) else [None]
    for row in rows:
        if not isinstance(row, Mapping):
            raise ConfigError("affinity", "a mapping of intents to mappings of categories to factors", affinity)
        for factor in row.values():
            check_number("affinity", factor, above=0)
