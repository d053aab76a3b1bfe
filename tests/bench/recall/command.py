"""A command over folders of question sets, with vectors: its arguments, and what it says of what is missing."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterable
from importlib.util import find_spec
from pathlib import Path

from quality import minilm
from quality.data import DataError, QuestionSet, read
from quality.measure import StrategyError


def sets_parser(prog: str, description: str | None) -> argparse.ArgumentParser:
    """The arguments that all of these commands have."""
    parser = argparse.ArgumentParser(prog=prog, description=description)
    parser.add_argument("folders", nargs="+", type=Path, metavar="FOLDER", help="question sets, see quality/data.py")
    parser.add_argument("--out", type=Path, default=Path("results"), help="where vectors are kept")
    return parser


def run_on_sets(
    parser: argparse.ArgumentParser,
    arguments: list[str] | None,
    measure: Callable[[Iterable[QuestionSet], argparse.Namespace], Iterable[str]],
) -> int:
    """Write what `measure` yields of the sets; the exit code: 0, or 2 with one line that says what is wrong."""
    args = parser.parse_args(arguments)
    if not find_spec(minilm.NEEDS):
        sys.stderr.write(f"{parser.prog}: vectors need {minilm.NEEDS}: pip install 'ctxassembly[semantic]'\n")
        return 2
    try:
        for text in measure(map(read, args.folders), args):
            sys.stdout.write(f"{text}\n")
    except (DataError, StrategyError) as error:
        sys.stderr.write(f"{parser.prog}: {error}\n")
        return 2
    return 0
