"""Tables and folds as every view writes them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ctxassembly.inspect.markup import Html, tag


def table(caption: str, columns: Sequence[str], rows: Iterable[Html], numbers: Sequence[int] = ()) -> Html:
    """A table with `columns` as its header. `numbers` has the indexes of the columns aligned to the right."""
    heads = [
        tag("th", name, scope="col", class_="cxa-number" if place in numbers else None)
        for place, name in enumerate(columns)
    ]
    head, body = tag("thead", tag("tr", *heads)), tag("tbody", *rows)
    whole = tag("table", tag("caption", caption), head, body, class_="cxa-table")
    return tag("div", whole, class_="cxa-wide", tabindex="0", role="region", aria_label=caption)


def row(*cells: str, numbers: Sequence[int] = (), id_: str | None = None) -> Html:
    """A row of `cells`, the first of which names it."""
    written = [
        tag(
            "td" if place else "th",
            cell,
            scope=None if place else "row",
            class_="cxa-number" if place in numbers else None if place else "cxa-id",
        )
        for place, cell in enumerate(cells)
    ]
    return tag("tr", *written, id_=id_)


def fold(summary: str, *inside: str, class_: str | None = None) -> Html:
    """`inside`, folded until the reader opens `summary`, which has the CSS classes `class_`."""
    return tag("details", tag("summary", summary, class_=class_), *inside)


def meter(part: float) -> Html:
    """A bar whose length is `part` of the column, from 0 to 1."""
    return tag("span", class_="cxa-meter", style=f"width:{part:.1%}")


def number(value: float | None, digits: int | None = None) -> str:
    """`value` with thousands separators; an en dash for None."""
    if value is None:
        return "–"
    return f"{value:,}" if digits is None else f"{value:,.{digits}f}"


def score(value: float | None) -> str:
    """A score in three significant figures; an en dash for None."""
    return "–" if value is None else f"{value:.3g}"


def share(part: float, whole: float) -> str:
    """`part` in percent of `whole`; "<1%" if it would round to 0.

    >>> share(1, 3), share(1, 1000)
    ('33%', '<1%')
    """
    return "<1%" if 0 < part / whole < 0.005 else f"{part / whole:.0%}"
