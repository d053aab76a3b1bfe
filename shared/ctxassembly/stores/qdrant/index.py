"""`QdrantIndex`: a collection of chunks, searched by words and vectors, and asked for neighbors."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Sized
from dataclasses import KW_ONLY, dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Literal, overload

from qdrant_client import QdrantClient, models

from ctxassembly.concurrency import to_async
from ctxassembly.data.chunks import Chunk, ChunkRef
from ctxassembly.data.metadata_keys import MetadataKeys
from ctxassembly.data.requests import FindTerms, SearchChunks
from ctxassembly.data.retrieval import QueryVocabulary, ScoredChunk
from ctxassembly.data.validation import check_int
from ctxassembly.errors import ConfigError, InputError
from ctxassembly.runtime.progress import progress_bar
from ctxassembly.stores.filtered import chunk_predicate
from ctxassembly.stores.ingest import IngestReport, pair_vectors
from ctxassembly.stores.qdrant import search
from ctxassembly.stores.qdrant.ingest import CollectionNotes, Writer
from ctxassembly.stores.qdrant.rows import Layout
from ctxassembly.stores.simple_words import QUESTION_KEYS, FieldKeys

if TYPE_CHECKING:
    from typing_extensions import Self


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
class QdrantIndex:
    """An index over a collection of chunks in Qdrant, as `create` and `attach` give it.

        index = QdrantIndex.create("http://localhost:6333", dimensions=384)
        index.add(chunks, embed=embeddings)
        retrieve("When is ferritin measured?", index=index, embed=embeddings)

    Words, weights, near words and scores are the same as in `MemoryIndex` and `PostgresIndex`. A query is two round
    trips: one for its words, with another for near words if a word is in no chunk, and one for the chunks. It is a
    store of neighbors, too: `index.with_filter(filter)` is the same index whose hits and neighbors have to pass the
    filter.
    """

    finds_offsets: ClassVar[bool] = True
    finds_titles: ClassVar[bool] = True
    client: Any = field(repr=False)
    layout: Layout
    _: KW_ONLY
    filters: tuple[Any, ...] | None = None
    """The conditions on neighbors, and on hits in addition to the filter of their request. None: the caller's filter is
    unknown. See `with_filter`."""

    @classmethod
    def create(
        cls,
        client: Any,
        collection: str = "chunks",
        *,
        dimensions: int = 384,
        title: str | None = "title",
        questions: str | tuple[str, ...] | None = QUESTION_KEYS,
    ) -> Self:
        """Return an index over a collection of its own, which is created if it doesn't exist.

        LangChain's vector store can read it, too. A second collection, `..._lexemes`, has the words.

        Args:
            client: a sync client, or the URL of a server.
            collection: its name.
            dimensions: of the embeddings.
            title: the metadata key of a title that is searched with the text; None for none.
            questions: the metadata key of questions that the chunk answers, or several, of which the first that it has
                counts; all keys may be dotted paths.

        Raises:
            ConfigError: a collection of that name that was made otherwise.
        """
        check_int("dimensions", dimensions, 1, 65_536)
        client = QdrantClient(client) if isinstance(client, str) else client
        layout = Layout(collection, dimensions, fields=(title, questions))
        index = cls(client, layout)
        index._check_own()
        index._writer.prepare()
        if not index._writer.state():
            index._writer.write_state(is_open=False)
        return index

    @overload
    @classmethod
    def attach(cls, vectorstore: Any, *, dry_run: Literal[True], **settings: Any) -> list[str]: ...

    @overload
    @classmethod
    def attach(cls, vectorstore: Any, *, dry_run: Literal[False] = False, **settings: Any) -> QdrantIndex: ...

    @classmethod
    def attach(
        cls,
        vectorstore: Any,
        *,
        dry_run: bool = False,
        keys: MetadataKeys | None = None,
        progress: bool = True,
        **fields: Any,
    ) -> QdrantIndex | list[str]:
        """Return an index over the collection of a LangChain or LlamaIndex QdrantVectorStore, adding what it lacks.

        It adds a sparse vector of words, what is looked up for neighbors, under the key `ctxassembly` of the payload,
        with payload indexes, and a collection of all words. The vector store continues as before. Points are changed
        in batches, and a run that was killed continues where it ended. A second run adds the chunks that the vector
        store has written since; until then those are found by vectors alone.

        Args:
            vectorstore: of langchain-qdrant or llama-index-vector-stores-qdrant, whose client the index uses.
            dry_run: give back what would be added, as lines, and change nothing.
            keys: under which the metadata have document id, index and offset.
            progress: show a bar, if tqdm is installed.
            fields: `title` and `questions`, as with `create`.

        Raises:
            InputError: another kind of vector store.
            ConfigError: the embeddings aren't compared by cosine, or the words were made from other fields.
        """
        layout, client = _locate(vectorstore, **fields)
        index = cls(client, replace(layout, keys=keys or MetadataKeys()))
        steps = index._writer.prepare(dry_run=dry_run)
        if dry_run:
            new = index._writer.count_unmarked()
            return [*steps, *([f"add words and places to {new} chunks"] if new else [])]
        with progress_bar(None, is_shown=progress) as on_batch:
            index._writer.mark_new(on_batch)
        return index

    def _check_own(self) -> None:
        """Check that `create` made the collection, if it exists.

        Raises:
            ConfigError: it was made otherwise.
        """
        if not self.client.collection_exists(self.layout.collection):
            return
        stored = _dense_params(self.client, self.layout.collection, "").size
        if stored != self.layout.dimensions:
            raise ConfigError("dimensions", f"{stored}, as the collection has", self.layout.dimensions)
        if self._writer.count_unmarked():
            allowed = "one that create made; attach(vectorstore) indexes others"
            raise ConfigError("collection", allowed, self.layout.collection)

    def __deepcopy__(self, _: Any) -> Self:
        return self

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
            allowed = "for a collection that QdrantIndex.create made; call the vector store's own"
            raise ConfigError(name, allowed, "attached")

    def refresh(self) -> None:
        """Count all words again: after several runs at once, or after a vector store has deleted chunks."""
        self._writer.close(must_recount=True)

    def with_filter(self, filter: Any) -> Self:
        """Return the same index whose hits and neighbors also have to pass `filter`. None: there is no filter.

        A filter is a function Chunk -> bool, or a mapping of metadata keys to values or operators, as for MemoryIndex.
        A chunk without the key doesn't pass. Qdrant narrows the search by what it reads in the same way, and each
        chunk is tested here. A function, `$ne`, `$nin` and most of `$not` narrow nothing: combine them with others.

        Raises:
            ConfigError: it has another form.
        """
        filters = (*(self.filters or ()), *(() if filter is None else (filter,)))
        chunk_predicate(*filters)
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
            self._writer.count(),
            state.get("chunks", 0),
            self._writer.count_unmarked(),
            bool(state.get("is_open")),
            tuple(line.removeprefix("create ") for line in missing),
        )

    @property
    def remedies(self) -> Mapping[str, str]:
        """The lines to write where neighbors can't be found."""
        if self.layout.dialect == "own":
            return {"place": "index.add(number_chunks(chunks))"}
        place = "vectorstore.add_documents(number_chunks(documents))"
        return {"place": place, "answer": "QdrantIndex.attach(vectorstore)"}

    def find_terms(self, request: FindTerms) -> QueryVocabulary:
        """Return the words of a query with their counts in the index.

        One round trip, two with near words, and three if these have to pass a filter.

        Raises:
            ConfigError: the filter can't be read.
        """
        return search.find_terms(self.client, self.layout, request, (*(self.filters or ()), request.filter))

    async def afind_terms(self, request: FindTerms) -> QueryVocabulary:
        """Async version of `find_terms`."""
        return await to_async(self.find_terms)(request)

    def search(self, request: SearchChunks) -> list[ScoredChunk]:
        """Return the best chunks of each channel, each with its scores in all channels searched. One round trip.

        There are more if the filter has a part that Qdrant can't read and excludes most of what was found.

        Raises:
            ConfigError: the filter can't be read, or the vector has another length than the embeddings.
        """
        return search.search(self.client, self.layout, request, (*(self.filters or ()), request.filter))

    async def asearch(self, request: SearchChunks) -> list[ScoredChunk]:
        """Async version of `search`."""
        return await to_async(self.search)(request)

    def fetch(self, refs: Sequence[ChunkRef]) -> list[Chunk]:
        """Return the chunks that exist among `refs` and pass the filter, in any order. With titles two round trips."""
        return search.fetch(self.client, self.layout, refs, self.filters or ())

    async def afetch(self, refs: Sequence[ChunkRef]) -> list[Chunk]:
        """Async version of `fetch`."""
        return await to_async(self.fetch)(refs)

    @property
    def keys(self) -> MetadataKeys:
        """The metadata keys under which chunks are read."""
        return self.layout.keys

    @property
    def _writer(self) -> Writer:
        return Writer(self.client, self.layout)


def _locate(
    vectorstore: Any, *, title: FieldKeys = "title", questions: FieldKeys = QUESTION_KEYS
) -> tuple[Layout, Any]:
    """Return the layout of a framework's collection, and its client.

    Raises:
        InputError: another kind of vector store.
        ConfigError: its embeddings aren't compared by cosine.
    """
    fields = (title, questions)
    client, collection = getattr(vectorstore, "client", None), getattr(vectorstore, "collection_name", None)
    if client is None or collection is None:
        kind = "a QdrantVectorStore of LangChain or LlamaIndex with a sync client"
        raise InputError(f"attach needs {kind}, got {type(vectorstore).__name__}")
    if hasattr(vectorstore, "content_payload_key"):
        name = vectorstore.vector_name
        size = _dense_params(client, collection, name).size
        text, metadata = vectorstore.content_payload_key, vectorstore.metadata_payload_key
        return Layout(collection, size, "langchain", text, metadata, name, fields), client
    name = vectorstore.dense_vector_name
    size = _dense_params(client, collection, name).size
    return Layout(collection, size, "llamaindex", "", None, name, fields), client


def _dense_params(client: Any, collection: str, name: str) -> models.VectorParams:
    """Return the parameters of the embeddings under `name`.

    Raises:
        ConfigError: there are none, or they aren't compared by cosine.
    """
    vectors = client.get_collection(collection).config.params.vectors
    params = vectors if isinstance(vectors, models.VectorParams) and not name else None
    if isinstance(vectors, dict):
        params = vectors.get(name)
    if params is None or params.distance != models.Distance.COSINE:
        found = None if params is None else params.distance
        raise ConfigError("collection", f"with embeddings {name!r} that are compared by cosine", found)
    return params
