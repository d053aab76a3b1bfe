"""What was measured, kept as JSON lines: one file a set and strategy, so that a run that was stopped goes on.

The first line says what the others belong to. A file that belongs to something else is begun anew, and so is a last
line that was not written to its end.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TextIO

from quality.metrics import Score

Cell = tuple[str, int]
"""A question's id and a budget."""


def load(file: Path, belongs_to: Mapping[str, Any]) -> dict[Cell, Score]:
    """The scores in `file` by question and budget; none if there is no such file, or it belongs to something else."""
    if not file.is_file():
        return {}
    lines = file.read_text(encoding="utf-8").splitlines(keepends=True)
    if not lines or lines[0] != json.dumps(belongs_to) + "\n":
        return {}
    rows = (json.loads(line) for line in lines[1:] if line.endswith("\n"))
    return {(row["qid"], row["budget"]): Score(**row["score"]) for row in rows}


@contextmanager
def adding(file: Path, belongs_to: Mapping[str, Any], kept: Mapping[Cell, Score]) -> Iterator[TextIO]:
    """The file, open for more cells, with those of `kept` in it."""
    file.parent.mkdir(parents=True, exist_ok=True)
    beside = file.with_suffix(".new")
    with beside.open("w", encoding="utf-8") as lines:
        lines.write(json.dumps(belongs_to) + "\n")
        for cell, score in kept.items():
            write(lines, cell, score)
    beside.replace(file)
    with file.open("a", encoding="utf-8", buffering=1) as lines:
        yield lines


def write(lines: TextIO, cell: Cell, score: Score) -> None:
    """Add one cell."""
    qid, budget = cell
    lines.write(json.dumps({"qid": qid, "budget": budget, "score": score._asdict()}) + "\n")
