"""Counts of sentences, added up, beside counts of what is written of them."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders import candidate_of, count
from ctxassembly import AssemblyConfig, Chunk
from ctxassembly.assembly.rendering.excerpt import Line
from ctxassembly.assembly.rendering.layout import Layout, empty_layout
from ctxassembly.assembly.scoring.sentences import Units, units_of
from ctxassembly.assembly.selection.knapsack import Costs, reduced
from ctxassembly.data.candidates import Joint
from ctxassembly.tokens.counter import Measured, counter_for

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


def laid_out(text: str) -> tuple[Layout, Units]:
    layout = empty_layout(AssemblyConfig(), counter_for("cl100k_base"), {})
    return layout, units_of([Line(candidate_of(Chunk("A", "A", text), 0))], "water")


@given(st.lists(st.sampled_from(PARTS), min_size=1, max_size=12).map("".join), st.data())
def test_what_is_kept_is_what_would_be_counted(text: str, data: st.DataObject):
    layout, units = laid_out(f"Begin. {text}")
    places = data.draw(st.sets(st.sampled_from(range(len(units.continues))), min_size=1))
    kept: dict[str, Measured] = {}
    counter = layout.typesetter.counter
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(counter, "keep", kept.__setitem__)
        Costs(layout, units, 4.0).keep(reduced(units, places).values())
    counter.forget()
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
    counter.forget()
    costs = Costs(layout, units, 4.0)
    assert sum(costs.of(place) for place in range(len(units.continues))) == pytest.approx(count(units.text), abs=1)
    costs.keep(reduced(units, set(range(len(units.continues) - 1))).values())
    encoded: list[str] = []
    monkeypatch.setattr(counter, "_count", encoded.append)
    counter.measure(text.removesuffix("Go home.").rstrip())
    assert encoded == []


def test_nor_is_a_chunk_that_the_next_one_continues_and_so_keeps_its_last_line_break(monkeypatch: pytest.MonkeyPatch):
    first, second = "Drink water before it. Eat nothing.\n", "Then wait for the doctor. Go home."
    line = Line(candidate_of(Chunk("A", "A", first), 0))
    line.add(candidate_of(Chunk("B", "A", second), 1), Joint(0, ""))
    layout, _ = laid_out("")
    units = units_of([line], "water")
    counter = layout.typesetter.counter
    counter.forget()
    Costs(layout, units, 4.0).keep(reduced(units, {0, 1, 2}).values())
    encoded: list[str] = []
    monkeypatch.setattr(counter, "_count", encoded.append)
    counter.measure(first)
    assert encoded == []


def test_where_counts_do_not_add_up_it_is_a_guess_by_characters():
    _, units = laid_out("Drink water. Eat nothing.")
    layout = empty_layout(AssemblyConfig(encoding=lambda text: len(text.split())), counter_for(len), {})
    costs = Costs(layout, units, 5.0)
    lengths = [end - start for start, end in pairwise(units.edges)]
    assert [costs.of(place) for place in range(2)] == [length / 5 for length in lengths]
