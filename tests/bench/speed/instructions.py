"""Instructions that one assembly takes, counted by valgrind: `python -m speed.instructions [--write]`.

Unlike times they are the same again on a busy machine, to a ten-thousandth. On another machine they differ; as parts of
the reference's they differ less, and those are what `instructions.json` keeps.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from speed.timing import table
from speed.variants import REFERENCE

BASELINE = Path(__file__).parents[1] / "instructions.json"
PYTHON = f"{sys.version_info.major}.{sys.version_info.minor}"
"""Another one takes other instructions for the same lines."""
TOLERANCE = 0.25
"""Part by which a figure may differ from the baseline's."""
RENEW = 'make bench-instructions ARGS="--write"'
MISSING = "valgrind is not installed (on Debian and Ubuntu: apt install valgrind)"
MARK = "getppid"
"""A function of the C library that is called for nothing else: whenever it is, callgrind writes what it has counted."""

_COUNTED = re.compile(r"^summary: (\d+)$", re.MULTILINE)


class CountingError(RuntimeError):
    """Valgrind didn't count what it should have counted."""


class NoValgrindError(CountingError):
    """There is none."""


def count() -> dict[str, int]:
    """Instructions by name of what was run.

    Raises:
        NoValgrindError: it isn't installed.
        CountingError: the run failed.
    """
    valgrind = shutil.which("valgrind")
    if valgrind is None:
        raise NoValgrindError(MISSING)
    with tempfile.TemporaryDirectory(prefix="ctxassembly-") as folder:
        options = ["--tool=callgrind", f"--dump-before={MARK}", f"--callgrind-out-file={folder}/out"]
        done = subprocess.run(
            [valgrind, *options, sys.executable, "-m", "speed.marked"],
            capture_output=True,
            text=True,
            check=False,
            # The order of sets depends on the hashes of strings, which differ from process to process otherwise.
            env={**os.environ, "PYTHONHASHSEED": "0", "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        )
        if done.returncode:
            raise CountingError(done.stderr.strip())
        dumps = sorted(Path(folder).glob("out.*"), key=lambda file: int(file.suffix[1:]))
        # A run stands between two marks: one dump of what came before it, and one of it.
        counted = [_COUNTED.search(file.read_text(encoding="utf-8")) for file in dumps[1::2]]
    names = done.stdout.splitlines()
    if len(dumps) != 2 * len(names) or not all(counted):
        raise CountingError(f"{len(names)} runs, but {len(dumps)} calls of {MARK}: two each are expected")
    return {name: int(found[1]) for name, found in zip(names, counted, strict=True) if found}


def parts(counted: Mapping[str, int]) -> dict[str, float]:
    """The same in parts of the reference's."""
    return {name: round(number / counted[REFERENCE], 4) for name, number in counted.items() if name != REFERENCE}


def baseline() -> dict[str, Any]:
    """What `--write` kept: `python`, its version, and `parts`."""
    kept: dict[str, Any] = json.loads(BASELINE.read_text(encoding="utf-8"))
    return kept


def deviations(found: Mapping[str, float], kept: Mapping[str, float]) -> list[str]:
    """A line for each figure that is too far from the baseline's, or isn't in both; none if all is well."""
    lines = []
    for name in {**kept, **found}:
        was, now = kept.get(name), found.get(name)
        if was is None or now is None:
            lines.append(f"{name}: {'not in the baseline' if was is None else 'in the baseline alone'}")
        elif abs(now / was - 1) > TOLERANCE:
            lines.append(f"{name}: {now:.4f} of the reference's instructions, {was:.4f} before ({now / was - 1:+.0%})")
    return lines


def main(arguments: list[str] | None = None) -> int:
    """The exit code: 0, or 2 with one line that says what is missing."""
    parser = argparse.ArgumentParser(prog="speed.instructions", description=__doc__)
    parser.add_argument("--write", action="store_true", help=f"keep the figures in {BASELINE.name}, for make test-all")
    args = parser.parse_args(arguments)
    try:
        counted = count()
    except CountingError as error:
        sys.stderr.write(f"speed.instructions: {error}\n")
        return 2
    sys.stdout.writelines(_table(counted))
    if args.write:
        kept = json.dumps({"python": PYTHON, "parts": parts(counted)}, indent=2)
        BASELINE.write_text(f"{kept}\n", encoding="utf-8")
    return 0


def _table(counted: Mapping[str, int]) -> Iterator[str]:
    found = parts(counted)
    rows = [
        [name, f"{number / 1e6:,.1f}", f"{found[name]:.3f}" if name in found else "1"]
        for name, number in counted.items()
    ]
    yield from table(["one run", "million instructions", "of the reference's"], rows)


if __name__ == "__main__":
    sys.exit(main())
