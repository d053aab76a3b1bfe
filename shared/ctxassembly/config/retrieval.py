"""The settings of retrieval. A wrong value raises an error at construction with parameter, range and value."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

from ctxassembly.data.filters import as_predicate
from ctxassembly.data.validation import NonBlank, Range, check_fields, check_int, check_positive
from ctxassembly.errors import ConfigError

Strategy = Literal["hybrid", "vector", "keyword", "graph"]
Fusion = Literal["convex", "rrf"]
Rescue = Literal["last", "first", "off"]
OnSearchError = Literal["degrade", "raise"]


CONTENT_CATEGORIES = ("practical", "appointments", "general", "legal_admin", "clinical_info", "regulatory")
"""The published categories of content, which the default affinity has factors for."""
_SPECIFIC = tuple(category for category in CONTENT_CATEGORIES if category != "general")
DEFAULT_AFFINITY: Mapping[str, Mapping[str, float]] = {
    **{intent: {category: 0.8 for category in _SPECIFIC if category != intent} for intent in _SPECIFIC},
    "general": {},
}


@dataclass(frozen=True, slots=True)
class Boost:
    """A score factor for chunks whose metadata matches the query or the conversation, or that are recent.

    >>> Boost("category", 1.2, {"category": "practical"}).factor
    1.2
    >>> Boost("recent", 1.2, half_life_days=365).date_key
    'updated_at'
    """

    name: Annotated[str, NonBlank()]
    """The name in the trace."""
    factor: Annotated[float, Range(above=0)]
    """The factor, above 0; 1.2 is +20 %."""
    where: Mapping[str, Any] = field(default_factory=dict, hash=False)
    """The condition: metadata keys (dotted paths too), each with a required value, a collection of accepted values, or
    operators as in a filter, `{"updated": {"$gte": "2026-01-01"}}`. "id" and "document_id" are the chunk's own. It may
    be left out with `half_life_days`."""
    half_life_days: Annotated[float, Range(above=0)] | None = None
    """The age in days at which half of the factor's effect is left: with a factor of 1.2 and 365 days a chunk of today
    has 1.2, one of a year ago 1.1, one of two years ago 1.05. A chunk without a date has 1. None: age doesn't
    matter."""
    date_key: Annotated[str, NonBlank()] = "updated_at"
    """The metadata key, or dotted path, of the date for `half_life_days`."""

    def __post_init__(self) -> None:
        check_fields(self, "boost.")
        if not isinstance(self.where, Mapping) or not (self.where or self.half_life_days):
            raise ConfigError("boost.where", "a non-empty mapping of metadata keys to values", self.where)
        for key, wanted in self.where.items():
            if isinstance(wanted, Mapping):
                as_predicate({key: wanted})


@dataclass(frozen=True, slots=True, kw_only=True)
class RetrievalConfig:
    """The settings of a retrieval. The defaults measured best; `published` returns the published settings.

    >>> RetrievalConfig(limit=10).candidates_per_channel
    40
    """

    # Search
    strategy: Strategy = "hybrid"
    """The search strategy: "hybrid" combines vector search, keyword search and the taxonomy; "vector", "keyword" and
    "graph" use one of them alone. Measured on three sets: .947, .978 and .637 of the evidence among the best 5 chunks
    with "hybrid", .803, .774 and .249 with "vector", .921, .962 and .585 with "keyword" (`make bench-retrieval`)."""
    limit: Annotated[int, Range(1)] = 20
    """The number of hits, at least 1. The published value is 7, without a selection afterwards. Assembly selects from
    the hits, and finds most with 20: measured at 8,000 tokens .863 of the evidence, .734 with 5 (`make bench`)."""
    candidates: Annotated[int, Range(1)] | None = None
    """The number of chunks that each channel passes to fusion, at least `limit`. None passes 4 x `limit`, or
    `rerank_candidates` if that is more."""
    query_prefix: str = ""
    """Text to put before a query when it is embedded, as some models ask for: "query: ". Keyword search doesn't read
    it."""
    min_similarity: Annotated[float, Range(-1, 1)] | None = None
    """The minimum cosine similarity of a vector hit, -1 to 1. None keeps all hits. The published .40 loses up to .23 of
    the evidence with a small embedder."""
    stop_word_weight: Annotated[float, Range(0, 1)] = 0.75
    """The weight of a function word of the query ("what", "explain", "waarom") in keyword search, as a share of its
    normal weight, 0 to 1. 1 (published) weights by rarity alone: on questions about papers that finds .005 to .009 less
    of the evidence, with a standard error of .003."""
    on_search_error: OnSearchError = "degrade"
    """The action when a channel fails: "degrade" continues without it and records the failure in the trace; if all
    channels fail, an error is raised. "raise" raises an error at the first failure."""
    timeout_seconds: Annotated[float, Range(above=0)] = 10.0
    """The timeout for each request to the channels, in seconds, above 0. A channel that is late counts as failed."""

    # Fusion of the channels
    fusion: Fusion = "convex"
    """The method of combining the scores of several channels: "convex" adds normalized scores: each is divided by the
    best score of its channel, the keyword score is multiplied by `keyword_weight`, the similarity by the rest. "rrf"
    adds 1 / (`rrf_k` + rank + 1), ranks from 0, in the same proportion. Measured on three sets: "rrf" has .908, .959
    and .483 of the evidence among the best 5 chunks, "convex" .947, .978 and .637 (`make bench-retrieval`)."""
    rrf_k: Annotated[float, Range(above=0)] = 60.0
    """The constant of "rrf", above 0. The larger it is, the more two mediocre ranks outweigh one top rank."""
    keyword_weight: Annotated[float, Range(0, 1)] = 0.6
    """The weight of keyword search, 0 to 1. Published: .5."""
    adjacency: Annotated[float, Range(0, 1)] = 0.15
    """The share of the difference by which a chunk's score is raised toward the score of a better adjacent chunk of its
    document, 0 (published) to 1: answers often continue there. Only "hybrid" uses it: a single channel keeps its order.
    Measured on three sets: .000 to .016 more of the evidence among the best 20 chunks (`make bench-retrieval`)."""

    # Reordering after fusion
    boosts: tuple[Boost, ...] = ()
    """Score factors for chunks with certain metadata. They are multiplied. Measured with a factor of 1.2: .004 to .081
    more of the evidence among the best 20 chunks if it names the right document, up to .021 less among the best 5 if it
    names a wrong one."""
    affinity: Mapping[str, Mapping[str, float]] = field(default_factory=lambda: dict(DEFAULT_AFFINITY), hash=False)
    """Score factors by intent and content category, each above 0. Pairs that are not listed have factor 1. The default
    is for the published categories, which are intents as well: "practical", "appointments", "legal_admin",
    "clinical_info" and "regulatory", where a chunk of another one than the intent has .8, and "general", which has 1.
    With other labels it does nothing, and the trace says so. Measured on a made set of 24 questions and four kinds of
    pages: the best chunk is the right one for 1.00 of them if the intents are right, for .88 if a quarter is wrong,
    and for .71 without intents. With .5 these are 1.00 and .75."""
    rerank_candidates: Annotated[int, Range(1)] | None = None
    """The number of chunks, best first, that a reranker receives, at least 1; `limit` sets how many chunks are kept
    overall. The other chunks follow them in their previous order. None sends all chunks, up to `candidates` per
    channel."""

    # Additional chunks, and refusal
    rescue: Rescue = "last"
    """The position of chunks that are fetched for specific query words that no hit contains: the "last" places, or the
    "first"; "off" fetches none. Measured: .000 to .003 more of the evidence, since the hits contain most words."""
    rescue_min_letters: Annotated[int, Range(1)] | None = None
    """The number of letters, at least 1, that makes a word specific, however common it is. None goes by rarity instead,
    in words of any length. Published: 6, which brought a chunk on wound care to the first label for "behandelt"."""
    min_evidence: Annotated[float, Range(0, 2)] | None = None
    """The minimum evidence that at least one chunk must have for any hits to be returned, 0 to 2: its similarity plus
    its share of the query's words. None always returns hits. With a small embedder, 95 % of the questions that a corpus
    answers had at least .63 to .90, and 95 % of the questions from another field and language at most .48. If only
    keywords or only vectors are searched, the sum is at most 1; after a failure the setting is not applied."""

    # The facts of a taxonomy
    supplement_similarity: Annotated[float, Range(-1, 1)] | None = None
    """The best similarity of a hit from which on a taxonomy's sentences on the question are left out, -1 to 1: the hits
    are likely to have them. They are given all the same if there are no hits, or none with a similarity. None never
    leaves them out."""
    supplement_intents: tuple[str, ...] = ()
    """The intents with which these sentences are given whatever the similarity."""

    def __post_init__(self) -> None:
        check_fields(self)
        intents = self.supplement_intents
        if not isinstance(intents, (tuple, list)) or not all(isinstance(intent, str) for intent in intents):
            raise ConfigError("supplement_intents", "a tuple of strings", intents)
        object.__setattr__(self, "supplement_intents", tuple(intents))
        if self.candidates is not None:
            check_int("candidates", self.candidates, self.limit)
        object.__setattr__(self, "boosts", check_boosts(self.boosts))
        _check_affinity(self.affinity)

    @property
    def candidates_per_channel(self) -> int:
        """The number of chunks that each channel passes to fusion."""
        return max(4 * self.limit, self.rerank_candidates or 0) if self.candidates is None else self.candidates

    @classmethod
    def published(cls) -> RetrievalConfig:
        """Return the published settings: 28 candidates for 7 hits, a minimum similarity of .40, RRF with k = 60.

        Words of 6 letters or more are rescued, to the first places, and no shorter ones; 20 chunks are reranked.

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
            rescue="first",
            rescue_min_letters=6,
            rerank_candidates=20,
        )


def check_boosts(boosts: Any) -> tuple[Boost, ...]:
    """Return `boosts` as a tuple.

    Raises:
        ConfigError: one of them is not a `Boost`.
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
            check_positive("affinity", factor)
