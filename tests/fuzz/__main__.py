"""Assemblies by the hundred thousand: `python -m fuzz --assemblies 100000 --jobs 2`; `--seed 7` repeats one case."""

from __future__ import annotations

import argparse
import signal
import sys
import time
import traceback
from concurrent.futures import ProcessPoolExecutor
from itertools import count
from typing import Any

import vocabularies  # noqa: F401

from fuzz.cases import case
from fuzz.runs import quietly, run

MOST_SECONDS = 120
"""For one case; on any machine it takes far less."""
CASES = 50
"""That a process works off before it reports."""


def work(seeds: range) -> tuple[int, int, list[tuple[int, str, str]]]:
    """Cases and assemblies made, and the failures: the seed, where it fails and how."""
    quietly()
    before = signal.signal(signal.SIGALRM, _late)
    assemblies, failures = 0, []
    for seed in seeds:
        signal.alarm(MOST_SECONDS)
        try:
            assemblies += run(seed)
        except Exception as error:  # noqa: BLE001 - to find them is what this is for
            at = traceback.extract_tb(error.__traceback__)[-1]
            place = f"{type(error).__name__} at {at.filename.rpartition('/')[2]}:{at.lineno}"
            failures.append((seed, place, "".join(traceback.format_exception(error))[-3_000:]))
        finally:
            signal.alarm(0)
    signal.signal(signal.SIGALRM, before)
    return len(seeds), assemblies, failures


def _late(*_: Any) -> None:
    raise TimeoutError(f"no end within {MOST_SECONDS} s")


def told(failures: list[tuple[int, str, str]]) -> str:
    """The failures, those at one place together: how often, for which seeds, and the first of them in full."""
    by_place: dict[str, list[tuple[int, str]]] = {}
    for seed, place, how in failures:
        by_place.setdefault(place, []).append((seed, how))
    return "\n".join(
        f"{len(found):,} times {place}: seeds {', '.join(str(seed) for seed, _ in found[:5])}\n{found[0][1]}"
        for place, found in sorted(by_place.items(), key=lambda item: -len(item[1]))
    )


def main() -> int:
    """The number of failures."""
    parser = argparse.ArgumentParser(prog="python -m fuzz", description=__doc__)
    parser.add_argument("--assemblies", type=int, default=100_000, help="how many to make at least")
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--jobs", type=int, default=2, help="processes at a time")
    parser.add_argument("--seed", type=int, help="repeat the case of this seed alone, and say what it is")
    given = parser.parse_args()
    if given.seed is not None:
        quietly()
        print(case(given.seed))
        print(f"{run(given.seed)} assemblies, nothing found")
        return 0
    began = time.monotonic()
    cases = assemblies = 0
    failures: list[tuple[int, str, str]] = []
    with ProcessPoolExecutor(given.jobs) as pool:
        starts = count(given.first, CASES)
        waiting = [
            pool.submit(work, range(at, at + CASES)) for at, _ in zip(starts, range(given.jobs * 2), strict=False)
        ]
        while waiting:
            made, more, found = waiting.pop(0).result()
            cases, assemblies = cases + made, assemblies + more
            if found:
                print(f"\n{told(found)}", flush=True)
            failures += found
            if assemblies < given.assemblies:
                at = next(starts)
                waiting.append(pool.submit(work, range(at, at + CASES)))
            rate = assemblies / (time.monotonic() - began)
            said = f"{assemblies:,} assemblies of {cases:,} cases, {rate:,.0f} a second, {len(failures):,} failures"
            print(said, end="\r" if sys.stdout.isatty() and waiting else "\n", flush=True)
    if failures:
        print(
            f"failures at {len({place for _, place, _ in failures}):,} places, seeds: {[seed for seed, *_ in failures]}"
        )
    return len(failures)


if __name__ == "__main__":
    sys.exit(min(main(), 1))
