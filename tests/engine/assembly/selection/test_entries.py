"""Texts that are cut between entries."""

from __future__ import annotations

from typing import Any

import pytest

from builders import hits_of
from ctxassembly import AssemblyConfig, Chunk, assemble

ENTRIES = [
    f"Dr. {name} Jansen\nCardiology\nMonday {hour} to {hour + 3}" for hour, name in enumerate("ABCDEFGHIJKLMNOP")
]
ROSTER = "\n\n".join(ENTRIES)


@pytest.mark.parametrize(
    ("options", "query"),
    [
        ({}, None),
        ({"granularity": "chunk", "compress": "extractive"}, "When is Dr. C Jansen there?"),
        ({}, "When is Dr. C Jansen there?"),
    ],
)
@pytest.mark.parametrize("limit", [30, 47, 58, 71])
def test_a_roster_is_cut_between_entries(options: dict[str, Any], query: str | None, limit: int):
    hits = hits_of([Chunk("a", "A", ROSTER)])
    text = assemble(hits, AssemblyConfig(max_tokens=limit, format="minimal", **options), query=query).text
    parts = [part for part in text.replace("[...]", "\n\n").split("\n\n") if part.strip()]
    assert parts
    assert [part.strip() for part in parts if part.strip() not in ENTRIES] == []
