"""An index's needs in the database: tables of its own are created, and those that a framework made completed.

The words of a chunk are kept in a generated column, so that no writer has to know of it:

- `coalesce` around each part, since a chunk without questions would have no words at all: text || NULL is NULL;
- STORAGE MAIN, which keeps the words in the row. Elsewhere each access fetches them again: 5 to 9 times the time;
- statistics at 1,000, which keep the 10,000 commonest words with their shares: the weights of words come from there;
- title, questions and content by `setweight`, so that what they weigh is for the query to say;
- every two adjacent characters as a word in scripts without spaces, unless the language has a parser of its own.

The table of lexemes has every word that a chunk has or had, and the shares of the common ones. All users who may read
the chunks may read it, since a query looks up its words there. Its policy hides its rows from those whom row-level
security keeps from some chunks, also if that was switched on later: the words come from all rows. Then a query counts
its words under the policies, and finds no similar ones.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import sqlalchemy as sa

from ctxassembly.data.metadata_keys import MetadataKeys
from ctxassembly.errors import ConfigError, InputError
from ctxassembly.safe_repr import safe_repr
from ctxassembly.stores.postgres.lookup import CHUNK_COLUMNS, langchain_table
from ctxassembly.stores.postgres.maintenance import MaintenanceConnection, Step
from ctxassembly.stores.postgres.table import (
    CONTEXT,
    EXTRAS,
    MAX_DIMENSIONS,
    NOTES,
    OWN_COLUMNS,
    QUESTIONS,
    ROW_ESTIMATE,
    TITLE,
    TSV,
    WITH_NOTES,
    IndexedTable,
    TableInfo,
    derived_name,
    members_sql,
    quoted_name,
    text_literal,
    title_beginning,
)
from ctxassembly.stores.simple_words import FieldKeys, key_tuple
from ctxassembly.text.words import UNSPACED, WIDE_LETTERS, WIDE_MARKS

# ruff: noqa: SLF001  what is private here has no public name: the store inside a PGVectorStore, LlamaIndex's table

ANALYZE_DIVISOR = 10
"""Statistics are updated once a tenth of the rows has changed, as autovacuum does it a minute later."""
MAX_INDEXED_CHARS = 200_000
"""Maximum of indexed characters of each part: a `tsvector` of more than 1 MB fails, and the row would be lost."""
_SHORT_LIST = "WITH (gin_pending_list_limit = 256)"
"""The last writes to a GIN index lie in a list, which every search reads from end to end: 256 kB of it, not 4 MB."""
_BEGIN, _END = "\uff08", "\uff09"
"""Marks around a run: two of `WIDE_MARKS`, so that the text has none when they are written."""
_LANGUAGE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*)?")


@dataclass(frozen=True)
class Plan:
    """The statements that a table still needs. Printed, it is SQL."""

    steps: tuple[Step, ...]

    def __str__(self) -> str:
        lines = (f"-- {step.note}\n{step.sql};" if step.note else f"{step.sql};" for step in self.steps)
        return "\n".join(lines) or "-- nothing is missing"


class WordFields(NamedTuple):
    """The sources of a chunk's words besides its text."""

    language: str
    title: str | None
    questions: FieldKeys

    def __str__(self) -> str:
        """Return the beginning of the column's mark, which identifies it later."""
        questions = " or ".join(key_tuple(self.questions)) or None
        return f"ctxassembly: {self.language}, title={self.title}, questions={questions}"


def check_fields(fields: WordFields) -> WordFields:
    """Return `fields` after checking that PostgreSQL can hold their names.

    Raises:
        ConfigError: the language is no name of a text search configuration, or a key is empty.
    """
    if not isinstance(fields.language, str) or not _LANGUAGE.fullmatch(fields.language):
        raise ConfigError("language", "the name of a text search configuration, such as 'simple'", fields.language)
    keys = key_tuple(fields.questions) if isinstance(fields.questions, (tuple, type(None))) else (fields.questions,)
    for name, key in (("title", fields.title), *(("questions", key) for key in keys)):
        if key is not None and (not isinstance(key, str) or not key or "\0" in key):
            raise ConfigError(name, "a metadata key or None", key)
    return fields


def words_mark(table: IndexedTable, fields: WordFields) -> str:
    """Return the mark of the column of words."""
    return f"{fields}{WITH_NOTES if table.has_notes else ''}"


def words_expression(table: IndexedTable, fields: WordFields) -> str:
    """Return the expression for the words of a chunk."""

    def part(text: str, weight: str) -> str:
        limited = f"left(coalesce({text}, ''), {MAX_INDEXED_CHARS})"
        limited = separate_sql(limited, MAX_INDEXED_CHARS) if table.has_pairs else limited
        return f"setweight(to_tsvector({text_literal(fields.language)}::regconfig, {limited}), '{weight}')"

    notes = [part(QUESTIONS, "B"), part(CONTEXT, "C")] if table.has_notes else []
    parts = ((key_tuple(fields.title), "A"), (key_tuple(fields.questions), "B"))
    field_parts = [part(text, weight) for keys, weight in parts if (text := _first_of(table, keys))]
    return " || ".join([*field_parts, *notes, part(quoted_name(table.content), "D")])


def separate_sql(text: str, max_chars: int) -> str:
    """Return the SQL expression for `separate_unspaced`, cut to `max_chars`; `text` is an expression of type text.

    `to_tsvector` takes a run of characters of a script without spaces for one word. Regular expressions make each
    character two with a blank between: a run of A, B and C becomes `A AB BC C`. Then the single characters at its ends
    go, unless the run is one character. Nothing looks back or ahead, so the time is linear: .5 µs for each character of
    such a script, about as much as an index of words takes. Other text is only looked through. The words have to be
    those that `separate_unspaced` finds in a query.
    """
    plain = f'({text}) COLLATE "C"'  # the column's collation may be one that takes no regular expressions
    unspaced = in_ascii(UNSPACED)
    separated = f"normalize({replace_sql(plain, f'[{in_ascii(WIDE_MARKS)}]', ' ')}, NFKC)"
    for pattern, replacement in (
        (f"([{unspaced}]+)", rf" {_BEGIN}\1{_END} "),
        (f"([{unspaced}])", r"\1 \1"),
        (f"{_BEGIN}(.) .{_END}|{_BEGIN}. | .{_END}", r" \1 "),
    ):
        separated = replace_sql(separated, pattern, replacement)
    needs_separation = f"{plain} ~ {text_literal(f'[{unspaced}{in_ascii(WIDE_LETTERS)}]')}"
    return f"CASE WHEN {needs_separation} THEN left({separated}, {max_chars}) ELSE {text} END"


def replace_sql(text: str, pattern: str, replacement: str) -> str:
    """Return the SQL expression that replaces all that `pattern` matches in `text`, an expression of type text."""
    return f"regexp_replace({text}, {text_literal(pattern)}, {text_literal(replacement)}, 'g')"


def in_ascii(ranges: str) -> str:
    r"""Return ranges of characters in ASCII, as a regular expression of PostgreSQL has them.

    >>> print(in_ascii("\u6c34-\u6c35"))
    \u6c34-\u6c35
    """
    return ranges.encode("ascii", "backslashreplace").decode()


def _first_of(table: IndexedTable, keys: Sequence[str]) -> str | None:
    """Return the text under the first of `keys` that a row has; None if there is no place for any."""
    found = [text for key in keys if (text := _key_expression(table, key))]
    return f"coalesce({', '.join(found)})" if len(found) > 1 else "".join(found) or None


def _key_expression(table: IndexedTable, key: str) -> str | None:
    """Return the text under `key`, as a whole or as a dotted path (`get_path`); None if there is no place for it.

    The first part of a path may be a column of JSON.
    """
    if key in table.columns:
        return f"{quoted_name(key)}::text"
    steps = key.split(".")
    paths = [[*steps[:at], ".".join(steps[at:])] for at in range(len(steps))]
    found = [] if table.metadata is None else [_json_text(table.metadata, path) for path in paths]
    if table.columns.get(steps[0]) in ("json", "jsonb"):
        found += [_json_text(steps[0], path[1:]) for path in paths[1:]]
    return f"coalesce({', '.join(found)})" if len(found) > 1 else "".join(found) or None


def _json_text(column: str, path: Sequence[str]) -> str:
    *parents, last = map(text_literal, path)
    return f"({' -> '.join((quoted_name(column), *parents))} ->> {last})"


def create_table_step(table: IndexedTable, fields: WordFields, partitions: int | None) -> Step:
    """Return the step that creates our own table; the index on vectors comes later, which is faster."""
    key, partition_sql, partition_steps = "id", "", []
    if partitions:
        # A unique index of a partitioned table has to include what it is partitioned by.
        key, partition_sql = "id, document_id", " PARTITION BY HASH (document_id)"
        names = (quoted_name(derived_name(table.name, f"p{at}")) for at in range(partitions))
        partition_steps = [
            f"CREATE TABLE {quoted_name(table.schema)}.{name} PARTITION OF {table.full_name}"
            f" FOR VALUES WITH (MODULUS {partitions}, REMAINDER {at})"
            for at, name in enumerate(names)
        ]
    vector = f"{table.vector_type}({table.dimensions})"
    texts = "".join(f"  {name} text,\n" for name in (*NOTES, TITLE))
    create_sql = (
        f"CREATE TABLE IF NOT EXISTS {table.full_name} (\n"
        "  id text NOT NULL,\n  document_id text NOT NULL,\n  chunk_index bigint,\n  start_index bigint,\n"
        "  prev_id text,\n  next_id text,\n  content text NOT NULL,\n  metadata jsonb NOT NULL DEFAULT '{}',\n"
        f"  {EXTRAS} jsonb NOT NULL DEFAULT '{{}}',\n"
        f"  content_hash text NOT NULL,\n  embedding {vector},\n{texts}"
        f"  {TSV} tsvector GENERATED ALWAYS AS ({words_expression(table, fields)}) STORED,\n"
        f"  PRIMARY KEY ({key})\n){partition_sql}"
    )
    titles_on = f"({title_beginning(sa.literal_column(TITLE))})"
    index_steps = (
        _index_step(table, "tsv", f"USING gin ({TSV}) {_SHORT_LIST}", concurrently=False),
        _index_step(table, "place", "(document_id, chunk_index)", concurrently=False),
        _index_step(table, "metadata", f"USING gin (metadata jsonb_path_ops) {_SHORT_LIST}", concurrently=False),
        _index_step(table, "titles", titles_on, concurrently=False),
    )
    # One statement, so one transaction: nobody ever finds the table without its mark or an index.
    settings = (f"ALTER TABLE {table.full_name} {', '.join(_column_settings())}", _comment_sql(table, fields))
    return Step(";\n".join((create_sql, *partition_steps, *settings, *(step.sql for step in index_steps))))


def words_column_step(table: IndexedTable, fields: WordFields, *also: str) -> Step:
    """Return the step that adds the column of words to a table, in the place of an older one, and does what is `also`.

    One statement, so one transaction: nobody ever finds the column without its mark.
    """
    actions = (
        *(*also, f"DROP COLUMN IF EXISTS {TSV}"),
        f"ADD COLUMN {TSV} tsvector GENERATED ALWAYS AS ({words_expression(table, fields)}) STORED",
        *_column_settings(),
    )
    sql = f"ALTER TABLE {table.full_name} {', '.join(actions)};\n{_comment_sql(table, fields)}"
    return Step(sql, "rewrites the table; nobody reads or writes it meanwhile")


def _column_settings() -> tuple[str, str]:
    return f"ALTER COLUMN {TSV} SET STORAGE MAIN", f"ALTER COLUMN {TSV} SET STATISTICS 1000"


def _comment_sql(table: IndexedTable, fields: WordFields) -> str:
    """Return the statement that marks the column of words with its sources."""
    return f"COMMENT ON COLUMN {table.full_name}.{TSV} IS {text_literal(words_mark(table, fields))}"


def analyze_step(table: IndexedTable) -> Step:
    """Return the step that updates the statistics behind word weights and query plans."""
    return Step(f"ANALYZE {table.full_name}")


def words_index_step(table: IndexedTable) -> Step:
    """Return the step that indexes the words of a table in use."""
    return _index_step(table, "tsv", f"USING gin ({TSV}) {_SHORT_LIST}", concurrently=True)


def vector_index_steps(table: IndexedTable, *, concurrently: bool) -> list[Step]:
    """Return the step for the HNSW index. Above 2,000 dimensions it uses half precision, which costs no recall."""
    if not table.can_have_hnsw:
        return []
    column, operators = quoted_name(table.embedding), f"{table.vector_type}_cosine_ops"
    if table.is_half_precision:
        column, operators = f"({column}::halfvec({table.dimensions}))", "halfvec_cosine_ops"
    return [_index_step(table, "hnsw", f"USING hnsw ({column} {operators})", concurrently=concurrently)]


def _index_step(table: IndexedTable, ending: str, on: str, *, concurrently: bool) -> Step:
    name = derived_name(table.name, f"ctxassembly_{ending}")
    way = "CONCURRENTLY " if concurrently else ""
    sql = f"CREATE INDEX {way}IF NOT EXISTS {quoted_name(name)} ON {table.full_name} {on}"
    return Step(sql, name=name, is_alone=concurrently)


def drop_index_steps(table: IndexedTable, names: Sequence[str]) -> Iterator[Step]:
    """Yield the steps that drop those indexes of `names` that are ours, and were left by an interrupted build.

    No query uses them, and their names are taken.
    """
    own_names = {derived_name(table.name, f"ctxassembly_{ending}") for ending in ("tsv", "place", "hnsw")}
    for name in own_names.intersection(names):
        full_name = f"{quoted_name(table.schema)}.{quoted_name(name)}"
        yield Step(f"DROP INDEX CONCURRENTLY IF EXISTS {full_name}", is_alone=True)


MAX_LEXEME_CHARS = 100
"""Characters of a lexeme in the table; longer ones are no words."""


def missing_lexeme_steps(table: IndexedTable, info: TableInfo) -> Iterator[Step]:
    """Yield the steps that the table of lexemes still needs. A table older than the column of words is out of date."""
    if not info.has_lexemes:
        # Its policy names the table: by `regclass` nobody could drop that anymore.
        active = f"row_security_active({text_literal(table.full_name)})"
        yield Step(
            f"CREATE TABLE IF NOT EXISTS {table.lexemes_name} (word text PRIMARY KEY, share real);\n"
            f"ALTER TABLE {table.lexemes_name} ENABLE ROW LEVEL SECURITY;\n"
            f"DROP POLICY IF EXISTS ctxassembly_all_rows ON {table.lexemes_name};\n"
            f"CREATE POLICY ctxassembly_all_rows ON {table.lexemes_name} FOR SELECT USING (NOT {active})"
        )
    if not info.has_lexemes or TSV not in info.types:
        yield from refresh_lexemes_steps(table)
    if not info.has_trigram_index:
        name = quoted_name(derived_name(table.name, "lexemes_trgm"))
        yield Step(
            f"CREATE INDEX IF NOT EXISTS {name} ON {table.lexemes_name} USING gin (word gin_trgm_ops) {_SHORT_LIST}"
        )
    if info.is_owned:
        yield from (Step(f"GRANT SELECT ON {table.lexemes_name} TO {role}") for role in info.readers_without_lexemes)


def refresh_lexemes_steps(table: IndexedTable) -> Iterator[Step]:
    """Yield the steps that replace the lexemes by the current words of all chunks, after an ANALYZE."""
    every = text_literal(f"SELECT {TSV} FROM {table.full_name}")
    lexemes_table = table.lexemes_name
    yield Step(
        f"WITH fresh AS MATERIALIZED (SELECT word FROM ts_stat({every}) WHERE length(word) <= {MAX_LEXEME_CHARS}),\n"
        f"  gone AS (DELETE FROM {lexemes_table} WHERE word NOT IN (SELECT word FROM fresh))\n"
        f"INSERT INTO {lexemes_table} SELECT word FROM fresh ON CONFLICT DO NOTHING"
    )
    yield update_shares_step(table)
    yield Step(f"ANALYZE {lexemes_table}")


def update_shares_step(table: IndexedTable) -> Step:
    """Return the step that updates, from the statistics, the share of chunks that have each common word.

    Looked up there, all 10,000 of them would be unpacked for each query, which takes longer than its search.
    """
    lexemes_table = table.lexemes_name
    return Step(
        "WITH common AS MATERIALIZED (\n"
        "  SELECT word, max(share) AS share FROM pg_catalog.pg_stats,\n"
        "    unnest(most_common_elems::text::text[], most_common_elem_freqs) AS each(word, share)\n"
        f"  WHERE schemaname = {text_literal(table.schema)} AND tablename = {text_literal(table.name)}\n"
        f"    AND attname = '{TSV}' AND length(word) <= {MAX_LEXEME_CHARS} GROUP BY word\n"
        f"), rare AS (\n  UPDATE {lexemes_table} SET share = NULL\n"
        "  WHERE share IS NOT NULL AND word NOT IN (SELECT word FROM common)\n"
        f")\nINSERT INTO {lexemes_table} SELECT word, share FROM common\n"
        "ON CONFLICT (word) DO UPDATE SET share = EXCLUDED.share"
    )


def create_table(
    work: MaintenanceConnection,
    name: str,
    schema_name: str,
    fields: WordFields,
    dimensions: int,
    partitions: int | None,
) -> IndexedTable:
    """Return a table of our own, created if it doesn't exist.

    Raises:
        ConfigError: it was made otherwise.
    """
    table = IndexedTable(
        name=name,
        schema=schema_name,
        key="id",
        id="id",
        content="content",
        embedding="embedding",
        metadata="metadata",
        columns=OWN_COLUMNS,
        vector_type="vector" if dimensions <= MAX_DIMENSIONS["vector"] else "halfvec",
        dimensions=dimensions,
        has_notes=True,
        is_own=True,
    )
    info = work.describe_table(table)
    for missing in {"vector", "pg_trgm"}.difference(info.extensions):
        make = partial(work.connection.execute, f"CREATE EXTENSION IF NOT EXISTS {missing}".encode())
        work.retry_on_lock("extensions", make, turn="alone")
    table = replace(table, has_pairs=_separates_pairs(info, fields))

    def create_missing() -> None:
        # Another process may have done it while this one waited.
        for step in _own_missing_steps(work.describe_table(table), table, fields, partitions):
            work.connection.execute(step.sql.encode())

    if _own_missing_steps(info, table, fields, partitions):
        work.retry_on_lock(table.full_name, create_missing, turn="alone")
    _check_lexeme_access(table, work.describe_table(table))
    return table


def _own_missing_steps(info: TableInfo, table: IndexedTable, fields: WordFields, partitions: int | None) -> list[Step]:
    """Return the steps that a table of our own still needs.

    Raises:
        ConfigError: it was made otherwise.
    """
    if info.kind is None:
        return [create_table_step(table, fields, partitions), *missing_lexeme_steps(table, info)]
    if info.types.keys() < {*CHUNK_COLUMNS, table.embedding, "content_hash"}:
        raise ConfigError("table", "a new one, or one that PostgresIndex.create made", table.name)
    if partitions not in (None, info.partitions):
        raise ConfigError("partitions", f"as the existing table has them ({info.partitions or None})", partitions)
    existing = info.dimensions[table.embedding]
    if existing != table.dimensions:
        hint = f": write dimensions={existing}, or give another table="
        raise ConfigError("dimensions", f"{existing}, as in the existing table {table.name!r}", table.dimensions, hint)
    if info.words_mark != words_mark(table, fields):
        allowed = f"as the existing table has them ({info.words_mark})"
        raise ConfigError("language, title and questions", allowed, str(fields))
    return [*missing_lexeme_steps(table, info)]


def locate_table(vectorstore: Any) -> tuple[Any, IndexedTable]:
    """Return the URL of a vector store's database, and its table there.

    Raises:
        InputError: it isn't one that keeps a table in PostgreSQL.
    """
    inner = getattr(vectorstore, "_PGVectorStore__vs", vectorstore)
    if hasattr(inner, "metadata_json_column") and hasattr(inner, "id_column"):
        return inner.engine.url, langchain_table(inner)
    if hasattr(inner, "_table_class") and hasattr(inner, "embed_dim"):
        inner._initialize()  # the table is made on first use
        orm_table = inner._table_class.__table__
        return inner._engine.url, IndexedTable(
            name=orm_table.name,
            schema=orm_table.schema,
            key="id",
            id="node_id",
            content="text",
            embedding="embedding",
            metadata="metadata_",
            dialect="llamaindex",
        )
    raise InputError(
        "vectorstore must be a PGVectorStore or AsyncPGVectorStore of langchain-postgres, or a PGVectorStore of "
        f"llama-index-vector-stores-postgres, got {safe_repr(vectorstore)}; PostgresIndex.create() makes a table "
        "of its own"
    )


def attach_table(
    work: MaintenanceConnection,
    table: IndexedTable,
    fields: WordFields,
    keys: MetadataKeys,
    *,
    hnsw: bool,
    dry_run: bool,
) -> tuple[IndexedTable, Plan]:
    """Return a vector store's table and the steps executed; with `dry_run` the steps that are missing."""

    def make_plan() -> tuple[TableInfo, IndexedTable, Plan]:
        info = work.describe_table(table)
        complete = _complete_types(table, info, fields)
        return info, complete, Plan(tuple(_missing_steps(complete, info, fields, keys, hnsw=hnsw)))

    info, complete, plan = make_plan()
    if dry_run:
        return complete, plan
    if plan.steps:
        if not info.is_owned:
            allowed = "one whose table this user owns; attach(..., dry_run=True) prints what its owner has to run"
            raise ConfigError("vectorstore", allowed, table.full_name)
        # Another process may have done it while this one waited.
        work.hold_turn(table.full_name, lambda: work.execute(table.full_name, make_plan()[-1].steps))
        info, complete, _ = make_plan()
    _check_lexeme_access(complete, info)
    return complete, plan


def _complete_types(table: IndexedTable, info: TableInfo, fields: WordFields) -> IndexedTable:
    """Return `table` with the types that the database gives.

    Raises:
        ConfigError: there is no such table, or its embeddings are of no type of pgvector.
    """
    if info.kind != "r":
        raise ConfigError("vectorstore", "one of an ordinary table: no view, and without partitions", table.full_name)
    kind = info.types.get(table.embedding)
    if kind not in ("vector", "halfvec"):
        raise ConfigError("vectorstore", f"one whose {table.embedding!r} is a vector or halfvec of pgvector", kind)
    return replace(
        table,
        columns={name: info.types[name] for name in table.columns if name in info.types},
        is_jsonb=table.metadata is None or info.types.get(table.metadata) == "jsonb",
        vector_type=kind,
        dimensions=info.dimensions[table.embedding],
        has_notes=info.has_notes,
        has_pairs=_separates_pairs(info, fields),
    )


def _missing_steps(
    table: IndexedTable, info: TableInfo, fields: WordFields, keys: MetadataKeys, *, hnsw: bool
) -> Iterator[Step]:
    """Yield the statements that a framework's table still needs.

    Raises:
        ConfigError: its words were indexed otherwise before.
    """
    if "pg_trgm" not in info.extensions:
        yield Step("CREATE EXTENSION IF NOT EXISTS pg_trgm")
    steps: list[Step] = []
    if TSV not in info.types:
        steps.append(words_column_step(table, fields))
    elif info.words_mark != words_mark(table, fields):
        raise ConfigError(
            "language, title and questions",
            f"what the table was indexed with ({info.words_mark}); "
            f"to change that: ALTER TABLE {table.full_name} DROP COLUMN {TSV}",
            str(fields),
        )
    steps += drop_index_steps(table, info.invalid_indexes)
    indexes = [words_index_step(table)]
    place = [next((name for name in names if name in table.columns), "") for names in (keys.document_id, keys.index)]
    if all(place) and not info.has_index_on(*place):
        on = f"({', '.join(map(quoted_name, place))})"
        indexes.append(_index_step(table, "place", on, concurrently=True))
    steps += [step for step in indexes if step.name not in info.indexes]
    if hnsw and not info.has_vector_index:
        steps += vector_index_steps(table, concurrently=True)
    yield from steps
    if steps:
        yield analyze_step(table)
    yield from missing_lexeme_steps(table, info)


def _separates_pairs(info: TableInfo, fields: WordFields) -> bool:
    """Return True if the language separates no scripts without spaces by itself.

    Raises:
        ConfigError: there is no such language, or the database isn't in UTF-8, where texts can't be normalized.
    """
    if info.encoding != "UTF8":
        raise ConfigError("url", "of a database in UTF-8", info.encoding)
    if fields.language not in info.languages:
        known = ", ".join(sorted(name for name in info.languages if not name.startswith("pg_catalog.")))
        raise ConfigError("language", f"a text search configuration of this database ({known})", fields.language)
    return info.languages[fields.language]


def _check_lexeme_access(table: IndexedTable, info: TableInfo) -> None:
    if not info.can_read_lexemes:
        allowed = f"of a user who may read {table.lexemes_name}: its owner grants it by attaching or creating again"
        raise ConfigError("url", allowed, "another user")


def complete_changes(work: MaintenanceConnection, table: IndexedTable, changed_rows: int) -> None:
    """Do what is due after `changed_rows` rows were written: an index of the vectors, and statistics."""
    steps = _missing_hnsw_steps(work, table)
    # Autovacuum analyzes no partitioned table, so what earlier runs added to it counts, too.
    statement = (
        f"SELECT reltuples, (SELECT sum({ROW_ESTIMATE}) FROM pg_class"
        f" WHERE oid = ANY ({members_sql(table.full_name)}) AND relkind = 'r')"
        f" FROM pg_class WHERE oid = {text_literal(table.full_name)}::regclass"
    )
    [(analyzed_rows, rows)] = work.connection.execute(statement.encode()).fetchall()
    if changed_rows and max(changed_rows, abs(rows - analyzed_rows)) * ANALYZE_DIVISOR >= max(analyzed_rows, 0):
        steps += [analyze_step(table), update_shares_step(table)]
    _execute_in_turn(work, table, steps)


def refresh(work: MaintenanceConnection, table: IndexedTable) -> None:
    """Update the statistics and the table of words, and make the missing HNSW index of a table of our own."""
    steps = _missing_hnsw_steps(work, table) if table.is_own else []
    _execute_in_turn(work, table, [*steps, analyze_step(table), *refresh_lexemes_steps(table)])


def _missing_hnsw_steps(work: MaintenanceConnection, table: IndexedTable) -> list[Step]:
    if work.describe_table(table).has_vector_index:
        return []
    return vector_index_steps(table, concurrently=False)


def _execute_in_turn(work: MaintenanceConnection, table: IndexedTable, steps: Sequence[Step]) -> None:
    """Execute each of `steps` in a transaction of its own: a lock in the way of one costs no work on another."""
    for step in steps:
        work.retry_on_lock(table.full_name, partial(work.connection.execute, step.sql.encode()), turn="alone")
