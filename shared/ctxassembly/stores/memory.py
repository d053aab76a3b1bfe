"""A store and an index in memory, with the results of one on PostgreSQL: for tests, notebooks and small corpora."""

from __future__ import annotations

import math
from array import array
from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from functools import cache
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, NamedTuple

from ctxassembly.data import enrichment
from ctxassembly.data.chunks import Chunk, ChunkRef, SectionKey
from ctxassembly.data.metadata_keys import MetadataKeys
from ctxassembly.data.requests import FindTerms, SearchChunks
from ctxassembly.data.retrieval import QueryVocabulary, ScoredChunk, TermStats
from ctxassembly.errors import ConfigError, InputError
from ctxassembly.safe_repr import safe_repr
from ctxassembly.stores.filtered import chunk_predicate, shared_values
from ctxassembly.stores.simple_words import QUESTION_KEYS, FieldKeys, NearWords, lexemes, term_counts
from ctxassembly.text.titles import comparable, document_title, title_beginnings

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from typing_extensions import Self


class MemoryStore:
    """A store of chunks in memory. `requests` has the references of each call.

    >>> store = MemoryStore([Chunk("a#0", "a", "First.", 0), Chunk("a#1", "a", "Second.", 1)])
    >>> [chunk.text for chunk in store.fetch([ChunkRef("a", 1), ChunkRef("a", 2)])], store.round_trips
    (['Second.'], 1)
    """

    finds_offsets = finds_titles = True

    def __init__(self, chunks: Iterable[Chunk], *, keys: MetadataKeys | None = None) -> None:
        """Store `chunks`. Titles are read under `keys`; an assembly replaces the default by the keys of its config.

        Raises:
            InputError: one of `chunks` is something else.
        """
        self.requests: list[tuple[ChunkRef, ...]] = []
        self.keys = MetadataKeys() if keys is None else keys
        self._chunks: dict[ChunkRef, list[Chunk]] = defaultdict(list)
        self._titles: dict[MetadataKeys, dict[str, list[tuple[str, Chunk]]]] = {}
        """By the keys with which a title was asked for, and by its first two words, each title with the first chunk of
        its document. Copies share it."""
        self._replace_chunks(chunks)

    def _replace_chunks(self, chunks: Iterable[Chunk]) -> None:
        """Replace the stored chunks with `chunks`."""
        self._chunks.clear()
        self._titles.clear()
        for position, chunk in enumerate(chunks):
            if not isinstance(chunk, Chunk):
                raise InputError(f"chunks must be a sequence of Chunk, got {safe_repr(chunk)} at place {position}")
            for ref in {
                ChunkRef(chunk.lookup_id),
                ChunkRef(chunk.document_id),
                ChunkRef(chunk.lookup_id, chunk.index),
                ChunkRef(chunk.lookup_id, chunk_id=chunk.id),
            }:
                self._chunks[ref].append(chunk)

    def with_keys(self, keys: MetadataKeys) -> Self:
        """Return the same store, which reads titles under `keys`."""
        keyed = copy(self)
        keyed.keys = keys
        return keyed

    @property
    def round_trips(self) -> int:
        """Number of calls."""
        return len(self.requests)

    def fetch(self, refs: Sequence[ChunkRef]) -> Sequence[Chunk]:
        """Return the chunks that exist among `refs`, each once."""
        self.requests.append(tuple(refs))
        found: dict[int, Chunk] = {}
        for ref in refs:
            is_plain = ref.named_in is None and ref.around_offset is None
            chunks = self._chunks.get(ref, ()) if is_plain else self._find(ref)
            found.update(zip(map(id, chunks), chunks, strict=True))
        return [*found.values()]

    async def afetch(self, refs: Sequence[ChunkRef]) -> Sequence[Chunk]:
        """Async version of `fetch`."""
        return self.fetch(refs)

    def _find(self, ref: ChunkRef) -> Sequence[Chunk]:
        """Return the chunks that one reference asks for."""
        if ref.named_in is not None:
            return self._find_mentioned(ref.named_in, ref.document_id)
        return self._fetch_around(ref) if ref.around_offset else self._chunks.get(ref, ())

    def _find_mentioned(self, text: str, document_id: str) -> list[Chunk]:
        """Return the first chunks of the documents, other than `document_id`, whose titles `text` mentions."""
        if self.keys not in self._titles:
            self._titles[self.keys] = self._index_titles()
        titles, phrases = self._titles[self.keys], comparable(text)
        # A few titles are looked up in the text sooner than all beginnings of titles in it among many.
        is_few = len(titles) < phrases.count(" ")
        return [
            chunk
            for beginning in (titles if is_few else filter(titles.__contains__, title_beginnings(phrases)))
            for title, chunk in titles[beginning]
            if title in phrases and chunk.lookup_id != document_id
        ]

    def _index_titles(self) -> dict[str, list[tuple[str, Chunk]]]:
        """Return the titles of all documents, each under the first of its `title_beginnings`."""
        titles: dict[str, list[tuple[str, Chunk]]] = defaultdict(list)
        firsts: dict[str, Chunk] = {}
        for chunk in chain.from_iterable(self._chunks.values()):
            if _place(chunk) < _place(firsts.setdefault(chunk.document_id, chunk)):
                firsts[chunk.document_id] = chunk
        for chunk in firsts.values():
            if title := document_title(chunk, self.keys):
                titles[next(iter(title_beginnings(title)))].append((title, chunk))
        return dict(titles)

    def _fetch_around(self, ref: ChunkRef) -> list[Chunk]:
        """Return the chunks around an offset, as `OffsetRange` describes them."""
        if ref.around_offset is None:
            return []
        start, per_side, section, page_key, document_id = ref.around_offset
        target = (_page_number(section, page_key) or 0, start)
        placed: list[tuple[tuple[int, int], Chunk]] = []
        for chunk in self._chunks.get(ChunkRef(document_id or ref.document_id), ()):
            own = chunk.origin.section if chunk.origin else ()
            number = _page_number(own, page_key)
            # Nobody has checked the chunks: `start` may be anything.
            if type(chunk.start) is int and number is not None and (page_key is not None or own == section):
                placed.append(((number, chunk.start), chunk))
        placed.sort(key=lambda entry: entry[0])
        first, last = (side([at for at, _ in placed], target) for side in (bisect_left, bisect_right))
        return [chunk for _, chunk in placed[max(first - per_side, 0) : last + per_side]]


def _place(chunk: Chunk) -> int:
    """Return the index of a chunk, which nobody has checked; one without an index is as good as the first."""
    return chunk.index if type(chunk.index) is int else 0


def _page_number(section: SectionKey, page_key: str | None) -> int | None:
    """Return the number under `page_key`, an int or a numeric string; 0 without a key, None if not a number."""
    if page_key is None:
        return 0
    number = str(dict(section).get(page_key))
    return int(number) if number.isdecimal() else None


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
        questions: str | tuple[str, ...] | None = QUESTION_KEYS,
        keys: MetadataKeys | None = None,
    ) -> None:
        """Index `chunks`.

        Args:
            chunks: with an id each of its own.
            vectors: the embeddings: one for each of `chunks`, in their order, or by the chunks' ids. None takes each
                chunk's own `vector`. Chunks without one are found by words alone.
            words: a function from a text to its words as they are to be found: the default does as the `simple`
                configuration of PostgreSQL, a stemmer of yours as another one.
            title: the metadata key of a title that is searched with the text; None for none.
            questions: the metadata key of questions that the chunk answers, or several, of which the first that it has
                counts; all keys may be dotted paths.
            keys: the metadata keys of titles by which others mention a document. An assembly replaces the default by
                the keys of its config.

        Raises:
            ConfigError: two chunks have one id.
            InputError: one of `chunks` is something else; a vector is missing, or has another length than the first.
        """
        chunks = tuple(chunks)
        super().__init__(chunks, keys=keys)
        by_id = {chunk.id: chunk for chunk in chunks}
        if len(by_id) < len(chunks):
            repeated = Counter(chunk.id for chunk in chunks).most_common(1)[0][0]
            raise ConfigError("chunks", "chunks with an id each of its own", repeated)
        self._corpus = Corpus(by_id, _vectors_by_id(chunks, vectors), words, (title, questions))
        self.filters: tuple[Any, ...] | None = None
        """The filters that every chunk has to pass. None: the caller's filter is unknown. See `with_filter`."""

    @property
    def enrichment(self) -> MemoryEnrichment:
        """The notes on its chunks, as `enrich` reads and writes them."""
        return MemoryEnrichment(
            self._corpus,
            chunk_predicate(*(self.filters or ())),
            self.keys,
            lambda: self._replace_chunks(self._corpus.visible_chunks.values()),
        )

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
        chunk_predicate(*narrowed.filters)
        return narrowed

    @property
    def holds_filter(self) -> bool | None:
        """True if neighbors obey the caller's filter, as `Store` describes it; None before `with_filter`."""
        return None if self.filters is None else bool(self.filters)

    def fetch(self, refs: Sequence[ChunkRef]) -> Sequence[Chunk]:
        """Return the chunks that exist among `refs` and pass the filter, each once."""
        return list(filter(chunk_predicate(*(self.filters or ())), super().fetch(refs)))

    def find_terms(self, request: FindTerms) -> QueryVocabulary:
        """Return the words of a query, and how many chunks have each, whatever the filter; near words obey it.

        Raises:
            ConfigError: the filter has a form that can't be read.
        """
        filters = [one for one in (*(self.filters or ()), request.filter) if one is not None]
        return self._corpus.find_terms(request, chunk_predicate(*filters) if filters else None)

    def search(self, request: SearchChunks) -> list[ScoredChunk]:
        """Return the best chunks of each channel that pass the filters, each with its scores in all channels searched.

        Raises:
            ConfigError: the filter has a form that can't be read.
            InputError: there are no vectors to search, or the query's has another length.
        """
        return self._corpus.search(request, chunk_predicate(*(self.filters or ()), request.filter))


class ChunkRecord(NamedTuple):
    """Notes kept with a chunk."""

    notes: enrichment.StoredNotes = enrichment.StoredNotes()
    vector: Sequence[float] | None = None


class Postings(NamedTuple):
    """The chunks that have a word: their places, ascending, and what the word counts in each."""

    places: array[int]
    ranks: array[float]


class Corpus:
    """Chunks, a model's notes on them, their words and their vectors; an index under a filter shares it."""

    def __init__(
        self,
        chunks: Mapping[str, Chunk],
        vectors: Mapping[str, Sequence[float]],
        words: Callable[[str], Sequence[str]],
        fields: Sequence[FieldKeys],
    ) -> None:
        self.chunks, self.vectors, self.words, self.fields = chunks, vectors, words, fields
        self.ids = sorted(chunks)
        """The ids in order. Arrays over chunks are in this order, so that a stable sort puts equal scores in it."""
        self.records: dict[str, ChunkRecord] = {}
        self.rebuild()

    def record(self, id_: str) -> ChunkRecord:
        """Return the notes on a chunk."""
        return self.records.get(id_, ChunkRecord())

    def rebuild(self) -> None:
        """Index the chunks with the notes on them."""
        import numpy as np  # here, so that naming a MemoryIndex loads nothing heavy

        self.visible_chunks = {id_: self.record(id_).notes.add_to(chunk) for id_, chunk in self.chunks.items()}
        """The chunks as a search gives them: with summaries and labels, without contexts and questions."""
        noted = {id_: record.vector for id_, record in self.records.items() if record.vector is not None}
        embedded = {**self.vectors, **noted}
        self.matrix = _unit_rows(list(embedded.values()))
        places = {id_: place for place, id_ in enumerate(self.ids)}
        self.embedded_places = np.array([places[id_] for id_ in embedded], dtype=np.int64)
        """The place of each row of the matrix among the chunks."""
        postings: dict[str, Postings] = defaultdict(lambda: Postings(array("q"), array("d")))
        for place, id_ in enumerate(self.ids):
            counts = term_counts(self.chunks[id_], self.fields, self.words, self.record(id_).notes.texts)
            for word, count in counts.items():
                postings[word].places.append(place)
                postings[word].ranks.append(count)
        self.postings: Mapping[str, Postings] = dict(postings)
        self.near_words: NearWords | None = None

    def find_terms(self, request: FindTerms, is_included: Callable[[Chunk], bool] | None = None) -> QueryVocabulary:
        """Return the words of a query, the rarest if there are too many; near words are of chunks that pass a test."""
        words = self.words(request.text)
        chunk_counts = {word: len(self.postings[word].places) if word in self.postings else 0 for word in words}
        # A word that no chunk has finds nothing: it takes no place from one that does.
        by_rarity = sorted(chunk_counts, key=lambda word: (not chunk_counts[word], chunk_counts[word]))
        kept = set(by_rarity[: request.max_terms])
        return QueryVocabulary(
            len(self.chunks),
            tuple(
                TermStats(word, number, () if number else self._near(word, request.max_variants, is_included))
                for word, number in chunk_counts.items()
                if word in kept
            ),
        )

    def _near(self, word: str, limit: int, is_included: Callable[[Chunk], bool] | None) -> tuple[str, ...]:
        if not limit:
            return ()
        self.near_words = self.near_words or NearWords(self.postings)
        if is_included is None:
            return tuple(self.near_words.find(word, limit))

        def is_readable(near: str) -> bool:
            return any(is_included(self.chunks[self.ids[place]]) for place in self.postings[near].places)

        return tuple(islice(filter(is_readable, self.near_words.find(word, len(self.postings))), limit))

    def search(self, request: SearchChunks, is_included: Callable[[Chunk], bool]) -> list[ScoredChunk]:
        """Return the best chunks of each channel that pass a test."""
        import numpy as np

        similarities = self._similarities(request.vector)
        weights = request.vocabulary.weights if request.vocabulary else {}
        scores, has_word = np.zeros(len(self.ids)), np.zeros((len(weights), len(self.ids)), dtype=bool)
        for number, (word, weight) in enumerate(weights.items()):
            if word in self.postings:
                places = np.frombuffer(self.postings[word].places, dtype=np.int64)
                scores[places] += weight * np.frombuffer(self.postings[word].ranks)
                has_word[number, places] = True
        passes = cache(lambda place: is_included(self.chunks[self.ids[place]]))
        channels = ((similarities, ~np.isnan(similarities)), (scores, has_word.any(axis=0)))
        best = [islice(filter(passes, _by_score(*channel)), request.limit) for channel in channels]
        return [
            ScoredChunk(
                self.visible_chunks[self.ids[place]],
                None if math.isnan(similarities[place]) else float(similarities[place]),
                None if request.vocabulary is None else float(scores[place]),
                tuple(word for word, is_there in zip(weights, has_word[:, place], strict=True) if is_there),
            )
            for place in dict.fromkeys((*best[0], *best[1]))
        ]

    def _similarities(self, vector: Sequence[float] | None) -> NDArray[np.float64]:
        """Return the cosine of each chunk with `vector`, NaN without either; 0 for a vector of nothing but zeros."""
        import numpy as np

        similarities = np.full(len(self.ids), np.nan)
        if vector is None:
            return similarities
        if self.chunks and not len(self.embedded_places):
            raise InputError("the index has no vectors: give MemoryIndex vectors=, or search by strategy='keyword'")
        (unit,) = _unit_rows([vector])
        if len(self.embedded_places):
            if len(unit) != self.matrix.shape[1]:
                own = f"the vectors of the index have {self.matrix.shape[1]}"
                raise InputError(f"the query's vector has {len(unit)} numbers, {own}")
            similarities[self.embedded_places] = self.matrix @ unit
        return similarities


def _by_score(scores: NDArray[np.float64], is_candidate: NDArray[np.bool_]) -> list[int]:
    """Return the places of candidates, best first, the first of equals first."""
    import numpy as np

    places = np.flatnonzero(is_candidate)
    ordered: list[int] = places[np.argsort(-scores[places], kind="stable")].tolist()
    return ordered


def _unit_rows(vectors: Sequence[Sequence[float]]) -> Any:
    """Return `vectors` at length 1 as a matrix; a vector of zeros stays as it is.

    Raises:
        InputError: they aren't of equally many finite numbers.
    """
    import numpy as np

    try:
        matrix = np.array([*map(list, vectors)], dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"vectors must be sequences of equally many numbers: {error}") from error
    if not np.isfinite(matrix).all():
        raise InputError("vectors must be of finite numbers")
    lengths = np.array([math.hypot(*row) or 1.0 for row in matrix.tolist()])
    return matrix / lengths[:, None] if len(matrix) else matrix


def _vectors_by_id(chunks: Sequence[Chunk], vectors: Vectors | None) -> dict[str, Sequence[float]]:
    if vectors is None:
        return {chunk.id: chunk.vector for chunk in chunks if chunk.vector is not None}
    if isinstance(vectors, Mapping):
        return {chunk.id: vectors[chunk.id] for chunk in chunks if chunk.id in vectors}
    if len(vectors) != len(chunks):
        raise InputError(f"vectors must be one for each of {len(chunks)} chunks, got {len(vectors)}")
    return dict(zip((chunk.id for chunk in chunks), vectors, strict=True))


@dataclass(frozen=True)
class MemoryEnrichment:
    """The notes on the chunks that pass a test, as `enrich` reads and writes them."""

    corpus: Corpus
    is_included: Callable[[Chunk], bool]
    keys: MetadataKeys
    on_change: Callable[[], object]
    """Called when the notes have changed."""

    def outlines(self, varying_keys: Sequence[str] = ()) -> Sequence[enrichment.Outline]:
        """Return the documents of the index."""
        rows = (
            enrichment.StoredChunk(id_, chunk, self.corpus.record(id_).notes.fingerprint)
            for id_, chunk in self.corpus.chunks.items()
            if self.is_included(chunk)
        )
        return enrichment.group_outlines(rows, shared_values(self.keys, varying_keys))

    def read(self, outline: enrichment.Outline) -> enrichment.StoredDocument:
        """Return the document as it is now."""
        stored = {id_: (self.corpus.chunks[id_], self.corpus.record(id_).notes) for id_ in outline.keys}
        return enrichment.stored_document(outline, stored, MetadataKeys())

    def write(self, request: enrichment.WriteNotes) -> bool:
        """Write the notes on a document, if its chunks have the texts of `request`; they are found after `commit`."""
        if [self.corpus.chunks[id_].text for id_ in request.outline.keys] != list(request.texts):
            return False
        for place, id_ in enumerate(request.outline.keys):
            record = self.corpus.record(id_)
            vector = record.vector if request.vectors is None else request.vectors[place]
            self.corpus.records[id_] = ChunkRecord(record.notes.updated(request, place), vector)
        return True

    def commit(self, chunks: int) -> None:
        """Search by the notes from now on."""
        if chunks:
            self.corpus.rebuild()
            self.on_change()
