"""An index in memory, with the results of one on PostgreSQL: for tests, notebooks and small corpora."""

from __future__ import annotations

import json
import math
from collections import ChainMap, Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import copy
from functools import cached_property, lru_cache, partial
from operator import mul
from typing import Any, NamedTuple

from ctxassembly.concurrency import in_thread
from ctxassembly.data.chunks import Chunk, ChunkRef
from ctxassembly.data.filters import as_predicate
from ctxassembly.data.requests import FindTerms, SearchChunks
from ctxassembly.data.retrieval import ONCE, Scored, Term, Vocabulary
from ctxassembly.data.validation import check_weights
from ctxassembly.errors import ConfigError, InputError
from ctxassembly.safe_repr import shown
from ctxassembly.stores.memory.enrichment import Held, MemoryNotes
from ctxassembly.stores.memory.lexemes import NearWords, lexemes
from ctxassembly.stores.memory.store import MemoryStore


class Cosines:
    """Vectors that are compared with others. A vector of nothing but zeros is like none: its cosine is 0.

    >>> Cosines([[1.0, 0.0], [3.0, 4.0]]).with_([1.0, 0.0])
    [1.0, 0.6]
    """

    def __init__(self, vectors: Sequence[Sequence[float]]) -> None:
        """Take `vectors`, all of one length.

        Raises:
            InputError: they differ in length, or aren't made of numbers.
        """
        self._units = [_unit(vector) for vector in vectors]
        self.dimensions = len(self._units[0]) if self._units else 0
        for place, unit in enumerate(self._units):
            if len(unit) != self.dimensions:
                raise InputError(f"vectors differ: number 0 has {self.dimensions} numbers, number {place} {len(unit)}")

    def with_(self, vector: Sequence[float]) -> list[float]:
        """The cosine of each vector with `vector`, in their order.

        Raises:
            InputError: `vector` has another length.
        """
        unit = _unit(vector)
        if not self._units:
            return []
        if len(unit) != self.dimensions:
            raise InputError(f"the query's vector has {len(unit)} numbers, those of the index {self.dimensions}")
        if self._matrix is not None:
            return [float(cosine) for cosine in self._matrix @ unit]
        return [sum(map(mul, own, unit)) for own in self._units]

    @cached_property
    def _matrix(self) -> Any:
        """All vectors as one array; None without numpy."""
        try:
            import numpy as np
        except ImportError:
            return None
        return np.array(self._units).reshape(len(self._units), self.dimensions)


def _unit(vector: Sequence[float]) -> list[float]:
    try:
        numbers = [float(number) for number in vector]
    except (TypeError, ValueError) as error:
        raise InputError(f"a vector must be a sequence of numbers: {error}") from error
    length = math.hypot(*numbers)
    if not math.isfinite(length):
        raise InputError("a vector must be made of finite numbers")
    return [number / length for number in numbers] if length else numbers


_LAST_PLACE = 16_383
"""PostgreSQL counts no places of words beyond it: what stands there stands in one place."""
_MOST_PLACES = 255
"""PostgreSQL keeps no more places of one word."""


class Occurrences(NamedTuple):
    """The words of a chunk.

    >>> [title, text] = ["tea"], ["no", "tea"]
    >>> found = occurrences([title, text], (0.5, 1.0))
    >>> {word: round(rank, 3) for word, rank in found.ranks.items()}, found.size
    ({'tea': 0.091, 'no': 0.061}, 29)
    """

    ranks: Mapping[str, float]
    size: int
    """In bytes."""


def occurrences(parts: Sequence[Sequence[str]], weights: tuple[float, ...]) -> Occurrences:
    """The words of a chunk's `parts`, in the order in which they are indexed, each with its weight, 0 to 1."""
    found = _counted(parts)
    return Occurrences({word: _rank(tuple(times), weights) for word, times in found.items()}, _size(found))


def _counted(parts: Sequence[Sequence[str]]) -> Mapping[str, list[int]]:
    """The occurrences of each word in each part, as far as PostgreSQL tells their places apart."""
    found: dict[str, list[int]] = defaultdict(lambda: [0] * len(parts))
    before = 0
    for at, words in enumerate(parts):
        room = max(_LAST_PLACE - 1 - before, 0)
        for word, times in (Counter(words[:room]) + Counter(set(words[room:]))).items():
            found[word][at] = times
        before += len(words)
    return found


@lru_cache(maxsize=4096)
def _rank(times: tuple[int, ...], weights: tuple[float, ...]) -> float:
    """The `ts_rank` of a word: each occurrence counts less than the one before, but the weightiest counts in full."""
    each = [weight for count, weight in zip(times, weights, strict=True) for _ in range(count)][:_MOST_PLACES]
    best = each.index(max(each))
    rest = (weight / (place + 1) ** 2 for place, weight in enumerate(each) if place != best)
    return ONCE * sum(rest, each[best])


def _size(found: Mapping[str, Sequence[int]]) -> int:
    """The bytes that the words take in a row."""
    size = 4
    for word, times in found.items():
        length = len(word.encode(errors="replace"))
        size += 4 + length + length % 2 + 2 + 2 * min(sum(times), _MOST_PLACES)
    return size + (1 if size < 127 else 4)  # the header


Vectors = Sequence[Sequence[float]] | Mapping[str, Sequence[float]]


class MemoryIndex(MemoryStore):
    """Chunks that are searched by words and by vectors, exactly. It is a store of their neighbours, too.

    >>> index = MemoryIndex([Chunk("a#0", "a", "Drink water."), Chunk("a#1", "a", "No water, no tea.")])
    >>> words = index.find_terms(FindTerms("water or tea", most=32, near=4))
    >>> [(term.text, term.chunks) for term in words.terms]
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
        """An index of `chunks`.

        Args:
            chunks: with an id each of its own.
            vectors: the embeddings: one for each of `chunks`, in their order, or by the chunks' ids. None takes each
                chunk's own `vector`. Chunks without one are found by words alone.
            words: a function from a text to its words as they are to be found: the default does as the `simple`
                configuration of PostgreSQL, a stemmer of yours as another one.
            title: the metadata key of a title that is searched with the text; None for none.
            questions: that of questions that the chunk answers.
            field_weights: the weight of an occurrence in the title and in the questions, beside 1 in the text, 0 to 1.
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
        embedded = {chunks[place].id: vector for place, vector in _embedded(chunks, vectors).items()}
        check_weights(field_weights, length_weight)
        fields = dict(zip((title, questions), field_weights, strict=True))
        searched = partial(_Corpus, words=words, fields=fields, length_weight=length_weight)
        self._held = Held(searched, by_id, embedded)
        self.filters: tuple[Any, ...] | None = None
        """The filters that every chunk has to pass. None: nobody has said what the caller's is. See `under`."""

    @property
    def enrichment(self) -> MemoryNotes:
        """The notes on its chunks, as `enrich` reads and writes them."""
        tests = _tests(self.filters or ())
        return MemoryNotes(
            self._held,
            lambda chunk: all(test(chunk) for test in tests),
            lambda: self._hold(self._held.shown.values()),
        )

    @property
    def _corpus(self) -> _Corpus:
        corpus: _Corpus = self._held.corpus
        return corpus

    def under(self, filter: Any) -> MemoryIndex:
        """The same index for those chunks alone that pass `filter`, as a store of neighbours, too. None: there is none.

        A filter is a function Chunk -> bool, or a mapping of metadata keys to values or operators ($eq $ne $gt $gte
        $lt $lte $in $nin $exists $between $like $ilike), with $and, $or and $not over such mappings. A chunk without
        the key doesn't pass. `document_id`, `chunk_index` and `start_index` are the chunk's own.

        Raises:
            ConfigError: it has another form.
        """
        narrowed = copy(self)
        narrowed.filters = (*(self.filters or ()), *(() if filter is None else (filter,)))
        _tests(narrowed.filters)
        return narrowed

    @property
    def holds_filter(self) -> bool | None:
        """True if neighbours obey the caller's filter, as `Store` describes it; None before `under` has said it."""
        return None if self.filters is None else bool(self.filters)

    def fetch(self, refs: Sequence[ChunkRef]) -> Sequence[Chunk]:
        """The chunks that exist among `refs` and pass the filter, each once."""
        tests = _tests(self.filters)
        return [chunk for chunk in super().fetch(refs) if all(test(chunk) for test in tests)]

    def find_terms(self, request: FindTerms) -> Vocabulary:
        """The words of a query, and how many chunks have each, whatever the filter."""
        return self._corpus.vocabulary(request)

    def search(self, request: SearchChunks) -> list[Scored]:
        """The best chunks of each channel that pass the filters, each with its scores in all channels that search.

        Raises:
            ConfigError: the filter has a form that can't be read.
            InputError: there are no vectors to search, or the query's has another length.
        """
        found = self._corpus.search(request, _tests((*(self.filters or ()), request.filter)))
        return [one._replace(chunk=self._held.shown[one.chunk.id]) for one in found]

    async def afind_terms(self, request: FindTerms) -> Vocabulary:
        """The same as `find_terms`, in a thread."""
        return await in_thread(self.find_terms)(request)

    async def asearch(self, request: SearchChunks) -> list[Scored]:
        """The same as `search`, in a thread."""
        return await in_thread(self.search)(request)


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
        embedded = _embedded(chunks, vectors)
        self.with_vector = list(embedded)
        """Places of the chunks that have a vector."""
        self.cosines = Cosines(list(embedded.values()))
        self.ranks: dict[str, dict[int, float]] = defaultdict(dict)
        """For each word the places of the chunks that have it, and what it counts there."""
        weights = (*fields.values(), 1.0)
        sizes: list[int] = []
        for place, chunk in enumerate(chunks):
            texts = (*(_text_under(key, chunk) for key in fields), chunk.text)
            found = occurrences([words(text) for text in texts], weights)
            sizes.append(found.size)
            for word, rank in found.ranks.items():
                self.ranks[word][place] = rank
        mean = sum(sizes) // len(sizes) if sizes else 1  # a whole number, as PostgreSQL's statistics have it
        self.lowered = [1 - length_weight + length_weight * size / mean for size in sizes]
        """For each chunk what its keyword score is divided by."""

    @cached_property
    def near(self) -> NearWords:
        return NearWords(self.ranks)

    def vocabulary(self, request: FindTerms) -> Vocabulary:
        having = {word: len(self.ranks.get(word, ())) for word in self.words(request.text)}
        # A word that no chunk has finds nothing: it takes no place from one that does.
        rarest = sorted(having, key=lambda word: (not having[word], having[word]))[: request.most]
        kept = set(rarest)
        return Vocabulary(
            len(self.chunks),
            tuple(
                Term(word, number, () if number or not request.near else tuple(self.near.to(word, request.near)))
                for word, number in having.items()
                if word in kept
            ),
        )

    def search(self, request: SearchChunks, tests: Sequence[Callable[[Chunk], bool]]) -> list[Scored]:
        similarities: dict[int, float] = {}
        if request.vector is not None:
            similarities = self._similarities(request.vector)
        scores: dict[int, float] = defaultdict(float)
        terms: dict[int, list[str]] = defaultdict(list)
        for word, weight in (request.vocabulary.weights if request.vocabulary else {}).items():
            for place, rank in self.ranks.get(word, {}).items():
                scores[place] += weight * rank / self.lowered[place]
                terms[place].append(word)
        passing = {place for place in {*similarities, *scores} if all(test(self.chunks[place]) for test in tests)}
        return [
            Scored(
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
        if self.chunks and not self.with_vector:
            raise InputError("the index has no vectors: give MemoryIndex vectors=, or search by strategy='keyword'")
        return dict(zip(self.with_vector, self.cosines.with_(vector), strict=True))

    def _best(self, scores: Mapping[int, float], passing: set[int], limit: int) -> list[int]:
        """The places of the highest scores; ties by id."""
        return sorted(passing & scores.keys(), key=lambda place: (-scores[place], self.chunks[place].id))[:limit]


def _embedded(chunks: Sequence[Chunk], vectors: Vectors | None) -> dict[int, Sequence[float]]:
    """The vectors by the places of their chunks."""
    if vectors is None:
        return {place: chunk.vector for place, chunk in enumerate(chunks) if chunk.vector is not None}
    if isinstance(vectors, Mapping):
        return {place: vectors[chunk.id] for place, chunk in enumerate(chunks) if chunk.id in vectors}
    try:
        return {place: vector for place, (_, vector) in enumerate(zip(chunks, vectors, strict=True))}
    except (TypeError, ValueError):
        raise InputError(f"vectors must be one for each of {len(chunks)} chunks, got {shown(vectors, 80)}") from None


class _Row(NamedTuple):
    """A chunk as a filter reads it."""

    metadata: Mapping[str, Any]


def _tests(filters: Iterable[Any] | None) -> list[Callable[[Chunk], bool]]:
    """The tests of `filters`, of which None excludes nothing."""
    return [_test(condition) for condition in filters or () if condition is not None]


def _test(condition: Any) -> Callable[[Chunk], bool]:
    """The test of a filter, to which the chunk's own places are metadata, too, as they are columns of a table."""
    passes: Callable[[Any], bool] = as_predicate(condition)
    if callable(condition):
        return passes

    def test(chunk: Chunk) -> bool:
        own = {"document_id": chunk.document_id, "chunk_index": chunk.index, "start_index": chunk.start}
        return passes(_Row(ChainMap(own, dict(chunk.metadata))))

    return test


def _text_under(key: str | None, chunk: Chunk) -> str:
    """The text under a metadata key; of anything else but a text its JSON, whose words are searched in a table."""
    value = None if key is None else chunk.metadata.get(key)
    if value is None or isinstance(value, str):
        return value or ""
    return json.dumps(value, ensure_ascii=False, default=str)
