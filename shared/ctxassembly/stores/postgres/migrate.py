"""Tables made ready for an index: new ones, those that a framework made, and both after chunks were written."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from ctxassembly.data.chunk_origin import origin_in
from ctxassembly.data.chunks import Chunk
from ctxassembly.data.metadata_keys import MetadataKeys
from ctxassembly.data.validation import check_int
from ctxassembly.errors import ConfigError, InputError
from ctxassembly.safe_repr import as_name, shown
from ctxassembly.stores.postgres import columns
from ctxassembly.stores.postgres.catalog import Described, described
from ctxassembly.stores.postgres.connection import Server, server_url
from ctxassembly.stores.postgres.maintenance import Upkeep, upkeep
from ctxassembly.stores.postgres.schema import (
    Fields,
    Plan,
    Step,
    added_words,
    analysed,
    dropped,
    full_name,
    lists_emptied,
    mark,
    new_table,
    place_indexed,
    vectors_indexed,
    words_indexed,
)
from ctxassembly.stores.postgres.table import MOST_INDEXED, OWN_COLUMNS, TSV, IndexedTable, shortened
from ctxassembly.stores.postgres.vocabulary import lexemes_missing, lexemes_name, lexemes_refreshed, shares_known
from ctxassembly.user_warnings import warn, with_remedy

if TYPE_CHECKING:
    from psycopg import Connection

# ruff: noqa: SLF001  what is private here has no public name: the store inside a PGVectorStore, LlamaIndex's table


_SOURCE, _PREVIOUS, _NEXT, _PARENT = "1", "2", "3", "4"
"""Relationships of a node, as LlamaIndex writes them."""


class Attached(NamedTuple):
    """The table in which a vector store keeps its chunks."""

    url: Any
    home: IndexedTable
    """Taken from the vector store itself."""


def located(vectorstore: Any) -> Attached:
    """The table of a vector store.

    Raises:
        InputError: it isn't one that keeps a table in PostgreSQL.
    """
    inner = getattr(vectorstore, "_PGVectorStore__vs", vectorstore)
    if hasattr(inner, "metadata_json_column") and hasattr(inner, "id_column"):
        return Attached(
            inner.engine.url,
            IndexedTable(
                name=inner.table_name,
                schema=inner.schema_name,
                key=inner.id_column,
                id=inner.id_column,
                content=inner.content_column,
                embedding=inner.embedding_column,
                metadata=inner.metadata_json_column,
                columns=dict.fromkeys(inner.metadata_columns, ""),
            ),
        )
    if hasattr(inner, "_table_class") and hasattr(inner, "embed_dim"):
        inner._initialize()  # the table is made on first use
        table = inner._table_class.__table__
        home = IndexedTable(
            name=table.name,
            schema=table.schema,
            key="id",
            id="node_id",
            content="text",
            embedding="embedding",
            metadata="metadata_",
            dialect="llamaindex",
        )
        return Attached(inner._engine.url, home)
    raise InputError(
        "vectorstore must be a PGVectorStore or AsyncPGVectorStore of langchain-postgres, or a PGVectorStore of "
        f"llama-index-vector-stores-postgres, got {shown(vectorstore)}; PostgresIndex.create() makes a table of its own"
    )


def completed(home: IndexedTable, found: Described) -> IndexedTable:
    """`home` with the types that the database gives.

    Raises:
        ConfigError: there is no such table, or its embeddings are of no type of pgvector.
    """
    if not found.exists:
        raise ConfigError("vectorstore", "one whose table exists", full_name(home))
    if not found.is_plain:
        raise ConfigError("vectorstore", "one of an ordinary table: no view, no partitions", full_name(home))
    kind = found.types.get(home.embedding)
    if kind not in ("vector", "halfvec"):
        raise ConfigError("vectorstore", f"one whose {home.embedding!r} is a vector or halfvec of pgvector", kind)
    return replace(
        home,
        columns={name: found.types[name] for name in home.columns if name in found.types},
        is_jsonb=home.metadata is None or found.types.get(home.metadata) == "jsonb",
        vector_type=kind,
        dimensions=found.dimensions[home.embedding],
        has_trigrams="pg_trgm" in found.extensions,
        has_notes=found.has_notes,
        reads_lexemes=found.reads_lexemes,
    )


def missing(home: IndexedTable, found: Described, fields: Fields, keys: MetadataKeys, *, hnsw: bool) -> Plan:
    """The statements that a framework's table still needs.

    Raises:
        ConfigError: its words were indexed otherwise before.
    """
    steps: list[Step] = []
    notes: list[str] = []
    if TSV not in found.types:
        steps += added_words(home, fields, found.version)
    elif found.words_of != mark(home, fields):
        raise ConfigError(
            "language, title and questions",
            f"what the table was indexed with ({found.words_of}); "
            f"to change that: ALTER TABLE {full_name(home)} DROP COLUMN {TSV}",
            str(fields),
        )
    own = [name for name in found.invalid if name in _names(home)]
    steps += dropped(home, own)
    steps += _new(words_indexed(home), found)
    place = _place(home, keys)
    if place:
        steps += [] if found.has_index_on(*place) else _new(place_indexed(home, *place), found)
    elif home.dialect == "mapping":
        notes.append("no columns of document and place: number_stored_chunks(vectorstore) makes an index of the JSON")
    if hnsw and not found.has_hnsw:
        steps += vectors_indexed(home, concurrently=True)
    if not found.has_hnsw and not (hnsw and home.can_have_hnsw):
        notes.append(f"no HNSW index: vectors are compared one by one, exactly; {hnsw_remedy(home)}")
    if steps:
        steps.append(analysed(home))
    steps += lexemes_missing(home, found)
    if not home.has_trigrams:
        notes.append("no near words for words that no chunk has: CREATE EXTENSION pg_trgm, then attach again")
    if found.has_policies and found.unread_by:
        notes.append(
            f"row-level security: {lexemes_name(home)} has the words of all rows, so its owner alone reads it; "
            "others find no near words for words that no chunk has"
        )
    return Plan(tuple(steps), tuple(notes))


def hnsw_remedy(home: IndexedTable) -> str:
    """The way to an HNSW index."""
    if home.can_have_hnsw:
        return "attach(..., hnsw=True) makes one"
    return f"it takes a column of up to {MOST_INDEXED['halfvec']:,} dimensions, the same for all rows"


def _names(home: IndexedTable) -> set[str]:
    return {shortened(home.name, f"ctxassembly_{ending}") for ending in ("tsv", "place", "hnsw")}


def _new(steps: Iterator[Step], found: Described) -> list[Step]:
    return [step for step in steps if step.name not in found.indexes]


def _place(home: IndexedTable, keys: MetadataKeys) -> tuple[str, str] | None:
    """The columns of document and place; None if one isn't there."""
    document = next((name for name in keys.document_id if name in home.columns), None)
    index = next((name for name in keys.index if name in home.columns), None)
    return (document, index) if document and index else None


def langchain_chunk(id_: Any, text: str, metadata: Mapping[str, Any], keys: MetadataKeys) -> Chunk:
    """The chunk in a row of LangChain's. Without an index its offset counts in the page or section that it names."""
    document, index = keys.document_of(metadata), keys.read(metadata, "index")
    return Chunk(
        id=str(id_),
        document_id=as_name(document) or str(id_),
        text=text,
        index=index,
        start=keys.read(metadata, "start"),
        metadata=metadata,
        origin=origin_in(metadata, keys) if index is None else None,
    )


def llamaindex_chunk(id_: Any, text: str, metadata: Mapping[str, Any], keys: MetadataKeys) -> Chunk:
    """The chunk in a row of LlamaIndex's: a node as JSON in the metadata, whose own they are."""
    try:
        node = json.loads(metadata.get("_node_content") or "{}")
    except (TypeError, ValueError):
        node = {}
    node = node if isinstance(node, dict) else {}
    inner = node.get("metadata")
    own: Mapping[str, Any] = inner if isinstance(inner, dict) else metadata
    source, before, after = (_related(node, kind) for kind in (_SOURCE, _PREVIOUS, _NEXT))
    document = source or keys.document_of(own)
    # With a parent the offset counts in that one's text, which isn't at hand here.
    start = None if _related(node, _PARENT) else node.get("start_char_idx")
    return Chunk(
        id=str(id_),
        document_id=as_name(document) or str(id_),
        text=text,
        index=keys.read(own, "index"),
        start=start,
        prev_id=before,
        next_id=after,
        metadata=own,
        unread=frozenset(key for key in node.get("excluded_llm_metadata_keys") or () if isinstance(key, str)),
    )


def _related(node: Mapping[str, Any], kind: str) -> str | None:
    related = node.get("relationships")
    one = related.get(kind) if isinstance(related, dict) else None
    name = one.get("node_id") if isinstance(one, dict) else None
    return name if isinstance(name, str) else None


_ANALYSED_AT = 10
"""Statistics are made anew once a tenth of the rows has changed, as autovacuum does it a minute later."""


def created(
    server: Server, table: str, schema: str, fields: Fields, *, dimensions: int, seconds: float
) -> IndexedTable:
    """A table of our own, made if it isn't there."""
    check_int("dimensions", dimensions, 1, 16_000)
    kind = "vector" if dimensions <= MOST_INDEXED["vector"] else "halfvec"
    home = IndexedTable(
        name=table,
        schema=schema,
        key="id",
        id="id",
        content="content",
        embedding="embedding",
        metadata="metadata",
        columns=OWN_COLUMNS,
        vector_type=kind,
        dimensions=dimensions,
        is_own=True,
    )
    with upkeep(server, seconds) as work:
        _make_extensions(work, home)
        found = work.described(home)
        trigrams = "pg_trgm" in found.extensions
        home = replace(home, has_trigrams=trigrams, has_notes=found.has_notes or not found.exists)
        if _own_missing(found, home, fields):
            work.patiently(full_name(home), partial(_make, work.connection, home, fields), in_turn=True)
        return _readable(home, work.described(home))


def _make(connection: Connection[Any], home: IndexedTable, fields: Fields) -> None:
    """Make what is missing. Another process may have done it while this one waited."""
    found = described(connection, home.schema, home.name)
    for step in _own_missing(found, home, fields):
        connection.execute(step.sql.encode())


def _own_missing(found: Described, home: IndexedTable, fields: Fields) -> list[Step]:
    _check_made_alike(home, found, fields)
    table = [] if found.exists else [new_table(home, fields)]
    return [*table, *lexemes_missing(home, found)]


class Wanted(NamedTuple):
    """What a vector store's table shall have."""

    fields: Fields
    keys: MetadataKeys
    hnsw: bool


def attached_to(
    server: Server, home: IndexedTable, wanted: Wanted, *, dry_run: bool, seconds: float
) -> tuple[IndexedTable, Plan]:
    """A vector store's table, and what it still needed; with `dry_run` what it needs."""

    def planned() -> tuple[Described, IndexedTable, Plan]:
        found = work.described(home)
        whole = completed(home, found)
        _check_language(found, wanted.fields)
        return found, whole, missing(whole, found, *wanted[:2], hnsw=wanted.hnsw)

    with upkeep(server, seconds) as work:
        found, whole, plan = planned()
        if dry_run:
            return whole, plan
        if plan.steps and not found.is_owned:
            allowed = "one whose table this user owns; attach(..., dry_run=True) prints what its owner has to run"
            raise ConfigError("vectorstore", allowed, full_name(home))
        if plan.steps:
            with work.turn(full_name(home)):
                # Another process may have done it while this one waited.
                work.execute(full_name(home), planned()[-1].steps)
            found, whole, _ = planned()
    if not whole.has_trigrams:
        _warn_of_no_near_words()
    return _readable(whole, found), plan


def settle(work: Upkeep, home: IndexedTable, changed: int) -> None:
    """Do what is due after `changed` rows were written: an index of the vectors, and statistics."""
    _execute_in_turn(work, home, _due(work, home, changed))


def _execute_in_turn(work: Upkeep, home: IndexedTable, steps: Iterable[Step]) -> None:
    """Execute each of `steps` in a transaction of its own: a lock in the way of one costs no work on another."""
    for step in steps:
        work.patiently(full_name(home), partial(work.connection.execute, step.sql.encode()), in_turn=True)


def _due(work: Upkeep, home: IndexedTable, changed: int) -> list[Step]:
    steps: list[Step] = []
    found = work.described(home)
    if not found.has_hnsw:
        steps += vectors_indexed(home, concurrently=False)
    known = work.connection.execute(
        "SELECT reltuples FROM pg_class WHERE oid = %s::regclass", (full_name(home),)
    ).fetchone()
    if changed and known and changed * _ANALYSED_AT >= max(known[0], 0):
        steps += [analysed(home), shares_known(home)]
    if changed:
        steps += lists_emptied(home)
    return steps


def refresh(work: Upkeep, home: IndexedTable) -> None:
    """Make statistics and the table of words anew."""
    _execute_in_turn(work, home, [analysed(home), *lexemes_refreshed(home)])


def server_of(url: Any, ef_search: int) -> Server:
    """The server of a URL for any driver.

    Raises:
        ConfigError: it is no such URL, or `ef_search` is out of range.
    """
    check_int("ef_search", ef_search, 1, 1000)
    return Server(server_url(url), ef_search)


def _make_extensions(work: Upkeep, home: IndexedTable) -> None:
    """Create the extensions that are needed.

    Raises:
        ConfigError: there is no pgvector, and it can't be created.
    """
    from psycopg import errors

    refused = (errors.InsufficientPrivilege, errors.FeatureNotSupported, errors.UndefinedFile, errors.InternalError)
    for name in ("vector", "pg_trgm"):
        if name in work.described(home).extensions:
            continue
        try:
            made = f"CREATE EXTENSION IF NOT EXISTS {name}".encode()
            work.patiently("extensions", partial(work.connection.execute, made), in_turn=True)
        except refused as error:
            if name == "vector":
                raise ConfigError("url", "of a database with pgvector: CREATE EXTENSION vector", str(error)) from error
            _warn_of_no_near_words()


def _readable(home: IndexedTable, found: Described) -> IndexedTable:
    """`home`, with a warning if the user may not read its words. With policies that is as it should be."""
    if not found.reads_lexemes and not found.has_policies:
        table = lexemes_name(home)
        warn(
            with_remedy(
                f"This user may not read {table[:60]}: searches take longer, and misspelled words find nothing",
                f"GRANT SELECT ON {table}, or PostgresIndex.attach or create by its owner",
            )
        )
    return replace(home, reads_lexemes=found.reads_lexemes)


def _warn_of_no_near_words() -> None:
    warn(with_remedy("There is no pg_trgm: misspelled words find nothing", "CREATE EXTENSION pg_trgm"))


def _check_language(found: Described, fields: Fields) -> None:
    if fields.language not in found.languages:
        known = ", ".join(sorted(name for name in found.languages if not name.startswith("pg_catalog.")))
        raise ConfigError("language", f"a text search configuration of this database ({known})", fields.language)


def _check_made_alike(home: IndexedTable, found: Described, fields: Fields) -> None:
    _check_language(found, fields)
    if not found.exists:
        return
    if found.types.keys() < {*columns.OWN, home.embedding, "content_hash"}:
        raise ConfigError("table", "a new one, or one that PostgresIndex.create made", home.name)
    made = (found.dimensions[home.embedding], found.words_of)
    if made != (home.dimensions, mark(home, fields)):
        raise ConfigError(
            "dimensions, language, title and questions",
            f"those of the table that is there ({made[0]}, {made[1]})",
            f"{home.dimensions}, {fields}",
        )
