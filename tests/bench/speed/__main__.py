"""`python -m speed`: time by kind of text, of one encode of the result, of the reference and of the peers; time by
stage; under load; memory.

Medians of runs in turn in one process, as Markdown tables. Cold: no text was seen before, the vocabulary is loaded.
`make bench-speed ARGS="--only kinds --kinds Chinese --hits 20 --repeats 9"`.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

from tqdm import tqdm

from ctxassembly.protocols import Store
from scenario import BUDGET, ENCODING, scenario
from speed.database import is_installed, postgres
from speed.kinds import BUDGETS, HITS, characters_table, from_set, kinds_tables, made
from speed.load import HITS as HITS_A_QUESTION
from speed.load import load_table
from speed.memory import memory_table
from speed.stages import stages_table
from texts import KINDS


def main(arguments: list[str] | None = None) -> None:
    args = _parser().parse_args(arguments)
    if not args.fast:
        # Ours counts by tiktoken, as the reference does, whether ctxassembly[fast] is installed or not.
        sys.modules["toktok"] = None  # type: ignore[assignment]
    for section in args.only:
        sys.stdout.writelines((*SECTIONS[section](args), "\n"))
        sys.stdout.flush()


def _kinds(args: argparse.Namespace) -> Iterator[str]:
    kinds = {name: made(KINDS[name]) for name in args.kinds}
    kinds |= {folder.name: from_set(folder) for folder in args.sets}
    counting = "Ours counts tokens by toktok-rs, the others by" if args.fast else "All count tokens by"
    yield f"{counting} tiktoken ({ENCODING}).\n\n"
    with tqdm(total=len(kinds) * len(args.hits), desc="kinds", unit="kind", disable=None) as bar:
        yield from kinds_tables(kinds, args.hits, args.budgets, args.repeats, bar.update)


def _characters(args: argparse.Namespace) -> Iterator[str]:
    yield "Characters of the chunks that are read in a millisecond, 20 hits of 1,200 characters at 2,000 tokens:\n\n"
    with tqdm(total=len(args.kinds), desc="characters", unit="kind", disable=None) as bar:
        yield from characters_table({name: KINDS[name] for name in args.kinds}, args.repeats, bar.update)


def _stages(args: argparse.Namespace) -> Iterator[str]:
    case = scenario()
    with ExitStack() as stack:
        stores: dict[str, Store] = {"in memory": case.store}
        if is_installed():
            stores["Postgres"] = stack.enter_context(postgres(case))
        yield f"Milliseconds by stage, {len(case.hits)} hits at {BUDGET:,} tokens:\n\n"
        yield from stages_table(case, stores, args.repeats)


def _load(args: argparse.Namespace) -> Iterator[str]:
    if not is_installed():
        yield "No load: it needs ctxassembly[langchain,postgres,embedded].\n"
        return
    yield f"Questions of an async chain over Postgres, each for {HITS_A_QUESTION} chunks at {BUDGET:,} tokens:\n\n"
    yield from load_table(scenario(args.corpus), args.at_once, args.requests, args.load_repeats)


def _memory(_: argparse.Namespace) -> Iterator[str]:
    yield "What one assembly allocates:\n\n"
    yield from memory_table()


SECTIONS: dict[str, Callable[[argparse.Namespace], Iterator[str]]] = {
    "kinds": _kinds,
    "characters": _characters,
    "stages": _stages,
    "load": _load,
    "memory": _memory,
}


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="speed", description=__doc__)
    parser.add_argument("--only", nargs="+", choices=SECTIONS, default=list(SECTIONS), help="(default: all)")
    parser.add_argument("--kinds", nargs="*", choices=KINDS, default=list(KINDS), help="of text (default: all)")
    parser.add_argument(
        "--sets", nargs="*", type=Path, default=[], metavar="FOLDER", help="question sets to measure, too"
    )
    parser.add_argument("--hits", type=int, nargs="+", default=list(HITS), help="(default: 20 200)")
    parser.add_argument(
        "--budgets", type=_budget, nargs="+", default=list(BUDGETS), metavar="TOKENS", help="(default: none 2000 8000)"
    )
    parser.add_argument("--repeats", type=int, default=31, help="for 20 hits; fewer for more hits (default: 31)")
    parser.add_argument("--fast", action="store_true", help="ours counts by ctxassembly[fast], the others by tiktoken")
    parser.add_argument("--at-once", type=int, nargs="+", default=[1, 50], help="questions (default: 1 50)")
    parser.add_argument("--requests", type=int, default=100, help="of one run under load (default: 100)")
    parser.add_argument("--load-repeats", type=int, default=5, help="of such a run (default: 5)")
    parser.add_argument(
        "--corpus", type=int, default=1_000, help="the hits whose documents are searched (default: 1,000)"
    )
    return parser


def _budget(given: str) -> int | None:
    return None if given == "none" else int(given)


if __name__ == "__main__":
    main()
