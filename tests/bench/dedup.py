"""How long finding near duplicates takes beside the naive loop over all pairs: `python tests/bench/dedup.py`.

Both run in turn in one process and their processor time is taken, so the ratio stands on a busy machine where the
times don't. Naive is the usual helper: two texts in, their word sets made and compared, for every pair of chunks that
is still in. The second naive loop makes each word set once, of the words that ours has. Both do less than ours, which
also looks for chunks inside longer ones. A fifth of the chunks are near duplicates of others: some of their words were
replaced.
"""

from __future__ import annotations

import argparse
import math
import random
import sys
import tracemalloc
from collections.abc import Sequence
from functools import partial
from statistics import median
from typing import NamedTuple

from ctxassembly.assembly.dedup.exact import dedup_similar
from ctxassembly.assembly.dedup.near import NearIndex
from ctxassembly.data.candidates import Candidate
from ctxassembly.data.chunks import Chunk
from ctxassembly.text.words import words
from scenario import SEED, scenario
from speed.timing import timed

THRESHOLD = 0.9
EDITED = 5
"""One in so many chunks is an edited copy of another."""


class Times(NamedTuple):
    """Medians in milliseconds, and how many chunks were dropped by the naive loop and by ours."""

    naive: float
    naive_sets: float
    ours: float
    dropped: tuple[int, int]


def texts(number: int, seed: int = SEED) -> list[str]:
    """`number` chunks of 350 tokens, some of them edited copies, in random order."""
    draw = random.Random(seed)
    found = [hit.chunk.text for hit in scenario(number - number // EDITED, seed).hits]
    found += [_edited(draw.choice(found), draw) for _ in range(number - len(found))]
    draw.shuffle(found)
    return found


def _edited(text: str, draw: random.Random) -> str:
    """The text with up to a twelfth of its words replaced: on both sides of the threshold."""
    parts = text.split(" ")
    for place in draw.sample(range(len(parts)), draw.randint(1, max(1, len(parts) // 12))):
        parts[place] = f"edited{draw.randrange(1_000)}"
    return " ".join(parts)


def jaccard(first: str, second: str) -> float:
    one, other = set(first.lower().split()), set(second.lower().split())
    return len(one & other) / len(one | other)


def naive(chunks: Sequence[str]) -> list[int]:
    """The places that are kept, each compared with each kept one before it."""
    kept: list[int] = []
    for place, text in enumerate(chunks):
        if all(jaccard(text, chunks[other]) < THRESHOLD for other in kept):
            kept.append(place)
    return kept


def naive_sets(chunks: Sequence[str]) -> list[int]:
    """The same with each word set made once."""
    sets = [set(words(text)) for text in chunks]
    kept: list[int] = []
    for place, one in enumerate(sets):
        if all(len(one & sets[other]) / len(one | sets[other]) < THRESHOLD for other in kept):
            kept.append(place)
    return kept


def ours(chunks: Sequence[str]) -> list[int]:
    """The places that are kept by the engine."""
    # Documents of their own: nothing is adjacent, so every pair counts.
    candidates = [Candidate(n, Chunk(str(n), str(n), text), n) for n, text in enumerate(chunks)]
    dropped = dedup_similar(candidates, NearIndex(chunks, THRESHOLD))
    return [candidate.rank for candidate in candidates if candidate.key not in dropped]


def measure(number: int, repeats: int) -> Times:
    """The times for `number` chunks, each the median of `repeats` runs."""
    chunks = texts(number)
    spent: list[list[float]] = [[], [], []]
    kept: list[list[int]] = [[], [], []]
    for _ in range(repeats):
        for n, run in enumerate((naive, naive_sets, ours)):
            elapsed, kept[n] = timed(partial(run, chunks))
            spent[n].append(elapsed)
    return Times(*map(median, spent), dropped=(number - len(kept[0]), number - len(kept[2])))


def peak_mb(chunks: Sequence[str]) -> float:
    """What `ours` has in memory at most, in megabytes."""
    tracemalloc.start()
    ours(chunks)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak / 1e6


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--chunks", type=int, nargs="+", default=[20, 100, 500], help="beside the naive loops")
    parser.add_argument("--alone", type=int, nargs="*", default=[2_500, 5_000, 10_000], help="ours alone: the growth")
    parser.add_argument("--repeats", type=int, default=3)
    args = parser.parse_args()

    line = "{:>7} {:>10} {:>7} {:>10} {:>6} {:>9} {:>9}  {}\n"
    sys.stdout.write(line.format("chunks", "naive ms", "x", "sets ms", "x", "ours ms", "us/chunk", "dropped"))
    for number in args.chunks:
        times = measure(number, args.repeats)
        ratios = f"{times.naive / times.ours:.1f}", f"{times.naive_sets / times.ours:.1f}"
        shown = f"{times.naive:.1f}", ratios[0], f"{times.naive_sets:.1f}", ratios[1], f"{times.ours:.2f}"
        per_chunk = f"{times.ours / number * 1000:.0f}"
        sys.stdout.write(line.format(number, *shown, per_chunk, "naive {}, ours {}".format(*times.dropped)))
    sys.stdout.write("\n{:>7} {:>10} {:>9} {:>8}  {}\n".format("chunks", "ours ms", "exponent", "peak MB", "dropped"))
    before: tuple[int, float] | None = None
    for number in args.alone:
        chunks = texts(number)
        elapsed, kept = min((timed(partial(ours, chunks)) for _ in range(args.repeats)), key=lambda each: each[0])
        exponent = "" if before is None else f"{math.log(elapsed / before[1], number / before[0]):.2f}"
        cells = f"{elapsed:.0f}", exponent, f"{peak_mb(chunks):.0f}", f"{number - len(kept)}"
        sys.stdout.write("{:>7} {:>10} {:>9} {:>8}  {}\n".format(number, *cells))
        before = number, elapsed


if __name__ == "__main__":
    main()
