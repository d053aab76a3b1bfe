"""A comparison on a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.rule import Rule
from rich.table import Column, Table
from rich.text import Text

from ctxassembly.comparison.align import AlignedDocument, SentenceRow, align_documents, sentences_by_document
from ctxassembly.comparison.row import AbsenceReasons, ComparisonRow, document_sources, row_titles
from ctxassembly.views.html import format_number, make_visible, truncate
from ctxassembly.views.limits import ID_CHARS, MAX_LABELS, VALUE_CHARS
from ctxassembly.views.style import document_letter
from ctxassembly.views.terminal import make_table, numeric_columns

MAX_CHARS = 20_000
"""Most characters of the texts that differ."""
_NUMERIC_COLUMNS = ("tokens", "chunks", "documents", "passages", "mean run", "evidence")


def render_comparison(rows: Sequence[ComparisonRow]) -> Iterator[Table | Text | Rule]:
    """A row for each configuration, the letters of the documents, and the texts that some contexts lack."""
    documents = {
        name: (document_letter(place), source) for place, (name, source) in enumerate(document_sources(rows).items())
    }
    table = make_table("configuration", *numeric_columns(_NUMERIC_COLUMNS), "order of labels")
    for title, row in zip(row_titles(rows, VALUE_CHARS), rows, strict=True):
        rest = len(row.order) - MAX_LABELS
        numbers = (
            format_number(row.tokens),
            format_number(row.chunks),
            format_number(row.documents),
            format_number(row.passages),
        )
        cells = (title, *numbers, format_number(row.mean_passage_chars, 0), format_number(row.evidence, 2))
        order = " ".join(documents[document_id][0] for document_id, _ in row.order[:MAX_LABELS])
        table.add_row(
            *(Text(make_visible(cell)) for cell in cells), order + (f" and {rest:,} more" if rest > 0 else "")
        )
    yield table
    for sign, source in documents.values():
        yield Text(f"{sign} {make_visible(truncate(source, ID_CHARS))}", style="dim")
    if len(rows) > 1:
        yield from _render_differences(rows)


def render_slider(stops: Sequence[ComparisonRow], setting: str) -> Iterator[Table]:
    """A row for each stop of a slider, with the sentences that are new there and those that it lost."""
    table = make_table(
        Column(Text(make_visible(setting))), *numeric_columns((*_NUMERIC_COLUMNS, "new sentences", "lost sentences"))
    )
    previous: set[str] | None = None
    for title, stop in zip(row_titles(stops, VALUE_CHARS), stops, strict=True):
        sentences = {one.normalized for found in sentences_by_document(stop.context).values() for one in found}
        numbers = (
            format_number(stop.tokens),
            format_number(stop.chunks),
            format_number(stop.documents),
            format_number(stop.passages),
        )
        changes = (None, None) if previous is None else (len(sentences - previous), len(previous - sentences))
        cells = (
            title,
            *numbers,
            format_number(stop.mean_passage_chars, 0),
            format_number(stop.evidence, 2),
            *map(format_number, changes),
        )
        table.add_row(*(Text(make_visible(cell)) for cell in cells))
        previous = sentences
    yield table


def _render_differences(rows: Sequence[ComparisonRow]) -> Iterator[Table | Text | Rule]:
    """For each document in which the contexts differ a table with what only some of them have."""
    names, chars_left, left_chars = row_titles(rows, ID_CHARS), MAX_CHARS, 0
    document_names = document_sources(rows, None)
    absences = [AbsenceReasons.from_context(row.context) for row in rows]
    yield Rule("What differs, sentence by sentence", align="left")
    are_alike = True
    for row in align_documents([row.context for row in rows]):
        bands = [band for band in row.rows if not band.is_shared]
        table = Table(*(Column(Text(make_visible(name)), ratio=1, overflow="fold") for name in names), expand=True)
        for band in bands:
            cost = sum(len(one.text) for cell in band.cells for one in cell)
            if left_chars or cost > chars_left:
                left_chars += cost
                continue
            chars_left -= cost
            table.add_row(*_band_cells(band, row, absences), end_section=True)
        if table.row_count:
            yield Text(
                make_visible(truncate(document_names.get(row.document_id, row.document_id), ID_CHARS)), style="bold"
            )
            yield table
        are_alike = are_alike and not bands
    if are_alike:
        yield Text("Nothing: all contexts have the same sentences, in the same order within each document.")
    if left_chars:
        yield Text(f"and {left_chars:,} more characters", style="italic")


def _band_cells(band: SentenceRow, row: AlignedDocument, absences: Sequence[AbsenceReasons]) -> Iterator[Text]:
    for at, cell in enumerate(band.cells):
        if cell:
            yield Text(make_visible("".join(one.text for one in cell).rstrip()))
        else:
            missing = [one for other in band.cells for one in other]
            yield Text(make_visible(absences[at].explain(missing, row.sentences[at])), style="italic dim")
