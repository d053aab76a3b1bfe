"""Documents found in PostgreSQL by their titles, if a text mentions these.

The first chunk of each document is stored with the title, as `stored_title` returns it. An index is on how it begins. A
search sends how every phrase of the texts begins, finds these in the index, and keeps the titles that the texts have in
full. So its time depends on the length of the texts and on the titles that begin alike, and not on the size of the
table.

The statement first looks whether the index exists: without it nothing is found, and no table is read from end to end.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import ARRAY

from ctxassembly.data.chunks import Chunk, ChunkRef
from ctxassembly.data.metadata_keys import MetadataKeys
from ctxassembly.stores.postgres.table import derived_name, quoted_name, text_array, text_literal
from ctxassembly.text.titles import comparable, document_title, title_beginnings

MAX_BEGINNINGS = 20_000
"""The most phrases that a statement looks up, from the best hit on: ten times as many as five usual hits have."""
MAX_DOCUMENTS = 64
"""The most documents that a statement returns, by the place of their mention. An assembly adds fewer."""


def stored_title(chunk: Chunk, keys: MetadataKeys) -> str | None:
    """Return what is stored of the title of the document that begins with `chunk`; None if it has none.

    It is the first of its `title_beginnings`, by which it is looked up, and the title.

    >>> stored_title(Chunk("a", "a", "# The planet Mercury", 0), MetadataKeys())
    'the planet| the planet mercury '
    """
    title = document_title(chunk, keys)
    return f"{next(title_beginnings(title))}|{title}" if title else None


def title_index_name(table: str) -> str:
    """Return the name of the index on the beginnings of titles."""
    return derived_name(table, "ctxassembly_titles")


def title_beginning(stored: sa.ColumnElement[Any]) -> sa.ColumnElement[Any]:
    """Return how a stored title begins, as the index has it."""
    return _part(stored, 1)


def _part(stored: sa.ColumnElement[Any], number: int) -> sa.ColumnElement[Any]:
    return sa.func.split_part(stored, sa.literal_column("'|'"), sa.literal_column(str(number)))


def bind_titles(refs: Sequence[ChunkRef]) -> dict[str, Any]:
    """Return the values to bind for the `refs` that ask for documents by their titles; empty if none does."""
    naming = [(ref.document_id, comparable(ref.named_in)) for ref in refs if ref.named_in is not None]
    if not naming:
        return {}
    found = dict.fromkeys(beginning for _, text in naming for beginning in title_beginnings(text))
    return {
        "naming_document": [document for document, _ in naming],
        "naming_text": [text for _, text in naming],
        # One text, and no array: drivers in Python take longer to write an array than the server to search for it.
        "beginnings": ",".join(islice(found, MAX_BEGINNINGS)),
    }


def select_mentioned(
    rows: sa.Select[Any], stored: sa.ColumnElement[Any], document_id: sa.ColumnElement[Any]
) -> sa.Select[Any]:
    """Return the statement for the first chunks of documents that the texts mention, other than each text's own.

    `rows` selects from the table alone; `stored` is the stored title there.
    """
    table: Any = rows.get_final_froms()[0]
    given = sa.func.unnest(text_array("naming_document"), text_array("naming_text"))
    naming = given.table_valued("document", "text", with_ordinality="place").render_derived(name="naming")
    at = sa.func.strpos(naming.c.text, _part(stored, 2))
    is_another = naming.c.document.is_distinct_from(document_id)
    place = sa.select(sa.func.min(naming.c.place * sa.literal_column("1000000000") + at)).where(at > 0, is_another)
    # In a subquery, whose result the planner doesn't know: it takes the index, whatever the number of phrases.
    phrases = sa.func.string_to_array(sa.bindparam("beginnings", type_=sa.Text), sa.literal_column("','"))
    in_text = sa.any_(sa.cast(sa.select(phrases).scalar_subquery(), ARRAY(sa.Text)))
    schema = "" if table.schema is None else f"{quoted_name(table.schema)}."
    index = text_literal(schema + quoted_name(title_index_name(table.name)))
    # Evaluated once, before the table is read.
    exists = f"EXISTS (SELECT FROM pg_catalog.pg_index WHERE indexrelid = to_regclass({index}) AND indisvalid)"
    found = (
        rows.add_columns(place.correlate(table).scalar_subquery().label("title_place"))
        .where(sa.literal_column(exists), title_beginning(stored).op("=", is_comparison=True)(in_text))
        .subquery("mentioned")
    )
    *columns, title_place = found.c
    return sa.select(*columns).where(title_place.is_not(None)).order_by(title_place).limit(MAX_DOCUMENTS)
