"""How long a process stands still: whether something holds the interpreter, told so that a busy machine can't.

A thread ticks every few milliseconds, and the longest gap between two ticks is the pause. What it is while nothing is
wrong, in the same process a moment before, is allowed twice on top, and the best of several tries counts. The times for
which the system says that threads waited for a processor can't be taken off instead: a thread that wants an interpreter
that is held wakes up every few milliseconds to ask for it, and waits for a processor each time.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

TRIES = 4
LONGEST = 0.1
"""Seconds for which other threads may stand still."""
MOST = 0.5
"""Seconds that no try lets pass, however much its control stood still."""
TICK = 0.005


class Pauses:
    """The longest time, in seconds, for which a thread that wanted to go on could not."""

    longest = 0.0


@contextmanager
def pauses() -> Iterator[Pauses]:
    """Measure them inside; the result stands when it is left."""
    found, over = Pauses(), threading.Event()

    def tick() -> None:
        last = time.perf_counter()
        while not over.wait(TICK):
            now = time.perf_counter()
            found.longest, last = max(found.longest, now - last - TICK), now

    ticking = threading.Thread(target=tick)
    ticking.start()
    try:
        yield found
    finally:
        over.set()
        ticking.join()


def limit(control: Pauses) -> float:
    """What the longest pause may be where that of `control` was what the machine does by itself."""
    return min(LONGEST + 2 * control.longest, MOST)
