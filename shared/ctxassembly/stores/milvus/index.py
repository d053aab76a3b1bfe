"""`MilvusIndex`: a collection of chunks, searched by words and vectors, and asked for neighbors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Literal, overload

from pymilvus import AsyncMilvusClient, MilvusClient

from ctxassembly.data.metadata_keys import MetadataKeys
from ctxassembly.errors import ConfigError
from ctxassembly.runtime.progress import progress_bar
from ctxassembly.stores.milvus.engine import TEXT, VECTOR, MilvusEngine
from ctxassembly.stores.milvus.filters import METADATA
from ctxassembly.stores.milvus.source import find_source, read_fields
from ctxassembly.stores.sparse.index import AttachSettings, SparseIndex
from ctxassembly.stores.sparse.rows import OWN, Layout

if TYPE_CHECKING:
    from typing_extensions import Unpack


class MilvusIndex(SparseIndex):
    """An index over a collection of chunks in Milvus, as `create` and `from_vectorstore` give it.

        index = MilvusIndex.create("http://localhost:19530", dimensions=384)
        index.add(chunks, embed=embeddings)
        retrieve("When is ferritin measured?", index=index, embed=embeddings)

    Words, weights, near words and scores are the same as in `MemoryIndex` and `PostgresIndex`. A query is two round
    trips: one for its words, with another for near words if a word is in no chunk, and one for the chunks. It is a
    store of neighbors, too: `index.with_filter(filter)` is the same index whose hits and neighbors have to pass the
    filter.
    """

    _made_by: ClassVar[str] = "MilvusIndex.from_vectorstore(vectorstore)"
    _client_types: ClassVar[tuple[Any, Any]] = (MilvusClient, AsyncMilvusClient)
    _dimensions: ClassVar[tuple[int, int]] = (2, 32_768)
    _layout: ClassVar[Layout] = Layout("", 0, "own", TEXT, METADATA, VECTOR)
    _secret: ClassVar[tuple[str, str]] = ("token", "MILVUS_TOKEN")

    @overload
    @classmethod
    def from_vectorstore(
        cls, vectorstore: Any, *, dry_run: Literal[True], **settings: Unpack[AttachSettings]
    ) -> list[str]: ...

    @overload
    @classmethod
    def from_vectorstore(
        cls, vectorstore: Any, *, dry_run: Literal[False] = False, **settings: Unpack[AttachSettings]
    ) -> MilvusIndex: ...

    @classmethod
    def from_vectorstore(
        cls,
        vectorstore: Any,
        *,
        dry_run: bool = False,
        title: str | None = "title",
        questions: str | None = "questions",
        keys: MetadataKeys | None = None,
        progress: bool = True,
    ) -> MilvusIndex | list[str]:
        """Return an index over a copy of the collection of a LangChain or LlamaIndex Milvus vector store.

        The copy is a collection `..._ctxassembly`; the vector store's own isn't changed. Chunks are copied in batches
        with their embeddings, and a run that was killed continues where it ended. A second run copies what the vector
        store has written since, and deletes what it has deleted.

        Args:
            vectorstore: of langchain-milvus or llama-index-vector-stores-milvus, whose client the index uses.
            dry_run: give back what would be done, as lines, and change nothing.
            title: the metadata key of a title that is searched with the text; None for none.
            questions: the metadata key of questions that the chunk answers; both keys may be dotted paths.
            keys: under which the metadata have document id, index and offset.
            progress: show a bar, if tqdm is installed.

        Raises:
            InputError: another kind of vector store, or a chunk that Milvus can't hold together with its words.
            ConfigError: the embeddings are no floats, or the words were made from other fields.
        """
        source, keys = find_source(vectorstore), MetadataKeys() if keys is None else keys
        layout = Layout(source.copy, source.dimensions, source.dialect, TEXT, METADATA, VECTOR, (title, questions))
        aclient = getattr(vectorstore, "_async_milvusclient", None)
        index = cls(source.client, layout, aclient=aclient, keys=keys)
        if dry_run:
            steps = index._writer.prepare(dry_run=True)
            missing = index._writer.count_missing(source.pairs(keys), is_new=bool(steps))
            return [*steps, *([f"copy {missing} chunks"] if missing else [])]
        index._open()
        with progress_bar(None, is_shown=progress) as on_batch:
            index._writer.add(source.pairs(keys), None, on_batch, replace=True, is_whole=True)
        return index

    def _open(self) -> None:
        super()._open()
        for name in (self.layout.collection, self.layout.lexemes):
            self.client.load_collection(name)

    @property
    def place(self) -> tuple[str, ...]:
        """The server, or the file, its database, and the collection: equal for two over the same chunks."""
        config = getattr(self.client, "_config", None)
        uri, database = getattr(config, "uri", None), getattr(config, "db_name", "")
        return str(uri or id(self.client)), str(database), self.layout.collection

    @property
    def _engine(self) -> MilvusEngine:
        return MilvusEngine(self.client, self.layout, self.keys)

    def _check_own(self) -> None:
        if not self.client.has_collection(self.layout.collection):
            return
        fields = read_fields(self.client, self.layout.collection)
        if OWN not in fields:
            allowed = "one that create made; from_vectorstore(vectorstore) copies others"
            raise ConfigError("collection", allowed, self.layout.collection)
        self._check_dimensions(fields[VECTOR]["params"]["dim"])

    @staticmethod
    def _client_options(client: Any) -> dict[str, Any]:
        config = getattr(client, "_config", None)
        if config is None or "@" in config.uri:
            allowed = "a client with its token, not one in the URI, where the index is pickled"
            raise ConfigError("client", allowed, type(client).__name__)
        return {"uri": config.uri, "token": config.token, "db_name": config.db_name, **config.get_handler_kwargs()}
