"""How much of a prompt's text says what stands before it."""

from __future__ import annotations

from collections.abc import Iterable

LEAST_CHARS = 20
"""Of a line: shorter ones are the same by chance."""


def repeated(texts: Iterable[str]) -> float:
    """The share of the characters of `texts` in lines that an earlier one of them has, 0 to 1."""
    seen: set[str] = set()
    again = whole = 0
    for text in texts:
        lines = [line.strip() for line in text.splitlines()]
        whole += sum(map(len, lines))
        again += sum(len(line) for line in lines if line in seen)
        seen.update(line for line in lines if len(line) >= LEAST_CHARS)
    return again / whole if whole else 0.0
