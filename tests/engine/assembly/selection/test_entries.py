"""Texts that are cut between entries."""

from __future__ import annotations

from typing import Any

import pytest

from builders import hits_of
from ctxassembly import AssemblyConfig, Chunk, Hit, assemble
from ctxassembly.assembly.selection.shorten import MIN_CUT_TOKENS, entry_spans
from ctxassembly.text.sentences import sentence_spans

ENTRIES = [
    f"Dr. {name} Jansen\nCardiology\nMonday {hour} to {hour + 3}" for hour, name in enumerate("ABCDEFGHIJKLMNOP")
]
ROSTER = "\n\n".join(ENTRIES)


@pytest.mark.parametrize(
    ("rule", "text", "expected"),
    [
        ("paragraphs of short lines", ROSTER, ENTRIES),
        ("with indentation", "web:\n  image: nginx\n\ndb:\n  image: pg", ["web:\n  image: nginx", "db:\n  image: pg"]),
        ("not prose", "The pool opens.\nIt closes at five.", []),
        ("not items", "- a towel\n- soap", []),
        ("not rows", "| a | b |\n| c | d |", []),
        ("not a single line", "Opening hours\n\nFees", []),
        ("not what is long", "\n".join(["a line"] * 20), []),
        ("nothing", "", []),
    ],
)
def test_entries(rule: str, text: str, expected: list[str]):
    assert [text[start:end] for start, end in entry_spans(text, sentence_spans(text))] == expected


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


@pytest.mark.parametrize(("free_tokens", "is_filled"), [(MIN_CUT_TOKENS - 1, False), (MIN_CUT_TOKENS, True)])
def test_a_little_room_is_not_filled_with_the_beginning_of_another_text(free_tokens: int, is_filled: bool) -> None:
    first = Hit(Chunk("a0", "a", "Drink water.", index=0), 1.0)
    next_one = Hit(Chunk("a1", "a", f"Eat nothing. Then {'and so on ' * 60}.", index=1), 0.9)
    used = assemble([first]).token_count
    context = assemble([first, next_one], AssemblyConfig(max_tokens=used + free_tokens))
    assert ("Eat nothing." in context.text) is is_filled
