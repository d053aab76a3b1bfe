"""A collection that LangChain's or LlamaIndex's vector store made, and what an index adds to it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from qdrant_client import models

from ctxassembly.errors import ConfigError, InputError
from ctxassembly.stores.ingest import hash_chunk
from ctxassembly.stores.qdrant.ingest import QdrantStorage
from ctxassembly.stores.sparse.ingest import BATCH_SIZE, Changed, Writer
from ctxassembly.stores.sparse.rows import Layout, Stored, own_values


def locate(vectorstore: Any, fields: tuple[str | None, ...]) -> tuple[Layout, Any, Any]:
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
        size = dense_params(client, collection, name).size
        text, metadata = vectorstore.content_payload_key, vectorstore.metadata_payload_key
        return Layout(collection, size, "langchain", text, metadata, name, fields), client, None
    name = vectorstore.dense_vector_name
    size = dense_params(client, collection, name).size
    aclient = getattr(vectorstore, "_aclient", None)
    return Layout(collection, size, "llamaindex", "", None, name, fields), client, aclient


def dense_params(client: Any, collection: str, name: str) -> models.VectorParams:
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


def mark_new(storage: QdrantStorage, on_batch: Callable[[int], object]) -> None:
    """Give each chunk that others have written its words and its place, and its document its title.

    Chunks that are done have a mark, so a run that was killed continues where it ended.
    """
    writer = Writer(storage)
    before, must_recount, new = writer.state().get("chunks", 0), writer.open(), 0
    documents: dict[str, None] = {}
    while stored := storage.unmarked():
        writer.change_counts(_mark(storage, stored))
        documents |= dict.fromkeys(one.chunk.document_id for one in stored)
        new += len(stored)
        on_batch(len(stored))
    # A chunk that was overwritten, or deleted, has left its words.
    must_recount = must_recount or storage.count() != before + new
    if not must_recount:  # which finds all titles
        names = list(documents)
        for at in range(0, len(names), BATCH_SIZE):
            writer.write_titles(storage.read_all(names[at : at + BATCH_SIZE]))
    writer.close(must_recount=must_recount)


def _mark(storage: QdrantStorage, chunks: Sequence[Stored]) -> Counter[str]:
    """Give `chunks` their words and places; return how often each word was added."""
    changed: list[Changed] = []
    for one in chunks:
        own = {**one.own, **own_values(one.chunk, hash_chunk(one.chunk), has_vector=True)}
        changed.append(Changed(one._replace(own=own), one.words(storage.layout), None))
    storage.update(changed)
    return Counter(word for one in changed for word in one.words)
