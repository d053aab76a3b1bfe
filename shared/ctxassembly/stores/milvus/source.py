"""The chunks that a LangChain or LlamaIndex vector store keeps in Milvus."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from pymilvus import DataType

from ctxassembly.data.chunks import Chunk
from ctxassembly.data.metadata_keys import MetadataKeys
from ctxassembly.errors import ConfigError, InputError
from ctxassembly.stores.framework_rows import langchain_chunk, llamaindex_chunk
from ctxassembly.stores.ingest import Vector
from ctxassembly.stores.milvus.engine import read_rows
from ctxassembly.stores.sparse.rows import OWN

_VECTORS = frozenset(one for one in DataType if "VECTOR" in one.name)


@dataclass(frozen=True)
class Source:
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
            metadata = row[self.metadata] if self.metadata else _without(row, self.hidden)
            read = langchain_chunk if self.dialect == "langchain" else llamaindex_chunk
            yield read(row[self.key], row.get(self.text) or "", metadata or {}, keys), row[self.vector]


def _without(row: Mapping[str, Any], hidden: frozenset[str]) -> dict[str, Any]:
    return {name: value for name, value in row.items() if name not in hidden}


def read_fields(client: Any, collection: str) -> dict[str, Any]:
    """Return the fields of a collection, by name, as Milvus describes them."""
    return {field["name"]: field for field in client.describe_collection(collection)["fields"]}


def find_source(vectorstore: Any) -> Source:
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
    fields = read_fields(client, collection)
    vectors = {name for name, field in fields.items() if field["type"] in _VECTORS}
    (key,) = [name for name, field in fields.items() if field.get("is_primary")]
    named = vectorstore.vector_fields if text_of_langchain else [vectorstore.embedding_field]
    dense = [name for name in named if name in fields and fields[name]["type"] == DataType.FLOAT_VECTOR]
    if not dense:
        raise ConfigError("collection", f"with embeddings of floats in {' or '.join(map(str, named))}", collection)
    return Source(
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
