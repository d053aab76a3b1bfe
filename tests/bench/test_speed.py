"""The measuring of time and instructions measures what it says, on sizes that take no time."""

from __future__ import annotations

import asyncio
import re
import sys
from collections.abc import Callable, Iterator
from functools import cache
from itertools import islice
from random import Random
from types import SimpleNamespace
from typing import Any

import pytest

from ctxassembly.tokens import counter as tokens
from ctxassembly.tokens.counter import load_encoding
from scenario import BUDGET, ENCODING, Scenario, scenario
from speed import __main__ as command
from speed import instructions, kinds
from speed.contestants import (
    ASKED,
    STATES,
    contestants,
)
from speed.database import is_installed, postgres, postgres_table
from speed.load import ALONE, load_table, measured
from speed.stages import GROUPS, stage_ms
from speed.variants import OURS, REFERENCE, Variant, forget
from texts import KINDS, Kind

pytestmark = pytest.mark.bench


@pytest.fixture
def encoded(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The texts that tiktoken encodes from now on."""
    monkeypatch.setitem(sys.modules, "toktok", None)  # else it may count in its place
    monkeypatch.setattr(tokens, "_tiktoken_counter", cache(tokens._tiktoken_counter.__wrapped__))
    encoding, texts = load_encoding(ENCODING), []
    inner = encoding._core_bpe

    def noting(encode: Callable[..., Any]) -> Callable[..., Any]:
        def noted(text: str, *more: Any) -> Any:
            texts.append(text)
            return encode(text, *more)

        return noted

    methods = {name: getattr(inner, name) for name in dir(inner) if not name.startswith("_")}
    methods |= {name: noting(method) for name, method in methods.items() if name.startswith("encode")}
    monkeypatch.setattr(encoding, "_core_bpe", SimpleNamespace(**methods))
    return texts


def characters(texts: list[str]) -> int:
    return sum(map(len, texts))


def test_each_of_ours_counts_what_it_writes(encoded: list[str]) -> None:
    case = scenario(8)
    counted = {}
    for name, contestant in contestants().items():
        if contestant.is_ours:
            run = contestant.prepare(case)
            if contestant.is_cold:
                forget()
            encoded.clear()
            written = run(2_000)
            counted[name] = characters(encoded) / len(written.text)
    assert list(counted) == list(STATES)
    assert min(counted.values()) >= 0.9


def test_nothing_of_texts_is_remembered_once_it_is_forgotten() -> None:
    """What is remembered makes another question about the same chunks read fewer lines of ours."""
    case, variant = scenario(4), OURS["query"]

    def calls() -> int:
        called = 0

        def note(frame: object, event: str, argument: object) -> None:
            nonlocal called
            called += event == "call"

        sys.setprofile(note)
        variant.again(case, 500)
        sys.setprofile(None)
        return called

    forget()
    cold = calls()
    assert calls() < cold
    forget()
    assert calls() == cold


def test_all_do_their_work_each_time(encoded: list[str]) -> None:
    case = scenario(3)
    for name, contestant in contestants().items():
        run = contestant.prepare(case)
        forget()
        encoded.clear()
        answer = run(BUDGET)
        text = answer.text  # type: ignore[attr-defined]
        assert case.hits[0].chunk.text.strip() in text or name == ASKED, name
        # This one counts words alone.
        assert characters(encoded) >= len(text) * 0.9 or name == "haystack-middle", name


@pytest.mark.parametrize("variant", OURS.values(), ids=OURS)
def test_every_stage_is_in_one_group(variant: Variant) -> None:
    spent = stage_ms(variant.run(scenario(3)))
    assert all(sum(stage in group.ours for group in GROUPS) == 1 for stage in spent)


@pytest.fixture
def database() -> Iterator[tuple[Scenario, Any]]:
    case = scenario(4)
    with postgres(case) as store:
        yield case, store


@pytest.mark.skipif(not is_installed(), reason="no embedded PostgreSQL is installed")
def test_the_database_has_what_the_memory_has(database: tuple[Scenario, Any]) -> None:
    case, store = database
    there, here = OURS["five-stage"].run(case, store=store), OURS["five-stage"].run(case)
    assert there.text == here.text
    assert there.trace.round_trips == 1
    assert there.trace.chunks > len(case.hits)
    assert not there.trace.notes


def test_assembling_leaves_a_part_of_retrievals_throughput_and_the_loop_its_turns() -> None:
    """Far from the figures of a quiet machine, and nearer to them than to those of an assembly on the loop."""
    case = scenario(40)
    with postgres_table(case) as url:
        found = asyncio.run(measured(url, at_once=20, requests=40, repeats=3))
    alone, *assembled = found.values()
    assert next(iter(found)) == ALONE
    assert len(assembled) == 2
    for each, part in zip(assembled, (0.08, 0.03), strict=True):
        assert each.a_second > part * alone.a_second
        assert each.lag_p95_ms < alone.lag_p95_ms + 200
    head, _, *rows = load_table(case, [1], 2, 1)
    assert head.startswith("| at once |")
    assert len(rows) == 3
    assert "| 1.00 |" in rows[0]


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_texts_of_a_kind_are_new_but_for_some_that_come_again(kind: Kind) -> None:
    case = scenario(20, 1, kind)
    assert case == scenario(20, 1, kind)
    encoded = load_encoding(ENCODING).encode_ordinary
    assert all(abs(len(encoded(hit.chunk.text)) - kind.chunk_tokens) < 5 for hit in case.hits)
    assert not any("\ufffd" in hit.chunk.text for hit in case.hits)
    assert case.query in " ".join(case.hits[0].chunk.text.split())
    paragraphs = [each for each in islice(kind.paragraphs(Random(1)), 400) if len(each) > 60]
    assert 0.02 < 1 - len(set(paragraphs)) / len(paragraphs) < 0.2


def test_the_command_prints_times_in_encodes(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "toktok", None)  # as the command does itself, and for good
    monkeypatch.setattr(kinds, "CASES", 1)
    some = ["--kinds", "English prose", "code and tables", "--hits", "2", "3", "--budgets", "none", "500"]
    some += ["--repeats", "1"]
    command.main(["--only", "kinds", "characters", *some])
    shown = capsys.readouterr().out
    assert shown.count("| text, tokens | E, cold | cold | another question | no query | reference |") == 2
    for budget in ("nothing set", "500"):
        row = rf"^\| English prose, {budget} \| \d\.\d\d (\| \d+\.\d+ \(\d+\.\d E\) ){{3}}"
        assert len(re.findall(row, shown, re.MULTILINE)) == 2
        assert shown.count(f"\n| {budget} | ") == 2
    assert re.search(r"^\| English prose (\| [\d,]+ \(1\.00x\) ){3}\|$", shown, re.MULTILINE)
    assert "All count tokens by tiktoken (cl100k_base)" in shown


# Instructions


def test_a_figure_too_far_from_the_baseline_is_told() -> None:
    kept = {"near": 0.5, "more": 0.5, "fewer": 0.5, "gone": 0.5}
    found = {"near": 0.6, "more": 0.7, "fewer": 0.3, "new": 0.5}
    assert instructions.deviations(found, kept) == [
        "more: 0.7000 of the reference's instructions, 0.5000 before (+40%)",
        "fewer: 0.3000 of the reference's instructions, 0.5000 before (-40%)",
        "gone: in the baseline alone",
        "new: not in the baseline",
    ]
    assert instructions.deviations(kept, kept) == []


def test_figures_are_parts_of_the_references() -> None:
    assert instructions.parts({REFERENCE: 200, "ours": 50}) == {"ours": 0.25}


def test_without_valgrind_one_line_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(instructions.shutil, "which", lambda name: None)
    assert instructions.main([]) == 2
    error = capsys.readouterr().err
    assert "apt install valgrind" in error
    assert error.count("\n") == 1


def test_instructions_are_those_of_the_baseline() -> None:
    kept = instructions.baseline()
    if kept["python"] != instructions.PYTHON:
        pytest.skip(f"the baseline is of Python {kept['python']}, this is {instructions.PYTHON}")
    try:
        found = instructions.parts(instructions.count())
    except instructions.NoValgrindError as error:
        pytest.skip(str(error))
    lines = instructions.deviations(found, kept["parts"])
    assert not lines, "\n".join([*lines, f"If this is meant: {instructions.RENEW}"])
