"""`python -m quality FOLDER... --out results/`: measures, then writes the tables and the curve."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

from tqdm import tqdm

from quality import curve, minilm
from quality.data import DataError, QuestionSet, read
from quality.measure import Plan, StrategyError, measure
from quality.report import Measured, losses, over_tokens, report
from quality.retrieval import FUSED, GIVEN, WAYS, retrieved
from quality.strategies import STRATEGIES

BUDGETS = [500, 1_000, 2_000, 4_000, 8_000]
CURVE = "curve"
"""In the place of strategies: those of the curve."""


def main(arguments: list[str] | None = None) -> int:
    """The exit code: 0, or 2 with one line that says what is wrong."""
    args = _parser().parse_args(arguments)
    try:
        return _run(args)
    except (DataError, StrategyError) as error:
        sys.stderr.write(f"quality: {error}\n")
        return 2


def _run(args: argparse.Namespace) -> int:
    missing = {name: entry.missing for name, entry in STRATEGIES.items() if entry.missing}
    asked = args.strategies or [name for name in STRATEGIES if name not in missing]
    names = [name for each in asked for name in (curve.LABELS if each == CURVE else (each,))]
    if lacking := [name for name in names if name in missing]:
        raise DataError(f"{lacking[0]} needs {missing[lacking[0]]}, which isn't installed")
    sets = [read(folder) for folder in args.folders]
    if len({each.name for each in sets}) < len(sets):
        raise DataError("two folders have the same name")
    left_out = [
        f"{name} is left out: {module} isn't installed." for name, module in missing.items() if name not in names
    ]
    against = args.against if args.against in names else names[0]
    ways = args.retrieval or ([GIVEN, FUSED] if find_spec(minilm.NEEDS) else [GIVEN])
    if not find_spec(minilm.NEEDS):
        if args.retrieval and ways != [GIVEN]:
            raise DataError(f"--retrieval {' '.join(ways)} needs {minilm.NEEDS}, which isn't installed")
        left_out.append(f"Hits by our own retrieval are left out: {minilm.NEEDS} isn't installed.")
    plans = [_plan(args, names, hits, way) for way in ways for hits in args.hits]
    with tqdm(total=sum(plan.cells(each) for plan in plans for each in sets), unit="context", disable=None) as bar:
        measured = [_measured(args, sets, plan, bar) for plan in plans]
    lost = losses(list(zip(plans, measured, strict=True)))
    runs = list(zip(measured, plans, strict=True))
    text = "\n".join(report(found, plan, against, left_out) + curve.savings(found, plan) for found, plan in runs)
    text = f"{lost}\n{text}" if lost else text
    args.out.mkdir(parents=True, exist_ok=True)
    (args.out / "report.md").write_text(text, encoding="utf-8")
    drawn = curve.draw(*runs[len(args.hits) - 1], args.out) if find_spec(curve.NEEDS) else []
    for found, plan in runs:
        sys.stdout.write(f"Evidence recall, at most {plan.hits} hits, {plan.way}:\n\n")
        sys.stdout.writelines((*(f"{line}\n" for line in over_tokens(found, plan)), "\n", curve.savings(found, plan)))
    sys.stdout.write(lost)
    sys.stdout.writelines(f"{file}\n" for file in (args.out / "report.md", *drawn))
    return 0


def _measured(args: argparse.Namespace, sets: Sequence[QuestionSet], plan: Plan, bar: tqdm[object]) -> list[Measured]:
    """What comes of a plan, for each set."""
    measured = []
    for each in sets:
        bar.set_description(f"{each.name}, {plan.hits} hits, {plan.way}")
        found = retrieved(each, plan.way, plan.hits, args.out / "vectors")
        measured.append(Measured(found, plan.asked(found), measure(found, plan, bar.update)))
    return measured


def _plan(args: argparse.Namespace, names: Sequence[str], hits: int, way: str = GIVEN) -> Plan:
    return Plan({name: STRATEGIES[name] for name in names}, sorted(set(args.budgets)), hits, args.every, way, args.most)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="quality", description=__doc__)
    parser.add_argument("folders", type=Path, nargs="+", metavar="FOLDER", help="question sets, as quality.data says")
    parser.add_argument("--out", type=Path, default=Path("results"), help="where results go (default: results)")
    parser.add_argument("--budgets", type=_positive, nargs="+", default=BUDGETS, metavar="TOKENS")
    parser.add_argument(
        "--hits",
        type=_positive,
        nargs="+",
        default=[20],
        metavar="HITS",
        help="hits used a question, at most (default: 20); a report for each number, the picture for the last",
    )
    parser.add_argument(
        "--retrieval",
        nargs="+",
        choices=WAYS,
        metavar="WAY",
        help=f"the hits: those that a set comes with ({GIVEN}), or ours "
        f"(default: {GIVEN} and {FUSED}; {GIVEN} alone without {minilm.NEEDS})",
    )
    parser.add_argument("--every", type=_positive, default=1, help="one in so many questions (default: 1)")
    parser.add_argument("--most", type=_positive, metavar="QUESTIONS", help="of each set, evenly spaced (default: all)")
    parser.add_argument(
        "--strategies",
        nargs="+",
        choices=(CURVE, *STRATEGIES),
        metavar="NAME",
        help=f"{CURVE} for those of the picture; {', '.join(STRATEGIES)}",
    )
    parser.add_argument("--against", default="concatenation", choices=STRATEGIES, metavar="NAME", help="compared with")
    return parser


def _positive(value: str) -> int:
    number = int(value) if value.isdecimal() else 0
    if number < 1:
        raise argparse.ArgumentTypeError(f"{value!r} is no whole number above 0")
    return number


if __name__ == "__main__":
    sys.exit(main())
