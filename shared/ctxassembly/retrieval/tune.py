"""The weight of words against vectors, fitted on questions whose chunks are known.

Each question is searched once; fusion is arithmetic, so that all weights are tried on the same candidates.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ctxassembly.config.retrieval import RetrievalConfig
from ctxassembly.data.requests import RetrievalRequest
from ctxassembly.data.retrieval import RetrievedChunk
from ctxassembly.errors import ConfigError, InputError
from ctxassembly.retrieval.fusion import fuse, rank_channels
from ctxassembly.retrieval.search import Capabilities, Question, check_capabilities, search_channels, start_retrieval
from ctxassembly.safe_repr import safe_repr
from ctxassembly.text.words import normalize_wording

WEIGHTS = tuple(round(step / 20, 2) for step in range(21))
"""The weights tried: 0 to 1 in steps of .05."""

LabeledQuestions = Mapping[str, str | Sequence[str]] | Sequence[tuple[str | Question, str | Sequence[str]]]
"""Questions, each with the id of the chunk that answers it or a part of its text, or with several of them."""


@dataclass(frozen=True, slots=True)
class WeightTrial:
    """A weight, and what it finds."""

    keyword_weight: float
    recall: float
    """The share of the expected chunks among the best `limit`, 0 to 1, as a mean over the questions."""
    reciprocal_rank: float
    """The mean of 1 / place of the first expected chunk, 0 where none is among the candidates."""


@dataclass(frozen=True, slots=True)
class TuneResult:
    """The config with the weight that finds most, and all that were tried. It prints as a table.

    >>> from ctxassembly import Chunk, MemoryIndex, RetrievalConfig, tune
    >>> index = MemoryIndex([Chunk("a", "d", "Iron."), Chunk("b", "d", "Ferritin.")], [[1.0, 0.0], [0.8, 0.6]])
    >>> config = RetrievalConfig(limit=1, keyword_weight=0.1)
    >>> tuned = tune({"ferritin": "b"}, config, index=index, embed=lambda _: [1, 0])
    >>> [(one.keyword_weight, one.recall) for one in tuned.trials if one.keyword_weight in (0.1, 0.2)]
    [(0.1, 0.0), (0.2, 1.0)]
    """

    config: RetrievalConfig
    trials: tuple[WeightTrial, ...]
    questions: int

    def __str__(self) -> str:
        rows = []
        for one in self.trials:
            star = "  *" if one.keyword_weight == self.config.keyword_weight else ""
            rows.append(f"{one.keyword_weight:14.2f}  {one.recall:9.3f}  {one.reciprocal_rank:15.3f}{star}")
        head = f"keyword_weight  recall@{self.config.limit:<2}  reciprocal rank"
        return "\n".join((f"{self.questions} questions", head, *rows))


def tune_flow(
    labeled_questions: LabeledQuestions, config: RetrievalConfig, capabilities: Capabilities, clock: Callable[[], float]
) -> Generator[RetrievalRequest, Any, TuneResult]:
    """Return the best weight: by recall, then by reciprocal rank, then the nearest to the current one.

    Raises:
        ConfigError: the strategy isn't "hybrid", so that nothing is weighed.
        InputError: a question has nothing that is expected.
    """
    if config.strategy != "hybrid":
        raise ConfigError("strategy", "'hybrid' to have a weight", config.strategy)
    check_capabilities(config, capabilities)
    strict = replace(config, on_search_error="raise")
    pairs = _check_pairs(labeled_questions)
    weights = sorted({*WEIGHTS, config.keyword_weight})
    sums = {weight: [0.0, 0.0] for weight in weights}
    for question, expected in pairs:
        log, _ = yield from start_retrieval(question, capabilities, clock)
        scored, _ = yield from search_channels(question, strict, capabilities, log)
        ranked = rank_channels(scored, strict.candidates_per_channel, strict.min_similarity)
        for weight in weights:
            found = fuse(scored, ranked, replace(config, keyword_weight=weight), log.terms)
            ranks = [_rank_of(found, expectation) for expectation in expected]
            found_ranks = [place for place in ranks if place is not None]
            sums[weight][0] += sum(place < config.limit for place in found_ranks) / len(expected)
            sums[weight][1] += 1 / (1 + min(found_ranks)) if found_ranks else 0.0
    trials = tuple(WeightTrial(weight, *(total / len(pairs) for total in sums[weight])) for weight in weights)
    best = max(
        trials,
        key=lambda one: (
            round(one.recall, 9),
            round(one.reciprocal_rank, 9),
            -abs(one.keyword_weight - config.keyword_weight),
        ),
    )
    return TuneResult(replace(config, keyword_weight=best.keyword_weight), trials, len(pairs))


def _check_pairs(labeled_questions: Any) -> list[tuple[Question, list[str]]]:
    given = list(labeled_questions.items()) if isinstance(labeled_questions, Mapping) else list(labeled_questions)
    pairs = []
    for pair in given:
        if not isinstance(pair, (tuple, list)) or len(pair) != 2:
            raise InputError(
                f"labeled_questions must have pairs of a question and what answers it, got {safe_repr(pair)}"
            )
        query, expected = pair
        expectations = [expected] if isinstance(expected, str) else list(expected)
        if not expectations or not all(isinstance(entry, str) and entry.strip() for entry in expectations):
            raise InputError(
                f"labeled_questions must name the chunks of each question by ids or texts, got {safe_repr(expected)}"
            )
        pairs.append((query if isinstance(query, Question) else Question(query), expectations))
    if not pairs:
        raise InputError("labeled_questions must have a question at least, got none")
    return pairs


def _rank_of(found: Sequence[RetrievedChunk], expected: str) -> int | None:
    """Return the rank of the first chunk with this id or text."""
    needle = normalize_wording(expected)
    hits = (
        at for at, one in enumerate(found) if one.chunk.id == expected or needle in normalize_wording(one.chunk.text)
    )
    return next(hits, None)
