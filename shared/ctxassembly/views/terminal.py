"""The view of a context on a terminal. Only rich calls it, so rich is installed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.rule import Rule
from rich.table import Column, Table
from rich.text import Text

from ctxassembly.data.citations import Assembled
from ctxassembly.data.retrieval import Retrieved
from ctxassembly.data.trace import Decision, Trace
from ctxassembly.safe_repr import counted
from ctxassembly.views.budget import funnel, left_out, saved, spent
from ctxassembly.views.context_text import stretches
from ctxassembly.views.evidence import Located
from ctxassembly.views.evidence_report import verdict
from ctxassembly.views.html import number, score, shortened, visible
from ctxassembly.views.limits import ID_CHARS, NOTE_CHARS, VALUE_CHARS
from ctxassembly.views.names import Names
from ctxassembly.views.retrieval import Way, lost, searched, ways
from ctxassembly.views.runs import Run, Share, shares
from ctxassembly.views.summary import lede
from ctxassembly.views.trace import Beaten, is_lost

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


def found_how(context: Assembled | None, retrieved: Retrieved | None) -> Iterator[Rule | Table | Text]:
    """The hits with their ranks and scores, the steps and what was lost; nothing if nothing is known of it."""
    found = ways(context, retrieved)
    if not found and retrieved is None:
        return
    yield Rule("How it was found", align="left")
    if retrieved is not None:
        yield Text(visible(retrieved.trace.summary))
    if found:
        yield Text(visible(searched(found)))
        yield _hits(found)
        yield from more(len(found) - SHOWN_ROWS, "hits")
    else:
        yield Text("No hit says how it was found.")
    if retrieved is not None:
        yield from _around(retrieved)


def _hits(found: Sequence[Way]) -> Table:
    """A rank in a channel stands before the score there."""
    why = Column("why it is here", min_width=24)
    table = ruled(*right(("hit",)), "chunk", "found by", *right(("vector", "keyword", "fused", "score")), why)
    for way in found[:SHOWN_ROWS]:
        values = (
            f"{way.place + 1}",
            shortened(way.chunk.id, ID_CHARS),
            shortened(way.by, ID_CHARS) or "–",
            _channel(way.vector_rank, way.similarity),
            _channel(way.keyword_rank, way.keyword_score),
            score(way.fused_score),
            score(way.score),
            shortened("; ".join(way.why), 2 * VALUE_CHARS) or "as fusion has it",
        )
        table.add_row(*cells(values))
    return table


def _channel(rank: int | None, value: float | None) -> str:
    if rank is None:
        return score(value)
    return f"{rank + 1}." if value is None else f"{rank + 1}. {score(value)}"


def _around(retrieved: Retrieved) -> Iterator[Table | Text]:
    """The steps, the chunks that they lost, and the notes."""
    if retrieved.trace.steps:
        steps = ruled("step", *right(("chunks", "", "ms")))
        for step in retrieved.trace.steps:
            values = step.name, number(step.chunks_in), f"-> {step.chunks_out:,}", number(step.elapsed_ms, 2)
            steps.add_row(*cells(values))
        yield steps
    missed, rest = lost(retrieved, SHOWN_ROWS)
    if missed:
        gone = ruled("chunk", "lost at", "reason")
        for one in missed:
            gone.add_row(*cells((shortened(one.chunk_id, ID_CHARS), one.step, shortened(one.reason, VALUE_CHARS))))
        yield gone
    yield from more(rest, "chunks that were found and lost")
    for note in retrieved.trace.notes[:SHOWN_ROWS]:
        yield Text(visible(shortened(note, NOTE_CHARS)), style="italic")


def unread(context: Assembled) -> Iterator[Table | Text]:
    """A row for each chunk without text of its own in the context; nothing if all stand."""
    found = [decision for decision in context.trace.decisions if not decision.stands]
    if not found:
        return
    table = ruled("chunk", "rank", "distance", "score", "outcome", "reason", "because of", "tokens")
    for decision in found[:SHOWN_ROWS]:
        values = (
            shortened(decision.chunk_id, ID_CHARS),
            f"{decision.rank + 1}",
            f"{decision.distance}",
            score(decision.score),
            decision.outcome,
            shortened(decision.reason, VALUE_CHARS),
            shortened(decision.because_of or "–", ID_CHARS),
            number(decision.tokens),
        )
        table.add_row(*cells(values))
    yield table
    yield from more(len(found) - SHOWN_ROWS, "chunks that are not read")
    yield from _beaten(context.trace, found, asked=context.query is not None)


def _beaten(trace: Trace, found: Sequence[Decision], *, asked: bool) -> Iterator[Text]:
    """A line for each hit that was lost, on what beat it."""
    beaten = Beaten(trace, asked=asked)
    for decision in filter(is_lost, found[:SHOWN_ROWS]):
        if by := beaten.by(decision):
            yield Text(visible(f"Hit {decision.rank + 1}, {shortened(decision.chunk_id, ID_CHARS)}: {by}"))


SHOWN_CHARS = 20_000
"""Most characters of the context's text."""
BAR = 60
"""Characters of the bar."""
_COLOURS = ("blue", "green", "magenta", "yellow", "red", "cyan")


def shown(context: Assembled, found: tuple[Located, ...] = ()) -> Iterator[Rule | Text | Table]:
    """The text that the model reads, its cost, and what became of the other chunks and of the evidence in `found`."""
    names = Names(context, "")
    colours = {document_id: _COLOURS[place % len(_COLOURS)] for place, document_id in enumerate(names.ids)}
    became, done = lede(context)
    yield Text.assemble((f"{became}. ", "bold"), done)
    yield from _evidence(context, found)
    yield Rule(f"What the model reads: {counted(context.token_count, 'token')}", align="left")
    yield from _text(context, names, colours)
    yield Rule("The budget", align="left")
    yield from _bar(context, names, colours)
    yield from found_how(context, context.retrieved)
    yield Rule("How it got there", align="left")
    yield Text(" -> ".join(map(number, funnel(context.trace))) + " chunks", style="bold")
    yield from _stages(context)
    yield from unread(context)
    notes = context.trace.notes
    for note in notes[:SHOWN_ROWS]:
        yield Text(visible(shortened(note, NOTE_CHARS)), style="italic")
    yield from more(len(notes) - SHOWN_ROWS, "notes")


def _evidence(context: Assembled, found: tuple[Located, ...]) -> Iterator[Rule | Text]:
    if found:
        read = sum(one.share >= 1 for one in found)
        yield Rule(f"Evidence: {read:,} of {counted(len(found), 'piece')} read", align="left")
    for one in found[:SHOWN_ROWS]:
        outcome, where = verdict(context, one)
        quoted = visible(shortened(one.said, VALUE_CHARS))
        yield Text.assemble((outcome, "bold green" if one.share >= 1 else "bold red"), f": {where}: ", quoted)
    yield from more(len(found) - SHOWN_ROWS, "pieces of evidence")


def _stages(context: Assembled) -> Iterator[Table | Text]:
    table = ruled("stage", *right(("chunks", "", "ms")), "saved")
    savings = saved(context)
    for place, stage in enumerate(context.trace.stages):
        rules = "; ".join(
            f"{saving.rule}: {counted(saving.chunks, 'chunk')}"
            + ("" if saving.tokens is None else f", {counted(saving.tokens, 'token')}")
            for saving in savings
            if saving.stage == place
        )
        table.add_row(
            stage.name, number(stage.chunks_in), f"-> {stage.chunks_out:,}", number(stage.elapsed_ms, 2), rules
        )
    yield table
    for reason in left_out(context.trace):
        cost = f", which would have cost {counted(reason.tokens, 'token')}" if reason.tokens else ""
        yield Text(f"Left out ({reason.reason}): {counted(reason.chunks, 'chunk')}{cost}")


def _text(context: Assembled, names: Names, colours: dict[str, str]) -> Iterator[Text]:
    room = SHOWN_CHARS
    parts = dict(shares(context))
    for block in context.blocks:
        if room <= 0:
            break
        text = Text()
        if block.citation is not None:
            document = names.document(block.citation.document_id)
            colour = colours[block.citation.document_id]
            text.append(f"{document.letter} ", style=f"bold {colour}")
            written = _styled(parts[block], colour)
        else:
            written = iter([("", block.text, "dim")])
        for mark, words, style in written:
            if room <= 0:
                break
            text.append(mark, style=style).append(visible(words[:room]), style=style)
            room -= len(words)
        yield text.append("\n")
    yield from more(sum(len(block.text) for block in context.blocks) - SHOWN_CHARS, "characters")


def _styled(share: Share, colour: str) -> Iterator[tuple[str, str, str]]:
    """The parts of a block, which together are its text: for each the mark before it, its text and its style."""
    yield "", share.header, "bold"
    yield "", share.summary, "italic dim"
    for stretch in stretches(share.runs):
        mark = "".join(_mark(run) for run in stretch.marked)
        candidate = stretch.run.candidate
        style = "dim" if candidate is None else colour if candidate.is_hit else "not bold"
        yield mark, "", colour
        yield "", stretch.text, style


def _mark(run: Run) -> str:
    if run.candidate is None or not run.begins:
        return ""
    return f"{'●' if run.candidate.is_hit else '○'}{run.candidate.rank + 1} "


def _bar(context: Assembled, names: Names, colours: dict[str, str]) -> Iterator[Text]:
    spending = spent(context)
    room = max(spending.total + spending.free, 1)
    own = [(names.document(name).letter, tokens, colours[name]) for name, tokens in spending.documents.items()]
    others = (
        ("around", spending.headers + spending.summaries + spending.joints, "dim"),
        ("supplement", spending.supplement, "dim"),
    )
    bar, so_far = Text(), 0
    signs = (*own, *((name[0], tokens, style) for name, tokens, style in others))
    for sign, tokens, style in signs:
        so_far += tokens  # round the end of each part, not its width: many small parts would all round to 0
        width = round(so_far / room * BAR) - len(bar)
        bar.append((sign * width)[: max(width, 0)], style=style)
    yield bar.append("." * (BAR - len(bar)), style="dim")
    rest = own[SHOWN_ROWS:]
    others_of_them = (f"{len(rest):,} more documents", sum(tokens for _, tokens, _ in rest), "dim")
    legend = Text()
    for name, tokens, style in (*own[:SHOWN_ROWS], others_of_them, *others):
        if tokens:
            legend.append(f"{name} {tokens:,}  ", style=style)
    yield legend.append(f"free {spending.free:,} of {room:,} {spending.unit}")
