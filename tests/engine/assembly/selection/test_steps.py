"""The order of the steps and what each lets go; sizes are in words, and the format writes nothing around a text."""

from __future__ import annotations

from typing import Any

from ctxassembly import AssemblyConfig, Chunk, Context, Hit, assemble
from strategies import words


def relieved(chunks: list[tuple[Chunk, float | None]], limit: int, query: str | None = None, **options: Any) -> Context:
    config = AssemblyConfig(**{"max_tokens": limit, "encoding": words, "format": "minimal", "window": 0, **options})
    context = assemble([Hit(each, score) for each, score in chunks], config, query=query)
    assert context.token_count <= limit
    return context


def test_a_query_for_which_nothing_was_retrieved_has_an_empty_context():
    assert relieved([], 100, "What is A0?").text == ""
