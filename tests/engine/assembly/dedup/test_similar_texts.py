"""What makes two chunks near or semantic duplicates, and which facts forbid it: hits in, outcomes out."""

from __future__ import annotations

from array import array
from itertools import permutations, product
from typing import Any

import numpy as np
import pytest

from builders import decision, hits_of
from ctxassembly import AssemblyConfig, Chunk, assemble

HUNDRED = ["".join(letters) for letters in product("abcdefghij", "klmnopqrst")]
WHOLE = " ".join(HUNDRED)


def outcome(first: str, second: str, **options: Any) -> str:
    config = AssemblyConfig(**{"dedup": "near", "dedup_sentences": False, **options})
    return decision(assemble(hits_of([Chunk("1", "A", first), Chunk("2", "B", second)]), config), "2").outcome


@pytest.mark.parametrize(
    ("threshold", "lacking", "expected"),
    [(0.95, 2, "duplicate"), (0.95, 3, "kept"), (0.9, 5, "duplicate"), (1, 1, "kept")],
)
def test_what_the_thresholds_do(threshold: float, lacking: int, expected: str):
    """Of fifty sentences of two words each some are lacking: of a hundred words the others are shared."""
    said = [f"W{first} letter{second}." for first, second in zip(HUNDRED[::2], HUNDRED[1::2], strict=True)]
    # They are far from each other, so that fewer runs of five than words are whole.
    text = " ".join(sentence for n, sentence in enumerate(said) if n % 10 != 5 or n // 10 >= lacking)
    assert outcome(" ".join(said), text, near_threshold=threshold) == expected


@pytest.mark.parametrize(
    ("rule", "first", "second", "expected"),
    [
        ("another order of words says something else", "one two three four", "four three two one", "kept"),
        ("accents' form, case and punctuation say nothing", "The \u00e9t\u00e9!", "the e\u0301te\u0301", "duplicate"),
        ("a part of a longer text", WHOLE, " ".join(HUNDRED[40:60]), "duplicate"),
        ("never the longer text as a part of its part", " ".join(HUNDRED[40:60]), WHOLE, "kept"),
        ("the same words in other runs are no part", WHOLE, " ".join(HUNDRED[60:40:-1]), "kept"),
        ("eight of ten are not", WHOLE, " ".join([*HUNDRED[10:24], "other", "words"]), "kept"),
        ("fewer than five words are no part", WHOLE, " ".join(HUNDRED[:4]), "kept"),
        ("two texts of overlapping halves", " ".join(HUNDRED[:60]), " ".join(HUNDRED[30:90]), "kept"),
        ("Chinese, other words", "请在检查前六小时内不要进食", "停车场昼夜开放入口在磨坊街", "kept"),
        ("Chinese, a part", "请在检查前六小时内不要进食检查前两小时可以喝水", "检查前两小时可以喝水", "duplicate"),
    ],
)
def test_near_and_part(rule: str, first: str, second: str, expected: str):
    assert outcome(first, second) == expected


def by_meaning(first: str, second: str, vectors: tuple[Any, Any] = ((1.0, 0.0), (1.0, 0.0))) -> tuple[str, list[str]]:
    chunks = [
        Chunk(str(n), f"D{n}", text, vector=vector)
        for n, (text, vector) in enumerate(zip((first, second), vectors, strict=True))
    ]
    context = assemble(hits_of(chunks), AssemblyConfig(dedup="semantic"))
    return decision(context, "1").outcome, [*context.trace.notes]


@pytest.mark.parametrize(
    ("rule", "first", "second"),
    [
        ("numbers", "Wait for two hours.", "Wait for three hours."),
        ("numbers", "Take 5 mg.", "Take some."),
        ("numbers", "A share is 3.5 euros.", "A share is 35 euros."),
        ("numbers", "By ISO27001.", "By ISO27002."),
        ("signs", "It has 12 degrees.", "It has -12 degrees."),
        ("units", "Take 5 mg.", "Take 5 g."),
        ("units", "It adds 5 %.", "It adds 5."),
        ("dates", "It opens on Monday.", "It opens on Tuesday."),
        ("dates", "Op 5 mei.", "Op 5 juni."),
        ("names", "Ask for doctor Visser.", "Ask for doctor Jansen."),
        ("negations", "You may eat.", "You may not eat."),
        ("negations", "They didn\u2019t and may not.", "They did and may not."),
        ("negations", "U mag eten.", "U mag niet eten."),
        ("negations", "Sie d\u00fcrfen fahren.", "Sie d\u00fcrfen nicht fahren."),
        ("negations", "Puede comer.", "No puede comer."),
    ],
)
def test_numbers_dates_names_and_negations_make_a_difference(rule: str, first: str, second: str):
    for one, other in permutations((first, second)):
        assert by_meaning(one, other)[0] == "kept", rule


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("It opens on Monday 5 May.", "Het opent op maandag 5 mei."),
        ("Am Montag wird ge\u00f6ffnet.", "Ge\u00f6ffnet wird am Montag."),
        ("An hour is 1,000 euros.", "The cost of one hour: 1.000 euros."),
        ("Anna Visser may drive.", "The patient, Anna Visser, can drive."),
        ("1. Drink water.", "1. Have water."),
        ("Then I may drive.", "Then driving is fine."),
    ],
)
def test_other_words_for_the_same_facts_make_none(first: str, second: str):
    for one, other in permutations((first, second)):
        assert by_meaning(one, other)[0] == "duplicate"


@pytest.mark.parametrize(
    ("rule", "vector", "close"),
    [
        ("of any length", [3, 0], True),
        ("a numpy array", np.array([3.0, 0.0], dtype="float32"), True),
        ("an array", array("d", [3, 0]), True),
        ("numbers too large to be squared", [3e200, 0], True),
        ("at the threshold", (0.92, (1 - 0.92**2) ** 0.5), True),
        ("below it", (0.91, (1 - 0.91**2) ** 0.5), False),
        ("of other dimensions", (1.0,), False),
    ],
)
def test_what_is_close(rule: str, vector: Any, close: bool):
    found, _ = by_meaning("Drink water.", "Have something to drink.", ((1.0, 0.0), vector))
    assert found == ("duplicate" if close else "kept")


@pytest.mark.parametrize(
    "vector",
    [[0.0, 0.0], [], [1.0, float("nan")], [1.0, float("inf")], [10**400], "34", ["a", None], 7, [[1.0], [2.0]]],
)
def test_what_is_no_vector_is_noted_and_compared_by_words(vector: Any):
    found, notes = by_meaning("Drink water.", "Have something to drink.", ((1.0, 0.0), vector))
    assert found == "kept"
    assert any("vector" in note for note in notes)
