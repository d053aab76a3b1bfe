"""Reranking: another order for what was found, by whoever reads query and chunk together."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from ctxassembly.data.retrieval import Found
from ctxassembly.protocols import Ranked


def reranked(found: Sequence[Found], answer: Sequence[Ranked]) -> tuple[list[Found], list[str]]:
    """`found` in the order of `answer`, best first, and notes of what the reranker left out.

    Scores outside 0 to 1 are logits: a sigmoid brings them there, so that a factor that multiplies them later can't
    raise a bad one. What the reranker dropped comes last, in its old order. Where it gives no scores, the scores that
    there were go to its order, best first.
    """
    order = list(dict.fromkeys(place for place, _ in answer if 0 <= place < len(found)))
    scores = dict(reversed([(place, score) for place, score in answer]))
    dropped = [place for place in range(len(found)) if place not in scores]
    notes = (
        [f"rerank: {len(dropped)} of {len(found)} chunks were cut by the reranker, and come last"] if dropped else []
    )
    known = [scores[place] for place in order]
    given = [score for score in known if score is not None and math.isfinite(score)]
    if len(given) < len(known) or not given:
        notes += ["rerank: it gave no scores, or not for all: the order counts"] if order else []
        fused = sorted((one.score for one in found), reverse=True)
        changed = [replace(found[place], score=score) for place, score in zip([*order, *dropped], fused, strict=True)]
        return changed, notes
    if any(not 0 <= score <= 1 for score in given):
        given = [_sigmoid(score) for score in given]
    ordered = [
        replace(found[place], score=score, rerank_score=score) for place, score in zip(order, given, strict=True)
    ]
    return [*ordered, *behind(ordered, [found[place] for place in dropped])], notes


def behind(found: Sequence[Found], rest: Sequence[Found]) -> list[Found]:
    """`rest` in its order, with no score above the lowest of `found`."""
    lowest = min((one.score for one in found), default=math.inf)
    return [replace(one, score=min(one.score, lowest)) for one in rest]


def _sigmoid(logit: float) -> float:
    return 1 / (1 + math.exp(-logit)) if logit >= 0 else math.exp(logit) / (1 + math.exp(logit))
