"""Questions a second by 1 and 2 workers, bytes a worker, and runs that are killed: `python tests/bench/batch.py`.

Chunks and questions are those of the benchmark of scale, with vectors of 128 dimensions. Each run has workers that are
started for it. The second half of the questions is timed, so that starting them is not in it.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import psutil

from ctxassembly import AssemblyConfig, Chunk, MemoryIndex
from ctxassembly.batch import assemble_many
from scale.rows import Corpus

DIMENSIONS = 128


class Embed:
    """The vectors of the questions, which workers get with the pipeline."""

    def __init__(self, vectors: dict[str, list[float]]) -> None:
        self.vectors = vectors

    def __call__(self, text: str) -> list[float]:
        return self.vectors[text]


def indexes(chunks: int, url: str) -> Iterator[tuple[str, Any]]:
    from ctxassembly.stores.postgres import PostgresIndex

    rows = list(Corpus(DIMENSIONS).rows(chunks))
    stored = [Chunk(row.id, row.document_id, row.text, row.place) for row in rows]
    vectors = [row.vector for row in rows]
    yield "MemoryIndex", MemoryIndex(stored, vectors)
    index = PostgresIndex.create(url, table="batch", dimensions=DIMENSIONS)
    index.add(stored, vectors, progress=False)
    yield "PostgresIndex", index


def measured(index: Any, count: int, chunks: int, workers: int) -> tuple[float, float]:
    """Questions a second, and the mean megabytes of a process that makes contexts."""
    asked = Corpus(DIMENSIONS).questions(count, chunks)
    questions = [(f"q{number}", one.text) for number, one in enumerate(asked)]
    embed = Embed({one.text: one.vector for one in asked})
    config = AssemblyConfig(max_tokens=2000)
    batch = assemble_many(questions, config, index=index, embed=embed, workers=workers, progress=False)
    for _ in range(count // 2):
        next(batch)
    began, before = time.perf_counter(), batch.summary.made
    memory = 0.0
    for _ in batch:
        if batch.summary.made == count - 4 * workers:  # all of them are at work
            parent = psutil.Process()
            processes = [one for one in parent.children() if "spawn_main" in " ".join(one.cmdline())] or [parent]
            memory = sum(one.memory_full_info().uss for one in processes) / len(processes) / 1e6
    assert not batch.summary.failed, batch.summary
    return (count - before) / (time.perf_counter() - began), memory


def run_into(out: Path, count: int) -> None:
    """What is killed."""
    stored = [Chunk(row.id, row.document_id, row.text, row.place) for row in Corpus(DIMENSIONS).rows(1200)]
    questions = [(f"q{number}", one.text) for number, one in enumerate(Corpus(DIMENSIONS).questions(count, 1200))]
    from ctxassembly import RetrievalConfig

    config = RetrievalConfig(strategy="keyword")
    options: dict[str, Any] = {"retrieval": config, "workers": 2, "progress": False, "out": out}
    sys.stdout.write(f"{assemble_many(questions, index=MemoryIndex(stored), **options).run()}\n")


def killed(count: int, times: int) -> str:
    """What the last of several runs says, of which all others are killed at another place."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder, "contexts.jsonl")
        command = [sys.executable, __file__, "--into", str(out), "--questions", str(count)]
        for number in range(times):
            process = subprocess.Popen(command)
            wanted = count * (number + 1) // (times + 1)
            while process.poll() is None and (not out.exists() or out.read_bytes().count(b"\n") < wanted):
                time.sleep(0.01)
            process.kill()
            process.wait()
        said = subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
        lines = [line.partition(b'", ')[0] for line in out.read_bytes().splitlines()]
        return f"killed {times} times: {said}; {len(lines)} lines, {len(set(lines))} ids"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--chunks", type=int, default=6000)
    parser.add_argument("--questions", type=int, default=300)
    parser.add_argument("--into", type=Path, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.into:
        run_into(args.into, args.questions)
        return
    from ctxassembly.stores.embedded_server import embedded_postgres

    with ExitStack() as stack:
        url = os.environ.get("DATABASE_URL") or stack.enter_context(embedded_postgres(durable=False))
        sys.stdout.write("| index | workers | questions a second | MB a process |\n| --- | --- | --- | --- |\n")
        for name, index in indexes(args.chunks, url):
            for workers in (1, 2):
                speed, memory = measured(index, args.questions, args.chunks, workers)
                sys.stdout.write(f"| {name} | {workers} | {speed:.0f} | {memory:.0f} |\n")
    sys.stdout.write(f"\n{killed(args.questions, 3)}\n")


if __name__ == "__main__":
    main()
