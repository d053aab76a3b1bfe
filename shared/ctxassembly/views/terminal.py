"""The view of a context on a terminal: a summary, the evidence, the budget, and the chunks left out. Requires rich."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.rule import Rule
from rich.table import Table
from rich.text import Text

from ctxassembly.data.citations import ContextData
from ctxassembly.data.retrieval import Retrieved
from ctxassembly.safe_repr import pluralize
from ctxassembly.views.budget import chunk_counts, summarize, usage_parts
from ctxassembly.views.evidence import LocatedEvidence, count_read, evidence_status
from ctxassembly.views.html import NOTE_CHARS, NUMERIC_COLUMNS, VALUE_CHARS, format_number, make_visible, truncate
from ctxassembly.views.model import DECISION_CELLS, name_context_documents
from ctxassembly.views.retrieval import count_by_channel, dropped_chunks

MAX_ROWS = 40
"""Most rows of a table, and of notes."""
_EXCLUDED_COLUMNS = ("chunk", "rank", "distance", "score", "outcome", "reason", "because of", "tokens")


def render_encodable(renderables: Iterable[RenderableType], console: Console, options: ConsoleOptions) -> RenderResult:
    """Render `renderables` in characters that the console's encoding has, which on Windows often isn't UTF-8."""
    for part in renderables:
        for segment in console.render(part, options):
            text = segment.text.replace("–", "-") if not options.encoding.startswith("utf") else segment.text
            yield segment._replace(text=text.encode(options.encoding, "replace").decode(options.encoding))


def make_table(*columns: str) -> Table:
    """Return a table that wraps its cells on a narrow terminal instead of cutting them off."""
    table = Table(box=None)
    for name in columns:
        table.add_column(make_visible(name), overflow="fold", justify="right" if name in NUMERIC_COLUMNS else "left")
    return table


def add_row(table: Table, *cells: str) -> None:
    """Add a row of `cells` as text that controls neither the terminal nor rich."""
    table.add_row(*(Text(make_visible(cell)) for cell in cells))


def render_context(context: ContextData, evidence: Sequence[LocatedEvidence] = ()) -> Iterator[Rule | Text | Table]:
    """Yield a summary, the outcome of `evidence`, the cost of the text, the chunks left out, and the notes."""
    outcome, changes = summarize(context)
    yield Text.assemble((f"{outcome}. ", "bold"), changes)
    yield from _evidence_lines(context, evidence)
    yield Rule(f"What the model reads: {pluralize(context.token_count, 'token')}", align="left")
    yield _budget_table(context)
    yield Text(" -> ".join(map(format_number, chunk_counts(context.trace))) + " chunks", style="bold")
    yield from _excluded_chunks(context)
    yield from _note_lines(context.trace.notes)
    if context.retrieved is not None:
        yield from render_retrieval(context.retrieved)


def render_retrieval(retrieved: Retrieved) -> Iterator[Rule | Text | Table]:
    """Yield the number of hits by channel, the chunks that were found and dropped, and the notes."""
    yield Rule("How it was found", align="left")
    yield Text(make_visible(retrieved.trace.summary))
    yield Text(make_visible(count_by_channel(retrieved)))
    dropped, rest = dropped_chunks(retrieved, MAX_ROWS)
    if dropped:
        table = make_table("chunk", "dropped at", "reason")
        for cells in dropped:
            add_row(table, *cells)
        yield table
    yield from _more_line(rest, "chunks that were found and dropped")
    yield from _note_lines(retrieved.trace.notes)


def _evidence_lines(context: ContextData, evidence: Sequence[LocatedEvidence]) -> Iterator[Rule | Text]:
    if evidence:
        yield Rule(count_read(evidence), align="left")
    for one in evidence[:MAX_ROWS]:
        status, explanation = evidence_status(context, one)
        quote = make_visible(truncate(one.text, VALUE_CHARS))
        yield Text.assemble((status, "bold green" if one.share_read >= 1 else "bold red"), f": {explanation}: ", quote)
    yield from _more_line(len(evidence) - MAX_ROWS, "pieces of evidence")


def _budget_table(context: ContextData) -> Table:
    unit, parts = usage_parts(context, name_context_documents(context))
    table = make_table("budget", unit)
    for part in parts:
        add_row(table, part.name, format_number(part.amount))
    return table


def _excluded_chunks(context: ContextData) -> Iterator[Table | Text]:
    """Yield a row for each chunk without text of its own in the context; nothing if there are none."""
    excluded = [decision for decision in context.trace.decisions if not decision.is_in_context]
    if not excluded:
        return
    table = make_table(*_EXCLUDED_COLUMNS)
    for decision in excluded[:MAX_ROWS]:
        add_row(table, *(DECISION_CELLS[column](decision) for column in _EXCLUDED_COLUMNS))
    yield table
    yield from _more_line(len(excluded) - MAX_ROWS, "chunks that are not read")


def _note_lines(notes: Sequence[str]) -> Iterator[Text]:
    for note in notes[:MAX_ROWS]:
        yield Text(make_visible(truncate(note, NOTE_CHARS)), style="italic")
    yield from _more_line(len(notes) - MAX_ROWS, "notes")


def _more_line(count: int, noun: str) -> Iterator[Text]:
    if count > 0:
        yield Text(f"and {count:,} more {noun}", style="italic")
