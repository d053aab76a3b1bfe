"""`QdrantIndex`: a collection of chunks, searched by words and vectors, and asked for neighbors."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, Literal, overload

from qdrant_client import AsyncQdrantClient, QdrantClient

from ctxassembly.data.metadata_keys import MetadataKeys
from ctxassembly.data.validation import check_int
from ctxassembly.errors import ConfigError
from ctxassembly.runtime.progress import progress_bar
from ctxassembly.stores.qdrant.attach import dense_params, locate, mark_new
from ctxassembly.stores.qdrant.clients import client_options, make_client
from ctxassembly.stores.qdrant.ingest import UNMARKED, QdrantStorage
from ctxassembly.stores.qdrant.search import QdrantSearcher
from ctxassembly.stores.sparse.index import CollectionHealth, SparseIndex
from ctxassembly.stores.sparse.rows import Layout


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

    def __reduce__(self) -> tuple[Any, ...]:
        options = client_options(self.client)
        aoptions = None if self.aclient is None else client_options(self.aclient)
        return _reopen, (options, aoptions, {name: getattr(self, name) for name in ("layout", "filters", "keys")})

    def __copy__(self) -> QdrantIndex:
        return self

    def __deepcopy__(self, _: Any) -> QdrantIndex:
        return self

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
    ) -> QdrantIndex:
        """Return an index over a collection of its own, which is created if it doesn't exist.

        LangChain's QdrantVectorStore can read it, too. A second collection, `..._lexemes`, has the words.

        Args:
            client: a QdrantClient, or the URL of a server.
            collection: its name.
            dimensions: of the embeddings.
            title: the metadata key of a title that is searched with the text; None for none.
            questions: the metadata key of questions that the chunk answers; both keys may be dotted paths.
            aclient: an AsyncQdrantClient for the async methods.

        Raises:
            ConfigError: a collection of that name that was made otherwise.
        """
        check_int("dimensions", dimensions, 1, 65_536)
        client = QdrantClient(client) if isinstance(client, str) else client
        if client.collection_exists(collection):
            stored = dense_params(client, collection, "").size
            if stored != dimensions:
                raise ConfigError("dimensions", f"{stored}, as the collection has", dimensions)
            if client.count(collection, count_filter=UNMARKED, exact=True).count:
                raise ConfigError("collection", "one that create made; attach(vectorstore) indexes others", collection)
        index = cls(client, Layout(collection, dimensions, fields=(title, questions)), aclient=aclient)
        index._writer.prepare()
        if not index._writer.state():
            index._writer.write_state(is_open=False)
        return index

    @overload
    @classmethod
    def attach(
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
    def attach(
        cls,
        vectorstore: Any,
        *,
        dry_run: Literal[False] = False,
        title: str | None = ...,
        questions: str | None = ...,
        keys: MetadataKeys | None = ...,
        progress: bool = ...,
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
        layout, client, aclient = locate(vectorstore, (title, questions))
        index = cls(client, layout, aclient=aclient, keys=MetadataKeys() if keys is None else keys)
        steps = index._writer.prepare(dry_run=dry_run)
        if dry_run:
            new = client.count(layout.collection, count_filter=UNMARKED, exact=True).count
            return [*steps, *([f"add words and places to {new} chunks"] if new else [])]
        with progress_bar(None, is_shown=progress) as on_batch:
            mark_new(index._storage, on_batch)
        return index

    def check(self) -> CollectionHealth:
        """Return whether all chunks are searched by words, and what the collections lack."""
        count, state = partial(self.client.count, self.layout.collection, exact=True), self._writer.state()
        return CollectionHealth(
            count().count,
            state.get("chunks", 0),
            count(count_filter=UNMARKED).count,
            bool(state.get("is_open")),
            tuple(line.removeprefix("create ") for line in self._writer.prepare(dry_run=True)),
        )

    @property
    def place(self) -> tuple[str, ...]:
        """The server, or this client if it has none, and the collection: equal for two over the same chunks."""
        options = getattr(self.client, "init_options", {})
        names = (options.get(name) for name in ("url", "location", "path", "host"))
        server = next((name for name in names if name and name != ":memory:"), id(self.client))
        return str(server), str(options.get("port")), self.layout.collection

    @property
    def remedies(self) -> Mapping[str, str]:
        """The lines to write where neighbors can't be found."""
        if self.layout.dialect == "own":
            return {"place": "give each Chunk its index, and call index.add(chunks)"}
        return {"place": "number_chunks(documents) before they are stored", "answer": "QdrantIndex.attach(vectorstore)"}

    @property
    def _searcher(self) -> QdrantSearcher:
        return QdrantSearcher(self.layout, self.keys)

    @property
    def _storage(self) -> QdrantStorage:
        return QdrantStorage(self.client, self.layout, self.keys)


def _reopen(options: Mapping[str, Any], aoptions: Mapping[str, Any] | None, values: Mapping[str, Any]) -> QdrantIndex:
    """Return an index that was pickled, with clients of its own."""
    aclient = None if aoptions is None else make_client(AsyncQdrantClient, aoptions)
    return QdrantIndex(make_client(QdrantClient, options), aclient=aclient, **values)
