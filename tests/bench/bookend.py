"""What the threshold of BOOKEND keeps, by `evaluate`: `python tests/bench/bookend.py sets/chroma --budget 8000`.

Semantic duplicates are dropped from this cosine on. A lower one drops more, and at some point what answers.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from ctxassembly import Context, assemble
from ctxassembly.evaluate import evaluate
from ctxassembly.presets import BOOKEND
from quality.data import QuestionSet, read
from quality.minilm import embed_cached

THRESHOLDS = (0.7, 0.8, 0.85, 0.9, 0.92, 0.95)


def system(questions: QuestionSet, threshold: float, budget: int, hits: int) -> Callable[[str, str], Context]:
    """BOOKEND with `threshold`, over the retrieved chunks of the question whose id is the filter."""
    by_id = {question.id: question for question in questions.questions}
    config = replace(BOOKEND, semantic_threshold=threshold, budget=budget)

    def ask(text: str, filter: str) -> Context:  # noqa: A002 - as `evaluate` passes it
        return assemble(
            by_id[filter].hits[:hits], config, query=text, embeddings=lambda texts: embed_cached(texts).tolist()
        )

    return ask


def main() -> None:
    """Print the report for a question set."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--budget", type=int, default=8_000)
    parser.add_argument("--hits", type=int, default=20)
    parser.add_argument("--every", type=int, default=1, help="one in so many questions")
    args = parser.parse_args()
    questions = read(args.folder)
    questions = replace(questions, questions=questions.questions[:: args.every])
    report = evaluate(
        [question.labeled for question in questions.questions],
        {f"{threshold}": system(questions, threshold, args.budget, args.hits) for threshold in THRESHOLDS},
        corpus=questions.corpus,
        baseline="0.92",
        workers=1,
    )
    sys.stdout.write(f"{report.only('recall', 'complete', 'tokens', 'duplicates')}\n")


if __name__ == "__main__":
    main()
