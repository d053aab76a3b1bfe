"""Reranking: a new order of the chunks found, by a model that reads query and chunk together."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

from ctxassembly.data.retrieval import QueryVocabulary, RetrievedChunk
from ctxassembly.protocols import RerankedPosition


def apply_reranking(
    found: Sequence[RetrievedChunk], reply: Sequence[RerankedPosition]
) -> tuple[list[RetrievedChunk], list[str]]:
    """Return `ranked` in the order of `reply`, best first, and notes on what the reranker dropped.

    Scores outside 0 to 1 are logits: a sigmoid brings them there, so that a factor that multiplies them later can't
    raise a bad one. What the reranker dropped comes last, in its old order. Where it gives no scores, the scores that
    there were go to its order, best first.
    """
    order = list(dict.fromkeys(place for place, _ in reply if 0 <= place < len(found)))
    scores = dict(reversed([(place, score) for place, score in reply]))
    dropped = [place for place in range(len(found)) if place not in scores]
    notes = (
        [f"rerank: {len(dropped)} of {len(found)} chunks were cut by the reranker, and come last"] if dropped else []
    )
    known = [scores[place] for place in order]
    finite_scores = [score for score in known if score is not None and math.isfinite(score)]
    if len(finite_scores) < len(known) or not finite_scores:
        notes += ["rerank: it gave no scores, or not for all: the order counts"] if order else []
        fused = sorted((one.score for one in found), reverse=True)
        changed = [replace(found[place], score=score) for place, score in zip([*order, *dropped], fused, strict=True)]
        return changed, notes
    if any(not 0 <= score <= 1 for score in finite_scores):
        finite_scores = [_sigmoid(score) for score in finite_scores]
    ordered = [
        replace(found[place], score=score, rerank_score=score)
        for place, score in zip(order, finite_scores, strict=True)
    ]
    return [*ordered, *append_unranked(ordered, [found[place] for place in dropped])], notes


def append_unranked(ranked: Sequence[RetrievedChunk], unranked: Sequence[RetrievedChunk]) -> list[RetrievedChunk]:
    """Append `unranked` in its order, with no score above the lowest of `ranked`."""
    lowest = min((one.score for one in ranked), default=math.inf)
    return [replace(one, score=min(one.score, lowest)) for one in unranked]


def _sigmoid(logit: float) -> float:
    return 1 / (1 + math.exp(-logit)) if logit >= 0 else math.exp(logit) / (1 + math.exp(logit))


# Evidence: how much the best chunk speaks for it that the question has an answer here.
#
# No fixed cosine separates them: answerable questions have medians of .64, .61 and .48 in three corpora with the
# same embedder. What separates them is the sum, for one chunk, of its cosine and the share of the query's words that
# it has, weighted by rareness. Against questions of a foreign field it separates the answerable ones with an AUC of
# .98 to 1.00, the cosine alone with .96 to 1.00.


MAX_SCORED_CHUNKS = 10
"""The best chunks that are looked at."""


def score_evidence(found: Sequence[RetrievedChunk], vocabulary: QueryVocabulary | None) -> float | None:
    """Return the best sum of similarity and share of the query's words in `ranked`, 0 to 2.

    None if nothing is known of either: no vectors were searched, and no words by our own index.
    """
    weights = vocabulary.weights if vocabulary else {}
    total = sum(weights.values())
    sums = [
        max(one.similarity or 0.0, 0.0) + (sum(weights.get(term, 0.0) for term in one.terms) / total if total else 0.0)
        for one in found[:MAX_SCORED_CHUNKS]
        if one.similarity is not None or total
    ]
    return max(sums, default=None)


# Places for chunks that no channel scored: entities, lists, rescued ones.
#
# Their published scores (.85 to .95) are on another scale than fused scores, so no score is made up for them. They get
# the first places or the last ones, and the score of the chunk next to them there: scores never rise down the list.


def insert_at(
    found: Sequence[RetrievedChunk],
    inserted: Sequence[RetrievedChunk],
    *,
    position: Literal["first", "last"],
    limit: int,
) -> list[RetrievedChunk]:
    """Return `ranked` with `inserted`, in its order, in the first or last of at most `limit` places.

    A chunk in both is kept once, at the better rank. The lowest of `ranked` are dropped for them.
    """
    if position == "last":
        known = {one.chunk.identity for one in found}
        inserted = [one for one in inserted if one.chunk.identity not in known]
    inserted = inserted[:limit]
    moved = {one.chunk.identity for one in inserted}
    remaining = [one for one in found if one.chunk.identity not in moved][: limit - len(inserted)]
    if position == "first":
        score = remaining[0].score if remaining else 1.0
        return [*(replace(one, score=score) for one in inserted), *remaining]
    score = remaining[-1].score if remaining else 1.0
    return [*remaining, *(replace(one, score=score) for one in inserted)]
