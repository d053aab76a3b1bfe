"""Counts of sentences, added up, beside counts of what is written of them."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders import candidate_of, count
from ctxassembly import AssemblyConfig, Chunk
from ctxassembly.assembly.rendering.excerpt import DocumentText
from ctxassembly.assembly.rendering.layout import Layout, empty_layout
from ctxassembly.assembly.scoring.sentences import ScoredSentences, split_and_score
from ctxassembly.assembly.selection.knapsack import TokenCosts, restrict_to_sentences
from ctxassembly.data.candidates import Join
from ctxassembly.tokens.counter import TokenSpan, counter_for

PARTS = [
    "Drink water. ",
    "It's 3.50!\n",
    "  indented\n",
    "/path. ",
    "Straße “gut”. ",
    "\n\n",
    "No…  ",
    "   ",
    "\t- two\n",
    "日本語。",
    "a. ",
]


def laid_out(text: str) -> tuple[Layout, ScoredSentences]:
    layout = empty_layout(AssemblyConfig(), counter_for("cl100k_base"), {})
    return layout, split_and_score([DocumentText(candidate_of(Chunk("A", "A", text), 0))], "water")


@given(st.lists(st.sampled_from(PARTS), min_size=1, max_size=12).map("".join), st.data())
def test_what_is_kept_is_what_would_be_counted(text: str, data: st.DataObject):
    layout, units = laid_out(f"Begin. {text}")
    places = data.draw(st.sets(st.sampled_from(range(len(units.continues))), min_size=1))
    kept: dict[str, TokenSpan] = {}
    counter = layout.typesetter.counter
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(counter, "record", kept.__setitem__)
        TokenCosts(layout, units, 4.0).record(restrict_to_sentences(units, places).values())
    counter.clear_caches()
    assert all(counter.measure(written) == measured for written, measured in kept.items())


@pytest.mark.parametrize(
    "text",
    [
        "Drink water before it. Eat nothing at all. Then wait for the doctor. Go home.",
        "Drink water before it.  Eat nothing at all.  Then wait for the doctor.  Go home.",
        "Before it:\n    water, two cups;\n\tno tea.\nThen wait for the doctor. Go home.",
    ],
)
def test_of_sentences_in_a_row_nothing_is_encoded_again(text: str, monkeypatch: pytest.MonkeyPatch):
    layout, units = laid_out(text)
    counter = layout.typesetter.counter
    counter.clear_caches()
    costs = TokenCosts(layout, units, 4.0)
    assert sum(costs.estimate(place) for place in range(len(units.continues))) == pytest.approx(
        count(units.text), abs=1
    )
    costs.record(restrict_to_sentences(units, set(range(len(units.continues) - 1))).values())
    encoded: list[str] = []
    monkeypatch.setattr(counter, "_count", encoded.append)
    counter.measure(text.removesuffix("Go home.").rstrip())
    assert encoded == []


def test_nor_is_a_chunk_that_the_next_one_continues_and_so_keeps_its_last_line_break(monkeypatch: pytest.MonkeyPatch):
    first, second = "Drink water before it. Eat nothing.\n", "Then wait for the doctor. Go home."
    line = DocumentText(candidate_of(Chunk("A", "A", first), 0))
    line.add(candidate_of(Chunk("B", "A", second), 1), Join(0, ""))
    layout, _ = laid_out("")
    units = split_and_score([line], "water")
    counter = layout.typesetter.counter
    counter.clear_caches()
    TokenCosts(layout, units, 4.0).record(restrict_to_sentences(units, {0, 1, 2}).values())
    encoded: list[str] = []
    monkeypatch.setattr(counter, "_count", encoded.append)
    counter.measure(first)
    assert encoded == []


def test_where_counts_do_not_add_up_it_is_a_guess_by_characters():
    _, units = laid_out("Drink water. Eat nothing.")
    layout = empty_layout(AssemblyConfig(encoding=lambda text: len(text.split())), counter_for(len), {})
    costs = TokenCosts(layout, units, 5.0)
    lengths = [end - start for start, end in pairwise(units.boundaries)]
    assert [costs.estimate(place) for place in range(2)] == [length / 5 for length in lengths]
