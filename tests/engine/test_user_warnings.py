"""How warnings are issued: once an object. The fact is short, whatever it names. `tests/docs` checks the texts."""

from __future__ import annotations

import copy
import pickle
import warnings
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from ctxassembly import Chunk, MetadataKeys
from ctxassembly.assembly.expansion.access import neighbor_warnings
from ctxassembly.assembly.expansion.diagnostics import describe_problem, diagnose
from ctxassembly.errors import FilterNotSeenWarning, NothingToJoinWarning
from ctxassembly.tokens.models import window_warning
from ctxassembly.user_warnings import MAX_FACT_CHARS, REMEDY, WarnOnce, with_remedy

LONG = "Ünlü\n%s{}'\"" * 1_000
KEYS = MetadataKeys()
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


def chunk(at: int, **given: Any) -> Chunk:
    fields: dict[str, Any] = {"id": f"{LONG}{at}", "document_id": LONG, "text": "Wool.", **given}
    return Chunk(**fields)


def of_pages() -> str | None:
    hits = [
        chunk(at, document_id=f"{LONG}{at}", index=0, metadata={"page": f"{at}{LONG}", "source": f"{LONG}.pdf"})
        for at in range(2)
    ]
    return diagnose(hits, KEYS, {hit.document_id: [hit.id] for hit in hits})


def of_filter(*unscoped: str) -> Warning | None:
    return neighbor_warnings(SimpleNamespace(unscoped=unscoped, missing=None), "filter()")[0]  # type: ignore[arg-type]


MAKERS: dict[str, Callable[[], str | Warning | None]] = {
    "no index": lambda: diagnose([chunk(0), chunk(1)], KEYS, None),
    "keys of one's own": lambda: diagnose(
        [chunk(0, document_id=f"{LONG}0"), chunk(1), chunk(2)],
        MetadataKeys(index=LONG, document_id=LONG, source=LONG),
        {},
    ),
    "nothing found": lambda: diagnose([chunk(3, index=3)], KEYS, {}),
    "nothing linked": lambda: diagnose([chunk(0, next_id=LONG)], KEYS, {}),
    "not even the hit": lambda: diagnose([chunk(0, index=0), chunk(0, index=10**30, id="b")], KEYS, {}),
    "failed": lambda: describe_problem("failed", f"The store failed ({LONG})"),
    "pages": of_pages,
    "filter": lambda: of_filter(*[LONG] * 9),
    "window": lambda: window_warning(SimpleNamespace(model_name=LONG, profile={"max_input_tokens": 10}), 10**30),
}


@pytest.mark.parametrize("name", MAKERS)
def test_a_warning_that_names_the_longest_values(name: str) -> None:
    message = MAKERS[name]()
    assert message is not None
    check(str(message))
