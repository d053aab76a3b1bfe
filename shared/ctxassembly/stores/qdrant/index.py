"""`QdrantIndex`: a collection of chunks, searched by words and vectors, and asked for neighbors."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Literal, overload

from qdrant_client import AsyncQdrantClient, QdrantClient, models

from ctxassembly.data.metadata_keys import MetadataKeys
from ctxassembly.errors import ConfigError, InputError
from ctxassembly.runtime.progress import progress_bar
from ctxassembly.stores.ingest import batches, hash_chunk
from ctxassembly.stores.qdrant.engine import QdrantEngine
from ctxassembly.stores.sparse.index import AttachSettings, SparseIndex
from ctxassembly.stores.sparse.ingest import BATCH_SIZE, Changed, Writer
from ctxassembly.stores.sparse.rows import Layout, Stored, own_values

if TYPE_CHECKING:
    from typing_extensions import Unpack


class QdrantIndex(SparseIndex):
    """An index over a collection of chunks in Qdrant, as `create` and `attach` give it.

        index = QdrantIndex.create("http://localhost:6333", dimensions=384)
        index.add(chunks, embed=embeddings)
        retrieve("When is ferritin measured?", index=index, embed=embeddings)

    Words, weights, near words and scores are the same as in `MemoryIndex` and `PostgresIndex`. A query is two round
    trips: one for its words, with another for near words if a word is in no chunk, and one for the chunks. It is a
    store of neighbors, too: `index.with_filter(filter)` is the same index whose hits and neighbors have to pass the
    filter.
    """

    _made_by: ClassVar[str] = "QdrantIndex.attach(vectorstore)"
    _client_types: ClassVar[tuple[Any, Any]] = (QdrantClient, AsyncQdrantClient)
    _dimensions: ClassVar[tuple[int, int]] = (1, 65_536)
    _layout: ClassVar[Layout] = Layout("", 0)
    _secret: ClassVar[tuple[str, str]] = ("api_key", "QDRANT_API_KEY")

    @overload
    @classmethod
    def attach(cls, vectorstore: Any, *, dry_run: Literal[True], **settings: Unpack[AttachSettings]) -> list[str]: ...

    @overload
    @classmethod
    def attach(
        cls, vectorstore: Any, *, dry_run: Literal[False] = False, **settings: Unpack[AttachSettings]
    ) -> QdrantIndex: ...

    @classmethod
    def attach(
        cls,
        vectorstore: Any,
        *,
        dry_run: bool = False,
        title: str | None = "title",
        questions: str | None = "questions",
        keys: MetadataKeys | None = None,
        progress: bool = True,
    ) -> QdrantIndex | list[str]:
        """Return an index over the collection of a LangChain or LlamaIndex QdrantVectorStore, adding what it lacks.

        It adds a sparse vector of words, what is looked up for neighbors, under the key `ctxassembly` of the payload,
        with payload indexes, and a collection of all words. The vector store continues as before. Points are changed
        in batches, and a run that was killed continues where it ended. A second run adds the chunks that the vector
        store has written since; until then those are found by vectors alone.

        Args:
            vectorstore: of langchain-qdrant or llama-index-vector-stores-qdrant, whose clients the index uses.
            dry_run: give back what would be added, as lines, and change nothing.
            title: the metadata key of a title that is searched with the text; None for none.
            questions: the metadata key of questions that the chunk answers; both keys may be dotted paths.
            keys: under which the metadata have document id, index and offset.
            progress: show a bar, if tqdm is installed.

        Raises:
            InputError: another kind of vector store.
            ConfigError: the embeddings aren't compared by cosine, or the words were made from other fields.
        """
        layout, client, aclient = _locate(vectorstore, (title, questions))
        index = cls(client, layout, aclient=aclient, keys=MetadataKeys() if keys is None else keys)
        steps = index._writer.prepare(dry_run=dry_run)
        if dry_run:
            new = index._engine.count_unmarked()
            return [*steps, *([f"add words and places to {new} chunks"] if new else [])]
        with progress_bar(None, is_shown=progress) as on_batch:
            _mark_new(index._engine, on_batch)
        return index

    @property
    def _engine(self) -> QdrantEngine:
        return QdrantEngine(self.client, self.layout, self.keys)

    def _check_own(self) -> None:
        if not self.client.collection_exists(self.layout.collection):
            return
        self._check_dimensions(_dense_params(self.client, self.layout.collection, "").size)
        if self._engine.count_unmarked():
            allowed = "one that create made; attach(vectorstore) indexes others"
            raise ConfigError("collection", allowed, self.layout.collection)

    @staticmethod
    def _client_options(client: Any) -> dict[str, Any]:
        options = dict(getattr(client, "init_options", None) or {})
        if not options or options["path"] or options["location"] == ":memory:":
            raise ConfigError("client", "the client of a server where the index is pickled", type(client).__name__)
        if options["headers"]:
            raise ConfigError("client", "one without headers where the index is pickled", "headers")
        return options


def _locate(vectorstore: Any, fields: tuple[str | None, ...]) -> tuple[Layout, Any, Any]:
    """Return the layout of a framework's collection, and its clients.

    Raises:
        InputError: another kind of vector store.
        ConfigError: its embeddings aren't compared by cosine.
    """
    client, collection = getattr(vectorstore, "client", None), getattr(vectorstore, "collection_name", None)
    if client is None or collection is None:
        kind = "a QdrantVectorStore of LangChain or LlamaIndex with a sync client"
        raise InputError(f"attach needs {kind}, got {type(vectorstore).__name__}")
    if hasattr(vectorstore, "content_payload_key"):
        name = vectorstore.vector_name
        size = _dense_params(client, collection, name).size
        text, metadata = vectorstore.content_payload_key, vectorstore.metadata_payload_key
        return Layout(collection, size, "langchain", text, metadata, name, fields), client, None
    name = vectorstore.dense_vector_name
    size = _dense_params(client, collection, name).size
    aclient = getattr(vectorstore, "_aclient", None)
    return Layout(collection, size, "llamaindex", "", None, name, fields), client, aclient


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


def _mark_new(engine: QdrantEngine, on_batch: Callable[[int], object]) -> None:
    """Give each chunk that others have written its words and its place, and its document its title.

    Chunks that are done have a mark, so a run that was killed continues where it ended.
    """
    writer = Writer(engine)
    before, must_recount, new = writer.state().get("chunks", 0), writer.open(), 0
    documents: dict[str, None] = {}
    while stored := engine.unmarked():
        writer.change_counts(_mark(engine, stored))
        documents |= dict.fromkeys(one.chunk.document_id for one in stored)
        new += len(stored)
        on_batch(len(stored))
    # A chunk that was overwritten, or deleted, has left its words.
    must_recount = must_recount or engine.count() != before + new
    if not must_recount:  # which finds all titles
        for names in batches(documents, BATCH_SIZE):
            writer.write_titles(engine.read_all(names))
    writer.close(must_recount=must_recount)


def _mark(engine: QdrantEngine, chunks: Sequence[Stored]) -> Counter[str]:
    """Give `chunks` their words and places; return how often each word was added."""
    changed: list[Changed] = []
    for one in chunks:
        own = {**one.own, **own_values(one.chunk, hash_chunk(one.chunk), has_vector=True)}
        changed.append(Changed(one._replace(own=own), one.words(engine.layout), None))
    engine.update(changed)
    return Counter(word for one in changed for word in one.words)
