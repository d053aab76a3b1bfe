"""The view of a context on a terminal. Only rich calls it, so rich is installed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.rule import Rule
from rich.table import Column, Table
from rich.text import Text

from ctxassembly.data.citations import ContextData
from ctxassembly.data.retrieval import Retrieved
from ctxassembly.data.trace import Decision, Trace
from ctxassembly.safe_repr import pluralize
from ctxassembly.views.budget import chunk_counts, exclusion_costs, token_usage, tokens_saved
from ctxassembly.views.context_text import split_runs
from ctxassembly.views.evidence import LocatedEvidence
from ctxassembly.views.evidence_report import evidence_status
from ctxassembly.views.html import format_number, format_score, make_visible, truncate
from ctxassembly.views.limits import ID_CHARS, NOTE_CHARS, VALUE_CHARS
from ctxassembly.views.names import DocumentNames
from ctxassembly.views.retrieval import HitTrace, count_by_channel, dropped_chunks, hit_traces
from ctxassembly.views.runs import BlockParts, TextRun, block_parts
from ctxassembly.views.summary import summarize
from ctxassembly.views.trace import OutrankedBy, is_excluded_hit

MAX_ROWS = 40
"""Most rows of a table, and of notes."""
_ASCII_MARKS = {ord("●"): "*", ord("○"): "o", ord("–"): "-"}


def render_encodable(renderables: Iterable[RenderableType], console: Console, options: ConsoleOptions) -> RenderResult:
    """Render `renderables` in characters that the console's encoding has: those of Windows often have no dots."""
    if options.encoding.startswith("utf"):
        yield from renderables
        return
    for part in renderables:
        for segment in console.render(part, options):
            text = segment.text.translate(_ASCII_MARKS).encode(options.encoding, "replace").decode(options.encoding)
            yield segment._replace(text=text)


def make_table(*columns: str | Column) -> Table:
    """A table that wraps its cells on a narrow terminal instead of cutting them off."""
    table = Table(*columns, box=None)
    for column in table.columns:
        column.overflow = "fold"
    return table


def numeric_columns(names: Iterable[str]) -> Iterator[Column]:
    """Columns of numbers. They are made anew for each table, since a column keeps its cells."""
    return (Column(name, justify="right") for name in names)


def text_cells(values: Iterable[str]) -> Iterator[Text]:
    """The cells of a row, as text that commands neither the terminal nor rich."""
    return (Text(make_visible(value)) for value in values)


def more_line(count: int, noun: str) -> Iterator[Text]:
    """The line that says how many more there are; none for 0."""
    if count > 0:
        yield Text(f"and {count:,} more {noun}", style="italic")


def render_retrieval(context: ContextData | None, retrieved: Retrieved | None) -> Iterator[Rule | Table | Text]:
    """The hits with their ranks and scores, the steps and what was lost; nothing if nothing is known of it."""
    traces = hit_traces(context, retrieved)
    if not traces and retrieved is None:
        return
    yield Rule("How it was found", align="left")
    if retrieved is not None:
        yield Text(make_visible(retrieved.trace.summary))
    if traces:
        yield Text(make_visible(count_by_channel(traces)))
        yield _hits_table(traces)
        yield from more_line(len(traces) - MAX_ROWS, "hits")
    else:
        yield Text("No hit says how it was found.")
    if retrieved is not None:
        yield from _retrieval_details(retrieved)


def _hits_table(traces: Sequence[HitTrace]) -> Table:
    """A rank in a channel stands before the score there."""
    why = Column("why it is here", min_width=24)
    table = make_table(
        *numeric_columns(("hit",)), "chunk", "found by", *numeric_columns(("vector", "keyword", "fused", "score")), why
    )
    for way in traces[:MAX_ROWS]:
        values = (
            f"{way.rank + 1}",
            truncate(way.chunk.id, ID_CHARS),
            truncate(way.found_by, ID_CHARS) or "–",
            _channel_cell(way.vector_rank, way.similarity),
            _channel_cell(way.keyword_rank, way.keyword_score),
            format_score(way.fused_score),
            format_score(way.score),
            truncate("; ".join(way.reasons), 2 * VALUE_CHARS) or "as fusion has it",
        )
        table.add_row(*text_cells(values))
    return table


def _channel_cell(rank: int | None, value: float | None) -> str:
    if rank is None:
        return format_score(value)
    return f"{rank + 1}." if value is None else f"{rank + 1}. {format_score(value)}"


def _retrieval_details(retrieved: Retrieved) -> Iterator[Table | Text]:
    """The steps, the chunks that they lost, and the notes."""
    if retrieved.trace.steps:
        steps = make_table("step", *numeric_columns(("chunks", "", "ms")))
        for step in retrieved.trace.steps:
            values = (
                step.name,
                format_number(step.chunks_in),
                f"-> {step.chunks_out:,}",
                format_number(step.elapsed_ms, 2),
            )
            steps.add_row(*text_cells(values))
        yield steps
    dropped, rest = dropped_chunks(retrieved, MAX_ROWS)
    if dropped:
        dropped_table = make_table("chunk", "lost at", "reason")
        for one in dropped:
            dropped_table.add_row(
                *text_cells((truncate(one.chunk_id, ID_CHARS), one.step, truncate(one.reason, VALUE_CHARS)))
            )
        yield dropped_table
    yield from more_line(rest, "chunks that were found and lost")
    for note in retrieved.trace.notes[:MAX_ROWS]:
        yield Text(make_visible(truncate(note, NOTE_CHARS)), style="italic")


def excluded_chunks(context: ContextData) -> Iterator[Table | Text]:
    """A row for each chunk without text of its own in the context; nothing if all stand."""
    excluded = [decision for decision in context.trace.decisions if not decision.is_in_context]
    if not excluded:
        return
    table = make_table("chunk", "rank", "distance", "score", "outcome", "reason", "because of", "tokens")
    for decision in excluded[:MAX_ROWS]:
        values = (
            truncate(decision.chunk_id, ID_CHARS),
            f"{decision.rank + 1}",
            f"{decision.distance}",
            format_score(decision.score),
            decision.outcome,
            truncate(decision.reason, VALUE_CHARS),
            truncate(decision.because_of or "–", ID_CHARS),
            format_number(decision.tokens),
        )
        table.add_row(*text_cells(values))
    yield table
    yield from more_line(len(excluded) - MAX_ROWS, "chunks that are not read")
    yield from _outranked_lines(context.trace, excluded, has_query=context.query is not None)


def _outranked_lines(trace: Trace, excluded: Sequence[Decision], *, has_query: bool) -> Iterator[Text]:
    """A line for each hit that was lost, on what beat it."""
    outranked_by = OutrankedBy(trace, has_query=has_query)
    for decision in filter(is_excluded_hit, excluded[:MAX_ROWS]):
        if by := outranked_by.describe(decision):
            yield Text(make_visible(f"Hit {decision.rank + 1}, {truncate(decision.chunk_id, ID_CHARS)}: {by}"))


MAX_CHARS = 20_000
"""Most characters of the context's text."""
BAR_WIDTH = 60
"""Characters of the bar."""
_COLORS = ("blue", "green", "magenta", "yellow", "red", "cyan")


def render_context(context: ContextData, evidence: tuple[LocatedEvidence, ...] = ()) -> Iterator[Rule | Text | Table]:
    """The text that the model reads, its cost, and what became of the other chunks and of `evidence`."""
    names = DocumentNames(context, "")
    colors = {document_id: _COLORS[place % len(_COLORS)] for place, document_id in enumerate(names.document_ids)}
    outcome, changes = summarize(context)
    yield Text.assemble((f"{outcome}. ", "bold"), changes)
    yield from _evidence_lines(context, evidence)
    yield Rule(f"What the model reads: {pluralize(context.token_count, 'token')}", align="left")
    yield from _text_lines(context, names, colors)
    yield Rule("The budget", align="left")
    yield from _budget_bar(context, names, colors)
    yield from render_retrieval(context, context.retrieved)
    yield Rule("How it got there", align="left")
    yield Text(" -> ".join(map(format_number, chunk_counts(context.trace))) + " chunks", style="bold")
    yield from _stages_table(context)
    yield from excluded_chunks(context)
    notes = context.trace.notes
    for note in notes[:MAX_ROWS]:
        yield Text(make_visible(truncate(note, NOTE_CHARS)), style="italic")
    yield from more_line(len(notes) - MAX_ROWS, "notes")


def _evidence_lines(context: ContextData, evidence: tuple[LocatedEvidence, ...]) -> Iterator[Rule | Text]:
    if evidence:
        read = sum(one.share_read >= 1 for one in evidence)
        yield Rule(f"Evidence: {read:,} of {pluralize(len(evidence), 'piece')} read", align="left")
    for one in evidence[:MAX_ROWS]:
        status, explanation = evidence_status(context, one)
        quote = make_visible(truncate(one.text, VALUE_CHARS))
        yield Text.assemble((status, "bold green" if one.share_read >= 1 else "bold red"), f": {explanation}: ", quote)
    yield from more_line(len(evidence) - MAX_ROWS, "pieces of evidence")


def _stages_table(context: ContextData) -> Iterator[Table | Text]:
    table = make_table("stage", *numeric_columns(("chunks", "", "ms")), "saved")
    savings = tokens_saved(context)
    for place, stage in enumerate(context.trace.stages):
        rules = "; ".join(
            f"{saving.rule}: {pluralize(saving.chunks, 'chunk')}"
            + ("" if saving.tokens is None else f", {pluralize(saving.tokens, 'token')}")
            for saving in savings
            if saving.stage_index == place
        )
        table.add_row(
            stage.name,
            format_number(stage.chunks_in),
            f"-> {stage.chunks_out:,}",
            format_number(stage.elapsed_ms, 2),
            rules,
        )
    yield table
    for reason in exclusion_costs(context.trace):
        cost = f", which would have cost {pluralize(reason.tokens, 'token')}" if reason.tokens else ""
        yield Text(f"Left out ({reason.reason}): {pluralize(reason.chunks, 'chunk')}{cost}")


def _text_lines(context: ContextData, names: DocumentNames, colors: dict[str, str]) -> Iterator[Text]:
    chars_left = MAX_CHARS
    parts_by_block = dict(block_parts(context))
    for block in context.blocks:
        if chars_left <= 0:
            break
        text = Text()
        if block.citation is not None:
            document = names.document(block.citation.document_id)
            color = colors[block.citation.document_id]
            text.append(f"{document.letter} ", style=f"bold {color}")
            parts = _styled_parts(parts_by_block[block], color)
        else:
            parts = iter([("", block.text, "dim")])
        for mark, words, style in parts:
            if chars_left <= 0:
                break
            text.append(mark, style=style).append(make_visible(words[:chars_left]), style=style)
            chars_left -= len(words)
        yield text.append("\n")
    yield from more_line(sum(len(block.text) for block in context.blocks) - MAX_CHARS, "characters")


def _styled_parts(parts: BlockParts, color: str) -> Iterator[tuple[str, str, str]]:
    """The parts of a block, which together are its text: for each the mark before it, its text and its style."""
    yield "", parts.header, "bold"
    yield "", parts.summary, "italic dim"
    for stretch in split_runs(parts.runs):
        mark = "".join(_run_mark(run) for run in stretch.marked_runs)
        candidate = stretch.run.candidate
        style = "dim" if candidate is None else color if candidate.is_hit else "not bold"
        yield mark, "", color
        yield "", stretch.text, style


def _run_mark(run: TextRun) -> str:
    if run.candidate is None or not run.is_chunk_start:
        return ""
    return f"{'●' if run.candidate.is_hit else '○'}{run.candidate.rank + 1} "


def _budget_bar(context: ContextData, names: DocumentNames, colors: dict[str, str]) -> Iterator[Text]:
    usage = token_usage(context)
    max_tokens = max(usage.total + usage.free, 1)
    own = [(names.document(name).letter, tokens, colors[name]) for name, tokens in usage.documents.items()]
    others = (
        ("around", usage.headers + usage.summaries + usage.joins, "dim"),
        ("supplement", usage.supplement, "dim"),
    )
    bar, so_far = Text(), 0
    signs = (*own, *((name[0], tokens, style) for name, tokens, style in others))
    for sign, tokens, style in signs:
        so_far += tokens  # round the end of each part, not its width: many small parts would all round to 0
        width = round(so_far / max_tokens * BAR_WIDTH) - len(bar)
        bar.append((sign * width)[: max(width, 0)], style=style)
    yield bar.append("." * (BAR_WIDTH - len(bar)), style="dim")
    rest = own[MAX_ROWS:]
    other_documents = (f"{len(rest):,} more documents", sum(tokens for _, tokens, _ in rest), "dim")
    legend = Text()
    for name, tokens, style in (*own[:MAX_ROWS], other_documents, *others):
        if tokens:
            legend.append(f"{name} {tokens:,}  ", style=style)
    yield legend.append(f"free {usage.free:,} of {max_tokens:,} {usage.unit}")
