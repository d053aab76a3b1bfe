"""Statements and round trips of a query, as they go over the wire: libpq's own trace of the messages is read."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from os import SEEK_END
from typing import IO, Any, NamedTuple

from psycopg.pq import Trace
from sqlalchemy import event
from sqlalchemy.pool import Pool

_EXECUTES = ("Query", "Execute")
"""The messages of the client that have a statement executed."""
_AWAITED = ("Query", "Sync")
"""The messages of the client that the server answers by ReadyForQuery, which the client waits for.

Changes of direction would count what the machine's load decides: in a pipeline, PostgreSQL begins to send a long answer
before the client has sent the Sync at its end.
"""


class Wire(NamedTuple):
    """What went over the wire."""

    statements: int
    round_trips: int
    """The times that the client sent something, and waited for what the server answers."""


class Tap:
    """A function from something to run to what goes over the wire meanwhile, on the connections of SQLAlchemy's pools.

    What opens a connection sets it up, too, which counts: run it once before.
    """

    def __init__(self, stack: ExitStack) -> None:
        self._stack = stack
        self._traces: dict[Any, IO[bytes]] = {}

    def __call__(self, run: Callable[[], object]) -> Wire:
        begins = {raw: file.seek(0, SEEK_END) for raw, file in self._traces.items()}
        run()
        found = []
        for raw, file in self._traces.items():
            file.seek(begins.get(raw, 0))
            found.append(read(file.read().decode(errors="replace")))
        return Wire(sum(one.statements for one in found), sum(one.round_trips for one in found))

    def hear(self, connection: Any, *_: Any) -> None:
        """Trace a connection that a pool hands out."""
        raw = connection.driver_connection if hasattr(connection, "driver_connection") else connection
        if raw not in self._traces:
            file = self._stack.enter_context(tempfile.TemporaryFile())  # noqa: SIM115  the stack closes it
            raw.pgconn.trace(file.fileno())
            raw.pgconn.set_trace_flags(Trace.SUPPRESS_TIMESTAMPS)
            self._stack.callback(lambda: raw.closed or raw.pgconn.untrace())
            self._traces[raw] = file


@contextmanager
def tapped() -> Iterator[Tap]:
    """A tap on all connections that SQLAlchemy's pools hand out inside the context."""
    with ExitStack() as stack:
        tap = Tap(stack)
        event.listen(Pool, "checkout", tap.hear)
        stack.callback(event.remove, Pool, "checkout", tap.hear)
        yield tap


def read(trace: str) -> Wire:
    r"""A trace of libpq's, as what it says.

    >>> read("F\t13\tQuery\t \"SELECT 1\"\nB\t6\tReadyForQuery\t I\n")
    Wire(statements=1, round_trips=1)
    """
    statements = round_trips = 0
    for line in trace.splitlines():
        side, _, rest = line.partition("\t")
        if side not in ("F", "B"):
            continue  # a message goes on: a line break stood in it
        message = rest.split("\t")[1] if "\t" in rest else ""
        statements += side == "F" and message in _EXECUTES
        round_trips += side == "F" and message in _AWAITED
    return Wire(statements, round_trips)
