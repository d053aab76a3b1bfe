"""Compare the contexts of today with those on record: `make frozen`.

`--renew` writes the record; `--against REF` shows what differs from another commit, text by text; `--show N` one case.
"""

from __future__ import annotations

import argparse
import difflib
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from frozen.cases import CASES, PARTS, hashed, parts

RECORD = Path(__file__).with_name("contexts.txt")
ROOT = Path(__file__).parents[2]


def recorded() -> dict[int, tuple[str, ...]]:
    """The hashes on record, by the number of the case."""
    return {int(number): tuple(hashes) for number, *hashes in map(str.split, RECORD.read_text().splitlines())}


def differing(numbers: range) -> dict[int, list[str]]:
    """The parts that aren't as on record, for each case in which one isn't."""
    before = recorded()
    found = {}
    for number in numbers:
        changed = [part for part, now, then in zip(PARTS, hashed(number), before[number], strict=True) if now != then]
        if changed:
            found[number] = changed
    return found


def at(reference: str, numbers: list[int]) -> dict[str, Any]:
    """The cases as the commit makes them, in a process of its own."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["git", "worktree", "add", "--detach", "--quiet", folder, reference], cwd=ROOT, check=True)
        try:
            # The cases of today, on the code of then.
            paths = [Path(folder, "shared"), Path(folder), ROOT / "tests", ROOT / "tests/engine"]
            done = subprocess.run(
                [sys.executable, "-m", "frozen", "--show", *map(str, numbers)],
                cwd=folder,  # which comes first on the path
                env={**os.environ, "PYTHONPATH": os.pathsep.join(map(str, paths))},
                check=True,
                capture_output=True,
                text=True,
            )
        finally:
            subprocess.run(["git", "worktree", "remove", "--force", folder], cwd=ROOT, check=True)
    return json.loads(done.stdout)


def lines(made: dict[str, Any]) -> list[str]:
    """A case in lines, to be compared."""
    text = [f"text: {line}" for line in made["text"].split("\n")]
    return text + [f"{part}: {json.dumps(each, ensure_ascii=False)}" for part in PARTS[1:] for each in made[part]]


def main() -> int:
    """0 if all contexts are as on record."""
    parser = argparse.ArgumentParser(prog="python -m frozen", description=__doc__)
    parser.add_argument("--renew", action="store_true", help="write the record")
    parser.add_argument("--show", type=int, nargs="+", metavar="N", help="print these cases as JSON")
    parser.add_argument("--against", metavar="REF", help="show how the differing cases were at this commit")
    arguments = parser.parse_args()
    if arguments.show:
        print(json.dumps({number: parts(number) for number in arguments.show}, default=str))
        return 0
    if arguments.renew:
        RECORD.write_text("".join(f"{number} {' '.join(hashed(number))}\n" for number in range(CASES)))
        return 0
    found = differing(range(CASES))
    for number, changed in found.items():
        print(f"case {number}: {', '.join(changed)}")
    print(f"{len(found)} of {CASES:,} contexts differ from the record")
    if arguments.against and found:
        for number, then in at(arguments.against, list(found)).items():
            now = json.loads(json.dumps(parts(int(number)), default=str))
            print(
                *difflib.unified_diff(lines(then), lines(now), f"{number} then", f"{number} now", "", "", 1, ""),
                sep="\n",
            )
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
