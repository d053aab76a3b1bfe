"""A taxonomy out of two tables: one of nodes, one of relations between them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from sqlalchemy import CompoundSelect, Row, Text, func, literal, select, union_all

from ctxassembly.data.validation import check_positive
from ctxassembly.errors import ConfigError, StoreError
from ctxassembly.retrieval.taxonomy import Taxonomy
from ctxassembly.stores.postgres.connection import Server, query_rows, server_url
from ctxassembly.stores.postgres.table import build_table, check_name

EF_SEARCH = 200
"""The default of an index, so that both share a pool of connections."""
_REQUIRED_COLUMNS = {"nodes": frozenset({"id", "type", "name"}), "relations": frozenset({"source", "type", "target"})}
_NODE_COLUMNS = _REQUIRED_COLUMNS["nodes"] | {"aliases", "metadata"}


def read_taxonomy(
    url: str,
    nodes: str = "taxonomy_nodes",
    relations: str = "taxonomy_relations",
    *,
    schema: str = "public",
    timeout_seconds: float = 10.0,
    **settings: Any,
) -> Taxonomy:
    """Read a taxonomy from two tables or views, in their current state. One round trip.

        CREATE TABLE taxonomy_nodes (id text PRIMARY KEY, type text, name text, aliases text[], campus text);
        CREATE TABLE taxonomy_relations (source text, type text, target text);

        taxonomy = read_taxonomy("postgresql://localhost/docs", type_words={"doctor": ("doctors", "who")})
        retrieve("Which doctors work in Cardiology?", index=index, embed=embeddings, taxonomy=taxonomy)

    Args:
        url: of the database, for any driver; psycopg connects.
        nodes: the name of the table with columns `id`, `type` and `name`, and maybe `aliases` (an array of texts, or
            one of JSON) and `metadata` (a JSON object). Other columns are metadata, too, but for their NULLs. A table
            that has other names for these is read through a view.
        relations: the name of the table with columns `source`, `type` and `target`.
        schema: the schema of both.
        timeout_seconds: for the wait for a connection and the answer.
        settings: the settings of `Taxonomy`: `name`, `triggered_by`, `type_words`, `lists`, `statements`.

    Raises:
        ConfigError: there is no such table, a column is missing, or the rows make no taxonomy.
        TimeoutError: the database didn't answer in time.
    """
    check_positive("timeout_seconds", timeout_seconds)
    statement = _statement(nodes, relations, schema)
    try:
        found = query_rows(Server(server_url(url), EF_SEARCH), (statement, {}), timeout_seconds)
    except StoreError as error:
        from psycopg import ProgrammingError

        if not isinstance(error.__cause__, ProgrammingError):
            raise
        allowed = "tables or views that this user may read"
        raise ConfigError("nodes and relations", allowed, str(error.__cause__).strip()) from error
    return _build_taxonomy(found, settings)


def _statement(nodes: str, relations: str, schema: str) -> CompoundSelect[Any]:
    """Return one statement for all rows of both tables as JSON, in a stable order, so that it reads one state."""
    check_name("schema", schema)
    kinds = {"nodes": check_name("nodes", nodes), "relations": check_name("relations", relations)}
    selects = []
    for kind, name in kinds.items():
        source = build_table(name, schema).alias(kind)
        selects.append(select(literal(kind, Text).label("kind"), func.to_jsonb(source.table_valued()).label("entry")))
    return union_all(*selects).order_by("kind", "entry")


def _build_taxonomy(found: Iterable[Row[Any]], settings: Mapping[str, Any]) -> Taxonomy:
    """Build the taxonomy from rows of kind and entry."""
    entries: dict[str, list[dict[str, Any]]] = {"nodes": [], "relations": []}
    for kind, entry in found:
        if missing := _REQUIRED_COLUMNS[kind] - entry.keys():
            allowed = f"a table with columns {', '.join(sorted(_REQUIRED_COLUMNS[kind]))}"
            raise ConfigError(kind, allowed, sorted(missing))
        entries[kind].append(_node(entry) if kind == "nodes" else _with_text_ids(entry, "source", "target"))
    return Taxonomy.from_dict(entries, **settings)


def _node(entry: Mapping[str, Any]) -> dict[str, Any]:
    metadata = entry.get("metadata") or {}
    if not isinstance(metadata, Mapping):
        raise ConfigError("metadata", "a JSON object", metadata)
    more = {key: value for key, value in entry.items() if key not in _NODE_COLUMNS and value is not None}
    own = {key: entry[key] for key in _REQUIRED_COLUMNS["nodes"]}
    return {**_with_text_ids(own, "id"), "aliases": entry.get("aliases") or (), "metadata": {**more, **metadata}}


def _with_text_ids(entry: Mapping[str, Any], *ids: str) -> dict[str, Any]:
    """Return `entry` with ids as text; in a database they may be numbers."""
    return {**entry, **{key: str(entry[key]) for key in ids if entry[key] is not None}}
