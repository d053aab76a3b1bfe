r"""The words of scripts without spaces in SQL, for `to_tsvector`, which takes a run of their characters for one word.

Regular expressions make each character two with a blank between: a run of A, B and C becomes `A AB BC C`. Then the
single characters at its ends go, unless the run is one character. Nothing looks back or ahead, so the time is linear:
.5 µs for each character of such a script, about as much as an index of words takes. Other text is only looked through.

The words have to be those that `separate_unspaced` finds in a query.
"""

from __future__ import annotations

from ctxassembly.stores.postgres.table import text_literal
from ctxassembly.text.words import UNSPACED, WIDE_LETTERS, WIDE_MARKS

_BEGIN, _END = "\uff08", "\uff09"
"""Marks around a run: two of `WIDE_MARKS`, so that the text has none when they are written."""


def separate_sql(text: str, max_chars: int) -> str:
    """Return the SQL expression for `separate_unspaced`, cut to `max_chars`; `text` is an expression of type text."""
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
