"""Docstrings, comments and pages are plain: a short list of words that make a reader stop isn't in them."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGES = ("shared/ctxassembly", "langchain_ctxassembly", "llamaindex_ctxassembly")
BANNED = re.compile(
    r"\b(stands?|stood|told|mend(s|ed|ing)?|anew|that of|those of|says? once|said once|handed in)\b", re.IGNORECASE
)
ON_PAGES = re.compile(
    r"\b(stands?|stood|told|mend(s|ed|ing)?|anew|says? once|said once|hand(ed)? in|beside)\b", re.IGNORECASE
)
BLOCK = re.compile(r"^( *)```.*?^\1```|`[^`\n]*`", re.MULTILINE | re.DOTALL)
CODE = re.compile(r"`[^`]*`|^ *(>>>|\.\.\.) .*$", re.MULTILINE)


def prose(source: str) -> Iterator[tuple[int, str]]:
    """Each docstring and comment with its line, examples and names in code left out."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            yield node.lineno, CODE.sub("", node.value.value)
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string


@pytest.mark.parametrize("package", PACKAGES)
def test_docstrings_and_comments_use_plain_words(package: str):
    found = [
        f"{path.relative_to(ROOT)}:{line}: {match[0]}"
        for path in sorted((ROOT / package).rglob("*.py"))
        for line, text in prose(path.read_text("utf-8"))
        for match in BANNED.finditer(text)
    ]
    assert found == []


def test_pages_use_plain_words():
    pages = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    found = [
        f"{path.relative_to(ROOT)}: {match[0]}"
        for path in pages
        for match in ON_PAGES.finditer(BLOCK.sub("", path.read_text("utf-8")))
    ]
    assert found == []


def test_messages_use_plain_words():
    assert BANNED.findall((ROOT / "tests" / "messages.txt").read_text("utf-8")) == []
