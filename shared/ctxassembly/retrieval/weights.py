"""The weight of keyword search against vectors that finds most.

Each question is searched once; fusion is arithmetic, so all weights are tried on the same candidates.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ctxassembly.config.retrieval import RetrievalConfig
from ctxassembly.data.chunks import Chunk
from ctxassembly.data.requests import RetrievalRequest
from ctxassembly.data.retrieval import RetrievedChunk
from ctxassembly.retrieval.fusion import fuse, rank_channels
from ctxassembly.retrieval.search import Capabilities, Question, check_capabilities, search_channels, start_retrieval

WEIGHTS = tuple(round(step / 20, 2) for step in range(21))
"""The weights tried: 0 to 1 in steps of .05."""

IsExpected = Callable[[Chunk], bool]


@dataclass(frozen=True, slots=True)
class WeightTrial:
    """A weight, and what it finds."""

    keyword_weight: float
    recall: float
    """The share of the evidence among the best `limit` chunks, 0 to 1, as a mean over the questions."""
    reciprocal_rank: float
    """The mean of 1 / place of the first chunk with evidence, 0 where none is among the candidates."""


def weights_flow(
    labeled_questions: Sequence[tuple[Question, Sequence[IsExpected]]],
    config: RetrievalConfig,
    capabilities: Capabilities,
    clock: Callable[[], float],
) -> Generator[RetrievalRequest, Any, tuple[WeightTrial, ...]]:
    """Return what each weight finds, the best first: by recall, then by reciprocal rank, then the nearest to now.

    Each question comes with a test of the chunks for each piece of its evidence. The strategy is "hybrid".

    Raises:
        SearchError: a channel failed: a weight fitted without it would be none.
    """
    check_capabilities(config, capabilities)
    strict = replace(config, on_search_error="raise")
    weights = sorted({*WEIGHTS, config.keyword_weight})
    sums = {weight: [0.0, 0.0] for weight in weights}
    for question, tests in labeled_questions:
        log, _ = yield from start_retrieval(question, capabilities, clock)
        scored, _ = yield from search_channels(question, strict, capabilities, log)
        ranked = rank_channels(scored, strict.candidates_per_channel, strict.min_similarity)
        for weight in weights:
            found = fuse(scored, ranked, replace(config, keyword_weight=weight), log.terms)
            ranks = [place for is_expected in tests if (place := _rank_of(found, is_expected)) is not None]
            sums[weight][0] += sum(place < config.limit for place in ranks) / len(tests)
            sums[weight][1] += 1 / (1 + min(ranks)) if ranks else 0.0
    number = len(labeled_questions)
    trials = (WeightTrial(weight, *(total / number for total in sums[weight])) for weight in weights)

    def quality(one: WeightTrial) -> tuple[float, float, float]:
        return round(one.recall, 9), round(one.reciprocal_rank, 9), -abs(one.keyword_weight - config.keyword_weight)

    return tuple(sorted(trials, key=quality, reverse=True))


def _rank_of(found: Sequence[RetrievedChunk], is_expected: IsExpected) -> int | None:
    """Return the rank of the first chunk that is expected."""
    return next((at for at, one in enumerate(found) if is_expected(one.chunk)), None)
