"""`python -m answering FOLDER --out results/`: what sub-questions find."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Iterator

from answering.two_hop import paired, systems
from quality import minilm
from quality.data import QuestionSet
from recall.command import run_on_sets, sets_parser
from recall.measure import embedded, measured, table


def main(arguments: list[str] | None = None) -> int:
    """The exit code: 0, or 2 with one line that says what is wrong."""
    parser = sets_parser("answering", __doc__)
    parser.add_argument("--most", type=int, default=200, help="questions of each set")
    return run_on_sets(parser, arguments, _tables)


def _tables(sets: Iterable[QuestionSet], args: argparse.Namespace) -> Iterator[str]:
    for questions in sets:
        two, parts = paired(questions, args.most)
        chunks, asked = embedded(questions, minilm.embed, args.out / "vectors")
        _, both = embedded(two, minilm.embed, args.out / "vectors")
        known = {question.text: vector for question, vector in zip(questions.questions, asked.tolist(), strict=True)}
        known |= {question.text: vector for question, vector in zip(two.questions, both.tolist(), strict=True)}
        yield f"{table(two.name, measured(two, both, systems(two, chunks, parts, known)))}\n"


if __name__ == "__main__":
    sys.exit(main())
