"""`python -m speed`: time beside the reference and the peers, at usual sizes, by hits and by budget; what a hit costs
among many; time by stage; in threads; under load; memory, and what is remembered.

Medians of runs in turn in one process, as Markdown tables. Cold: no text was seen before, the vocabulary is loaded.
Warm: the chunks were seen in another assembly, for another question or with a hit more or another budget.
`make bench-speed ARGS="--only usual stages"`.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack

from tqdm import tqdm

from ctxassembly.protocols import Store
from scenario import BUDGET, ENCODING, Scenario, scenario
from speed.caches import LOOKS, caches_table
from speed.contestants import contestants
from speed.database import is_installed, postgres
from speed.load import HITS as HITS_A_QUESTION
from speed.load import load_table
from speed.memory import memory_table
from speed.per_hit import FEW, MANY, ROWS, per_hit_table
from speed.scaling import SKIPPED, Limits, growth, growth_table
from speed.stages import stages_table
from speed.threads import ASSEMBLIES, threads_table
from speed.usual import CASES, SIZES, usual_table

HITS = [10, 20, 100, 1_000, 10_000]
BUDGETS = [1, 100, 1_000, 10_000, 100_000, 1_000_000]
HITS_BY_BUDGET = 1_000


def main(arguments: list[str] | None = None) -> None:
    args = _parser().parse_args(arguments)
    if not args.fast:
        # Ours counts by tiktoken, as the reference does, whether ctxassembly[fast] is installed or not.
        sys.modules["toktok"] = None  # type: ignore[assignment]
    for section in args.only:
        sys.stdout.writelines((*SECTIONS[section](args), "\n"))
        sys.stdout.flush()


def _usual(args: argparse.Namespace) -> Iterator[str]:
    counting = "Ours counts tokens by toktok-rs, the others by" if args.fast else "All count tokens by"
    yield "Processor time in milliseconds; behind it, as fast as the reference. "
    yield f"{counting} tiktoken ({ENCODING}). Medians over {CASES} scenarios:\n\n"
    with tqdm(total=len(SIZES), desc="usual", unit="size", disable=None) as bar:
        yield from usual_table(SIZES, Limits(args.repeats, args.limit * 1000), bar.update)


def _hits(args: argparse.Namespace) -> Iterator[str]:
    yield f"Processor time in milliseconds by hits, at {BUDGET:,} tokens; behind it, as fast as the reference:\n\n"
    yield from _growth(args, args.hits, "hits", lambda hits: ([scenario(hits)], BUDGET))


def _budgets(args: argparse.Namespace) -> Iterator[str]:
    case = scenario(args.hits_by_budget)
    yield f"The same by tokens of the budget, with {len(case.hits):,} hits:\n\n"
    yield from _growth(args, args.budgets, "tokens", lambda budget: ([case], budget))


def _growth(
    args: argparse.Namespace, asked: list[int], of: str, at: Callable[[int], tuple[list[Scenario], int]]
) -> Iterator[str]:
    sizes, competing = sorted(set(asked)), contestants(ways=1)
    with tqdm(total=len(sizes) * len(competing), desc=of, unit="run", disable=None) as bar:
        found = growth(competing, sizes, at, Limits(args.repeats, args.limit * 1000), bar.update)
    yield from growth_table(found, sizes, of)
    if any(len(by_size) < len(sizes) for by_size in found.values()):
        yield f"\n{SKIPPED}: one run would take more than {args.limit:g} s, going by how the time grew before.\n"


def _per_hit(args: argparse.Namespace) -> Iterator[str]:
    few, many = args.per_hit
    yield f"Processor time a hit at {BUDGET:,} tokens, ours alone; 1.5 times is the most it may grow:\n\n"
    with tqdm(total=ROWS, desc="per hit", unit="row", disable=None) as bar:
        yield from per_hit_table(few, many, args.repeats, bar.update)


def _stages(args: argparse.Namespace) -> Iterator[str]:
    case = scenario()
    with ExitStack() as stack:
        stores: dict[str, Store] = {"in memory": case.store}
        if is_installed():
            stores["Postgres"] = stack.enter_context(postgres(case))
        yield f"Milliseconds by stage, {len(case.hits)} hits at {BUDGET:,} tokens:\n\n"
        yield from stages_table(case, stores, args.repeats)


def _threads(args: argparse.Namespace) -> Iterator[str]:
    yield f"Milliseconds that pass in {ASSEMBLIES} assemblies together:\n\n"
    yield from threads_table(args.repeats)
    yield "\nWhere encoding alone gains nothing there was no second processor to be had.\n"


def _load(args: argparse.Namespace) -> Iterator[str]:
    if not is_installed():
        yield "No load: it needs ctxassembly[langchain,postgres,embedded].\n"
        return
    yield f"Questions of an async chain over Postgres, each for {HITS_A_QUESTION} chunks at {BUDGET:,} tokens:\n\n"
    yield from load_table(scenario(args.corpus), args.at_once, args.requests, args.load_repeats)


def _memory(_: argparse.Namespace) -> Iterator[str]:
    yield "What one assembly allocates:\n\n"
    yield from memory_table()


def _caches(args: argparse.Namespace) -> Iterator[str]:
    at = sorted({*(number for number in LOOKS if number < args.assemblies), args.assemblies})
    yield "What the process holds after so many assemblies, each of texts of its own:\n\n"
    with tqdm(total=args.assemblies, desc="caches", unit="assembly", disable=None) as bar:
        yield from caches_table(at, bar.update)


SECTIONS: dict[str, Callable[[argparse.Namespace], Iterator[str]]] = {
    "usual": _usual,
    "hits": _hits,
    "budgets": _budgets,
    "scaling": _per_hit,
    "stages": _stages,
    "threads": _threads,
    "load": _load,
    "memory": _memory,
    "caches": _caches,
}


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="speed", description=__doc__)
    parser.add_argument("--only", nargs="+", choices=SECTIONS, default=list(SECTIONS), help="(default: all)")
    parser.add_argument("--hits", type=int, nargs="+", default=HITS)
    parser.add_argument("--budgets", type=int, nargs="+", default=BUDGETS, metavar="TOKENS")
    parser.add_argument(
        "--per-hit", type=int, nargs=2, default=[FEW, MANY], metavar=("FEW", "MANY"), help="hits (default: 100 10,000)"
    )
    parser.add_argument("--hits-by-budget", type=int, default=HITS_BY_BUDGET, help="(default: 1,000)")
    parser.add_argument("--repeats", type=int, default=31, help="for 20 hits; fewer for more hits (default: 31)")
    parser.add_argument("--fast", action="store_true", help="ours counts by ctxassembly[fast], the others by tiktoken")
    parser.add_argument("--at-once", type=int, nargs="+", default=[1, 50], help="questions (default: 1 50)")
    parser.add_argument("--requests", type=int, default=100, help="of one run under load (default: 100)")
    parser.add_argument("--load-repeats", type=int, default=5, help="of such a run (default: 5)")
    parser.add_argument(
        "--corpus", type=int, default=1_000, help="the hits whose documents are searched (default: 1,000)"
    )
    parser.add_argument(
        "--assemblies",
        type=int,
        default=LOOKS[1],
        help=f"whose memory is looked at; {LOOKS[-1]:,} take 20 minutes (default: {LOOKS[1]:,})",
    )
    parser.add_argument("--limit", type=float, default=20, metavar="SECONDS", help="for one run (default: 20)")
    return parser


if __name__ == "__main__":
    main()
