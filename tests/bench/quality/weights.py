"""`python -m quality.weights FOLDER FOLDER...`: would learned weights find more of the evidence than those in use?

The weights of `scoring.weights` are searched one after the other over multiples, for the recall over all budgets on
all sets but one, and tried on that one. The weight of the chunk stays: only their proportions decide. Tokens are
estimated and evidence counts by its place alone, which is 30 times as fast as assembling and favors none.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterable, Sequence
from functools import cache, partial
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch

import numpy as np
from numpy.typing import NDArray

from ctxassembly import AssemblyConfig, MemoryStore, assemble
from ctxassembly.assembly.rendering.excerpt import DocumentText
from ctxassembly.assembly.rendering.layout import empty_layout
from ctxassembly.assembly.scoring.features import score_sentences
from ctxassembly.assembly.scoring.sentences import ScoredSentences
from ctxassembly.assembly.scoring.weights import FUSED_WEIGHTS, WEIGHTS, Weights
from ctxassembly.assembly.selection.knapsack import Companions, TokenCosts, pick_greedily
from ctxassembly.evaluate.statistics import Values, difference
from ctxassembly.tokens.counter import counter_for
from quality.data import DataError, Question, QuestionSet, read
from quality.filling import count
from quality.retrieval import GIVEN, WAYS, retrieved

BUDGETS = (500, 1_000, 2_000, 4_000)
MULTIPLES = (0.5, 0.71, 1.41, 2.0)
ROUNDS = 4
LEAST_GAIN = 0.0005
"""A smaller one is none."""
SAMPLE = 100
"""Chunks of which the characters of a token are learned."""
_FIXED = "chunk"
_ESTIMATED = empty_layout(AssemblyConfig(), counter_for(lambda text: len(text) // 4))
"""One in which nothing is counted."""


class Case(NamedTuple):
    """One question: the sentences to choose from."""

    question: Question
    units: ScoredSentences
    signals: NDArray[np.float64]
    """A row for each weight: what it makes of each sentence where it is 1 and all others are 0."""
    evidence: NDArray[np.int64]
    """The characters of evidence in each sentence."""
    wanted: int
    """All of them, wherever they stand."""


class Cases(NamedTuple):
    """The questions of a set."""

    name: str
    cases: Sequence[Case]
    chars_per_token: float

    def recall(self, weights: Sequence[float], budgets: Sequence[int]) -> Values:
        """The share of the evidence that is taken, for each question the mean over the budgets."""
        return np.array([self._recall(case, weights, budgets) for case in self.cases])

    def _recall(self, case: Case, weights: Sequence[float], budgets: Sequence[int]) -> float:
        order = np.argsort(-(np.array(weights) @ case.signals), kind="stable").tolist()
        costs = TokenCosts(_ESTIMATED, case.units, self.chars_per_token)
        companions = Companions(case.units)
        taken = (pick_greedily(case.units, order, budget, costs, companions).indexes for budget in budgets)
        return float(np.mean([case.evidence[list(places)].sum() / case.wanted for places in taken]))


def cases(questions: QuestionSet, every: int, hits: int) -> Cases:
    """One in `every` questions of a set; those of which all fits anyway are left out."""
    store = MemoryStore(questions.chunks.values())
    found = [case for each in questions.questions[::every] if (case := _case(each, hits, store))]
    texts = [chunk.text for chunk in questions.chunks.values()][:SAMPLE]
    return Cases(questions.name, found, sum(map(len, texts)) / sum(map(count, texts)))


def _case(question: Question, hits: int, store: MemoryStore) -> Case | None:
    seen: list[tuple[ScoredSentences, Any]] = []

    def spy(lines: Iterable[DocumentText], query: str, *rest: Any) -> ScoredSentences:
        kept = list(lines)
        none = Weights(*[0.0] * len(Weights._fields))
        alone = [score_sentences(kept, query, weights=none._replace(**{name: 1.0})).scores for name in Weights._fields]
        found = score_sentences(kept, query, *rest)
        seen.append((found, np.array(alone)))
        return found

    with patch("ctxassembly.assembly.scoring.features.score_sentences", spy):
        config = AssemblyConfig(max_tokens=min(BUDGETS), granularity="sentence")
        assemble(question.hits[:hits], config, query=question.text, store=store)
    if not seen:
        return None
    units, signals = seen[0]
    wanted = sum(end - start for _, start, end in question.evidence)
    return Case(question, units, signals, _evidence(question, units), wanted)


def _evidence(question: Question, units: ScoredSentences) -> NDArray[np.int64]:
    evidence = np.zeros(len(units.continues), dtype=np.int64)
    for share in reversed(units.candidate_spans):
        begin = (share.candidate.chunk.start or 0) - share.start  # of the line, in the document
        for place in share.sentence_range:
            first, last = units.boundaries[place] + begin, units.boundaries[place + 1] + begin
            evidence[place] = sum(
                max(min(last, end) - max(first, start), 0)
                for document_id, start, end in question.evidence
                if document_id == units.document_ids[place]
            )
    return evidence


def search(score: Callable[[Weights], float], today: Weights = WEIGHTS) -> Weights:
    """The weights of the highest score, found from those in use `today`, one weight at a time."""
    best, most = today, score(today)
    for _ in range(ROUNDS):
        before = best
        for name in Weights._fields:
            tries = [best._replace(**{name: getattr(best, name) * each}) for each in MULTIPLES if name != _FIXED]
            for weights in tries:
                if (found := score(weights)) > most + LEAST_GAIN:
                    best, most = weights, found
        if best == before:
            break
    return best


def table(sets: Sequence[Cases], budgets: Sequence[int], today: Weights = WEIGHTS) -> str:
    """For each set the weights that the others teach, and what they are worth on it."""

    @cache
    def recall(place: int, weights: Weights) -> Values:
        return sets[place].recall(weights, budgets)

    def mean(places: Sequence[int], weights: Weights) -> float:
        return float(np.mean([recall(place, weights).mean() for place in places]))

    lines = [
        f"| left out | {' | '.join(Weights._fields)} | recall with today's | with these | difference |",
        "|---|" + "---|" * (len(Weights._fields) + 3),
        f"| today's | {_shown(today)} | | | |",
    ]
    for out, each in enumerate(sets):
        others = [place for place in range(len(sets)) if place != out]
        learned = search(partial(mean, others), today)
        before, theirs = recall(out, today), recall(out, learned)
        found = difference([theirs], [before])
        change = f"{found.mean:+.3f} [{found.low:+.3f}, {found.high:+.3f}]{'*' if found.differs else ''}"
        lines.append(f"| {each.name} | {_shown(learned)} | {before.mean():.3f} | {theirs.mean():.3f} | {change} |")
    return "\n".join(lines) + "\n"


def _shown(weights: Weights) -> str:
    return " | ".join(f"{each:.2f}" for each in weights)


def main(arguments: list[str] | None = None) -> int:
    """The exit code: 0, or 2 with one line that says what is wrong."""
    parser = argparse.ArgumentParser(prog="quality.weights", description=__doc__)
    parser.add_argument("folders", type=Path, nargs="+", metavar="FOLDER", help="question sets, as quality.data says")
    parser.add_argument("--every", type=int, default=1, help="one in so many questions (default: 1)")
    parser.add_argument("--hits", type=int, default=20, help="hits used a question, at most (default: 20)")
    parser.add_argument("--retrieval", choices=WAYS, default=GIVEN, help=f"how hits are found (default: {GIVEN})")
    parser.add_argument("--out", type=Path, default=Path("results"), help="where vectors are kept")
    parser.add_argument("--budgets", type=int, nargs="+", default=BUDGETS, metavar="TOKENS")
    args = parser.parse_args(arguments)
    if len(args.folders) < 2:
        parser.error("weights are learned on some sets and tried on another: two folders at least")
    try:
        read_sets = (
            retrieved(read(folder), args.retrieval, args.hits, args.out / "vectors") for folder in args.folders
        )
        sets = [cases(each, args.every, args.hits) for each in read_sets]
    except DataError as error:
        sys.stderr.write(f"quality.weights: {error}\n")
        return 2
    sys.stdout.write(table(sets, args.budgets, WEIGHTS if args.retrieval in (GIVEN, "vectors") else FUSED_WEIGHTS))
    return 0


if __name__ == "__main__":
    sys.exit(main())
