"""What a hit costs among many, as times what it costs among few: work has to grow with the work and no faster."""

from __future__ import annotations

import gc
import math
import random
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

from ctxassembly import AssemblyConfig, Chunk, Hit, assemble
from scenario import BUDGET
from speed.timing import shown, table, timed
from speed.variants import forget

FEW, MANY = 100, 10_000
ROWS_A_DOCUMENT = 20
"""Of many documents: 500 of them have `MANY_PASSAGES` rows."""
QUERY = "Where do amber and marsh meet?"
WORDS = ("amber", "birch", "cedar", "delta", "ember", "fjord", "grove", "heath", "inlet", "jetty", "knoll", "marsh")

Place = Callable[[str, int, int, int], Mapping[str, Any]]
"""How a chunk tells its place, from its document, its number there, the last number, and where its text starts."""
PLACES: Mapping[str, Place] = {
    "indexed": lambda _document, at, _last, _start: {"index": at},
    "linked": lambda document, at, last, _start: {
        "prev_id": f"{document}-{at - 1}" if at else None,
        "next_id": f"{document}-{at + 1}" if at < last else None,
    },
    "by offsets": lambda _document, _at, _last, start: {"start": start},
}
ROWS = 2 * len(PLACES) * 2
"""Of the table."""


def per_hit_table(few: int, many: int, repeats: int, done: Callable[[], object]) -> Iterator[str]:
    """A row for each shape of documents, way to tell a place, and with and without a query."""
    rows = []
    gc.collect()
    gc.freeze()  # else the collector would look through all that is loaded
    for one in (True, False):
        for told in PLACES:
            for query in (None, QUERY):
                small, large = (_microseconds(number, one, told, query, repeats) for number in (few, many))
                documents = "one document" if one else f"documents of {ROWS_A_DOCUMENT} chunks"
                name = f"{documents}, {told}, {'with' if query else 'no'} query"
                rows.append([name, shown(small), shown(large), f"{large / small:.2f}"])
                done()
    gc.unfreeze()
    yield from table(["µs a hit", f"among {few:,}", f"among {many:,}", "times"], rows)


def hits_of(number: int, one: bool, told: str) -> list[Hit]:
    """`number` hits of about 25 tokens, in no order, of one document or of as many as it takes."""
    draw = random.Random(number)
    length = number if one else ROWS_A_DOCUMENT
    hits = []
    for document in range(number // length):
        name, start = f"doc-{document}", 0
        for at in range(length):
            text = " ".join(draw.choices(WORDS, k=18)) + f" {at}."
            place = PLACES[told](name, at, length - 1, start)
            hits.append(Hit(Chunk(f"{name}-{at}", name, text, metadata={"source": f"{document}.csv"}, **place)))
            start += len(text) + 1
    draw.shuffle(hits)
    return hits


def _microseconds(number: int, one: bool, told: str, query: str | None, repeats: int) -> float:
    """Processor time a hit: the least of several runs, since whatever else the machine does only adds to it."""
    best, config = math.inf, AssemblyConfig(max_tokens=BUDGET)
    for _ in range(max(3, repeats * FEW // number)):
        hits = hits_of(number, one, told)  # anew: what was seen of the same texts is remembered
        forget()
        gc.collect()
        best = min(best, timed(partial(assemble, hits, config, query=query))[0])
    return best / number * 1_000
