"""`python -m quality.margin FOLDER FOLDER...`: by how much has a neighbor to be worth more, where all hits fit whole?

Every question is asked with as many hits at as many tokens as leave some room beside them, once with each margin and
once without any rule for hits. The margin that finds most on all sets but one is tried on that one.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple
from unittest.mock import patch

import numpy as np

from ctxassembly import AssemblyConfig
from ctxassembly.assembly.scoring.weights import HIT_MARGIN
from ctxassembly.data.candidates import GAP
from quality.data import DataError, QuestionSet, read
from quality.filling import Case
from quality.metrics import Meter
from quality.ours import ours
from quality.stats import Estimate, Values, difference
from quality.words_shared import lowest_third

MARGINS = (0.0, 0.25, 0.5, 0.75, 0.9)
CELLS = ((5, 2_000), (8, 2_000), (8, 4_000), (10, 4_000), (20, 8_000))
"""Hits and tokens."""


class Found(NamedTuple):
    """What was found on a set: by rule a row for each question, of its mean over `CELLS`."""

    name: str
    hard: Values
    """1 for a question of the third that shares the fewest words with its evidence, else 0."""
    recall: Values
    """The first row is without any rule, the others are for `MARGINS`."""
    gaps: Values
    """Markers in a context, likewise."""

    def part(self, row: int, *, hard: bool = False) -> Values:
        """The recall of all questions by that rule, or of the hard ones."""
        every: Values = self.recall[row]
        return every[self.hard > 0] if hard else every


@contextmanager
def _rule(margin: float | None) -> Iterator[None]:
    """What a neighbor has to be worth more by; None where hits may be lost."""
    if margin is None:
        with patch("ctxassembly.assembly.selection.granularity._all_hits_fit", lambda *_: False):
            yield
    else:
        with patch("ctxassembly.assembly.selection.granularity.HIT_MARGIN", margin):
            yield


def measured(questions: QuestionSet, every: int, cells: Sequence[tuple[int, int]] = CELLS) -> Found:
    """One in `every` questions of a set by every rule."""
    meter, strategy = Meter(questions), ours(AssemblyConfig())(questions)
    asked = questions.questions[::every]
    rules = (None, *MARGINS)
    recall, gaps = np.zeros((2, len(rules), len(asked)))
    for column, question in enumerate(asked):
        for most, budget in cells:
            fill = strategy(Case(question, question.hits[:most], questions))
            for row, margin in enumerate(rules):
                with _rule(margin):
                    answer = fill(budget)
                recall[row, column] += meter.score(question, answer, 0, budget).recall / len(cells)
                gaps[row, column] += answer.text.count(GAP) / len(cells)
    return Found(questions.name, np.array(lowest_third(asked, questions), dtype=np.float64), recall, gaps)


def table(sets: Sequence[Found]) -> str:
    """What each margin finds more than is found without any rule, and what the best one of the other sets finds."""
    names = ", ".join(each.name for each in sets)
    lines = [f"| margin | all | by set: {names} | hard third | markers |", "|---|---|---|---|---|"]
    for row, margin in enumerate(("none, hits may be lost", *(f"{each:g}" for each in MARGINS))):
        by_set = ", ".join(f"{np.mean(each.recall[row] - each.recall[0]):+.3f}" for each in sets)
        gaps = np.mean([np.mean(each.gaps[row]) for each in sets])
        lines.append(f"| {margin} | {_change(sets, row)} | {by_set} | {_change(sets, row, hard=True)} | {gaps:.1f} |")
    lines += ["", "| left out | margin of the others | there, less the one in use |", "|---|---|---|"]
    for out in sets:
        learned = _best([each for each in sets if each is not out])
        today = MARGINS.index(HIT_MARGIN) + 1
        change = difference([out.recall[learned]], [out.recall[today]])
        lines.append(f"| {out.name} | {MARGINS[learned - 1]:g} | {_shown(change)} |")
    return "\n".join(lines) + "\n"


def _best(sets: Sequence[Found]) -> int:
    """The row of the margin that finds most; of equal ones the smallest."""
    means = [np.mean([np.mean(each.recall[row]) for each in sets]) for row in range(1, len(MARGINS) + 1)]
    return 1 + int(np.argmax(means))


def _change(sets: Sequence[Found], row: int, *, hard: bool = False) -> str:
    found = [each.part(row, hard=hard) for each in sets]
    return _shown(difference(found, [each.part(0, hard=hard) for each in sets]))


def _shown(change: Estimate) -> str:
    return f"{change.mean:+.3f} [{change.low:+.3f}, {change.high:+.3f}]{'*' if change.differs else ''}"


def main(arguments: list[str] | None = None) -> int:
    """The exit code: 0, or 2 with one line that says what is wrong."""
    parser = argparse.ArgumentParser(prog="quality.margin", description=__doc__)
    parser.add_argument("folders", type=Path, nargs="+", metavar="FOLDER", help="question sets, as quality.data says")
    parser.add_argument("--every", type=int, default=1, help="one in so many questions (default: 1)")
    args = parser.parse_args(arguments)
    if len(args.folders) < 2:
        parser.error("a margin is learned on some sets and tried on another: two folders at least")
    try:
        sets = [measured(read(folder), args.every) for folder in args.folders]
    except DataError as error:
        sys.stderr.write(f"quality.margin: {error}\n")
        return 2
    sys.stdout.write(table(sets))
    return 0


if __name__ == "__main__":
    sys.exit(main())
