"""What every view on a terminal is made of: tables, and characters that the terminal has."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.table import Column, Table
from rich.text import Text

from ctxassembly.inspect.markup import visible

SHOWN_ROWS = 40
"""Most rows of a table, and of notes."""
_PLAIN = {ord("●"): "*", ord("○"): "o", ord("–"): "-"}


def printed(shown: Iterable[RenderableType], console: Console, options: ConsoleOptions) -> RenderResult:
    """Render `shown` in characters that the console's encoding has: those of Windows often have no dots."""
    if options.encoding.startswith("utf"):
        yield from shown
        return
    for part in shown:
        for segment in console.render(part, options):
            text = segment.text.translate(_PLAIN).encode(options.encoding, "replace").decode(options.encoding)
            yield segment._replace(text=text)


def ruled(*columns: str | Column) -> Table:
    """A table that wraps its cells on a narrow terminal instead of cutting them off."""
    table = Table(*columns, box=None)
    for column in table.columns:
        column.overflow = "fold"
    return table


def right(names: Iterable[str]) -> Iterator[Column]:
    """Columns of numbers. They are made anew for each table, since a column keeps its cells."""
    return (Column(name, justify="right") for name in names)


def cells(values: Iterable[str]) -> Iterator[Text]:
    """The cells of a row, as text that commands neither the terminal nor rich."""
    return (Text(visible(value)) for value in values)


def more(left: int, what: str) -> Iterator[Text]:
    """The line that says how many more there are; none for 0."""
    if left > 0:
        yield Text(f"and {left:,} more {what}", style="italic")
