"""Fusion: the chunks of all channels as one list, on one scale.

Two ways, and why the first is the default. RRF adds `1 / (k + rank)`: it needs no scores, but it can't tell a sure
first place from a lucky one. With k = 60 the best hit of one channel alone (.0164) stands behind the 28th of both
(.0227), so a name that only the words find is lost behind 28 lukewarm agreements. The convex sum uses what the ranks
throw away: each channel's scores, divided by the channel's best, are added in the proportion of `keyword_weight`.

That works since the index fills in what a channel didn't find: every chunk in the union has its true cosine and its
true keyword score. A chunk that lacks one all the same, as those of a channel of another make may, gets the lowest
score of that channel, not 0: it was not looked at, which says little against it. Only a search for words that gave
fewer hits than it might has looked at all.

A channel's best is only as good as it is. Where no chunk has more than common words of the query, the best of them
would count as much as a true one: so words are measured by at least what a chunk has that says the rarest of them once.

Evidence among the best 5 / 10 / 20 chunks, words alone, RRF 60 and convex .6: German paragraphs .954 .970 .984,
.960 .983 .990 and .975 .986 .990; Dutch standards .531 .626 .717, .441 .602 .695 and .533 .638 .721. Of 72 ways tried
it is one of three that were nowhere below the better channel. Other ways to normalise (least to best, standard scores,
what a chunk could have at most), more candidates and weights by question change nothing by more than chance.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from ctxassembly.config.retrieval import Boost, RetrievalConfig
from ctxassembly.data.chunks import Chunk, Hit, Identity
from ctxassembly.data.filters import as_predicate
from ctxassembly.data.id_clashes import told_apart
from ctxassembly.data.metadata_keys import look_up
from ctxassembly.data.retrieval import AFFINITY, ONCE, Channel, Found, Scored

# Adjacency: a chunk beside a better one in its document is more likely to answer than its own words and vector say.
#
# What stands beside an answer tends to go on with it, and a splitter cuts answers in two. So a score is raised a part
# of the way towards that of the better neighbour among the candidates (score regularization: Diaz 2005, "Regularizing
# ad hoc retrieval scores"). No score falls, the best stays the best, and nothing is fetched for it.
#
# Evidence among the best 5 / 10 / 20 chunks without it, and what .15 adds, ± the standard error of the difference:
#
# English texts      .947 .967 .986   -.001 ±.001   +.000 ±.000   +.000 ±.000 German paragraphs  .978 .985 .993   +.000
# ±.000   +.001 ±.001   +.002 ±.002 Dutch standards    .623 .698 .771   +.014 ±.007   +.014 ±.008   +.016 ±.005 Papers
# on COVID    .784 .840 .890   -.003 ±.002   +.001 ±.001   +.003 ±.002
#
# The evidence of the standards is whole sections, and they go on gaining up to .5, where the English texts lose .010
# ±.009 at 5 chunks. Raising all chunks of the best one's document adds more to the standards (+.04 at 20), but may fill
# the list with one document. Assembly reads the neighbours of hits anyway: its contexts change by no more than chance.


Place = str | tuple[str, int]
"""An id, or a document and an index in it."""


def raised(found: Sequence[Found], share: float) -> list[Found]:
    """`found`, each with its score `share` of the way up to that of the better chunk beside it, if there is one.

    Where two chunks have one index of a document, nobody knows which of them is beside a third: neither is.
    """
    at: dict[Place, Found | None] = {}
    for one in found:
        for place in _places(one.chunk):
            at[place] = None if place in at else one
    return [_raised(one, [other for place in _beside(one.chunk) if (other := at.get(place))], share) for one in found]


def _raised(one: Found, beside: Sequence[Found], share: float) -> Found:
    better = max((one, *beside), key=lambda other: other.score)
    if better is one:
        return one
    score = one.score + share * (better.score - one.score)
    return replace(one, score=score, fused_score=score, raised_by=better.chunk.id)


def _places(chunk: Chunk) -> list[Place]:
    return [chunk.id] if chunk.index is None else [chunk.id, (chunk.document_id, chunk.index)]


def _beside(chunk: Chunk) -> list[Place]:
    """The places next to a chunk, as far as it knows them."""
    named: list[Place] = [id_ for id_ in (chunk.prev_id, chunk.next_id) if id_ is not None]
    if chunk.index is not None:
        named += [(chunk.document_id, chunk.index + step) for step in (-1, 1)]
    return named


Ranking = Mapping[Channel, Sequence[Identity]]
"""The chunks that each channel found, best first."""


def rankings(scored: Sequence[Scored], limit: int, min_similarity: float | None) -> dict[Channel, list[Identity]]:
    """The best `limit` chunks of each channel, best first; ties by id. A keyword score of 0 finds nothing."""
    found: dict[Channel, list[Identity]] = {}
    if any(one.similarity is not None for one in scored):
        least = -math.inf if min_similarity is None else min_similarity
        found["vector"] = _best(((one.similarity, one.chunk) for one in scored), least, limit)
    if any(one.keyword_score is not None for one in scored):
        found["keyword"] = _best(((one.keyword_score or None, one.chunk) for one in scored), -math.inf, limit)
    return found


def _best(scored: Iterable[tuple[float | None, Chunk]], least: float, limit: int) -> list[Identity]:
    """Return the best `limit` chunks with a score of at least `least`, ties by id."""
    ranked = sorted(
        (-score, chunk.id, at, chunk)
        for at, (score, chunk) in enumerate(scored)
        if score is not None and score >= least
    )
    return [chunk.identity for *_, chunk in ranked[:limit]]


def scored_by(channel: Channel, hits: Sequence[Hit]) -> list[Scored]:
    """Hits of a retriever of another make. Unless all have a score, it comes from their rank, best 1."""
    given = [hit.score for hit in hits if hit.score is not None and math.isfinite(hit.score)]
    scores = given if len(given) == len(hits) else [1 / (1 + rank) for rank in range(len(hits))]
    if channel == "vector":
        return [Scored(hit.chunk, similarity=score) for hit, score in zip(hits, scores, strict=True)]
    return [Scored(hit.chunk, keyword_score=score) for hit, score in zip(hits, scores, strict=True)]


def merged(lists: Sequence[Sequence[Scored]]) -> list[Scored]:
    """One entry a chunk, with what any of the lists says of it. Lists tell their documents apart by `told_apart`."""
    found: dict[tuple[str, ...], Scored] = {}
    chunks = told_apart([[one.chunk for one in some] for some in lists])
    every = [
        one._replace(chunk=chunk)
        for some, own in zip(lists, chunks, strict=True)
        for one, chunk in zip(some, own, strict=True)
    ]
    for one in every:
        _, *same = one.chunk.identity  # channels of different makes may name a chunk's document in different ways
        known = found.get(tuple(same), one)
        similarity = known.similarity if one.similarity is None else one.similarity
        keyword_score = known.keyword_score if one.keyword_score is None else one.keyword_score
        found[tuple(same)] = Scored(known.chunk, similarity, keyword_score, known.terms or one.terms)
    return list(found.values())


def fuse(
    scored: Sequence[Scored],
    ranked: Ranking,
    config: RetrievalConfig,
    weights: Mapping[str, float] = MappingProxyType({}),
) -> list[Found]:
    """The chunks that any channel in `ranked` found, best first, the best with a score of 1. Ties by id.

    Where channels are fused, chunks beside better ones are raised by `config.adjacency`.
    `weights` are those of the query's words, if they were searched by our own index.
    """
    ranks: dict[Identity, dict[Channel, int]] = {}
    for channel, identities in ranked.items():
        for rank, identity in enumerate(identities):
            ranks.setdefault(identity, {})[channel] = rank
    keyed = [(identity, one) for one in scored if (identity := one.chunk.identity) in ranks]
    shares = _shares(ranked, config)
    if config.fusion == "rrf":
        raw = {
            identity: sum(shares[channel] / (config.rrf_k + rank) for channel, rank in by.items())
            for identity, by in ranks.items()
        }
    else:
        raw = _convex(keyed, shares, ONCE * max(weights.values(), default=0.0), config.per_channel)
    best = max(raw.values(), default=0.0) or 1.0
    found = [
        Found(
            chunk=one.chunk,
            score=raw[identity] / best,
            channels=tuple(ranks[identity]),
            similarity=one.similarity,
            keyword_score=one.keyword_score,
            terms=one.terms,
            fused_score=raw[identity] / best,
            ranks=ranks[identity],
        )
        for identity, one in keyed
    ]
    return in_order(raised(found, config.adjacency) if config.strategy == "hybrid" and config.adjacency else found)


def in_order(found: Sequence[Found]) -> list[Found]:
    """By score, best first; ties by id, so that the same input gives the same order."""
    return sorted(found, key=lambda one: (-one.score, one.chunk.id))


def multiplied(found: Found, name: str, factor: float) -> Found:
    """`found` with its score times `factor`, which the trace calls `name`."""
    return replace(found, score=found.score * factor, factors=(*found.factors, (name, factor)))


def is_switch(ranked: Ranking, config: RetrievalConfig) -> bool:
    """True if the channels' weights put all chunks of one before those of the other, as RRF does from some ratio on."""
    longest = max(map(len, ranked.values()), default=0)
    shares = sorted(_shares(ranked, config).values())
    if config.fusion != "rrf" or len(shares) < 2 or shares[0] <= 0:
        return False
    return shares[-1] / shares[0] > (config.rrf_k + longest - 1) / config.rrf_k


def _shares(ranked: Ranking, config: RetrievalConfig) -> dict[Channel, float]:
    """The part of each channel that found something. One alone needs no weight, and may have been given none."""
    found = [channel for channel, identities in ranked.items() if identities]
    if len(found) < 2:
        return dict.fromkeys(found, 1.0)
    return {channel: config.keyword_weight if channel == "keyword" else 1 - config.keyword_weight for channel in found}


def _convex(
    keyed: Sequence[tuple[Identity, Scored]], shares: Mapping[Channel, float], least: float, full: int
) -> dict[Identity, float]:
    """The sum of a chunk's normalised scores.

    The best of words counts as at least `least`, and what isn't among less than `full` hits by words has none of them.
    """
    sums = dict.fromkeys((identity for identity, _ in keyed), 0.0)
    for channel, share in shares.items():
        scores = {key: one.keyword_score if channel == "keyword" else one.similarity for key, one in keyed}
        known = [score for score in scores.values() if score is not None]
        lowest, best = min(known), max(known)
        if channel == "keyword":
            best = max(best, least)
            lowest = lowest if len(known) >= full else 0.0
        for identity, score in scores.items():
            # A cosine may be below 0, for all of them: then the best is not a measure, and the distance from it is.
            value = lowest if score is None else score
            sums[identity] += share * (value / best if best > 0 else 1 + value - best)
    return sums


Classifier = Callable[[Chunk], str | None]
"""A function from a chunk to its category of content."""


def by_key(key: str) -> Classifier:
    """The classifier that reads the metadata under `key`."""

    def category_of(chunk: Chunk) -> str | None:
        value = look_up(chunk.metadata, key)
        return value if isinstance(value, str) else None

    return category_of


def boosted(found: Sequence[Found], boosts: Sequence[Boost]) -> list[Found]:
    """`found` with each boost's factor on the chunks that it is for, best first."""
    for boost in boosts:
        found = [multiplied(one, boost.name, boost.factor) if _agrees(one.chunk, boost.where) else one for one in found]
    return in_order(found)


def attuned(
    found: Sequence[Found], factors: Mapping[str, float], category_of: Classifier
) -> tuple[list[Found], list[Found]]:
    """`found` with the factor of its category for the intent, best first; and those that a factor below 1 lowered."""
    changed: list[Found] = []
    lowered: list[Found] = []
    for one in found:
        category = category_of(one.chunk) or ""
        factor = factors.get(category, 1.0)
        changed.append(one if factor == 1.0 else multiplied(one, AFFINITY + category, factor))
        if factor < 1.0:
            lowered.append(changed[-1])
    return in_order(changed), lowered


def _agrees(chunk: Chunk, where: Mapping[str, Any]) -> bool:
    own = {"id": chunk.id, "document_id": chunk.document_id, **chunk.metadata}
    return all(
        as_predicate({key: wanted})(chunk) if isinstance(wanted, Mapping) else _is(look_up(own, key), wanted)
        for key, wanted in where.items()
    )


def _is(value: Any, wanted: Any) -> bool:
    """True if `value`, or one of its values if it is a list, is the wanted one or among the wanted ones."""
    values = value if isinstance(value, (list, tuple, set, frozenset)) else (value,)
    several = isinstance(wanted, Collection) and not isinstance(wanted, (str, bytes))
    return any(one in wanted if several else one == wanted for one in values if one is not None)
