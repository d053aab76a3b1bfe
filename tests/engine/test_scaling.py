"""Work grows with the work: what a hit costs doesn't depend on how many there are.

Counted are calls of functions, Python's and C's: they are the same on any machine, however busy it is.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Callable

import pytest

from ctxassembly import AssemblyConfig, Chunk, Context, Hit, MemoryStore, assemble

WORDS = [
    "amber",
    "birch",
    "cedar",
    "delta",
    "ember",
    "fjord",
    "grove",
    "heath",
    "inlet",
    "jetty",
    "knoll",
    "ledge",
    "marsh",
]
QUESTION = "Where do amber and marsh meet?"
MOST = 1.5
"""Times what a hit costs among few."""


def rows(number: int, documents: int, link: str, *, words: int = 18, pages: bool = False) -> list[Hit]:
    """`number` hits of about 25 tokens, shuffled, of so many documents; their places are told by `link`."""
    draw = random.Random(number)
    hits = []
    for document in range(documents):
        length, start = number // documents, 0
        for n in range(length):
            text = " ".join(draw.choices(WORDS, k=words)) + f" {n}."
            place = {
                "indexed": {"index": n},
                "linked": {"prev_id": f"{document}-{n - 1}", "next_id": f"{document}-{n + 1}"},
                "by offsets": {"start": start},
            }[link]
            if link == "linked":  # the ends of a document have one neighbor
                place |= {"prev_id": None} if not n else {}
                place |= {"next_id": None} if n == length - 1 else {}
            metadata = {"source": f"{document}.csv", **({"page": n // 3} if pages else {})}
            hits.append(Hit(Chunk(f"{document}-{n}", f"doc-{document}", text, metadata=metadata, **place)))
            start += len(text) + 1
    draw.shuffle(hits)
    return hits


def calls_of(run: Callable[[], object]) -> int:
    """How many functions `run` calls."""
    calls = 0

    def count(_frame: object, event: str, _arg: object) -> None:
        nonlocal calls
        calls += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        run()
    finally:
        sys.setprofile(before)
    return calls


def calls_a_hit(hits: list[Hit], config: AssemblyConfig, query: str | None, *, stored: bool = False) -> float:
    store = MemoryStore([hit.chunk for hit in hits]) if stored else None

    def run() -> Context:
        return assemble(hits, config, query=query, store=store)

    return calls_of(run) / len(hits)


def growth(few: list[Hit], many: list[Hit], config: AssemblyConfig, query: str | None = None) -> float:
    assemble(few, config, query=query)  # what loads late is loaded
    return calls_a_hit(many, config, query) / calls_a_hit(few, config, query)


@pytest.mark.parametrize("query", [None, QUESTION])
@pytest.mark.parametrize("link", ["indexed", "linked", "by offsets"])
@pytest.mark.parametrize("documents", [1, 50])
def test_a_hit_among_thousands_costs_what_it_costs_among_a_hundred(documents: int, link: str, query: str | None):
    few, many = rows(100, documents, link), rows(2_000, documents, link)
    assert growth(few, many, AssemblyConfig(max_tokens=1_500), query) <= MOST


@pytest.mark.parametrize("documents", [1, 5])
def test_many_that_are_sure_not_to_fit_are_not_rendered_to_find_that_out(documents: int):
    """All of the few fit; the many are chosen from, which costs more but not by what rendering all of them would."""
    few, many = rows(100, documents, "indexed"), rows(4_000, documents, "indexed")
    assert growth(few, many, AssemblyConfig(max_tokens=8_000), QUESTION) <= 1.25


@pytest.mark.parametrize("cite", ["document", "passage", "chunk"])
@pytest.mark.parametrize("granularity", ["chunk", "passage"])
def test_whatever_is_cited_and_kept_whole(granularity: str, cite: str):
    config = AssemblyConfig(max_tokens=1_500, granularity=granularity, cite=cite)  # type: ignore[arg-type]
    assert growth(rows(100, 1, "indexed"), rows(2_000, 1, "indexed"), config, QUESTION) <= 2 * MOST
