"""The runs of a block, cut where the marks of other runs stand.

The boundary between two chunks may lie inside a word, since overlap is stripped by characters. The mark of the second
chunk then stands before that word, inside the run of the first.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from ctxassembly.inspect.runs import Run
from ctxassembly.inspect.words import word_begins


class Stretch(NamedTuple):
    """The slice `run.text[begin:end]`, and the runs whose marks stand before it."""

    run: Run
    begin: int
    end: int
    marked: tuple[Run, ...] = ()

    @property
    def text(self) -> str:
        """The slice."""
        return self.run.text[self.begin : self.end]


def stretches(runs: Sequence[Run]) -> Iterator[Stretch]:
    """The stretches of `runs`, whose texts together are one running text, in order."""
    begins = [0]
    for run in runs:
        begins.append(begins[-1] + len(run.text))
    noted = [(begin, run) for begin, run in zip(begins, runs, strict=False) if run.begins or run.gone]
    places = word_begins("".join(run.text for run in runs), [begin for begin, _ in noted])
    waiting: dict[int, list[Run]] = defaultdict(list)
    for place, (_, run) in zip(places, noted, strict=True):
        waiting[place].append(run)
    for begin, run in zip(begins, runs, strict=False):
        end = begin + len(run.text)
        cuts = [begin, *sorted(place for place in waiting if begin < place < end), end]
        for start, stop in pairwise(cuts):
            if start < stop or start in waiting:
                yield Stretch(run, start - begin, stop - begin, tuple(waiting.pop(start, ())))
    for left in waiting.values():
        yield Stretch(left[-1], 0, 0, tuple(left))
