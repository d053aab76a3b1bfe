"""`python -m quality FOLDER... --out results/`: measure, then write the tables and plots."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from tqdm import tqdm

from quality.data import DataError, read
from quality.measure import Plan, measure
from quality.report import Measured, recall_table, report
from quality.strategies import STRATEGIES

BUDGETS = [500, 1_000, 2_000, 4_000, 8_000]


def main(arguments: list[str] | None = None) -> int:
    """The exit code."""
    args = _parser().parse_args(arguments)
    missing = {name: entry.missing for name, entry in STRATEGIES.items() if entry.missing}
    if wanted := [name for name in args.strategies or () if name in missing]:
        sys.stderr.write(f"quality: {wanted[0]} needs {missing[wanted[0]]}, which isn't installed\n")
        return 2
    names = args.strategies or [name for name in STRATEGIES if name not in missing]
    plan = Plan({name: STRATEGIES[name] for name in names}, sorted(args.budgets), args.hits, args.every)
    try:
        sets = [read(folder) for folder in args.folders]
    except DataError as error:
        sys.stderr.write(f"quality: {error}\n")
        return 2
    if len({each.name for each in sets}) < len(sets):
        sys.stderr.write("quality: two folders have the same name\n")
        return 2
    measured = []
    with tqdm(total=sum(map(plan.cells, sets)), unit="context", disable=None) as bar:
        for each in sets:
            bar.set_description(each.name)
            results = measure(each, plan, args.out / "cells", resume=args.resume, done=bar.update)
            measured.append(Measured(each, plan.asked(each), results))
    notes = [
        f"{name} is left out: {module} isn't installed." for name, module in missing.items() if not args.strategies
    ]
    against = args.against if args.against in plan.strategies else names[0]
    (args.out / "report.md").write_text(report(measured, plan, against, notes), encoding="utf-8")
    sys.stdout.write(f"Evidence recall:\n\n{recall_table(measured, plan)}\n\nAll tables: {args.out / 'report.md'}\n")
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="quality", description=__doc__)
    parser.add_argument("folders", type=Path, nargs="+", metavar="FOLDER", help="question sets, as quality.data says")
    parser.add_argument("--out", type=Path, default=Path("results"), help="where results go (default: results)")
    parser.add_argument("--budgets", type=_positive, nargs="+", default=BUDGETS, metavar="TOKENS")
    parser.add_argument("--hits", type=_positive, default=20, help="hits used a question, at most (default: 20)")
    parser.add_argument("--every", type=_positive, default=1, help="one in so many questions (default: 1)")
    parser.add_argument("--strategies", nargs="+", choices=STRATEGIES, metavar="NAME", help=", ".join(STRATEGIES))
    parser.add_argument("--against", default="concatenation", choices=STRATEGIES, metavar="NAME", help="compared with")
    parser.add_argument("--resume", action="store_true", help="keep what an earlier run measured on the same data")
    return parser


def _positive(value: str) -> int:
    number = int(value)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{number} is below 1")
    return number


if __name__ == "__main__":
    sys.exit(main())
