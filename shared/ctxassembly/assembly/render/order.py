"""Orders of the units of a context: whole documents, or passages or chunks with a label of their own.

Order is a small effect. Language models used the beginning and the end of long contexts best (Liu et al. 2023, with 20
documents and more); with real retrievers the difference is marginal (Cuconasu et al. 2025), it shows only while the
context fills less than half of the model's window and turns into a preference for the end beyond (Veseli et al. 2025),
and length and distractors matter more. Whoever stops early is served best by the best first: so the default, if a query
decides, divides a long context into parts (`parts.py`), with documents together in each; the others are options.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ctxassembly.config.assembly import Order


class SortKeys(NamedTuple):
    """The sort keys of a unit, one for each criterion; smaller comes first."""

    relevance: tuple[float, ...]
    document_id: str
    position: int
    """The position in the document."""
    source: str = ""
    page: int | str | None = None
    """The first page of its document in the context."""


def arrange(keys: Sequence[SortKeys], order: Order) -> list[int]:
    """Return the places of units in reading order, given the keys of each. Ties break by document, then by position."""
    ranked = sorted(range(len(keys)), key=[one[:3] for one in keys].__getitem__)
    if order == "edges" and len(ranked) > 3:
        # Best first, second-best last, the rest descending between: A B C D E -> A C D E B. Against getting lost in the
        # middle (Liu et al. 2023): both ends have what the answer most likely needs.
        return [ranked[0], *ranked[2:], ranked[1]]
    if order == "interleaved":
        # From both ends inwards: 1 3 5 ... 6 4 2; three give 1 3 2. The same motive; here the worst are in the middle.
        return [*ranked[::2], *ranked[1::2][::-1]]
    if order == "reverse":  # best last, next to a question that follows: Wang et al. (2024) found it to work best
        return ranked[::-1]
    if order == "stable":
        # By document, whatever the question: a beginning that two turns of a conversation share can come from a
        # provider's prompt cache. A header with the score (`xml`) ends it early.
        return sorted(ranked, key=lambda place: keys[place][1:3])
    if order == "document_order":
        # As one would read the files: passages of one long document in its own order beat the order of relevance
        # (OP-RAG, 2024; DOS RAG, 2025). Documents of one source are ordered by their first page: inside a document its
        # own order is surer than page labels.
        return sorted(ranked, key=lambda place: _document_order_key(keys[place]))
    return ranked  # "relevance", and "documents", whose units are whole documents


def _document_order_key(keys: SortKeys) -> tuple[str, tuple[int, int, str], str, int]:
    """Source, page, document and position. No page comes first, then numbers, then anything else by its letters."""
    page = keys.page
    page_key = (0, 0, "") if page is None else (1, page, "") if isinstance(page, int) else (2, 0, page)
    return keys.source, page_key, keys.document_id, keys.position
