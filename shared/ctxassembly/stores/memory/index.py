"""An index in memory, with the results of one on PostgreSQL: for tests, notebooks and small corpora."""

from __future__ import annotations

import json
import math
from collections import ChainMap, Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import copy
from functools import cached_property, lru_cache, partial
from typing import Any, NamedTuple

from ctxassembly.concurrency import to_async
from ctxassembly.data.chunks import Chunk, ChunkRef
from ctxassembly.data.filters import as_predicate
from ctxassembly.data.requests import FindTerms, SearchChunks
from ctxassembly.data.retrieval import SINGLE_OCCURRENCE, QueryVocabulary, ScoredChunk, TermStats
from ctxassembly.data.validation import check_weights
from ctxassembly.errors import ConfigError, InputError
from ctxassembly.safe_repr import safe_repr
from ctxassembly.stores.memory.enrichment import IndexState, MemoryEnrichment
from ctxassembly.stores.memory.lexemes import NearWords, lexemes
from ctxassembly.stores.memory.store import MemoryStore


class Cosines:
    """Vectors that are compared with others. A vector of nothing but zeros is like none: its cosine is 0.

    >>> Cosines([[1.0, 0.0], [3.0, 4.0]]).similarities([1.0, 0.0])
    [1.0, 0.6]
    """

    def __init__(self, vectors: Sequence[Sequence[float]]) -> None:
        """Take `vectors`, all of one length.

        Raises:
            InputError: they differ in length, or aren't made of numbers.
        """
        import numpy as np  # here, so that naming a MemoryIndex loads nothing heavy

        units = [_unit(vector) for vector in vectors]
        self.dimensions = len(units[0]) if units else 0
        for place, unit in enumerate(units):
            if len(unit) != self.dimensions:
                raise InputError(f"vectors differ: number 0 has {self.dimensions} numbers, number {place} {len(unit)}")
        self._matrix = np.array(units).reshape(len(units), self.dimensions)

    def similarities(self, vector: Sequence[float]) -> list[float]:
        """Return the cosine of each vector with `vector`, in their order.

        Raises:
            InputError: `vector` has another length.
        """
        unit = _unit(vector)
        if not len(self._matrix):
            return []
        if len(unit) != self.dimensions:
            raise InputError(
                f"the query's vector has {len(unit)} numbers, the vectors of the index have {self.dimensions}"
            )
        return [float(cosine) for cosine in self._matrix @ unit]


def _unit(vector: Sequence[float]) -> list[float]:
    try:
        numbers = [float(number) for number in vector]
    except (TypeError, ValueError) as error:
        raise InputError(f"a vector must be a sequence of numbers: {error}") from error
    length = math.hypot(*numbers)
    if not math.isfinite(length):
        raise InputError("a vector must be made of finite numbers")
    return [number / length for number in numbers] if length else numbers


_MAX_POSITION = 16_383
"""The last position that PostgreSQL counts: all words after it share this position."""
_MAX_POSITIONS_PER_WORD = 255
"""PostgreSQL keeps no more places of one word."""


class Occurrences(NamedTuple):
    """The words of a chunk.

    >>> [title, text] = ["tea"], ["no", "tea"]
    >>> found = count_occurrences([title, text], (0.5, 1.0))
    >>> {word: round(rank, 3) for word, rank in found.ranks.items()}, found.size
    ({'tea': 0.091, 'no': 0.061}, 29)
    """

    ranks: Mapping[str, float]
    size: int
    """In bytes."""


def count_occurrences(parts: Sequence[Sequence[str]], weights: tuple[float, ...]) -> Occurrences:
    """Count the words of a chunk's `parts`, in the order in which they are indexed, each with its weight, 0 to 1."""
    found = _count_words(parts)
    return Occurrences({word: _ts_rank(tuple(times), weights) for word, times in found.items()}, _tsvector_size(found))


def _count_words(parts: Sequence[Sequence[str]]) -> Mapping[str, list[int]]:
    """Count the occurrences of each word in each part, as far as PostgreSQL distinguishes their positions."""
    found: dict[str, list[int]] = defaultdict(lambda: [0] * len(parts))
    words_before = 0
    for at, words in enumerate(parts):
        room = max(_MAX_POSITION - 1 - words_before, 0)
        for word, times in (Counter(words[:room]) + Counter(set(words[room:]))).items():
            found[word][at] = times
        words_before += len(words)
    return found


@lru_cache(maxsize=4096)
def _ts_rank(times: tuple[int, ...], weights: tuple[float, ...]) -> float:
    """Return the `ts_rank` of a word: each occurrence counts less than the previous, the heaviest in full."""
    occurrence_weights = [weight for count, weight in zip(times, weights, strict=True) for _ in range(count)][
        :_MAX_POSITIONS_PER_WORD
    ]
    best = occurrence_weights.index(max(occurrence_weights))
    rest = (weight / (place + 1) ** 2 for place, weight in enumerate(occurrence_weights) if place != best)
    return SINGLE_OCCURRENCE * sum(rest, occurrence_weights[best])


def _tsvector_size(found: Mapping[str, Sequence[int]]) -> int:
    """Return the size of the words in a row, in bytes."""
    size = 4
    for word, times in found.items():
        length = len(word.encode(errors="replace"))
        size += 4 + length + length % 2 + 2 + 2 * min(sum(times), _MAX_POSITIONS_PER_WORD)
    return size + (1 if size < 127 else 4)  # the header


Vectors = Sequence[Sequence[float]] | Mapping[str, Sequence[float]]


class MemoryIndex(MemoryStore):
    """Chunks that are searched by words and by vectors, exactly. It is a store of their neighbors, too.

    >>> index = MemoryIndex([Chunk("a#0", "a", "Drink water."), Chunk("a#1", "a", "No water, no tea.")])
    >>> words = index.find_terms(FindTerms("water or tea", max_terms=32, max_variants=4))
    >>> [(term.text, term.chunk_count) for term in words.terms]
    [('water', 2), ('or', 0), ('tea', 1)]
    >>> found = index.search(SearchChunks(10, vector=None, vocabulary=words, filter=None))
    >>> [(one.chunk.id, round(one.keyword_score, 3), one.terms) for one in found]
    [('a#1', 0.053, ('water', 'tea')), ('a#0', 0.011, ('water',))]
    """

    def __init__(
        self,
        chunks: Iterable[Chunk],
        vectors: Vectors | None = None,
        *,
        words: Callable[[str], Sequence[str]] = lexemes,
        title: str | None = "title",
        questions: str | None = "questions",
        field_weights: tuple[float, float] = (1.0, 1.0),
        length_weight: float = 0.0,
    ) -> None:
        """Index `chunks`.

        Args:
            chunks: with an id each of its own.
            vectors: the embeddings: one for each of `chunks`, in their order, or by the chunks' ids. None takes each
                chunk's own `vector`. Chunks without one are found by words alone.
            words: a function from a text to its words as they are to be found: the default does as the `simple`
                configuration of PostgreSQL, a stemmer of yours as another one.
            title: the metadata key of a title that is searched with the text; None for none.
            questions: the metadata key of questions that the chunk answers.
            field_weights: the weight of an occurrence in the title and in the questions, 0 to 1; in the text it is 1.
            length_weight: the share by which the length of a chunk lowers its keyword score, 0 to 1.

        Raises:
            ConfigError: two chunks have one id, or a weight is out of range.
            InputError: a vector is missing, or has another length than the first.
        """
        chunks = tuple(chunks)
        super().__init__(chunks)
        by_id = {chunk.id: chunk for chunk in chunks}
        if len(by_id) < len(chunks):
            repeated = Counter(chunk.id for chunk in chunks).most_common(1)[0][0]
            raise ConfigError("chunks", "chunks with an id each of its own", repeated)
        vectors_by_id = {chunks[place].id: vector for place, vector in _vectors_by_position(chunks, vectors).items()}
        check_weights(field_weights, length_weight)
        fields = dict(zip((title, questions), field_weights, strict=True))
        build_corpus = partial(_Corpus, words=words, fields=fields, length_weight=length_weight)
        self._state = IndexState(build_corpus, by_id, vectors_by_id)
        self.filters: tuple[Any, ...] | None = None
        """The filters that every chunk has to pass. None: the caller's filter is unknown. See `with_filter`."""

    @property
    def enrichment(self) -> MemoryEnrichment:
        """The notes on its chunks, as `enrich` reads and writes them."""
        tests = _predicates(self.filters or ())
        return MemoryEnrichment(
            self._state,
            lambda chunk: all(test(chunk) for test in tests),
            lambda: self._replace_chunks(self._state.visible_chunks.values()),
        )

    @property
    def _corpus(self) -> _Corpus:
        corpus: _Corpus = self._state.corpus
        return corpus

    def with_filter(self, filter: Any) -> MemoryIndex:
        """Return the same index restricted to chunks that pass `filter`, also as a store of neighbors. None: no filter.

        A filter is a function Chunk -> bool, or a mapping of metadata keys to values or operators ($eq $ne $gt $gte
        $lt $lte $in $nin $exists $between $like $ilike), with $and, $or and $not over such mappings. A chunk without
        the key doesn't pass. `document_id`, `chunk_index` and `start_index` are the chunk's own.

        Raises:
            ConfigError: it has another form.
        """
        narrowed = copy(self)
        narrowed.filters = (*(self.filters or ()), *(() if filter is None else (filter,)))
        _predicates(narrowed.filters)
        return narrowed

    @property
    def holds_filter(self) -> bool | None:
        """True if neighbors obey the caller's filter, as `Store` describes it; None before `with_filter`."""
        return None if self.filters is None else bool(self.filters)

    def fetch(self, refs: Sequence[ChunkRef]) -> Sequence[Chunk]:
        """Return the chunks that exist among `refs` and pass the filter, each once."""
        tests = _predicates(self.filters)
        return [chunk for chunk in super().fetch(refs) if all(test(chunk) for test in tests)]

    def find_terms(self, request: FindTerms) -> QueryVocabulary:
        """Return the words of a query, and how many chunks have each, whatever the filter."""
        return self._corpus.find_terms(request)

    def search(self, request: SearchChunks) -> list[ScoredChunk]:
        """Return the best chunks of each channel that pass the filters, each with its scores in all channels searched.

        Raises:
            ConfigError: the filter has a form that can't be read.
            InputError: there are no vectors to search, or the query's has another length.
        """
        found = self._corpus.search(request, _predicates((*(self.filters or ()), request.filter)))
        return [one._replace(chunk=self._state.visible_chunks[one.chunk.id]) for one in found]

    async def afind_terms(self, request: FindTerms) -> QueryVocabulary:
        """Async version of `find_terms`, in a thread."""
        return await to_async(self.find_terms)(request)

    async def asearch(self, request: SearchChunks) -> list[ScoredChunk]:
        """Async version of `search`, in a thread."""
        return await to_async(self.search)(request)


class _Corpus:
    """Chunks, the words that they have, and their vectors; an index under a filter shares it."""

    def __init__(
        self,
        chunks: Sequence[Chunk],
        vectors: Vectors | None,
        words: Callable[[str], Sequence[str]],
        fields: Mapping[str | None, float],
        length_weight: float,
    ) -> None:
        self.chunks = chunks
        self.words = words
        embedded = _vectors_by_position(chunks, vectors)
        self.embedded_positions = list(embedded)
        """Places of the chunks that have a vector."""
        self.cosines = Cosines(list(embedded.values()))
        self.ranks: dict[str, dict[int, float]] = defaultdict(dict)
        """For each word the places of the chunks that have it, and what it counts there."""
        weights = (*fields.values(), 1.0)
        sizes: list[int] = []
        for place, chunk in enumerate(chunks):
            texts = (*(_field_text(key, chunk) for key in fields), chunk.text)
            found = count_occurrences([words(text) for text in texts], weights)
            sizes.append(found.size)
            for word, rank in found.ranks.items():
                self.ranks[word][place] = rank
        mean = sum(sizes) // len(sizes) if sizes else 1  # a whole number, as PostgreSQL's statistics have it
        self.length_factors = [1 - length_weight + length_weight * size / mean for size in sizes]
        """For each chunk what its keyword score is divided by."""

    @cached_property
    def near_words(self) -> NearWords:
        return NearWords(self.ranks)

    def find_terms(self, request: FindTerms) -> QueryVocabulary:
        chunk_counts = {word: len(self.ranks.get(word, ())) for word in self.words(request.text)}
        # A word that no chunk has finds nothing: it takes no place from one that does.
        rarest = sorted(chunk_counts, key=lambda word: (not chunk_counts[word], chunk_counts[word]))[
            : request.max_terms
        ]
        kept = set(rarest)
        return QueryVocabulary(
            len(self.chunks),
            tuple(
                TermStats(
                    word,
                    number,
                    ()
                    if number or not request.max_variants
                    else tuple(self.near_words.find(word, request.max_variants)),
                )
                for word, number in chunk_counts.items()
                if word in kept
            ),
        )

    def search(self, request: SearchChunks, predicates: Sequence[Callable[[Chunk], bool]]) -> list[ScoredChunk]:
        similarities: dict[int, float] = {}
        if request.vector is not None:
            similarities = self._similarities(request.vector)
        scores: dict[int, float] = defaultdict(float)
        terms: dict[int, list[str]] = defaultdict(list)
        for word, weight in (request.vocabulary.weights if request.vocabulary else {}).items():
            for place, rank in self.ranks.get(word, {}).items():
                scores[place] += weight * rank / self.length_factors[place]
                terms[place].append(word)
        passing = {place for place in {*similarities, *scores} if all(test(self.chunks[place]) for test in predicates)}
        return [
            ScoredChunk(
                self.chunks[place],
                similarities.get(place),
                None if request.vocabulary is None else scores.get(place, 0.0),
                tuple(terms.get(place, ())),
            )
            for place in dict.fromkeys(
                (*self._best(similarities, passing, request.limit), *self._best(scores, passing, request.limit))
            )
        ]

    def _similarities(self, vector: Sequence[float]) -> dict[int, float]:
        if self.chunks and not self.embedded_positions:
            raise InputError("the index has no vectors: give MemoryIndex vectors=, or search by strategy='keyword'")
        return dict(zip(self.embedded_positions, self.cosines.similarities(vector), strict=True))

    def _best(self, scores: Mapping[int, float], passing: set[int], limit: int) -> list[int]:
        """Return the places of the highest scores; ties by id."""
        return sorted(passing & scores.keys(), key=lambda place: (-scores[place], self.chunks[place].id))[:limit]


def _vectors_by_position(chunks: Sequence[Chunk], vectors: Vectors | None) -> dict[int, Sequence[float]]:
    """Return the vectors by the places of their chunks."""
    if vectors is None:
        return {place: chunk.vector for place, chunk in enumerate(chunks) if chunk.vector is not None}
    if isinstance(vectors, Mapping):
        return {place: vectors[chunk.id] for place, chunk in enumerate(chunks) if chunk.id in vectors}
    try:
        return {place: vector for place, (_, vector) in enumerate(zip(chunks, vectors, strict=True))}
    except (TypeError, ValueError):
        raise InputError(
            f"vectors must be one for each of {len(chunks)} chunks, got {safe_repr(vectors, 80)}"
        ) from None


class _FilterRow(NamedTuple):
    """A chunk as a filter reads it."""

    metadata: Mapping[str, Any]


def _predicates(filters: Iterable[Any] | None) -> list[Callable[[Chunk], bool]]:
    """Return the predicates of `filters`; None excludes nothing."""
    return [_chunk_predicate(condition) for condition in filters or () if condition is not None]


def _chunk_predicate(condition: Any) -> Callable[[Chunk], bool]:
    """Return the predicate of a filter. The chunk's own ids and offsets count as metadata, as columns of a table do."""
    predicate: Callable[[Any], bool] = as_predicate(condition)
    if callable(condition):
        return predicate

    def test(chunk: Chunk) -> bool:
        columns = {"document_id": chunk.document_id, "chunk_index": chunk.index, "start_index": chunk.start}
        return predicate(_FilterRow(ChainMap(columns, dict(chunk.metadata))))

    return test


def _field_text(key: str | None, chunk: Chunk) -> str:
    """Return the text under a metadata key; for any other value its JSON, whose words a table would index."""
    value = None if key is None else chunk.metadata.get(key)
    if value is None or isinstance(value, str):
        return value or ""
    return json.dumps(value, ensure_ascii=False, default=str)
