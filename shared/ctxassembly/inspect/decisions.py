"""Every decision on a row of its own, and the notes on what had to be mended."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import compress

from ctxassembly.data.assembled import Assembled
from ctxassembly.data.trace import Decision
from ctxassembly.inspect.documents import Names
from ctxassembly.inspect.limits import DECISIONS, DECISIONS_BYTES, ID_CHARS, NOTE_CHARS, NOTES_BYTES, VALUE_CHARS
from ctxassembly.inspect.markup import Html, joined, more, shortened, tag, within
from ctxassembly.inspect.tables import fold, number, row, score, table

_COLUMNS = ("chunk", "document", "rank", "distance", "score", "outcome", "reason", "because of", "tokens")
_NUMBERS = (2, 3, 4, 8)
_SEARCHED = ("found by", "has of the query")
"""Columns of what there is only where a retriever tells it, or where there is a query."""


def decisions(context: Assembled, names: Names) -> Html:
    """The table, folded; `names` then leads to the rows that have room in it."""
    found = context.trace.decisions
    known = (any(each.search_method for each in found[:DECISIONS]), any(each.matches for each in found[:DECISIONS]))
    columns = (*_COLUMNS, *compress(_SEARCHED, known))
    rows = within(_rows(found[:DECISIONS], names, known), DECISIONS_BYTES)
    names.lead_to(found[: len(rows)])
    whole = table("Hits by rank, then what was fetched around them", columns, rows, _NUMBERS)
    return fold(f"All {len(found):,} decisions", whole, more(len(found) - len(rows), "decisions"))


def notes(context: Assembled) -> Html:
    """The fallbacks taken, nothing if there were none."""
    found = context.trace.notes
    if not found:
        return Html()
    lines = within((tag("li", shortened(note, NOTE_CHARS)) for note in found), NOTES_BYTES)
    return joined(tag("h4", "Notes"), tag("ul", *lines, class_="cxa-notes"), more(len(found) - len(lines), "notes"))


def _rows(found: tuple[Decision, ...], names: Names, known: tuple[bool, bool]) -> Iterator[Html]:
    for place, each in enumerate(found):
        document = names.document(each.document_id)
        searched = (each.search_method or "–", ", ".join(each.matches or ()) or "–")
        yield row(
            shortened(each.chunk_id, ID_CHARS),
            joined(document.key, " ", document.name),
            f"{each.rank + 1}",
            f"{each.distance}",
            score(each.score),
            each.outcome,
            shortened(each.reason, VALUE_CHARS)
            + (f", {each.stripped_chars:,} stripped" if each.stripped_chars else ""),
            shortened(each.because_of or "–", ID_CHARS),
            _tokens(each),
            *(shortened(cell, VALUE_CHARS) for cell in compress(searched, known)),
            numbers=_NUMBERS,
            id_=f"{names.anchor}-r{place}",
        )


def _tokens(decision: Decision) -> str:
    if decision.shortened is not None:
        return f"{decision.shortened.tokens_before:,} → {decision.shortened.tokens_after:,}"
    return number(decision.tokens)
