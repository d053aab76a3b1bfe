"""The store in memory, and the cases that judge a store of one's own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest

from builders import words_of
from ctxassembly import ChunkRef, MemoryStore
from ctxassembly.testing import store_cases

A = [words_of("A", n) for n in range(5)]
AND_B = [*A, words_of("B", 0)]
Fetch = Callable[[Sequence[ChunkRef]], Any]


async def test_each_call_is_one_round_trip_and_gives_a_chunk_once():
    store = MemoryStore(A)
    assert store.fetch([ChunkRef("A", 2), ChunkRef("A", chunk_id="A2"), ChunkRef("A", 99)]) == [A[2]]
    assert await store.afetch([ChunkRef("A", 3)]) == [A[3]]
    assert store.round_trips == len(store.requests) == 2
    assert store.requests[1] == (ChunkRef("A", 3),)


def fetch(refs: Sequence[ChunkRef]) -> Sequence[Any]:
    return MemoryStore(AND_B).fetch(refs)


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(fetch, id="in memory"),
        pytest.param(lambda refs: fetch([ref for ref in refs if ref.index is not None]), id="by index alone"),
        pytest.param(lambda refs: [*fetch(refs), *fetch(refs)[::-1]], id="twice, in another order"),
    ],
)
def test_a_store_that_follows_the_rules_passes_all_cases(answer: Fetch):
    for case in store_cases(AND_B):
        case.check(answer(case.refs))


def changed(**fields: Any) -> Fetch:
    return lambda refs: [replace(chunk, **fields) for chunk in fetch(refs)]


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(lambda refs: [], id="finds nothing"),
        pytest.param(lambda refs: None, id="no list"),
        pytest.param(lambda refs: [chunk.text for chunk in fetch(refs)], id="texts"),
        pytest.param(lambda refs: AND_B, id="everything"),
        pytest.param(lambda refs: fetch(refs[:1]), id="the first reference"),
        pytest.param(lambda refs: fetch([ChunkRef("A", ref.index) for ref in refs]), id="another document"),
        pytest.param(changed(index="0"), id="an index as text"),
        pytest.param(changed(metadata={"tenant": "ours"}), id="other metadata"),
    ],
)
def test_a_store_that_breaks_a_rule_fails_a_case(answer: Fetch):
    with pytest.raises(AssertionError, match=r"must give .*, gave "):  # noqa: PT012
        for case in store_cases(AND_B):
            case.check(answer(case.refs))
