"""Tables made ready for an index: new ones, those that a framework made, and both after chunks were written."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from ctxassembly.data.metadata_keys import MetadataKeys
from ctxassembly.data.validation import check_int
from ctxassembly.errors import ConfigError
from ctxassembly.stores.postgres import attached, neighbours
from ctxassembly.stores.postgres.catalog import Described, described
from ctxassembly.stores.postgres.engines import Server, server_url
from ctxassembly.stores.postgres.lexemes import lexemes_missing, lexemes_name, lexemes_refreshed, shares_known
from ctxassembly.stores.postgres.schema import (
    Fields,
    Plan,
    Step,
    analysed,
    full_name,
    lists_emptied,
    mark,
    new_table,
    vectors_indexed,
)
from ctxassembly.stores.postgres.table import MOST_INDEXED, OWN_COLUMNS, IndexedTable
from ctxassembly.stores.postgres.upkeep import Upkeep, upkeep
from ctxassembly.user_warnings import warn, with_remedy

if TYPE_CHECKING:
    from psycopg import Connection

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
        whole = attached.completed(home, found)
        _check_language(found, wanted.fields)
        return found, whole, attached.missing(whole, found, *wanted[:2], hnsw=wanted.hnsw)

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
    if found.types.keys() < {*neighbours.OWN, home.embedding, "content_hash"}:
        raise ConfigError("table", "a new one, or one that PostgresIndex.create made", home.name)
    made = (found.dimensions[home.embedding], found.words_of)
    if made != (home.dimensions, mark(home, fields)):
        raise ConfigError(
            "dimensions, language, title and questions",
            f"those of the table that is there ({made[0]}, {made[1]})",
            f"{home.dimensions}, {fields}",
        )
