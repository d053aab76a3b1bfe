from __future__ import annotations

from collections.abc import Callable

from stopwatch import grows_less, seconds, takes_less


def counting(number: int) -> Callable[[], object]:
    return lambda: sum(1 for _ in range(number))


def test_what_is_linear_is_told_from_what_is_quadratic():
    assert grows_less(lambda n: counting(n * 200), 200, 1_600, 16)
    assert not grows_less(lambda n: counting(n * n), 200, 1_600, 16)


def test_a_limit_holds():
    assert takes_less(counting(10_000), 10)
    assert not takes_less(counting(10_000), 0)


def test_waiting_takes_no_time_of_the_processor():
    import time

    assert seconds(lambda: time.sleep(0.2)) < 0.1
