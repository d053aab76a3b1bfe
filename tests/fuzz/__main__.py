"""Assemblies by the hundred thousand: `python -m fuzz --assemblies 100000 --jobs 2`; `--seed 7` repeats one case."""

from __future__ import annotations

import argparse
import sys
import time
import traceback
from itertools import count
from multiprocessing import Pool

import vocabularies  # noqa: F401

from fuzz.cases import case
from fuzz.runs import quietly, run


def work(seed: int) -> tuple[int, str]:
    """The number of assemblies made of a case, and how it fails."""
    try:
        return run(seed), ""
    except Exception as error:  # noqa: BLE001 - to find them is what this is for
        return 0, f"seed {seed}:\n{''.join(traceback.format_exception(error))[-3_000:]}"


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
    cases = assemblies = failures = 0
    with Pool(given.jobs, quietly) as pool:
        for made, failure in pool.imap_unordered(work, count(given.first), chunksize=20):
            cases, assemblies, failures = cases + 1, assemblies + made, failures + bool(failure)
            if failure:
                print(failure, flush=True)
            if assemblies >= given.assemblies:
                break
        pool.terminate()
    rate = assemblies / (time.monotonic() - began)
    print(f"{assemblies:,} assemblies of {cases:,} cases, {rate:,.0f} a second, {failures:,} failures")
    return failures


if __name__ == "__main__":
    sys.exit(min(main(), 1))
