"""Tables with bars, read by lines."""

from __future__ import annotations

import pytest

from ctxassembly.data.chunks import Span
from ctxassembly.text.tables import begins_inside_table, header_spans

HEAD = "| ward | beds |\n|---|---|"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("| a | b |", True),
        ("\n| a | b |\n| c | d |", True),
        ("|---|---|\n| a | b |", True),
        (HEAD, False),
        (f"Text.\n{HEAD}", False),
        ("", False),
        ("|", True),
    ],
)
def test_begins_inside_table(text: str, expected: bool):
    assert begins_inside_table(text) is expected


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        (["Text."], [None]),
        (["Text.\n| a | b |\n| c | d |"], [None, (6, 15), (6, 15)]),
        ([f"{HEAD}\n\n| 1 | 8 |"], [(0, 25), (0, 25), None, (0, 25)]),
        (["| 1 | 8 |\n| 2 | 9 |"], [None, None]),
        ([HEAD, "| 1 | 8 |"], [(0, 25), (0, 25), (0, 25)]),
        ([HEAD, "| 1 | 8 | 3 |"], [(0, 25), (0, 25), None]),
        ([HEAD, "Text.\n| 1 | 8 |"], [(0, 25), (0, 25), None, (31, 40)]),
        (["| a | b |", "Text."], [None, None]),
    ],
)
def test_header_spans(texts: list[str], expected: list[Span | None]):
    starts, headers = header_spans(texts)
    lines = [line for text in texts for line in text.split("\n")]
    assert headers == expected
    assert len(starts) == len(lines)
    assert all("".join(texts).startswith(line, start) for start, line in zip(starts, lines, strict=True))
