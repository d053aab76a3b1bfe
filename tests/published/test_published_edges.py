"""What the published systems do at the edges of their budgets and settings."""

from __future__ import annotations

import pytest

from ctxassembly import Chunk, ConfigError, Hit, assemble
from ctxassembly.published import FiveStage, Pipeline

SHORT, LONG = "Visits end at eight.", "dog " * 120


def hits_of(*texts: str) -> list[Hit]:
    return [Hit(Chunk(f"{at}", f"{at}", text, 0), 1 - at / 20) for at, text in enumerate(texts)]


def test_a_chunk_is_cut_only_where_more_than_the_margin_of_a_cut_is_left():
    """The first that doesn't fit is cut to what remains less 4 tokens."""
    free = 8_192 - 64
    for left, labels in ((5, 1), (6, 1), (9, 1), (12, 2)):
        room = left + 5  # the short text has five tokens
        system = Pipeline(min_chunk_tokens=0, system="", max_output=free - room, format="minimal")
        context = assemble(hits_of(SHORT, LONG), system)
        assert len(context.passages) == labels or left > 4, left
        assert context.token_count <= room + 2, left  # the blank line comes on top


def test_five_stages_count_the_texts_of_chunks_alone():
    """Gaps and separators come on top."""
    text = ("dog " * 50).strip()
    chunks = [Hit(Chunk(f"{at}", "d", text, 2 * at), 1 - at / 20) for at in range(10)]
    context = assemble(chunks, FiveStage(max_tokens=500))
    assert context.text.count(text) == 10
    apart = [Hit(Chunk(f"{at}", f"{at}", text, 0), 1 - at / 20) for at in range(11)]
    assert assemble(apart, FiveStage(max_tokens=500)).text.count(text) == 10


def test_a_prompt_without_room_is_noted_and_an_answer_without_room_is_an_error():
    context = assemble(hits_of(SHORT), Pipeline(), query="why " * 9_000)
    assert context.text == ""
    assert any("leave no room" in note for note in context.trace.notes)
    with pytest.raises(ConfigError, match=r"max_output must be .*below 8128, in the window of mistral"):
        Pipeline(max_output=8_128)
