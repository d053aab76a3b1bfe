"""The numbers of a comparison on a terminal. Requires rich."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.table import Table
from rich.text import Text

from ctxassembly.comparison.rows import ComparisonRow, document_sources, row_numbers, row_titles
from ctxassembly.views.html import ID_CHARS, VALUE_CHARS, make_visible, truncate
from ctxassembly.views.style import document_letter
from ctxassembly.views.terminal import add_row, make_table

_NUMBERS = ("tokens", "chunks", "documents", "passages", "mean run", "evidence")


def render_rows(rows: Sequence[ComparisonRow], setting: str = "configuration") -> Iterator[Table | Text]:
    """Yield a table with a row for each configuration, and the letters of the documents."""
    sources = document_sources(rows)
    letters = {document_id: document_letter(number) for number, document_id in enumerate(sources)}
    table = make_table(setting, *_NUMBERS, "order of labels", numeric=_NUMBERS)
    for title, row in zip(row_titles(rows, VALUE_CHARS), rows, strict=True):
        order = " ".join(letters[document_id] for document_id in row.document_order)
        add_row(table, title, *row_numbers(row), order + row.more_labels)
    yield table
    for document_id, source in sources.items():
        yield Text(f"{letters[document_id]} {make_visible(truncate(source, ID_CHARS))}", style="dim")
