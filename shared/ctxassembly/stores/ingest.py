"""Chunks on their way into an index: what is stored of each, which of them have changed, and their vectors.

A row is marked with a hash of the chunk and of what its vector was made from. So a run that was killed continues
where it ended, a second one embeds nothing, and one with other vectors or another model replaces the old vectors.
"""

from __future__ import annotations

import hashlib
import json
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import islice, zip_longest
from operator import index
from typing import Any, SupportsIndex, TypeVar

from ctxassembly.data.chunks import Chunk, ChunkOrigin
from ctxassembly.errors import ConfigError, InputError
from ctxassembly.runtime.driver import Port
from ctxassembly.safe_repr import safe_repr
from ctxassembly.wording.unicode import is_storable, is_storable_json

T = TypeVar("T")
Vector = Sequence[float]
Embed = Callable[[list[str]], Sequence[Vector]]
CheckVector = Callable[[Vector], None]
"""A function that raises an error for a vector that an index can't hold."""
Row = tuple[Chunk, Vector | None, str]
"""A chunk, its vector if there is one, and its mark: of what is stored, and of what the vector was made from."""


def batches(items: Iterable[T], size: int) -> Iterator[list[T]]:
    """Yield `items` as lists of at most `size` of them.

    >>> [*batches("abcde", 2)]
    [['a', 'b'], ['c', 'd'], ['e']]
    """
    remaining = iter(items)
    while batch := list(islice(remaining, size)):
        yield batch


@dataclass(frozen=True, slots=True)
class IngestReport:
    """The outcome of adding chunks."""

    added: int
    """New, or changed."""
    unchanged: int
    deleted: int
    """Chunks of the same documents that are no longer among them."""

    def __str__(self) -> str:
        return f"{self.added} added, {self.unchanged} unchanged, {self.deleted} deleted"


def get_embed_function(embed: Any) -> Embed | None:
    """Return the function from texts to vectors.

    Raises:
        InputError: `embed` is not a function, or is async.
    """
    message = "embed is called in a thread and can't be awaited: give the sync function"
    return Port.of_embedder(embed).require_sync(f"{message}, got {safe_repr(embed)}").sync


def get_model_name(embed: Any) -> str | None:
    """Return the name of the model that `embed`, or the object it is a method of, embeds with; None if it has none."""
    model = getattr(embed, "__self__", embed)
    names = (getattr(model, name, None) for name in ("model_name", "model", "model_id"))
    return next((name for name in names if isinstance(name, str) and name), None)


_HASH_SEPARATOR = "."
"""Separates the hash of a chunk from the hash of what its vector was made from; neither has one."""


def mark_rows(batch: Iterable[tuple[Chunk, Vector | None]], model: str | None, check_vector: CheckVector) -> list[Row]:
    """Return chunks with their vectors and marks; `model` is the name of the one that embeds those without a vector.

    Raises:
        InputError: something in a chunk can't be stored.
    """
    rows: list[Row] = []
    for chunk, vector in batch:
        mark, vector_source = hash_chunk(chunk), None if model is None else model.encode(errors="surrogatepass")
        if vector is not None:
            check_vector(vector)
            vector_source = array("d", vector).tobytes()
        if vector_source is not None:
            mark += f"{_HASH_SEPARATOR}{hashlib.sha256(vector_source).hexdigest()[:32]}"
        rows.append((chunk, vector, mark))
    return rows


def is_stored(row: Row, mark: str, bare: bool, *, can_embed: bool) -> bool:
    """Return True if `row` is stored unchanged: with this `mark`, and with a vector unless it is `bare`.

    A row stored without a vector counts as changed if there is one now, and so does a row whose vector came from
    another vector or model, if the present one is known.
    """
    _, vector, now = row
    is_same = mark == now if _HASH_SEPARATOR in now else mark.partition(_HASH_SEPARATOR)[0] == now
    return is_same and not (bare and (can_embed or vector is not None))


def hash_chunk(chunk: Chunk) -> str:
    """Return a hash of everything that is stored of a chunk.

    Raises:
        InputError: something in it can't be stored.
    """
    if not isinstance(chunk, Chunk):
        raise InputError(f"chunks must be of Chunk, got {safe_repr(chunk)}")
    for name in ("index", "start"):
        number = getattr(chunk, name)
        if number is not None and not (isinstance(number, SupportsIndex) and -(2**63) <= index(number) < 2**63):
            given = safe_repr(number)
            raise InputError(f"{name} of a chunk must be an integer from -2**63 to 2**63 - 1, got {given}")
    for name in ("id", "document_id", "text", "prev_id", "next_id"):
        value = getattr(chunk, name)
        is_missing_link = value is None and name in ("prev_id", "next_id")
        if not (is_missing_link or (isinstance(value, str) and is_storable(value))):
            allowed = "a text without NUL and halves of surrogate pairs"
            raise InputError(f"{name} of a chunk must be {allowed}: {safe_repr(value)}")
    # As JSON: joined by a separator, values that hold the separator would pass for others, and None for "None".
    values = (*plain_values(chunk), metadata_json(chunk), extras_json(chunk))
    written = json.dumps(values, ensure_ascii=False, default=str)
    return hashlib.sha256(written.encode()).hexdigest()


def plain_values(chunk: Chunk) -> tuple[Any, ...]:
    """Return what is stored of each chunk besides its metadata."""
    return chunk.id, chunk.document_id, chunk.index, chunk.start, chunk.prev_id, chunk.next_id, chunk.text


def metadata_json(chunk: Chunk) -> str:
    """Return the metadata of a chunk as JSON.

    Raises:
        InputError: they can't be written, or contain what no store holds.
    """
    return _write_json(chunk, "metadata", dict(chunk.metadata))


def extras_json(chunk: Chunk) -> str:
    """Return as JSON what few chunks have: the origin of their offsets, and the keys that are hidden from the model.

    Raises:
        InputError: it can't be written, or contains what no store holds.
    """
    hidden = {name: sorted(getattr(chunk, name)) for name in ("hidden_from_model", "hidden_from_header")}
    extras = {"origin": chunk.origin and asdict(chunk.origin), **hidden}
    return _write_json(chunk, "origin", {name: value for name, value in extras.items() if value})


def with_extras(chunk: Chunk, extras: Mapping[str, Any]) -> Chunk:
    """Return `chunk` with what `extras_json` has written."""
    if not extras:
        return chunk
    names = ("hidden_from_model", "hidden_from_header")
    hidden: dict[str, Any] = {name: frozenset(extras.get(name, ())) for name in names}
    if origin := extras.get("origin"):
        origin = ChunkOrigin(**{**origin, "section": tuple(map(tuple, origin["section"]))})
    return replace(chunk, origin=origin, **hidden)


def _write_json(chunk: Chunk, name: str, value: Mapping[str, Any]) -> str:
    try:
        written = json.dumps(value, ensure_ascii=False, allow_nan=False, default=str)
    except (TypeError, ValueError, RecursionError) as error:
        raise InputError(f"{name} of chunk {chunk.id!r} can't be written as JSON: {error}") from error
    if not is_storable_json(written):
        raise InputError(f"{name} of chunk {chunk.id!r} contains a NUL or half a surrogate pair")
    return written


def pair_vectors(chunks: Iterable[Chunk], vectors: Iterable[Vector] | None) -> Iterator[tuple[Chunk, Vector | None]]:
    """Yield each of `chunks` with its vector if there is one: of `vectors`, else its own.

    Raises:
        InputError: `vectors` are more or fewer than the chunks.
    """
    if vectors is None:
        yield from ((chunk, getattr(chunk, "vector", None)) for chunk in chunks)
        return
    absent: Any = object()
    for chunk, vector in zip_longest(chunks, vectors, fillvalue=absent):
        if chunk is absent or vector is absent:
            raise InputError("vectors must be one for each chunk: there are fewer of one than of the other")
        yield chunk, vector


def check_documents(stored: Iterable[tuple[str, str]], rows: Iterable[Row]) -> None:
    """Check that none of `rows` has the id of a chunk of another document, which it would replace.

    Raises:
        ConfigError: one has.
    """
    documents = {chunk.id: chunk.document_id for chunk, *_ in rows}
    for id_, document in stored:
        if document != documents[id_]:
            hint = ": number_chunks() gives chunks ids of their own"
            known = f", which is stored for document {safe_repr(document)}{hint}"
            raise ConfigError("chunks", "of ids that no other document has", id_, known)


def documents_of(chunks: Iterable[Any]) -> dict[str, str]:
    """Return the documents of `chunks` by the ids of chunks, without those that can't be stored."""
    names = ((chunk.id, chunk.document_id) for chunk in chunks if isinstance(chunk, Chunk))
    return dict(both for both in names if all(isinstance(name, str) and is_storable(name) for name in both))


def add_documents(documents: dict[str, str], rows: Iterable[Row]) -> None:
    """Add the documents of `rows` by the ids of chunks.

    Raises:
        ConfigError: an id is given twice.
    """
    for chunk, *_ in rows:
        if chunk.id in documents:
            raise ConfigError("chunks", "of different ids", chunk.id)
        documents[chunk.id] = chunk.document_id


def incomplete_error(document: str, count: int, id_: str) -> InputError:
    """Return the error for a document with so many stored chunks that weren't given, one of which is `id_`."""
    return InputError(
        f"document {safe_repr(document)} has stored chunks that weren't given ({count}, such as {safe_repr(id_)}). "
        "Nothing was deleted: give all chunks of a document, or delete the others with add(..., replace=True)"
    )


def embed_missing(rows: list[Row], embed: Embed | None, check_vector: CheckVector) -> list[Row]:
    """Return `rows` with vectors, made by `embed` for those without one."""
    texts = [chunk.text for chunk, vector, _ in rows if vector is None]
    if embed is None or not texts:
        return rows
    vectors = embed(texts)
    if not hasattr(vectors, "__len__"):
        raise InputError(f"embed must return one vector for each text, got {safe_repr(vectors)}")
    if len(vectors) != len(texts):
        raise InputError(f"embed must return one vector for each text: {len(texts)} texts gave {len(vectors)}")
    for vector in vectors:
        check_vector(vector)
    remaining = iter(vectors)
    return [(chunk, next(remaining) if vector is None else vector, mark) for chunk, vector, mark in rows]


def write_missing(
    given: Iterable[list[tuple[Chunk, Vector | None]]],
    embed: Any,
    check_vector: CheckVector,
    read_stored: Callable[[list[Chunk]], Mapping[str, tuple[str, str, bool]]],
    write: Callable[[list[Row]], object],
    on_batch: Callable[[int], object],
) -> tuple[dict[str, str], int, int]:
    """Write the chunks of the `given` batches that aren't stored unchanged.

    Return the documents of all by the ids of chunks, the number of written chunks and the number of unchanged ones.

    Args:
        given: chunks with their vectors, as many at a time as are read and written at once.
        embed: a function that makes the vectors that are missing, or an object with it.
        check_vector: raises an error for a vector that the index can't hold.
        read_stored: returns what is stored under the ids of chunks: document, mark, and True without a vector.
        write: replaces rows.
        on_batch: gets the number of chunks done after each batch.

    Raises:
        InputError: `embed` is no function, or something in a chunk can't be stored.
        ConfigError: an id is given twice, or is stored for another document; a vector of another length.
    """
    function, model = get_embed_function(embed), get_model_name(embed)
    documents: dict[str, str] = {}
    added = unchanged = 0
    for batch in given:
        rows = mark_rows(batch, model, check_vector)
        add_documents(documents, rows)
        stored = read_stored([chunk for chunk, *_ in rows])
        check_documents(((id_, document) for id_, (document, *_) in stored.items()), rows)
        marks = {id_: mark for id_, (_, *mark) in stored.items()}
        can_embed = function is not None
        missing = [row for row in rows if not is_stored(row, *marks.get(row[0].id, ("", False)), can_embed=can_embed)]
        if missing:
            write(embed_missing(missing, function, check_vector))
        added += len(missing)
        unchanged += len(rows) - len(missing)
        on_batch(len(rows))
    return documents, added, unchanged
