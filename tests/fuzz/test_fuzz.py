"""A few hundred assemblies of every kind; `make fuzz` makes a hundred thousand."""

from __future__ import annotations

from collections import Counter

import pytest

from fuzz import invariants
from fuzz.__main__ import work
from fuzz.cases import OPTIONS, case, undrawn
from fuzz.odd import ODD
from fuzz.runs import run

pytestmark = [
    pytest.mark.filterwarnings("ignore::ctxassembly.errors.FilterNotSeenWarning"),
    pytest.mark.filterwarnings("ignore::ctxassembly.errors.NothingToJoinWarning"),
]
CASES = 100


@pytest.mark.parametrize("first", range(0, CASES, 10))
def test_nothing_is_found_in_cases_of_every_kind(first: int):
    assert sum(run(seed) for seed in range(first, first + 10)) >= 10


def test_every_option_and_every_odd_value_is_drawn_and_a_seed_is_one_case():
    assert undrawn() == set()
    drawn = [case(seed) for seed in range(1_200)]
    assert str(drawn[11]) == str(case(11))
    odd = Counter(each.rpartition(": ")[2] for one in drawn for each in one.odd)
    assert odd.keys() == ODD.keys()
    for name, values in OPTIONS.items():
        seen = [one.options[name] for one in drawn if name in one.options]
        if name != "max_tokens":  # any number
            assert all(any(value is each for each in seen) for value in values), name


def test_a_failure_is_told_with_its_seed(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(invariants, "within_the_budget", lambda context, given: 1 / 0)
    assert work(3)[1].startswith("seed 3:\nTraceback")
