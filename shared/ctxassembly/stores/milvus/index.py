"""`MilvusIndex`: a collection of chunks, searched by words and vectors, and asked for neighbors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, overload

from pymilvus import MilvusClient

from ctxassembly.data.metadata_keys import MetadataKeys
from ctxassembly.data.validation import check_int
from ctxassembly.errors import ConfigError
from ctxassembly.runtime.progress import progress_bar
from ctxassembly.stores.milvus.ingest import MilvusStorage
from ctxassembly.stores.milvus.rows import METADATA, TEXT, VECTOR
from ctxassembly.stores.milvus.search import MilvusSearcher
from ctxassembly.stores.milvus.source import find_source, read_fields
from ctxassembly.stores.sparse.index import CollectionHealth, SparseIndex
from ctxassembly.stores.sparse.rows import OWN, Layout


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
    ) -> MilvusIndex:
        """Return an index over a collection of its own, which is created if it doesn't exist.

        LangChain's Milvus can read it, too, with `metadata_field="metadata"`. A second collection, `..._lexemes`, has
        the words.

        Args:
            client: a MilvusClient, the URI of a server, or the path of a file for Milvus Lite.
            collection: its name.
            dimensions: of the embeddings.
            title: the metadata key of a title that is searched with the text; None for none.
            questions: the metadata key of questions that the chunk answers; both keys may be dotted paths.
            aclient: an AsyncMilvusClient for the async methods.

        Raises:
            ConfigError: a collection of that name that was made otherwise.
        """
        check_int("dimensions", dimensions, 2, 32_768)
        client = MilvusClient(client) if isinstance(client, str) else client
        layout = Layout(collection, dimensions, "own", TEXT, METADATA, VECTOR, (title, questions))
        index = cls(client, layout, aclient=aclient)
        if client.has_collection(collection):
            fields = read_fields(client, collection)
            if OWN not in fields:
                allowed = "one that create made; from_vectorstore(vectorstore) copies others"
                raise ConfigError("collection", allowed, collection)
            if (stored := fields[VECTOR]["params"]["dim"]) != dimensions:
                raise ConfigError("dimensions", f"{stored}, as the collection has", dimensions)
        index._open()
        return index

    @overload
    @classmethod
    def from_vectorstore(
        cls,
        vectorstore: Any,
        *,
        dry_run: Literal[True],
        title: str | None = ...,
        questions: str | None = ...,
        keys: MetadataKeys | None = ...,
        progress: bool = ...,
    ) -> list[str]: ...

    @overload
    @classmethod
    def from_vectorstore(
        cls,
        vectorstore: Any,
        *,
        dry_run: Literal[False] = False,
        title: str | None = ...,
        questions: str | None = ...,
        keys: MetadataKeys | None = ...,
        progress: bool = ...,
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
        """Create and load what is lacking."""
        self._writer.prepare()
        for name in (self.layout.collection, self.layout.lexemes):
            self.client.load_collection(name)
        if not self._writer.state():
            self._writer.write_state(is_open=False)

    def check(self) -> CollectionHealth:
        """Return whether all chunks are searched by words, and what is lacking."""
        state, missing = self._writer.state(), self._writer.prepare(dry_run=True)
        lines = tuple(line.removeprefix("create ") for line in missing)
        return CollectionHealth(self._storage.count(), state.get("chunks", 0), 0, bool(state.get("is_open")), lines)

    @property
    def place(self) -> tuple[str, ...]:
        """The server, or the file, its database, and the collection: equal for two over the same chunks."""
        config = getattr(self.client, "_config", None)
        uri, database = getattr(config, "uri", None), getattr(config, "db_name", "")
        return str(uri or id(self.client)), str(database), self.layout.collection

    @property
    def remedies(self) -> Mapping[str, str]:
        """The lines to write where neighbors can't be found."""
        if self.layout.dialect == "own":
            return {"place": "give each Chunk its index, and call index.add(chunks)"}
        return {
            "place": "number_chunks(documents) before they are stored",
            "answer": "MilvusIndex.from_vectorstore(vectorstore)",
        }

    @property
    def _searcher(self) -> MilvusSearcher:
        return MilvusSearcher(self.layout, self.keys)

    @property
    def _storage(self) -> MilvusStorage:
        return MilvusStorage(self.client, self.layout, self.keys)
