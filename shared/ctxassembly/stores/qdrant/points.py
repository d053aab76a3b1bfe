"""How a collection of Qdrant keeps a chunk: its words as a sparse vector, and its place in the document.

The words of a chunk are a vector of the hash of each and its saturated count, a query is one of hashes and weights, and
their inner product is the keyword score. The idf is on the query's side, so the number of shards doesn't matter.
A chunk of a framework's collection has the same, under a key of ours in its payload.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, Literal
from uuid import UUID, uuid5

from qdrant_client import models

from ctxassembly.data.chunks import Chunk
from ctxassembly.data.metadata_keys import MetadataKeys
from ctxassembly.stores.chunk_terms import FIELDS
from ctxassembly.stores.framework_rows import langchain_chunk, llamaindex_chunk
from ctxassembly.stores.simple_words import trigrams

OWN = "ctxassembly"
"""The key of the payload with what we keep of a chunk."""
WORDS = "ctxassembly_words"
"""The name of the sparse vector of words."""
TRIGRAMS = "trigrams"
"""The name of the sparse vector of a word's trigrams."""
_NAMESPACE = UUID("6d1f3f0e-7a0a-5b55-9d53-0f2f4d7e0c11")


def own_key(name: str) -> str:
    """Return the path of what we keep of a chunk under `name`."""
    return f"{OWN}.{name}"


@dataclass(frozen=True)
class Layout:
    """Where the points of a collection keep text, metadata and embedding."""

    collection: str
    dimensions: int
    dialect: Literal["own", "langchain", "llamaindex"] = "own"
    text: str = "page_content"
    """Its key; LlamaIndex has the text in the node's JSON."""
    metadata: str | None = "metadata"
    """Its key; None if the payload has the metadata keys themselves."""
    vector: str = ""
    """The name of the embedding; Qdrant's own default is empty."""
    fields: tuple[str | None, ...] = FIELDS

    @property
    def lexemes(self) -> str:
        """The collection of all words with the number of chunks that have each."""
        return f"{self.collection}_lexemes"


def point_id(chunk_id: str) -> str:
    """Return the id of the point for a chunk, which may have an id of any kind."""
    return str(uuid5(_NAMESPACE, f"chunk {chunk_id}"))


def lexeme_id(word: str) -> str:
    """Return the id of the point for a word."""
    return str(uuid5(_NAMESPACE, f"lexeme {word}"))


STATE_ID = str(uuid5(_NAMESPACE, "state"))
"""The point among the words that has the number of chunks."""


def sparse_vector(values: Mapping[str, float]) -> models.SparseVector:
    """Return the vector of words, or trigrams, by their hashes; two with one hash are added."""
    by_hash: dict[int, float] = defaultdict(float)
    for text, value in values.items():
        by_hash[int.from_bytes(blake2b(text.encode(), digest_size=4).digest(), "big")] += value
    return models.SparseVector(indices=list(by_hash), values=list(by_hash.values()))


def trigram_vector(word: str, inner: float = 1.0) -> models.SparseVector:
    """Return the vector of the trigrams of `word`. The ones inside it have the value `inner`."""
    return sparse_vector({one: 1.0 if " " in one else inner for one in trigrams(word)})


def own_payload(chunk: Chunk, mark: str, *, has_vector: bool) -> dict[str, Any]:
    """Return what we keep of a chunk."""
    names = ("id", "document_id", "index", "start", "prev_id", "next_id")
    return {**{name: getattr(chunk, name) for name in names}, "mark": mark, "has_vector": has_vector}


def chunk_from_payload(id_: Any, payload: Mapping[str, Any], layout: Layout, keys: MetadataKeys) -> Chunk:
    """Return the chunk in a point."""
    if layout.dialect == "llamaindex":
        return llamaindex_chunk(id_, _node_text(payload), payload, keys)
    text, metadata = payload.get(layout.text) or "", payload.get(layout.metadata or "") or {}
    if layout.dialect == "langchain" or OWN not in payload:
        return langchain_chunk(id_, text, metadata, keys)
    own = payload[OWN]
    return Chunk(
        own["id"],
        own["document_id"],
        text,
        own["index"],
        own["start"],
        own["prev_id"],
        own["next_id"],
        metadata,
    )


def _node_text(payload: Mapping[str, Any]) -> str:
    try:
        text = json.loads(payload.get("_node_content") or "{}").get("text")
    except (AttributeError, TypeError, ValueError):
        return ""
    return text if isinstance(text, str) else ""


def named_vector(layout: Layout, vector: Sequence[float] | None, words: models.SparseVector) -> dict[str, Any]:
    """Return the vectors of a point."""
    embedding = {} if vector is None else {layout.vector: [float(number) for number in vector]}
    return {**embedding, WORDS: words}
