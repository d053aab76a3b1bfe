from __future__ import annotations

from typing import Any

import pytest

from builders import count, hits_of, numbered
from ctxassembly import AssemblyConfig, Chunk, Context, Supplement, assemble
from ctxassembly.errors import ConfigError

FACTS = "Aspirin is a blood thinner. It interacts with warfarin."
HITS = hits_of([Chunk("A0", "A", "Text.", 0), Chunk("B0", "B", "Other.", 0)], 0.9, 0.5)
DOCUMENTS = "[1] Source: unknown\nText.\n\n[2] Source: unknown\nOther."


def supplemented(supplement: Any = FACTS, hits: Any = HITS, query: str | None = None, **options: Any) -> Context:
    context = assemble(hits, AssemblyConfig(**options), query=query, supplement=supplement)
    assert context.token_count == count(context.text)
    assert "\n\n".join(block.text for block in context.blocks) == context.text
    return context


def notes(context: Context) -> list[str]:
    return [note.removeprefix("supplement: ") for note in context.trace.notes if note.startswith("supplement: ")]


@pytest.mark.parametrize(
    ("rule", "options", "text"),
    [
        ("after the documents", {}, f"{DOCUMENTS}\n\n--- SUPPLEMENTARY INFORMATION ---\n{FACTS}"),
        (
            "in Dutch",
            {"language": "nl", "format": "minimal"},
            f"Text.\n\nOther.\n\n--- AANVULLENDE INFORMATIE ---\n{FACTS}",
        ),
    ],
)
def test_a_supplement_stands_behind_its_own_separator(rule: str, options: dict[str, Any], text: str):
    assert supplemented(**options).text == text


def test_it_is_no_labels_and_has_no_provenance():
    context = supplemented()
    assert [citation.label for citation in context.citations] == ["1", "2"]
    assert [context.text[slice(*source.span)] for source in context.provenance] == ["Text.", "Other."]
    assert [block.citation is None for block in context.blocks].index(True) == 2
    assert context.supplement in context.text
    assert FACTS in context.supplement


@pytest.mark.parametrize(
    ("rule", "supplement", "scores", "query", "threshold", "stands"),
    [
        ("suppressed when the best hit's score reaches it", FACTS, [0.9, 0.5], None, 0.9, False),
        ("not when it stays below", FACTS, [0.9, 0.5], None, 0.91, True),
        ("by default there is no threshold", FACTS, [0.9, 0.5], None, None, True),
        ("never when nothing was retrieved", FACTS, [], None, 0.3, True),
        ("the best score decides, wherever it is", FACTS, [0.2, 0.9], None, 0.3, False),
        ("a caller can force it", Supplement(FACTS, force=True), [0.9, 0.5], None, 0.3, True),
        ("a function may decide by the query", FACTS, [0.9], "drug interactions?", lambda q, s: "drug" in q, True),
        ("... or the score", FACTS, [0.9, 0.5], None, lambda q, s: (q, s) == (None, 0.9), True),
        ("force is above the function, too", Supplement(FACTS, force=True), [0.9], None, lambda q, s: False, True),
    ],
)
def test_the_gate(rule: str, supplement: Any, scores: list[Any], query: Any, threshold: Any, stands: bool):
    hits = hits_of([hit.chunk for hit in HITS][: len(scores)], *scores)
    context = supplemented(supplement, hits, query, supplement_threshold=threshold)
    assert bool(context.supplement) is stands
    (note,) = notes(context)
    assert note.startswith("included" if stands else "suppressed")


@pytest.mark.parametrize(
    ("rule", "cap", "options", "written"),
    [
        ("while it fits it stands whole", 21, {}, FACTS),
        ("cut at a sentence", 20, {}, "Aspirin is a blood thinner. [...]"),
        ("at most half of the budget where anything was retrieved", 1_000, {"max_tokens": 40}, FACTS[:27] + " [...]"),
        ("never inside a sentence: half a fact may say the opposite", 8, {}, ""),
    ],
)
def test_its_cap(rule: str, cap: int, options: dict[str, Any], written: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("ctxassembly.assembly.supplement.MAX_TOKENS", cap)
    context = supplemented(**options)
    assert context.supplement.partition("\n")[2] == written
    assert count(context.supplement) <= min(cap, options.get("max_tokens", 8_000) // 2)
    (note,) = notes(context)
    assert note.startswith("included" if written else "left out, no sentence of it fits in 8 tokens")
    assert note.endswith("its text cut") == written.endswith("[...]")


def test_it_gives_way_to_the_best_hit():
    """A worse hit beside it would fit."""
    best = Chunk("A0", "A", numbered("w", 20), 0)
    hits = hits_of([best, Chunk("B0", "B", "Other.", 0)])
    assert not (context := supplemented(hits=hits, max_tokens=60)).supplement
    assert context.citations[0].chunk_ids == ("A0",)
    assert notes(context) == ["left out, the best hit does not fit next to it"]


@pytest.mark.parametrize("option", [{"compress": "extractive"}])
def test_it_gives_way_rather_than_that_the_best_hit_is_shortened(option: dict[str, Any]):
    said = " ".join(f"Sentence {n} says it." for n in range(9))
    hits = hits_of([Chunk("A0", "A", said, 0)])
    context = supplemented(hits=hits, query="says", max_tokens=count(said) + 10, format="minimal", **option)
    assert context.text == said
    assert notes(context) == ["left out, the best hit does not fit next to it"]
    roomy = supplemented(hits=hits, query="says", max_tokens=400, format="minimal", **option)
    assert roomy.text == f"{said}\n\n--- SUPPLEMENTARY INFORMATION ---\n{FACTS}"


@pytest.mark.parametrize(
    "options", [{}, {"format": "xml"}, {"format": "grouped"}, {"format": "minimal"}, {"cite": "chunk"}]
)
@pytest.mark.parametrize("limit", [30, 45, 80, 8_000])
@pytest.mark.parametrize("position", ["before", "after"])
def test_a_supplement_has_the_place_and_the_separator_that_it_asks_for(
    position: str, limit: int, options: dict[str, Any]
):
    supplement = Supplement(FACTS, separator="=== FROM THE LIST ===", position=position)
    context = supplemented(supplement, max_tokens=limit, **options)
    assert context.token_count == count(context.text) <= limit
    blocks = [block.text for block in context.blocks]
    assert "\n\n".join(blocks) == context.text
    if not context.supplement:
        assert limit < 80
        return
    assert context.supplement.startswith("=== FROM THE LIST ===\n")
    assert context.supplement == blocks[0 if position == "before" else -1]


@pytest.mark.parametrize(
    ("parameter", "options"),
    [("separator", {"separator": " "}), ("separator", {"separator": "a\nb"}), ("position", {"position": "above"})],
)
def test_a_supplement_refuses_another_separator_or_place(parameter: str, options: dict[str, Any]):
    with pytest.raises(ConfigError, match=rf"^{parameter} must be None"):
        Supplement(FACTS, **options)
