"""The order of the steps and what each lets go; sizes are in words, and the format writes nothing around a text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from builders import decision, numbered, standing
from ctxassembly import AssemblyConfig, Chunk, Context, Hit, MemoryStore, assemble
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
    ("rule", "limit", "floor", "stands"),
    [
        ("while everything fits, nothing is dropped", 40, 0.5, ["A0", "B0", "C0", "D0"]),
        ("hits below relevance_floor go; what reaches it stays", 39, 0.5, ["A0", "C0", "D0"]),
        ("all of them, even if fewer would do", 39, 0.6, ["A0", "D0"]),
        ("one without a score stays", 39, 5.0, ["D0"]),
        ("no floor, none goes but for the budget", 39, None, ["A0", "B0", "C0"]),
        ("then the budget has its say", 29, 0.5, ["A0", "C0"]),
        ("any scale: a negative floor", 39, -1.0, ["A0", "B0", "C0"]),
    ],
)
def test_the_relevance_floor(rule: str, limit: int, floor: float | None, stands: list[str]):
    assert standing(relieved(SCORED, limit, relevance_floor=floor)) == stands


def test_what_is_below_the_floor_is_in_the_trace_with_its_tokens():
    context = relieved(SCORED, 39, relevance_floor=0.5)
    assert (decision(context, "B0").outcome, decision(context, "B0").reason) == ("dropped", "below the relevance floor")
    assert decision(context, "B0").tokens == 10
    assert context.trace.excluded == (decision(context, "B0"),)
    assert context.trace.documents_dropped == 1


def test_where_no_hit_reaches_the_floor_all_stay_and_a_note_says_so():
    context = relieved(SCORED[:3], 29, relevance_floor=7)
    assert standing(context) == ["A0", "B0"]
    assert context.trace.notes == ("relevance_floor: no hit reaches 7, all stay",)
    assert relieved(SCORED, 39, relevance_floor=0.5).trace.notes == ()


def test_neighbors_go_with_the_hit_that_they_were_fetched_for():
    stored = [chunk(name, 10, n) for name in "AB" for n in range(3)]
    hits = [Hit(stored[1], 0.9), Hit(stored[4], 0.2)]
    options = {"max_tokens": 59, "encoding": words, "format": "minimal"}
    context = assemble(hits, AssemblyConfig(**options, relevance_floor=0.5), store=MemoryStore(stored))
    assert standing(context) == ["A0", "A1", "A2"]
    assert {decision(context, f"B{n}").reason for n in range(3)} == {"below the relevance floor"}
    without = assemble(hits, AssemblyConfig(**options), store=MemoryStore(stored))
    assert standing(without) == ["A0", "A1", "A2", "B0", "B1"]


def test_a_neighbors_decayed_score_is_not_held_against_it():
    """0.9 and half of it: the hit reaches the floor, and what was fetched for it stays with it."""
    stored = [chunk("A", 10, n) for n in range(3)]
    hits = [Hit(stored[1], 0.9), Hit(B, 0.2)]
    config = AssemblyConfig(max_tokens=39, encoding=words, format="minimal", relevance_floor=0.5)
    assert standing(assemble(hits, config, store=MemoryStore(stored))) == ["A0", "A1", "A2"]


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




def test_what_was_let_go_does_not_come_back_for_its_duplicate():
    """The near duplicate of what is below the floor is so, too."""
    twin = Chunk("twin", "T", B.text + " more")
    chunks = [(A, 0.9), (B, 0.2), (twin, 0.1), (chunk("E", 30), 0.8)]
    context = relieved(chunks, 45, dedup="near", near_threshold=0.9, relevance_floor=0.5)
    assert standing(context) == ["A0", "E0"]
    assert (decision(context, "twin").outcome, decision(context, "twin").tokens) == ("dropped", None)


@pytest.mark.parametrize("option", [{"relevance_floor": 0.5}, ])
def test_what_was_let_go_does_not_stand_alone_where_nothing_fits(option: dict[str, Any]):
    chunks = [(chunk("F", 7), 0.2), (A, 0.9)]
    context = relieved(chunks, 5, **option)
    assert standing(context) == ["A0"]
    assert context.text == numbered("A0.", 4) + " [...]"
    assert standing(relieved(chunks, 5)) == ["F0"]


def test_the_best_hit_stands_alone_where_what_stayed_has_no_character_that_fits():
    hits = [Hit(Chunk("low", "L", "plain"), 0.1), Hit(Chunk("high", "H", "\U0001f9ff\U0001f9ff"), 0.9)]
    assert assemble(hits, AssemblyConfig(max_tokens=1, relevance_floor=0.5)).text == "plain"


def test_sentences_of_a_hit_below_the_floor_are_not_chosen():
    best = Chunk("low", "low", "Ferritin is measured in the morning. Ferritin stores iron.")
    others = [
        Chunk(f"c{n}", f"c{n}", f"Ferritin is a protein, says leaflet {n}. {numbered('word', 30)}") for n in range(3)
    ]
    hits = [*(Hit(chunk, 0.9) for chunk in others), Hit(best, 0.1)]
    config = AssemblyConfig(max_tokens=60, granularity="sentence", relevance_floor=0.5)
    context = assemble(hits, config, query="When is ferritin measured?")
    assert decision(context, "low").reason == "below the relevance floor"
    assert "morning" not in context.text


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
