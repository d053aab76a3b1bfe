"""Chunks that are in langchain-postgres already, numbered where they are."""

# ruff: noqa: SLF001  what is private here has no public way in: the engine and its event loop

from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING, cast

from langchain_postgres import PGVector, PGVectorStore
from langchain_postgres.v2.async_vectorstore import AsyncPGVectorStore
from sqlalchemy import Engine, Table, select
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.ext.asyncio import AsyncEngine

from ctxassembly.data.metadata_keys import MetadataKeys
from ctxassembly.errors import ConfigError, InputError
from ctxassembly.stores.postgres.numbering import NumberingReport, StoredChunks, build_table, number_rows
from langchain_ctxassembly.stores.identity import loop_of, unwrap

if TYPE_CHECKING:
    from collections.abc import Callable

    from sqlalchemy import Connection

    AnyPostgres = PGVectorStore | AsyncPGVectorStore | PGVector


def number_stored_chunks(
    vectorstore: AnyPostgres, *, keys: MetadataKeys | None = None, trust_insertion_order: bool = False
) -> NumberingReport:
    """Give the chunks of a PGVectorStore or PGVector document id and index where they are stored; what became of them.

        print(number_stored_chunks(vectorstore))  # 1,204 chunks were numbered; 37 documents have neighbors now

    Both are written under the first of their `keys` that is a column of the table, else under the first, into the JSON
    metadata. Chunks of one document, or of one source, are numbered by page, row, line and offset (`start_index`), as
    far as they have them. Documents whose chunks have an index each stay as they are; ids, texts and vectors do, too.
    The table gets the index on document id and index that `PGVectorNeighbors` looks them up by. All of it is one
    transaction, and a second run changes nothing.

    Args:
        vectorstore: of a `PGVector` it is the collection that is numbered.
        keys: under which the metadata have document id, index, source, page and offset.
        trust_insertion_order: number what says nothing of its order as it lies in the table. True only of a table that
            was filled once, document by document, and not changed since.

    Raises:
        ConfigError: another vector store, or a table without a column for the two and without JSON metadata.
        InputError: the vector store was set up for async use alone.
    """
    number_table = _numbering_task(vectorstore, keys, trust_insertion_order)
    if isinstance(vectorstore, PGVector):
        if vectorstore.async_mode:
            raise InputError("this PGVector was set up with async_mode=True: use anumber_stored_chunks")
        with cast(Engine, vectorstore._engine).begin() as connection:
            return number_table(connection)
    loop = loop_of(vectorstore)
    if loop is None:
        raise InputError("this vector store has no event loop of its own for sync calls: use anumber_stored_chunks")
    return asyncio.run_coroutine_threadsafe(
        _run_in_transaction(unwrap(vectorstore).engine, number_table), loop
    ).result()


async def anumber_stored_chunks(
    vectorstore: AnyPostgres, *, keys: MetadataKeys | None = None, trust_insertion_order: bool = False
) -> NumberingReport:
    """Async version of `number_stored_chunks`.

        numbers = await anumber_stored_chunks(vectorstore)

    `numbers.unordered` names documents that could not be numbered here: store them again, as `number_chunks` returns
    them.
    """
    number_table = _numbering_task(vectorstore, keys, trust_insertion_order)
    if isinstance(vectorstore, PGVector):
        if not vectorstore.async_mode:
            return await asyncio.to_thread(
                number_stored_chunks, vectorstore, keys=keys, trust_insertion_order=trust_insertion_order
            )
        await vectorstore.__apost_init__()
        return await _run_in_transaction(cast(AsyncEngine, vectorstore._async_engine), number_table)
    loop, numbering = loop_of(vectorstore), _run_in_transaction(unwrap(vectorstore).engine, number_table)
    return await (asyncio.wrap_future(asyncio.run_coroutine_threadsafe(numbering, loop)) if loop else numbering)


async def _run_in_transaction(
    engine: AsyncEngine, number_table: Callable[[Connection], NumberingReport]
) -> NumberingReport:
    async with engine.begin() as connection:
        return await connection.run_sync(number_table)


def _numbering_task(
    vectorstore: AnyPostgres, keys: MetadataKeys | None, trust_insertion_order: bool
) -> Callable[[Connection], NumberingReport]:
    if not isinstance(vectorstore, (PGVectorStore, AsyncPGVectorStore, PGVector)):
        raise ConfigError("vectorstore", "a PGVectorStore, AsyncPGVectorStore or PGVector", vectorstore)
    keys = MetadataKeys() if keys is None else keys
    stored_chunks = (
        _stored_collection(vectorstore, keys) if isinstance(vectorstore, PGVector) else _stored_table(vectorstore, keys)
    )
    for names in (keys.document_id, keys.index):
        stored_chunks.key_to_write(names)
    return partial(number_rows, chunk_table=stored_chunks, trust_insertion_order=trust_insertion_order)


def _stored_table(vectorstore: PGVectorStore | AsyncPGVectorStore, keys: MetadataKeys) -> StoredChunks:
    store = unwrap(vectorstore)
    json = store.metadata_json_column or None
    columns = dict.fromkeys((store.id_column, *store.metadata_columns))
    table = build_table(store.table_name, store.schema_name, columns, json)
    return StoredChunks(table, store.id_column, json, frozenset(store.metadata_columns), keys)


def _stored_collection(vectorstore: PGVector, keys: MetadataKeys) -> StoredChunks:
    chunks, collections = vectorstore.EmbeddingStore, vectorstore.CollectionStore
    orm_table = cast(Table, chunks.__table__)  # an index on it would be made with every table of theirs
    table = build_table(orm_table.name, orm_table.schema, ("id", "collection_id"), "cmetadata", JSONB)
    collection_id = select(collections.uuid).where(collections.name == vectorstore.collection_name).scalar_subquery()
    return StoredChunks(table, "id", "cmetadata", frozenset(), keys, table.c["collection_id"] == collection_id)
