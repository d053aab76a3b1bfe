"""The methods of an index on an engine that searches sparse vectors."""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Sized
from dataclasses import KW_ONLY, dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from ctxassembly.concurrency import to_async
from ctxassembly.data.chunks import Chunk, ChunkRef
from ctxassembly.data.metadata_keys import MetadataKeys
from ctxassembly.data.requests import FindTerms, SearchChunks
from ctxassembly.data.retrieval import QueryVocabulary, ScoredChunk
from ctxassembly.errors import ConfigError
from ctxassembly.runtime.driver import adrive, drive
from ctxassembly.runtime.progress import progress_bar
from ctxassembly.stores.filtered import chunk_predicate
from ctxassembly.stores.ingest import IngestReport, pair_vectors
from ctxassembly.stores.sparse import search
from ctxassembly.stores.sparse.enrichment import CollectionNotes
from ctxassembly.stores.sparse.ingest import Storage, Writer
from ctxassembly.stores.sparse.rows import Layout
from ctxassembly.stores.sparse.search import Flow, Searcher

if TYPE_CHECKING:
    from typing_extensions import Self

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class CollectionHealth:
    """What `check` found. It prints as lines."""

    chunks: int
    counted: int
    """The number of chunks by which words are weighted."""
    without_words: int
    """Chunks written since `attach`: they are found by vectors alone."""
    is_interrupted: bool
    """True if a run that writes was killed, or is running."""
    missing: tuple[str, ...]
    """Vectors and indexes that the collections lack."""

    def __str__(self) -> str:
        lines = [f"{self.chunks} chunks, {self.counted} counted, {self.without_words} without words"]
        lines += ["a run that writes was interrupted, or is running: call refresh() after it"] * self.is_interrupted
        return "\n".join([*lines, *(f"missing: {one}" for one in self.missing)])


@dataclass(frozen=True)
class SparseIndex:
    """An index over a collection of chunks: what is the same on each engine. `_searcher` and `_storage` are its own."""

    finds_offsets: ClassVar[bool] = True
    finds_titles: ClassVar[bool] = True
    client: Any = field(repr=False)
    layout: Layout
    _: KW_ONLY
    aclient: Any = field(default=None, repr=False)
    """An async client for the async methods. Without one they call `client` in a thread."""
    filters: tuple[Any, ...] | None = None
    """The conditions on neighbors, and on hits in addition to the filter of their request. None: the caller's filter is
    unknown. See `with_filter`."""
    keys: MetadataKeys = field(default_factory=MetadataKeys)

    def add(
        self,
        chunks: Iterable[Chunk],
        vectors: Iterable[Sequence[float]] | None = None,
        embed: Any = None,
        *,
        replace: bool = False,
        progress: bool = True,
    ) -> IngestReport:
        """Store `chunks`. Unchanged chunks are kept. Other stored chunks of their documents need `replace`.

        The arguments, and when a stored vector is replaced, are as in `PostgresIndex.add`. An interrupted run continues
        where it stopped when it is started again. Where several runs write at once, call `refresh` after them: the
        counts of words may have missed some.

        Raises:
            ConfigError: the collection is a framework's, which writes to it itself; vectors of another length; an id
                that a chunk of another document has.
            InputError: a chunk with what can't be stored; without `replace`, other stored chunks of the same documents.
        """
        self._check_is_own("add")
        total = len(chunks) if isinstance(chunks, Sized) else None
        with progress_bar(total, is_shown=progress) as on_batch:
            if isinstance(chunks, Sequence) and not replace:
                self._writer.check_whole(chunks)
            return self._writer.add(pair_vectors(chunks, vectors), embed, on_batch, replace=replace)

    async def aadd(self, chunks: Iterable[Chunk], **options: Any) -> IngestReport:
        """Async version of `add`; `options` are its other arguments."""
        return await to_async(partial(self.add, **options))(chunks)

    def delete(self, document_ids: Sequence[str]) -> int:
        """Delete all chunks of these documents; return how many there were.

        Raises:
            ConfigError: the collection is a framework's, which deletes from it itself.
        """
        self._check_is_own("delete")
        return self._writer.delete(document_ids)

    def _check_is_own(self, name: str) -> None:
        if self.layout.dialect != "own":
            allowed = f"for a collection that {type(self).__name__}.create made; call the vector store's own"
            raise ConfigError(name, allowed, "attached")

    def refresh(self) -> None:
        """Count all words again: after several runs at once, or after a vector store has deleted chunks."""
        self._writer.close(must_recount=True)

    def with_filter(self, filter: Any) -> Self:
        """Return the same index whose hits and neighbors also have to pass `filter`. None: there is no filter.

        A filter is a function Chunk -> bool, or a mapping of metadata keys to values or operators, as for MemoryIndex.
        A chunk without the key doesn't pass. The engine narrows the search by what it reads in the same way, and each
        chunk is tested here. A function, `$ne`, `$nin` and most of `$not` narrow nothing: combine them with others.

        Raises:
            ConfigError: it has another form.
        """
        filters = (*(self.filters or ()), *(() if filter is None else (filter,)))
        chunk_predicate(*filters)
        self._searcher.condition(filters)
        return replace(self, filters=filters)

    @property
    def holds_filter(self) -> bool | None:
        """True if neighbors obey the caller's filter, as `Store` describes it; None before `with_filter`."""
        return None if self.filters is None else bool(self.filters)

    @property
    def enrichment(self) -> CollectionNotes:
        """The notes on its chunks, as `enrich` reads and writes them."""
        return CollectionNotes(self._writer, chunk_predicate(*(self.filters or ())))

    def find_terms(self, request: FindTerms) -> QueryVocabulary:
        """Return the words of a query with their counts in the index. One round trip, two with near words."""
        return self._run(search.find_terms(self._searcher, request))

    async def afind_terms(self, request: FindTerms) -> QueryVocabulary:
        """Async version of `find_terms`."""
        return await self._arun(search.find_terms(self._searcher, request))

    def search(self, request: SearchChunks) -> list[ScoredChunk]:
        """Return the best chunks of each channel, each with its scores in all channels searched. One round trip.

        There are more if the filter has a part that the engine can't read and excludes most of what was found.

        Raises:
            ConfigError: the filter can't be read, or the vector has another length than the embeddings.
        """
        return self._run(self._search_flow(request))

    async def asearch(self, request: SearchChunks) -> list[ScoredChunk]:
        """Async version of `search`."""
        return await self._arun(self._search_flow(request))

    def fetch(self, refs: Sequence[ChunkRef]) -> list[Chunk]:
        """Return the chunks that exist among `refs` and pass the filter, in any order. With titles two round trips."""
        return self._run(search.fetch(self._searcher, self.keys, refs, self.filters or ()))

    async def afetch(self, refs: Sequence[ChunkRef]) -> list[Chunk]:
        """Async version of `fetch`."""
        return await self._arun(search.fetch(self._searcher, self.keys, refs, self.filters or ()))

    @property
    def _searcher(self) -> Searcher:
        raise NotImplementedError

    @property
    def _storage(self) -> Storage:
        raise NotImplementedError

    @property
    def _writer(self) -> Writer:
        return Writer(self._storage)

    def _search_flow(self, request: SearchChunks) -> Flow[list[ScoredChunk]]:
        return search.search(self._searcher, request, (*(self.filters or ()), request.filter))

    def _run(self, flow: Flow[T]) -> T:
        """Return the result of `flow`, whose calls the client makes."""
        return drive(flow, lambda call: getattr(self.client, call[0])(**call[1]))

    async def _arun(self, flow: Flow[T]) -> T:
        """Async version of `_run`."""
        if self.aclient is None:
            return await to_async(self._run)(flow)
        return await adrive(flow, lambda call: getattr(self.aclient, call[0])(**call[1]))
