"""The evidence that a reader named, piece by piece: read, lost and why, or never retrieved."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from ctxassembly.data.citations import Assembled
from ctxassembly.safe_repr import counted
from ctxassembly.views.evidence import Located
from ctxassembly.views.html import Html, joined, more, shortened, tag, within
from ctxassembly.views.limits import EVIDENCE_BYTES, NOTE_CHARS


def verdict(context: Assembled, one: Located) -> tuple[str, str]:
    """The outcome of a piece of evidence in a word or two, and its place."""
    where = ", ".join(f"{rank + 1}" for rank in one.fragments)
    nearly = "; capitals or punctuation differ" if one.nearly else ""
    if one.share >= 1:
        return "read", (f"hit {where}" if where else _brought(context, one)) + nearly
    came = f"retrieved as hit {where}" if where else _brought(context, one)
    reasons = {
        decision.rank: f"{decision.outcome}: {decision.reason}"
        for decision in context.trace.decisions
        if decision.rank in one.fragments and not decision.distance
    }
    why = "; ".join(dict.fromkeys(reasons.values()))
    if one.share > 0:
        return "read in part", f"{one.share:.0%} of it stands; {came}, {why}{nearly}"
    if one.fragments:
        return "lost", f"{came}, {why}{nearly}"
    hidden = sum(not hit.chunk.text.strip() for hit in context.hits) + max(context.trace.hits - len(context.hits), 0)
    beyond = f"; the texts of {counted(hidden, 'more hit')} are not kept" if hidden else ""
    return "not retrieved", f"in no chunk retrieved{beyond}"


def _brought(context: Assembled, one: Located) -> str:
    """The chunks that have evidence which no single hit has whole."""
    found = [piece.candidate for passage in context.passages for piece in passage.pieces]
    standing = [candidate for candidate in found if candidate.key in one.standing]
    hits = sorted({candidate.rank + 1 for candidate in standing if candidate.is_hit})
    beside = ["a neighbour"] if any(not candidate.is_hit for candidate in standing) else []
    return " and ".join([*(f"hit {rank}" for rank in hits), *beside])


def asked_for(
    context: Assembled, found: tuple[Located, ...], address: Callable[[int], str | None] | None = None
) -> Html:
    """The list of the evidence. It leads to the `address` of a piece, whose number counts from 0, if it has one."""
    if not found:
        return Html()
    read = sum(one.share >= 1 for one in found)
    lines = within(_lines(context, found, address), EVIDENCE_BYTES)
    return joined(
        tag("h3", f"Evidence: {read:,} of {counted(len(found), 'piece')} read"),
        tag("ul", *lines, class_="cxa-asked"),
        more(len(found) - len(lines), "pieces of evidence"),
    )


def quoted(one: Located) -> Html:
    """A piece of evidence in its own words, or the span that it is."""
    return tag("q" if isinstance(one.evidence, str) else "span", shortened(one.said, NOTE_CHARS), lang="", dir="auto")


def outcome(became: str, address: str | None = None) -> Html:
    """The word of a verdict in its colour, as a link if it leads anywhere."""
    return tag("a" if address else "b", became, href=address, class_=f"cxa-{became.replace(' ', '-')}")


def _lines(
    context: Assembled, found: tuple[Located, ...], address: Callable[[int], str | None] | None
) -> Iterator[Html]:
    for number, one in enumerate(found):
        became, where = verdict(context, one)
        mark = outcome(became, address(number) if address else None)
        yield tag("li", tag("b", f"{number + 1} "), mark, f": {where}: ", quoted(one))
