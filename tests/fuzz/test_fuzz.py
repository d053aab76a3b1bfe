"""A few hundred assemblies of every kind; `make fuzz` makes a hundred thousand."""

from __future__ import annotations

import re
from collections import Counter

import pytest

from ctxassembly import Context
from fuzz import __main__ as fuzzing
from fuzz import invariants
from fuzz.cases import OPTIONS, Case, case, undrawn
from fuzz.odd import ODD
from fuzz.runs import run

pytestmark = [
    pytest.mark.filterwarnings("ignore::ctxassembly.errors.FilterNotSeenWarning"),
    pytest.mark.filterwarnings("ignore::ctxassembly.errors.NothingToJoinWarning"),
]
CASES = 60


@pytest.mark.parametrize("first", range(0, CASES, 10))
def test_nothing_is_found_in_cases_of_every_kind(first: int):
    assert sum(run(seed) for seed in range(first, first + 10)) >= 10


def test_a_seed_is_one_case():
    assert str(case(11)) == str(case(11))
    assert len({str(case(seed)).partition(":")[2] for seed in range(50)}) == 50


def test_every_option_and_every_odd_value_is_drawn():
    assert undrawn() == set()
    drawn = [case(seed) for seed in range(1_200)]
    odd = Counter(each.rpartition(": ")[2] for one in drawn for each in one.odd)
    assert odd.keys() == ODD.keys()
    for name, values in OPTIONS.items():
        seen = [one.options[name] for one in drawn if name in one.options]
        if name != "max_tokens":  # any number
            assert all(any(value is each for each in seen) for value in values), name


def test_a_failure_is_told_with_its_seed(monkeypatch: pytest.MonkeyPatch):
    def unlucky(context: Context, given: Case) -> None:
        assert given.seed not in (3, 4), "no luck"

    monkeypatch.setattr(fuzzing, "quietly", lambda: None)
    monkeypatch.setattr(invariants, "within_the_budget", unlucky)
    cases, assemblies, failures = fuzzing.work(range(2, 6))
    assert (cases, [seed for seed, _, _ in failures]) == (4, [3, 4])
    assert assemblies >= 2
    assert re.match(r"2 times AssertionError at test_fuzz.py:\d+: seeds 3, 4\nTraceback", fuzzing.told(failures))


def test_a_case_without_an_end_is_a_failure_too(monkeypatch: pytest.MonkeyPatch):
    def endless(seed: int) -> int:
        while True:
            pass

    monkeypatch.setattr(fuzzing, "run", endless)
    monkeypatch.setattr(fuzzing, "quietly", lambda: None)
    monkeypatch.setattr(fuzzing, "MOST_SECONDS", 1)
    cases, assemblies, ((seed, place, _),) = fuzzing.work(range(3, 4))
    assert (cases, assemblies, seed) == (1, 0, 3)
    assert place.startswith("TimeoutError")
