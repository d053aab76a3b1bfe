from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest

from builders import words_of
from ctxassembly import ChunkRef, MemoryStore
from ctxassembly.testing import store_cases

A = [words_of("A", n) for n in range(5)]


def test_references_by_place_by_id_and_to_a_whole_document():
    store = MemoryStore([*A, words_of("B", 0)])
    assert store.fetch([ChunkRef("A", 2)]) == [A[2]]
    assert store.fetch([ChunkRef("A", chunk_id="A3")]) == [A[3]]
    assert sorted(chunk.id for chunk in store.fetch([ChunkRef("A")])) == [chunk.id for chunk in A]


def test_what_is_missing_is_left_out_and_nothing_comes_twice():
    store = MemoryStore(A)
    assert store.fetch([ChunkRef("A", 99), ChunkRef("Z", 0), ChunkRef("A", chunk_id="Z")]) == []
    assert store.fetch([ChunkRef("A", 2), ChunkRef("A", chunk_id="A2")]) == [A[2]]


async def test_each_call_is_one_round_trip():
    store = MemoryStore(A)
    assert store.round_trips == 0
    store.fetch([ChunkRef("A", 1), ChunkRef("A", 2)])
    assert await store.afetch([ChunkRef("A", 3)]) == [A[3]]
    assert store.round_trips == 2
    assert store.requests == [(ChunkRef("A", 1), ChunkRef("A", 2)), (ChunkRef("A", 3),)]


AND_B = [*A, words_of("B", 0)]
Fetch = Callable[[Sequence[ChunkRef]], Any]


def check_all(fetch: Fetch) -> None:
    for case in store_cases(AND_B):
        case.check(fetch(case.refs))


async def test_a_store_in_memory_passes_all_cases_awaited_or_not():
    check_all(MemoryStore(AND_B).fetch)
    for case in store_cases(AND_B):
        case.check(await MemoryStore(AND_B).afetch(case.refs))


def test_references_by_id_and_to_documents_may_stay_unanswered():
    check_all(lambda refs: MemoryStore(AND_B).fetch([ref for ref in refs if ref.index is not None]))


def test_what_comes_twice_in_any_order_is_no_fault():
    check_all(lambda refs: [*MemoryStore(AND_B).fetch(refs), *MemoryStore(AND_B).fetch(refs)[::-1]])


def changed(**fields: Any) -> Fetch:
    return lambda refs: [replace(chunk, **fields) for chunk in MemoryStore(AND_B).fetch(refs)]


@pytest.mark.parametrize(
    "fetch",
    [
        pytest.param(lambda refs: [], id="finds nothing"),
        pytest.param(lambda refs: None, id="no list"),
        pytest.param(lambda refs: MemoryStore(AND_B).fetch(refs)[0], id="one chunk"),
        pytest.param(lambda refs: [chunk.text for chunk in MemoryStore(AND_B).fetch(refs)], id="texts"),
        pytest.param(lambda refs: AND_B, id="everything"),
        pytest.param(lambda refs: MemoryStore(AND_B).fetch(refs[:1]), id="the first reference"),
        pytest.param(lambda refs: MemoryStore(A).fetch(refs), id="one document"),
        pytest.param(lambda refs: MemoryStore(AND_B).fetch([ChunkRef("A", ref.index) for ref in refs]), id="index"),
        pytest.param(changed(index="0"), id="an index as text"),
        pytest.param(changed(metadata={"tenant": "ours"}), id="other metadata"),
        pytest.param(changed(text=b"text"), id="bytes"),
    ],
)
def test_a_store_that_breaks_a_rule_fails_a_case(fetch: Fetch):
    with pytest.raises((AssertionError, IndexError)):
        check_all(fetch)


def test_a_failing_case_names_what_was_asked_and_both_answers():
    case = next(case for case in store_cases(A) if case.can_be_empty)
    with pytest.raises(AssertionError, match=r"chunk_id='A0'.* must give .*'A0'.* gave .*'A1'"):
        case.check([A[1]])
