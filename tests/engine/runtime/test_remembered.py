from __future__ import annotations

from sys import getsizeof

from ctxassembly.runtime.scorers import ENTRY_BYTES, MAX_TEXT_CHARS, Memory

SIZE = getsizeof("00000") + ENTRY_BYTES + getsizeof(1)


def filled(numbers: range, *, room: int) -> Memory:
    found = Memory(room * SIZE)
    for number in numbers:
        found.put(f"{number:05}", number)
    return found


def known(found: Memory, numbers: range) -> list[int]:
    return [number for number in numbers if found.get(f"{number:05}") is not None]


def test_the_oldest_are_forgotten_one_half_at_a_time():
    assert known(filled(range(101), room=100), range(50)) == []
    assert known(filled(range(101), room=100), range(50, 100)) == list(range(50, 100))


def test_what_is_asked_for_stays():
    found = Memory(100 * SIZE)
    found.put("again", -1)
    for number in range(10_000):
        found.put(f"{number:05}", number)
        assert found.get("again") == -1
    assert not known(found, range(9_000))
    assert len(known(found, range(9_940, 10_000))) > 40


def test_a_text_that_is_too_long_is_not_remembered():
    found = Memory(1_000_000)
    assert found.put("x" * (MAX_TEXT_CHARS + 1), 7) == 7
    assert found.get("x" * (MAX_TEXT_CHARS + 1)) is None
