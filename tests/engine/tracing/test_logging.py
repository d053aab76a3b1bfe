from __future__ import annotations

import logging

import pytest

from builders import hits_of, words_of
from ctxassembly import AssemblyConfig, Chunk, aassemble, assemble
from strategies import words

HITS = hits_of([words_of("A", 0), words_of("A", 0), Chunk("b\n1", "B", "word " * 200 + "end."), words_of("C", 0)])
CONFIG = AssemblyConfig(max_tokens=60, encoding=words, granularity="chunk")


async def test_a_line_a_call_says_what_was_left_out_and_why(caplog: pytest.LogCaptureFixture):
    caplog.set_level(logging.INFO, "ctxassembly")
    context = assemble(HITS, CONFIG)
    await aassemble(HITS, CONFIG)
    (line, again) = caplog.messages
    assert line == again == f"{context.trace.summary} (left out: 1 budget)"
    assert {record.levelname for record in caplog.records} == {"INFO"}
    caplog.clear()
    assemble(HITS[:1])
    assert "left out" not in caplog.text


def test_each_chunk_is_told_of_in_a_line_of_its_own(caplog: pytest.LogCaptureFixture):
    caplog.set_level(logging.DEBUG, "ctxassembly")
    assemble(HITS, CONFIG)
    told = [record.getMessage() for record in caplog.records if record.levelname == "DEBUG"]
    assert told[0] == "'A0' of 'A', hit 1: kept, hit"
    assert told[1].startswith("'A0' of 'A', hit 2: duplicate")
    assert told[1].endswith("because of 'A0'")
    assert told[2].startswith("'b\\n1' of 'B', hit 3: dropped, budget, ")
    assert told[2].endswith(" tokens")
    assert len(told) == 4
    assert "begins here" not in caplog.text


def test_nothing_is_logged_unless_it_is_asked_for(caplog: pytest.LogCaptureFixture):
    caplog.set_level(logging.WARNING)
    assemble(HITS, CONFIG)
    assert not caplog.records
