"""Retrieval itself: the steps in order, as a generator that asks for I/O instead of doing it.

resolve -> search -> fuse -> entities and lists -> boost -> rerank -> affinity -> limit -> their places -> rescue

It yields requests and is sent replies.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ctxassembly.config.retrieval import DEFAULT_AFFINITY, RetrievalConfig
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
    return (yield from _Run(question, config, capabilities, log, resolution).retrieve())


@dataclass(frozen=True, slots=True)
class _Run:
    """A retrieval under way."""

    question: search.Question
    config: RetrievalConfig
    capabilities: search.Capabilities
    log: search.RetrievalRecorder
    resolution: Resolution

    def retrieve(self) -> Flow:
        question, config, log = self.question, self.config, self.log
        channels = sorted(search.channels_to_search(config, self.capabilities))
        yield from log.begin("search", inputs={name: log.queries[name] for name in channels})
        scored, vocabulary = yield from search.search_channels(question, config, self.capabilities, log)
        ranked, found = yield from self._fuse(scored)
        taxonomy, entity_answers = self.capabilities.taxonomy, EntityAnswers()
        if taxonomy is not None and config.strategy in ("hybrid", "graph"):
            asked = question.effective_query, self.resolution, question.intent, question.filter
            entity_answers = find_entities(taxonomy, *asked)
        log.notes += entity_answers.notes
        log.evidence = ranking.score_evidence(found, vocabulary)
        if vocabulary is not None or "keyword" in ranked:
            log.keyword_matches = len(ranked.get("keyword", ()))

        kept: list[RetrievedChunk] = []
        if entity_answers.found or not self._has_too_little_evidence(ranked):
            found = yield from self._reorder(found)
            yield from log.begin("limit", len(found))
            kept = found[: config.limit]
            yield from log.end(kept)
            if entity_answers.found:
                yield from log.begin("entities", len(kept))
                kept = ranking.insert_at(kept, entity_answers.found, position="first", limit=config.limit)
                yield from log.end(kept)
            if config.rescue != "off" and vocabulary:
                kept = yield from self._rescue(kept, vocabulary)
        statements = () if self._has_similar_hit(kept, entity_answers.statements) else entity_answers.statements
        trace = log.trace(self._search_method(ranked))
        return Retrieved(log.queries["vector"], tuple(kept), trace, statements, question.intent)

    def _fuse(
        self, scored: Sequence[ScoredChunk]
    ) -> Generator[RetrievalRequest, None, tuple[fusion.Ranking, list[RetrievedChunk]]]:
        """Return the ids that each channel ranks, and all chunks as one list. This ends the search step."""
        config, log = self.config, self.log
        ranked = fusion.rank_channels(scored, config.candidates_per_channel, None)
        found = fusion.fuse(scored, ranked, config, log.terms)
        yield from log.end(found, lambda: {"found": {channel: len(ids) for channel, ids in ranked.items()}})
        yield from log.begin("fuse", len(scored))
        if config.min_similarity is not None:
            ranked = fusion.rank_channels(scored, config.candidates_per_channel, config.min_similarity)
            found = fusion.fuse(scored, ranked, config, log.terms)
        yield from log.end(found)
        return ranked, found

    def _has_too_little_evidence(self, ranked: fusion.Ranking) -> bool:
        """Return True if no chunk found is evidence for an answer, and the config checks for it."""
        least, log = self.config.min_evidence, self.log
        if least is None or not ranked:
            return False
        if log.failures or log.evidence is None:
            log.notes.append("evidence: not measured, since a channel failed or gives neither cosines nor words")
            return False
        if log.evidence >= least:
            return False
        log.notes.append(f"evidence: {log.evidence:.2f} of at least {least:g}: nothing answers")
        return True

    def _reorder(self, found: list[RetrievedChunk]) -> Generator[RetrievalRequest, Any, list[RetrievedChunk]]:
        """Return `found` boosted, reranked, and by its affinity to the intent."""
        found = yield from self._boost(found)
        if self.capabilities.reranker_count and found:
            found = yield from self._rerank(found)
        log = self.log
        log.notes += self._unused_affinity(found)
        if self._factors:
            yield from log.begin("affinity", len(found), {"intent": self.question.intent})
            found, lowered = fusion.apply_affinity(found, self._factors, self._category_of)
            log.lowered = tuple(lowered)
            yield from log.end(found)
        return found

    def _boost(self, found: list[RetrievedChunk]) -> Generator[RetrievalRequest, None, list[RetrievedChunk]]:
        """Return `found` with all boosts: of the config, of the question, and for what it resolves and leads to."""
        now = time.time()
        fired = [
            boost
            for boost in fusion.resolved_boosts(
                self.question.intent, (*self.resolution.nodes, *self.resolution.implied)
            )
            if any(fusion.boost_factor(one.chunk, boost, now) != 1 for one in found)
        ]
        boosts = (*self.config.boosts, *self.question.boosts, *fired)
        if not boosts:
            return found
        yield from self.log.begin("boost", len(found))
        found = fusion.apply_boosts(found, boosts, now)
        yield from self.log.end(found)
        return found

    def _rerank(self, found: Sequence[RetrievedChunk]) -> Generator[RetrievalRequest, Any, list[RetrievedChunk]]:
        """Return `found` in the order of the first reranker that succeeds; unchanged if none does."""
        log, candidates = self.log, found[: self.config.rerank_candidates]
        yield from log.begin("rerank", len(found), {"handed": len(candidates)})
        for reranker in range(self.capabilities.reranker_count):
            chunks = tuple(one.chunk for one in candidates)
            (reply,) = yield Batch((RerankChunks(reranker, self.question.effective_query, chunks),))
            if isinstance(reply, Exception):
                log.notes.append(f"rerank: number {reranker + 1} failed ({describe_error(reply)})")
                continue
            ordered, notes = ranking.apply_reranking(candidates, reply)
            log.notes += notes
            if unranked := ranking.append_unranked(ordered, found[len(candidates) :]):
                counts = f"the best {len(candidates)} of {len(found)} chunks"
                log.notes.append(f"rerank: {counts}; the others stay behind them")
            yield from log.end([*ordered, *unranked])
            return [*ordered, *unranked]
        yield from log.end(found, is_noted=False)
        return list(found)

    @property
    def _factors(self) -> Mapping[str, float]:
        """The affinity of the intent to each category of content."""
        return self.config.affinity.get(self.question.intent or "", {})

    @property
    def _category_of(self) -> fusion.Classifier:
        return self.capabilities.category_of or fusion.category_in_metadata

    def _unused_affinity(self, found: Sequence[RetrievedChunk]) -> list[str]:
        """Return a note if the default affinity does nothing, since intent or categories have other names."""
        intent = self.question.intent
        if intent is None or self.config.affinity != DEFAULT_AFFINITY:
            return []  # factors of one's own leave out what they are not for
        note = f"affinity: it changes nothing, for by default it has no factors for the intent {safe_repr(intent, 40)}"
        is_known = intent in DEFAULT_AFFINITY
        if self.capabilities.category_of is not None and not is_known:
            return [note]
        categories = dict.fromkeys(category for one in found if (category := self._category_of(one.chunk)))
        if not categories or (is_known and not DEFAULT_AFFINITY.keys().isdisjoint(categories)):
            return []
        named = ", ".join(safe_repr(category, 40) for category in list(categories)[:3])
        return [f"{note} and the categories {named}"]

    def _rescue(
        self, kept: Sequence[RetrievedChunk], vocabulary: QueryVocabulary
    ) -> Generator[RetrievalRequest, Any, list[RetrievedChunk]]:
        """Return `kept` with a chunk for each specific word of the question that none of them has."""
        config, log = self.config, self.log
        terms = ranking.rare_missing_terms(log.queries["rescue"], [one.chunk for one in kept], vocabulary, config)
        if not terms:
            return list(kept)
        yield from log.begin("rescue", len(kept), {"words": [term.word for term in terms]})
        words = QueryVocabulary(vocabulary.chunk_count, tuple(form for term in terms for form in term.forms))
        request = SearchChunks(config.limit, None, words, self.question.filter)
        replies = yield from search.send_requests({"rescue": request}, config, log)
        factors, category_of = self._factors, self._category_of
        rescued_chunks = ranking.rescue_hits(
            terms, replies.get("rescue", ()), lambda chunk: factors.get(category_of(chunk) or "", 1.0)
        )
        combined = ranking.insert_at(
            kept, rescued_chunks, position="last" if config.rescue == "last" else "first", limit=config.limit
        )
        yield from log.end(combined)
        return combined

    def _has_similar_hit(self, kept: Sequence[RetrievedChunk], statements: Sequence[str]) -> bool:
        """Return True if the best similarity of the hits reaches the threshold that leaves out `statements`."""
        threshold = self.config.supplement_similarity
        similarities = [one.similarity for one in kept if one.similarity is not None]
        if threshold is None or self.question.intent in self.config.supplement_intents or not statements:
            return False
        if not similarities or max(similarities) < threshold:
            return False
        reached = f"the best similarity {max(similarities):.2f} reaches supplement_similarity {threshold:g}"
        self.log.notes.append(f"supplement: suppressed, {reached}")
        return True

    def _search_method(self, ranked: fusion.Ranking) -> SearchMethod:
        if ranked.keys() >= {"vector", "keyword"}:
            return "hybrid_bm25_vector"
        if ranked:
            return "keyword_only" if "keyword" in ranked else "vector_only"
        return "graph_only" if self.config.strategy == "graph" else "none"
