"""`python -m quality.pressure FOLDER...`: what should be kept whole, passages, chunks or sentences?

Pressure is what `auto` goes by: the characters of all candidates, the pool included and overlap counted twice, by those
that there is room for. Every question is asked with 5, 10 and 20 hits at every budget; of its contexts those count
where not everything fits, in chunks short enough for `auto` to keep them whole.
"""

from __future__ import annotations

import argparse
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple
from unittest.mock import patch

import numpy as np

from ctxassembly import AssemblyConfig
from ctxassembly.assembly.selection.by_relevance import MAX_CHUNK_SHARE
from ctxassembly.evaluate.statistics import difference
from quality.data import QuestionSet, read
from quality.filling import Case
from quality.ours import ours

KEPT_WHOLE = ("sentence", "chunk", "passage")
HITS = (5, 10, 20)
BUDGETS = (500, 1_000, 2_000, 3_000, 4_000, 6_000, 8_000, 12_000, 16_000)
BANDS = (1.0, 1.25, 1.5, 1.75, 2.0, 2.5, 3.0, 4.0, 6.0, 8.0, 12.0, float("inf"))


class Score(NamedTuple):
    """The measures of one context."""

    recall: float
    stretch_length: float


class Found(NamedTuple):
    """One question at one budget: the pressure, and what was found with each of `KEPT_WHOLE`."""

    pressure: float
    scores: tuple[Score, ...]


def measured(questions: QuestionSet, every: int, hits: Sequence[int], budgets: Sequence[int]) -> Iterator[Found]:
    """All contexts of a set that were under pressure."""
    meter, strategy = questions.corpus.meter, ours(AssemblyConfig(fill=True, order="documents"))(questions)
    for question in questions.questions[::every]:
        for most in hits:
            fill = strategy(Case(question, question.hits[:most], questions))
            for budget in budgets:
                pressures: list[float] = []
                scores = []
                for whole in KEPT_WHOLE:
                    with patch(
                        "ctxassembly.assembly.selection.by_relevance.pick_granularity", _keeping(whole, pressures)
                    ):
                        answer = fill(budget)
                    if not pressures or not pressures[0]:
                        break
                    recall = meter.recall(question.evidence, answer.runs)
                    scores.append(Score(recall, meter.stretch_length(answer.runs) or 0))
                else:
                    yield Found(pressures[0], tuple(scores))


def _keeping(whole: str, pressures: list[float]) -> Callable[..., str]:
    """What keeps that whole whatever the pressure is, and adds to `pressures` what it is; 0 for chunks too long."""

    def step(lengths: Sequence[int], room: float) -> str:
        pressures.append(sum(lengths) / room if max(lengths) <= MAX_CHUNK_SHARE * room else 0.0)
        return whole

    return step


def table(sets: dict[str, list[Found]]) -> str:
    """By pressure what chunks find more than sentences, passages more than chunks, and how long runs are."""
    by_set = ", ".join(sets)
    head = (
        "pressure",
        "contexts",
        "chunks less sentences",
        by_set,
        "passages less chunks",
        by_set,
        "/".join(KEPT_WHOLE),
    )
    lines = [f"| {' | '.join(head)} |", "|---|" + "---|" * 6]
    for low, high in pairwise(BANDS):
        inside = {name: [each for each in found if low < each.pressure <= high] for name, found in sets.items()}
        known = {name: found for name, found in inside.items() if found}
        if not known:
            continue
        cells = []
        for more in (1, 2):
            recalls = {
                name: [np.array([each.scores[which].recall for each in found]) for which in (more, more - 1)]
                for name, found in known.items()
            }
            change = difference(*zip(*recalls.values(), strict=True))
            means = (f"{np.mean(recalls[name][0] - recalls[name][1]):+.3f}" if name in known else "–" for name in sets)
            cells += [f"{change.mean:+.3f} [{change.low:+.3f}, {change.high:+.3f}]", ", ".join(means)]
        scores = [[each.scores for each in found] for found in known.values()]
        runs = (
            f"{np.mean([np.mean([each[which].stretch_length for each in found]) for found in scores]):,.0f}"
            for which in range(len(KEPT_WHOLE))
        )
        band = f"above {low:g}" if high == float("inf") else f"{low:g} to {high:g}"
        lines.append(f"| {band} | {sum(map(len, known.values())):,} | {' | '.join(cells)} | {' / '.join(runs)} |")
    return "\n".join(lines) + "\n"


def main(arguments: list[str] | None = None) -> int:
    """The exit code."""
    parser = argparse.ArgumentParser(prog="quality.pressure", description=__doc__)
    parser.add_argument("folders", type=Path, nargs="+", metavar="FOLDER", help="question sets, as quality.data says")
    parser.add_argument("--every", type=int, default=1, help="one in so many questions (default: 1)")
    args = parser.parse_args(arguments)
    sets: dict[str, list[Found]] = defaultdict(list)
    for folder in args.folders:
        questions = read(folder)
        sets[questions.name] += measured(questions, args.every, HITS, BUDGETS)
    sys.stdout.write(table(sets))
    return 0


if __name__ == "__main__":
    sys.exit(main())
