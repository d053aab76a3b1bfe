"""Searching by sparse and dense vectors: what is asked for, as calls of a client, and what answers mean.

A question is two round trips: one for its words, one for both channels and the similarities of what words find. There
is a third for near words, if a word is in no chunk, and under a filter a fourth for the chunks that have these; and one
for similarities that the second didn't have.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

from qdrant_client import models

from ctxassembly.data.chunks import Chunk, ChunkRef
from ctxassembly.data.requests import FindTerms, SearchChunks
from ctxassembly.data.retrieval import QueryVocabulary, ScoredChunk, TermStats
from ctxassembly.stores.filtered import chunk_predicate
from ctxassembly.stores.memory import MemoryStore
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

T = TypeVar("T")
Call = tuple[str, dict[str, Any]]
"""The name of a method of the client, and its arguments."""
Flow = Generator[Call, Any, T]
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


def find_terms(layout: Layout, request: FindTerms, filters: Sequence[Any]) -> Flow[QueryVocabulary]:
    """Return the words of a query with their counts in the index, and near words of chunks that pass all `filters`.

    Raises:
        ConfigError: a filter can't be read.
    """
    filters = [one for one in filters if one is not None]
    passes, condition = chunk_predicate(*filters), engine_filter(layout, filters)
    words = list(dict.fromkeys(lexemes(request.text)))[:MAX_LEXEMES]
    chunk_count, known = yield from _read_words(layout, words)
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
        answers = yield "query_batch_points", {"collection_name": layout.lexemes, "requests": requests}
        for word, answer in zip(missing, answers, strict=True):
            candidates = [point.payload["word"] for point in answer.points]
            near[word] = tuple(NearWords(candidates).find(word, MAX_CHECKED if filters else request.max_variants))
    if filters and (checked := list(dict.fromkeys(word for some in near.values() for word in some))):
        requests = [_query(sparse_vector({word: 1.0}), WORDS, MAX_READ, condition) for word in checked]
        answers = yield "query_batch_points", {"collection_name": layout.collection, "requests": requests}
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


def search(layout: Layout, request: SearchChunks, filters: Sequence[Any]) -> Flow[list[ScoredChunk]]:
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
    answers, similarities = yield from _read_best(layout, channels, condition)
    hits: dict[Any, ScoredChunk] = {}
    for channel, best in zip(channels, answers, strict=True):
        found = yield from _read_passing(layout, channel, best, passes, condition)
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
        (answer,) = yield "query_batch_points", {"collection_name": layout.collection, "requests": [exact]}
        similarities |= {point.id: point.score for point in answer.points}
    return [hit._replace(similarity=similarities.get(key)) for key, hit in hits.items()]


def _read_passing(
    layout: Layout,
    channel: Channel,
    answer: Sequence[Found],
    passes: Callable[[Chunk], bool],
    condition: models.Filter | None,
) -> Flow[list[Found]]:
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
        ((answer,), _) = yield from _read_best(layout, [following], condition)


def _with_words(layout: Layout, stored: Stored, vocabulary: QueryVocabulary | None) -> ScoredChunk:
    """Return a chunk with its keyword score and words, which are read from its text: two may have one hash."""
    if vocabulary is None:
        return ScoredChunk(stored.shown())
    counts, weights = stored.words(layout), vocabulary.weights
    terms = tuple(word for word in weights if word in counts)
    return ScoredChunk(stored.shown(), None, sum(weights[word] * counts[word] for word in terms), terms)


def fetch(layout: Layout, refs: Sequence[ChunkRef], filters: Sequence[Any]) -> Flow[list[Chunk]]:
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
        found = yield from _read_places(layout, places, condition)
        chunks += _pick(layout, placed, found, passes)
    if titles := mentioned_titles(ref.named_in or "" for ref in naming):
        titled = models.Filter(must=[match_any(own_key("title"), titles)])
        points, _ = yield _scroll_call(layout, titled, MAX_DOCUMENTS, condition)
        chunks += _pick(layout, naming, read_points(points, layout), passes)
    return chunks


def _pick(
    layout: Layout, refs: Sequence[ChunkRef], found: Iterable[Stored], passes: Callable[[Chunk], bool]
) -> Sequence[Chunk]:
    """Return what `refs` ask for of the chunks that were found and pass."""
    return MemoryStore((one.shown() for one in found if passes(one.chunk)), keys=layout.keys).fetch(refs)


def _read_words(layout: Layout, words: Sequence[str]) -> Flow[tuple[int, Mapping[str, int]]]:
    """Return the number of chunks, and the number that have each of `words`, as far as there are any."""
    ids = [STATE_ID, *map(lexeme_id, words)]
    points = yield "retrieve", {"collection_name": layout.lexemes, "ids": ids, "with_payload": True}
    payloads = {point.payload.get("word"): point.payload for point in points}
    chunk_count = payloads.pop(None, {}).get("chunks", 0)
    return chunk_count, {word: payload["count"] for word, payload in payloads.items()}


def _read_best(
    layout: Layout, channels: Sequence[Channel], condition: models.Filter | None
) -> Flow[tuple[list[list[Found]], dict[Any, float]]]:
    """Return what each channel finds; with two, also the similarities of what words find."""
    requests = [_best(layout, channel, condition) for channel in channels]
    if len(channels) == 2:
        by_vector, by_words = requests
        best = models.Prefetch(query=by_words.query, using=WORDS, limit=by_words.limit, filter=condition)
        limit = by_words.limit or 0
        scored = _query(by_vector.query, layout.vector, limit, None, prefetch=best, with_payload=False)
        requests.append(scored)
    answers = yield "query_batch_points", {"collection_name": layout.collection, "requests": requests}
    found = []
    for _, answer in zip(channels, answers, strict=False):
        scores = [point.score for point in answer.points]
        found.append(list(map(Found, read_points(answer.points, layout), scores)))
    return found, {point.id: point.score for answer in answers[len(channels) :] for point in answer.points}


def _best(layout: Layout, channel: Channel, condition: models.Filter | None) -> models.QueryRequest:
    using = WORDS if isinstance(channel.query, models.SparseVector) else layout.vector
    return _query(channel.query, using, channel.limit, condition, offset=channel.offset)


def _read_places(
    layout: Layout, places: Mapping[str, Sequence[ChunkRef]], condition: models.Filter | None
) -> Flow[list[Stored]]:
    """Return the chunks that exist among references by document. There is a round trip for each page of them."""
    documents: list[Any] = [_document_condition(document_id, refs) for document_id, refs in places.items()]
    call = _scroll_call(layout, models.Filter(should=documents), PAGE, condition)
    points, offset = yield call
    found = read_points(points, layout)
    while offset is not None:
        points, offset = yield call[0], {**call[1], "offset": offset}
        found += read_points(points, layout)
    return found


def _scroll_call(
    layout: Layout, wanted: models.Filter, limit: int, condition: models.Filter | None
) -> tuple[str, dict[str, Any]]:
    both = models.Filter(must=[wanted, *([condition] if condition else [])])
    return "scroll", {"collection_name": layout.collection, "scroll_filter": both, "limit": limit}


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
