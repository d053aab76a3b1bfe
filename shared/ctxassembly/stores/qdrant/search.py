"""Searching Qdrant: what is asked for, as calls of a client that a driver makes, and what the answers mean.

A question is two round trips: one for its words, one for both channels and the similarities of what words find. There
is a third for near words, if a word is in no chunk, and one for similarities that the second didn't have.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from typing import Any, TypeVar

from qdrant_client import models

from ctxassembly.data.chunks import Chunk, ChunkRef
from ctxassembly.data.metadata_keys import MetadataKeys
from ctxassembly.data.requests import FindTerms, SearchChunks
from ctxassembly.data.retrieval import QueryVocabulary, ScoredChunk, TermStats
from ctxassembly.errors import ConfigError
from ctxassembly.stores.chunk_terms import term_counts
from ctxassembly.stores.filtered import chunk_predicate
from ctxassembly.stores.qdrant.filters import engine_filter
from ctxassembly.stores.qdrant.points import (
    STATE_ID,
    TRIGRAMS,
    WORDS,
    Layout,
    chunk_from_payload,
    lexeme_id,
    own_key,
    sparse_vector,
    trigram_vector,
)
from ctxassembly.stores.simple_words import MIN_WORD_CHARS, NearWords, lexemes

Call = tuple[str, dict[str, Any]]
"""The name of a method of the client, and its arguments."""
T = TypeVar("T")
Flow = Generator[Call, Any, T]
MAX_LEXEMES = 400
"""The first words of a query are looked up."""
MAX_MISSING = 16
"""The first words of a query that no chunk has, for which near ones are looked up."""
NEAR_CANDIDATES = 256
"""Words with the most trigrams of a missing one, which are then compared with it."""
GROWTH = 4
"""Where the filter excludes what was found, so many times as many are asked for next."""
TIES = 16
"""So many chunks more than wanted are asked for by words: of equal scores, and within the precision of the engine, the
first by id are kept."""
PAGE = 1_000
"""Chunks of a document read at once."""


def find_terms(layout: Layout, request: FindTerms) -> Flow[QueryVocabulary]:
    """Return the words of a query with their counts in the index."""
    words = list(dict.fromkeys(lexemes(request.text)))[:MAX_LEXEMES]
    points = yield (
        "retrieve",
        {"collection_name": layout.lexemes, "ids": [STATE_ID, *map(lexeme_id, words)], "with_payload": True},
    )
    payloads = {point.payload.get("word"): point.payload for point in points}
    counts = {word: payloads[word]["count"] if word in payloads else 0 for word in words}
    by_rarity = sorted(words, key=lambda word: (not counts[word], counts[word]))[: request.max_terms]
    missing = [word for word in by_rarity if not counts[word] and len(word) >= MIN_WORD_CHARS][:MAX_MISSING]
    near: dict[str, tuple[str, ...]] = {}
    if missing and request.max_variants:
        requests = [
            # All trigrams inside a word are in one that contains it: at twice the value these come first.
            _query(trigram_vector(word, inner=2.0), TRIGRAMS, NEAR_CANDIDATES, None)
            for word in missing
        ]
        answers = yield "query_batch_points", {"collection_name": layout.lexemes, "requests": requests}
        for word, answer in zip(missing, answers, strict=True):
            candidates = [point.payload["word"] for point in answer.points]
            near[word] = tuple(NearWords(candidates).find(word, request.max_variants))
    kept = set(by_rarity)
    terms = tuple(TermStats(word, counts[word], near.get(word, ())) for word in words if word in kept)
    return QueryVocabulary(payloads.get(None, {}).get("chunks", 0), terms)


def _query(query: Any, using: str, limit: int, condition: models.Filter | None, **more: Any) -> models.QueryRequest:
    options = {"with_payload": True, **more}
    return models.QueryRequest(query=query, using=using, limit=limit, filter=condition, **options)


def search(
    layout: Layout, keys: MetadataKeys, request: SearchChunks, filters: Sequence[Any]
) -> Flow[list[ScoredChunk]]:
    """Return the best chunks of each channel that pass all `filters`, each with its scores in all that search.

    Raises:
        ConfigError: a filter can't be read, or the vector has another length than the embeddings.
    """
    passes, condition = chunk_predicate(*filters), engine_filter(layout, filters)
    weights: Mapping[str, float] = request.vocabulary.weights if request.vocabulary else {}
    known = {term.text for term in request.vocabulary.terms if term.chunk_count} if request.vocabulary else set()
    words = sparse_vector({word: weight for word, weight in weights.items() if word in known})
    queries: dict[str, models.QueryRequest] = {}
    vector: list[float] = []
    if request.vector is not None:
        check_vector(request.vector, layout)
        vector = [float(number) for number in request.vector]
        queries["vector"] = _query(vector, layout.vector, request.limit, condition)
    if known:
        queries["words"] = _query(words, WORDS, request.limit + TIES, condition)
    if not queries:
        return []
    requests = [*queries.values()]
    if len(queries) == 2:
        best = models.Prefetch(query=words, using=WORDS, limit=request.limit + TIES, filter=condition)
        requests.append(_query(vector, layout.vector, request.limit + TIES, None, prefetch=best, with_payload=False))
    answers = yield "query_batch_points", {"collection_name": layout.collection, "requests": requests}
    similarities = {point.id: point.score for point in answers[2].points} if len(queries) == 2 else {}
    hits: dict[Any, ScoredChunk] = {}
    for (channel, query), answer in zip(queries.items(), answers, strict=False):
        found = yield from _read_passing(layout, keys, answer.points, passes, query)
        scored = {id_: _with_words(layout, chunk, request.vocabulary) for id_, (chunk, _) in found.items()}
        if channel == "words":
            by_score = sorted(scored, key=lambda id_: (-(scored[id_].keyword_score or 0), scored[id_].chunk.id))
            scored = {id_: scored[id_] for id_ in by_score[: request.limit]}
        else:
            similarities |= {id_: score for id_, (_, score) in found.items()}
        hits |= scored
    lacking = [id_ for id_ in hits if id_ not in similarities] if request.vector is not None else []
    if lacking:
        here = models.Filter(must=[models.HasIdCondition(has_id=lacking)])
        exact = _query(vector, layout.vector, len(lacking), here, with_payload=False)
        (answer,) = yield "query_batch_points", {"collection_name": layout.collection, "requests": [exact]}
        similarities |= {point.id: point.score for point in answer.points}
    return [hit._replace(similarity=similarities.get(id_)) for id_, hit in hits.items()]


def _read_passing(
    layout: Layout,
    keys: MetadataKeys,
    points: Sequence[Any],
    passes: Callable[[Chunk], bool],
    query: models.QueryRequest,
) -> Flow[dict[Any, tuple[Chunk, float]]]:
    """Return the best chunks that pass, with their scores; further ones are asked for if too few of `points` do."""
    found: dict[Any, tuple[Chunk, float]] = {}
    limit, wanted, seen = query.limit or 0, query.limit or 0, 0
    while True:
        for point in points:
            chunk = chunk_from_payload(point.id, point.payload, layout, keys)
            if len(found) < limit and passes(chunk):
                found[point.id] = chunk, point.score
        seen += len(points)
        if len(found) >= limit or len(points) < wanted:
            return found
        wanted *= GROWTH
        following = query.model_copy(update={"limit": wanted, "offset": seen})
        (answer,) = yield "query_batch_points", {"collection_name": layout.collection, "requests": [following]}
        points = answer.points


def _with_words(layout: Layout, chunk: Chunk, vocabulary: QueryVocabulary | None) -> ScoredChunk:
    """Return a chunk with its keyword score and words, which are read from its text: two may have one hash."""
    if vocabulary is None:
        return ScoredChunk(chunk)
    counts, weights = term_counts(chunk, layout.fields), vocabulary.weights
    terms = tuple(word for word in weights if word in counts)
    return ScoredChunk(chunk, None, sum(weights[word] * counts[word] for word in terms), terms)


def fetch(layout: Layout, keys: MetadataKeys, refs: Sequence[ChunkRef], filters: Sequence[Any]) -> Flow[list[Chunk]]:
    """Return the chunks that exist among `refs` and pass all `filters`."""
    passes, condition = chunk_predicate(*filters), engine_filter(layout, filters)
    asked: dict[str, list[ChunkRef]] = {}
    for ref in refs:
        if ref.around_offset is None and ref.named_in is None:
            asked.setdefault(ref.document_id, []).append(ref)
    if not asked:
        return []
    documents: list[Any] = [_document_condition(document_id, own_refs) for document_id, own_refs in asked.items()]
    needed: list[Any] = [models.Filter(should=documents), *([condition] if condition else [])]
    chunks: list[Chunk] = []
    offset = None
    while True:
        points, offset = yield (
            "scroll",
            {
                "collection_name": layout.collection,
                "scroll_filter": models.Filter(must=needed),
                "limit": PAGE,
                "offset": offset,
            },
        )
        chunks += [chunk_from_payload(point.id, point.payload, layout, keys) for point in points]
        if offset is None:
            return list(filter(passes, chunks))


def _document_condition(document_id: str, refs: Sequence[ChunkRef]) -> models.Filter:
    """Return the condition of the chunks of a document that `refs` ask for."""
    needed: list[Any] = [match_any(own_key("document_id"), [document_id])]
    if not any(ref.index is None and ref.chunk_id is None for ref in refs):
        indexes = [ref.index for ref in refs if ref.index is not None]
        ids = [ref.chunk_id for ref in refs if ref.index is None]
        by_key: tuple[tuple[str, list[Any]], ...] = (("index", indexes), ("id", ids))
        either: list[Any] = [match_any(own_key(name), values) for name, values in by_key if values]
        needed.append(models.Filter(should=either))
    return models.Filter(must=needed)


def match_any(path: str, values: Sequence[Any]) -> models.FieldCondition:
    """Return the condition that the value under `path` is one of `values`."""
    return models.FieldCondition(key=path, match=models.MatchAny(any=list(values)))


def check_vector(vector: Sequence[float], layout: Layout) -> None:
    """Check that the collection takes `vector`.

    Raises:
        ConfigError: it has another length than the embeddings.
    """
    if len(vector) != layout.dimensions:
        raise ConfigError("embed", f"of {layout.dimensions} dimensions, as the collection is", len(vector))
