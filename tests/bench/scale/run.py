"""Tables of some sizes: loaded in both ways, then asked in turn, and counted."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace

from sqlalchemy import create_engine

from scale.loading import Database, add, attach, fill
from scale.measuring import Measured, Ready, count, measure
from scale.rows import Corpus
from scale.systems import PATIENCE, PEERS, hybrid, or_ranked
from scale.wire import tapped


def run(url: str, args: argparse.Namespace) -> Sequence[Measured]:
    """What each number of chunks costs; `args` are those of the command."""
    database, corpus = Database(url, args.memory, args.workers), Corpus(args.dimensions)
    sizes = sorted(args.chunks)
    with ExitStack() as stack:
        tables = [_ready(database, corpus, chunks, args.questions, stack) for chunks in sizes]
        with tapped() as tap:
            for table in tables:
                count(table, tap, args.counted)
        measure(tables, args.peers)
        for table in tables:
            if table.measured.chunks <= args.add:
                _add(database, corpus, table.measured)
    return [table.measured for table in tables]


def _ready(database: Database, corpus: Corpus, chunks: int, questions: int, stack: ExitStack) -> Ready:
    """The vector store's table, filled and attached to."""
    name, measured = f"scale_{chunks}", Measured(chunks)
    store = stack.enter_context(database.vector_store(name, corpus.dimensions))
    engine = create_engine(database.url, isolation_level="AUTOCOMMIT")
    stack.callback(engine.dispose)
    fill(database, name, corpus, chunks)
    index, measured.seconds["attach"] = attach(database, name, store)
    peers = dict(zip(PEERS, (or_ranked(engine, name), hybrid(store)), strict=True))
    return Ready(measured, replace(index, timeout_seconds=PATIENCE), peers, corpus.questions(questions, chunks))


def _add(database: Database, corpus: Corpus, measured: Measured) -> None:
    own = f"scale_{measured.chunks}_own"
    with database.connected() as connection:
        connection.execute(f"DROP TABLE IF EXISTS {own}, {own}_lexemes")
    _, measured.seconds["add"] = add(database, own, corpus, measured.chunks)
