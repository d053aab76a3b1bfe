"""A comparison on a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.table import Table
from rich.text import Text

from ctxassembly.comparing.compared import Compared, sources, titles
from ctxassembly.inspect.limits import ID_CHARS, ORDER_LABELS, VALUE_CHARS
from ctxassembly.inspect.look import letter
from ctxassembly.inspect.markup import shortened, visible
from ctxassembly.inspect.tables import number
from ctxassembly.inspect.terminal import right, ruled

_NUMBERS = ("tokens", "chunks", "documents", "passages", "mean run", "evidence")


def contrasted(rows: Sequence[Compared]) -> Iterator[Table | Text]:
    """A table with a row for each configuration and a letter for each document, then the names of the letters."""
    documents = {name: (letter(place), source) for place, (name, source) in enumerate(sources(rows).items())}
    table = ruled("configuration", *right(_NUMBERS), "order of labels")
    for title, row in zip(titles(rows, VALUE_CHARS), rows, strict=True):
        rest = len(row.order) - ORDER_LABELS
        numbers = (number(row.tokens), number(row.chunks), number(row.documents), number(row.passages))
        cells = (title, *numbers, number(row.mean_run_chars, 0), number(row.evidence, 2))
        order = " ".join(documents[document_id][0] for document_id, _ in row.order[:ORDER_LABELS])
        table.add_row(*(Text(visible(cell)) for cell in cells), order + (f" and {rest:,} more" if rest > 0 else ""))
    yield table
    for sign, source in documents.values():
        yield Text(f"{sign} {visible(shortened(source, ID_CHARS))}", style="dim")
