"""The order of the steps and what each lets go; sizes are in words, and the format writes nothing around a text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from builders import numbered
from ctxassembly import AssemblyConfig, Chunk, Context, Hit, assemble
from ctxassembly.assembly.rendering.layout import Layout
from ctxassembly.data.candidates import Candidate, HeaderDetail
from strategies import words


def chunk(name: str, length: int, n: int = 0) -> Chunk:
    return Chunk(f"{name}{n}", name, numbered(f"{name}{n}.", length), n)


def relieved(chunks: list[tuple[Chunk, float | None]], limit: int, query: str | None = None, **options: Any) -> Context:
    config = AssemblyConfig(**{"max_tokens": limit, "encoding": words, "format": "minimal", "window": 0, **options})
    context = assemble([Hit(each, score) for each, score in chunks], config, query=query)
    assert context.token_count <= limit
    return context


def outcomes(context: Context) -> dict[str, str]:
    return {each.chunk_id: each.reason for each in context.trace.decisions}


A, B, C, D = (chunk(name, 10) for name in "ABCD")
SCORED = [(A, 0.9), (B, 0.2), (C, 0.5), (D, None)]


SENTENCES = "One is five words long. Two is five words long. Ask Ann on 1 May."


def test_text_of_twice_the_room_is_not_counted_whole(monkeypatch: pytest.MonkeyPatch):
    """Whether everything fits is seen from the length of a text, if that is far too much."""
    tried: list[int] = []
    fits = Layout.fits

    def counted(layout: Layout, candidates: Sequence[Candidate], *detail: HeaderDetail) -> bool:
        tried.append(len(candidates))
        return fits(layout, candidates, *detail)

    monkeypatch.setattr(Layout, "fits", counted)
    hits = [(chunk(name, 100), 0.5) for name in "ABCDEFGH"]
    relieved(hits, 500, "A0.7", fill=True)
    assert max(tried) == len(hits)
    tried.clear()
    relieved(hits, 300, "A0.7", fill=True)
    assert 0 < max(tried) < len(hits)


def test_a_query_for_which_nothing_was_retrieved_has_an_empty_context():
    assert relieved([], 100, "What is A0?").text == ""
