"""Time of the processor, judged so that a busy machine can't fail what is in order.

Neighbors on the machine make the same work take twice the processor's time at one moment and not at the next. What is
linear keeps within a generous limit at some moment; what is quadratic never does.
"""

from __future__ import annotations

import time
from collections.abc import Callable

TRIES = 5
FLOOR = 0.001
"""Seconds. What takes less counts as that: the clock isn't finer."""


def seconds(run: Callable[[], object]) -> float:
    """What `run` takes of this thread's processor time."""
    began = time.thread_time()
    run()
    return time.thread_time() - began


def takes_less(run: Callable[[], object], limit: float) -> bool:
    """Whether `run` takes less than `limit` seconds."""
    return any(seconds(run) < limit for _ in range(TRIES))


def grows_less(prepared: Callable[[int], Callable[[], object]], small: int, large: int, limit: float) -> bool:
    """Whether what was prepared for `large` takes less than `limit` times what was for `small`.

    It is prepared anew for each try, since the engine remembers texts that it has seen.
    """
    return any(
        seconds(prepared(large)) < limit * max(seconds(prepared(small)), FLOOR)  # the large one first: it warms up
        for _ in range(TRIES)
    )
