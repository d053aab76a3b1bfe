"""`python -m endtoend FOLDER... --out results/`: evidence in the context, from retrieval to assembly."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Iterator

from tqdm import tqdm

from endtoend.measure import Asked, measure
from endtoend.report import report
from quality import minilm
from quality.data import QuestionSet
from recall.command import run_on_sets, sets_parser
from recall.measure import embedded


def main(arguments: list[str] | None = None) -> int:
    """The exit code: 0, or 2 with one line that says what is wrong."""
    parser = sets_parser("endtoend", __doc__)
    parser.add_argument("--every", type=int, default=1, help="one in so many questions (default: 1)")
    return run_on_sets(parser, arguments, _report)


def _report(sets: Iterable[QuestionSet], args: argparse.Namespace) -> Iterator[str]:
    found = {}
    for questions in sets:
        asked = Asked(questions, *embedded(questions, minilm.embed, args.out / "vectors"), args.every)
        with tqdm(desc=questions.name, unit="context", disable=None) as bar:
            found[questions.name] = measure(asked, bar.update)
    yield report(found)


if __name__ == "__main__":
    sys.exit(main())
