"""The page on presets names every default that differs from a published setting, with both values and the reason."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from ctxassembly import RetrievalConfig
from ctxassembly.answering import AnswerConfig

PAGE = Path(__file__).parents[2] / "docs" / "presets.md"


def rows() -> dict[str, list[str]]:
    lines = [line for line in PAGE.read_text("utf-8").splitlines() if line.startswith(("| `Retr", "| `Answ"))]
    cells = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines]
    return {name.strip("`"): values for name, *values in cells}


@pytest.mark.parametrize("kind", [RetrievalConfig, AnswerConfig])
def test_every_default_that_differs_from_a_published_one_is_on_the_page(kind: Any) -> None:
    """The rule: where a default differs from a published one, the docs say why and how to have the other."""
    default, published = kind(), kind.published()
    differing = {
        f"{kind.__name__}.{field.name}"
        for field in fields(kind)
        if getattr(default, field.name) != getattr(published, field.name)
    }
    named = {name.partition("[")[0] for name in rows() if name.startswith(kind.__name__)}
    assert named == differing


def test_every_row_has_both_values_and_a_reason() -> None:
    for name, (default, published, reason) in rows().items():
        assert default != published, name
        assert len(reason) > 20, name
