"""Searching by sparse and dense vectors: what is asked for, by calls of a client, and what answers mean.

A question is two round trips: one for its words, one for both channels and the similarities of what words find. There
is a third for near words, if a word is in no chunk, and under a filter a fourth for the chunks that have these; and one
for similarities that the second didn't have.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from qdrant_client import models

from ctxassembly.data.chunks import Chunk, ChunkRef
from ctxassembly.data.requests import FindTerms, SearchChunks
from ctxassembly.data.retrieval import QueryVocabulary, ScoredChunk, TermStats
from ctxassembly.stores.filtered import chunk_predicate
from ctxassembly.stores.memory import MemoryStore
from ctxassembly.stores.numbering import scroll_points
from ctxassembly.stores.qdrant.filters import engine_filter
from ctxassembly.stores.qdrant.rows import (
    MAX_DOCUMENTS,
    STATE_ID,
    TRIGRAMS,
    WORDS,
    Layout,
    Stored,
    lexeme_id,
    match_any,
    mentioned_titles,
    own_key,
    read_points,
    sparse_vector,
    trigram_vector,
)
from ctxassembly.stores.simple_words import MIN_WORD_CHARS, NearWords, lexemes

MAX_LEXEMES = 400
"""The first words of a query are looked up."""
MAX_MISSING = 16
"""The first words of a query that no chunk has, for which near ones are looked up."""
MAX_CHECKED, MAX_READ = 32, 8
"""Near words of a missing one that are looked up under a filter, and chunks that are read of each."""
GROWTH = 4
"""Where the filter excludes what was found, so many times as many are asked for next."""
TIES = 16
"""So many chunks more than wanted are asked for by words: of equal scores, and within the precision of Qdrant, the
first by id are kept."""
NEAR_CANDIDATES = 256
"""Words with the most trigrams of a missing one, which are then compared with it."""
PAGE = 1_000
"""Chunks of a document read at once."""


class Channel(NamedTuple):
    """What one channel asks for: the nearest by the embedding, or by a sparse vector of words."""

    query: list[float] | models.SparseVector
    limit: int
    offset: int = 0


class Found(NamedTuple):
    """A chunk that a channel has found."""

    stored: Stored
    score: float


def find_terms(client: Any, layout: Layout, request: FindTerms, filters: Sequence[Any]) -> QueryVocabulary:
    """Return the words of a query with their counts in the index, and near words of chunks that pass all `filters`.

    Raises:
        ConfigError: a filter can't be read.
    """
    filters = [one for one in filters if one is not None]
    passes, condition = chunk_predicate(*filters), engine_filter(layout, filters)
    words = list(dict.fromkeys(lexemes(request.text)))[:MAX_LEXEMES]
    points = client.retrieve(layout.lexemes, [STATE_ID, *map(lexeme_id, words)], with_payload=True)
    payloads = {point.payload.get("word"): point.payload for point in points}
    chunk_count = payloads.pop(None, {}).get("chunks", 0)
    known = {word: payload["count"] for word, payload in payloads.items()}
    counts = {word: known.get(word, 0) for word in words}
    by_rarity = sorted(words, key=lambda word: (not counts[word], counts[word]))[: request.max_terms]
    missing = [word for word in by_rarity if not counts[word] and len(word) >= MIN_WORD_CHARS][:MAX_MISSING]
    near: dict[str, tuple[str, ...]] = {}
    if missing and request.max_variants:
        requests = [
            # All trigrams inside a word are in one that contains it: at twice the value these come first.
            _query(trigram_vector(word, inner=2.0), TRIGRAMS, NEAR_CANDIDATES, None)
            for word in missing
        ]
        answers = client.query_batch_points(layout.lexemes, requests)
        for word, answer in zip(missing, answers, strict=True):
            candidates = [point.payload["word"] for point in answer.points]
            near[word] = tuple(NearWords(candidates).find(word, MAX_CHECKED if filters else request.max_variants))
    if filters and (checked := list(dict.fromkeys(word for some in near.values() for word in some))):
        requests = [_query(sparse_vector({word: 1.0}), WORDS, MAX_READ, condition) for word in checked]
        answers = client.query_batch_points(layout.collection, requests)
        readable = {
            word
            for word, answer in zip(checked, answers, strict=True)
            if any(passes(one.chunk) and word in one.words(layout) for one in read_points(answer.points, layout))
        }
        near = {
            word: tuple([one for one in some if one in readable][: request.max_variants]) for word, some in near.items()
        }
    kept = set(by_rarity)
    terms = tuple(TermStats(word, counts[word], near.get(word, ())) for word in words if word in kept)
    return QueryVocabulary(chunk_count, terms)


def search(client: Any, layout: Layout, request: SearchChunks, filters: Sequence[Any]) -> list[ScoredChunk]:
    """Return the best chunks of each channel that pass all `filters`, each with its scores in all that search.

    Raises:
        ConfigError: a filter can't be read, or the vector has another length than the embeddings.
    """
    passes, condition = chunk_predicate(*filters), engine_filter(layout, filters)
    weights: Mapping[str, float] = request.vocabulary.weights if request.vocabulary else {}
    known = {term.text for term in request.vocabulary.terms if term.chunk_count} if request.vocabulary else set()
    channels: list[Channel] = []
    vector: list[float] = []
    if request.vector is not None:
        layout.check_vector(request.vector)
        vector = [float(number) for number in request.vector]
        channels.append(Channel(vector, request.limit))
    if known:
        words = sparse_vector({word: weight for word, weight in weights.items() if word in known})
        channels.append(Channel(words, request.limit + TIES))
    if not channels:
        return []
    answers, similarities = _read_best(client, layout, channels, condition)
    hits: dict[Any, ScoredChunk] = {}
    for channel, best in zip(channels, answers, strict=True):
        found = _read_passing(client, layout, channel, best, passes, condition)
        scored = {one.stored.key: _with_words(layout, one.stored, request.vocabulary) for one in found}
        if isinstance(channel.query, models.SparseVector):
            by_score = sorted(scored, key=lambda key: (-(scored[key].keyword_score or 0), scored[key].chunk.id))
            scored = {key: scored[key] for key in by_score[: request.limit]}
        else:
            similarities |= {one.stored.key: one.score for one in found}
        hits |= scored
    lacking = [key for key in hits if key not in similarities] if vector else []
    if lacking:
        here = models.Filter(must=[models.HasIdCondition(has_id=lacking)])
        exact = _query(vector, layout.vector, len(lacking), here, with_payload=False)
        (answer,) = client.query_batch_points(layout.collection, [exact])
        similarities |= {point.id: point.score for point in answer.points}
    return [hit._replace(similarity=similarities.get(key)) for key, hit in hits.items()]


def _read_passing(
    client: Any,
    layout: Layout,
    channel: Channel,
    answer: Sequence[Found],
    passes: Callable[[Chunk], bool],
    condition: models.Filter | None,
) -> list[Found]:
    """Return the best chunks that pass, with their scores; further ones are asked for if too few of `answer` do."""
    found: list[Found] = []
    wanted, seen = channel.limit, 0
    while True:
        found += [one for one in answer if passes(one.stored.chunk)]
        seen += len(answer)
        if len(found) >= channel.limit or len(answer) < wanted:
            return found[: channel.limit]
        wanted *= GROWTH
        following = Channel(channel.query, wanted, seen)
        ((answer,), _) = _read_best(client, layout, [following], condition)


def _with_words(layout: Layout, stored: Stored, vocabulary: QueryVocabulary | None) -> ScoredChunk:
    """Return a chunk with its keyword score and words, which are read from its text: two may have one hash."""
    if vocabulary is None:
        return ScoredChunk(stored.shown())
    counts, weights = stored.words(layout), vocabulary.weights
    terms = tuple(word for word in weights if word in counts)
    return ScoredChunk(stored.shown(), None, sum(weights[word] * counts[word] for word in terms), terms)


def fetch(client: Any, layout: Layout, refs: Sequence[ChunkRef], filters: Sequence[Any]) -> list[Chunk]:
    """Return the chunks that exist among `refs` and pass all `filters`.

    Where neighbors are asked for by offset, all chunks of the document are read, and those around it kept.
    """
    passes, condition = chunk_predicate(*filters), engine_filter(layout, filters)
    placed, naming = ([ref for ref in refs if (ref.named_in is None) is is_placed] for is_placed in (True, False))
    places: dict[str, list[ChunkRef]] = {}
    for ref in placed:
        grouped_by = ref.around_offset.document_id if ref.around_offset else None
        places.setdefault(grouped_by or ref.document_id, []).append(ref)
    chunks: list[Chunk] = []
    if places:
        wanted = models.Filter(should=[_document_condition(document_id, some) for document_id, some in places.items()])
        points = scroll_points(client, layout.collection, PAGE, scroll_filter=_both(wanted, condition))
        chunks += _pick(layout, placed, read_points(points, layout), passes)
    if titles := mentioned_titles(ref.named_in or "" for ref in naming):
        titled = models.Filter(must=[match_any(own_key("title"), titles)])
        points, _ = client.scroll(layout.collection, _both(titled, condition), limit=MAX_DOCUMENTS)
        chunks += _pick(layout, naming, read_points(points, layout), passes)
    return chunks


def _pick(
    layout: Layout, refs: Sequence[ChunkRef], found: Iterable[Stored], passes: Callable[[Chunk], bool]
) -> Sequence[Chunk]:
    """Return what `refs` ask for of the chunks that were found and pass."""
    return MemoryStore((one.shown() for one in found if passes(one.chunk)), keys=layout.keys).fetch(refs)


def _read_best(
    client: Any, layout: Layout, channels: Sequence[Channel], condition: models.Filter | None
) -> tuple[list[list[Found]], dict[Any, float]]:
    """Return what each channel finds; with two, also the similarities of what words find."""
    usings = [WORDS if isinstance(channel.query, models.SparseVector) else layout.vector for channel in channels]
    requests = [
        _query(channel.query, using, channel.limit, condition, offset=channel.offset)
        for channel, using in zip(channels, usings, strict=True)
    ]
    if len(channels) == 2:
        by_vector, by_words = channels
        best = models.Prefetch(query=by_words.query, using=WORDS, limit=by_words.limit, filter=condition)
        scored = _query(by_vector.query, layout.vector, by_words.limit, None, prefetch=best, with_payload=False)
        requests.append(scored)
    answers = client.query_batch_points(layout.collection, requests)
    found = []
    for _, answer in zip(channels, answers, strict=False):
        scores = [point.score for point in answer.points]
        found.append(list(map(Found, read_points(answer.points, layout), scores)))
    return found, {point.id: point.score for answer in answers[len(channels) :] for point in answer.points}


def _both(wanted: models.Filter, condition: models.Filter | None) -> models.Filter:
    return models.Filter(must=[wanted, *([condition] if condition else [])])


def _query(query: Any, using: str, limit: int, condition: models.Filter | None, **more: Any) -> models.QueryRequest:
    options = {"with_payload": True, **more}
    return models.QueryRequest(query=query, using=using, limit=limit, filter=condition, **options)


def _document_condition(document_id: str, refs: Sequence[ChunkRef]) -> models.Filter:
    """Return the condition of the chunks of a document that `refs` ask for."""
    here = match_any(own_key("document_id"), [document_id])
    if any(ref.index is None and ref.chunk_id is None for ref in refs):  # all chunks; those by offset, too
        return models.Filter(must=[here])
    asked: Mapping[str, list[Any]] = {
        "index": [ref.index for ref in refs if ref.index is not None],
        "id": [ref.chunk_id for ref in refs if ref.index is None],
    }
    either: list[Any] = [match_any(own_key(name), values) for name, values in asked.items() if values]
    return models.Filter(must=[here, models.Filter(should=either)])
