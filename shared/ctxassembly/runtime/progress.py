"""What long runs share: a progress bar, and a file of JSON lines that the next run goes on with.

A killed process loses at most the row it wrote. Rows with an error are dropped when the file is opened, to be made
again, and so is a last line without an end.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any, BinaryIO

from ctxassembly.errors import InputError

Advance = Callable[[int], object]
"""A function that moves the bar on by so many units."""


@contextmanager
def progress_bar(
    total: int | None, unit: str = "chunk", title: str = "", *, is_shown: bool = True
) -> Iterator[Advance]:
    """Yield a function that advances a progress bar of tqdm; without tqdm, or if it isn't shown, it does nothing."""
    if not is_shown or not find_spec("tqdm"):
        yield lambda _: None
        return
    from tqdm.auto import tqdm

    with tqdm(total=total, unit=unit, desc=title or None) as bar:
        yield bar.update


@dataclass(frozen=True)
class RowFormat:
    """The fields of the rows of a file, and how errors name them."""

    fields: Sequence[str]
    """All of them. The first is a string; "error" is None unless the row has to be made again."""
    origin: str
    """What makes such rows: "a batch"."""
    parameter: str
    """The parameter by which the caller passes the path."""

    def refused(self, place: str) -> InputError:
        """Return the error about a file that has something else."""
        return InputError(f"{place} of {self.origin}; pass another path as {self.parameter}")

    def line(self, row: Mapping[str, Any]) -> bytes:
        """Return `row` as a line. Its fields have the order of `fields`."""
        values = {name: row[name] for name in self.fields}
        try:
            return f"{json.dumps(values, ensure_ascii=False)}\n".encode()
        except UnicodeEncodeError:  # a lone surrogate
            return f"{json.dumps(values)}\n".encode()

    def lines(self, path: Path) -> Iterator[tuple[int, bytes, dict[str, Any]]]:
        """Yield the place of each line, the line and its row.

        Raises:
            InputError: a line is no such row.
        """
        place = 0
        with path.open("rb") as file:
            for number, line in enumerate(file, 1):
                try:
                    row = json.loads(line)
                except ValueError:
                    row = None
                if not isinstance(row, dict) or {*row} != {*self.fields} or not isinstance(row[self.fields[0]], str):
                    raise self.refused(f"{path.name}, line {number}: no row")
                yield place, line, row
                place += len(line)


@dataclass(frozen=True)
class RowFile:
    """The rows of a file that is open for more."""

    name: str
    file: BinaryIO
    format: RowFormat
    rows: Iterator[tuple[int, dict[str, Any]]]
    """The rows that the file had when it was opened, each with its place. They are read as they are asked for."""

    @classmethod
    @contextmanager
    def opened(cls, path: Path, format: RowFormat) -> Iterator[RowFile]:
        """Yield the file, which is made if there is none.

        Raises:
            InputError: the file has something other than such rows. It is left as it is.
        """
        if path.exists():
            _cut_off_unfinished(path, format)
            if any(row["error"] is not None for _, _, row in format.lines(path)):
                replace_lines(path, (line for _, line, row in format.lines(path) if row["error"] is None))
        with path.open("a+b") as file:
            yield cls(path.name, file, format, ((place, row) for place, _, row in format.lines(path)))

    def read(self, place: int) -> dict[str, Any]:
        """Return the row at `place`."""
        self.file.seek(place)
        row: dict[str, Any] = json.loads(self.file.readline())
        return row

    def add(self, row: Mapping[str, Any]) -> int:
        """Write `row`, which stays if the process is killed afterwards, and return its place."""
        place = self.file.seek(0, 2)
        self.file.write(self.format.line(row))
        self.file.flush()
        return place


def _cut_off_unfinished(path: Path, format: RowFormat) -> None:
    """Remove a last line without an end, which a killed process left. If it begins otherwise, it isn't one of ours."""
    start, end = f'{{"{format.fields[0]}": "'.encode(), 0
    with path.open("r+b") as file:
        for line in file:
            if line.endswith(b"\n"):
                end += len(line)
            elif not (line.startswith(start) or start.startswith(line)):
                raise format.refused(f"{path.name}: no rows")
            else:
                file.truncate(end)
                return


def replace_lines(path: Path, lines: Iterable[bytes]) -> None:
    """Write `lines` to `path` at once: whoever kills the process leaves the old file or the new one."""
    new = path.with_name(f"{path.name}.new")
    with new.open("wb") as file:
        file.writelines(lines)
    new.replace(path)
