"""Writing into Milvus: collections, rows, and copies of what a vector store has written."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from ctxassembly.data.metadata_keys import MetadataKeys
from ctxassembly.stores.ingest import Row
from ctxassembly.stores.milvus.rows import (
    CHUNK_FIELDS,
    COUNT,
    DOCUMENT,
    PK,
    STATE,
    STATE_KEY,
    WORD,
    any_of,
    check_size,
    chunk_row,
    create_chunks,
    create_words,
    own_fields,
    read_row,
    row_key,
    sparse_vector,
    vector_fields,
)
from ctxassembly.stores.sparse.ingest import BATCH_SIZE, Changed
from ctxassembly.stores.sparse.rows import OWN, TRIGRAMS, WORDS, Layout, Stored, trigram_weights, weights_by_hash


@dataclass(frozen=True)
class MilvusStorage:
    """The collections of an index."""

    client: Any
    layout: Layout
    keys: MetadataKeys

    def missing(self) -> Iterator[tuple[str, Callable[[], object]]]:
        """Yield what is lacking, as lines, each with the function that creates it."""
        for name, create in ((self.layout.collection, create_chunks), (self.layout.lexemes, create_words)):
            if not self.client.has_collection(name):
                yield f"create collection {name}", partial(create, self.client, self.layout)

    # The words

    def read_state(self) -> Mapping[str, Any]:
        """Return the state; empty for a new index."""
        if not self.client.has_collection(self.layout.lexemes):
            return {}
        rows = self._query(self.layout.lexemes, any_of(PK, [STATE_KEY]), [STATE])
        return rows[0][STATE] if rows else {}

    def write_state(self, state: Mapping[str, Any]) -> None:
        """Replace the state."""
        self.client.upsert(self.layout.lexemes, [_word_row("", state["chunks"], state)])

    def read_counts(self, words: Sequence[str]) -> dict[str, int]:
        """Return the counts of `words`, as far as there are any."""
        rows = self._query(self.layout.lexemes, any_of(PK, list(map(row_key, words))), [WORD, COUNT])
        return {row[WORD]: row[COUNT] for row in rows}

    def write_counts(self, counts: Mapping[str, int]) -> None:
        """Set the counts of words."""
        self.client.upsert(self.layout.lexemes, [_word_row(word, count, {}) for word, count in counts.items()])

    def delete_words(self, words: Sequence[str]) -> None:
        """Delete words."""
        self.client.delete(self.layout.lexemes, ids=list(map(row_key, words)))

    def all_words(self) -> Iterator[str]:
        """Yield all words."""
        return (row[WORD] for row in read_rows(self.client, self.layout.lexemes, [WORD]) if row[WORD])

    # The chunks

    def count(self) -> int:
        """Return the number of chunks."""
        return int(self._query(self.layout.collection, "", ["count(*)"])[0]["count(*)"])

    def read(self, chunk_ids: Sequence[str]) -> list[Stored]:
        """Return the chunks with these ids."""
        return self.read_keys(list(map(row_key, chunk_ids)))

    def read_keys(self, keys: Sequence[Any]) -> list[Stored]:
        """Return the chunks under `keys`."""
        return list(map(self._stored, self._query(self.layout.collection, any_of(PK, keys), CHUNK_FIELDS)))

    def read_all(self, documents: Sequence[str] | None = None) -> Iterator[Stored]:
        """Yield the chunks of documents, or of all."""
        if documents is None:
            rows = read_rows(self.client, self.layout.collection, CHUNK_FIELDS)
        else:
            condition = any_of(DOCUMENT, list(map(row_key, documents)))
            rows = iter(self._query(self.layout.collection, condition, CHUNK_FIELDS))
        return map(self._stored, rows)

    def _stored(self, row: Mapping[str, Any]) -> Stored:
        return read_row(row, self.layout, self.keys)

    def write(self, rows: Sequence[Row], words: Sequence[Mapping[str, float]]) -> None:
        """Write chunks with their vectors and words.

        Raises:
            InputError: Milvus can't hold something in a chunk.
        """
        self._upsert([chunk_row(row, own_words, self.layout) for row, own_words in zip(rows, words, strict=True)])

    def write_titles(self, titles: Mapping[Any, str | None]) -> None:
        """Store titles with the chunks under their keys; None deletes one."""
        for rows in self._read_whole(list(titles)):
            self._upsert([{**row, **own_fields({**row[OWN], "title": titles[row[PK]]})} for row in rows])

    def update(self, changed: Sequence[Changed]) -> None:
        """Replace what we keep of stored chunks."""
        by_key = {one.stored.key: one for one in changed}
        for rows in self._read_whole(list(by_key)):
            self._upsert([_updated(row, by_key[row[PK]]) for row in rows])

    def _read_whole(self, keys: Sequence[Any]) -> Iterator[list[Any]]:
        """Yield the whole rows under `keys` in batches: a change of some fields replaces the row."""
        for at in range(0, len(keys), BATCH_SIZE):
            yield self._query(self.layout.collection, any_of(PK, keys[at : at + BATCH_SIZE]), ["*"])

    def _upsert(self, rows: list[dict[str, Any]]) -> None:
        for row in rows:
            check_size(row)
        if rows:
            self.client.upsert(self.layout.collection, rows)

    def delete(self, keys: Sequence[Any]) -> None:
        """Delete the chunks under `keys`."""
        self.client.delete(self.layout.collection, ids=list(keys))

    def _query(self, collection: str, condition: str, fields: list[str]) -> list[Any]:
        """Return rows as they are now: counts are changed by what was read."""
        return list(self.client.query(collection, filter=condition, output_fields=fields, consistency_level="Strong"))


def _updated(row: Mapping[str, Any], changed: Changed) -> dict[str, Any]:
    """Return `row` with what we keep of its chunk now."""
    vector = {} if changed.vector is None else vector_fields(changed.vector)
    words = sparse_vector(weights_by_hash(changed.words))
    return {**row, **own_fields(changed.stored.own), **vector, WORDS: words}


def _word_row(word: str, count: int, state: Mapping[str, Any]) -> dict[str, Any]:
    trigrams = sparse_vector(trigram_weights(word))
    return {PK: row_key(word), WORD: word, COUNT: count, STATE: dict(state), TRIGRAMS: trigrams}


def read_rows(client: Any, collection: str, fields: list[str]) -> Iterator[Mapping[str, Any]]:
    """Yield all rows of a collection, in batches."""
    batches = client.query_iterator(collection, batch_size=BATCH_SIZE, output_fields=fields, consistency_level="Strong")
    try:
        while batch := batches.next():
            yield from batch
    finally:
        batches.close()
