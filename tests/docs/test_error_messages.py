"""Error messages, read from the source: plain words, no internal names, one way to end."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from test_plain_words import BANNED, PACKAGES, ROOT

ERRORS = {"AnswerError", "ConfigError", "InputError", "StoreError", "TimeoutError"}
FAULTS = {
    "a word that makes a reader stop": re.compile(
        rf"{BANNED.pattern}|\b(beside|say|foresee|whoever|please)\b", re.IGNORECASE
    ),
    "a name that no caller knows": re.compile(r"(?<![\w'/{}])_[a-z]\w+|__"),
    "an end that the error class writes": re.compile(r"(?<!\.\.)[.:;,!]\Z"),
    "a space too many": re.compile(r" {2}"),
    "an exclamation": re.compile("!"),
}


VARIABLES = {"allowed", "contradicts", "given", "hint", "instead", "message", "needs", "remedy", "useless"}
"""Names of variables that hold a part of a message."""


def texts_of(nodes: list[ast.expr]) -> Iterator[str]:
    """The texts that a message is made of, with `{}` in place of values, and without what parts a hint from it."""
    for node in nodes:
        if isinstance(node, ast.JoinedStr):
            text = "".join(str(part.value) if isinstance(part, ast.Constant) else "{}" for part in node.values)
        else:
            text = node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""
        yield text.removeprefix(": ").removeprefix("; ").strip(" ")


def messages(path: Path) -> Iterator[tuple[int, str]]:
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        parts: list[ast.expr] = []
        if isinstance(node, ast.Call):
            called = node.func.value if isinstance(node.func, ast.Attribute) else node.func
            if isinstance(called, ast.Name) and called.id in ERRORS:
                parts = [*node.args, *(keyword.value for keyword in node.keywords)]
        elif isinstance(node, ast.Assign) and isinstance(name := node.targets[0], ast.Name) and name.id in VARIABLES:
            parts = [node.value]
        yield from ((node.lineno, text) for text in texts_of(parts) if text)


@pytest.mark.parametrize("fault", FAULTS)
def test_messages_have_no(fault: str):
    found = [
        f"{path.relative_to(ROOT)}:{line}: {match[0]!r} in {text!r}"
        for package in PACKAGES
        for path in sorted((ROOT / package).rglob("*.py"))
        for line, text in messages(path)
        if (match := FAULTS[fault].search(text))
    ]
    assert found == []


def test_messages_are_found():
    path = ROOT / PACKAGES[0] / "assembly" / "arguments.py"
    assert "query must be a string or None, got {}" in [text for _, text in messages(path)]
