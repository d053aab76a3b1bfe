"""What was measured or asked, kept as JSON lines, so that a run that was stopped goes on.

The first line says what the others belong to. A file that belongs to something else is begun anew, and so is a last
line that was not written to its end.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

Row = Mapping[str, Any]


def load(file: Path, belongs_to: Row) -> list[dict[str, Any]]:
    """The rows in `file`; none if there is no such file, or it belongs to something else."""
    if not file.is_file():
        return []
    lines = file.read_text(encoding="utf-8").splitlines(keepends=True)
    if not lines or lines[0] != _line(belongs_to):
        return []
    return [json.loads(line) for line in lines[1:] if line.endswith("\n")]


@contextmanager
def adding(file: Path, belongs_to: Row, kept: Iterable[Row]) -> Iterator[Callable[[Row], object]]:
    """A function that adds a row to `file`, which begins with `kept`. A row stands there as soon as it is added."""
    file.parent.mkdir(parents=True, exist_ok=True)
    beside = file.with_suffix(".new")
    with beside.open("w", encoding="utf-8") as lines:
        lines.writelines(map(_line, (belongs_to, *kept)))
    beside.replace(file)
    with file.open("a", encoding="utf-8", buffering=1) as lines:
        yield lambda row: lines.write(_line(row))


def _line(row: Row) -> str:
    return json.dumps(row) + "\n"
