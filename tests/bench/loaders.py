"""Chunks a second by 1 and 2 loaders of one table in PostgreSQL, and bytes a chunk: `python tests/bench/loaders.py`.

Chunks are those of the benchmark of scale, by default with vectors of 384 dimensions. Each loader is a process with
documents of its own. All begin together, once their chunks are made up; indexes are built when the last one is done.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from multiprocessing import get_context
from typing import Any

import psycopg

from ctxassembly import Chunk
from ctxassembly.stores.embedded_server import embedded_postgres
from ctxassembly.stores.postgres import PostgresIndex
from scale.loading import timed
from scale.rows import CHUNKS_A_DOCUMENT, Corpus

_RELATIONS = """
SELECT coalesce(i.relname, c.relname), pg_table_size(coalesce(i.oid, c.oid)) FROM pg_class c
LEFT JOIN (pg_index x JOIN pg_class i ON i.oid = x.indexrelid) ON x.indrelid = c.oid
WHERE c.relname IN ('{table}', '{table}_lexemes')
UNION SELECT relname, pg_table_size(oid) FROM pg_class WHERE relname IN ('{table}', '{table}_lexemes')
ORDER BY 2 DESC
"""
_LOST_WORDS = """
SELECT count(DISTINCT lexeme) FROM {table}, unnest(ctxassembly_tsv)
WHERE length(lexeme) <= 100 AND NOT EXISTS (SELECT FROM {table}_lexemes WHERE word = lexeme)
"""


def made_up(dimensions: int, count: int, loader: int, loaders: int) -> Iterator[Chunk]:
    """The chunks of every `loaders`-th document, from `loader` on."""
    rows = (row for at, row in enumerate(Corpus(dimensions).rows(count)) if at // CHUNKS_A_DOCUMENT % loaders == loader)
    for row in rows:
        yield Chunk(row.id, row.document_id, row.text, row.place, metadata={"ward": row.ward}, vector=row.vector)


def load(index: PostgresIndex, barrier: Any, times: Any, *share: int) -> None:
    """Add the chunks that `made_up` gives for `share`; put into `times` when that began and ended."""
    chunks = list(made_up(*share))
    barrier.wait()
    began = time.time()
    index.add(iter(chunks), progress=False)  # not as a list, whose documents would be looked up before
    times.put((began, time.time()))


def measure(url: str, dimensions: int, count: int, loaders: int) -> Sequence[str]:
    """The cells of one row: loaders, chunks a second, seconds for the indexes, words lost."""
    table, context = f"loaded_by_{loaders}", get_context("spawn")
    index = PostgresIndex.create(url, table, dimensions=dimensions, hnsw=False)
    barrier, times = context.Barrier(loaders), context.Queue()
    given = (index, barrier, times, dimensions, count)
    processes = [context.Process(target=load, args=(*given, loader, loaders)) for loader in range(loaders)]
    for process in processes:
        process.start()
    began, ended = zip(*(times.get() for _ in processes), strict=True)
    for process in processes:
        process.join()
    seconds: dict[str, float] = {}
    timed(seconds, "indexes", PostgresIndex.create(url, table, dimensions=dimensions).refresh)
    with psycopg.connect(url.replace("+psycopg", "", 1)) as connection:
        [(lost,)] = connection.execute(_LOST_WORDS.format(table=table).encode()).fetchall()
    return [str(loaders), f"{count / (max(ended) - min(began)):,.0f}", f"{seconds['indexes']:.1f}", str(lost)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--chunks", type=int, default=12_000)
    parser.add_argument("--dimensions", type=int, default=384)
    parser.add_argument("--loaders", type=int, nargs="+", default=[1, 2])
    args = parser.parse_args()
    with ExitStack() as stack:
        url = os.environ.get("DATABASE_URL") or stack.enter_context(embedded_postgres(durable=False))
        sys.stdout.write("| loaders | chunks a second | seconds for HNSW, words and statistics | words lost |\n")
        sys.stdout.write("| --- | --- | --- | --- |\n")
        for loaders in args.loaders:
            sys.stdout.write(f"| {' | '.join(measure(url, args.dimensions, args.chunks, loaders))} |\n")
            sys.stdout.flush()
        sys.stdout.write("\n| bytes a chunk | of |\n| --- | --- |\n")
        with psycopg.connect(url.replace("+psycopg", "", 1)) as connection:
            table = f"loaded_by_{args.loaders[-1]}"
            for name, size in connection.execute(_RELATIONS.format(table=table).encode()).fetchall():
                sys.stdout.write(f"| {size / args.chunks:,.0f} | {name.replace(table, 'chunks', 1)} |\n")


if __name__ == "__main__":
    main()
