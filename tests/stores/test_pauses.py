"""The measure of pauses: it sees an interpreter that is held, and no busy machine."""

from __future__ import annotations

import ctypes
import subprocess
import sys
import time

from pauses import LONGEST, MOST, TRIES, limit, pauses

HELD = 0.4


def test_an_interpreter_that_is_held_is_a_pause() -> None:
    with pauses() as found:
        time.sleep(0.05)
        ctypes.PyDLL(None).usleep(int(HELD * 1e6))  # a PyDLL keeps the interpreter meanwhile
        time.sleep(0.05)
    assert found.longest > HELD * 0.75


def test_a_call_that_lets_others_go_on_is_none_on_a_busy_machine_neither() -> None:
    busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(4)]
    try:
        longest = []
        for _ in range(TRIES):
            with pauses() as found:
                time.sleep(HELD)
            longest.append(found.longest)
        assert min(longest) < LONGEST
    finally:
        for each in busy:
            each.kill()
            each.wait()


def test_a_control_allows_twice_its_own_and_never_everything() -> None:
    with pauses() as control:
        pass
    assert limit(control) == LONGEST
    control.longest = 0.05
    assert limit(control) == LONGEST + 0.1
    control.longest = 9.0
    assert limit(control) == MOST < 1
