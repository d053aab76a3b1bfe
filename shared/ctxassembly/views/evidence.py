"""Evidence that a reader names, looked up in the context and in the retrieved fragments.

White space, capitals and punctuation between words don't count. The context may have a part of a text, if sentences
were selected: then the rest is in the fragment only.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from ctxassembly.data.candidates import TextPiece
from ctxassembly.data.chunks import Chunk, RetrievedFragment, Span
from ctxassembly.data.citations import ContextData, Passage
from ctxassembly.errors import InputError
from ctxassembly.safe_repr import pluralize, safe_repr
from ctxassembly.tracing import MAX_SHOWN_HITS

Evidence = str | tuple[str, int, int]
"""A text, or a span of a document: its id, start and end in characters, half-open."""


@dataclass(frozen=True)
class LocatedEvidence:
    """A piece of evidence, and the places where it was found."""

    evidence: Evidence
    share_read: float
    """The part of it that the context has, 0 to 1."""
    context_spans: dict[int, list[Span]] = field(default_factory=dict)
    """Its places in the context: slices of the text of candidates, by key."""
    fragment_spans: dict[int, list[Span]] = field(default_factory=dict)
    """Its places in the retrieved fragments: slices of their text, by rank."""

    @property
    def text(self) -> str:
        """The evidence in words."""
        if isinstance(self.evidence, str):
            return self.evidence
        document_id, start, end = self.evidence
        return f"{document_id}, characters {start:,}–{end:,}"


def check_evidence(evidence: Any) -> tuple[Evidence, ...]:
    """Return each piece of `evidence` once.

    Raises:
        InputError: it is no sequence, or one of its pieces is neither a text nor a span.
    """
    forms = "texts or (document_id, start, end)"
    if isinstance(evidence, str) or not isinstance(evidence, Sequence):  # each letter of a text would be a piece
        raise InputError(f"evidence must be a sequence of {forms}, got {safe_repr(evidence)}")
    for piece in evidence:
        match piece:
            case str() if piece.strip():
                continue
            case (str(), int(start), int(end)) if 0 <= start < end:
                continue
        raise InputError(f"evidence must be {forms}, got {safe_repr(piece)}")
    return tuple(dict.fromkeys(evidence))


def locate_evidence(context: ContextData, evidence: Sequence[Evidence]) -> tuple[LocatedEvidence, ...]:
    """Return each piece of `evidence` with the places where it was found."""
    hits = [hit for hit in context.hits if hit.rank < MAX_SHOWN_HITS]
    return tuple(
        _locate_text(context, hits, piece) if isinstance(piece, str) else _locate_span(context, hits, piece)
        for piece in evidence
    )


def _locate_text(context: ContextData, hits: Sequence[RetrievedFragment], wanted: str) -> LocatedEvidence:
    pattern = _text_pattern(wanted)
    spans: dict[int, list[Span]] = defaultdict(list)
    for passage in context.passages:
        for match in pattern.finditer(passage.text):
            for at, piece in piece_offsets(passage):
                start, end = max(match.start(), at), min(match.end(), at + len(piece.text))
                if start < end:
                    spans[piece.candidate.key].append((piece.start + start - at, piece.start + end - at))
    fragments = {hit.rank: found for hit in hits if (found := [m.span() for m in pattern.finditer(hit.chunk.text)])}
    if spans or not fragments:
        return LocatedEvidence(wanted, float(bool(spans)), spans, fragments)
    # The whole is in a fragment only: the context may have a part of it.
    parts = (_find_part(context, hit.chunk, fragments[hit.rank][0]) for hit in hits if hit.rank in fragments)
    share, spans = max(parts, key=lambda part: part[0])
    return LocatedEvidence(wanted, share, spans, fragments)


def _find_part(context: ContextData, chunk: Chunk, span: Span) -> tuple[float, dict[int, list[Span]]]:
    """Return the share of a slice of `chunk` that the context has, and its places."""
    length, spans = _find_pieces(context, lambda other: span if other.identity == chunk.identity else None)
    return length / (span[1] - span[0]), spans


def _text_pattern(wanted: str) -> re.Pattern[str]:
    """Return a pattern of the words of `wanted`. The distance between two is too short for the marker of a gap."""
    words = list(re.finditer(r"\w+", wanted))
    if not words:
        return re.compile("(?!)")
    lead, tail = (re.escape(mark.strip()) for mark in (wanted[: words[0].start()], wanted[words[-1].end() :]))
    inner = r"(?:\s+|\W{1,4})".join(re.escape(word[0]) for word in words)
    return re.compile(f"(?:{lead})?{inner}(?:{tail})?", re.IGNORECASE)


def _locate_span(
    context: ContextData, hits: Sequence[RetrievedFragment], wanted: tuple[str, int, int]
) -> LocatedEvidence:
    document_id, begin, stop = wanted

    def span_in(chunk: Chunk) -> Span | None:
        if chunk.start is None or chunk.document_id != document_id:
            return None
        return begin - chunk.start, stop - chunk.start

    fragments: dict[int, list[Span]] = {}
    for rank, chunk, _, characters in hits:
        if (span := span_in(chunk)) and len(chunk.text) == characters:
            start, end = max(span[0], 0), min(span[1], characters)
            if start < end:
                fragments[rank] = [(start, end)]
    length, spans = _find_pieces(context, span_in)
    return LocatedEvidence(wanted, length / (stop - begin), spans, fragments)


def _find_pieces(context: ContextData, span_in: Callable[[Chunk], Span | None]) -> tuple[int, dict[int, list[Span]]]:
    """Return the places of a span in the context, and its characters there. `span_in` gives its place in a chunk."""
    spans: dict[int, list[Span]] = defaultdict(list)
    covered: list[Span] = []
    for passage in context.passages:
        for piece in passage.pieces:
            if wanted := span_in(piece.candidate.chunk):
                start, end = max(piece.start, wanted[0]), min(piece.end, wanted[1])
                if start < end:
                    spans[piece.candidate.key].append((start, end))
                    covered.append((start - wanted[0], end - wanted[0]))
    length = reached = 0
    for start, end in sorted(covered):
        length += max(end - max(start, reached), 0)
        reached = max(reached, end)
    return length, dict(spans)


def piece_offsets(passage: Passage) -> Iterator[tuple[int, TextPiece]]:
    """Yield each piece of a passage with the offset of its text."""
    at = 0
    for piece in passage.pieces:
        at += len(piece.separator)
        yield at, piece
        at += len(piece.text)


def evidence_status(context: ContextData, piece: LocatedEvidence) -> tuple[str, str]:
    """Return the outcome of a piece of evidence in a word or two, and its place."""
    hit_numbers = ", ".join(f"{rank + 1}" for rank in piece.fragment_spans)
    if piece.share_read >= 1:
        return "read", f"hit {hit_numbers}" if hit_numbers else _describe_hits(context, piece)
    origin = f"retrieved as hit {hit_numbers}" if hit_numbers else _describe_hits(context, piece)
    reasons = dict.fromkeys(
        f"{decision.outcome}: {decision.reason}"
        for decision in context.trace.decisions
        if decision.rank in piece.fragment_spans and not decision.distance
    )
    reason_text = "; ".join(reasons)
    if piece.share_read > 0:
        return "read in part", f"{piece.share_read:.0%} of it is included; {origin}, {reason_text}"
    if piece.fragment_spans:
        return "lost", f"{origin}, {reason_text}"
    hidden = sum(not hit.chunk.text.strip() for hit in context.hits) + max(context.trace.hits - len(context.hits), 0)
    hidden_note = f"; the texts of {pluralize(hidden, 'more hit')} are not kept" if hidden else ""
    return "not retrieved", f"in no chunk retrieved{hidden_note}"


def _describe_hits(context: ContextData, evidence: LocatedEvidence) -> str:
    """Return the chunks that together have evidence which no single hit has."""
    candidates = [piece.candidate for passage in context.passages for piece in passage.pieces]
    supporting = [candidate for candidate in candidates if candidate.key in evidence.context_spans]
    hits = sorted({candidate.rank + 1 for candidate in supporting if candidate.is_hit})
    neighbor_note = ["a neighbor"] if any(not candidate.is_hit for candidate in supporting) else []
    return " and ".join([*(f"hit {rank}" for rank in hits), *neighbor_note])
