"""Views are Jinja templates, which escape whatever isn't markup of theirs.

Texts, ids, metadata and queries come from anywhere. None can end an element or an attribute. Characters that a person
can't see are made visible, since the model reads them all the same.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from importlib.resources import files
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from ctxassembly.safe_repr import pluralize

ID_CHARS = 60
"""Characters shown of an id, and of a file's name in a table."""
VALUE_CHARS = 120
"""Characters shown of a metadata value, a header or a reason."""
NOTE_CHARS = 300
"""Characters shown of a note, and of the query."""
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


_RULES = (files("ctxassembly.views") / "templates" / "page.css").read_text("utf-8")
STYLE = f"<style>{_RULES.replace('.cxa ', '.cxa.cxa ')}</style>"
"""The style sheet of all views. A notebook has rules for all of its output: a class named twice outweighs them."""


class Room:
    """Room for so many bytes of markup."""

    def __init__(self, max_bytes: int) -> None:
        self._bytes_left = max_bytes
        self.left_out: list[Any] = []
        """The items that had no room."""

    def take(self, render: Callable[[Any], str], items: Iterable[Any]) -> list[str]:
        """Return the markup of the first of `items`; with the first that has no room, all further ones are left out."""
        taken = []
        for item in items:
            markup = render(item) if self._bytes_left >= 0 else ""
            self._bytes_left -= len(markup.encode())
            if self._bytes_left >= 0:
                taken.append(markup)
            else:
                self.left_out.append(item)
        return taken


def truncate(text: object, limit: int) -> str:
    """Return `text`, cut to `limit` characters with an ellipsis at the end if it is longer."""
    whole = str(text)
    return whole if len(whole) <= limit else whole[: limit - 1] + "…"


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


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("ctxassembly.views"),
        autoescape=True,
        undefined=StrictUndefined,
        extensions=["jinja2.ext.do"],
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=lambda value: value if isinstance(value, Markup) else make_visible(str(value)),
    )
    environment.globals |= {
        "Room": Room,
        "numeric_columns": NUMERIC_COLUMNS,
        "table_bytes": TABLE_BYTES,
        "ID": ID_CHARS,
        "VALUE": VALUE_CHARS,
        "NOTE": NOTE_CHARS,
    }
    environment.filters |= {
        "cut": truncate,
        "number": format_number,
        "score": format_score,
        "share": format_share,
        "plural": pluralize,
    }
    return environment


def render(template: str, **values: Any) -> Markup:
    """Return the markup of a template."""
    return Markup(_environment().get_template(template).render(values))  # noqa: S704 - it is autoescaped


def _part(name: str, *values: Any) -> Markup:
    """Return what a macro of the template of parts makes."""
    part: Markup = getattr(_environment().get_template("parts.html").module, name)(*values)
    return part


def table(
    caption: str, columns: Sequence[str], rows: Iterable[Sequence[str]], total: int = 0, noun: str = "rows"
) -> Markup:
    """Return a table of the first of `rows` that fit, and the number of the rest of `total` rows.

    The first cell of a row is its header.
    """
    return _part("table", caption, columns, rows, total, noun)


def fold(summary: str, content: str) -> Markup:
    """Return `content` folded until the reader opens `summary`."""
    return _part("fold", summary, content)


def notes_list(notes: Sequence[str]) -> Markup:
    """Return the notes of a trace, on fallbacks and repaired values; empty if there are none."""
    return _part("notes_list", notes)


def render_section(title: str, *content: str) -> str:
    """Return a view as a part of a notebook: `content` below its title, with its style sheet.

    Each id is on the first element that has it. A link to an id that is nowhere, since its element had no room, goes.
    """
    view = str(render("section.html", title=title, content=content))
    ids: dict[str, None] = {}

    def keep_first(found: re.Match[str]) -> str:
        kept = "" if found[1] in ids else found[0]
        ids[found[1]] = None
        return kept

    once = re.sub(r' id="([^"]*)"', keep_first, view)  # a quotation mark of a text is escaped, so this is an attribute
    return STYLE + re.sub(r' href="#([^"]*)"', lambda found: found[0] if found[1] in ids else "", once)


def wrap_page(view: str) -> str:
    """Return a page around a view, ready for a file. It loads and runs nothing but its own style."""
    return str(render("page.html", view=Markup(view)))  # noqa: S704 - what `render_section` has made


def split_at_marks(
    text: str, spans: Iterable[tuple[tuple[int, int], tuple[int, ...]]], start_offset: int = 0
) -> Iterator[tuple[str, tuple[int, ...]]]:
    """Yield `text` in parts, each with the numbers of the marks on it; plain text has none.

    `text` begins at offset `start_offset` of the text that `spans` refer to. Spans may be in any order, and overlap.

    >>> list(split_at_marks("Drink water.", [((0, 11), (0,)), ((6, 12), (1,))]))
    [('Drink ', (0,)), ('water', (0, 1)), ('.', (1,))]
    """
    edges: dict[int, list[tuple[bool, tuple[int, ...]]]] = {len(text): []}
    for (start, end), numbers in spans:
        first, last = max(start - start_offset, 0), min(end - start_offset, len(text))
        if first < last:
            edges.setdefault(first, []).append((True, numbers))
            edges.setdefault(last, []).append((False, numbers))
    active: Counter[int] = Counter()
    at = 0
    for edge in sorted(edges):
        if at < edge:
            yield text[at:edge], tuple(sorted(+active))
        at = edge
        for begins, numbers in edges[edge]:
            (active.update if begins else active.subtract)(numbers)
