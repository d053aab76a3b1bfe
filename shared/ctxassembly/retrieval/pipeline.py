"""Retrieval itself: the steps in order, as a generator that asks for I/O instead of doing it.

resolve -> search -> fuse -> entities and lists -> boost -> rerank -> affinity -> limit -> their places -> rescue

It yields requests and is sent replies.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Sequence
from typing import Any

from ctxassembly.config.retrieval import DEFAULT_AFFINITY, RetrievalConfig
from ctxassembly.data.chunks import Chunk
from ctxassembly.data.requests import Batch, RerankChunks, RetrievalRequest, SearchChunks
from ctxassembly.data.retrieval import QueryVocabulary, Retrieved, RetrievedChunk, ScoredChunk, SearchMethod
from ctxassembly.retrieval import fusion, ranking, search
from ctxassembly.retrieval.entities import EntityAnswers, find_entities
from ctxassembly.retrieval.taxonomy import Resolution
from ctxassembly.safe_repr import describe_error, safe_repr

Flow = Generator[RetrievalRequest, Any, Retrieved]


def retrieve_flow(
    question: search.Question, config: RetrievalConfig, capabilities: search.Capabilities, clock: Callable[[], float]
) -> Flow:
    """Return the hits for `question`. `clock` returns seconds and is used only for the trace.

    Raises:
        ConfigError: `strategy` needs an index, embeddings or a taxonomy that isn't there.
        StoreError: no channel answered; or one failed, and `on_search_error` is "raise".
    """
    log, resolution = yield from search.start_retrieval(question, capabilities, clock)
    if not question.effective_query.strip():
        log.notes.append("query: there are no words to search for")
        return Retrieved(question.effective_query, (), log.trace("none"))

    channels = sorted(search.channels_to_search(config, capabilities))
    yield from log.begin("search", inputs={name: log.queries[name] for name in channels})
    scored, vocabulary = yield from search.search_channels(question, config, capabilities, log)
    ranked, found = yield from _fuse_channels(scored, config, log)
    entity_answers = _entity_answers(question, resolution, config, capabilities, log)
    log.evidence = ranking.score_evidence(found, vocabulary)
    if vocabulary is not None or "keyword" in ranked:
        log.keyword_matches = len(ranked.get("keyword", ()))

    def retrieved(kept: Sequence[RetrievedChunk]) -> Retrieved:
        statements = _allowed_statements(entity_answers.statements, kept, question.intent, config, log)
        trace = log.trace(_search_method(ranked, config))
        return Retrieved(log.queries["vector"], tuple(kept), trace, statements, question.intent)

    if not entity_answers.found and _has_too_little_evidence(config, ranked, log):
        return retrieved(())

    found = yield from _boost(question, resolution, found, config, log)
    if capabilities.reranker_count and found:
        found = yield from _rerank(question, found, capabilities.reranker_count, config, log)
    category_of = capabilities.category_of or fusion.category_in_metadata
    factors = config.affinity.get(question.intent or "", {})
    log.notes += _unused_affinity(question.intent, found, capabilities.category_of, config)
    if factors:
        yield from log.begin("affinity", len(found), {"intent": question.intent})
        found, lowered = fusion.apply_affinity(found, factors, category_of)
        log.lowered = tuple(lowered)
        yield from log.end(found)
    yield from log.begin("limit", len(found))
    kept = found[: config.limit]
    yield from log.end(kept)

    if entity_answers.found:
        yield from log.begin("entities", len(kept))
        kept = ranking.insert_at(kept, entity_answers.found, position="first", limit=config.limit)
        yield from log.end(kept)
    if config.rescue != "off" and vocabulary:
        kept = yield from _rescue(
            question, kept, vocabulary, lambda chunk: factors.get(category_of(chunk) or "", 1.0), config, log
        )
    return retrieved(kept)


def _fuse_channels(
    scored: Sequence[ScoredChunk], config: RetrievalConfig, log: search.RetrievalRecorder
) -> Generator[RetrievalRequest, None, tuple[fusion.Ranking, list[RetrievedChunk]]]:
    """Return the ids that each channel ranks, and all chunks as one list. This ends the search step."""
    ranked = fusion.rank_channels(scored, config.candidates_per_channel, None)
    found = fusion.fuse(scored, ranked, config, log.terms)
    yield from log.end(found, lambda: {"found": {channel: len(ids) for channel, ids in ranked.items()}})
    yield from log.begin("fuse", len(scored))
    if config.min_similarity is not None:
        ranked = fusion.rank_channels(scored, config.candidates_per_channel, config.min_similarity)
        found = fusion.fuse(scored, ranked, config, log.terms)
    yield from log.end(found)
    return ranked, found


def _entity_answers(
    question: search.Question,
    resolved: Resolution,
    config: RetrievalConfig,
    capabilities: search.Capabilities,
    log: search.RetrievalRecorder,
) -> EntityAnswers:
    """Return the answers of the taxonomy itself."""
    if capabilities.taxonomy is None or config.strategy not in ("hybrid", "graph"):
        return EntityAnswers()
    answers = find_entities(capabilities.taxonomy, question.effective_query, resolved, question.intent, question.filter)
    log.notes += answers.notes
    return answers


def _allowed_statements(
    statements: tuple[str, ...],
    kept: Sequence[RetrievedChunk],
    intent: str | None,
    config: RetrievalConfig,
    log: search.RetrievalRecorder,
) -> tuple[str, ...]:
    """Return `statements`, or none if the best similarity of the hits reaches the threshold of `config`."""
    threshold = config.supplement_similarity
    similarities = [one.similarity for one in kept if one.similarity is not None]
    if not statements or threshold is None or intent in config.supplement_intents or not similarities:
        return statements
    if (best := max(similarities)) < threshold:
        return statements
    reached = f"the best similarity {best:.2f} reaches supplement_similarity {threshold:g}"
    log.notes.append(f"supplement: suppressed, {reached}")
    return ()


_UNUSED_AFFINITY = "affinity: it changes nothing, for by default it has no factors for"


def _unused_affinity(
    intent: str | None, found: Sequence[RetrievedChunk], own: fusion.Classifier | None, config: RetrievalConfig
) -> list[str]:
    """Return a note if the default affinity does nothing, since intent or categories have other names."""
    if intent is None or config.affinity != DEFAULT_AFFINITY:
        return []  # factors of one's own leave out what they are not for
    is_known = intent in DEFAULT_AFFINITY
    if own is not None and not is_known:
        return [f"{_UNUSED_AFFINITY} the intent {safe_repr(intent, 40)}"]
    category_of = own or fusion.category_in_metadata
    categories = dict.fromkeys(category for one in found if (category := category_of(one.chunk)))
    if not categories or (is_known and not DEFAULT_AFFINITY.keys().isdisjoint(categories)):
        return []
    named = ", ".join(safe_repr(category, 40) for category in list(categories)[:3])
    return [f"{_UNUSED_AFFINITY} the intent {safe_repr(intent, 40)} and the categories {named}"]


def _boost(
    question: search.Question,
    resolution: Resolution,
    found: list[RetrievedChunk],
    config: RetrievalConfig,
    log: search.RetrievalRecorder,
) -> Generator[RetrievalRequest, None, list[RetrievedChunk]]:
    """Return `found` with all boosts: of `config`, of the question, and for what it resolves and leads to."""
    now = time.time()
    fired = [
        boost
        for boost in fusion.resolved_boosts(question.intent, (*resolution.nodes, *resolution.implied))
        if any(fusion.boost_factor(one.chunk, boost, now) != 1 for one in found)
    ]
    boosts = (*config.boosts, *question.boosts, *fired)
    if not boosts:
        return found
    yield from log.begin("boost", len(found))
    found = fusion.apply_boosts(found, boosts, now)
    yield from log.end(found)
    return found


def _has_too_little_evidence(config: RetrievalConfig, ranked: fusion.Ranking, log: search.RetrievalRecorder) -> bool:
    """Return True if no chunk found is evidence for an answer, and the config checks for it."""
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
    question: search.Question,
    found: Sequence[RetrievedChunk],
    rerankers: int,
    config: RetrievalConfig,
    log: search.RetrievalRecorder,
) -> Generator[RetrievalRequest, Any, list[RetrievedChunk]]:
    """Return `found` in the order of the first reranker that succeeds; unchanged if none does."""
    candidates = found[: config.rerank_candidates]
    yield from log.begin("rerank", len(found), {"handed": len(candidates)})
    for reranker in range(rerankers):
        request = RerankChunks(reranker, question.effective_query, tuple(one.chunk for one in candidates))
        (reply,) = yield Batch((request,))
        if isinstance(reply, Exception):
            log.notes.append(f"rerank: number {reranker + 1} failed ({describe_error(reply)})")
            continue
        ordered, notes = ranking.apply_reranking(candidates, reply)
        log.notes += notes
        if unranked := ranking.append_unranked(ordered, found[len(candidates) :]):
            log.notes.append(f"rerank: the best {len(candidates)} of {len(found)} chunks; the others stay behind them")
        yield from log.end([*ordered, *unranked])
        return [*ordered, *unranked]
    yield from log.end(found, is_noted=False)
    return list(found)


def _rescue(
    question: search.Question,
    kept: Sequence[RetrievedChunk],
    vocabulary: QueryVocabulary,
    factor_of: Callable[[Chunk], float],
    config: RetrievalConfig,
    log: search.RetrievalRecorder,
) -> Generator[RetrievalRequest, Any, list[RetrievedChunk]]:
    """Return `kept` with a chunk for each specific word of the question that none of them has."""
    terms = ranking.rare_missing_terms(log.queries["rescue"], [one.chunk for one in kept], vocabulary, config)
    if not terms:
        return list(kept)
    yield from log.begin("rescue", len(kept), {"words": [term.word for term in terms]})
    words = QueryVocabulary(vocabulary.chunk_count, tuple(form for term in terms for form in term.forms))
    request = SearchChunks(config.limit, None, words, question.filter)
    replies = yield from search.send_requests({"rescue": request}, config, log)
    rescued_chunks = ranking.rescue_hits(terms, replies.get("rescue", ()), factor_of)
    combined = ranking.insert_at(
        kept, rescued_chunks, position="last" if config.rescue == "last" else "first", limit=config.limit
    )
    yield from log.end(combined)
    return combined


def _search_method(ranked: fusion.Ranking, config: RetrievalConfig) -> SearchMethod:
    if ranked.keys() >= {"vector", "keyword"}:
        return "hybrid_bm25_vector"
    if ranked:
        return "keyword_only" if "keyword" in ranked else "vector_only"
    return "graph_only" if config.strategy == "graph" else "none"
