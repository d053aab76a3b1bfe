"""The way of one chunk through a retrieval, as a record that prints as a table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Explained:
    """The way of a chunk through a retrieval. It prints as a table of the steps.

    >>> from ctxassembly import Chunk, MemoryIndex, RetrievalConfig, explain
    >>> index = MemoryIndex([Chunk("lab#0", "lab", "Ferritin."), Chunk("lab#1", "lab", "Ferritin, and iron.")])
    >>> explained = explain("ferritin", "lab#1", RetrievalConfig(strategy="keyword", limit=1), index=index)
    >>> explained.lost_at, explained.reason, explained.lost_to
    ('limit', 'place 2 after fuse, where 1 are kept', ('lab#0',))
    """

    query: str
    expect: str
    chunk_id: str | None
    """None if no chunk was found that has the id or the text."""
    lost_at: str | None
    """The step after which it wasn't there: "index" and "filter" come before the first; None if it is a hit."""
    reason: str
    rank: int | None
    """Its place among the hits, from 0."""
    ranks: Mapping[str, int | None]
    """Its place after each step, from 0; None where it wasn't there."""
    sizes: Mapping[str, int] = field(repr=False)
    """The number of chunks after each step."""
    lost_to: tuple[str, ...] = ()
    """The ids that stand where it would have stood, best first."""

    def __str__(self) -> str:
        rows = [("step", "place", "of")]
        rows += [
            (step, "-" if rank is None else str(rank + 1), str(self.sizes[step])) for step, rank in self.ranks.items()
        ]
        widths = [max(len(row[at]) for row in rows) for at in range(3)]
        table = "\n".join(f"{a:<{widths[0]}}  {b:>{widths[1]}}  {c:>{widths[2]}}" for a, b, c in rows)
        stead = f"\nIn its stead: {', '.join(self.lost_to)}" if self.lost_to else ""
        return f"{self.chunk_id or self.expect}: {self.reason}\n\n{table}{stead}"
