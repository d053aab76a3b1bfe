"""The evidence that a reader named, piece by piece: read, lost and why, or never retrieved."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from ctxassembly.data.citations import ContextData
from ctxassembly.safe_repr import pluralize
from ctxassembly.views.evidence import LocatedEvidence
from ctxassembly.views.html import Html, join_html, more_line, tag, take_fitting, truncate
from ctxassembly.views.limits import EVIDENCE_BYTES, NOTE_CHARS


def evidence_status(context: ContextData, piece: LocatedEvidence) -> tuple[str, str]:
    """The outcome of a piece of evidence in a word or two, and its place."""
    hit_numbers = ", ".join(f"{rank + 1}" for rank in piece.fragment_spans)
    inexact_note = "; capitals or punctuation differ" if piece.is_inexact else ""
    if piece.share_read >= 1:
        return "read", (f"hit {hit_numbers}" if hit_numbers else _describe_hits(context, piece)) + inexact_note
    origin = f"retrieved as hit {hit_numbers}" if hit_numbers else _describe_hits(context, piece)
    reasons = {
        decision.rank: f"{decision.outcome}: {decision.reason}"
        for decision in context.trace.decisions
        if decision.rank in piece.fragment_spans and not decision.distance
    }
    reason_text = "; ".join(dict.fromkeys(reasons.values()))
    if piece.share_read > 0:
        return "read in part", f"{piece.share_read:.0%} of it stands; {origin}, {reason_text}{inexact_note}"
    if piece.fragment_spans:
        return "lost", f"{origin}, {reason_text}{inexact_note}"
    hidden = sum(not hit.chunk.text.strip() for hit in context.hits) + max(context.trace.hits - len(context.hits), 0)
    hidden_note = f"; the texts of {pluralize(hidden, 'more hit')} are not kept" if hidden else ""
    return "not retrieved", f"in no chunk retrieved{hidden_note}"


def _describe_hits(context: ContextData, evidence: LocatedEvidence) -> str:
    """The chunks that have evidence which no single hit has whole."""
    candidates = [piece.candidate for passage in context.passages for piece in passage.pieces]
    supporting = [candidate for candidate in candidates if candidate.key in evidence.context_spans]
    hits = sorted({candidate.rank + 1 for candidate in supporting if candidate.is_hit})
    neighbor_note = ["a neighbor"] if any(not candidate.is_hit for candidate in supporting) else []
    return " and ".join([*(f"hit {rank}" for rank in hits), *neighbor_note])


def evidence_report(
    context: ContextData, evidence: tuple[LocatedEvidence, ...], get_link: Callable[[int], str | None] | None = None
) -> Html:
    """The list of the evidence. It leads to the `address` of a piece, whose number counts from 0, if it has one."""
    if not evidence:
        return Html()
    read = sum(one.share_read >= 1 for one in evidence)
    lines = take_fitting(_report_lines(context, evidence, get_link), EVIDENCE_BYTES)
    return join_html(
        tag("h3", f"Evidence: {read:,} of {pluralize(len(evidence), 'piece')} read"),
        tag("ul", *lines, class_="cxa-asked"),
        more_line(len(evidence) - len(lines), "pieces of evidence"),
    )


def quote_evidence(piece: LocatedEvidence) -> Html:
    """A piece of evidence in its own words, or the span that it is."""
    return tag(
        "q" if isinstance(piece.evidence, str) else "span", truncate(piece.text, NOTE_CHARS), lang="", dir="auto"
    )


def status_tag(status: str, link: str | None = None) -> Html:
    """The word of a verdict in its color, as a link if it leads anywhere."""
    return tag("a" if link else "b", status, href=link, class_=f"cxa-{status.replace(' ', '-')}")


def _report_lines(
    context: ContextData, evidence: tuple[LocatedEvidence, ...], get_link: Callable[[int], str | None] | None
) -> Iterator[Html]:
    for number, one in enumerate(evidence):
        status, explanation = evidence_status(context, one)
        mark = status_tag(status, get_link(number) if get_link else None)
        yield tag("li", tag("b", f"{number + 1} "), mark, f": {explanation}: ", quote_evidence(one))
