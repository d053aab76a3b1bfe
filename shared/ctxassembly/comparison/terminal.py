"""A comparison on a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.rule import Rule
from rich.table import Column, Table
from rich.text import Text

from ctxassembly.comparison.align import Band, Row, sentences_by_document, side_by_side
from ctxassembly.comparison.row import Absent, Compared, sources, titles
from ctxassembly.views.html import number, shortened, visible
from ctxassembly.views.limits import ID_CHARS, ORDER_LABELS, VALUE_CHARS
from ctxassembly.views.style import letter
from ctxassembly.views.terminal import right, ruled

SHOWN_CHARS = 20_000
"""Most characters of the texts that differ."""
_NUMBERS = ("tokens", "chunks", "documents", "passages", "mean run", "evidence")


def contrasted(rows: Sequence[Compared]) -> Iterator[Table | Text | Rule]:
    """A row for each configuration, the letters of the documents, and the texts that some contexts lack."""
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
    if len(rows) > 1:
        yield from _differing(rows)


def moved(stops: Sequence[Compared], of: str) -> Iterator[Table]:
    """A row for each stop of a slider, with the sentences that are new there and those that it lost."""
    table = ruled(Column(Text(visible(of))), *right((*_NUMBERS, "new sentences", "lost sentences")))
    before: set[str] | None = None
    for title, stop in zip(titles(stops, VALUE_CHARS), stops, strict=True):
        read = {one.words for found in sentences_by_document(stop.context).values() for one in found}
        numbers = (number(stop.tokens), number(stop.chunks), number(stop.documents), number(stop.passages))
        against = (None, None) if before is None else (len(read - before), len(before - read))
        cells = (title, *numbers, number(stop.mean_run_chars, 0), number(stop.evidence, 2), *map(number, against))
        table.add_row(*(Text(visible(cell)) for cell in cells))
        before = read
    yield table


def _differing(rows: Sequence[Compared]) -> Iterator[Table | Text | Rule]:
    """For each document in which the contexts differ a table with what only some of them have."""
    names, room, left = titles(rows, ID_CHARS), SHOWN_CHARS, 0
    known = sources(rows, None)
    absent = [Absent.of(row.context) for row in rows]
    yield Rule("What differs, sentence by sentence", align="left")
    alike = True
    for row in side_by_side([row.context for row in rows]):
        bands = [band for band in row.bands if not band.same]
        table = Table(*(Column(Text(visible(name)), ratio=1, overflow="fold") for name in names), expand=True)
        for band in bands:
            cost = sum(len(one.text) for cell in band.cells for one in cell)
            if left or cost > room:
                left += cost
                continue
            room -= cost
            table.add_row(*_cells(band, row, absent), end_section=True)
        if table.row_count:
            yield Text(visible(shortened(known.get(row.document_id, row.document_id), ID_CHARS)), style="bold")
            yield table
        alike = alike and not bands
    if alike:
        yield Text("Nothing: all contexts have the same sentences, in the same order within each document.")
    if left:
        yield Text(f"and {left:,} more characters", style="italic")


def _cells(band: Band, row: Row, absent: Sequence[Absent]) -> Iterator[Text]:
    for at, cell in enumerate(band.cells):
        if cell:
            yield Text(visible("".join(one.text for one in cell).rstrip()))
        else:
            lacking = [one for other in band.cells for one in other]
            yield Text(visible(absent[at].why(lacking, row.known[at])), style="italic dim")
