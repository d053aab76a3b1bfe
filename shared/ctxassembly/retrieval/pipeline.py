"""Retrieval itself: the steps in order, as a generator that asks for I/O instead of doing it.

resolve -> search -> fuse -> entities and lists -> boost -> rerank -> affinity -> limit -> their places -> rescue

It yields requests and is sent replies.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from typing import Any

from ctxassembly.config.retrieval import RetrievalConfig
from ctxassembly.data.chunks import Chunk
from ctxassembly.data.requests import RerankChunks, RetrievalRequest, SearchChunks, Together
from ctxassembly.data.retrieval import Channel, Found, Retrieved, Scored, SearchMethod, Vocabulary
from ctxassembly.retrieval.entities import Entities, entities
from ctxassembly.retrieval.fusion import Ranking, attuned, boosted, by_key, fuse, is_switch, rankings
from ctxassembly.retrieval.rerank import behind, evidence, placed, reranked
from ctxassembly.retrieval.rescue import rescued, wanted
from ctxassembly.retrieval.search import CHANNELS, Log, Means, Question, ask, begun, check, search
from ctxassembly.retrieval.taxonomy import Resolution
from ctxassembly.safe_repr import failure

Flow = Generator[RetrievalRequest, Any, Retrieved]


def retrieve_flow(question: Question, config: RetrievalConfig, means: Means, clock: Callable[[], float]) -> Flow:
    """The hits for `question`, once every request was answered. `clock` gives seconds, for the trace alone.

    Raises:
        ConfigError: `strategy` needs an index, embeddings or a taxonomy that isn't there.
        SearchError: no channel answered; or one failed, and `on_search_error` is "raise".
    """
    check(config, means)
    log, resolved = yield from begun(question, means, clock)
    if not question.meant.strip():
        log.notes.append("query: there are no words to search for")
        return Retrieved(question.meant, (), log.trace("none"))

    yield from log.begin("search", inputs={name: log.queries[name] for name in sorted(CHANNELS[config.strategy])})
    scored, vocabulary = yield from search(question, config, means, log)
    ranked, found = yield from _fused(scored, config, log)
    if is_switch(ranked, config):
        log.notes.append("fusion: with this weight and rrf_k all chunks of one channel precede those of the other")
    known = _entities(question, resolved, config, means, log)
    log.evidence = evidence(found, vocabulary)
    if not known.found and _is_too_thin(config, ranked, log):
        return Retrieved(log.queries["vector"], (), log.trace(_method(ranked, config)), known.facts, question.intent)

    if boosts := (*config.boosts, *question.boosts):
        yield from log.begin("boost", len(found))
        found = boosted(found, boosts)
        yield from log.end(found)
    if means.rerankers and found:
        found = yield from _rerank(question, found, means.rerankers, config, log)
    category_of = means.category_of or by_key(config.category_key)
    factors = config.affinity.get(question.intent or "", {})
    if factors:
        yield from log.begin("affinity", len(found), {"intent": question.intent})
        found, lowered = attuned(found, factors, category_of)
        log.lowered = tuple(lowered)
        yield from log.end(found)
    yield from log.begin("limit", len(found))
    kept = found[: config.limit]
    yield from log.end(kept)

    if known.found:
        yield from log.begin("entities", len(kept))
        kept = placed(kept, known.found, at="first", limit=config.limit)
        yield from log.end(kept)
    if config.rescue != "off" and vocabulary:
        kept = yield from _rescue(
            question, kept, vocabulary, lambda chunk: factors.get(category_of(chunk) or "", 1.0), config, log
        )
    return Retrieved(
        log.queries["vector"], tuple(kept), log.trace(_method(ranked, config)), known.facts, question.intent
    )


def _fused(
    scored: Sequence[Scored], config: RetrievalConfig, log: Log
) -> Generator[RetrievalRequest, None, tuple[Ranking, list[Found]]]:
    """The ids that each channel ranks, and all of them as one list. The search ends with it."""
    ranked = rankings(scored, config.per_channel, None)
    found = fuse(scored, ranked, config, log.terms)
    yield from log.end(found, lambda: {"found": {channel: len(ids) for channel, ids in ranked.items()}})
    yield from log.begin("fuse", len(scored))
    if config.min_similarity is not None:
        ranked = rankings(scored, config.per_channel, config.min_similarity)
        found = fuse(scored, ranked, config, log.terms)
    yield from log.end(found)
    return ranked, found


def _entities(question: Question, resolved: Resolution, config: RetrievalConfig, means: Means, log: Log) -> Entities:
    """The answers of the taxonomy itself."""
    if means.taxonomy is None or config.strategy not in ("hybrid", "graph"):
        return Entities()
    known = entities(means.taxonomy, question.meant, resolved, question.intent, question.filter)
    log.notes += known.notes
    return known


def _is_too_thin(config: RetrievalConfig, ranked: Ranking, log: Log) -> bool:
    """True if nothing that was found speaks for an answer, and the caller wants to know that."""
    if config.min_evidence is None or not ranked:
        return False
    if log.failures or log.evidence is None:
        log.notes.append("evidence: not measured, since a channel failed or gives neither cosines nor words")
        return False
    if log.evidence >= config.min_evidence:
        return False
    log.notes.append(f"evidence: {log.evidence:.2f} of at least {config.min_evidence:g}: nothing answers")
    return True


def _rerank(
    question: Question, found: Sequence[Found], rerankers: int, config: RetrievalConfig, log: Log
) -> Generator[RetrievalRequest, Any, list[Found]]:
    """`found` in the order of the first reranker that answers; as it is if none does."""
    handed = found[: config.rerank_candidates]
    yield from log.begin("rerank", len(found), {"handed": len(handed)})
    for by in range(rerankers):
        request = RerankChunks(by, question.meant, tuple(one.chunk for one in handed))
        (answer,) = yield Together((request,))
        if isinstance(answer, Exception):
            log.notes.append(f"rerank: number {by + 1} failed ({failure(answer)})")
            continue
        ordered, notes = reranked(handed, answer)
        log.notes += notes
        if rest := behind(ordered, found[len(handed) :]):
            log.notes.append(f"rerank: the best {len(handed)} of {len(found)} chunks; the others stay behind them")
        yield from log.end([*ordered, *rest])
        return [*ordered, *rest]
    yield from log.end(found, is_noted=False)
    return list(found)


def _rescue(
    question: Question,
    kept: Sequence[Found],
    vocabulary: Vocabulary,
    factor_of: Callable[[Chunk], float],
    config: RetrievalConfig,
    log: Log,
) -> Generator[RetrievalRequest, Any, list[Found]]:
    """`kept` with a chunk for each specific word of the question that none of them has."""
    terms = wanted(log.queries["rescue"], [one.chunk for one in kept], vocabulary, config)
    if not terms:
        return list(kept)
    yield from log.begin("rescue", len(kept), {"words": [term.word for term in terms]})
    words = Vocabulary(vocabulary.chunks, tuple(form for term in terms for form in term.forms))
    request = SearchChunks(config.limit, None, words, question.filter)
    replies = yield from ask({"rescue": request}, config, log)
    brought = rescued(terms, replies.get("rescue", ()), factor_of)
    after = placed(kept, brought, at="last" if config.rescue == "last" else "first", limit=config.limit)
    yield from log.end(after)
    return after


def _method(ranked: Ranking, config: RetrievalConfig) -> SearchMethod:
    methods: dict[frozenset[Channel], SearchMethod] = {
        frozenset({"vector", "keyword"}): "hybrid_bm25_vector",
        frozenset({"vector"}): "vector_only",
        frozenset({"keyword"}): "keyword_only",
    }
    return methods.get(frozenset(ranked), "graph_only" if config.strategy == "graph" else "none")
