"""The view of a context on a terminal. Only rich calls it, so rich is installed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.rule import Rule
from rich.table import Column, Table
from rich.text import Text

from ctxassembly.data.assembled import Assembled
from ctxassembly.inspect.documents import Names
from ctxassembly.inspect.lede import counted, lede
from ctxassembly.inspect.limits import ID_CHARS, NOTE_CHARS, VALUE_CHARS
from ctxassembly.inspect.markup import shortened, visible
from ctxassembly.inspect.runs import Share, shares
from ctxassembly.inspect.savings import left_out, saved
from ctxassembly.inspect.tables import number, score
from ctxassembly.inspect.tally import funnel, spent

SHOWN_CHARS = 20_000
"""Most characters of the context's text."""
SHOWN_ROWS = 40
"""Most rows of chunks that the model doesn't read, and of notes."""
BAR = 60
"""Characters of the bar."""
_PLAIN = {ord("●"): "*", ord("○"): "o", ord("–"): "-"}
_COLOURS = ("blue", "green", "magenta", "yellow", "red", "cyan")


def shown(context: Assembled) -> Iterator[Rule | Text | Table]:
    """The text that the model reads, its cost, and what became of the other chunks."""
    names = Names(context, "")
    colours = {document_id: _COLOURS[place % len(_COLOURS)] for place, document_id in enumerate(names.ids)}
    became, done = lede(context)
    yield Text.assemble((f"{became}. ", "bold"), done)
    yield Rule(f"What the model reads: {counted(context.token_count, 'token')}", align="left")
    yield from _text(context, names, colours)
    yield Rule("The budget", align="left")
    yield from _bar(context, names, colours)
    yield Rule("How it got there", align="left")
    yield Text(" -> ".join(map(number, funnel(context.trace))) + " chunks", style="bold")
    yield from _stages(context)
    yield from _dropped(context)
    notes = context.trace.notes
    for note in notes[:SHOWN_ROWS]:
        yield Text(visible(shortened(note, NOTE_CHARS)), style="italic")
    yield from _more(len(notes) - SHOWN_ROWS, "notes")


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
    yield from _more(sum(len(block.text) for block in context.blocks) - SHOWN_CHARS, "characters")


def _styled(share: Share, colour: str) -> Iterator[tuple[str, str, str]]:
    """The parts of a block, which together are its text: for each the mark before it, its text and its style."""
    yield "", share.header, "bold"
    yield "", share.summary, "italic dim"
    for run in share.runs:
        if run.candidate is None:
            yield "", run.text, "dim"
            continue
        hit = run.candidate.is_hit
        if run.begins:
            yield f"{'●' if hit else '○'}{run.candidate.rank + 1} ", "", colour
        yield "", run.text, colour if hit else "not bold"


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
    more = (f"{len(rest):,} more documents", sum(tokens for _, tokens, _ in rest), "dim")
    legend = Text()
    for name, tokens, style in (*own[:SHOWN_ROWS], more, *others):
        if tokens:
            legend.append(f"{name} {tokens:,}  ", style=style)
    yield legend.append(f"free {spending.free:,} of {room:,} {spending.unit}")


def _dropped(context: Assembled) -> Iterator[Table | Text]:
    found = [decision for decision in context.trace.decisions if not decision.stands]
    if not found:
        return
    table = ruled("chunk", "rank", "distance", "score", "outcome", "reason", "because of", "tokens")
    for decision in found[:SHOWN_ROWS]:
        cells = (
            shortened(decision.chunk_id, ID_CHARS),
            f"{decision.rank + 1}",
            f"{decision.distance}",
            score(decision.score),
            decision.outcome,
            shortened(decision.reason, VALUE_CHARS),
            shortened(decision.because_of or "–", ID_CHARS),
            number(decision.tokens),
        )
        table.add_row(*(Text(visible(cell)) for cell in cells))
    yield table
    yield from _more(len(found) - SHOWN_ROWS, "chunks that are not read")


def _more(left: int, what: str) -> Iterator[Text]:
    if left > 0:
        yield Text(f"and {left:,} more {what}", style="italic")
