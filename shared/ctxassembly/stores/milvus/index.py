"""`MilvusIndex`: a collection of chunks, searched by words and vectors, and asked for neighbors."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal, overload

from pymilvus import AsyncMilvusClient, DataType, MilvusClient

from ctxassembly.data.chunks import Chunk
from ctxassembly.data.metadata_keys import MetadataKeys
from ctxassembly.errors import ConfigError, InputError
from ctxassembly.runtime.progress import progress_bar
from ctxassembly.stores.framework_rows import langchain_chunk, llamaindex_chunk
from ctxassembly.stores.ingest import Vector
from ctxassembly.stores.milvus.engine import TEXT, VECTOR, MilvusEngine, read_rows
from ctxassembly.stores.milvus.filters import METADATA
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
        source, keys = _find_source(vectorstore), MetadataKeys() if keys is None else keys
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
    def _engine(self) -> MilvusEngine:
        return MilvusEngine(self.client, self.layout, self.keys)

    def _check_own(self) -> None:
        if not self.client.has_collection(self.layout.collection):
            return
        fields = _read_fields(self.client, self.layout.collection)
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


_VECTORS = frozenset(one for one in DataType if "VECTOR" in one.name)


@dataclass(frozen=True)
class _Source:
    """A vector store's collection, which is only read."""

    client: Any
    collection: str
    dialect: Literal["langchain", "llamaindex"]
    key: str
    text: str
    metadata: str | None
    """The field with the metadata; None if each key has its own."""
    vector: str
    hidden: frozenset[str]
    """The fields that are no metadata."""
    dimensions: int

    @property
    def copy(self) -> str:
        """The name of the collection for the copies."""
        return f"{self.collection}_{OWN}"

    def pairs(self, keys: MetadataKeys) -> Iterator[tuple[Chunk, Vector]]:
        """Yield the chunks with their embeddings."""
        for row in read_rows(self.client, self.collection, ["*"]):
            named = {name: value for name, value in row.items() if name not in self.hidden}
            metadata = row[self.metadata] if self.metadata else named
            read = langchain_chunk if self.dialect == "langchain" else llamaindex_chunk
            yield read(row[self.key], row.get(self.text) or "", metadata or {}, keys), row[self.vector]


def _read_fields(client: Any, collection: str) -> dict[str, Any]:
    """Return the fields of a collection, by name, as Milvus describes them."""
    return {field["name"]: field for field in client.describe_collection(collection)["fields"]}


def _find_source(vectorstore: Any) -> _Source:
    """Return the collection of a vector store.

    Raises:
        InputError: another kind of vector store, or one that has no collection yet.
        ConfigError: its embeddings are no floats.
    """
    client, collection = getattr(vectorstore, "client", None), getattr(vectorstore, "collection_name", None)
    text_of_langchain = getattr(vectorstore, "_text_field", None)
    text = getattr(vectorstore, "text_key", text_of_langchain)
    if client is None or collection is None or text is None:
        kind = "a Milvus vector store of LangChain or LlamaIndex"
        raise InputError(f"from_vectorstore needs {kind}, got {type(vectorstore).__name__}")
    if not client.has_collection(collection):
        raise InputError(f"collection {collection!r} doesn't exist yet: add the documents to the vector store first")
    fields = _read_fields(client, collection)
    vectors = {name for name, field in fields.items() if field["type"] in _VECTORS}
    (key,) = [name for name, field in fields.items() if field.get("is_primary")]
    named = vectorstore.vector_fields if text_of_langchain else [vectorstore.embedding_field]
    dense = [name for name in named if name in fields and fields[name]["type"] == DataType.FLOAT_VECTOR]
    if not dense:
        raise ConfigError("collection", f"with embeddings of floats in {' or '.join(map(str, named))}", collection)
    return _Source(
        client,
        collection,
        "langchain" if text_of_langchain else "llamaindex",
        key,
        text,
        getattr(vectorstore, "_metadata_field", None),
        dense[0],
        frozenset({*vectors, key, text}),
        fields[dense[0]]["params"]["dim"],
    )
