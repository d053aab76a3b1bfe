"""The curve: where ours reaches the recall of the plain join, and the picture of the readme."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from quality import curve
from quality.data import Question, QuestionSet, Span
from quality.measure import Plan, Results
from quality.report import Measured
from quality.strategies import STRATEGIES

ROOT = Path(__file__).parents[2]
LIMITS = [500, 1_000, 8_000]
JOINED = [(0.2, 400), (0.4, 900), (0.6, 6_400)]


def plan(*strategies: str) -> Plan:
    return Plan({name: STRATEGIES[name] for name in strategies}, LIMITS, 20)


def measured(name: str, **curves: Sequence[tuple[float, int]]) -> Measured:
    """A set with one question, and the recall and tokens of each strategy by limit."""
    question = Question("q", "When?", (Span("d", 0, 1),), ())
    results: Results = {
        (strategy, limit): {"recall": np.array([recall]), "tokens": np.array([tokens])}
        for strategy, found in curves.items()
        for limit, (recall, tokens) in zip(LIMITS, found, strict=True)
    }
    return Measured(QuestionSet(name, {}, {}, (question,), ""), (question,), results)


@pytest.mark.parametrize(
    ("ours", "tokens"),
    [
        ([(0.5, 400), (0.7, 1_600), (0.8, 4_000)], 800),  # half way, over the logarithm
        ([(0.5, 400), (0.6, 1_600), (0.8, 4_000)], 1_600),
        ([(0.6, 400), (0.7, 1_600), (0.8, 4_000)], 400),
        ([(0.9, 400), (0.5, 1_600), (0.8, 4_000)], 400),
        ([(0.5, 400), (0.5, 1_600), (0.5, 4_000)], math.inf),
    ],
)
def test_where_ours_reaches_the_recall_of_the_plain_join(ours: Sequence[tuple[float, int]], tokens: float) -> None:
    found = curve.saving([measured("birds", concatenation=JOINED, default=ours)], plan("concatenation", "default"))
    assert found.recall == pytest.approx(0.6)
    assert found.ours == pytest.approx(tokens)
    assert found.times == pytest.approx(6_400 / tokens)


def test_the_sentence_has_the_mean_and_the_range_of_the_sets() -> None:
    sets = [
        measured("birds", concatenation=JOINED, default=[(0.5, 400), (0.7, 1_600), (0.8, 4_000)]),
        measured("bees", concatenation=JOINED, default=[(0.3, 400), (0.5, 1_600), (0.55, 4_000)]),
        measured("bats", concatenation=JOINED, default=[(0.7, 400), (0.9, 1_600), (0.9, 4_000)]),
    ]
    text = curve.savings(sets, plan("concatenation", "default"))
    # Over all sets: .5 at 400, .7 at 1,600.
    assert "hits at 8.0 times fewer tokens: 0.600 in 800 instead of 6,400, the mean of 3 sets " in text
    assert "(95 % interval 8.0 to 8.0 times); 8.0 to 16.0 times by set, not reached on bees.\n" in text
    assert "| birds | 1 | 0.600 at 6,400 | 0.800 at 4,000 | 800 | 8.0 |" in text
    assert "| bees | 1 | 0.600 at 6,400 | 0.550 at 4,000 | – | – |" in text
    assert curve.savings(sets, plan("concatenation")) == ""


def test_a_picture_for_light_and_dark_pages_says_what_it_shows(tmp_path: Path) -> None:
    pytest.importorskip(curve.NEEDS)
    sets = [measured("birds", concatenation=JOINED, default=[(0.5, 400), (0.7, 1_600), (0.8, 4_000)])]
    files = curve.draw(sets, plan("concatenation", "default"), tmp_path)
    assert [file.name for file in files] == ["recall.png", "recall-dark.png"]
    for file, is_dark in zip(files, (False, True), strict=True):
        with Image.open(file) as picture:
            assert picture.info["Description"] == curve.sentence(sets, plan("concatenation", "default"))
            corner = picture.convert("L").getpixel((0, 0))
            assert isinstance(corner, int)
            assert (corner < 128) == is_dark
    assert curve.draw(sets, plan("chunk"), tmp_path) == []


@pytest.mark.parametrize("theme", curve.THEMES)
def test_the_pages_say_what_the_picture_shows(theme: str) -> None:
    with Image.open(ROOT / "docs" / "assets" / theme) as picture:
        said = str(picture.info["Description"])
    text = (ROOT / "docs/benchmarks.md").read_text("utf-8").replace("**", "")
    assert said in " ".join(text.split()), "docs/benchmarks.md has another figure than the picture: make curve"
    figures = set(re.findall(r"\d[\d.,]*\d", said))
    for page in ("README.md", "docs/index.md"):  # the same figures in other words
        missing = figures - set(re.findall(r"\d[\d.,]*\d", (ROOT / page).read_text("utf-8")))
        assert not missing, f"{page} has other figures than the picture: make curve"
