"""An index's needs in the database, as statements: for a table of its own, and for one that a framework made.

The words of a chunk are kept in a generated column, so that no writer has to know of it:

- `coalesce` around each part, since a chunk without questions would have no words at all: text || NULL is NULL;
- STORAGE MAIN, which keeps the words in the row. Elsewhere each access fetches them again: 5 to 9 times the time;
- statistics at 1,000, which keep the 10,000 commonest words with their shares: the weights of words come from there;
- title, questions and content by `setweight`, so that what they weigh is for the query to say;
- every two adjacent characters as a word in scripts without spaces, unless the language has a parser of its own.

The table of lexemes has every word that a chunk has or had, and the shares of the common ones. All users who may read
the chunks may read it, since a query looks up its words there. If row-level security separates the rows of tenants,
only the owner may: the words come from all rows. Then a query counts its words under the policies, and finds no similar
ones. A policy of the table of lexemes hides its rows as soon as row-level security is switched on, also after it was
made.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import sqlalchemy as sa

from ctxassembly.errors import ConfigError
from ctxassembly.stores.postgres.table import (
    CONTEXT,
    EXTRAS,
    NOTES,
    QUESTIONS,
    TITLE,
    TSV,
    WITH_NOTES,
    IndexedTable,
    Leaf,
    TableInfo,
    derived_name,
    members_sql,
    quoted_name,
    text_literal,
    title_beginning,
)
from ctxassembly.stores.simple_words import FieldKeys, key_tuple
from ctxassembly.text.words import UNSPACED, WIDE_LETTERS, WIDE_MARKS

_MIN_MEMORY_MB = 512
"""MB for building an HNSW index, unless the server gives more: one that doesn't fit takes many times as long."""
MAX_INDEXED_CHARS = 200_000
"""Maximum of indexed characters of each part: a `tsvector` of more than 1 MB fails, and the row would be lost."""
_SHORT_LIST = "WITH (gin_pending_list_limit = 256)"
"""The last writes to a GIN index lie in a list, which every search reads from end to end: 256 kB of it, not 4
MB. Where we write ourselves the list may be long (a third less time), since we empty it in the end."""
_BEGIN, _END = "\uff08", "\uff09"
"""Marks around a run: two of `WIDE_MARKS`, so that the text has none when they are written."""
_LANGUAGE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*)?")


class Step(NamedTuple):
    """A statement, and its effect on other users of the table."""

    sql: str
    note: str = ""
    """Empty if there is no effect."""
    name: str = ""
    """The name of the index that it makes, if any."""
    kind: Literal["transaction", "alone", "session"] = "transaction"
    """alone: PostgreSQL takes it only outside a transaction. session: a setting for the steps that follow."""


@dataclass(frozen=True)
class Plan:
    """The statements that a table still needs. Printed, it is SQL."""

    steps: tuple[Step, ...]
    notes: tuple[str, ...] = ()
    """Parts that the index does without."""

    def __str__(self) -> str:
        lines = [f"-- {note}" for note in self.notes]
        for step in self.steps:
            lines += [f"-- {step.note}"] if step.note else []
            lines.append(f"{step.sql};")
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
    texts = "".join(f"  {name} text,\n" for name in (*NOTES, *([TITLE] if table.has_titles else [])))
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
    extra_steps = (
        comment_step(table, fields),
        _statistics_step(table),
        *_index_steps(table, "tsv", f"USING gin ({TSV})", concurrently=False),
        *_index_steps(table, "place", "(document_id, chunk_index)", concurrently=False),
        *_index_steps(table, "metadata", "USING gin (metadata jsonb_path_ops)", concurrently=False),
        *(_index_steps(table, "titles", titles_on, concurrently=False) if table.has_titles else ()),
    )
    # One statement, so one transaction: nobody ever finds the table without its mark or an index.
    storage = f"ALTER TABLE {table.full_name} ALTER COLUMN {TSV} SET STORAGE MAIN"
    return Step(";\n".join((create_sql, *partition_steps, storage, *(step.sql for step in extra_steps))))


def words_column_steps(table: IndexedTable, fields: WordFields, server_version: int) -> Iterator[Step]:
    """Yield the steps that add the column of words to a table."""
    column = f"ALTER TABLE {table.full_name} ADD COLUMN {TSV} tsvector"
    generated = f"GENERATED ALWAYS AS ({words_expression(table, fields)}) STORED"
    rewrites = "rewrites the table; nobody reads or writes it meanwhile"
    # One statement, so one transaction: nobody ever finds the column without its mark.
    comment = comment_step(table, fields).sql
    if server_version >= 160000:
        yield Step(f"{column} STORAGE MAIN {generated};\n{comment}", rewrites)
    else:
        yield Step(f"{column} {generated};\n{comment}", rewrites)
        yield Step(f"ALTER TABLE {table.full_name} ALTER COLUMN {TSV} SET STORAGE MAIN")
        yield Step(f"VACUUM FULL {table.full_name}", rewrites, kind="alone")
    yield _statistics_step(table)


def comment_step(table: IndexedTable, fields: WordFields) -> Step:
    """Return the step that marks the column of words with its sources."""
    return Step(f"COMMENT ON COLUMN {table.full_name}.{TSV} IS {text_literal(words_mark(table, fields))}")


def analyze_step(table: IndexedTable) -> Step:
    """Return the step that updates the statistics behind word weights and query plans."""
    return Step(f"ANALYZE {table.full_name}")


def _statistics_step(table: IndexedTable) -> Step:
    return Step(f"ALTER TABLE {table.full_name} ALTER COLUMN {TSV} SET STATISTICS 1000")


def words_index_steps(table: IndexedTable, leaves: Sequence[Leaf] = ()) -> Iterator[Step]:
    """Yield the steps that index the words of a table in use."""
    yield from _index_steps(table, "tsv", f"USING gin ({TSV}) {_SHORT_LIST}", concurrently=True, leaves=leaves)


def position_index_steps(table: IndexedTable, document_id: str, index: str, leaves: Sequence[Leaf]) -> Iterator[Step]:
    """Yield the steps that index document and chunk index of a table in use."""
    columns = f"({quoted_name(document_id)}, {quoted_name(index)})"
    yield from _index_steps(table, "place", columns, concurrently=True, leaves=leaves)


def vector_index_steps(table: IndexedTable, *, concurrently: bool, leaves: Sequence[Leaf] = ()) -> Iterator[Step]:
    """Yield the steps for the HNSW index. Above 2,000 dimensions it uses half precision, which costs no recall."""
    if not table.can_have_hnsw:
        return
    column, operators = quoted_name(table.embedding), f"{table.vector_type}_cosine_ops"
    if table.is_half_precision:
        column, operators = f"({column}::halfvec({table.dimensions}))", "halfvec_cosine_ops"
    given = "pg_size_bytes(current_setting('maintenance_work_mem')) / 1024"
    memory = f"greatest({given}, {_MIN_MEMORY_MB * 1024}) || 'kB'"
    index = _index_steps(table, "hnsw", f"USING hnsw ({column} {operators})", concurrently=concurrently, leaves=leaves)
    if concurrently:
        yield Step(f"SELECT set_config('maintenance_work_mem', {memory}, false)", kind="session")
        yield from index
        yield Step("RESET maintenance_work_mem", kind="session")
        return
    for step in index:
        yield step._replace(sql=f"SELECT set_config('maintenance_work_mem', {memory}, true);\n{step.sql}")


def flush_pending_steps(table: IndexedTable) -> Iterator[Step]:
    """Move the last writes from the lists of the indexes to their place."""
    names = [derived_name(table.name, "ctxassembly_tsv"), derived_name(table.name, "ctxassembly_metadata")]
    for name in [*names, *([derived_name(table.name, "lexemes_trgm")] if table.has_trigrams else [])]:
        members = members_sql(f"{quoted_name(table.schema)}.{quoted_name(name)}")
        indexes = f"pg_catalog.pg_class WHERE oid = ANY ({members}) AND relkind = 'i'"
        yield Step(f"SELECT gin_clean_pending_list(oid) FROM {indexes}")


def _index_steps(
    table: IndexedTable, ending: str, on: str, *, concurrently: bool, leaves: Sequence[Leaf] = ()
) -> Iterator[Step]:
    name = derived_name(table.name, f"ctxassembly_{ending}")
    if concurrently and leaves:
        # PostgreSQL indexes no partitioned table concurrently. It takes over the indexes that its partitions have.
        for leaf in leaves:
            leaf_index = quoted_name(derived_name(leaf.name, f"ctxassembly_{ending}"))
            sql = f"CREATE INDEX CONCURRENTLY IF NOT EXISTS {leaf_index} ON {leaf.full_name} {on}"
            yield Step(sql, name=name, kind="alone")
        concurrently = False
    concurrently_sql = "CONCURRENTLY " if concurrently else ""
    sql = f"CREATE INDEX {concurrently_sql}IF NOT EXISTS {quoted_name(name)} ON {table.full_name} {on}"
    yield Step(sql, name=name, kind="alone" if concurrently else "transaction")


def drop_index_steps(table: IndexedTable | Leaf, names: Sequence[str]) -> Iterator[Step]:
    """Yield the steps that drop those indexes of `names` that are ours, and were left by an interrupted build.

    No query uses them, and their names are taken.
    """
    own_names = {derived_name(table.name, f"ctxassembly_{ending}") for ending in ("tsv", "place", "hnsw")}
    for name in names:
        if name in own_names:
            full_name = f"{quoted_name(table.schema)}.{quoted_name(name)}"
            yield Step(f"DROP INDEX CONCURRENTLY IF EXISTS {full_name}", kind="alone")


MAX_LEXEME_CHARS = 100
"""Characters of a lexeme in the table; longer ones are no words."""


def missing_lexeme_steps(table: IndexedTable, info: TableInfo) -> Iterator[Step]:
    """Yield the steps that the table of lexemes still needs. A table older than the column of words is out of date."""
    if not info.has_lexemes:
        yield from create_lexemes_steps(table)
    elif TSV not in info.types:
        yield from refresh_lexemes_steps(table)
    if table.has_trigrams and not info.has_trigram_index:
        yield trigram_index_step(table)
    if not info.is_owned:
        return
    if info.has_lexemes and not info.has_lexeme_policy:
        yield _policy_step(table)
    word, way, roles = (
        ("REVOKE", "FROM", info.lexeme_readers) if info.has_policies else ("GRANT", "TO", info.readers_without_lexemes)
    )
    for role in roles:
        yield Step(f"{word} SELECT ON {table.lexemes_name} {way} {role}")


def create_lexemes_steps(table: IndexedTable) -> Iterator[Step]:
    """Yield the steps that create and fill the table of lexemes."""
    lexemes_table = f"CREATE TABLE IF NOT EXISTS {table.lexemes_name} (word text PRIMARY KEY, share real)"
    yield Step(f"{lexemes_table};\n{_policy_step(table).sql}")
    yield from refresh_lexemes_steps(table)


def _policy_step(table: IndexedTable) -> Step:
    """Hide the words from users who don't see all chunks, as soon as a policy hides some."""
    # The table by its name: as `regclass` nobody could drop it anymore.
    active = f"row_security_active({text_literal(table.full_name)})"
    return Step(
        f"ALTER TABLE {table.lexemes_name} ENABLE ROW LEVEL SECURITY;\n"
        f"DROP POLICY IF EXISTS ctxassembly_all_rows ON {table.lexemes_name};\n"
        f"CREATE POLICY ctxassembly_all_rows ON {table.lexemes_name} FOR SELECT USING (NOT {active})"
    )


def trigram_index_step(table: IndexedTable) -> Step:
    """Return the step for the index that finds lexemes similar to a word."""
    name = quoted_name(derived_name(table.name, "lexemes_trgm"))
    return Step(f"CREATE INDEX IF NOT EXISTS {name} ON {table.lexemes_name} USING gin (word gin_trgm_ops)")


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
