r"""Documents found in PostgreSQL by their titles, if a text mentions these.

An index on an expression has, for the first chunk of each document, how its title begins: two words in a row. A search
sends how every phrase of the texts begins, finds these in the index, and keeps the titles that the texts have in full.
So its time depends on the length of the texts and on the titles that begin alike, and not on the size of the table.

The rules are in `ctxassembly.text.titles`. An assembly applies them to what is found, so SQL may find a little more.
The texts are normalized like the titles: compatible form (NFKC), a blank around each word and around each character of
a script without spaces, which here is a word of its own. The server makes both lower case, letter by letter and by its
own collation. So "STRASSE" doesn't mention "Straße", and some databases know the case of ASCII alone.

The name of the index has a digest of its expression. The statement first looks whether that index exists: without it,
or under other metadata keys, nothing is found, and no table is read from end to end.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any, NamedTuple

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import ARRAY

from ctxassembly.data.chunks import ChunkRef
from ctxassembly.data.metadata_keys import MetadataKeys
from ctxassembly.stores.postgres.table import IndexedTable, derived_name, quoted_name, text_array, text_literal
from ctxassembly.stores.postgres.unspaced import in_ascii, replace_sql
from ctxassembly.text.titles import MAX_CHARS, MIN_LETTERS
from ctxassembly.text.words import UNSPACED

MAX_BEGINNINGS = 20_000
"""The most phrases that a statement looks up, from the best hit on: ten times as many as five usual hits have."""
MAX_DOCUMENTS = 64
"""The most documents that a statement returns, by the place of their mention. An assembly adds fewer."""
_MAX_HEADING_CHARS = 1_000
"""The characters of a chunk in which its first heading is looked for."""
_SEPARATORS = (
    r"\u0001-\u002f\u003a-\u0040\u005b-\u005e\u0060\u007b-\u00a9\u00ab-\u00b1\u00b4\u00b6-\u00b8\u00bb\u00bf\u00d7\u00f7"
    r"\u0589-\u058a\u05be\u05f3-\u05f4\u060c\u061b\u061f\u066a-\u066d\u06d4\u0964-\u0965"
    r"\u2000-\u206f\u20a0-\u20cf\u2190-\u245f\u2500-\u2775\u2794-\u2bff\u2e00-\u2e2e\u2e30-\u2e7f\u3000-\u3004\u3008-\u3020\u3030\u303d-\u303f"
)
"""Ranges of characters that are part of no word, for a regular expression of Python's and of PostgreSQL's: most of
them. Any other such character has to be the same in title and text."""
_UNSPACED = in_ascii(UNSPACED)
_TOKEN = f"(?:[{_UNSPACED}] ){{1,3}}|[^ {_UNSPACED}]+ "
"""A part of a beginning: a word, or up to three characters of a script without spaces."""
_BEGINNING = f"^((?:{_TOKEN})(?:{_TOKEN})?).*$"
_HEADINGS = (r"^\s*#{1,6}[ \t]+([^\n]+)", r"^\s*(\S[^\n]*)\n(?:={3,}|-{3,})[ \t]*(?:\n|$)")
_FOLDERS, _ENDING, _NOTE = r"^.*[/\\]", r"\.\w{1,5}$", r"(.)\([^()]*\)\s*$"
_FIRST_GROUP = text_literal(r"\1")
_IS_UNSPACED = re.compile(f"[{UNSPACED}]")
_UNSPACED_CHARACTERS = re.compile(f"([{UNSPACED}])")
_BETWEEN_WORDS = re.compile(rf"[\u0000\ud800-\udfff{_SEPARATORS}]+")


class TitleColumns(NamedTuple):
    """The SQL of a table's titles. Columns are written without the name of the table."""

    words: str
    """The words of the title, with a blank after each."""
    beginning: str
    """The first two of them, which are indexed."""
    is_first: str
    """The condition for the rows that are indexed: the first chunks of documents."""
    table: str
    """The schema, if it is known, and the name of the table, quoted."""
    index_name: str
    """The name of the index."""
    qualified_index: str
    """The same with the schema, quoted."""

    @property
    def index_definition(self) -> str:
        """The definition of the index after `CREATE INDEX name`."""
        return f"ON {self.table} (({self.beginning})) WHERE {self.is_first}"


def title_columns(
    schema: str | None,
    table: str,
    content: str,
    keys: MetadataKeys,
    text_of: Callable[[str], str | None],
) -> TitleColumns:
    """Return the SQL of the titles in a table, which `document_title` reads from the chunks there.

    Args:
        schema: the schema of the table; None for one on the search path.
        table: its name.
        content: the column of texts.
        keys: the keys of title, headings and source, index and offset.
        text_of: a function from a key of the metadata to its value as text in SQL; None if the table has none.
    """

    def first(names: Sequence[str]) -> str:
        found = [f'({text}) COLLATE "C"' for text in map(text_of, names) if text]
        return f"coalesce({', '.join([*found, 'NULL::text'])})"

    text = f'left({quoted_name(content)}, {_MAX_HEADING_CHARS}) COLLATE "C"'
    headings = ", ".join(f"substring({text} from {text_literal(pattern)})" for pattern in _HEADINGS)
    name = f"regexp_replace({first(keys.source)}, {text_literal(_FOLDERS)}, '')"
    name = f"translate(regexp_replace({name}, {text_literal(_ENDING)}, ''), '_', ' ')"
    title = f"left(coalesce({first((*keys.title, keys.headings[0]))}, {headings}, {name}), {MAX_CHARS})"
    title = f"regexp_replace({title}, {text_literal(_NOTE)}, {_FIRST_GROUP})"
    # Cut once more: the compatible form may be longer, and the index takes 2,700 bytes.
    title = f"left(normalize({title}, NFKC), {MAX_CHARS})"
    title = replace_sql(replace_sql(title, f"([{_UNSPACED}])", r" \1 "), f"[{_SEPARATORS}]+", " ")
    words = f'(lower(trim({title}) COLLATE "default") || \' \') COLLATE "C"'
    beginning = f"regexp_replace({words}, {text_literal(_BEGINNING)}, {_FIRST_GROUP})"
    index_text, start_text = first(keys.index), first(keys.start)
    is_first = f"CASE WHEN {index_text} IS NULL THEN {start_text} = '0' ELSE {index_text} IN ('0', '0.0') END"
    digest = hashlib.sha256(f"{beginning} {is_first}".encode()).hexdigest()[:8]
    index_name = derived_name(table, f"ctxassembly_titles_{digest}")
    prefix = "" if schema is None else f"{quoted_name(schema)}."
    return TitleColumns(
        words, beginning, is_first, prefix + quoted_name(table), index_name, prefix + quoted_name(index_name)
    )


def indexed_titles(table: IndexedTable, keys: MetadataKeys) -> TitleColumns:
    """Return the SQL of the titles in the table of an index."""
    if table.is_own:
        keys = replace(keys, index="chunk_index", start="start_index")
    return title_columns(table.schema, table.name, table.content, keys, text_getter(table.metadata, table.columns))


def text_getter(json_column: str | None, columns: Collection[str] = ()) -> Callable[[str], str | None]:
    """Return a function from a key of the metadata to its value as text in SQL; None if there is no place for it.

    It is in the column of its name, if that is one of `columns`, else in `json_column`; a key may be a dotted path.
    """

    def get_text(key: str) -> str | None:
        if key in columns:
            return f"{quoted_name(key)}::text"
        *parents, last = map(text_literal, key.split("."))
        return json_column and " -> ".join((quoted_name(json_column), *parents)) + f" ->> {last}"

    return get_text


def bind_titles(refs: Sequence[ChunkRef]) -> dict[str, Any]:
    """Return the values to bind for the `refs` that ask for documents by their titles; empty if none does."""
    naming = [(ref.document_id, words_of(ref.named_in)) for ref in refs if ref.named_in is not None]
    if not naming:
        return {}
    found = dict.fromkeys(beginning for _, text in naming for beginning in beginnings(text))
    return {
        "naming_document": [document for document, _ in naming],
        "naming_text": [f" {text}" for _, text in naming],
        # One text, and no array: drivers in Python take longer to write an array than the server to search for it.
        "beginnings": ",".join(islice(found, MAX_BEGINNINGS)),
    }


def words_of(text: str) -> str:
    """Return the words of `text`, in the form of `TitleColumns.words`, but for their case.

    >>> words_of("Mercury, the 水星!")
    'Mercury the 水 星 '
    """
    spaced = _UNSPACED_CHARACTERS.sub(r" \1 ", unicodedata.normalize("NFKC", text))
    return f"{_BETWEEN_WORDS.sub(' ', spaced).strip(' ')} "


def beginnings(words: str) -> Iterator[str]:
    """Yield how each title begins that `words` may have, in the form of `TitleColumns.beginning`.

    >>> list(beginnings("the planet Mercury "))
    ['the planet ', 'planet Mercury ', 'planet ', 'Mercury ']
    """
    found = words.split()
    sizes = [_token_size(found, at) for at in range(len(found))]
    for at, size in enumerate(sizes):
        middle = at + size
        first = " ".join(found[at:middle])
        if len(first) > MAX_CHARS:  # no title
            continue
        if middle < len(found):
            # A title may end within three characters that go on in the text.
            for end in range(middle + 1, middle + sizes[middle] + 1):
                yield f"{first} {' '.join(found[middle:end])} "
        if len(first.casefold()) >= MIN_LETTERS:
            yield f"{first} "


def _token_size(found: Sequence[str], at: int) -> int:
    """Return the number of items of `found` from `at` on that make one `_TOKEN`."""
    size = 1
    if _IS_UNSPACED.match(found[at]):
        while size < 3 and at + size < len(found) and _IS_UNSPACED.match(found[at + size]):
            size += 1
    return size


def select_mentioned(rows: sa.Select[Any], titles: TitleColumns, document_id: sa.ColumnElement[Any]) -> sa.Select[Any]:
    """Return the statement for the first chunks of documents that the texts mention, other than each text's own.

    `rows` selects from the table alone. Of a document without indexes, whose offsets begin again on each page, it is
    the chunk that was stored first.
    """
    given = sa.func.unnest(text_array("naming_document"), text_array("naming_text"))
    each = given.table_valued("document", "text", with_ordinality="place").render_derived(name="naming")
    naming = (
        sa.select(each.c.document, _lower(each.c.text).label("text"), each.c.place)
        .cte("naming")
        .prefix_with("MATERIALIZED")
    )
    (table,) = rows.get_final_froms()
    blank = sa.literal_column("' '", sa.Text)
    # The offset keeps the planner from computing the words once for each text.
    words = sa.select(sa.literal_column(titles.words, sa.Text).label("title_words")).offset(sa.literal_column("0"))
    title = words.lateral("title").c.title_words
    at = sa.func.strpos(naming.c.text, blank.op("||")(title))
    mention = (
        sa.select(sa.func.min(naming.c.place * sa.literal_column("1000000000") + at).label("title_place"))
        .where(at > 0, naming.c.document.is_distinct_from(document_id))
        .lateral("mention")
    )
    # In a subquery, whose result the planner doesn't know: it takes the index, whatever the number of phrases.
    phrases = sa.func.string_to_array(_lower(sa.bindparam("beginnings", type_=sa.Text)), sa.literal_column("','"))
    in_text = sa.any_(sa.cast(sa.select(phrases).scalar_subquery(), ARRAY(sa.Text)))
    # Four characters of a script without spaces are three words of two letters each.
    min_letters = sa.case((title.regexp_match(f"[{_UNSPACED}]"), 4), else_=MIN_LETTERS)
    letters = sa.func.length(sa.func.regexp_replace(sa.func.replace(title, "ß", "ss"), "[ 0-9_]", "", "g"))
    found = (
        rows.add_columns(mention.c.title_place)
        .select_from(sa.join(table, title.table, sa.true()).join(mention, sa.true()))
        .where(
            sa.literal_column(_exists_sql(titles)),
            sa.literal_column(titles.is_first),
            sa.literal_column(f"({titles.beginning})").op("=", is_comparison=True)(in_text),
            letters >= min_letters,
            mention.c.title_place.is_not(None),
        )
        .distinct(document_id)
        .order_by(document_id, sa.literal_column(f"{titles.table}.ctid"))
        .subquery("mentioned")
    )
    *columns, place = found.c
    return sa.select(*columns).order_by(place).limit(MAX_DOCUMENTS)


def _exists_sql(titles: TitleColumns) -> str:
    """Return the condition that the index exists and is complete. Evaluated once, before the table is read."""
    index = text_literal(titles.qualified_index)
    return f"EXISTS (SELECT FROM pg_catalog.pg_index WHERE indexrelid = to_regclass({index}) AND indisvalid)"


def _lower(text: sa.ColumnElement[Any]) -> sa.ColumnElement[Any]:
    """Return `text` in lower case, as `title_columns` has it."""
    return sa.collate(sa.func.lower(sa.collate(text, "default")), "C")
