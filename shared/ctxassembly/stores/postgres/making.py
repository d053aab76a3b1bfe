"""Tables made ready for an index: new ones, those that a framework made, and both after chunks were written."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ctxassembly.data.checks import check_int
from ctxassembly.data.keys import MetadataKeys
from ctxassembly.errors import ConfigError
from ctxassembly.stores.postgres import attached, neighbours
from ctxassembly.stores.postgres.catalog import Described, connected, described, execute, locked
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
from ctxassembly.warned import warn, with_remedy

if TYPE_CHECKING:
    from psycopg import Connection

_ANALYSED_AT = 10
"""Statistics are made anew once a tenth of the rows has changed, as autovacuum does it a minute later."""


def created(
    url: Any, table: str, schema: str, fields: Fields, *, dimensions: int, ef_search: int
) -> tuple[Server, IndexedTable]:
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
    server = _server(url, ef_search)
    with connected(server) as connection:
        extensions = _with_extensions(connection, home)
        home = replace(home, has_trigrams="pg_trgm" in extensions)
        found = described(connection, schema, table)
        home = replace(home, has_notes=found.has_notes or not found.exists)
        if _own_missing(connection, home, fields):
            with locked(connection, full_name(home)):
                execute(connection, _own_missing(connection, home, fields))
        return server, _readable(home, described(connection, schema, table))


def _own_missing(connection: Connection[Any], home: IndexedTable, fields: Fields) -> list[Step]:
    found = described(connection, home.schema, home.name)
    _check_made_alike(home, found, fields)
    table = [] if found.exists else [new_table(home, fields)]
    return [*table, *lexemes_missing(home, found)]


def attached_to(
    vectorstore: Any, fields: Fields, keys: MetadataKeys, *, hnsw: bool, ef_search: int, dry_run: bool
) -> tuple[Server, IndexedTable, Plan]:
    """A vector store's table, and what it still needed; with `dry_run` what it needs."""
    url, home = attached.located(vectorstore)
    server = _server(url, ef_search)

    def planned() -> tuple[Described, IndexedTable, Plan]:
        found = described(connection, home.schema, home.name)
        whole = attached.completed(home, found)
        _check_language(found, fields)
        return found, whole, attached.missing(whole, found, fields, keys, hnsw=hnsw)

    with connected(server) as connection:
        found, whole, plan = planned()
        if dry_run:
            return server, whole, plan
        if plan.steps and not found.is_owned:
            allowed = "one whose table this user owns; attach(..., dry_run=True) prints what its owner has to run"
            raise ConfigError("vectorstore", allowed, full_name(home))
        if plan.steps:
            with locked(connection, full_name(home)):
                # Another process may have done it while this one waited.
                execute(connection, planned()[-1].steps)
            found, whole, _ = planned()
    if not whole.has_trigrams:
        _warn_of_no_near_words()
    return server, _readable(whole, found), plan


def settle(connection: Connection[Any], home: IndexedTable, changed: int) -> None:
    """Do what is due after `changed` rows were written: an index of the vectors, and statistics."""
    with locked(connection, full_name(home)):
        execute(connection, _due(connection, home, changed))


def _due(connection: Connection[Any], home: IndexedTable, changed: int) -> list[Step]:
    steps: list[Step] = []
    found = described(connection, home.schema, home.name)
    if not found.has_hnsw:
        steps += vectors_indexed(home, concurrently=False)
    known = connection.execute("SELECT reltuples FROM pg_class WHERE oid = %s::regclass", (full_name(home),)).fetchone()
    if changed and known and changed * _ANALYSED_AT >= max(known[0], 0):
        if found.version >= 150_000:
            # What this connection wrote counts as changed from now on, not from after the ANALYZE on.
            steps.append(Step("SELECT pg_stat_force_next_flush()"))
        steps += [analysed(home), shares_known(home)]
    if changed:
        steps += lists_emptied(home)
    return steps


def refresh(connection: Connection[Any], home: IndexedTable) -> None:
    """Make statistics and the table of words anew."""
    with locked(connection, full_name(home)):
        execute(connection, [analysed(home), *lexemes_refreshed(home)])


def _server(url: Any, ef_search: int) -> Server:
    check_int("ef_search", ef_search, 1, 1000)
    return Server(server_url(url), ef_search)


def _with_extensions(connection: Any, home: IndexedTable) -> frozenset[str]:
    """The extensions that there are, once those that are needed were created.

    Raises:
        ConfigError: there is no pgvector, and it can't be created.
    """
    from psycopg import errors

    def there() -> frozenset[str]:
        return described(connection, home.schema, home.name).extensions

    refused = (errors.InsufficientPrivilege, errors.FeatureNotSupported, errors.UndefinedFile, errors.InternalError)
    for name in ("vector", "pg_trgm"):
        if name in there():
            continue
        try:
            with locked(connection, "extensions"):
                execute(connection, [Step(f"CREATE EXTENSION IF NOT EXISTS {name}")])
        except refused as error:
            if name == "vector":
                raise ConfigError("url", "of a database with pgvector: CREATE EXTENSION vector", str(error)) from error
            _warn_of_no_near_words()
    return there()


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
    if fields.language.rpartition(".")[2] not in found.languages and "." not in fields.language:
        known = ", ".join(sorted(found.languages))
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
