"""Why a chunk is missing, and the weight of words against vectors that finds most.

The trace has the ids after each step. A chunk that the search didn't find is searched again with many more candidates,
which gives its rank; if it isn't there either, by the words of its text, and then without the filter.

The weight is fitted on questions whose chunks are known. Each question is searched once; fusion is arithmetic, so that
all weights are tried on the same candidates.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ctxassembly.config.retrieval import RetrievalConfig
from ctxassembly.data.chunks import Chunk
from ctxassembly.data.requests import Batch, FindTerms, RetrievalRequest, SearchChunks
from ctxassembly.data.retrieval import Channel, Explanation, Retrieved, RetrievedChunk, ScoredChunk
from ctxassembly.errors import ConfigError, InputError
from ctxassembly.retrieval.fusion import Ranking, fuse, rank_channels
from ctxassembly.retrieval.pipeline import retrieve_flow
from ctxassembly.retrieval.search import (
    MAX_TERMS,
    Capabilities,
    Question,
    RetrievalRecorder,
    check_capabilities,
    search_channels,
    send_requests,
    start_retrieval,
)
from ctxassembly.safe_repr import safe_repr
from ctxassembly.text.words import normalize_wording

WIDE_CANDIDATES = 1_000
"""Candidates a channel among which a chunk is looked for that the search didn't bring."""
MAX_WORD_MATCHES = 20
"""Chunks among which one is looked for by the words of its text."""


def explain_flow(
    question: Question, expect: str, config: RetrievalConfig, capabilities: Capabilities, clock: Callable[[], float]
) -> Generator[RetrievalRequest, Any, Explanation]:
    """Return what became of the chunk whose id or part of whose text is `expect`."""
    retrieved = yield from retrieve_flow(question, config, capabilities, clock)
    is_expected = _expected_test(expect)
    hit_ids = [found.chunk.id for found in retrieved.chunks if is_expected(found.chunk)]
    if hit_ids:
        return _explain_found(retrieved, expect, hit_ids[0], config, {})
    scored, ranked = yield from _search_widely(question, config, capabilities, clock)
    known_ids = [id_ for step in retrieved.trace.steps for id_ in step.ids if id_ == expect]
    known_ids += _sort_by_last_step([one.chunk.id for one in scored if is_expected(one.chunk)], retrieved)
    if known_ids:
        ids_by_channel = {channel: [chunk_id for _, chunk_id, _ in some] for channel, some in ranked.items()}
        ranks = {channel: ids.index(known_ids[0]) for channel, ids in ids_by_channel.items() if known_ids[0] in ids}
        return _explain_found(retrieved, expect, known_ids[0], config, ranks)
    scored = yield from _search_by_words(expect, question, config, capabilities, clock)
    if found_ids := [one.chunk.id for one in scored if is_expected(one.chunk)]:
        reason = f"not among the best {WIDE_CANDIDATES:,} of any channel"
        return _explain_lost(retrieved, expect, found_ids[0], "search", reason)
    if question.filter is not None:
        unfiltered = replace(question, filter=None)
        scored, _ = yield from _search_widely(unfiltered, config, capabilities, clock)
        scored += yield from _search_by_words(expect, unfiltered, config, capabilities, clock)
        if excluded := [one.chunk.id for one in scored if is_expected(one.chunk)]:
            return _explain_lost(retrieved, expect, excluded[0], "filter", "the filter excludes it")
    reason = "no channel has it among its candidates"
    if capabilities.has_index:
        reason = f"no chunk was found with this id or text, {WIDE_CANDIDATES:,} a channel"
    return _explain_lost(retrieved, expect, None, "index", reason)


def _expected_test(expect: str) -> Callable[[Chunk], bool]:
    needle = normalize_wording(expect)
    return lambda chunk: chunk.id == expect or bool(needle and needle in normalize_wording(chunk.text))


def _sort_by_last_step(ids: Sequence[str], retrieved: Retrieved) -> list[str]:
    """Sort several chunks with the text by how many steps they passed, the furthest first."""
    steps = retrieved.trace.steps

    def last_step_reached(id_: str) -> tuple[int, int]:
        at = max((place for place, step in enumerate(steps) if id_ in step.ids), default=-1)
        return -at, steps[at].ids.index(id_) if at >= 0 else 0

    return sorted(ids, key=last_step_reached)


def _search_widely(
    question: Question, config: RetrievalConfig, capabilities: Capabilities, clock: Callable[[], float]
) -> Generator[RetrievalRequest, Any, tuple[list[ScoredChunk], Ranking]]:
    """Return the best `WIDE_CANDIDATES` chunks of each channel, and its ranking."""
    if not question.effective_query.strip():
        return [], {}
    wide = replace(config, candidates=max(WIDE_CANDIDATES, config.candidates_per_channel))
    log, _ = yield from start_retrieval(question, capabilities, clock)
    scored, _ = yield from search_channels(question, wide, capabilities, log)
    return scored, rank_channels(scored, wide.candidates_per_channel, None)


def _search_by_words(
    expect: str, question: Question, config: RetrievalConfig, capabilities: Capabilities, clock: Callable[[], float]
) -> Generator[Batch, Any, list[ScoredChunk]]:
    """Return the chunks with the most words of `expect`, under the filter of `question`."""
    if not capabilities.has_index:
        return []
    log = RetrievalRecorder(clock)
    found = yield from send_requests({"keyword": FindTerms(expect, MAX_TERMS, 0)}, config, log)
    if "keyword" in found:
        request = SearchChunks(MAX_WORD_MATCHES, None, found["keyword"], question.filter)
        found = yield from send_requests({"rescue": request}, config, log)
    return list(found.get("rescue", ()))


def _explain_found(
    retrieved: Retrieved, expect: str, id_: str, config: RetrievalConfig, ranks: Mapping[Channel, int]
) -> Explanation:
    """Return the explanation from the trace, completed from the settings and the wide search."""
    explanation = replace(retrieved.explain(id_), expected=expect, chunk_id=id_)
    if explanation.lost_at == "fuse":
        return replace(explanation, reason=explanation.reason.replace("min_similarity", f"{config.min_similarity}"))
    if explanation.lost_at != "search":
        return explanation
    ranks_text = ", ".join(f"place {rank + 1:,} by {channel}" for channel, rank in ranks.items())
    reason = f"{ranks_text or 'unranked'}, of {config.candidates_per_channel:,} candidates"
    return replace(explanation, reason=reason, channel_ranks=ranks)


def _explain_lost(retrieved: Retrieved, expect: str, id_: str | None, lost_at: str, reason: str) -> Explanation:
    explanation = retrieved.explain(id_ or expect)
    return replace(explanation, expected=expect, chunk_id=id_, lost_at=lost_at, reason=reason)


WEIGHTS = tuple(round(step / 20, 2) for step in range(21))
"""The weights tried: 0 to 1 in steps of .05."""

LabeledQuestions = Mapping[str, str | Sequence[str]] | Mapping[Question, str | Sequence[str]]
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
    labels = _check_labels(labeled_questions)
    weights = sorted({*WEIGHTS, config.keyword_weight})
    sums = {weight: [0.0, 0.0] for weight in weights}
    for question, expected in labels:
        log, _ = yield from start_retrieval(question, capabilities, clock)
        scored, _ = yield from search_channels(question, strict, capabilities, log)
        ranked = rank_channels(scored, strict.candidates_per_channel, strict.min_similarity)
        for weight in weights:
            found = fuse(scored, ranked, replace(config, keyword_weight=weight), log.terms)
            ranks = [_rank_of(found, expectation) for expectation in expected]
            found_ranks = [place for place in ranks if place is not None]
            sums[weight][0] += sum(place < config.limit for place in found_ranks) / len(expected)
            sums[weight][1] += 1 / (1 + min(found_ranks)) if found_ranks else 0.0
    trials = tuple(WeightTrial(weight, *(total / len(labels) for total in sums[weight])) for weight in weights)
    best = max(
        trials,
        key=lambda one: (
            round(one.recall, 9),
            round(one.reciprocal_rank, 9),
            -abs(one.keyword_weight - config.keyword_weight),
        ),
    )
    return TuneResult(replace(config, keyword_weight=best.keyword_weight), trials, len(labels))


def _check_labels(labeled_questions: Any) -> list[tuple[Question, list[str]]]:
    if not isinstance(labeled_questions, Mapping) or not labeled_questions:
        raise InputError(
            f"labeled_questions must map at least one question to what answers it, got {safe_repr(labeled_questions)}"
        )
    labels = []
    for query, expected in labeled_questions.items():
        expectations = [expected] if isinstance(expected, str) else list(expected)
        if not expectations or not all(isinstance(entry, str) and entry.strip() for entry in expectations):
            raise InputError(
                f"labeled_questions must name the chunks of each question by ids or texts, got {safe_repr(expected)}"
            )
        labels.append((query if isinstance(query, Question) else Question(query), expectations))
    return labels


def _rank_of(found: Sequence[RetrievedChunk], expected: str) -> int | None:
    """Return the rank of the first chunk with this id or text."""
    is_expected = _expected_test(expected)
    return next((at for at, one in enumerate(found) if is_expected(one.chunk)), None)
