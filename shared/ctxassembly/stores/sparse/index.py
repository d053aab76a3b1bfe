"""The methods of an index on an engine that searches sparse vectors."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence, Sized
from dataclasses import KW_ONLY, dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, TypedDict, TypeVar

from ctxassembly.concurrency import to_async
from ctxassembly.data import enrichment
from ctxassembly.data.chunks import Chunk, ChunkRef
from ctxassembly.data.metadata_keys import MetadataKeys
from ctxassembly.data.requests import FindTerms, SearchChunks
from ctxassembly.data.retrieval import QueryVocabulary, ScoredChunk
from ctxassembly.data.validation import check_int
from ctxassembly.errors import ConfigError
from ctxassembly.runtime.driver import adrive, drive
from ctxassembly.runtime.progress import progress_bar
from ctxassembly.stores.filtered import chunk_predicate
from ctxassembly.stores.ingest import IngestReport, pair_vectors
from ctxassembly.stores.shared_values import shared_values
from ctxassembly.stores.sparse import search
from ctxassembly.stores.sparse.ingest import Changed, Storage, Writer
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


class AttachSettings(TypedDict, total=False):
    """The settings of an index over a vector store's collection, besides `dry_run`."""

    title: str | None
    questions: str | None
    keys: MetadataKeys | None
    progress: bool


class Engine(Searcher, Storage, Protocol):
    """The collections of an index, which are searched and written to."""


@dataclass(frozen=True)
class CollectionNotes:
    """The notes on the chunks that pass a test, as `enrich` reads and writes them.

    They are kept with what is ours of each chunk, and searched with its words. A chunk that a vector store overwrites
    loses its notes, and the next run of `enrich` sees that it has none.
    """

    writer: Writer
    passes: Callable[[Chunk], bool]

    def outlines(self, varying_keys: Sequence[str] = ()) -> Sequence[enrichment.Outline]:
        """Return the documents that pass the index's filter, in one pass over the collection."""
        storage = self.writer.storage
        rows = (
            enrichment.StoredChunk(one.key, one.chunk, one.notes.fingerprint)
            for one in storage.read_all()
            if self.passes(one.chunk)
        )
        return enrichment.group_outlines(rows, shared_values(storage.keys, varying_keys))

    def read(self, outline: enrichment.Outline) -> enrichment.StoredDocument:
        """Return the document as it is now."""
        storage = self.writer.storage
        stored = {one.key: (one.chunk, one.notes) for one in storage.read_keys(outline.keys)}
        return enrichment.stored_document(outline, stored, storage.keys)

    def write(self, request: enrichment.WriteNotes) -> bool:
        """Write the notes on a document in one request, if its chunks still have the texts of `request`.

        Their words are counted by `commit`, since documents are written from several threads.

        Raises:
            ConfigError: the collection doesn't take the vectors.
        """
        storage = self.writer.storage
        for vector in request.vectors or ():
            storage.layout.check_vector(vector)
        by_key = {one.key: one for one in storage.read_keys(request.outline.keys)}
        stored = [by_key[key] for key in request.outline.keys if key in by_key]
        if [one.chunk.text for one in stored] != list(request.texts):
            return False
        self.writer.write_state(is_open=True)
        changed: list[Changed] = []
        for place, one in enumerate(stored):
            notes = one.notes.updated(request, place)
            own = {**one.own, "notes": {**notes._asdict(), "labels": dict(notes.labels)}}
            now = one._replace(own=own if request.vectors is None else {**own, "has_vector": True})
            changed.append(Changed(now, now.words(storage.layout), request.vectors[place] if request.vectors else None))
        storage.update(changed)
        return True

    def commit(self, chunks: int) -> None:
        """Count the words of all chunks with their notes, if there are new ones."""
        if chunks:
            self.writer.close(must_recount=True)


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

    _made_by: ClassVar[str]
    """The line that makes an index over a vector store's collection."""
    _client_types: ClassVar[tuple[Any, Any]]
    """The sync and the async client."""
    _dimensions: ClassVar[tuple[int, int]]
    """The least and the most that the engine takes."""
    _layout: ClassVar[Layout]
    """How a collection of its own keeps its chunks, apart from its name, dimensions and fields."""
    _secret: ClassVar[tuple[str, str]]
    """The name of a client's secret, and the environment variable from which another process reads it, since whoever
    reads a pickle reads it, too."""

    @classmethod
    def create(
        cls,
        client: Any,
        collection: str = "chunks",
        *,
        dimensions: int = 384,
        title: str | None = "title",
        questions: str | None = "questions",
        aclient: Any = None,
    ) -> Self:
        """Return an index over a collection of its own, which is created if it doesn't exist.

        LangChain's vector store can read it, too. A second collection,
        `..._lexemes`, has the words.

        Args:
            client: a sync client, or the URL of a server.
            collection: its name.
            dimensions: of the embeddings.
            title: the metadata key of a title that is searched with the text; None for none.
            questions: the metadata key of questions that the chunk answers; both keys may be dotted paths.
            aclient: an async client for the async methods.

        Raises:
            ConfigError: a collection of that name that was made otherwise.
        """
        check_int("dimensions", dimensions, *cls._dimensions)
        client = cls._client_types[0](client) if isinstance(client, str) else client
        layout = replace(cls._layout, collection=collection, dimensions=dimensions, fields=(title, questions))
        index = cls(client, layout, aclient=aclient)
        index._check_own()
        index._open()
        return index

    def _open(self) -> None:
        """Create what is lacking, and make it ready."""
        self._writer.prepare()
        if not self._writer.state():
            self._writer.write_state(is_open=False)

    def _check_own(self) -> None:
        """Check that `create` made the collection, if it exists.

        Raises:
            ConfigError: it was made otherwise.
        """
        raise NotImplementedError

    def _check_dimensions(self, stored: int) -> None:
        if stored != self.layout.dimensions:
            raise ConfigError("dimensions", f"{stored}, as the collection has", self.layout.dimensions)

    def __reduce__(self) -> tuple[Any, ...]:
        options = [None if one is None else self._public_options(one) for one in (self.client, self.aclient)]
        return self._reopen, (options, {name: getattr(self, name) for name in ("layout", "filters", "keys")})

    @classmethod
    def _reopen(cls, options: Sequence[Any], values: Mapping[str, Any]) -> Self:
        """Return an index that was pickled, with clients of its own."""
        name, variable = cls._secret
        client, aclient = (
            given and make(**{**given, name: os.environ.get(variable) if given[name] else None})
            for make, given in zip(cls._client_types, options, strict=True)
        )
        return cls(client, aclient=aclient, **values)

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, _: Any) -> Self:
        return self

    def _public_options(self, client: Any) -> dict[str, Any]:
        """Return the arguments of `_client_options` without the secret, but whether there is one.

        Raises:
            ConfigError: as `_client_options` does, or the environment has another secret.
        """
        options, (name, variable) = self._client_options(client), self._secret
        if options[name] and options[name] != os.environ.get(variable):
            allowed = f"in the environment variable {variable} of each process where the index is pickled"
            raise ConfigError(name, allowed, "another one")
        return {**options, name: bool(options[name])}

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
        self._engine.condition(filters)
        return replace(self, filters=filters)

    @property
    def holds_filter(self) -> bool | None:
        """True if neighbors obey the caller's filter, as `Store` describes it; None before `with_filter`."""
        return None if self.filters is None else bool(self.filters)

    @property
    def enrichment(self) -> CollectionNotes:
        """The notes on its chunks, as `enrich` reads and writes them."""
        return CollectionNotes(self._writer, chunk_predicate(*(self.filters or ())))

    def check(self) -> CollectionHealth:
        """Return whether all chunks are searched by words, and what the collections lack."""
        state, missing = self._writer.state(), self._writer.prepare(dry_run=True)
        return CollectionHealth(
            self._engine.count(),
            state.get("chunks", 0),
            self._engine.count_unmarked(),
            bool(state.get("is_open")),
            tuple(line.removeprefix("create ") for line in missing),
        )

    @property
    def remedies(self) -> Mapping[str, str]:
        """The lines to write where neighbors can't be found."""
        if self.layout.dialect == "own":
            return {"place": "index.add(number_chunks(chunks))"}
        return {"place": "vectorstore.add_documents(number_chunks(documents))", "answer": self._made_by}

    def find_terms(self, request: FindTerms) -> QueryVocabulary:
        """Return the words of a query with their counts in the index.

        One round trip, two with near words, and three if these have to pass a filter.

        Raises:
            ConfigError: the filter can't be read.
        """
        return self._run(search.find_terms(self._engine, request, (*(self.filters or ()), request.filter)))

    async def afind_terms(self, request: FindTerms) -> QueryVocabulary:
        """Async version of `find_terms`."""
        return await self._arun(search.find_terms(self._engine, request, (*(self.filters or ()), request.filter)))

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
        return self._run(search.fetch(self._engine, self.keys, refs, self.filters or ()))

    async def afetch(self, refs: Sequence[ChunkRef]) -> list[Chunk]:
        """Async version of `fetch`."""
        return await self._arun(search.fetch(self._engine, self.keys, refs, self.filters or ()))

    @property
    def _engine(self) -> Engine:
        raise NotImplementedError

    @staticmethod
    def _client_options(client: Any) -> dict[str, Any]:
        """Return the arguments with which another process makes `client` again.

        Raises:
            ConfigError: it can't, or a pickle would show a secret besides the one of `_secret`.
        """
        raise NotImplementedError

    @property
    def _writer(self) -> Writer:
        return Writer(self._engine)

    def _search_flow(self, request: SearchChunks) -> Flow[list[ScoredChunk]]:
        return search.search(self._engine, request, (*(self.filters or ()), request.filter))

    def _run(self, flow: Flow[T]) -> T:
        """Return the result of `flow`, whose calls the client makes."""
        return drive(flow, lambda call: getattr(self.client, call[0])(**call[1]))

    async def _arun(self, flow: Flow[T]) -> T:
        """Async version of `_run`."""
        if self.aclient is None:
            return await to_async(self._run)(flow)
        return await adrive(flow, lambda call: getattr(self.aclient, call[0])(**call[1]))
