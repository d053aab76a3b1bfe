"""The hits of several searches as one list, by reciprocal rank fusion.

Scores of different questions have no common scale, ranks have: a chunk gets weight / (k + rank), ranks from 0, from
each list that has it. With the usual k of 60 a chunk that is number 15 for everything precedes the best one for a part.
Of questions made of two, the best 5, 10 and 20 hits have this share of both pieces of evidence (`python -m answering`,
Python's language reference, 200 pairs, fused; `searches` has the weights):

| | 5 | 10 | 20 |
|---|---|---|---|
| the whole question alone | .51 | .67 | .82 |
| with its parts, k 60, the whole at 1.3 | .51 | .74 | .83 |
| k 60, the whole at .5 | .57 | .79 | .92 |
| **k 5, the whole at .5** | .71 | .85 | .94 |
| k 1, the whole at .5 | .70 | .87 | .94 |
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from ctxassembly.data.chunks import Hit, Identity
from ctxassembly.data.id_clashes import separate_shared_ids

RRF_K = 5
SUB_QUESTIONS_KEY = "sub_questions"
"""The metadata key that names the sub-questions that found a chunk."""


class Ranking(NamedTuple):
    """The hits of one search."""

    name: str
    hits: Sequence[Hit]
    weight: float
    is_part: bool = False
    """True for a sub-question: its hits name it."""


def reciprocal_rank_fusion(rankings: Sequence[Ranking], limit: int | None) -> tuple[Hit, ...]:
    """Fuse the rankings into the best `limit` hits, the best with score 1. A single ranking keeps its scores.

    Hits are merged by the identity of their chunks. Documents of which two rankings disagree stay separate.

    >>> from ctxassembly import Chunk
    >>> a, b = (Hit(Chunk(name, name, name)) for name in "ab")
    >>> [hit.chunk.id for hit in reciprocal_rank_fusion([Ranking("one", [a, b], 1.0), Ranking("two", [b], 1.0)], None)]
    ['b', 'a']
    """
    if len(rankings) == 1:
        return tuple(rankings[0].hits[:limit])
    hits: dict[Identity, Hit] = {}
    scores: dict[Identity, float] = {}
    sub_questions: dict[Identity, list[str]] = {}
    chunks = separate_shared_ids([[hit.chunk for hit in ranking.hits] for ranking in rankings])
    for ranking, own_chunks in zip(rankings, chunks, strict=True):
        for rank, (hit, chunk) in enumerate(zip(ranking.hits, own_chunks, strict=True)):
            key = chunk.identity
            hits.setdefault(key, hit if chunk is hit.chunk else replace(hit, chunk=chunk))
            scores[key] = scores.get(key, 0.0) + ranking.weight / (RRF_K + rank)
            if ranking.is_part:
                sub_questions.setdefault(key, []).append(ranking.name)
    order = sorted(scores, key=lambda key: -scores[key])[:limit]
    return tuple(_with_score(hits[key], scores[key] / scores[order[0]], sub_questions.get(key)) for key in order)


def _with_score(hit: Hit, score: float, sub_questions: list[str] | None) -> Hit:
    if not sub_questions:
        return replace(hit, score=score)
    return Hit(replace(hit.chunk, metadata={**hit.chunk.metadata, SUB_QUESTIONS_KEY: sub_questions}), score)
