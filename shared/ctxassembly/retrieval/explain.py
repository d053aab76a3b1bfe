"""Why a chunk is missing.

The trace has the ids after each step. A chunk that the search didn't find is searched again with many more candidates,
which gives its rank; if it isn't there either, by the words of its text, and then without the filter.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from ctxassembly.config.retrieval import RetrievalConfig
from ctxassembly.data.chunks import Chunk
from ctxassembly.data.requests import Batch, FindTerms, RetrievalRequest, SearchChunks
from ctxassembly.data.retrieval import Channel, Explanation, Retrieved, ScoredChunk
from ctxassembly.retrieval.fusion import Ranking, rank_channels
from ctxassembly.retrieval.pipeline import retrieve_flow
from ctxassembly.retrieval.search import (
    MAX_TERMS,
    Capabilities,
    Question,
    RetrievalRecorder,
    search_channels,
    send_requests,
    start_retrieval,
)
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
    found = yield from send_requests({"keyword": FindTerms(expect, MAX_TERMS, 0, question.filter)}, config, log)
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
