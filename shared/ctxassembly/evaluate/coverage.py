"""The part of a piece of evidence that a text has: all of it, an end of it, or nothing.

White space doesn't count in a quotation.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ctxassembly.assembly.adjacency.overlap import longest_border
from ctxassembly.data.chunks import Chunk, Span
from ctxassembly.evaluate.questions import Evidence
from ctxassembly.evaluate.spans import without_blanks

MAX_STRIPPED_CHARS = 4
"""White space that splitters leave out between two chunks: a blank, an empty line."""


def has_whole(evidence: Evidence, chunk: Chunk) -> bool:
    """Return True if `chunk` has all of the evidence.

    >>> chunk = Chunk("a#0", "a", "Drink water until two hours before.", start=0)
    >>> [has_whole(one, chunk) for one in (Evidence(quotation="two  hours"), Evidence("a", start=6, end=40))]
    [True, False]
    """
    if evidence.document_id not in (None, chunk.document_id):
        return False
    if evidence.chunk_id is not None:
        return chunk.id == evidence.chunk_id
    if evidence.quotation is not None:
        return without_blanks(evidence.quotation) in without_blanks(chunk.text)
    return evidence.start is None or has_all(evidence, [chunk])


def has_all(evidence: Evidence, chunks: Iterable[Chunk]) -> bool:
    """Return True if `chunks`, all of one document, have all of a span or a quotation together.

    >>> parts = [Chunk("a#0", "a", "Drink water until"), Chunk("a#1", "a", "two hours before.")]
    >>> has_all(Evidence(quotation="water until two hours"), parts)
    True
    """
    wanted = without_blanks(evidence.quotation or "")
    most = 0 if wanted else MAX_STRIPPED_CHARS
    spans = [span for chunk in chunks if (span := held_span(evidence, wanted, chunk))]
    end = len(wanted) if evidence.end is None else evidence.end
    reached = evidence.start or 0
    for first, last in sorted(spans):
        if first > reached + most:
            return False
        reached = max(reached, last)
    return reached >= end and bool(spans)


def held_span(evidence: Evidence, wanted: str, chunk: Chunk) -> Span | None:
    """Return the characters of a span, or of a quotation without its white space, that `chunk` has."""
    if evidence.document_id not in (None, chunk.document_id):
        return None
    if evidence.start is not None and evidence.end is not None:
        if type(chunk.start) is not int:
            return None
        first, last = max(evidence.start, chunk.start), min(evidence.end, chunk.start + len(chunk.text))
        return (first, last) if first < last else None
    text = without_blanks(chunk.text)
    if not wanted or not text:
        return None
    if wanted in text:
        return 0, len(wanted)
    if (at := wanted.find(text)) >= 0:
        return at, at + len(text)
    # The beginning of each that ends the other.
    pairs = ((text, wanted), (wanted, text))
    begin, end = (longest_border([*second[: len(first)], None, *first[-len(second) :]]) for first, second in pairs)
    if not (begin or end):
        return None
    return (0, begin) if begin >= end else (len(wanted) - end, len(wanted))


def holders_of(evidence: Evidence, chunks: Iterable[Chunk]) -> list[Chunk]:
    """Return the chunks that have all of the evidence, in their order."""
    return [chunk for chunk in chunks if has_whole(evidence, chunk)]


def parts_of(evidence: Evidence, chunks: Sequence[Chunk]) -> list[Chunk]:
    """Return the chunks of one document that have all of a span or a quotation together; none if they haven't."""
    if evidence.kind not in ("span", "quotation") or not has_all(evidence, chunks):
        return []
    wanted = without_blanks(evidence.quotation or "")
    return [chunk for chunk in chunks if held_span(evidence, wanted, chunk)]
