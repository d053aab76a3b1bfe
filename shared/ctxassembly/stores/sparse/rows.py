"""What a collection keeps of a chunk: its own text and metadata, its place in the document, and its words.

A chunk of a framework's collection has the same, under a key of ours.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, Literal, NamedTuple

from ctxassembly.data.chunks import Chunk
from ctxassembly.data.enrichment import StoredNotes
from ctxassembly.data.metadata_keys import MetadataKeys
from ctxassembly.errors import ConfigError
from ctxassembly.stores.framework_rows import langchain_chunk, llamaindex_chunk
from ctxassembly.stores.ingest import extras_json, with_extras
from ctxassembly.stores.simple_words import FIELDS, term_counts, trigrams

OWN = "ctxassembly"
"""The key with what we keep of a chunk."""
WORDS = "ctxassembly_words"
"""The name of the sparse vector of words."""
TRIGRAMS = "trigrams"
"""The name of the sparse vector of a word's trigrams."""
COLUMNS: Mapping[str, str] = {"document_id": "document_id", "chunk_index": "index", "start_index": "start"}
"""The keys that a filter reads from a chunk, and the names under which we keep them."""
_MAX_HASHES = 2**32 - 1
"""Of these numbers no engine takes the last one as an index."""


@dataclass(frozen=True)
class Layout:
    """Where the rows of a collection keep text, metadata and embedding."""

    collection: str
    dimensions: int
    dialect: Literal["own", "langchain", "llamaindex"] = "own"
    text: str = "page_content"
    """Its key; LlamaIndex has the text in the node's JSON."""
    metadata: str | None = "metadata"
    """Its key; None if the row has the metadata keys themselves."""
    vector: str = ""
    """The name of the embedding; Qdrant's own default is empty."""
    fields: tuple[str | None, ...] = FIELDS

    @property
    def lexemes(self) -> str:
        """The collection of all words with the number of chunks that have each."""
        return f"{self.collection}_lexemes"

    def check_vector(self, vector: Sequence[float]) -> None:
        """Check that the collection takes `vector`.

        Raises:
            ConfigError: it has another length than the embeddings.
        """
        if len(vector) != self.dimensions:
            raise ConfigError("embed", f"of {self.dimensions} dimensions, as the collection is", len(vector))


def weights_by_hash(weights: Mapping[str, float]) -> dict[int, float]:
    """Return the sparse vector of words, or trigrams: the weights by their hashes; two with one hash are added."""
    by_hash: dict[int, float] = defaultdict(float)
    for text, weight in weights.items():
        by_hash[int.from_bytes(blake2b(text.encode(), digest_size=4).digest(), "big") % _MAX_HASHES] += weight
    return dict(by_hash)


def trigram_weights(word: str, inner: float = 1.0) -> dict[int, float]:
    """Return the sparse vector of the trigrams of `word`. The ones inside it have the weight `inner`."""
    return weights_by_hash({one: 1.0 if " " in one else inner for one in trigrams(word)})


def own_values(chunk: Chunk, mark: str, *, has_vector: bool) -> dict[str, Any]:
    """Return what we keep of a chunk."""
    names = ("id", "document_id", "index", "start", "prev_id", "next_id")
    kept = {name: getattr(chunk, name) for name in names}
    return {**kept, "extras": json.loads(extras_json(chunk)), "mark": mark, "has_vector": has_vector}


def chunk_from_row(id_: Any, row: Mapping[str, Any], layout: Layout, keys: MetadataKeys) -> Chunk:
    """Return the chunk in a row of the collection."""
    if layout.dialect == "llamaindex":
        return llamaindex_chunk(id_, _node_text(row), row, keys)
    text, metadata = row.get(layout.text) or "", row.get(layout.metadata or "") or {}
    if layout.dialect == "langchain" or OWN not in row:
        return langchain_chunk(id_, text, metadata, keys)
    return own_chunk(row, layout)


def own_chunk(row: Mapping[str, Any], layout: Layout) -> Chunk:
    """Return the chunk in a row that we have written."""
    own = row[OWN]
    text, metadata = row.get(layout.text) or "", row.get(layout.metadata or "") or {}
    place = own["index"], own["start"], own["prev_id"], own["next_id"]
    return with_extras(Chunk(own["id"], own["document_id"], text, *place, metadata), own["extras"])


class Stored(NamedTuple):
    """A chunk in the collection, under the key of its row."""

    key: Any
    chunk: Chunk
    """Without a model's notes, which filters don't read."""
    own: Mapping[str, Any]
    """What we keep of it; empty for one that a framework has written."""

    @property
    def notes(self) -> StoredNotes:
        """A model's notes on it."""
        notes: Mapping[str, Any] = self.own.get("notes") or {}
        return StoredNotes(**{**notes, "questions": tuple(notes.get("questions", ()))})

    @property
    def title(self) -> str | None:
        """What is stored of the title of the document that begins with it."""
        return self.own.get("title")

    def words(self, layout: Layout) -> dict[str, float]:
        """Return the words of the chunk and of the notes on it, with their saturated counts."""
        return term_counts(self.chunk, layout.fields, notes=self.notes.texts)

    def shown(self) -> Chunk:
        """Return the chunk as searches and contexts show it: with the notes on its document."""
        return self.notes.add_to(self.chunk)


def read_row(key: Any, row: Mapping[str, Any], layout: Layout, keys: MetadataKeys) -> Stored:
    """Return what a row of the collection keeps under `key`."""
    return Stored(key, chunk_from_row(key, row, layout, keys), row.get(OWN) or {})


def _node_text(row: Mapping[str, Any]) -> str:
    try:
        text = json.loads(row.get("_node_content") or "{}").get("text")
    except (AttributeError, TypeError, ValueError):
        return ""
    return text if isinstance(text, str) else ""
