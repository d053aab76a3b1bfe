"""The chunks that the model doesn't read, on a terminal, with what beat the hits among them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.table import Table
from rich.text import Text

from ctxassembly.data.citations import Assembled
from ctxassembly.data.trace import Decision, Trace
from ctxassembly.inspect.limits import ID_CHARS, VALUE_CHARS
from ctxassembly.inspect.lost import Beaten, is_lost
from ctxassembly.inspect.markup import shortened, visible
from ctxassembly.inspect.tables import number, score
from ctxassembly.inspect.terminal_tables import SHOWN_ROWS, cells, more, ruled


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
