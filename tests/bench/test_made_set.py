"""The figures of the made set are those that the docs and the settings name."""

from __future__ import annotations

from pathlib import Path

import pytest

from affinity import share_classified, share_found
from ctxassembly.config.retrieval import DEFAULT_AFFINITY, RetrievalConfig
from ctxassembly.data.validation import describe_fields
from ctxassembly.enrichment import categories
from enrichment import KINDS, measure
from made_set import PAGES

INTENTS = [page.category for page in PAGES]


def test_the_default_factors_find_what_the_setting_says():
    assert {factor for row in DEFAULT_AFFINITY.values() for factor in row.values()} == {0.8}
    found = [share_found(intents, factor) for intents, factor in (([None] * len(PAGES), 1), (INTENTS, 0.8))]
    assert found == pytest.approx([0.71, 1.0], abs=0.005)
    (text,) = (text for line, text in describe_fields(RetrievalConfig) if line.startswith("affinity:"))
    assert "1.00 of them if the intents are right" in " ".join(text.split())
    assert ".71 without intents" in " ".join(text.split())


@pytest.mark.parametrize(("examples", "share"), [(1, ".62"), (2, ".70"), (3, ".75")])
def test_examples_classify_as_the_module_says(examples: int, share: str):
    assert share_classified(examples) == pytest.approx(float(share), abs=0.006)
    assert share in str(categories.__doc__)


@pytest.mark.parametrize("kind", KINDS)
def test_each_note_is_worth_what_the_page_says(kind: str):
    best, mean, price = measure(KINDS[kind])
    page = Path(__file__).parents[2].joinpath("docs", "settings.md").read_text("utf-8")
    (row,) = (line for line in page.splitlines() if line.startswith((f"| {kind} |", f"| {kind} (", f"| {kind},")))
    shown = [f"{share:.2f}".removeprefix("0") for share in (best, mean)]
    assert row.split(" | ")[1:3] == shown
    if price:
        assert f"{price.tokens_in:,} | {price.max_tokens_out:,} |" in row
