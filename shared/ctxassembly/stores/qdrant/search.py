"""Searching by sparse and dense vectors: what is asked for, as calls of a client, and what answers mean.

A question is two round trips: one for its words, one for both channels and the similarities of what words find. There
is a third for near words, if a word is in no chunk, and under a filter a fourth for the chunks that have these; and one
for similarities that the second didn't have.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from qdrant_client import models

from ctxassembly.data.chunks import Chunk, ChunkRef
from ctxassembly.data.requests import FindTerms, SearchChunks
from ctxassembly.data.retrieval import QueryVocabulary, ScoredChunk, TermStats
from ctxassembly.stores.filtered import chunk_predicate
from ctxassembly.stores.memory import MemoryStore
from ctxassembly.stores.qdrant.engine import Channel, Flow, Found, QdrantEngine
from ctxassembly.stores.qdrant.filters import engine_filter
from ctxassembly.stores.qdrant.rows import MAX_DOCUMENTS, Layout, Stored, mentioned_titles, sparse_vector
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


def find_terms(engine: QdrantEngine, request: FindTerms, filters: Sequence[Any]) -> Flow[QueryVocabulary]:
    """Return the words of a query with their counts in the index, and near words of chunks that pass all `filters`.

    Raises:
        ConfigError: a filter can't be read.
    """
    filters = [one for one in filters if one is not None]
    passes, condition = chunk_predicate(*filters), engine_filter(engine.layout, filters)
    words = list(dict.fromkeys(lexemes(request.text)))[:MAX_LEXEMES]
    chunk_count, known = yield from engine.read_words(words)
    counts = {word: known.get(word, 0) for word in words}
    by_rarity = sorted(words, key=lambda word: (not counts[word], counts[word]))[: request.max_terms]
    missing = [word for word in by_rarity if not counts[word] and len(word) >= MIN_WORD_CHARS][:MAX_MISSING]
    near: dict[str, tuple[str, ...]] = {}
    if missing and request.max_variants:
        answers = yield from engine.read_near(missing)
        for word, candidates in zip(missing, answers, strict=True):
            near[word] = tuple(NearWords(candidates).find(word, MAX_CHECKED if filters else request.max_variants))
    if filters and (checked := list(dict.fromkeys(word for some in near.values() for word in some))):
        found = yield from engine.read_having(checked, MAX_READ, condition)
        readable = {
            word
            for word, some in zip(checked, found, strict=True)
            if any(passes(one.chunk) and word in one.words(engine.layout) for one in some)
        }
        near = {
            word: tuple([one for one in some if one in readable][: request.max_variants]) for word, some in near.items()
        }
    kept = set(by_rarity)
    terms = tuple(TermStats(word, counts[word], near.get(word, ())) for word in words if word in kept)
    return QueryVocabulary(chunk_count, terms)


def search(engine: QdrantEngine, request: SearchChunks, filters: Sequence[Any]) -> Flow[list[ScoredChunk]]:
    """Return the best chunks of each channel that pass all `filters`, each with its scores in all that search.

    Raises:
        ConfigError: a filter can't be read, or the vector has another length than the embeddings.
    """
    passes, condition = chunk_predicate(*filters), engine_filter(engine.layout, filters)
    weights: Mapping[str, float] = request.vocabulary.weights if request.vocabulary else {}
    known = {term.text for term in request.vocabulary.terms if term.chunk_count} if request.vocabulary else set()
    channels: list[Channel] = []
    vector: list[float] = []
    if request.vector is not None:
        engine.layout.check_vector(request.vector)
        vector = [float(number) for number in request.vector]
        channels.append(Channel(vector, request.limit))
    if known:
        words = sparse_vector({word: weight for word, weight in weights.items() if word in known})
        channels.append(Channel(words, request.limit + TIES))
    if not channels:
        return []
    answers, similarities = yield from engine.read_best(channels, condition)
    hits: dict[Any, ScoredChunk] = {}
    for channel, answer in zip(channels, answers, strict=True):
        found = yield from _read_passing(engine, channel, answer, passes, condition)
        scored = {one.stored.key: _with_words(engine.layout, one.stored, request.vocabulary) for one in found}
        if isinstance(channel.query, models.SparseVector):
            by_score = sorted(scored, key=lambda key: (-(scored[key].keyword_score or 0), scored[key].chunk.id))
            scored = {key: scored[key] for key in by_score[: request.limit]}
        else:
            similarities |= {one.stored.key: one.score for one in found}
        hits |= scored
    lacking = [key for key in hits if key not in similarities] if vector else []
    if lacking:
        similarities |= yield from engine.read_similarities(vector, lacking)
    return [hit._replace(similarity=similarities.get(key)) for key, hit in hits.items()]


def _read_passing(
    engine: QdrantEngine,
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
        ((answer,), _) = yield from engine.read_best([following], condition)


def _with_words(layout: Layout, stored: Stored, vocabulary: QueryVocabulary | None) -> ScoredChunk:
    """Return a chunk with its keyword score and words, which are read from its text: two may have one hash."""
    if vocabulary is None:
        return ScoredChunk(stored.shown())
    counts, weights = stored.words(layout), vocabulary.weights
    terms = tuple(word for word in weights if word in counts)
    return ScoredChunk(stored.shown(), None, sum(weights[word] * counts[word] for word in terms), terms)


def fetch(engine: QdrantEngine, refs: Sequence[ChunkRef], filters: Sequence[Any]) -> Flow[list[Chunk]]:
    """Return the chunks that exist among `refs` and pass all `filters`.

    Where neighbors are asked for by offset, all chunks of the document are read, and those around it kept.
    """
    passes, condition = chunk_predicate(*filters), engine_filter(engine.layout, filters)
    placed, naming = ([ref for ref in refs if (ref.named_in is None) is is_placed] for is_placed in (True, False))
    places: dict[str, list[ChunkRef]] = {}
    for ref in placed:
        grouped_by = ref.around_offset.document_id if ref.around_offset else None
        places.setdefault(grouped_by or ref.document_id, []).append(ref)
    chunks: list[Chunk] = []
    if places:
        found = yield from engine.read_places(places, condition)
        chunks += _pick(engine, placed, found, passes)
    if titles := mentioned_titles(ref.named_in or "" for ref in naming):
        found = yield from engine.read_titled(titles, MAX_DOCUMENTS, condition)
        chunks += _pick(engine, naming, found, passes)
    return chunks


def _pick(
    engine: QdrantEngine, refs: Sequence[ChunkRef], found: Iterable[Stored], passes: Callable[[Chunk], bool]
) -> Sequence[Chunk]:
    """Return what `refs` ask for of the chunks that were found and pass."""
    return MemoryStore((one.shown() for one in found if passes(one.chunk)), keys=engine.keys).fetch(refs)
