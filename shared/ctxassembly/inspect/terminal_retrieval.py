"""The outcome of retrieval on a terminal: a row for each hit, as its page has it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.rule import Rule
from rich.table import Column, Table
from rich.text import Text

from ctxassembly.data.citations import Assembled
from ctxassembly.data.retrieval import Retrieved
from ctxassembly.inspect.limits import ID_CHARS, NOTE_CHARS, VALUE_CHARS
from ctxassembly.inspect.markup import shortened, visible
from ctxassembly.inspect.tables import number, score
from ctxassembly.inspect.terminal_tables import SHOWN_ROWS, cells, more, right, ruled
from ctxassembly.inspect.ways import Way, lost, searched, ways


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
