"""Short overlaps of stored chunks in SQL, found as `ctxassembly.integrations.number_chunks` finds them in Python.

A text is compared with the one before it under every length of up to `MAX_SHORT_OVERLAP` characters, so the time is
linear in the number of chunks. Whether the texts show a longer overlap is seen where the last characters of the first
occur in the second: mostly at one place or none. If there are several, at most `MAX_TRIED_LENGTHS` are compared.

Letters are Python's, sent as ranges of characters, since a server's depend on its locale. Ranges need a
database in UTF-8.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable
from functools import cache
from itertools import groupby
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import ARRAY

from ctxassembly.assembly.adjacency.overlap import MAX_SHORT_OVERLAP, MIN_OVERLAPPING_SHARE
from ctxassembly.data.chunks import SECTION_KEYS, section_names
from ctxassembly.data.metadata_keys import MetadataKeys
from ctxassembly.stores.postgres.table import text_literal
from ctxassembly.stores.postgres.unspaced import in_ascii
from ctxassembly.text.words import UNSPACED

MAX_TRIED_LENGTHS = 1_000
"""Lengths at which two texts that repeat themselves are compared."""
_SPACED_LETTER = re.compile(rf"[^\W_{UNSPACED}]")
_MIN_SHOWN = MAX_SHORT_OVERLAP + 1
_SHOWN_BY_OFFSETS = """
    CASE WHEN first_start <= second_start THEN
        CASE WHEN first_start + length(first) <= second_start THEN false
        WHEN left(second, (first_start + length(first) - second_start)::int)
            = substr(first, (second_start - first_start)::int + 1, length(second)) THEN true
        END
    END"""
"""True for an overlap that the offsets show and the texts bear out, false for none, NULL for offsets that are wrong."""
_SHOWN_BY_TEXTS = f"""
    (SELECT count(*) = 1 AND NOT (bool_or(is_part) AND strpos(substr(first, strpos(first, second) + 1), second) > 0)
    FROM (SELECT is_part FROM (
        SELECT length(second) BETWEEN {_MIN_SHOWN} AND length(first) AND strpos(first, second) > 0 AS is_part
    ) AS parts
    CROSS JOIN LATERAL (SELECT CASE WHEN is_part THEN second ELSE first END AS whole) AS wholes
    CROSS JOIN LATERAL (SELECT right(whole, {_MIN_SHOWN}) AS ending) AS endings
    CROSS JOIN LATERAL (
        SELECT nullif(strpos(second, ending), 0) + {_MIN_SHOWN - 1} AS least_chars,
            length(second) - strpos(reverse(second), reverse(ending)) + 1 AS most_chars
    ) AS limits
    CROSS JOIN LATERAL generate_series(
        least_chars, least(most_chars, length(whole), least_chars + {MAX_TRIED_LENGTHS})
    ) AS chars
    WHERE left(second, chars) = right(whole, chars) LIMIT 2) AS found)"""
"""As `overlap_length`: true if the second text begins as the first one ends at one length alone, or is a part of it."""
_TWO_INSIDE = rf"([wu]{{2}}|[u{in_ascii(UNSPACED)}]{{2}})"
_BORDER_INSIDE = text_literal(f"^{_TWO_INSIDE}|{_TWO_INSIDE}$")
_SHORT_CHARS = f"""
    (SELECT CASE WHEN count(*) = 1 THEN min(chars) END
    FROM (SELECT right(first, {_MIN_SHOWN}) AS ending, left(second, {_MIN_SHOWN}) AS beginning OFFSET 0) AS borders
    CROSS JOIN LATERAL generate_series(
        1, least({MAX_SHORT_OVERLAP}, length(ending), length(beginning))
    ) AS chars
    CROSS JOIN LATERAL (
        SELECT CASE WHEN right(ending, chars) = left(beginning, chars) THEN regexp_replace(regexp_replace(
            CASE WHEN length(ending) > chars THEN left(right(ending, chars + 1), 1) ELSE ' ' END
                || left(beginning, chars)
                || CASE WHEN length(beginning) > chars THEN right(left(beginning, chars + 1), 1) ELSE ' ' END,
            spaced_letters, 'w', 'g'), unspaced_letters, 'u', 'g')
        END AS letters
    ) AS in_letters
    WHERE letters !~ '^ww|ww$'
        AND letters ~ CASE WHEN letters ~ {_BORDER_INSIDE} THEN '^.+[wu].*[wu].*.$' ELSE '^.+[wu].*.$' END)"""
"""As `short_overlap_length`: NULL for none. The overlap and the characters around it are written as letters, w in a
script with spaces and u in one without, before its rule is applied."""


def select_overlaps(pairs: Any) -> sa.Select[Any]:
    """Return a statement for `pairs` with the `overlap` to record; NULL for none, and if the splitter makes none.

    `pairs` has the texts `first` and `second` of two adjacent chunks, one of which may be NULL, and their offsets
    `first_start` and `second_start`, or NULL.
    """
    spaced, unspaced = _letter_patterns()
    texts = sa.select(
        *(column for column in pairs.c if column.name not in ("first", "second")),
        *(sa.collate(sa.cast(pairs.c[name], sa.Text), "C").label(name) for name in ("first", "second")),
        _text(spaced).label("spaced_letters"),
        _text(unspaced).label("unspaced_letters"),
    ).subquery("texts")
    by_offsets = sa.select(texts, sa.literal_column(_SHOWN_BY_OFFSETS, sa.Boolean).label("by_offsets")).offset(_ZERO)
    located = by_offsets.subquery("located")
    is_unknown = sa.and_(located.c.by_offsets.is_(None), located.c.first.is_not(None), located.c.second.is_not(None))
    by_texts = sa.case((is_unknown, sa.literal_column(_SHOWN_BY_TEXTS, sa.Boolean)))
    shown = sa.select(located, by_texts.label("by_texts")).offset(_ZERO).subquery("shown")
    chars = sa.case((~shown.c.by_texts, sa.literal_column(_SHORT_CHARS, sa.Integer)))
    found = sa.select(shown, chars.label("chars")).offset(_ZERO).subquery("found")
    is_shown = sa.func.coalesce(found.c.by_offsets, found.c.by_texts)
    share = sa.func.avg(sa.cast(sa.or_(is_shown, found.c.chars.is_not(None)), sa.Integer)).over()
    overlap = sa.case((share >= sa.literal_column(str(MIN_OVERLAPPING_SHARE)), found.c.chars))
    return sa.select(
        *(found.c[column.name] for column in pairs.c if column.name not in _INPUTS), overlap.label("overlap")
    )


def section_expr(metadata: sa.ColumnElement[Any], keys: MetadataKeys) -> sa.ColumnElement[Any]:
    """Return the section in JSONB `metadata`, as `section_of` reads it: an object, or NULL if there is none."""
    # Of JSON that is no object, such as null, nothing is read.
    particulars = sa.func.jsonb_path_query_first(metadata, sa.literal_column("""'$ ? (@.type() == "object")'"""))
    each = sa.func.jsonb_each(particulars).table_valued("key", "value").render_derived(name="particulars")
    name = sa.func.regexp_replace(each.c.key, "^@search[.]", "")
    name = sa.func.regexp_replace(name, "([a-z0-9])(?=[A-Z])", r"\1_", "g")
    name = sa.func.lower(sa.func.trim(sa.func.regexp_replace(name, r"[\s-]+", "_", "g"), "_"))
    is_section = sa.or_(
        each.c.key == sa.any_(sa.cast(sa.literal(list(section_names(keys)), ARRAY(sa.Text)), ARRAY(sa.Text))),
        name.op("~", is_comparison=True)(_text(f"(?x)^(?:{SECTION_KEYS.pattern})$")),
    )
    return (
        sa.select(sa.func.jsonb_object_agg(each.c.key, each.c.value))
        .where(sa.func.jsonb_typeof(each.c.value).in_(("string", "number")), is_section)
        .scalar_subquery()
    )


_INPUTS = ("first", "second", "first_start", "second_start")
_ZERO: sa.ColumnElement[int] = sa.literal_column("0")
"""An offset that keeps the planner from computing what follows more often than once."""


def _text(value: str) -> sa.ColumnElement[Any]:
    return sa.cast(sa.literal(value), sa.Text)


@cache
def _letter_patterns() -> tuple[str, str]:
    """Return the patterns of a letter or digit in scripts with spaces, and of one in scripts without."""
    letters = list(filter(str.isalnum, map(chr, range(sys.maxunicode + 1))))
    spaced = set(_SPACED_LETTER.findall("".join(letters)))
    return _pattern(filter(spaced.__contains__, letters)), _pattern(c for c in letters if c not in spaced)


def _pattern(characters: Iterable[str]) -> str:
    """Return a pattern of one of `characters`, which are sorted, with a range for those in a row."""
    in_rows = groupby(enumerate(map(ord, characters)), key=lambda each: each[1] - each[0])
    rows = ([code for _, code in row] for _, row in in_rows)
    return "[{}]".format("".join(f"\\U{row[0]:08x}-\\U{row[-1]:08x}" for row in rows))
