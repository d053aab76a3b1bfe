from __future__ import annotations

import threading
from typing import Any

import pytest
from fuzz.odd import ODD, Raising, UnprintableError, numbers

from ctxassembly import Chunk, Hit
from ctxassembly.safe_repr import describe_error, safe_repr, to_id, to_text


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
        ("an integer that Python refuses to write", 10**5_000, "<int>"),
        ("a dataclass", Hit(Chunk("a", "A", "x")), f"{Hit(Chunk('a', 'A', 'x'))!r}"),
    ],
    ids=safe_repr,
)
def test_shown(rule: str, value: Any, text: str):
    assert safe_repr(value, 300) == text


@pytest.mark.parametrize("name", ODD)
def test_every_value_is_shown_by_no_more_than_its_beginning(name: str):
    make = ODD[name]
    assert 0 < len(safe_repr(make(), 20)) <= 20
    assert safe_repr(make()) == safe_repr(make()) or name == "lambda"


def test_no_more_is_made_than_is_shown():
    class Counted:
        made = 0

        def __repr__(self) -> str:
            Counted.made += 1
            return "counted"

    assert safe_repr([Counted()] * 1_000_000).startswith("[counted, counted, ")
    assert Counted.made < 40


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (ValueError("no"), "ValueError: no"),
        (UnprintableError(), "UnprintableError: no message"),
        (ValueError("x" * 10_000), "ValueError: " + "x" * 500),
        (TimeoutError(), "TimeoutError: "),
    ],
    ids=safe_repr,
)
def test_failures(error: Exception, told: str):
    assert describe_error(error) == told


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
    ids=safe_repr,
)
def test_names(rule: str, value: Any, name: str | None):
    assert to_id(value) == name
    assert type(to_id(value)) in (str, type(None))


@pytest.mark.parametrize("name", ODD)
def test_texts_are_strings_and_nothing_else(name: str):
    assert type(to_text(ODD[name]())) in (str, type(None))
