"""What one configuration made of the hits, and what a comparison calls the documents."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from ctxassembly.context import Context
from ctxassembly.inspect.limits import ORDER_LABELS


@dataclass(frozen=True, slots=True)
class Compared:
    """What one configuration made of the hits."""

    name: str
    tokens: int
    chunks: int
    """With text of their own in the context."""
    documents: int
    passages: int
    mean_run_chars: float
    """Characters of a passage, on average; 0 if there is none."""
    evidence: float | None
    """Mean share of the evidence that stands in the context, 0 to 1; None if none was given."""
    order: tuple[tuple[str, str], ...]
    """Document id and source of each label, in the order in which they are read."""
    context: Context = field(repr=False)


def sources(rows: Sequence[Compared]) -> dict[str, str]:
    """The documents of the first labels of each row by their ids, in the order of the letters that they get."""
    found: dict[str, str] = {}
    for each in rows:
        for document_id, source in each.order[:ORDER_LABELS]:
            found.setdefault(document_id, source)
    return found
