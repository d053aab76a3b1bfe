"""The view of a context on a terminal. Only rich calls it, so rich is installed."""

from __future__ import annotations

from collections.abc import Iterator

from rich.rule import Rule
from rich.table import Table
from rich.text import Text

from ctxassembly.data.citations import Assembled
from ctxassembly.inspect.asked_for import verdict
from ctxassembly.inspect.documents import Names
from ctxassembly.inspect.evidence import Located
from ctxassembly.inspect.lede import lede
from ctxassembly.inspect.limits import NOTE_CHARS, VALUE_CHARS
from ctxassembly.inspect.markup import shortened, visible
from ctxassembly.inspect.runs import Run, Share, shares
from ctxassembly.inspect.savings import left_out, saved
from ctxassembly.inspect.stretches import stretches
from ctxassembly.inspect.tables import number
from ctxassembly.inspect.tally import funnel, spent
from ctxassembly.inspect.terminal_retrieval import found_how
from ctxassembly.inspect.terminal_tables import SHOWN_ROWS, more, right, ruled
from ctxassembly.inspect.terminal_unread import unread
from ctxassembly.safe_repr import counted

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
