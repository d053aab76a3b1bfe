"""Where text that a peer has changed comes from, and budgets that are kept by another's count."""

from __future__ import annotations

import pytest

from ctxassembly import Chunk
from quality.aligned import source_runs
from quality.data import Span
from quality.filling import EMPTY, Answer, count, within

TEXT = "The lark sings at dawn.\nThe owl sings at night. 鳥は歌う。犬は吠える。"
CHUNK = Chunk("birds#1", "birds", TEXT, index=1, start=100)


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        (TEXT, [TEXT]),
        ("The lark sings at dawn. The owl sings", ["The lark sings at dawn.", "The owl sings"]),
        ("The lark sings ... at night.", ["The lark sings", "at night."]),
        ("The lark sings ... The owl sings", ["The lark sings", "The owl sings"]),
        ("The owl sings at night. The owl sings at night.", ["The owl sings at night."] * 2),
        ("犬は吠える。\n\n鳥は歌う。", ["犬は吠える。", "鳥は歌う。"]),
        ("[omitted] Nothing else", []),
        ("", []),
    ],
)
def test_text_is_traced_to_its_source(written: str, expected: list[str]) -> None:
    runs = source_runs(written, CHUNK)
    assert [TEXT[run.start - 100 : run.end - 100] for run in runs] == expected
    assert {run.document_id for run in runs} <= {"birds"}


def test_each_run_is_in_the_text_as_it_is() -> None:
    written = "The lark sings at dawn.  The owl\nsings at night."
    assert all(TEXT[run.start - 100 : run.end - 100] in written for run in source_runs(written, CHUNK))


def test_a_chunk_without_offset_begins_its_document() -> None:
    assert source_runs("two", Chunk("d", "d", "one two")) == (Span("d", 4, 7),)


def test_less_is_asked_for_until_the_text_fits() -> None:
    asked: list[int] = []

    def generous(room: int) -> Answer:
        """A tenth more than it was asked for."""
        asked.append(room)
        return Answer("word" + " word" * (room + room // 10 - 1), ())

    assert count(within(generous)(100).text) in range(90, 101)
    assert asked[0] == 100
    assert within(lambda _: Answer("three words here", ()))(2) == EMPTY
