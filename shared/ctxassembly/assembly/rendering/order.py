"""Orders of the units of a context: whole documents, or passages or chunks with a label of their own.

Order is a small effect. Language models used the beginning and the end of long contexts best (Liu et al. 2023, with 20
documents and more); with real retrievers the difference is marginal (Cuconasu et al. 2025), it shows only while the
context fills less than half of the model's window and turns into a preference for the end beyond (Veseli et al. 2025),
and length and distractors matter more. So the default keeps documents whole, best first, and the others are options.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeVar

from ctxassembly.config.assembly import Order

Unit = TypeVar("Unit")


class Place(NamedTuple):
    """The sort keys of a unit, one for each criterion; smaller comes first."""

    relevance: tuple[int, ...]
    document_id: str
    position: int
    """The position in the document."""
    source: str = ""
    page: int | str | None = None
    """The first page of its document in the context."""


def arrange(units: Sequence[Unit], order: Order, place: Callable[[Unit], Place]) -> list[Unit]:
    """`units` in reading order. Ties break by document, then by position."""
    ranked = sorted(units, key=lambda unit: (place(unit).relevance, place(unit).document_id, place(unit).position))
    if order == "document_order":
        return document_order(ranked, place)
    if order == "stable":
        return stable(ranked, place)
    return _BY_RANK[order](ranked)


def relevance(ranked: Sequence[Unit]) -> list[Unit]:
    """Best first, which suits a context that fills little of the window, and readers who stop early."""
    return list(ranked)


def edges(ranked: Sequence[Unit]) -> list[Unit]:
    """Best first, second-best last, the rest descending between: A B C D E -> A C D E B. Up to three: descending.

    Against getting lost in the middle (Liu et al. 2023): both ends have what the answer most likely needs.
    """
    if len(ranked) <= 3:
        return list(ranked)
    return [ranked[0], *ranked[2:], ranked[1]]


def interleaved(ranked: Sequence[Unit]) -> list[Unit]:
    """From both ends inwards: 1 3 5 ... 6 4 2; three give 1 3 2. The best is first for even and odd numbers alike.

    The same motive as `edges`; here the worst stand in the middle and relevance rises towards both ends.
    """
    return [*ranked[::2], *ranked[1::2][::-1]]


def reverse(ranked: Sequence[Unit]) -> list[Unit]:
    """Best last, nearest to a question that follows the context, where Wang et al. (2024) found it to work best."""
    return list(ranked[::-1])


def document_order(units: Sequence[Unit], place: Callable[[Unit], Place]) -> list[Unit]:
    """By source, page and position in the document, as one would read the files.

    Passages of one long document in its own order beat the order of relevance (OP-RAG, 2024; DOS RAG, 2025). Documents
    of one source are ordered by their first page: inside a document its own order is surer than page labels.
    """

    def key(unit: Unit) -> tuple[str, tuple[int, int, str], str, int]:
        at = place(unit)
        return at.source, _page(at.page), at.document_id, at.position

    return sorted(units, key=key)


def stable(units: Sequence[Unit], place: Callable[[Unit], Place]) -> list[Unit]:
    """By document id, then position in the document, whatever the question: the same chunks give the same text.

    A beginning that two turns of a conversation share can come from a provider's prompt cache. A header with the score
    (`xml`) ends it early.
    """
    return sorted(units, key=lambda unit: (place(unit).document_id, place(unit).position))


def _page(page: int | str | None) -> tuple[int, int, str]:
    """No page first, then numbers, then anything else by its letters."""
    if page is None:
        return 0, 0, ""
    return (1, page, "") if isinstance(page, int) else (2, 0, page)


_BY_RANK: dict[str, Callable[[Sequence[Unit]], list[Unit]]] = {
    "documents": relevance,  # of units that are whole documents
    "relevance": relevance,
    "edges": edges,
    "interleaved": interleaved,
    "reverse": reverse,
}
