"""A chunk of many megabytes costs what can fit of it, not what it has."""

from __future__ import annotations

import time

import pytest

from ctxassembly import AssemblyConfig, Chunk, Context, Hit, MemoryStore, assemble
from ctxassembly.cut import READ_CHARS
from ctxassembly.tokens import Counter, counter_for

SENTENCES = [f"The {name} of chapter {n} is described at some length here. " for n, name in enumerate("abcdefghij")]
BUDGET = 4_000
BEFORE = Chunk("before", "book", "Something short comes before it.", 0)


def book(millions: int) -> Chunk:
    """As a loader gives it to whoever forgot the splitter."""
    return Chunk("book", "book", "".join(f"{n}. {SENTENCES[n % 10]}" for n in range(millions * 16_000)), 1)


def read(chunk: Chunk, query: str | None = None, *, role: str = "alone") -> Context:
    counter_for("cl100k_base").forget()
    hits = {
        "alone": [Hit(chunk, 0.9)],
        "last": [Hit(BEFORE, 0.9), Hit(chunk, 0.1)],
        "neighbour": [Hit(BEFORE, 0.9)],
    }[role]
    return assemble(hits, AssemblyConfig(max_tokens=BUDGET), query=query, store=MemoryStore([BEFORE, chunk]))


@pytest.mark.parametrize("role", ["alone", "last", "neighbour"])
def test_no_more_is_encoded_than_several_times_what_can_fit(role: str, monkeypatch: pytest.MonkeyPatch):
    counted = 0
    counter = counter_for("cl100k_base")
    encode = counter._count

    def count(text: str) -> int:
        nonlocal counted
        counted += len(text)
        return encode(text)

    monkeypatch.setattr(counter, "_count", count)
    context = read(book(3), role=role)
    assert counted <= 20 * BUDGET * 8
    assert context.text


@pytest.mark.parametrize("query", [None, "Where is chapter 7?"])
@pytest.mark.parametrize("role", ["alone", "last", "neighbour"])
def test_ten_times_as_much_takes_next_to_no_longer(role: str, query: str | None):
    def seconds(chunk: Chunk) -> float:
        def once() -> float:
            begun = time.process_time()
            read(chunk, query, role=role)
            return time.process_time() - begun

        return min(once() for _ in range(3))

    assert seconds(book(20)) <= 5 * seconds(book(2)) + 0.05


def test_of_what_can_not_be_read_the_trace_tells():
    chunk = book(3)
    context = read(chunk, "Where is chapter 7?")
    note = f"chunk 'book': of {len(chunk.text):,} characters only the first {READ_CHARS:,} are read"
    assert context.trace.notes == (note,)
    (decision,) = (each for each in context.trace.decisions if each.chunk_id == "book")
    assert decision.outcome == "cut"
    source = context.provenance[-1]
    assert source.chunk_id == "book"
    assert context.text[slice(*source.span)] == chunk.text[slice(*source.chunk_span)]
    assert context.text.endswith("[...]")


def test_a_budget_with_room_for_all_of_it_gets_all_of_it():
    chunk = Chunk("long", "A", "word " * (READ_CHARS // 5) + "and the last one", 0)
    context = assemble([Hit(chunk)], AssemblyConfig(max_tokens=300_000))
    assert context.text.endswith("and the last one")


def test_an_estimate_is_made_only_of_what_is_too_much_anyway():
    counter = Counter(lambda text: len(text.split()), additive=False)
    text = "word " * 100_000
    assert counter.about(text, 100_000) == counter.about(text, 99_999) == 100_000
    assert counter.about(text, 10) == pytest.approx(100_000, rel=0.1)
