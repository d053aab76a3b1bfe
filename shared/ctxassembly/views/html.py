"""HTML that is safe by construction: a string that isn't `Html` is escaped when it is inserted.

Texts, ids, metadata and queries come from anywhere. None can end an element or an attribute. Characters that a person
can't see are made visible, since the model reads them all the same.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from html import escape
from importlib.resources import files
from itertools import count

ID_CHARS = 60
"""Characters shown of an id, and of a file's name in a table."""
VALUE_CHARS = 120
"""Characters shown of a metadata value, a header or a reason."""
NOTE_CHARS = 300
"""Characters shown of a note, and of the query."""
NOTES_BYTES = 30_000
"""Bytes of the notes of a trace."""
TABLE_BYTES = 150_000
"""Bytes of the rows of a table."""
NUMERIC_COLUMNS = frozenset(
    {
        *("rank", "distance", "score", "tokens", "characters", "relevance", "vector", "keyword", "fused", "chunks"),
        *("ms", "documents", "passages", "mean run", "evidence"),
    }
)
"""The columns of tables that are aligned to the right."""

# C0 and C1 controls except tab and line feed; line separators; characters that change the direction of text; zero-width
# characters and fillers; the invisible copy of ASCII and the variation selectors, in which instructions are hidden;
# surrogate halves; noncharacters. Joiners, direction marks and the first 16 selectors stay as they are: scripts and
# emoji need them.
_INVISIBLE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ufdd0-\ufdef\ufffe\uffff\U000e0000-\U000e007f"
    "\xad\u034f\u115f\u1160\u180e\u200b\u2060-\u2064\u206a-\u206f\u3164\ufeff\uffa0\ufff9-\ufffb\U000e0100-\U000e01ef]"
    "|[\ud800-\udfff]+"
)


class Html(str):
    """Markup, which is inserted as it is."""

    __slots__ = ()


def tag(name: str, *children: str, **attributes: str | None) -> Html:
    """Return the element `name` around `children`. Attributes of None are left out; underscores become hyphens.

    >>> tag("b", "a < b", class_="cxa-key", title=None)
    '<b class="cxa-key">a &lt; b</b>'
    """
    written = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape_html(value)}"'
        for key, value in attributes.items()
        if value is not None
    )
    return Html(f"<{name}{written}>{''.join(map(escape_html, children))}</{name}>")


def join_html(*parts: str) -> Html:
    """Return `parts` one after the other, escaped if they aren't `Html`."""
    return Html("".join(map(escape_html, parts)))


def escape_html(text: str) -> str:
    """Return `text` escaped for an element or a quoted attribute."""
    return text if isinstance(text, Html) else escape(make_visible(text), quote=True)


def make_visible(text: str) -> str:
    """Return `text` with its invisible characters made visible; safe for a terminal, too.

    CR LF becomes a line feed, C0 controls become their pictures, surrogates U+FFFD, and others their number: ⟦U+202E⟧.
    """
    return _INVISIBLE.sub(_visible_form, text.replace("\r\n", "\n"))


def _visible_form(found: re.Match[str]) -> str:
    code = ord(found[0][0])
    if 0xD800 <= code <= 0xDFFF:
        return "\ufffd" * len(found[0])
    if code < 0x20:
        return chr(0x2400 + code)
    return "␡" if code == 0x7F else f"⟦U+{code:04X}⟧"


_RULES = files("ctxassembly.views").joinpath("page.css").read_text("utf-8")
STYLE = Html(f"<style>{_RULES.replace('.cxa ', '.cxa.cxa ')}</style>")
"""The style sheet of all views. A notebook has rules for all of its output: a class named twice outweighs them."""
CONTENT_SECURITY_POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
"""The content security policy of a page: it loads and runs nothing but its own style."""


def render_section(title: str, *content: str) -> Html:
    """Return a view as a part of a notebook: `content` below its title, with its style sheet.

    Each id is on the first element that has it. A link to an id that is nowhere, since its element had no room, goes.
    """
    view = tag("section", tag("h2", title), *content, class_="cxa", lang="en", aria_label=title)
    ids: dict[str, None] = {}

    def keep_first(found: re.Match[str]) -> str:
        kept = "" if found[1] in ids else found[0]
        ids[found[1]] = None
        return kept

    once = re.sub(r' id="([^"]*)"', keep_first, view)  # a quotation mark of a text is escaped, so this is an attribute
    return Html(STYLE + re.sub(r' href="#([^"]*)"', lambda found: found[0] if found[1] in ids else "", once))


def wrap_page(view: str) -> str:
    """Return a page around a view, ready for a file."""
    head = (
        '<meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1">'
        f'<meta http-equiv="Content-Security-Policy" content="{CONTENT_SECURITY_POLICY}">'
        "<title>What the model reads</title>"
    )
    return f'<!doctype html>\n<html lang="en"><head>{head}</head><body class="cxa-page">{view}</body></html>\n'


def split_at_marks(
    text: str, spans: Iterable[tuple[tuple[int, int], tuple[int, ...]]], start_offset: int = 0
) -> Iterator[tuple[str, tuple[int, ...]]]:
    """Yield `text` in parts, each with the numbers of the marks on it; plain text has none.

    `text` begins at offset `start_offset` of the text that `spans` refer to. Spans may be in any order, and overlap.

    >>> list(split_at_marks("Drink water.", [((0, 11), (0,)), ((6, 12), (1,))]))
    [('Drink ', (0,)), ('water', (0, 1)), ('.', (1,))]
    """
    numbers: dict[tuple[int, int], tuple[int, ...]] = {}
    for (start, end), own in spans:
        first, last = max(start - start_offset, 0), min(end - start_offset, len(text))
        if first < last:
            numbers[first, last] = numbers.get((first, last), ()) + own
    upcoming = sorted(numbers, reverse=True)
    active: list[tuple[int, int]] = []
    at = 0
    for cut in sorted({len(text), *(edge for span in numbers for edge in span)}):
        if at < cut:
            yield text[at:cut], tuple(sorted({number for span in active for number in numbers[span]}))
        at = cut
        while upcoming and upcoming[-1][0] == cut:
            active.append(upcoming.pop())
        active = [span for span in active if span[1] > cut]


def take_fitting(parts: Iterable[Html], max_bytes: int) -> list[Html]:
    """Return the first of `parts` that together have at most `max_bytes` bytes."""
    fitting = []
    for part in parts:
        max_bytes -= byte_size(part)
        if max_bytes < 0:
            break
        fitting.append(part)
    return fitting


def byte_size(markup: str) -> int:
    """Return the number of bytes of `markup` in UTF-8."""
    return len(markup.encode())


def truncate(text: object, limit: int) -> str:
    """Return `text`, cut to `limit` characters with an ellipsis at the end if it is longer."""
    whole = str(text)
    return whole if len(whole) <= limit else whole[: limit - 1] + "…"


def more_line(number: int, noun: str) -> Html:
    """Return a line with the number of items that aren't shown; empty for 0."""
    return tag("p", f"and {number:,} more {noun}", class_="cxa-more") if number > 0 else Html()


def table(
    caption: str,
    columns: Sequence[str],
    rows: Iterable[Sequence[str]],
    total: int = 0,
    noun: str = "rows",
    id_prefix: str | None = None,
) -> Html:
    """Return a table of the first of `rows` that fit, and the number of the rest of `total` rows.

    The first cell of a row is its header. With `id_prefix` each row has an id with its number, from 0.
    """
    classes = ["cxa-number" if name in NUMERIC_COLUMNS else None for name in columns]
    heads = [tag("th", name, scope="col", class_=css) for name, css in zip(columns, classes, strict=True)]

    def row(number: int, cells: Sequence[str]) -> Html:
        head = tag("th", cells[0], scope="row", class_=classes[0] or "cxa-id")
        others = (tag("td", cell, class_=css) for cell, css in zip(cells[1:], classes[1:], strict=True))
        return tag("tr", head, *others, id_=None if id_prefix is None else f"{id_prefix}{number}")

    shown = take_fitting(map(row, count(), rows), TABLE_BYTES)
    head, body = tag("thead", tag("tr", *heads)), tag("tbody", *shown)
    whole = tag("table", tag("caption", caption), head, body, class_="cxa-table")
    scroll = tag("div", whole, class_="cxa-wide", tabindex="0", role="region", aria_label=caption)
    return join_html(scroll, more_line(total - len(shown), noun))


def fold(summary: str, *content: str) -> Html:
    """Return `content` folded until the reader opens `summary`."""
    return tag("details", tag("summary", summary), *content)


def meter(share: float) -> Html:
    """Return a bar whose length is `share`, 0 to 1, of the column."""
    return tag("span", class_="cxa-meter", style=f"width:{share:.1%}")


def notes_list(notes: Sequence[str]) -> Html:
    """Return the notes of a trace, on fallbacks and repaired values; empty if there are none."""
    if not notes:
        return Html()
    lines = take_fitting((tag("li", truncate(note, NOTE_CHARS)) for note in notes), NOTES_BYTES)
    return join_html(tag("ul", *lines, class_="cxa-notes"), more_line(len(notes) - len(lines), "notes"))


def format_number(value: float | None, digits: int | None = None) -> str:
    """Return `value` with thousands separators; an en dash for None."""
    if value is None:
        return "–"
    return f"{value:,}" if digits is None else f"{value:,.{digits}f}"


def format_score(value: float | None) -> str:
    """Return a score in three significant figures; an en dash for None."""
    return "–" if value is None else f"{value:.3g}"


def format_share(part: float, whole: float) -> str:
    """Return `part` in percent of `whole`; "<1%" if it would round to 0.

    >>> format_share(1, 3), format_share(1, 1000)
    ('33%', '<1%')
    """
    return "<1%" if 0 < part / whole < 0.005 else f"{part / whole:.0%}"


# Metadata seldom says that a chunk is code, and never in one way, so the layout of the lines decides.
_PREFORMATTED_LINE = re.compile(
    r"^(?:\t|[ ]{2,})(?![-*+•‣o][ ]|\d{1,3}[.)][ ])\S"  # indented, and no list item
    r"|\S(?:[ ]{3,}|\t)\S"  # columns, further apart than the blanks after a sentence
    r"|\|.*\|"  # a row of a table
    r"|^\s*[-=+|][-=+| ]+$"  # a rule of a table
)


def is_preformatted(text: str) -> bool:
    r"""Return True if blanks or bars align two lines or more of `text`, and two fifths of its first 4,000 characters.

    >>> is_preformatted("def area(r):\n    square = r * r\n    return 3.14159 * square")
    True
    >>> is_preformatted("Drink water.\n  - Until two hours before.\n  - Then no more.")
    False
    """
    lines = [line for line in text[:4_000].split("\n") if line.strip()]
    matching = sum(_PREFORMATTED_LINE.search(line) is not None for line in lines)
    return matching >= max(2, 0.4 * len(lines))


def font_class(text: str) -> str:
    """Return the CSS class of preformatted `text`, with a blank before it; empty for running text."""
    return " cxa-mono" if is_preformatted(text) else ""
