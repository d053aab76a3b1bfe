"""Units taken by value within a room in tokens."""

from __future__ import annotations

import pytest

from builders import candidate_of
from ctxassembly import AssemblyConfig, Chunk
from ctxassembly.assembly.rendering.excerpt import DocumentText
from ctxassembly.assembly.rendering.layout import empty_layout
from ctxassembly.assembly.scoring.features import score_sentences
from ctxassembly.assembly.scoring.sentences import ScoredSentences
from ctxassembly.assembly.selection.knapsack import Companions, TokenCosts, pick_greedily
from ctxassembly.tokens.counter import counter_for

FILLER = [f"Line {n} of this leaflet tells you nothing that is new." for n in range(30)]


def sentences(*documents: list[str], query: str = "") -> ScoredSentences:
    """The units of chunks that have each text of their document on a line of its own."""
    names = "ABCDEFGH"[: len(documents)]
    chunks = [Chunk(name, name, "\n".join(texts)) for name, texts in zip(names, documents, strict=True)]
    return score_sentences([DocumentText(candidate_of(chunk, rank)) for rank, chunk in enumerate(chunks)], query)


def costs(units: ScoredSentences) -> TokenCosts:
    return TokenCosts(empty_layout(AssemblyConfig(), counter_for("cl100k_base")), units, 4.0)


@pytest.mark.parametrize(
    ("rule", "texts", "order", "taken"),
    [
        ("a scrap between sentences says less than a marker", [FILLER[0], "Mr.", FILLER[1]], [1], set()),
        ("or beside one", ["Mr.", FILLER[0]], [0], set()),
        ("signs alone do, however many", ["|-------|-------|-------|", "| 2 |"], [0], set()),
        ("it goes with a sentence", [FILLER[0], "Mr.", FILLER[1]], [0, 1], {0, 1}),
        ("a line among others of its length stands, with them", ["Monday", "8-17 h", FILLER[0]], [0], {0, 1}),
        ("and so does all that there is", ["Monday"], [0], {0}),
        ("cells of a table may be equal", ["Cash", *["12"] * 20], [*range(21)], {*range(21)}),
    ],
)
def test_scraps(rule: str, texts: list[str], order: list[int], taken: set[int]):
    units = sentences(texts)
    assert pick_greedily(units, order, 1_000, costs(units), Companions(units)).indexes == taken


@pytest.mark.parametrize(
    ("rule", "documents", "room", "counted"),
    [
        ("what has room", [FILLER[:1], FILLER[1:2]], 50, {0, 1}),
        ("nothing that is much too long", [FILLER[:1], [" ".join(FILLER)]], 50, {0}),
        ("nor what has no room beside its header", [FILLER[:1], FILLER[1:2]], 32, {0}),
    ],
)
def test_what_is_counted(
    rule: str, documents: list[list[str]], room: float, counted: set[int], monkeypatch: pytest.MonkeyPatch
):
    units = sentences(*documents)
    seen: list[int] = []
    monkeypatch.setattr(TokenCosts, "__missing__", lambda _, place: seen.append(place) or 12.0)
    pick_greedily(units, range(2), room, costs(units), Companions(units))
    assert set(seen) == counted
