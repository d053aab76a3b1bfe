"""The order of the steps and what each lets go; sizes are in words, and the format writes nothing around a text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from builders import decision, numbered, standing
from ctxassembly import AssemblyConfig, Chunk, Context, Hit, assemble
from ctxassembly.assembly.rendering.layout import Layout
from ctxassembly.data.candidates import Candidate, HeaderDetail
from ctxassembly.data.trace import Shortened
from strategies import words


def chunk(name: str, length: int, n: int = 0) -> Chunk:
    return Chunk(f"{name}{n}", name, numbered(f"{name}{n}.", length), n)


def relieved(chunks: list[tuple[Chunk, float | None]], limit: int, query: str | None = None, **options: Any) -> Context:
    config = AssemblyConfig(**{"max_tokens": limit, "encoding": words, "format": "minimal", "window": 0, **options})
    context = assemble([Hit(each, score) for each, score in chunks], config, query=query)
    assert context.token_count <= limit
    return context


def outcomes(context: Context) -> dict[str, str]:
    return {each.chunk_id: each.reason for each in context.trace.decisions}


A, B, C, D = (chunk(name, 10) for name in "ABCD")
SCORED = [(A, 0.9), (B, 0.2), (C, 0.5), (D, None)]


@pytest.mark.parametrize(
    ("rule", "limit", "most", "tokens"),
    [
        ("while everything fits, nothing is cut", 40, 10, {"E0": 30, "A0": 10}),
        ("chunks over max_chunk_tokens are cut to it", 39, 20, {"E0": 20, "A0": 10}),
        ("cut no further than that, its mark comes on top", 39, 28, {"E0": 28, "A0": 10}),
        ("one token over is over", 39, 29, {"E0": 29}),
        ("a chunk of just so many tokens stays", 39, 30, {"E0": 30}),
        ("every long one is cut", 39, 4, {"E0": 4, "A0": 4}),
        ("no limit, nothing is cut but for the budget", 39, None, {"E0": 30}),
    ],
)
def test_max_chunk_tokens(rule: str, limit: int, most: int | None, tokens: dict[str, int]):
    context = relieved([(chunk("E", 30), None), (A, None)], limit, max_chunk_tokens=most)
    assert {s.chunk_id: words(context.text[slice(*s.span)]) for s in context.provenance} == tokens


SENTENCES = "One is five words long. Two is five words long. Ask Ann on 1 May."


@pytest.mark.parametrize(
    ("rule", "most", "options", "text"),
    [
        ("cut at a sentence", 12, {}, "One is five words long. Two is five words long. [...]"),
        ("cut at a sentence", 9, {}, "One is five words long. [...]"),
        ("cut at a word", 4, {}, "One is five words [...]"),
        ("its best sentences where there are any", 9, {"compress": "extractive"}, "Ask Ann on 1 May."),
        (
            "in order, of two the one beside the best",
            10,
            {"compress": "extractive", "query": "Ann five"},
            "Two is five words long. Ask Ann on 1 May.",
        ),
        ("no sentence so short: its beginning", 4, {"compress": "extractive"}, "One is five words [...]"),
    ],
)
def test_how_a_long_chunk_is_cut(rule: str, most: int, options: dict[str, Any], text: str):
    context = relieved([(Chunk("s", "S", SENTENCES), None), (A, None)], 24, max_chunk_tokens=most, **options)
    assert context.blocks[0].text == text
    assert (decision(context, "s").outcome, decision(context, "s").reason) == ("cut", "max_chunk_tokens")
    after = words(text.replace("[...]", ""))
    assert decision(context, "s").shortened == Shortened("s", "max_chunk_tokens", 15, after)


def test_where_not_even_a_character_has_so_few_tokens_the_chunk_stays_as_it_is():
    config = AssemblyConfig(max_tokens=90, encoding=lambda text: 40 * len(text), format="minimal", max_chunk_tokens=39)
    context = assemble([Hit(Chunk("a", "A", "ab")), Hit(Chunk("b", "B", "cd"))], config)
    assert context.text == "ab"
    assert decision(context, "a").outcome == "kept"


@pytest.mark.parametrize("option", [])
def test_what_was_let_go_does_not_stand_alone_where_nothing_fits(option: dict[str, Any]):
    chunks = [(chunk("F", 7), 0.2), (A, 0.9)]
    context = relieved(chunks, 5, **option)
    assert standing(context) == ["A0"]
    assert context.text == numbered("A0.", 4) + " [...]"
    assert standing(relieved(chunks, 5)) == ["F0"]


def test_text_of_twice_the_room_is_not_counted_whole(monkeypatch: pytest.MonkeyPatch):
    """Whether everything fits is seen from the length of a text, if that is far too much."""
    tried: list[int] = []
    fits = Layout.fits

    def counted(layout: Layout, candidates: Sequence[Candidate], *detail: HeaderDetail) -> bool:
        tried.append(len(candidates))
        return fits(layout, candidates, *detail)

    monkeypatch.setattr(Layout, "fits", counted)
    hits = [(chunk(name, 100), 0.5) for name in "ABCDEFGH"]
    relieved(hits, 500, "A0.7", fill=True)
    assert max(tried) == len(hits)
    tried.clear()
    relieved(hits, 300, "A0.7", fill=True)
    assert 0 < max(tried) < len(hits)


def test_a_query_for_which_nothing_was_retrieved_has_an_empty_context():
    assert relieved([], 100, "What is A0?").text == ""
