"""What long runs share: a progress bar, and a file of JSON lines that the next run goes on with.

A killed process loses at most the row it wrote. When a file is opened again, all of it is read first: one that isn't
such a file stays as it is, byte for byte. Then rows with an error are dropped, to be made again, and so is a last line
without an end; a file of nothing else isn't known to be one.
"""

from __future__ import annotations

import json
import os
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
    check: Callable[[Mapping[str, Any]], object] = lambda row: row
    """A function that raises an error for a row with other values."""

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
        """Yield the place of each line, the line and its row. What follows the last whole line is left out.

        Raises:
            InputError: a line is no such row, or the first one has no end.
        """
        place = 0
        with path.open("rb") as file:
            for number, line in enumerate(file, 1):
                row = self._row(line)
                if not line.endswith(b"\n") and place and self._is_unfinished(line, row):
                    return
                if row is None or not line.endswith(b"\n"):
                    raise self.refused(f"{path.name}, line {number}: no row")
                yield place, line, row
                place += len(line)

    def _row(self, line: bytes) -> dict[str, Any] | None:
        """Return the row in a line; None if it has none."""
        row = _parsed(line)
        if not isinstance(row, dict) or {*row} != {*self.fields} or not isinstance(row[self.fields[0]], str):
            return None
        try:
            self.check(row)
        except Exception:  # noqa: BLE001 - whatever such values raise, they aren't ours
            return None
        return row

    def _is_unfinished(self, line: bytes, row: dict[str, Any] | None) -> bool:
        """Return True for the beginning of a row, or a row without its line break, as a killed process leaves it."""
        start = f'{{"{self.fields[0]}": "'.encode()
        return row is not None or (_parsed(line) is None and (line.startswith(start) or start.startswith(line)))


def _parsed(line: bytes) -> Any:
    """Return the JSON in a line; None if it has none, or one that is nested too deep."""
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        return None


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
        """Yield the file, which is made if there is none. It is read whole before it is changed.

        Raises:
            InputError: the file has something other than such rows, and is left as it is; or it can't be opened.
        """
        with _open(path, format) as file:
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


def _open(path: Path, format: RowFormat) -> BinaryIO:
    """Open a file for more rows, without those that have an error and what follows the last whole line."""
    try:
        if path.exists():
            if not path.is_file():
                raise format.refused(f"{path.name}: no file")
            end, has_errors = 0, False
            for place, line, row in format.lines(path):
                end, has_errors = place + len(line), has_errors or row["error"] is not None
            if has_errors:
                replace_lines(path, (line for _, line, row in format.lines(path) if row["error"] is None))
            elif end < path.stat().st_size:
                os.truncate(path, end)
        return path.open("a+b")
    except (OSError, ValueError) as error:  # with a null character a path is a ValueError
        raise InputError(f"{format.parameter} can't be opened: {error}") from error


def replace_lines(path: Path, lines: Iterable[bytes]) -> None:
    """Write `lines` to `path` at once: whoever kills the process leaves the old file or the new one."""
    new = path.with_name(f"{path.name}.new")
    with new.open("wb") as file:
        file.writelines(lines)
    new.replace(path)
