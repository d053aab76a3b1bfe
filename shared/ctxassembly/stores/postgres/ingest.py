"""Chunks written into a table of our own: by COPY, in batches that commit each, and only what isn't there yet.

A row is marked with a hash of the chunk and of what its vector was made from. So a run that was killed continues
where it ended, a second one embeds nothing, and one with other vectors or another model replaces the old vectors.
"""

from __future__ import annotations

import hashlib
import json
from array import array
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice, zip_longest
from operator import index
from typing import TYPE_CHECKING, Any

from ctxassembly.concurrency import is_async
from ctxassembly.data.chunks import Chunk
from ctxassembly.errors import ConfigError, InputError, StoreError
from ctxassembly.safe_repr import safe_repr
from ctxassembly.stores.postgres.maintenance import MaintenanceConnection
from ctxassembly.stores.postgres.schema import full_name, quoted_name
from ctxassembly.stores.postgres.search import check_vector, format_vector
from ctxassembly.stores.postgres.table import TSV, IndexedTable
from ctxassembly.stores.postgres.vocabulary import MAX_LEXEME_CHARS, lexemes_name
from ctxassembly.wording.unicode import is_storable

if TYPE_CHECKING:
    from psycopg import Connection

BATCH_SIZE = 512
"""Chunks a transaction; embeddings are asked for as many texts at once."""
_COLUMNS = (
    *("id", "document_id", "chunk_index", "start_index", "prev_id", "next_id"),
    *("content", "metadata", "content_hash", "embedding"),
)
Vector = Sequence[float]
Embed = Callable[[list[str]], Sequence[Vector]]


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
    function: Embed | None = getattr(embed, "embed_documents", embed)
    if is_async(function):
        raise InputError(
            f"embed is called in a thread and can't be awaited: give the sync function, got {safe_repr(embed)}"
        )
    if not (function is None or callable(function)):
        raise InputError(
            f"embed must be a function from texts to vectors, or have embed_documents, got {safe_repr(embed)}"
        )
    return function


def get_model_name(embed: Any) -> str | None:
    """Return the name of the model that `embed`, or the object it is a method of, embeds with; None if it has none."""
    model = getattr(embed, "__self__", embed)
    names = (getattr(model, name, None) for name in ("model_name", "model", "model_id"))
    return next((name for name in names if isinstance(name, str) and name), None)


def add_chunks(
    work: MaintenanceConnection,
    table: IndexedTable,
    chunks: Iterable[Chunk],
    vectors: Iterable[Vector] | None,
    embed: Any,
    on_batch: Callable[[int], object],
) -> IngestReport:
    """Write `chunks`; `on_batch` gets the number of chunks done after each batch.

    Raises:
        InputError: `embed` is no function, or something in a chunk can't be stored.
        ConfigError: an id is given twice, or is stored for another document; a vector that the table can't take.
        StoreError: another run has written other chunks of a document meanwhile.
    """
    function, model = get_embed_function(embed), get_model_name(embed)
    added = unchanged = 0
    documents: dict[str, str] = {}
    """By the ids of their chunks."""
    for batch in _iter_batches(_pair_vectors(chunks, vectors)):
        rows = [(chunk, vector, _row_hash(chunk, vector, model, table)) for chunk, vector in batch]
        for chunk, *_ in rows:
            if chunk.id in documents:
                raise ConfigError("chunks", "of different ids", chunk.id)
            documents[chunk.id] = chunk.document_id
        missing = work.retry_on_lock(
            full_name(table), partial(_rows_to_write, work.connection, table, rows, can_embed=function is not None)
        )
        _write_rows(work, table, _embed_missing(missing, function, table))
        added += len(missing)
        unchanged += len(rows) - len(missing)
        on_batch(len(rows))
    return IngestReport(added, unchanged, _delete_others(work, table, documents))


_HASH_SEPARATOR = "."
"""Separates the hash of a chunk from the hash of what its vector was made from; neither has one."""


def _row_hash(chunk: Chunk, vector: Vector | None, model: str | None, table: IndexedTable) -> str:
    """Return the hash of `chunk`, and of its vector if there is one, else of the model's name."""
    content, vector_source = hash_chunk(chunk), None if model is None else model.encode(errors="surrogatepass")
    if vector is not None:
        check_vector(vector, table)
        vector_source = array("d", vector).tobytes()
    return (
        content
        if vector_source is None
        else f"{content}{_HASH_SEPARATOR}{hashlib.sha256(vector_source).hexdigest()[:32]}"
    )


def hash_chunk(chunk: Chunk) -> str:
    """Return a hash of everything that is stored of a chunk.

    Raises:
        InputError: something in it can't be stored.
    """
    if not isinstance(chunk, Chunk):
        raise InputError(f"chunks must be of Chunk, got {safe_repr(chunk)}")
    for name in ("index", "start"):
        if not _fits_bigint(getattr(chunk, name)):
            given = safe_repr(getattr(chunk, name))
            raise InputError(f"{name} of a chunk must be an integer from -2**63 to 2**63 - 1, got {given}")
    for name in ("id", "document_id", "text", "prev_id", "next_id"):
        value = getattr(chunk, name)
        if value is None and name in ("prev_id", "next_id"):
            continue
        if not isinstance(value, str) or not is_storable(value):
            raise InputError(
                f"{name} of a chunk must be a text without NUL and halves of surrogate pairs: {safe_repr(value)}"
            )
    # As JSON: joined by a separator, values that hold the separator would pass for others, and None for "None".
    written = json.dumps((*_plain_values(chunk), _metadata_json(chunk)), ensure_ascii=False, default=str)
    return hashlib.sha256(written.encode()).hexdigest()


def _fits_bigint(number: Any) -> bool:
    """Return True for None and for integers that fit in a bigint column."""
    try:
        return number is None or -(2**63) <= index(number) < 2**63
    except TypeError:
        return False


def _plain_values(chunk: Chunk) -> tuple[Any, ...]:
    return chunk.id, chunk.document_id, chunk.index, chunk.start, chunk.prev_id, chunk.next_id, chunk.text


def _metadata_json(chunk: Chunk) -> str:
    try:
        written = json.dumps(dict(chunk.metadata), ensure_ascii=False, allow_nan=False, default=str)
    except (TypeError, ValueError, RecursionError) as error:
        raise InputError(f"metadata of chunk {chunk.id!r} can't be written as JSON: {error}") from error
    if "\\u0000" in written or not is_storable(written):
        raise InputError(f"metadata of chunk {chunk.id!r} contains a NUL or half a surrogate pair")
    return written


def _pair_vectors(chunks: Iterable[Chunk], vectors: Iterable[Vector] | None) -> Iterator[tuple[Chunk, Vector | None]]:
    if vectors is None:
        return ((chunk, getattr(chunk, "vector", None)) for chunk in chunks)
    return map(_check_pair, zip_longest(chunks, vectors, fillvalue=_ABSENT))


_ABSENT: Any = object()


def _check_pair(pair: tuple[Chunk, Vector]) -> tuple[Chunk, Vector]:
    if pair[0] is _ABSENT or pair[1] is _ABSENT:
        raise InputError("vectors must be one for each chunk: there are fewer of one than of the other")
    return pair


def _iter_batches(rows: Iterator[tuple[Chunk, Vector | None]]) -> Iterator[list[tuple[Chunk, Vector | None]]]:
    while batch := list(islice(rows, BATCH_SIZE)):
        yield batch


Row = tuple[Chunk, Vector | None, str]
"""A chunk, its vector if there is one, and its mark."""


def _rows_to_write(connection: Connection[Any], table: IndexedTable, rows: list[Row], *, can_embed: bool) -> list[Row]:
    """Return the `rows` that aren't stored unchanged.

    A row stored without a vector counts as changed if there is one now, and so does a row whose vector came from
    another vector or model, if the present one is known.
    """
    statement = (
        f"SELECT id, document_id, content_hash, embedding IS NULL FROM {_escaped_table(table)} WHERE id = ANY(%s)"
    )
    ids = [chunk.id for chunk, *_ in rows]
    found = connection.execute(statement.encode(), (ids,)).fetchall()
    _check_documents(((id_, document) for id_, document, *_ in found), rows)
    stored = {id_: (was, bare) for id_, _, was, bare in found}

    def is_stored(row: Row) -> bool:
        chunk, vector, now = row
        was, bare = stored.get(chunk.id, ("", False))
        is_same = was == now if _HASH_SEPARATOR in now else was.partition(_HASH_SEPARATOR)[0] == now
        return is_same and not (bare and (can_embed or vector is not None))

    return [row for row in rows if not is_stored(row)]


def _check_documents(stored: Iterable[tuple[str, str]], rows: Iterable[Row]) -> None:
    """Check that none of `rows` has the id of a chunk of another document, which it would replace.

    Raises:
        ConfigError: one has.
    """
    documents = {chunk.id: chunk.document_id for chunk, *_ in rows}
    for id_, document in stored:
        if document != documents[id_]:
            raise ConfigError(
                "chunks",
                "of ids that no other document has",
                id_,
                f", which is stored for document {safe_repr(document)}: number_chunks() gives chunks ids of their own",
            )


def _embed_missing(rows: list[Row], embed: Embed | None, table: IndexedTable) -> list[Row]:
    """Return `rows` with vectors, made by `embed` for those without one."""
    texts_to_embed = [chunk.text for chunk, vector, _ in rows if vector is None] if embed else []
    new_vectors = embed(texts_to_embed) if embed and texts_to_embed else []
    if not hasattr(new_vectors, "__len__"):
        raise InputError(f"embed must return one vector for each text, got {safe_repr(new_vectors)}")
    if len(new_vectors) != len(texts_to_embed):
        raise InputError(
            f"embed must return one vector for each text: {len(texts_to_embed)} texts gave {len(new_vectors)}"
        )
    remaining = iter(new_vectors)
    embedded_rows: list[Row] = []
    for chunk, given, mark in rows:
        vector = next(remaining) if given is None and embed else given
        if vector is not None:
            check_vector(vector, table)
        embedded_rows.append((chunk, vector, mark))
    return embedded_rows


def _write_rows(work: MaintenanceConnection, table: IndexedTable, rows: list[Row]) -> None:
    if rows:
        work.retry_on_lock(
            full_name(table), partial(_replace_rows, work.connection, table, rows), should_take_turn=True
        )


def _replace_rows(connection: Connection[Any], table: IndexedTable, rows: list[Row]) -> None:
    table_name, columns = full_name(table), ", ".join(map(quoted_name, _COLUMNS))
    ids = [chunk.id for chunk, *_ in rows]
    with connection.cursor() as cursor:
        cursor.execute(
            f"DELETE FROM {_escaped_table(table)} WHERE id = ANY(%s) RETURNING id, document_id".encode(), (ids,)
        )
        # Another run may have taken an id meanwhile. The error rolls the deletion back.
        _check_documents(cursor.fetchall(), rows)
        with cursor.copy(f"COPY {table_name} ({columns}) FROM STDIN".encode()) as copy:
            for chunk, vector, mark in rows:
                *place, text = _plain_values(chunk)
                copy.write_row(
                    (*place, text, _metadata_json(chunk), mark, None if vector is None else format_vector(vector))
                )
        insert_words(cursor, table, ids)


def insert_words(cursor: Any, table: IndexedTable, keys: Sequence[Any]) -> None:
    """Add the words of these rows to those that the table has."""
    cursor.execute(
        f"INSERT INTO {_escape_percent(lexemes_name(table))} SELECT DISTINCT lexeme FROM {_escaped_table(table)}, "
        f"unnest({TSV}) "
        f"WHERE {_escape_percent(quoted_name(table.key))} = ANY(%s) AND length(lexeme) <= {MAX_LEXEME_CHARS} "
        "ON CONFLICT DO NOTHING".encode(),
        (list(keys),),
    )


def _escaped_table(table: IndexedTable) -> str:
    return _escape_percent(full_name(table))


def _escape_percent(name: str) -> str:
    """Return a name as it is written in a statement with parameters."""
    return name.replace("%", "%%")


def _delete_others(work: MaintenanceConnection, table: IndexedTable, documents: Mapping[str, str]) -> int:
    """Delete the chunks of `documents` that aren't among their keys; the number of those deleted.

    Raises:
        StoreError: another run has deleted some of them, as it had other chunks of the same document. Its chunks stay.
    """
    ids_by_document: dict[str, list[str]] = defaultdict(list)
    for id_, document in documents.items():
        ids_by_document[document].append(id_)
    missing_statement = (
        "SELECT id FROM unnest(%s::text[]) AS given(id) "
        f"WHERE NOT EXISTS (SELECT FROM {_escaped_table(table)} AS stored WHERE stored.id = given.id) LIMIT 1"
    )
    delete_statement = f"DELETE FROM {_escaped_table(table)} WHERE document_id = ANY(%s) AND id <> ALL(%s)"

    def delete(document_ids: list[str]) -> int:
        ids = [id_ for document_id in document_ids for id_ in ids_by_document[document_id]]
        lost = work.connection.execute(missing_statement.encode(), (ids,)).fetchone()
        if lost:
            raise StoreError(
                f"another run has written other chunks of document {documents[lost[0]]!r} meanwhile, and its own "
                "stay; add the newest ones again"
            )
        return work.connection.execute(delete_statement.encode(), (document_ids, ids)).rowcount

    deleted = 0
    names = iter(ids_by_document)
    while document_ids := list(islice(names, BATCH_SIZE)):
        deleted += work.retry_on_lock(full_name(table), partial(delete, document_ids), should_take_turn=True)
    return deleted
