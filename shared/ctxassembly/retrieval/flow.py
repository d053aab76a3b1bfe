"""Retrieval itself: the steps in order, as a generator that asks for I/O instead of doing it.

resolve -> search -> fuse -> entities and lists -> boost -> rerank -> affinity -> limit -> their places -> rescue

It yields requests and is sent replies. What a failure means is decided here once: a channel that fails is done without,
and the trace says so, as long as another one answers.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ctxassembly.data.chunks import Chunk
from ctxassembly.data.requests import (
    EmbedTexts,
    FindTerms,
    RerankChunks,
    SearchChunks,
    SearchElsewhere,
    SearchRequest,
    Together,
)
from ctxassembly.data.retrieved import Found, Retrieved, SearchMethod
from ctxassembly.data.searched import Channel, Scored, Vocabulary
from ctxassembly.errors import ConfigError, SearchError
from ctxassembly.retrieval.boost import Classifier, attuned, boosted, by_key
from ctxassembly.retrieval.entities import Entities, entities
from ctxassembly.retrieval.evidence import evidence
from ctxassembly.retrieval.fuse import fuse, is_switch, merged, rankings, scored_by
from ctxassembly.retrieval.log import Log
from ctxassembly.retrieval.places import placed
from ctxassembly.retrieval.question import Question
from ctxassembly.retrieval.rerank import reranked
from ctxassembly.retrieval.rescue import rescued, wanted
from ctxassembly.retrieval.taxonomy import UNRESOLVED, Resolution, Taxonomy
from ctxassembly.settings.retrieval import RetrievalConfig, Strategy
from ctxassembly.shown import failure

NEAR_WORDS = 4
"""Words of the index looked up for a word that no chunk has."""
CHANNELS: Mapping[Strategy, frozenset[Channel]] = {
    "hybrid": frozenset({"vector", "keyword"}),
    "vector": frozenset({"vector"}),
    "keyword": frozenset({"keyword"}),
    "graph": frozenset(),
}

Flow = Generator[Together, Any, Retrieved]


@dataclass(frozen=True, slots=True)
class Means:
    """Who can be asked, and what is known of the field."""

    has_index: bool = True
    elsewhere: frozenset[Channel] = frozenset()
    """The channels that a retriever of another make serves."""
    can_embed: bool = False
    rerankers: int = 0
    """How many there are; where one fails, the next is asked."""
    taxonomy: Taxonomy | None = None
    category_of: Classifier | None = None
    """None reads `category_key`."""


def retrieve_flow(question: Question, config: RetrievalConfig, means: Means, clock: Callable[[], float]) -> Flow:
    """The hits for `question`, once every request was answered. `clock` gives seconds, for the trace alone.

    Raises:
        ConfigError: `strategy` needs an index, embeddings or a taxonomy that isn't there.
        SearchError: no channel answered; or one failed, and `on_search_error` is "raise".
    """
    _check(config, means)
    log = Log(clock)
    if not question.meant.strip():
        log.notes.append("query: there are no words to search for")
        return Retrieved(question.meant, (), log.trace("none"))

    resolved, own = _resolve(question, means.taxonomy)
    log.names = resolved.names
    log.queries = _queries(question, resolved, own)
    log.step("resolve", 0, ())

    scored, ranked, vocabulary = yield from _search(question, config, means, log)
    found = fuse(scored, ranked, config, log.terms)
    log.step("fuse", len(scored), found)
    if is_switch(ranked, config):
        log.notes.append("fusion: with this weight and rrf_k all chunks of one channel precede those of the other")
    known = _entities(question, resolved, config, means, log)
    log.evidence = evidence(found, vocabulary)
    if not known.found and _is_too_thin(config, ranked, log):
        return Retrieved(log.queries["vector"], (), log.trace(_method(ranked, config)), known.facts)

    if boosts := (*config.boosts, *question.boosts):
        found = boosted(found, boosts)
        log.step("boost", len(found), found)
    if means.rerankers and found:
        found = yield from _rerank(question, found, means.rerankers, log)
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
    return Retrieved(log.queries["vector"], tuple(kept), log.trace(_method(ranked, config)), known.facts)


def _check(config: RetrievalConfig, means: Means) -> None:
    here = CHANNELS[config.strategy] - means.elsewhere
    if here and not means.has_index:
        raise ConfigError("index", f"given, or a retriever of your own as channel {' and '.join(sorted(here))}", None)
    if "vector" in here and not means.can_embed:
        raise ConfigError("embed", f"given where strategy is {config.strategy!r} ('keyword' needs none)", None)
    if config.strategy == "graph" and means.taxonomy is None:
        raise ConfigError("taxonomy", "given where strategy is 'graph'", None)


def _resolve(question: Question, taxonomy: Taxonomy | None) -> tuple[Resolution, Resolution]:
    """What the question means, and what the user's own words do."""
    if taxonomy is None:
        return UNRESOLVED, UNRESOLVED
    resolved = taxonomy.resolve(question.meant, question.filter)
    return resolved, resolved if question.rewritten is None else taxonomy.resolve(question.text, question.filter)


def _queries(question: Question, resolved: Resolution, own: Resolution) -> dict[Channel, str]:
    """Which query goes where.

    Vectors, and assembly, take the question as it is meant, and the names that it resolves to. Words take the same, the
    user's own, and the names of those. Rescue looks for the words of the question alone: nobody asked for the names.
    """
    texts = dict.fromkeys((question.meant, question.text))
    return {
        "vector": " ".join((question.meant, *resolved.names)),
        "keyword": " ".join((*texts, *dict.fromkeys((*resolved.names, *own.names)))),
        "rescue": " ".join(texts),
    }


def _entities(question: Question, resolved: Resolution, config: RetrievalConfig, means: Means, log: Log) -> Entities:
    """What the taxonomy itself answers."""
    if means.taxonomy is None or config.strategy not in ("hybrid", "graph"):
        return Entities()
    known = entities(means.taxonomy, question.meant, resolved, question.intent, question.filter)
    log.notes += known.notes
    return known


def _is_too_thin(config: RetrievalConfig, ranked: Mapping[Channel, Sequence[str]], log: Log) -> bool:
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


def _search(
    question: Question, config: RetrievalConfig, means: Means, log: Log
) -> Generator[Together, Any, tuple[list[Scored], dict[Channel, list[str]], Vocabulary | None]]:
    """The union of what the channels find, the ids that each of them ranks, and the words searched."""
    channels = CHANNELS[config.strategy]
    here = channels - means.elsewhere
    prepare: dict[Channel, SearchRequest] = {}
    if "vector" in here:
        prepare["vector"] = EmbedTexts((config.query_prefix + log.queries["vector"],))
    if "keyword" in here:
        prepare["keyword"] = FindTerms(log.queries["keyword"], config.max_terms, NEAR_WORDS)
    ready = yield from _ask(prepare, config, log)
    vector = ready["vector"][0] if "vector" in ready else None
    vocabulary: Vocabulary | None = ready.get("keyword")
    log.terms = vocabulary.weights if vocabulary else {}

    search: dict[Channel, SearchRequest] = {
        channel: SearchElsewhere(channel, log.queries[channel], config.per_channel, question.filter)
        for channel in sorted(channels & means.elsewhere)
    }
    if ready:
        # One request for both channels of the index, so that each chunk that either finds gets both scores.
        search["vector" if vector is not None else "keyword"] = SearchChunks(
            config.per_channel, vector, vocabulary, question.filter
        )
    answers = yield from _ask(search, config, log)
    if channels and not answers:
        raise SearchError(f"no channel answered: {'; '.join(map(failure, log.failures))}") from log.failures[0]
    scored = merged([_read(search.get(channel), answer) for channel, answer in answers.items()])
    every = rankings(scored, config.per_channel, None)
    log.step("search", 0, fuse(scored, every, config, log.terms))
    ranked = every if config.min_similarity is None else rankings(scored, config.per_channel, config.min_similarity)
    return scored, ranked, vocabulary


def _read(request: SearchRequest | None, answer: Any) -> list[Scored]:
    return scored_by(request.channel, answer) if isinstance(request, SearchElsewhere) else list(answer)


def _rerank(
    question: Question, found: Sequence[Found], rerankers: int, log: Log
) -> Generator[Together, Any, list[Found]]:
    """`found` in the order of the first reranker that answers; as it is if none does."""
    for by in range(rerankers):
        request = RerankChunks(by, question.meant, tuple(one.chunk for one in found))
        (answer,) = yield Together((request,))
        if isinstance(answer, Exception):
            log.notes.append(f"rerank: number {by + 1} failed ({failure(answer)})")
            continue
        ordered, notes = reranked(found, answer)
        log.notes += notes
        log.step("rerank", len(found), ordered)
        return ordered
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
    replies = yield from _ask({"rescue": request}, config, log)
    brought = rescued(terms, replies.get("rescue", ()), factor_of)
    after = placed(kept, brought, at="last" if config.rescue == "last" else "first", limit=config.limit)
    log.step("rescue", len(kept), after)
    return after


def _ask(
    requests: Mapping[Channel, SearchRequest], config: RetrievalConfig, log: Log
) -> Generator[Together, Any, dict[Channel, Any]]:
    """The replies that came, by channel. A failure is noted, or raised if the caller wants that."""
    if not requests:
        return {}
    log.round_trips += sum(not isinstance(request, EmbedTexts) for request in requests.values())
    answers = yield Together(tuple(requests.values()))
    replies: dict[Channel, Any] = {}
    apart: dict[Channel, SearchRequest] = {}
    for (channel, request), answer in zip(requests.items(), answers, strict=True):
        if not isinstance(answer, Exception):
            replies[channel] = answer
        elif config.on_search_error == "raise":
            raise SearchError(f"the {channel} channel failed: {failure(answer)}") from answer
        elif isinstance(request, SearchChunks) and _is_of_both(request) and not isinstance(answer, TimeoutError):
            apart = {"vector": replace(request, vocabulary=None), "keyword": replace(request, vector=None)}
        else:
            log.failures.append(answer)
            name = "vector and keyword" if _is_of_both(request) else channel
            log.notes.append(f"{name}: failed ({failure(answer)}), done without")
    if apart:
        # Both were asked at once, and one of them is to blame, as where the vectors are those of another model.
        replies |= yield from _ask(apart, config, log)
    return replies


def _is_of_both(request: SearchRequest) -> bool:
    """True of a search of the index by vectors and words."""
    return isinstance(request, SearchChunks) and request.vector is not None and request.vocabulary is not None


def _method(ranked: Mapping[Channel, Sequence[str]], config: RetrievalConfig) -> SearchMethod:
    methods: dict[frozenset[Channel], SearchMethod] = {
        frozenset({"vector", "keyword"}): "hybrid_bm25_vector",
        frozenset({"vector"}): "vector_only",
        frozenset({"keyword"}): "keyword_only",
    }
    return methods.get(frozenset(ranked), "graph_only" if config.strategy == "graph" else "none")
