"""`python -m quality.signals FOLDER... --every 6`: would a model's scores or vectors choose better sentences?

Measured beside the signals in use, as in `quality.weights`: how far apart the scores of the hits are, not only their
order, and the cosine of each sentence with the question; each at several weights. All by all-MiniLM-L6-v2. Its reranker
scores a hit by the best cosine of any of its sentences, which is what late interaction does with more vectors.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import islice, pairwise
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ctxassembly import Hit
from ctxassembly.assembly.scoring.weights import WEIGHTS, Weights
from ctxassembly.evaluate.statistics import difference
from ctxassembly.text.sentences import sentence_spans
from quality import minilm
from quality.data import Question, QuestionSet, read
from quality.weights import BUDGETS, Case, Cases, cases

STRENGTHS = (0.5, 1.0, 2.0, 4.0)
Row = NDArray[np.float64]
"""A number for each sentence of a case."""
Embed = Callable[[Sequence[str]], NDArray[np.float32]]
Cosines = Callable[[str, Sequence[str]], Row]
"""From a question and texts to the cosine of each with it."""


def cosines_by(embed: Embed) -> Cosines:
    """Cosines of vectors of length 1. No text is embedded twice."""
    known: dict[str, NDArray[np.float32]] = {}

    def cosines(question: str, texts: Sequence[str]) -> Row:
        if new := [text for text in dict.fromkeys((question, *texts)) if text not in known]:
            known.update(zip(new, embed(new), strict=True))
        return np.array([known[text] for text in texts], dtype=np.float64) @ known[question]

    return cosines


def reranked(question: Question, cosines: Cosines) -> Question:
    """The question with its hits by the best cosine of any of their sentences, which is their score."""
    sentences = [[hit.chunk.text[start:end] for start, end in sentence_spans(hit.chunk.text)] for hit in question.hits]
    found = iter(cosines(question.text, [each for some in sentences for each in some]).tolist())
    scores = [max(islice(found, len(some))) for some in sentences]
    order = sorted(range(len(scores)), key=lambda rank: -scores[rank])
    return replace(question, hits=tuple(Hit(question.hits[rank].chunk, scores[rank]) for rank in order))


def of_scores(case: Case) -> Row:
    """The score of the nearest hit, 0 for the worst hit and 1 for the best."""
    ranks = np.rint(np.expm1(-case.signals[Weights._fields.index("rank")])).astype(int)
    scores = np.array([hit.score or 0.0 for hit in case.question.hits])
    return np.asarray(((scores - scores.min()) / (np.ptp(scores) or 1.0))[ranks])


def of_sentences(case: Case, cosines: Cosines) -> Row:
    """The cosine with the question, in parts of the best."""
    texts = [case.units.text[begin:end] for begin, end in pairwise(case.units.boundaries)]
    found = np.maximum(cosines(case.question.text, texts), 0.0)
    return np.asarray(found / (found.max() or 1.0))


def table(sets: Sequence[QuestionSet], hits: int, cosines: Cosines) -> str:
    """Recall with each signal at each budget, and its difference from what is in use over all budgets."""
    again = [replace(each, questions=tuple(reranked(q, cosines) for q in each.questions)) for each in sets]
    plain, ordered = ([cases(each, 1, hits) for each in some] for some in (sets, again))
    rows: list[tuple[str, Sequence[Cases], Sequence[float]]] = [
        ("as it is", plain, WEIGHTS),
        ("reranked", ordered, WEIGHTS),
    ]
    for name, some, signal in (
        ("retriever's scores", plain, of_scores),
        ("reranked, its scores", ordered, of_scores),
        ("sentence vectors", plain, lambda case: of_sentences(case, cosines)),
    ):
        more = [_with(each, signal) for each in some]
        rows += [(f"{name}, {strength:g}", more, (*WEIGHTS, strength)) for strength in STRENGTHS]
    lines = [
        f"| signal, weight | {' | '.join(f'{budget:,}' for budget in BUDGETS)} | over all | by set |",
        "|---|" + "---|" * (len(BUDGETS) + 2),
    ]
    before = [each.recall(WEIGHTS, BUDGETS) for each in plain]
    for name, changed, weights in rows:
        means = [np.mean([each.recall(weights, [budget]).mean() for each in changed]) for budget in BUDGETS]
        after = [each.recall(weights, BUDGETS) for each in changed]
        found = difference(after, before)
        by_set = ", ".join(f"{new.mean() - old.mean():+.3f}" for new, old in zip(after, before, strict=True))
        change = f"{found.mean:+.3f} [{found.low:+.3f}, {found.high:+.3f}]"
        lines.append(f"| {name} | {' | '.join(f'{mean:.3f}' for mean in means)} | {change} | {by_set} |")
    return "\n".join(lines) + "\n"


def _with(each: Cases, signal: Callable[[Case], Row]) -> Cases:
    added = [case._replace(signals=np.vstack([case.signals, signal(case)])) for case in each.cases]
    return each._replace(cases=added)


def main(arguments: list[str] | None = None) -> int:
    """The exit code."""
    parser = argparse.ArgumentParser(prog="quality.signals", description=__doc__)
    parser.add_argument("folders", type=Path, nargs="+", metavar="FOLDER", help="question sets, as quality.data says")
    parser.add_argument("--every", type=int, default=1, help="one in so many questions (default: 1)")
    parser.add_argument("--hits", type=int, default=20, help="hits used a question, at most (default: 20)")
    args = parser.parse_args(arguments)
    sets = [read(folder) for folder in args.folders]
    asked = [replace(each, questions=each.questions[:: args.every]) for each in sets]
    sys.stdout.write(table(asked, args.hits, cosines_by(minilm.embed)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
