"""Rows of a batch, and the file that keeps them: JSON lines, by question id.

A Parquet file can't be appended to, so a run writes JSON lines next to it, `contexts.parquet.jsonl`, and turns them
into the Parquet file at its end. A run that finds a Parquet file first turns it into lines again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from importlib.util import find_spec
from itertools import islice
from pathlib import Path
from typing import Any

from ctxassembly.context import Context
from ctxassembly.data import retrieval as data
from ctxassembly.errors import ConfigError, InputError
from ctxassembly.retrieved import Retrieved
from ctxassembly.runtime.progress import RowFile, RowFormat, replace_lines
from ctxassembly.safe_repr import safe_repr
from ctxassembly.serialization import from_plain, to_plain

_FORMAT = RowFormat(("id", "digest", "question", "error", "context", "retrieved"), "a batch", "out")
_COLUMNS = ("id", "question", "error", "text", "json")
"""The columns of a Parquet file: some to read, and the whole row as JSON."""
_ROWS_AT_ONCE = 256
"""Rows of one group of a Parquet file, which are in memory together."""


@dataclass(frozen=True, slots=True)
class BatchRow:
    """What came of one question: a context, or what was retrieved, or an error.

    >>> BatchRow("7", "May I drink?", error="StoreError: no answer within 10 s").to_dict()["error"]
    'StoreError: no answer within 10 s'
    """

    id: str
    question: str
    context: Context | None = None
    """None if it failed, and for `retrieve_many`."""
    retrieved: Retrieved | None = None
    """None if it failed, and for `assemble_many`."""
    error: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the row as plain data, as the file has it, without vectors."""
        return {
            "id": self.id,
            "question": to_plain(self.question),
            "error": to_plain(self.error),
            "context": None if self.context is None else self.context.to_dict(),
            "retrieved": None if self.retrieved is None else to_plain(self.retrieved),
        }

    @classmethod
    def from_dict(cls, row: dict[str, Any]) -> BatchRow:
        """Return the row that `to_dict` turned into `row`."""
        context, retrieved = row["context"], row["retrieved"]
        return cls(
            row["id"],
            row["question"],
            None if context is None else Context.from_dict(context),
            None if retrieved is None else Retrieved.with_views(from_plain(data.Retrieved, retrieved)),
            row["error"],
        )


@dataclass(frozen=True, slots=True)
class BatchSummary:
    """What a batch has done so far.

    >>> print(BatchSummary(made=120, resumed=30, failed=1, first_error="7: StoreError: no answer within 10 s"))
    made 120, resumed 30, failed 1 (7: StoreError: no answer within 10 s)
    """

    made: int = 0
    resumed: int = 0
    """Rows read from the file."""
    failed: int = 0
    first_error: str | None = None
    """The id of the first question that failed, and its error."""

    def with_row(self, row: BatchRow, *, is_resumed: bool) -> BatchSummary:
        """Return the summary with one row more."""
        if row.error is not None:
            first = self.first_error or f"{row.id}: {row.error}"
            return replace(self, failed=self.failed + 1, first_error=first)
        if is_resumed:
            return replace(self, resumed=self.resumed + 1)
        return replace(self, made=self.made + 1)

    def __str__(self) -> str:
        shown = f" ({self.first_error})" if self.first_error else ""
        return f"made {self.made}, resumed {self.resumed}, failed {self.failed}{shown}"


def lines_path(out: Any) -> Path:
    """Return the path of the JSON lines of `out`.

    Raises:
        ConfigError: `out` has another suffix than .jsonl or .parquet, or pyarrow isn't installed for the latter.
    """
    suffix = Path(out).suffix.lower() if isinstance(out, (str, Path)) else ""
    if suffix not in (".jsonl", ".parquet"):
        raise ConfigError("out", "a path that ends in .jsonl or .parquet", out)
    if suffix == ".parquet" and not find_spec("pyarrow"):
        raise ConfigError("out", "a .jsonl path where pyarrow isn't installed", out, "; pip install pyarrow")
    return Path(f"{out}.jsonl") if suffix == ".parquet" else Path(out)


@dataclass
class BatchFile:
    """The rows of a run, open for more. Only the ids are in memory."""

    file: RowFile
    places: dict[str, tuple[int, str]]
    """Where the row of an id begins, and the digest of what it was made of."""

    @classmethod
    @contextmanager
    def opened(cls, out: str | Path) -> Iterator[BatchFile]:
        """Yield the rows in `out`. A Parquet file is written when the block ends without an exception.

        Raises:
            InputError: the file has something other than such rows.
        """
        path, target = lines_path(out), Path(out)
        if path != target and target.exists():
            lines = _parquet_lines(target)
            if not path.exists():
                replace_lines(path, lines)
        with RowFile.opened(path, _FORMAT) as file:
            yield cls(file, {row["id"]: (place, row["digest"]) for place, row in file.rows})
        if path != target:
            _write_parquet(path, target)
            path.unlink()

    def claim(self, id: str, digest: str) -> bool:
        """Return True if nobody has made the row of `id` or has claimed it: the caller then has to `add` it.

        Raises:
            InputError: there is a row of `id`, made of something else.
        """
        if id not in self.places:
            self.places[id] = -1, digest
            return True
        if self.places[id][1] != digest:
            raise InputError(
                f"{self.file.name} has a row with id {id!r} of another question, filter or configuration, or of "
                "another version of ctxassembly: give each question and filter its own id, or pass another path as out"
            )
        return False

    def read(self, id: str) -> BatchRow:
        """Return the row of `id`.

        Raises:
            InputError: its values are of other types.
        """
        try:
            return BatchRow.from_dict(self.file.read(self.places[id][0]))
        except Exception as error:
            raise _FORMAT.refused(f"{self.file.name}, id {safe_repr(id)}: no row") from error

    def add(self, row: BatchRow) -> None:
        """Write a claimed row."""
        digest = self.places[row.id][1]
        self.places[row.id] = self.file.add({**row.to_dict(), "digest": digest}), digest


def _parquet_lines(path: Path) -> Iterable[bytes]:
    """Return the lines that `_write_parquet` turned into `path`.

    Raises:
        InputError: it has other columns, or is no Parquet file.
    """
    from pyarrow import ArrowException
    from pyarrow.parquet import ParquetFile

    try:
        with ParquetFile(path) as file:
            is_ours = [*file.schema_arrow.names] == [*_COLUMNS]
    except (OSError, ArrowException):
        is_ours = False
    if not is_ours:
        raise _FORMAT.refused(f"{path.name}: no rows")

    def lines() -> Iterator[bytes]:
        with ParquetFile(path) as file:
            for batch in file.iter_batches(_ROWS_AT_ONCE, columns=["json"]):
                for line in batch.column(0).to_pylist():
                    yield f"{line}\n".encode()

    return lines()


def _write_parquet(path: Path, target: Path) -> None:
    """Write the lines of `path` as a Parquet file, at once: columns to read, and the whole row as JSON."""
    import pyarrow as pa
    from pyarrow.parquet import ParquetWriter

    schema = pa.schema([(name, pa.large_string()) for name in _COLUMNS])
    new, lines = target.with_name(f"{target.name}.new"), _FORMAT.lines(path)
    with ParquetWriter(new, schema) as writer:
        while group := [*islice(lines, _ROWS_AT_ONCE)]:
            values = [
                {**row, "text": (row["context"] or {}).get("text"), "json": line.decode().rstrip("\n")}
                for _, line, row in group
            ]
            columns = {name: [one[name] for one in values] for name in schema.names}
            writer.write_table(pa.table(columns, schema=schema))
    new.replace(target)
