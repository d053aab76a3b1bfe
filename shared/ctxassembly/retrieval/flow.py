"""Retrieval itself: the steps in order, as a generator that asks for I/O instead of doing it.

resolve -> search -> fuse -> entities and lists -> boost -> rerank -> affinity -> limit -> their places -> rescue

It yields requests and is sent replies.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from typing import Any

from ctxassembly.data.chunks import Chunk
from ctxassembly.data.found import Found
from ctxassembly.data.requests import RerankChunks, SearchChunks, Together
from ctxassembly.data.retrieved import Retrieved, SearchMethod
from ctxassembly.data.searched import Channel, Scored, Vocabulary
from ctxassembly.retrieval.boost import attuned, boosted, by_key
from ctxassembly.retrieval.entities import Entities, entities
from ctxassembly.retrieval.evidence import evidence
from ctxassembly.retrieval.fuse import Ranking, fuse, is_switch, rankings
from ctxassembly.retrieval.log import Log
from ctxassembly.retrieval.places import placed
from ctxassembly.retrieval.question import Question
from ctxassembly.retrieval.rerank import behind, reranked
from ctxassembly.retrieval.rescue import rescued, wanted
from ctxassembly.retrieval.search import Means, ask, begun, check, search
from ctxassembly.retrieval.taxonomy import Resolution
from ctxassembly.settings.retrieval import RetrievalConfig
from ctxassembly.shown import failure

Flow = Generator[Together, Any, Retrieved]


def retrieve_flow(question: Question, config: RetrievalConfig, means: Means, clock: Callable[[], float]) -> Flow:
    """The hits for `question`, once every request was answered. `clock` gives seconds, for the trace alone.

    Raises:
        ConfigError: `strategy` needs an index, embeddings or a taxonomy that isn't there.
        SearchError: no channel answered; or one failed, and `on_search_error` is "raise".
    """
    check(config, means)
    log, resolved = begun(question, means, clock)
    if not question.meant.strip():
        log.notes.append("query: there are no words to search for")
        return Retrieved(question.meant, (), log.trace("none"))

    scored, vocabulary = yield from search(question, config, means, log)
    ranked, found = _fused(scored, config, log)
    if is_switch(ranked, config):
        log.notes.append("fusion: with this weight and rrf_k all chunks of one channel precede those of the other")
    known = _entities(question, resolved, config, means, log)
    log.evidence = evidence(found, vocabulary)
    if not known.found and _is_too_thin(config, ranked, log):
        return Retrieved(log.queries["vector"], (), log.trace(_method(ranked, config)), known.facts, question.intent)

    if boosts := (*config.boosts, *question.boosts):
        found = boosted(found, boosts)
        log.step("boost", len(found), found)
    if means.rerankers and found:
        found = yield from _rerank(question, found, means.rerankers, config, log)
    category_of = means.category_of or by_key(config.category_key)
    factors = config.affinity.get(question.intent or "", {})
    if factors:
        found, lowered = attuned(found, factors, category_of)
        log.lowered = tuple(lowered)
        log.step("affinity", len(found), found)
    kept = found[: config.limit]
    log.step("limit", len(found), kept)

    if known.found:
        before = len(kept)
        kept = placed(kept, known.found, at="first", limit=config.limit)
        log.step("entities", before, kept)
    if config.rescue != "off" and vocabulary:
        kept = yield from _rescue(
            question, kept, vocabulary, lambda chunk: factors.get(category_of(chunk) or "", 1.0), config, log
        )
    return Retrieved(
        log.queries["vector"], tuple(kept), log.trace(_method(ranked, config)), known.facts, question.intent
    )


def _fused(scored: Sequence[Scored], config: RetrievalConfig, log: Log) -> tuple[Ranking, list[Found]]:
    """The ids that each channel ranks, and all of them as one list."""
    ranked = rankings(scored, config.per_channel, None)
    found = fuse(scored, ranked, config, log.terms)
    log.step("search", 0, found)
    if config.min_similarity is not None:
        ranked = rankings(scored, config.per_channel, config.min_similarity)
        found = fuse(scored, ranked, config, log.terms)
    log.step("fuse", len(scored), found)
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
) -> Generator[Together, Any, list[Found]]:
    """`found` in the order of the first reranker that answers; as it is if none does."""
    handed = found[: config.rerank_candidates]
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
        log.step("rerank", len(found), [*ordered, *rest])
        return [*ordered, *rest]
    return list(found)


def _rescue(
    question: Question,
    kept: Sequence[Found],
    vocabulary: Vocabulary,
    factor_of: Callable[[Chunk], float],
    config: RetrievalConfig,
    log: Log,
) -> Generator[Together, Any, list[Found]]:
    """`kept` with a chunk for each specific word of the question that none of them has."""
    terms = wanted(log.queries["rescue"], [one.chunk for one in kept], vocabulary, config)
    if not terms:
        return list(kept)
    words = Vocabulary(vocabulary.chunks, tuple(form for term in terms for form in term.forms))
    request = SearchChunks(config.limit, None, words, question.filter)
    replies = yield from ask({"rescue": request}, config, log)
    brought = rescued(terms, replies.get("rescue", ()), factor_of)
    after = placed(kept, brought, at="last" if config.rescue == "last" else "first", limit=config.limit)
    log.step("rescue", len(kept), after)
    return after


def _method(ranked: Ranking, config: RetrievalConfig) -> SearchMethod:
    methods: dict[frozenset[Channel], SearchMethod] = {
        frozenset({"vector", "keyword"}): "hybrid_bm25_vector",
        frozenset({"vector"}): "vector_only",
        frozenset({"keyword"}): "keyword_only",
    }
    return methods.get(frozenset(ranked), "graph_only" if config.strategy == "graph" else "none")
