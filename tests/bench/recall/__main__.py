"""`python -m recall FOLDER... --out results/`: evidence among the best 5, 10 and 20 chunks, by way of retrieving."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Iterator

from quality import minilm
from quality.data import QuestionSet
from recall.command import run_on_sets, sets_parser
from recall.measure import embedded, measured, table
from recall.peers import peers
from recall.systems import systems


def main(arguments: list[str] | None = None) -> int:
    """The exit code: 0, or 2 with one line that says what is wrong."""
    return run_on_sets(sets_parser("recall", __doc__), arguments, _tables)


def _tables(sets: Iterable[QuestionSet], args: argparse.Namespace) -> Iterator[str]:
    for questions in sets:
        chunks, asked = embedded(questions, minilm.embed, args.out / "vectors")
        with peers(questions, chunks) as others:
            rows = measured(questions, asked, {**systems(questions, chunks), **others})
        yield f"{table(questions.name, rows)}\n"


if __name__ == "__main__":
    sys.exit(main())
