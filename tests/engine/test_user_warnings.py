"""How warnings are issued: once an object. The fact is short, whatever it names. `tests/docs` checks the texts."""

from __future__ import annotations

import copy
import pickle
import warnings
from collections.abc import Callable
from typing import Any

import pytest

from ctxassembly.errors import FilterNotSeenWarning, NothingToJoinWarning
from ctxassembly.user_warnings import MAX_FACT_CHARS, REMEDY, WarnOnce, with_remedy

EFFECT = "Nothing is found"
BOTH = FilterNotSeenWarning("f. g. Fix: a()"), NothingToJoinWarning("h. i. Fix: b()")


def issued(run: Callable[[], Any]) -> list[warnings.WarningMessage]:
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        run()
    return seen


def check(message: str, call: str = "") -> None:
    facts, mark, written = message.partition(REMEDY)
    fact, _, effect = facts.rstrip(".").rpartition(". ")
    assert len(fact) < MAX_FACT_CHARS
    assert "\n" not in message
    assert fact
    assert effect
    assert mark
    assert call in written
    assert written


# The mechanism


@pytest.mark.parametrize("length", [1, 158, 159, 160, 161, 10_000])
@pytest.mark.parametrize("char", ["a", "ü", "\U0001f9f6", "."])
def test_any_fact_is_shortened_and_no_call_is(char: str, length: int) -> None:
    call = "call()" * 1_000
    message = with_remedy(char * length, EFFECT, call)
    check(message, call)


def test_only_what_is_new_is_issued() -> None:
    once = WarnOnce()
    assert issued(lambda: once.warn(None, None)) == []
    assert [each.category for each in issued(lambda: once.warn(BOTH[0], None))] == [FilterNotSeenWarning]
    assert [each.category for each in issued(lambda: once.warn(*BOTH))] == [NothingToJoinWarning]
    assert issued(lambda: once.warn(*BOTH)) == []
    assert len(issued(lambda: once.warn(*BOTH, key="another store"))) == 2
    assert len(issued(lambda: copy.deepcopy(once).warn(*BOTH))) == 0
    assert len(issued(lambda: pickle.loads(pickle.dumps(once)).warn(*BOTH))) == 2


# The worst values
