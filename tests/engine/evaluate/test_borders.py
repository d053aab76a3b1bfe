"""The share of stretches that begin and end where a reader would, on documents worked by hand."""

from __future__ import annotations

import pytest

from ctxassembly.evaluate.meter import Borders
from ctxassembly.evaluate.meter import DocumentSpan as Span

PROSE = "The lark sings at dawn. The owl sings at night.\n\nThe wren sings all day."
TABLE = "Fees of the pool:\n\n| age | fee |\n|---|---|\n| child | 2 |\n| adult | 5 |\n\nCash only."
LIST = "Bring the following:\n\n- a towel\n- soap,\n  in a box\n- a coin\n\nThe pool opens at nine."


def clean_share(text: str, *parts: str) -> float | None:
    spans = [Span("d", text.index(part), text.index(part) + len(part)) for part in parts]
    return Borders({"d": text}).clean_share(spans)


@pytest.mark.parametrize(
    ("text", "parts", "expected"),
    [
        (PROSE, [], None),
        (PROSE, ["The lark sings at dawn. "], 1),
        (PROSE, ["lark sings at dawn."], 0),  # begins in a sentence
        (PROSE, ["The owl sings"], 0),  # ends in a sentence
        (PROSE, ["The lark sings at dawn.", "The wren sings"], 0.5),
        (PROSE, ["The lark sings", "at dawn. The owl sings at night."], 1),  # one stretch
        (PROSE, ["The wren sings all day.", "The lark sings at dawn."], 1),
        (TABLE, ["| age | fee |\n|---|---|\n| child | 2 |"], 1),
        (TABLE, ["| adult | 5 |"], 0),  # without the first row
        (TABLE, ["| age | fee |\n|---|---|\n", "| adult | 5 |"], 1),
        (TABLE, ["| age | fee |", "2 |"], 0.5),  # begins in a row
        (LIST, ["Bring the following:\n\n- a towel"], 1),
        (LIST, ["Bring the following:"], 0),  # without its list
        (LIST, ["- a coin"], 0),  # without its introduction
        (LIST, ["in a box\n- a coin"], 0),
        (LIST, ["Bring the following:\n\n- a towel", "- a coin\n\nThe pool"], 0.5),
        (LIST, ["The pool opens at nine."], 1),
    ],
)
def test_clean_share(text: str, parts: list[str], expected: float | None) -> None:
    assert clean_share(text, *parts) == expected
