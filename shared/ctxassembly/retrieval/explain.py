"""Why a chunk is missing: the step at which it was lost, and what stands in its stead.

The trace has the ids after each step. A chunk that not even the search brought is looked for anew with many more
candidates, which tells its rank; one that isn't there either is looked for without the filter, by its own words.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from ctxassembly.config.retrieval import RetrievalConfig
from ctxassembly.data.chunks import Chunk
from ctxassembly.data.requests import FindTerms, RetrievalRequest, SearchChunks, Together
from ctxassembly.data.retrieval import Channel, Explained, Retrieved, Scored, Vocabulary
from ctxassembly.retrieval.fusion import Ranking, rankings
from ctxassembly.retrieval.pipeline import retrieve_flow
from ctxassembly.retrieval.search import Log, Means, Question, ask, begun, search
from ctxassembly.text.words import wording

WIDE = 1_000
"""Candidates a channel among which a chunk is looked for that the search didn't bring."""
OF_ITS_WORDS = 20
"""Chunks among which one is looked for by the words of its text."""


EXCLUDED = "the filter excludes it"


def explain_flow(
    question: Question, expect: str, config: RetrievalConfig, means: Means, clock: Callable[[], float]
) -> Generator[RetrievalRequest, Any, Explained]:
    """The way of the chunk whose id or part of whose text is `expect`."""
    retrieved = yield from retrieve_flow(question, config, means, clock)
    is_it = _test(expect)
    there = [found.chunk.id for found in retrieved.found if is_it(found.chunk)]
    if there:
        return _explained(retrieved, expect, there[0], config, {})
    known = [id_ for step in retrieved.trace.steps for id_ in step.ids if id_ == expect]
    ranks: Mapping[Channel, int] = {}
    if question.meant.strip():
        scored, ranked = yield from _widely(question, config, means, clock)
        known += _furthest([one.chunk.id for one in scored if is_it(one.chunk)], retrieved)
        places = {channel: [chunk_id for _, chunk_id, _ in some] for channel, some in ranked.items()}
        ranks = {channel: ids.index(known[0]) for channel, ids in places.items() if known and known[0] in ids}
    if known:
        return _explained(retrieved, expect, known[0], config, ranks)
    if question.meant.strip() and question.filter is not None:
        scored, _ = yield from _widely(replace(question, filter=None), config, means, clock)
        if excluded := [one.chunk.id for one in scored if is_it(one.chunk)]:
            return _lost(retrieved, expect, excluded[0], "filter", EXCLUDED)
    if not means.has_index:
        return _lost(retrieved, expect, None, "index", "no channel has it among its candidates")
    anywhere, passing = yield from _by_its_words(expect, question, config, clock)
    here = next((one.chunk.id for one in anywhere if is_it(one.chunk)), None)
    if here is None:
        return _lost(retrieved, expect, None, "index", f"no chunk was found with this id or text, {WIDE:,} a channel")
    if question.filter is not None and not any(is_it(one.chunk) for one in passing):
        return _lost(retrieved, expect, here, "filter", EXCLUDED)
    return _lost(retrieved, expect, here, "search", f"not among the best {WIDE:,} of any channel")


def _test(expect: str) -> Callable[[Chunk], bool]:
    sought = wording(expect)
    return lambda chunk: chunk.id == expect or bool(sought and sought in wording(chunk.text))


def _furthest(ids: Sequence[str], retrieved: Retrieved) -> list[str]:
    """Of several chunks with the text the one that came furthest."""
    steps = retrieved.trace.steps

    def came(id_: str) -> tuple[int, int]:
        at = max((place for place, step in enumerate(steps) if id_ in step.ids), default=-1)
        return -at, steps[at].ids.index(id_) if at >= 0 else 0

    return sorted(ids, key=came)


def _widely(
    question: Question, config: RetrievalConfig, means: Means, clock: Callable[[], float]
) -> Generator[RetrievalRequest, Any, tuple[list[Scored], Ranking]]:
    """The best `WIDE` chunks of each channel, and how it ranks them."""
    wide = replace(config, candidates=max(WIDE, config.per_channel))
    log, _ = yield from begun(question, means, clock)
    scored, _ = yield from search(question, wide, means, log)
    return scored, rankings(scored, wide.per_channel, None)


def _by_its_words(
    expect: str, question: Question, config: RetrievalConfig, clock: Callable[[], float]
) -> Generator[Together, Any, tuple[list[Scored], list[Scored]]]:
    """The chunks that have most of the words, without the filter and under it."""
    log = Log(clock)
    found = yield from ask({"keyword": FindTerms(expect, config.max_terms, 0)}, config, log)
    vocabulary: Vocabulary | None = found.get("keyword")
    if vocabulary is None:
        return [], []
    anywhere = SearchChunks(OF_ITS_WORDS, None, vocabulary, None)
    passing = replace(anywhere, filter=question.filter)
    found = yield from ask({"keyword": anywhere, "rescue": passing}, config, log)
    return list(found.get("keyword", ())), list(found.get("rescue", ()))


def _explained(
    retrieved: Retrieved, expect: str, id_: str, config: RetrievalConfig, ranks: Mapping[Channel, int]
) -> Explained:
    """The trace's account, with what only the settings and the wider search know."""
    told = replace(retrieved.explain(id_), expect=expect, chunk_id=id_)
    if told.lost_at == "fuse":
        return replace(told, reason=told.reason.replace("min_similarity", f"{config.min_similarity}"))
    if told.lost_at != "search":
        return told
    said = ", ".join(f"place {rank + 1:,} by {channel}" for channel, rank in ranks.items())
    return replace(told, reason=f"{said or 'unranked'}, of {config.per_channel:,} candidates")


def _lost(retrieved: Retrieved, expect: str, id_: str | None, lost_at: str, reason: str) -> Explained:
    told = retrieved.explain(id_ or expect)
    return replace(told, expect=expect, chunk_id=id_, lost_at=lost_at, reason=reason)
