"""An async service over Postgres: what assembling leaves of the throughput of retrieval, and how long its loop waits.

A real chain: langchain-postgres' PGVectorStore on the loop of the service, asked for 20 chunks a question; behind it
nothing, the assembler in a pipe (no query), and the retriever that assembles (with a query).
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import asynccontextmanager
from itertools import cycle, islice
from statistics import median, quantiles
from time import perf_counter, process_time
from typing import Any, NamedTuple

from ctxassembly import AssemblyConfig
from scenario import BUDGET, ENCODING, Scenario
from speed.database import DIMENSIONS, TABLE, postgres_table
from speed.timing import shown, table

Ask = Callable[[str], Awaitable[Any]]

HITS = 20
QUESTIONS = [
    f"How does {subject} {verb} {thing}?"
    for subject in ("a with statement", "an assignment", "the import system", "a generator", "a class body")
    for verb in ("handle", "evaluate", "call", "bind", "look up")
    for thing in ("an exception", "a name", "a method", "an attribute")
]
ALONE = "retrieval alone"
PROBE_SECONDS = 0.005


class Load(NamedTuple):
    """Of one run, or medians of several."""

    a_second: float
    p95_ms: float
    lag_p95_ms: float
    """How much later than asked for a task on the same loop gets its turn."""
    cpu_ms: float
    """Processor time of this process for a question: on a busy machine its ratios stand, those of the others don't."""


async def load(ask: Ask, requests: int, at_once: int) -> Load:
    """What `requests` questions cost, `at_once` of them at any time."""
    questions = iter(islice(cycle(QUESTIONS), requests))
    took: list[float] = []
    lags: list[float] = []

    async def probe() -> None:
        while True:
            began = perf_counter()
            await asyncio.sleep(PROBE_SECONDS)
            lags.append(perf_counter() - began - PROBE_SECONDS)

    async def work() -> None:
        for question in questions:
            began = perf_counter()
            await ask(question)
            took.append(perf_counter() - began)

    probing = asyncio.create_task(probe())
    await asyncio.sleep(0)
    began, before = perf_counter(), process_time()
    await asyncio.gather(*(work() for _ in range(at_once)))
    passed, cpu = perf_counter() - began, process_time() - before
    await asyncio.sleep(2 * PROBE_SECONDS)  # a lag at the end is one, too
    probing.cancel()
    return Load(requests / passed, _p95(took), _p95(lags), cpu / requests * 1000)


def _p95(seconds: Sequence[float]) -> float:
    return quantiles(seconds, n=20)[-1] * 1000


@asynccontextmanager
async def chains(url: str) -> AsyncIterator[dict[str, Ask]]:
    """Who is asked, by name, retrieval alone first."""
    from langchain_core.embeddings import DeterministicFakeEmbedding
    from langchain_postgres import PGEngine, PGVectorStore
    from sqlalchemy.ext.asyncio import create_async_engine

    from langchain_ctxassembly import ContextAssembler, ContextAssemblyRetriever, PGVectorNeighbors

    engine = create_async_engine(url)
    try:
        store = await PGVectorStore.create(
            PGEngine.from_engine(engine), DeterministicFakeEmbedding(size=DIMENSIONS), TABLE,
            id_column="id", metadata_columns=["document_id", "chunk_index"],
        )  # fmt: skip
        retriever = store.as_retriever(search_kwargs={"k": HITS})
        config = AssemblyConfig(max_tokens=BUDGET, encoding=ENCODING, neighbors="unfiltered")
        assembler = ContextAssembler(config=config, store=PGVectorNeighbors(store))
        yield {
            ALONE: retriever.ainvoke,
            "assembled, no query": (retriever | assembler).ainvoke,
            "assembled, with a query": ContextAssemblyRetriever(retriever=retriever, assembler=assembler).ainvoke,
        }
    finally:
        await engine.dispose()


async def measured(url: str, at_once: int, requests: int, repeats: int) -> dict[str, Load]:
    """Medians of `repeats` runs in turn, by name."""
    runs: dict[str, list[Load]] = {}
    async with chains(url) as asked:
        for turn in range(repeats + 1):  # the first one warms up
            for name, ask in asked.items():
                found = await load(ask, requests, at_once)
                runs.setdefault(name, []).extend([found] if turn else [])
    return {name: Load(*map(median, zip(*loads, strict=True))) for name, loads in runs.items()}


def load_table(case: Scenario, at_once: Sequence[int], requests: int, repeats: int) -> Iterator[str]:
    """A row for each number of questions at once and each chain; ratios are to retrieval alone at the same number."""
    rows = []
    with postgres_table(case) as url:
        for number in at_once:
            found = asyncio.run(measured(url, number, max(requests, 2 * number), repeats))
            alone = found[ALONE]
            rows += [
                [
                    f"{number}", name, f"{each.a_second:,.0f}", f"{each.a_second / alone.a_second:.2f}",
                    f"{shown(each.cpu_ms)} ms", f"{each.cpu_ms / alone.cpu_ms:.1f}",
                    f"{shown(each.p95_ms)} ms", f"{each.p95_ms / alone.p95_ms:.1f}",
                    f"{shown(each.lag_p95_ms)} ms", f"{each.lag_p95_ms - alone.lag_p95_ms:+.0f} ms",
                ]
                for name, each in found.items()
            ]  # fmt: skip
    of = "of retrieval's"
    yield from table(["at once", "", "a second", of, "processor", of, "p95", of, "lag p95", "beside retrieval's"], rows)
