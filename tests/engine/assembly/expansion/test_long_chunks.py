"""A book that nobody split is read whole, in time in proportion to its length."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from ctxassembly import AssemblyConfig, Chunk, Context, Hit, assemble
from ctxassembly.tokens.counter import counter_for
from stopwatch import grows_less

ANSWER = "\nThe zeppelin hangar of Friedrichshafen was built by floating engineers.\n"
QUESTION = "Who built the hangar for zeppelins in Friedrichshafen?"


def book(sentence_count: int) -> str:
    """As a loader gives it to whoever forgot the splitter."""
    return "".join(f"{n}. The subject of chapter {n} is described at some length here. " for n in range(sentence_count))


def read(text: str, query: str | None) -> Context:
    counter_for("cl100k_base").clear_caches()
    return assemble([Hit(Chunk("book", "book", text))], AssemblyConfig(max_tokens=2_000), query=query)


@pytest.mark.parametrize("place", [0.0, 0.5, 1.0], ids=["beginning", "middle", "end"])
def test_the_answer_is_found_wherever_it_is(place: float):
    text = book(20_000)
    at = int(len(text) * place)
    context = read(text[:at] + ANSWER + text[at:], QUESTION)
    assert ANSWER.strip() in context.text
    assert context.token_count <= 2_000
    for source in context.provenance:
        assert (text[:at] + ANSWER + text[at:])[slice(*source.chunk_span)] == context.text[slice(*source.span)]


@pytest.mark.parametrize("query", [None, QUESTION], ids=["no query", "query"])
def test_ten_times_the_text_takes_some_ten_times_the_time(query: str | None):
    def reading(sentence_count: int) -> Callable[[], object]:
        text = book(sentence_count)
        return lambda: read(text, query)

    assert grows_less(reading, 3_000, 30_000, 30)
