from __future__ import annotations

import threading
from typing import Any

import pytest
from fuzz.odd import ODD, SLOW, NotItself, Raising, UnprintableError, numbers

from ctxassembly import Chunk, Hit
from ctxassembly.safe_repr import as_name, as_text, failure, shown


@pytest.mark.parametrize(
    ("rule", "value", "text"),
    [
        (
            "a repr, as everybody knows it",
            {"a": [1, (2,), {3}, None, 0.5]},
            "{'a': [1, (2,), {3}, None, 0.5]}",
        ),
        ("an empty set is no dict", set(), "set()"),
        ("no address", threading.Lock(), "<unlocked _thread.lock object>"),
        ("no address", numbers(), "<generator object numbers>"),
        ("no repr", Raising(), "<Raising>"),
        ("not even a class", NotItself(), "<fuzz.odd.NotItself object>"),
        ("an integer that Python refuses to write", 10**5_000, "<int of 16,610 bits>"),
        ("a dataclass", Hit(Chunk("a", "A", "x")), f"{Hit(Chunk('a', 'A', 'x'))!r}"),
    ],
    ids=shown,
)
def test_shown(rule: str, value: Any, text: str):
    assert shown(value, 300) == text


@pytest.mark.parametrize("name", [*ODD, *SLOW])
def test_every_value_is_shown_by_no_more_than_its_beginning(name: str):
    make = (ODD | SLOW)[name]
    assert 0 < len(shown(make(), 20)) <= 20
    assert shown(make()) == shown(make()) or name == "lambda"


def test_no_more_is_made_than_is_shown():
    class Counted:
        made = 0

        def __repr__(self) -> str:
            Counted.made += 1
            return "counted"

    assert shown([Counted()] * 1_000_000).startswith("[counted, counted, ")
    assert Counted.made < 40


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (ValueError("no"), "ValueError: no"),
        (UnprintableError(), "UnprintableError: no message"),
        (ValueError("x" * 10_000), "ValueError: " + "x" * 500),
        (TimeoutError(), "TimeoutError: "),
    ],
    ids=shown,
)
def test_failures(error: Exception, told: str):
    assert failure(error) == told


@pytest.mark.parametrize(
    ("rule", "value", "name"),
    [
        ("a string", "a", "a"),
        ("what it holds, not what it says", ODD["shouted text"](), "shouted"),
        ("what it equals, not what it is called", ODD["text enum"](), "A"),
        ("numbers", 7, "7"),
        ("what other databases have for ids", ODD["UUID"](), "00000000-0000-0000-0000-000000000005"),
        ("nothing", None, None),
        ("nothing", "", None),
        ("no list", ["x"], None),
        ("nothing that is told by its address", object(), None),
        ("nothing that is told by its address", numbers(), None),
        ("nothing that can't be written", 10**5_000, None),
        ("nothing that raises", Raising(), None),
    ],
    ids=shown,
)
def test_names(rule: str, value: Any, name: str | None):
    assert as_name(value) == name
    assert type(as_name(value)) in (str, type(None))


@pytest.mark.parametrize("name", ODD)
def test_texts_are_strings_and_nothing_else(name: str):
    assert type(as_text(ODD[name]())) in (str, type(None))
