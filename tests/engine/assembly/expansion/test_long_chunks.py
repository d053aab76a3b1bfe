"""A chunk of many megabytes costs what can fit of it, not what it has."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from functools import cache

import pytest

from ctxassembly import AssemblyConfig, Chunk, Context, Hit, MemoryStore, assemble
from ctxassembly.assembly.expansion.long_chunks import MAX_CHARS, MIN_PART_CHARS, best_window
from ctxassembly.tokens.counter import MAX_TOKEN_CHARS, TokenCounter, counter_for
from ctxassembly.tokens.tiktoken_files import load_encoding
from stopwatch import FLOOR, TRIES, seconds

SENTENCES = [f"The {name} of chapter {n} is described at some length here. " for n, name in enumerate("abcdefghij")]
BUDGET = 4_000
BEFORE = Chunk("before", "book", "Something short comes before it.", 0)
ANSWER = "\nThe zeppelin hangar of Friedrichshafen was built by floating engineers.\n"
QUESTION = "Who built the hangar for zeppelins in Friedrichshafen?"


def book(millions: int) -> Chunk:
    """As a loader gives it to whoever forgot the splitter."""
    return Chunk("book", "book", "".join(f"{n}. {SENTENCES[n % 10]}" for n in range(millions * 16_000)), 1)


def read(chunk: Chunk, query: str | None = None, *, role: str = "alone") -> Context:
    counter_for("cl100k_base").clear_caches()
    hits = {
        "alone": [Hit(chunk, 0.9)],
        "last": [Hit(BEFORE, 0.9), Hit(chunk, 0.1)],
        "neighbor": [Hit(BEFORE, 0.9)],
    }[role]
    return assemble(hits, AssemblyConfig(max_tokens=BUDGET), query=query, store=MemoryStore([BEFORE, chunk]))


@cache
def million(kind: str) -> str:
    """A million characters of a kind, hardly any of them twice."""
    some = random.Random(7)
    names = ["".join(some.choices("abcdefghijklmnopqrstuvwxyz", k=some.randint(2, 9))) for _ in range(3_000)]

    def sentence() -> str:
        return f"{' '.join(some.choices(names, k=12)).capitalize()}.{some.choice([' ', ' ', chr(10)])}"

    def function() -> str:
        return (
            f"def {some.choice(names)}(x):\n    if x == {some.random()}:\n        return {some.choice(names)}.y[0]\n\n"
        )

    makers: dict[str, Callable[[], str]] = {
        "prose": sentence,
        "one line without a stop": lambda: f"{some.choice(names)} ",
        "CSV": lambda: f"{some.randint(0, 10**6)},{some.choice(names)},{some.random():.4f},{some.choice(names)}\n",
        "CJK": lambda: "".join(map(chr, some.choices(range(0x4E00, 0x5E00), k=20))) + "。",
        "code": function,
        "one character": lambda: "a" * 1_000,
    }
    make = makers[kind]
    parts: list[str] = []
    size = 0
    while size < 1_000_000:
        parts.append(make())
        size += len(parts[-1])
    return "".join(parts)


KINDS = ["prose", "one line without a stop", "CSV", "CJK", "code", "one character"]
QUERIES = {
    "CJK": "丕世丘丙业是什么？",
    "code": "Where does def return x.y?",
    "CSV": "What is 0.1234 of abc?",
    "one character": "What is aaaaaaaa?",
}


def by_function(text: str) -> int:
    """As who has a tokenizer of their own counts: slowly, and nobody knows how."""
    return len(load_encoding("o200k_base").encode(text, disallowed_special=()))


@pytest.mark.parametrize("with_query", [False, True], ids=["no query", "query"])
@pytest.mark.parametrize("max_tokens", [500, 8_000])
@pytest.mark.parametrize("kind", KINDS)
def test_it_takes_less_than_two_passes_of_encoding_what_can_fit(kind: str, max_tokens: int, with_query: bool):
    _takes_less_than_two_passes(million(kind) * 20, "cl100k_base", max_tokens, _query(kind) if with_query else None)


@pytest.mark.parametrize("with_query", [False, True], ids=["no query", "query"])
@pytest.mark.parametrize("kind", ["prose", "CJK"])
def test_with_any_tokenizer_too(kind: str, with_query: bool):
    _takes_less_than_two_passes(million(kind) * 20, by_function, 8_000, _query(kind) if with_query else None)


def test_with_a_large_budget_too():
    _takes_less_than_two_passes(million("prose") * 20, "cl100k_base", 32_000, _query("prose"))


def _query(kind: str) -> str:
    return QUERIES.get(kind, f"Where is {' or '.join(million('prose').split()[5:8])} told of?")


def _takes_less_than_two_passes(
    text: str, encoding: str | Callable[[str], int], max_tokens: int, query: str | None
) -> None:
    counter = counter_for(encoding)
    can_fit = text[: max((max_tokens + 1) * MAX_TOKEN_CHARS, MAX_CHARS)]
    hits, config = [Hit(Chunk("long", "A", text, 0))], AssemblyConfig(max_tokens=max_tokens, encoding=encoding)

    def assembled() -> None:
        counter.clear_caches()
        assert assemble(hits, config, query=query).text

    def encoded() -> None:
        counter.clear_caches()
        counter.count(can_fit)

    assembled()  # it warms up
    assert any(seconds(assembled) < 2 * max(seconds(encoded), FLOOR) for _ in range(TRIES))


def counted(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The lengths of all texts that are encoded from here on."""
    counter = counter_for("cl100k_base")
    encode, lengths = counter._count, list[int]()

    def count(text: str) -> int:
        lengths.append(len(text))
        return encode(text)

    monkeypatch.setattr(counter, "_count", count)
    return lengths


@pytest.mark.parametrize("query", [None, QUESTION], ids=["no query", "query"])
@pytest.mark.parametrize("kind", KINDS)
def test_no_more_is_encoded_than_what_is_read_and_what_can_fit(
    kind: str, query: str | None, monkeypatch: pytest.MonkeyPatch
):
    lengths = counted(monkeypatch)
    counter_for("cl100k_base").clear_caches()
    assemble([Hit(Chunk("long", "A", million(kind) * 3, 0))], AssemblyConfig(max_tokens=BUDGET), query=query)
    assert sum(lengths) <= 2 * MAX_CHARS


@pytest.mark.parametrize("role", ["alone", "last", "neighbor"])
def test_no_more_is_encoded_than_several_times_what_can_fit(role: str, monkeypatch: pytest.MonkeyPatch):
    lengths = counted(monkeypatch)
    context = read(book(3), role=role)
    assert sum(lengths) <= 20 * BUDGET * 8
    assert context.text


@pytest.mark.parametrize("query", [None, "Where is chapter 7?"])
@pytest.mark.parametrize("role", ["alone", "last", "neighbor"])
def test_ten_times_as_much_takes_next_to_no_longer(role: str, query: str | None):
    def least(chunk: Chunk) -> float:
        def once() -> float:
            begun = time.process_time()
            read(chunk, query, role=role)
            return time.process_time() - begun

        return min(once() for _ in range(3))

    assert least(book(20)) <= 5 * least(book(2)) + 0.05


def test_of_what_can_not_be_read_the_trace_tells():
    chunk = book(3)
    context = read(chunk, "Where is chapter 7?")
    note = f"chunk 'book': of {len(chunk.text):,} characters only the first {MIN_PART_CHARS:,} are read"
    assert context.trace.notes == (note,)
    (decision,) = (each for each in context.trace.decisions if each.chunk_id == "book")
    assert decision.outcome == "cut"
    source = context.provenance[-1]
    assert source.chunk_id == "book"
    assert context.text[slice(*source.span)] == chunk.text[slice(*source.chunk_span)]
    assert context.text.endswith("[...]")


@pytest.mark.parametrize("encoding", ["cl100k_base", by_function], ids=["cl100k", "callable"])
@pytest.mark.parametrize("place", [0.0, 0.5, 1.0], ids=["beginning", "middle", "end"])
@pytest.mark.parametrize("kind", ["prose", "one line without a stop", "CSV", "CJK"])
def test_the_answer_is_found_wherever_it_stands(kind: str, place: float, encoding: str | Callable[[str], int]):
    filler = million(kind) * 4
    at = int(place * len(filler))
    text = filler[:at] + ANSWER + filler[at:]
    chunk = Chunk("long", "A", text, 3, start=100)
    config = AssemblyConfig(max_tokens=1_000, encoding=encoding)
    context = assemble([Hit(chunk)], config, query=QUESTION)
    assert ANSWER.strip() in context.text
    assert counter_for(encoding).count(context.text) <= 1_000
    for source in context.provenance:
        assert context.text[slice(*source.span)] == text[slice(*source.chunk_span)]
        assert (source.start, source.end) == tuple(100 + each for each in source.chunk_span)
    (note,) = context.trace.notes
    if place:
        assert "for the words of the query" in note
    assert "<q" in context.to_html()


def test_without_words_to_look_for_it_is_the_beginning():
    text = million("prose") * 2
    for query in ("", "???", "Qqzzxy", "Qqzzxy wwjjvq"):
        assert best_window(text, query, MIN_PART_CHARS) == 0


def test_a_word_that_stands_everywhere_says_nothing():
    text = million("prose") * 2
    place = len(text) - 500_000
    text = f"{text[:place]} Hangar {text[place:]}"
    begin = best_window(text, "the hangar of " + " ".join(million("prose").split()[:3]), MIN_PART_CHARS)
    assert begin < place < begin + MIN_PART_CHARS


def test_an_identifier_is_looked_for_whole():
    text = million("prose") * 2
    place = len(text) - 500_000
    text = f"ISO27002 {text[:place]} ISO27001 {text[place:]}"
    begin = best_window(text, "ISO27001", MIN_PART_CHARS)
    assert begin < place < begin + MIN_PART_CHARS


def test_words_together_count_for_more_than_one_alone():
    text = million("prose") * 3
    both, alone = 2_500_000, 1_000_000
    text = f"{text[:alone]} zeppelin {text[alone:both]} zeppelin hangar {text[both:]}"
    begin = best_window(text, "hangar zeppelin", MIN_PART_CHARS)
    assert begin < both < begin + MIN_PART_CHARS


def test_what_is_looked_for_has_an_end():
    text, many = million("prose") * 20, " ".join(f"{chr(97 + n % 26)}unknown{n}" for n in range(300))

    def took(query: str) -> float:
        return seconds(lambda: best_window(text, query, MIN_PART_CHARS))

    assert any(took(many) < 10 * max(took("unknown"), FLOOR) for _ in range(TRIES))


@pytest.mark.parametrize("config", [{"granularity": "document"}, {"enabled": False}, {"rank_by": "rank"}])
def test_where_sentences_are_not_chosen_by_the_query_the_beginning_is_read(config: dict[str, object]):
    text = million("prose") * 2 + ANSWER
    context = assemble([Hit(Chunk("long", "A", text, 0))], AssemblyConfig(max_tokens=500, **config), query=QUESTION)  # type: ignore[arg-type]
    assert context.provenance[0].chunk_span[0] == 0


def test_a_budget_with_room_for_all_of_it_gets_all_of_it():
    chunk = Chunk("long", "A", "word " * (MAX_CHARS // 5) + "and the last one", 0)
    for query in (None, "Which is the last one?"):
        config = AssemblyConfig(max_tokens=300_000, order="documents")
        context = assemble([Hit(chunk)], config, query=query)
        assert context.text.endswith("and the last one")
        assert not context.trace.notes


def test_two_long_chunks_that_begin_alike_both_stand():
    text = million("prose") * 2
    chunks = [Chunk("one", "A", text), Chunk("two", "B", f"{text[:-9]}Otherwise")]
    context = assemble([Hit(each) for each in (*chunks, Chunk("three", "C", f" {text} "))], AssemblyConfig(window=0))
    outcomes = {each.chunk_id: each.outcome for each in context.trace.decisions}
    assert outcomes["three"] == "duplicate"
    assert outcomes["two"] != "duplicate"


def test_an_estimate_is_made_only_of_what_is_too_much_anyway():
    counter = TokenCounter(lambda text: len(text.split()), additive=False)
    text = "word " * 100_000
    assert counter.estimate(text, 100_000) == counter.estimate(text, 99_999) == 100_000
    assert counter.estimate(text, 10) == pytest.approx(100_000, rel=0.1)
