"""An index in memory, with the results of one on PostgreSQL: for tests, notebooks and small corpora."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import copy
from functools import cached_property, partial
from typing import Any

from ctxassembly.data.chunks import Chunk, ChunkRef
from ctxassembly.data.conditions import as_predicate
from ctxassembly.data.requests import FindTerms, SearchChunks
from ctxassembly.data.searched import ONCE, Scored, Term, Vocabulary
from ctxassembly.errors import ConfigError, InputError
from ctxassembly.shown import shown
from ctxassembly.testing.cosines import Cosines
from ctxassembly.testing.notes import Held, MemoryNotes
from ctxassembly.testing.store import MemoryStore
from ctxassembly.text.lexemes import NearWords, lexemes

FIELDS = ("title", "questions")
"""Metadata that are searched for words beside the text: a title, and questions that the chunk answers."""
_LAST_PLACE = 16_383
"""PostgreSQL counts no places of words beyond it: what stands there stands in one place."""
_MOST_PLACES = 255
"""PostgreSQL keeps no more places of one word."""

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
    ) -> None:
        """An index of `chunks`.

        Args:
            chunks: with an id each of its own. Their text is searched, and what stands under `title` and `questions` in
                their metadata.
            vectors: the embeddings: one for each of `chunks`, in their order, or by the chunks' ids. None takes each
                chunk's own `vector`. Chunks without one are found by words alone.
            words: a function from a text to its words as they are to be found: the default does as the `simple`
                configuration of PostgreSQL, a stemmer of yours as another one.

        Raises:
            ConfigError: two chunks have one id.
            InputError: a vector is missing, or has another length than the first.
        """
        chunks = tuple(chunks)
        super().__init__(chunks)
        by_id = {chunk.id: chunk for chunk in chunks}
        if len(by_id) < len(chunks):
            repeated = Counter(chunk.id for chunk in chunks).most_common(1)[0][0]
            raise ConfigError("chunks", "chunks with an id each of its own", repeated)
        embedded = {chunks[place].id: vector for place, vector in _embedded(chunks, vectors).items()}
        self._held = Held(partial(_Corpus, words=words), by_id, embedded)
        self.filters: tuple[Callable[[Chunk], bool], ...] | None = None
        """The tests that every chunk has to pass. None: nobody has said what the caller's filter is."""

    @property
    def enrichment(self) -> MemoryNotes:
        """The notes on its chunks, as `enrich` reads and writes them."""
        tests = self.filters or ()
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
        $lt $lte $in $nin $exists), with $and and $or over lists of such mappings. A chunk without the key doesn't pass.

        Raises:
            ConfigError: it has another form.
        """
        narrowed = copy(self)
        narrowed.filters = (*(self.filters or ()), *(() if filter is None else (as_predicate(filter),)))
        return narrowed

    @property
    def holds_filter(self) -> bool | None:
        """True if neighbours obey the caller's filter, as `Store` describes it; None before `under` has said it."""
        return None if self.filters is None else bool(self.filters)

    def fetch(self, refs: Sequence[ChunkRef]) -> Sequence[Chunk]:
        """The chunks that exist among `refs` and pass the filter, each once."""
        return [chunk for chunk in super().fetch(refs) if all(test(chunk) for test in self.filters or ())]

    def find_terms(self, request: FindTerms) -> Vocabulary:
        """The words of a query, and how many chunks have each, whatever the filter."""
        return self._corpus.vocabulary(request)

    def search(self, request: SearchChunks) -> list[Scored]:
        """The best chunks of each channel that pass the filters, each with its scores in all channels that search.

        Raises:
            ConfigError: the filter has a form that can't be read.
            InputError: there are no vectors to search, or the query's has another length.
        """
        found = self._corpus.search(request, self.under(request.filter).filters or ())
        return [one._replace(chunk=self._held.shown[one.chunk.id]) for one in found]

    async def afind_terms(self, request: FindTerms) -> Vocabulary:
        """The same as `find_terms`, awaited."""
        return self.find_terms(request)

    async def asearch(self, request: SearchChunks) -> list[Scored]:
        """The same as `search`, awaited."""
        return self.search(request)


class _Corpus:
    """Chunks, the words that they have, and their vectors; an index under a filter shares it."""

    def __init__(self, chunks: Sequence[Chunk], vectors: Vectors | None, words: Callable[[str], Sequence[str]]) -> None:
        self.chunks = chunks
        self.words = words
        embedded = _embedded(chunks, vectors)
        self.with_vector = list(embedded)
        """Places of the chunks that have a vector."""
        self.cosines = Cosines(list(embedded.values()))
        self.saturated: dict[str, dict[int, float]] = defaultdict(dict)
        """For each word the places of the chunks that have it, and what it counts there."""
        for place, chunk in enumerate(chunks):
            for word, times in _counts(words(_searched(chunk))).items():
                self.saturated[word][place] = _saturated(times)

    @cached_property
    def near(self) -> NearWords:
        return NearWords(self.saturated)

    def vocabulary(self, request: FindTerms) -> Vocabulary:
        having = {word: len(self.saturated.get(word, ())) for word in self.words(request.text)}
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
            for place, count in self.saturated.get(word, {}).items():
                scores[place] += weight * count
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


def _searched(chunk: Chunk) -> str:
    """All text in which words are searched."""
    values = [chunk.metadata.get(key) for key in FIELDS]
    more = [" ".join(map(str, value)) if isinstance(value, (list, tuple)) else value for value in values]
    title, questions = (value if isinstance(value, str) else "" for value in more)
    return f"{title}\n{chunk.text}\n{questions}"


def _counts(words: Sequence[str]) -> Counter[str]:
    """The occurrences of each word, as far as PostgreSQL tells their places apart."""
    beyond = set(words[_LAST_PLACE - 1 :])
    return Counter(words) if not beyond else Counter(words[: _LAST_PLACE - 1]) + Counter(beyond)


def _saturated(times: int) -> float:
    """The `ts_rank` of a word that occurs so often: each repetition counts less than the one before."""
    return ONCE * sum(1 / count**2 for count in range(1, min(times, _MOST_PLACES) + 1))
