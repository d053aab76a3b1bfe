"""The table of decisions, one row each, and the notes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import compress

from ctxassembly.data.citations import Assembled
from ctxassembly.data.trace import Decision
from ctxassembly.inspect.documents import Names
from ctxassembly.inspect.limits import DECISIONS, DECISIONS_BYTES, ID_CHARS, NOTE_CHARS, NOTES_BYTES, VALUE_CHARS
from ctxassembly.inspect.lost import is_lost
from ctxassembly.inspect.markup import Html, joined, more, shortened, tag, within
from ctxassembly.inspect.tables import fold, number, row, score, table

_COLUMNS = ("chunk", "document", "rank", "distance", "score", "outcome", "reason", "because of", "tokens")
_NUMBERS = (2, 3, 4, 8)
_KNOWN = ("worth", "found by", "has of the query")
"""Columns shown only if the query weighed the chunks, if a retriever says how it searched, or if there is a query."""


def decisions(context: Assembled, names: Names) -> Html:
    """The folded table. From then on `names` links to the rows that have room in it."""
    found = sorted(context.trace.decisions, key=lambda decision: not is_lost(decision))  # the others keep their order
    first = found[:DECISIONS]
    known = (
        any(one.value is not None for one in first),
        any(one.search_method for one in first),
        any(one.matches for one in first),
    )
    columns = (*_COLUMNS, *compress(_KNOWN, known))
    rows = within(_rows(first, names, known), DECISIONS_BYTES)
    names.lead_to(found[: len(rows)])
    whole = table(
        "Hits by rank, those that were lost first, then what was fetched around them", columns, rows, _NUMBERS
    )
    return fold(f"All {len(found):,} decisions", whole, more(len(found) - len(rows), "decisions"))


def notes(context: Assembled) -> Html:
    """The notes of the trace, on fallbacks and mended values; empty if there are none."""
    found = context.trace.notes
    if not found:
        return Html()
    lines = within((tag("li", shortened(note, NOTE_CHARS)) for note in found), NOTES_BYTES)
    return joined(tag("h4", "Notes"), tag("ul", *lines, class_="cxa-notes"), more(len(found) - len(lines), "notes"))


def _rows(found: Sequence[Decision], names: Names, known: tuple[bool, ...]) -> Iterator[Html]:
    for place, decision in enumerate(found):
        document = names.document(decision.document_id)
        searched = (score(decision.value), decision.search_method or "–", ", ".join(decision.matches or ()) or "–")
        yield row(
            shortened(decision.chunk_id, ID_CHARS),
            joined(document.key, " ", document.name),
            f"{decision.rank + 1}",
            f"{decision.distance}",
            score(decision.score),
            decision.outcome,
            shortened(decision.reason, VALUE_CHARS)
            + (f", {decision.stripped_chars:,} stripped" if decision.stripped_chars else ""),
            shortened(decision.because_of or "–", ID_CHARS),
            _tokens(decision),
            *(shortened(cell, VALUE_CHARS) for cell in compress(searched, known)),
            numbers=_NUMBERS,
            id_=f"{names.anchor}-r{place}",
        )


def _tokens(decision: Decision) -> str:
    if decision.shortened is not None:
        return f"{decision.shortened.tokens_before:,} → {decision.shortened.tokens_after:,}"
    return number(decision.tokens)
