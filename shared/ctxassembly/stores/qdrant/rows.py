"""What a collection keeps of a chunk: its own text and metadata, its place in the document, and its words.

A chunk of a framework's collection has the same, under a key of ours.

The words of a chunk are a sparse vector of the hash of each and its saturated count, a query is one of hashes and
weights, and their inner product is the keyword score. The idf is on the query's side, so the number of shards doesn't
matter.

Qdrant looks up whole values. So the first words of a title are stored with the first chunk of a document, and each
run of so many words in a text is looked up; `MemoryStore` then compares the chunks that are found with the whole texts.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from itertools import islice
from typing import Any, Literal, NamedTuple
from uuid import UUID, uuid5

from qdrant_client import models

from ctxassembly.data.chunks import Chunk
from ctxassembly.data.enrichment import StoredNotes, sort_key
from ctxassembly.data.metadata_keys import MetadataKeys
from ctxassembly.errors import ConfigError
from ctxassembly.stores.framework_rows import LLAMAINDEX, langchain_chunk
from ctxassembly.stores.ingest import extras_json, with_extras
from ctxassembly.stores.simple_words import FIELDS, FieldKeys, key_tuple, term_counts, trigrams
from ctxassembly.text.titles import comparable, document_title, title_beginnings

OWN = "ctxassembly"
"""The key with what we keep of a chunk."""
WORDS = "ctxassembly_words"
"""The name of the sparse vector of words."""
TRIGRAMS = "trigrams"
"""The name of the sparse vector of a word's trigrams."""
COLUMNS: Mapping[str, str] = {"document_id": "document_id", "chunk_index": "index", "start_index": "start"}
"""The keys that a filter reads from a chunk, and the names under which we keep them."""
_MAX_HASHES = 2**32 - 1
"""The hashes are below it."""
_NAMESPACE = UUID("6d1f3f0e-7a0a-5b55-9d53-0f2f4d7e0c11")
STATE_ID = str(uuid5(_NAMESPACE, "state"))
"""The point among the words that has the number of chunks."""
BATCH_SIZE = 256
"""Chunks, or words, a request; embeddings are asked for as many texts at once."""


@dataclass(frozen=True)
class Layout:
    """Where the payloads of a collection keep text, metadata and embedding."""

    collection: str
    dimensions: int
    dialect: Literal["own", "langchain", "llamaindex"] = "own"
    text: str = "page_content"
    """Its key; LlamaIndex has the text in the node's JSON."""
    metadata: str | None = "metadata"
    """Its key; None if the payload has the metadata keys themselves."""
    vector: str = ""
    """The name of the embedding."""
    fields: tuple[FieldKeys, ...] = FIELDS
    keys: MetadataKeys = field(default_factory=MetadataKeys)

    @property
    def named_fields(self) -> list[str | None]:
        """The fields as they are stored with the collection."""
        return [" or ".join(key_tuple(keys)) or None for keys in self.fields]

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


def own_key(name: str) -> str:
    """Return the path of what we keep of a chunk under `name`."""
    return f"{OWN}.{name}"


def match_any(path: str, values: Sequence[Any]) -> models.FieldCondition:
    """Return the condition that the value under `path` is one of `values`."""
    return models.FieldCondition(key=path, match=models.MatchAny(any=list(values)))


def point_id(chunk_id: str) -> str:
    """Return the id of the point for a chunk, which may have an id of any kind."""
    return str(uuid5(_NAMESPACE, f"chunk {chunk_id}"))


def lexeme_id(word: str) -> str:
    """Return the id of the point for a word."""
    return str(uuid5(_NAMESPACE, f"lexeme {word}"))


def sparse_vector(weights: Mapping[str, float]) -> models.SparseVector:
    """Return the vector of words, or trigrams: the weights by their hashes; two with one hash are added."""
    by_hash: dict[int, float] = defaultdict(float)
    for text, weight in weights.items():
        by_hash[int.from_bytes(blake2b(text.encode(), digest_size=4).digest(), "big") % _MAX_HASHES] += weight
    return models.SparseVector(indices=list(by_hash), values=list(by_hash.values()))


def trigram_vector(word: str, inner: float = 1.0) -> models.SparseVector:
    """Return the sparse vector of the trigrams of `word`. The ones inside it have the weight `inner`."""
    return sparse_vector({one: 1.0 if " " in one else inner for one in trigrams(word)})


def own_values(chunk: Chunk, mark: str, *, has_vector: bool) -> dict[str, Any]:
    """Return what we keep of a chunk."""
    names = ("id", "document_id", "index", "start", "prev_id", "next_id")
    kept = {name: getattr(chunk, name) for name in names}
    return {**kept, "extras": json.loads(extras_json(chunk)), "mark": mark, "has_vector": has_vector}


def _chunk(id_: Any, payload: Mapping[str, Any], layout: Layout) -> Chunk:
    if layout.dialect == "llamaindex":
        return LLAMAINDEX.chunk(id_, "", payload, layout.keys)
    text, metadata = payload.get(layout.text) or "", payload.get(layout.metadata or "") or {}
    if layout.dialect == "langchain" or OWN not in payload:
        return langchain_chunk(id_, text, metadata, layout.keys)
    own = payload[OWN]
    place = own["index"], own["start"], own["prev_id"], own["next_id"]
    return with_extras(Chunk(own["id"], own["document_id"], text, *place, metadata), own["extras"])


class Stored(NamedTuple):
    """A chunk in the collection, under the id of its point."""

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


def read_points(points: Iterable[Any], layout: Layout) -> list[Stored]:
    """Return the chunks of points."""
    return [Stored(one.id, _chunk(one.id, one.payload, layout), one.payload.get(OWN) or {}) for one in points]


TITLE_WORDS = 4
"""The first words of a title that are stored: by fewer too many titles of a corpus begin alike."""
MAX_BEGINNINGS = 20_000
"""The most runs of words that are looked up, from the first text on."""
MAX_DOCUMENTS = 256
"""The most documents whose titles begin as they should, of which an assembly adds a few."""


def stored_title(chunk: Chunk, keys: MetadataKeys) -> str | None:
    """Return what is stored of the title of the document that begins with `chunk`; None if it has none.

    >>> stored_title(Chunk("a", "a", "# The planet Mercury, seen from the earth", 0), MetadataKeys())
    'the planet mercury seen'
    """
    return next(title_beginnings(document_title(chunk, keys), TITLE_WORDS), None)


def mentioned_titles(texts: Iterable[str]) -> list[str]:
    """Return what is looked up of the titles that `texts` may mention."""
    found = dict.fromkeys(beginning for text in texts for beginning in title_beginnings(comparable(text), TITLE_WORDS))
    return list(islice(found, MAX_BEGINNINGS))


def title_changes(stored: Iterable[tuple[Any, Chunk, str | None]], keys: MetadataKeys) -> dict[Any, str | None]:
    """Return the titles to store, None for one to delete, so that only the first chunk of a document has its title.

    >>> chunks = [Chunk("a#1", "a", "Hot.", 1), Chunk("a#0", "a", "# Mercury", 0)]
    >>> title_changes([(1, chunks[0], "hot"), (2, chunks[1], None)], MetadataKeys())
    {1: None, 2: 'mercury'}

    Args:
        stored: all chunks of some documents, each with the key under which it is stored and the title stored with it.
        keys: under which titles are read.
    """
    titled: dict[Any, str | None] = {}
    firsts: dict[str, tuple[tuple[Any, ...], Any, str | None]] = {}
    for key, chunk, title in stored:
        if title is not None:
            titled[key] = title
        first = firsts.get(chunk.document_id)
        if first is None or sort_key(chunk) < first[0]:
            firsts[chunk.document_id] = sort_key(chunk), key, stored_title(chunk, keys)
    wanted = {**dict.fromkeys(titled), **{key: title for _, key, title in firsts.values()}}
    return {key: title for key, title in wanted.items() if title != titled.get(key)}
