"""Token counts of sentences that add up, or are estimated by characters."""

from __future__ import annotations

from itertools import pairwise

import pytest

from builders import candidate_of, count
from ctxassembly import AssemblyConfig, Chunk, Hit, assemble
from ctxassembly.assembly.rendering.excerpt import DocumentText
from ctxassembly.assembly.rendering.layout import Layout, empty_layout
from ctxassembly.assembly.scoring.features import score_sentences
from ctxassembly.assembly.scoring.sentences import ScoredSentences
from ctxassembly.assembly.selection.knapsack import TokenCosts
from ctxassembly.tokens.counter import counter_for


def laid_out(text: str) -> tuple[Layout, ScoredSentences]:
    layout = empty_layout(AssemblyConfig(), counter_for("cl100k_base"))
    return layout, score_sentences([DocumentText(candidate_of(Chunk("A", "A", text), 0))], "water")


@pytest.mark.parametrize(
    "text",
    [
        "Drink water before it. Eat nothing at all. Then wait for the doctor. Go home.",
        "Drink water before it.  Eat nothing at all.  Then wait for the doctor.  Go home.",
        "Before it:\n    water, two cups;\n\tno tea.\nThen wait for the doctor. Go home.",
    ],
)
def test_counts_of_sentences_in_a_row_add_up(text: str):
    layout, units = laid_out(text)
    counter = layout.typesetter.counter
    counter.clear_caches()
    costs = TokenCosts(layout, units, 4.0)
    assert sum(costs[place] for place in range(len(units.continues))) == pytest.approx(count(units.text), abs=1)


def test_where_counts_do_not_add_up_it_is_a_guess_by_characters():
    _, units = laid_out("Drink water. Eat nothing.")
    layout = empty_layout(AssemblyConfig(encoding=lambda text: len(text.split())), counter_for(len))
    costs = TokenCosts(layout, units, 5.0)
    lengths = [end - start for start, end in pairwise(units.boundaries)]
    assert [costs[place] for place in range(2)] == [length / 5 for length in lengths]


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The texts that are encoded."""
    counter, texts = counter_for("cl100k_base"), list[str]()
    original = counter._count
    monkeypatch.setattr(counter, "_count", lambda text: texts.append(text) or original(text))
    counter.clear_caches()
    return texts


TEXT = " ".join(f"Before examination number {n} you may eat a light breakfast with tea." for n in range(40))


@pytest.mark.parametrize("order", ["auto", "documents", "relevance"])
def test_a_passage_is_not_counted_again_when_its_sentences_were(order: str, counted: list[str]):
    config = AssemblyConfig(max_tokens=400, granularity="sentence", order=order, encoding="cl100k_base")
    context = assemble([Hit(Chunk("a", "A", TEXT))], config, query="What may I eat before an examination?")
    assert context.text.count("breakfast") > 10
    assert not [part for part in counted if 1 < part.count("breakfast") < 40]  # all 40: the guess by the best hit


def test_a_sentence_in_two_chunks_is_counted_whole(counted: list[str]):
    cut = TEXT.index("number 20 you may eat") + 13
    chunks = [Chunk("a", "A", TEXT[:cut], 0, 0), Chunk("b", "A", TEXT[cut - 50 :], 1, cut - 50)]
    config = AssemblyConfig(max_tokens=400, granularity="sentence", encoding="cl100k_base")
    context = assemble([*map(Hit, chunks)], config, query="What may I eat before examination number 20?")
    assert "Before examination number 20 you may eat a light breakfast" in context.text
    assert not [part for part in counted if "breakfast" in part and "Before" not in part]
