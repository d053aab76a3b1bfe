"""An index's needs in the database, as statements: for a table of its own, and for one that a framework made.

The words of a chunk stand in a generated column, so that no writer has to know of it:

- `coalesce` around each part, since a chunk without questions would have no words at all: text || NULL is NULL;
- STORAGE MAIN, which keeps the words in the row. Elsewhere each look at them fetches them anew: 5 to 9 times the time;
- statistics at 1,000, which keep the 10,000 commonest words with their shares: the weights of words come from there;
- title, questions and content by `setweight`, so that what they weigh is for the query to say.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from ctxassembly.errors import ConfigError
from ctxassembly.stores.postgres.table import CONTEXT, NOTES, QUESTIONS, TSV, IndexedTable, shortened

_LEAST_MEMORY = 512
"""MB for building an HNSW index, unless the server gives more: one that doesn't fit takes many times as long."""
MOST_CHARACTERS = 200_000
"""Of a chunk's parts, so much is indexed: a `tsvector` of more than 1 MB is an error, and the row would be lost."""
_SHORT_LIST = "WITH (gin_pending_list_limit = 256)"
"""The last writes to a GIN index lie in a list, which every search reads from end to end: 256 kB of it, not 4
MB. Where we write ourselves the list may be long (a third less time), since we empty it in the end."""
_MEMORY = "512MB"
"""For building an HNSW index: one that doesn't fit takes many times as long."""
_LANGUAGE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*)?")


def quoted_name(name: str) -> str:
    """A name as SQL has it, whatever is in it."""
    return '"' + name.replace('"', '""') + '"'


class Step(NamedTuple):
    """A statement, and what it does to those who use the table meanwhile."""

    sql: str
    note: str = ""
    """Empty if they notice nothing."""
    name: str = ""
    """Of the index that it makes, if it makes one."""
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


class Fields(NamedTuple):
    """The sources of a chunk's words besides its text."""

    language: str
    title: str | None
    questions: str | None

    def __str__(self) -> str:
        """The beginning of the column's mark, by which it is known again."""
        return f"ctxassembly: {self.language}, title={self.title}, questions={self.questions}"


def checked(fields: Fields) -> Fields:
    """`fields`, whose names PostgreSQL can hold.

    Raises:
        ConfigError: the language is no name of a text search configuration, or a key is empty.
    """
    if not isinstance(fields.language, str) or not _LANGUAGE.fullmatch(fields.language):
        raise ConfigError("language", "the name of a text search configuration, such as 'simple'", fields.language)
    for name, key in (("title", fields.title), ("questions", fields.questions)):
        if key is not None and (not isinstance(key, str) or not key or "\0" in key):
            raise ConfigError(name, "a metadata key or None", key)
    return fields


WITH_NOTES = ", with notes"
"""The ending of the mark of a column whose words are also those of notes."""


def mark(home: IndexedTable, fields: Fields) -> str:
    """The mark of the column of words."""
    return f"{fields}{WITH_NOTES if home.has_notes else ''}"


def full_name(home: IndexedTable) -> str:
    """The table, quoted."""
    return f"{quoted_name(home.schema)}.{quoted_name(home.name)}"


def text_literal(text: str) -> str:
    """A text as a literal, whatever is in it."""
    escaped = text.replace("\\", "\\\\").replace("'", "''")
    return f"E'{escaped}'" if "\\" in text else f"'{escaped}'"


def words_of(home: IndexedTable, fields: Fields) -> str:
    """The expression for the words of a chunk."""

    def part(text: str, weight: str) -> str:
        limited = f"left(coalesce({text}, ''), {MOST_CHARACTERS})"
        return f"setweight(to_tsvector({text_literal(fields.language)}::regconfig, {limited}), '{weight}')"

    notes = [part(QUESTIONS, "B"), part(CONTEXT, "C")] if home.has_notes else []
    parts = [(key, weight) for key, weight in ((fields.title, "A"), (fields.questions, "B")) if key is not None]
    found = [part(text, weight) for key, weight in parts if (text := _key(home, key))]
    return " || ".join([*found, *notes, part(quoted_name(home.content), "D")])


def _key(home: IndexedTable, key: str) -> str | None:
    if key in home.columns:
        return f"{quoted_name(key)}::text"
    return None if home.metadata is None else f"({quoted_name(home.metadata)} ->> {text_literal(key)})"


def new_table(home: IndexedTable, fields: Fields) -> Step:
    """A table of our own, without an index on the vectors: building that after the first chunks is faster."""
    vector = f"{home.vector_type}({home.dimensions})"
    notes = "".join(f"  {name} text,\n" for name in NOTES) if home.has_notes else ""
    table = (
        f"CREATE TABLE IF NOT EXISTS {full_name(home)} (\n"
        "  id text PRIMARY KEY,\n  document_id text NOT NULL,\n  chunk_index bigint,\n  start_index bigint,\n"
        "  prev_id text,\n  next_id text,\n  content text NOT NULL,\n  metadata jsonb NOT NULL DEFAULT '{}',\n"
        f"  content_hash text NOT NULL,\n  embedding {vector},\n{notes}"
        f"  {TSV} tsvector GENERATED ALWAYS AS ({words_of(home, fields)}) STORED\n)"
    )
    beside = (
        marked(home, fields),
        _statistics(home),
        *_index(home, "tsv", f"USING gin ({TSV})", concurrently=False),
        *_index(home, "place", "(document_id, chunk_index)", concurrently=False),
        *_index(home, "metadata", "USING gin (metadata jsonb_path_ops)", concurrently=False),
    )
    # One statement, so one transaction: nobody ever finds the table without its mark or an index.
    stored = f"ALTER TABLE {full_name(home)} ALTER COLUMN {TSV} SET STORAGE MAIN"
    return Step(";\n".join((table, stored, *(step.sql for step in beside))))


def added_words(home: IndexedTable, fields: Fields, server_version: int) -> Iterator[Step]:
    """The column of words, in a table that has none."""
    column = f"ALTER TABLE {full_name(home)} ADD COLUMN {TSV} tsvector"
    made = f"GENERATED ALWAYS AS ({words_of(home, fields)}) STORED"
    rewrites = "rewrites the table; nobody reads or writes it meanwhile"
    # One statement, so one transaction: nobody ever finds the column without its mark.
    told = marked(home, fields).sql
    if server_version >= 160000:
        yield Step(f"{column} STORAGE MAIN {made};\n{told}", rewrites)
    else:
        yield Step(f"{column} {made};\n{told}", rewrites)
        yield Step(f"ALTER TABLE {full_name(home)} ALTER COLUMN {TSV} SET STORAGE MAIN")
        yield Step(f"VACUUM FULL {full_name(home)}", rewrites, kind="alone")
    yield _statistics(home)


def marked(home: IndexedTable, fields: Fields) -> Step:
    """The column of words, marked with what it was made of."""
    return Step(f"COMMENT ON COLUMN {full_name(home)}.{TSV} IS {text_literal(mark(home, fields))}")


def analysed(home: IndexedTable) -> Step:
    """The statistics by which words weigh, and plans are made."""
    return Step(f"ANALYZE {full_name(home)}")


def _statistics(home: IndexedTable) -> Step:
    return Step(f"ALTER TABLE {full_name(home)} ALTER COLUMN {TSV} SET STATISTICS 1000")


def words_indexed(home: IndexedTable) -> Iterator[Step]:
    """The index on the words of a table in use."""
    yield from _index(home, "tsv", f"USING gin ({TSV}) {_SHORT_LIST}", concurrently=True)


def place_indexed(home: IndexedTable, document_id: str, index: str) -> Iterator[Step]:
    """The index on document and place of a table in use."""
    yield from _index(home, "place", f"({quoted_name(document_id)}, {quoted_name(index)})", concurrently=True)


def vectors_indexed(home: IndexedTable, *, concurrently: bool) -> Iterator[Step]:
    """The HNSW index. Of more than 2,000 dimensions it is in half precision, which costs no recall."""
    if not home.can_have_hnsw:
        return
    column, operators = quoted_name(home.embedding), f"{home.vector_type}_cosine_ops"
    if home.is_halved:
        column, operators = f"({column}::halfvec({home.dimensions}))", "halfvec_cosine_ops"
    given = "pg_size_bytes(current_setting('maintenance_work_mem')) / 1024"
    memory = f"greatest({given}, {_LEAST_MEMORY * 1024}) || 'kB'"
    index = _index(home, "hnsw", f"USING hnsw ({column} {operators})", concurrently=concurrently)
    if concurrently:
        yield Step(f"SELECT set_config('maintenance_work_mem', {memory}, false)", kind="session")
        yield from index
        yield Step("RESET maintenance_work_mem", kind="session")
        return
    for step in index:
        yield step._replace(sql=f"SELECT set_config('maintenance_work_mem', {memory}, true);\n{step.sql}")


def lists_emptied(home: IndexedTable) -> Iterator[Step]:
    """Move the last writes from the lists of the indexes to their place."""
    names = [shortened(home.name, "ctxassembly_tsv"), shortened(home.name, "ctxassembly_metadata")]
    for name in [*names, *([shortened(home.name, "lexemes_trgm")] if home.has_trigrams else [])]:
        yield Step(f"SELECT gin_clean_pending_list({text_literal(f'{quoted_name(home.schema)}.{quoted_name(name)}')})")


def _index(home: IndexedTable, ending: str, on: str, *, concurrently: bool) -> Iterator[Step]:
    name = shortened(home.name, f"ctxassembly_{ending}")
    way = "CONCURRENTLY " if concurrently else ""
    sql = f"CREATE INDEX {way}IF NOT EXISTS {quoted_name(name)} ON {full_name(home)} {on}"
    yield Step(sql, name=name, kind="alone" if concurrently else "transaction")


def dropped(home: IndexedTable, names: Sequence[str]) -> Iterator[Step]:
    """Indexes that a build broken off left behind: no query uses them, and their names are taken."""
    for name in names:
        yield Step(f"DROP INDEX CONCURRENTLY IF EXISTS {quoted_name(home.schema)}.{quoted_name(name)}", kind="alone")
