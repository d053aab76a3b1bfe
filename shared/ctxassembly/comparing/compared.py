"""What one configuration made of the hits, and what a comparison calls the documents."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from ctxassembly.context import Context
from ctxassembly.inspect.limits import ORDER_LABELS
from ctxassembly.inspect.markup import shortened
from ctxassembly.wording.languages import LANGUAGES


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
    """What the documents of the first labels of each row are called, by their ids, in the order of their letters.

    A document whose source isn't known is called by its id.
    """
    found: dict[str, str] = {}
    for each in rows:
        unknown = LANGUAGES[each.context.language].unknown
        for document_id, source in each.order[:ORDER_LABELS]:
            found.setdefault(document_id, document_id if source == unknown else source)
    return found


def titles(rows: Sequence[Compared], limit: int) -> list[str]:
    """The names of `rows` in `limit` characters each; with its number where a row would look like another one."""
    short = [shortened(each.name, limit) for each in rows]
    return [
        name if short.count(name) == 1 else shortened(f"{place}. {name}", limit) for place, name in enumerate(short, 1)
    ]
