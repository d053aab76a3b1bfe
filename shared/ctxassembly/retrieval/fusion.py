"""Fusion: the chunks of all channels as one list, on one scale.

Two ways, and why the first is the default. RRF adds `1 / (k + rank + 1)`: it needs no scores, but a sure first
place counts no more than a lucky one. With k = 60 the best hit of one channel alone (.0164) ranks below the 28th of
both (.0227), so a name that only the words find is lost behind 28 lukewarm agreements. The convex sum uses what the
ranks throw away: each channel's scores, divided by the channel's best, are added in the proportion of `keyword_weight`.

That works since the index fills in what a channel didn't find: every chunk in the union has its true cosine and its
true keyword score. A chunk that lacks one all the same, as the chunks of a custom channel may, gets the lowest
score of that channel, not 0: it was not looked at, which says little against it. Only a search for words that gave
fewer hits than it might has looked at all.

A channel's best is only as good as it is. Where no chunk has more than common words of the query, the best of them
would count as much as a true one: so words are measured by at least what a chunk has that says the rarest of them once.

Evidence among the best 5 / 10 / 20 chunks, words alone, RRF 60 and convex .6: German paragraphs .954 .970 .984,
.960 .983 .990 and .975 .986 .990; Dutch standards .531 .626 .717, .441 .602 .695 and .533 .638 .721. Of 72 ways tried
it is one of three that were nowhere below the better channel. Other ways to normalize (least to best, standard scores,
what a chunk could have at most), more candidates and weights by question change nothing by more than chance.

**Adjacency.** A chunk next to a better one in its document is more likely to answer than its own words and vector say.
Text next to an answer often continues it, and a splitter cuts answers in two. So a score is raised part of the way
towards the score of the better neighbor among the candidates (score regularization: Diaz 2005, "Regularizing ad hoc
retrieval scores"). No score falls, the best stays the best, and nothing is fetched for it.

Evidence among the best 5 / 10 / 20 chunks without it, and what .15 adds, ± the standard error of the difference:

- English texts      .947 .967 .986   -.001 ±.001   +.000 ±.000   +.000 ±.000
- German paragraphs  .978 .985 .993   +.000 ±.000   +.001 ±.001   +.002 ±.002
- Dutch standards    .623 .698 .771   +.014 ±.007   +.014 ±.008   +.016 ±.005
- Papers on COVID    .784 .840 .890   -.003 ±.002   +.001 ±.001   +.003 ±.002

The evidence of the standards is whole sections, and they go on gaining up to .5, where the English texts lose .010
±.009 at 5 chunks. Raising all chunks of the best one's document adds more to the standards (+.04 at 20), but may fill
the list with one document. Assembly reads the neighbors of hits anyway: its contexts change by no more than chance.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from types import MappingProxyType
from typing import Any

from ctxassembly.config.retrieval import Boost, RetrievalConfig
from ctxassembly.data.chunks import Chunk, Hit, Identity, separate_shared_ids
from ctxassembly.data.filters import as_predicate
from ctxassembly.data.metadata_keys import get_path
from ctxassembly.data.retrieval import AFFINITY_PREFIX, SINGLE_OCCURRENCE, Channel, RetrievedChunk, ScoredChunk
from ctxassembly.retrieval.taxonomy import Node

CATEGORY_BOOST, ENTITY_TYPE_BOOST = 1.2, 1.1
"""The published factors."""
SECONDS_PER_DAY = 86_400
Position = str | tuple[str, int]
"""An id, or a document and an index in it."""


def lift_neighbors(found: Sequence[RetrievedChunk], share: float) -> list[RetrievedChunk]:
    """Return `found`, each score raised by `share` of the gap to the better adjacent chunk, if there is one.

    If two chunks share an index in a document, neither counts as adjacent to a third.
    """
    by_position: dict[Position, RetrievedChunk | None] = {}
    for one in found:
        places: list[Position] = [one.chunk.id]
        if one.chunk.index is not None:
            places.append((one.chunk.document_id, one.chunk.index))
        for place in places:
            by_position[place] = None if place in by_position else one
    lifted = []
    for one in found:
        near = [other for place in _adjacent_positions(one.chunk) if (other := by_position.get(place))]
        better = max((one, *near), key=lambda other: other.score)
        score = one.score + share * (better.score - one.score)
        is_best = better is one
        lifted.append(one if is_best else replace(one, score=score, fused_score=score, raised_by=better.chunk.id))
    return lifted


def _adjacent_positions(chunk: Chunk) -> list[Position]:
    """Return the positions next to a chunk, as far as it knows them."""
    positions: list[Position] = [id_ for id_ in (chunk.prev_id, chunk.next_id) if id_ is not None]
    if chunk.index is not None:
        positions += [(chunk.document_id, chunk.index + step) for step in (-1, 1)]
    return positions


Ranking = Mapping[Channel, Sequence[Identity]]
"""The chunks that each channel found, best first."""


_SCORE_FIELDS: Mapping[Channel, str] = {
    "vector": "similarity",
    "keyword": "keyword_score",
    "questions": "question_similarity",
}
"""The field of a `ScoredChunk` with its score in each channel."""


def _channel_score(one: ScoredChunk, channel: Channel) -> float | None:
    score: float | None = getattr(one, _SCORE_FIELDS[channel])
    return score


def rank_channels(
    scored: Sequence[ScoredChunk], limit: int, min_similarity: float | None
) -> dict[Channel, list[Identity]]:
    """Return the best `limit` chunks of each channel, ties by id. A keyword score of 0 is no match."""
    found: dict[Channel, list[Identity]] = {}
    for channel in _SCORE_FIELDS:
        scores = [_channel_score(one, channel) for one in scored]
        min_score = -math.inf if channel == "keyword" or min_similarity is None else min_similarity
        ranked = sorted(
            (-score, one.chunk.id, at, one.chunk)
            for at, (one, score) in enumerate(zip(scored, scores, strict=True))
            if score is not None and score >= min_score and (score or channel != "keyword")
        )
        if any(score is not None for score in scores):
            found[channel] = [chunk.identity for *_, chunk in ranked[:limit]]
    return found


def to_scored_chunks(channel: Channel, hits: Sequence[Hit]) -> list[ScoredChunk]:
    """Return the hits of a custom channel as scored chunks. Unless all have a score, rank decides, best 1."""
    own_scores = [hit.score for hit in hits if hit.score is not None and math.isfinite(hit.score)]
    scores: list[Any] = own_scores if len(own_scores) == len(hits) else [1 / (1 + rank) for rank in range(len(hits))]
    chunks = (ScoredChunk(hit.chunk) for hit in hits)
    return [one._replace(**{_SCORE_FIELDS[channel]: score}) for one, score in zip(chunks, scores, strict=True)]


def merge_channels(lists: Sequence[Sequence[ScoredChunk]]) -> list[ScoredChunk]:
    """Merge lists into one entry per chunk. See `separate_shared_ids` for ids that lists share."""
    found: dict[tuple[str, ...], ScoredChunk] = {}
    chunks = separate_shared_ids([[one.chunk for one in channel_chunks] for channel_chunks in lists])
    for one, chunk in zip(chain(*lists), chain(*chunks), strict=True):
        _, *same = chunk.identity  # channels of different makes may name a chunk's document in different ways
        known = found.get(tuple(same), one._replace(chunk=chunk))
        own = {name: score for name in _SCORE_FIELDS.values() if (score := getattr(one, name)) is not None}
        found[tuple(same)] = known._replace(terms=known.terms or one.terms, **own)
    return list(found.values())


def fuse(
    scored: Sequence[ScoredChunk],
    ranked: Ranking,
    config: RetrievalConfig,
    weights: Mapping[str, float] = MappingProxyType({}),
) -> list[RetrievedChunk]:
    """Return the chunks that any channel in `ranked` found, best first, the best with score 1. Ties by id.

    When channels are fused, chunks next to better ones are raised by `config.adjacency`.
    `weights` are the weights of the query's words, if our own index searched them.
    """
    ranks: dict[Identity, dict[Channel, int]] = {}
    for channel, identities in ranked.items():
        for rank, identity in enumerate(identities):
            ranks.setdefault(identity, {})[channel] = rank
    with_identity = [(identity, one) for one in scored if (identity := one.chunk.identity) in ranks]
    channel_weights = _channel_weights(ranked, config)
    if config.fusion == "rrf":
        raw_scores = {
            identity: sum(channel_weights[channel] / (config.rrf_k + rank + 1) for channel, rank in by.items())
            for identity, by in ranks.items()
        }
    else:
        min_best = SINGLE_OCCURRENCE * max(weights.values(), default=0.0)
        raw_scores = _convex_scores(with_identity, channel_weights, min_best, config.candidates_per_channel)
    best = max(raw_scores.values(), default=0.0) or 1.0
    found = [
        RetrievedChunk(
            chunk=one.chunk,
            score=raw_scores[identity] / best,
            channels=tuple(ranks[identity]),
            similarity=one.similarity,
            keyword_score=one.keyword_score,
            terms=one.terms,
            fused_score=raw_scores[identity] / best,
            ranks=ranks[identity],
        )
        for identity, one in with_identity
    ]
    return sort_by_score(
        lift_neighbors(found, config.adjacency) if config.strategy == "hybrid" and config.adjacency else found
    )


def sort_by_score(found: Sequence[RetrievedChunk]) -> list[RetrievedChunk]:
    """Sort by score, best first; ties by id, so that the same input gives the same order."""
    return sorted(found, key=lambda one: (-one.score, one.chunk.id))


def multiply_score(found: RetrievedChunk, name: str, factor: float) -> RetrievedChunk:
    """Return `found` with its score times `factor`, recorded in the trace as `name`."""
    return replace(found, score=found.score * factor, factors=(*found.factors, (name, factor)))


def _channel_weights(ranked: Ranking, config: RetrievalConfig) -> dict[Channel, float]:
    """Return the weight of each channel that found something. A single channel has weight 1.

    What `keyword_weight` leaves goes in equal parts to vectors and questions.
    """
    found = [channel for channel, identities in ranked.items() if identities]
    if len(found) < 2:
        return dict.fromkeys(found, 1.0)
    each = (1 - config.keyword_weight) / sum(channel != "keyword" for channel in found)
    return {channel: config.keyword_weight if channel == "keyword" else each for channel in found}


def _convex_scores(
    with_identity: Sequence[tuple[Identity, ScoredChunk]],
    channel_weights: Mapping[Channel, float],
    min_best: float,
    full_count: int,
) -> dict[Identity, float]:
    """Return the sum of each chunk's normalized scores.

    The best of words counts as at least `min_best`. Where words or questions gave less than `full_count` hits, a chunk
    that isn't among them has none of the words, or no questions.
    """
    sums = dict.fromkeys((identity for identity, _ in with_identity), 0.0)
    for channel, share in channel_weights.items():
        scores = {key: _channel_score(one, channel) for key, one in with_identity}
        known_scores = [score for score in scores.values() if score is not None]
        lowest, best = min(known_scores), max(known_scores)
        if channel == "keyword":
            best = max(best, min_best)
        if channel != "vector" and len(known_scores) < full_count:
            lowest = 0.0
        for identity, score in scores.items():
            # A cosine may be below 0, for all of them: then the best is not a measure, and the distance from it is.
            value = lowest if score is None else score
            sums[identity] += share * (value / best if best > 0 else 1 + value - best)
    return sums


Classifier = Callable[[Chunk], str | None]
"""A function from a chunk to its category of content."""


def category_in_metadata(chunk: Chunk) -> str | None:
    """Return the category of content that the metadata of `chunk` name under "category"."""
    value = get_path(chunk.metadata, "category")
    return value if isinstance(value, str) else None


def apply_boosts(found: Sequence[RetrievedChunk], boosts: Sequence[Boost], now: float = 0.0) -> list[RetrievedChunk]:
    """Return `found` with each boost's factor applied to its chunks, best first. `now` is in seconds since 1970."""
    for boost in boosts:
        factors = [boost_factor(one.chunk, boost, now) for one in found]
        found = [
            one if factor == 1 else multiply_score(one, boost.name, factor)
            for one, factor in zip(found, factors, strict=True)
        ]
    return sort_by_score(found)


def boost_factor(chunk: Chunk, boost: Boost, now: float) -> float:
    """Return the factor of `boost` for `chunk`; 1 if it isn't meant, or has no date for one that decays by age."""
    if not _matches_conditions(chunk, boost.where):
        return 1.0
    if boost.half_life_days is None:
        return boost.factor
    from ctxassembly.text.dates import parse_date  # here, so that importing retrieval stays light

    date = parse_date(get_path(chunk.metadata, boost.date_key))
    age_days = math.inf if date is None else max(now - date, 0.0) / SECONDS_PER_DAY
    decay: float = 0.5 ** (age_days / boost.half_life_days)
    return 1 + (boost.factor - 1) * decay


def resolved_boosts(intent: str | None, nodes: Iterable[Node]) -> list[Boost]:
    """Return the boosts that fire by themselves: for what the question is about, as far as that is known.

    A chunk's "category" may be the intent, its metadata under a node's type may name that node, such as a campus, and
    its "entity_type" may be the type of a node.
    """
    names: dict[str, list[str]] = {"category": [intent]} if intent else {}
    types: list[str] = []
    for node in nodes:
        names.setdefault(node.type, []).extend((node.name, *node.aliases, node.id))
        types.append(node.type)
    boosts = [Boost(key, CATEGORY_BOOST, {key: values}) for key, values in names.items()]
    return [*boosts, Boost("entity_type", ENTITY_TYPE_BOOST, {"entity_type": types})] if types else boosts


def apply_affinity(
    found: Sequence[RetrievedChunk], factors: Mapping[str, float], category_of: Classifier
) -> tuple[list[RetrievedChunk], list[RetrievedChunk]]:
    """Return `found` with the factor of its category for the intent, and the chunks that it lowered."""
    changed: list[RetrievedChunk] = []
    lowered: list[RetrievedChunk] = []
    for one in found:
        category = category_of(one.chunk) or ""
        factor = factors.get(category, 1.0)
        changed.append(one if factor == 1.0 else multiply_score(one, AFFINITY_PREFIX + category, factor))
        if factor < 1.0:
            lowered.append(changed[-1])
    return sort_by_score(changed), lowered


def _matches_conditions(chunk: Chunk, where: Mapping[str, Any]) -> bool:
    values = {"id": chunk.id, "document_id": chunk.document_id, **chunk.metadata}
    return all(
        as_predicate({key: wanted})(chunk)
        if isinstance(wanted, Mapping)
        else _equals_any(get_path(values, key), wanted)
        for key, wanted in where.items()
    )


def _equals_any(value: Any, wanted: Any) -> bool:
    """Return True if `value`, or an item of it, equals `wanted` or one of its items."""
    values = value if isinstance(value, (list, tuple, set, frozenset)) else (value,)
    is_collection = isinstance(wanted, Collection) and not isinstance(wanted, (str, bytes))
    return any(one in wanted if is_collection else one == wanted for one in values if one is not None)
