"""Whatever is wrong with a dict, `Context.from_dict` raises InputError alone."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from random import Random
from typing import Any

import pytest

from ctxassembly import Chunk, Context, Hit, InputError, MemoryStore, assemble

CHUNKS = [Chunk(f"a{n}", "A", f"Drink water {n}.", n, metadata={"source": "a.pdf", "page": n}) for n in range(5)]
GOOD = json.loads(json.dumps(assemble([Hit(CHUNKS[2], 0.9)], query="Water?", store=MemoryStore(CHUNKS)).to_dict()))
MISSING = object()


def deep() -> list[Any]:
    found: list[Any] = []
    for _ in range(10_000):
        found = [found]
    return found


ODD: dict[str, Any] = {
    **{repr(each): each for each in (None, 0, -1, 7, 1.5, True, "", "x", [], {}, [None], [[]], {"a": 1}, b"x")},
    "huge": 10**400,
    "NaN": float("nan"),
    "digits": "9" * 5_000,
    "surrogate": "\ud800",
    "deep": deep(),
    "missing": MISSING,
}


def places(value: Any, above: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    if above:
        yield above
    for key, inner in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        yield from places(inner, (*above, key))


def one_of_each(seed: str) -> list[tuple[Any, ...]]:
    """A place of each field: of the places that differ only in their list indexes, another one for each seed."""
    by_field: dict[tuple[Any, ...], list[tuple[Any, ...]]] = {}
    for place in places(GOOD):
        by_field.setdefault(tuple("*" if isinstance(key, int) else key for key in place), []).append(place)
    random = Random(seed)
    return [random.choice(each) for each in by_field.values()]


def broken_at(value: Any, place: tuple[Any, ...], odd: Any) -> Any:
    """A copy of `value` with something odd at that place; what is beside the way there is shared."""
    if not place:
        return odd
    broken = copy.copy(value)
    if len(place) == 1 and odd is MISSING:
        del broken[place[0]]
    else:
        broken[place[0]] = broken_at(value[place[0]], place[1:], odd)
    return broken


@pytest.mark.parametrize("name", ODD)
def test_one_broken_value_anywhere(name: str) -> None:
    for place in one_of_each(name):
        try:
            assert isinstance(Context.from_dict(broken_at(GOOD, place, ODD[name])), Context)
        except InputError as error:
            assert "Context.to_dict()" in str(error), place  # noqa: PT017 - some values are allowed there


@pytest.mark.parametrize("given", [None, 7, "text", b"x", [], [1], {}, {"text": "x"}, object(), deep()])
def test_something_else(given: Any) -> None:
    with pytest.raises(InputError, match=r"Context\.to_dict\(\)"):
        Context.from_dict(given)


@pytest.mark.parametrize(("field", "value"), [("text", 7), ("token_count", "7"), ("query", 7), ("format", [])])
def test_a_value_of_the_wrong_type_is_refused_before_it_is_used(field: str, value: Any) -> None:
    with pytest.raises(InputError):
        Context.from_dict({**GOOD, field: value})
