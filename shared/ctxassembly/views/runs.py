"""The text of a context in runs, each with the chunk it comes from and the parts of that chunk that are missing."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from operator import attrgetter
from typing import NamedTuple

from ctxassembly.data.candidates import Candidate, Piece
from ctxassembly.data.citations import Assembled, Block, Source
from ctxassembly.wording.languages import LANGUAGES


class Gone(NamedTuple):
    """A part of a chunk that is missing where it would stand, and why."""

    text: str
    why: str


class Run(NamedTuple):
    """A stretch of the text."""

    text: str
    candidate: Candidate | None = None
    """None for text that the engine wrote around the documents' words."""
    source: Source | None = None
    begins: bool = False
    """True if it is the first run of its chunk."""
    gone: tuple[Gone, ...] = ()
    """Parts of chunks that are missing before it."""


class Share(NamedTuple):
    """The parts of a label's block; header, summary and runs together are its text."""

    header: str
    summary: str
    runs: tuple[Run, ...]
    pieces: tuple[Piece, ...]


def shares(context: Assembled) -> Iterator[tuple[Block, Share]]:
    """Each block that has a label, with its parts."""
    passages = sorted(context.passages, key=attrgetter("span"))
    begins = [passage.span[0] for passage in passages]
    starts = [source.span[0] for source in context.provenance]
    came_as = _origins(context)
    for block in context.blocks:
        if block.citation is None:
            continue
        first, last = bisect_left(begins, block.span[0]), bisect_left(begins, block.span[1])
        pieces = tuple(
            piece._replace(candidate=came_as(piece.candidate))
            for passage in passages[first:last]
            for piece in passage.pieces
        )
        first, last = bisect_left(starts, block.span[0]), bisect_left(starts, block.span[1])
        header, summary = _lead(context, block)
        at = block.span[0] + len(header) + len(summary)
        sources = context.provenance[first:last] if pieces else ()  # someone may have replaced the passages
        runs = tuple(_runs(context.text, at, block.span[1], sources, pieces))
        yield block, Share(header, summary, runs, pieces)


def _origins(context: Assembled) -> Callable[[Candidate], Candidate]:
    """A function that gives a candidate the rank and distance with which it came, as the trace has them.

    A newer version stands in the place of the one that it displaced: its candidate has the place of that one.
    """
    standing = [decision for decision in context.trace.decisions if decision.stands]
    places = {(decision.chunk_id, decision.rank, decision.distance) for decision in standing}
    came = {(decision.document_id, decision.chunk_id): decision for decision in reversed(standing)}
    found: dict[int, Candidate] = {}

    def came_as(candidate: Candidate) -> Candidate:
        chunk = candidate.chunk
        decision = came.get((chunk.document_id, chunk.id))
        if decision is None or (chunk.id, candidate.rank, candidate.distance) in places:
            return candidate
        if candidate.key not in found:
            found[candidate.key] = candidate._replace(rank=decision.rank, distance=decision.distance)
        return found[candidate.key]

    return came_as


def _lead(context: Assembled, block: Block) -> tuple[str, str]:
    """Header and summary, each with its line break. They end before the citation, so no line of a document is taken."""
    assert block.citation is not None  # noqa: S101 - the caller has looked
    before = block.text[: block.citation.span[0] - block.span[0]]
    lead = before[: before.rfind("\n") + 1]
    begin = LANGUAGES[context.language].summary.partition("{}")[0]
    at = 0 if lead.startswith(begin) else lead.rfind("\n" + begin) + 1 or len(lead)
    return lead[:at], lead[at:]


def _runs(text: str, at: int, end: int, sources: Sequence[Source], pieces: Sequence[Piece]) -> Iterator[Run]:
    before, after = _gone(pieces)
    place, last = 0, None
    for source in sources:
        place = next((n for n in range(place, len(pieces)) if _holds(pieces[n], source)), place)
        piece = pieces[place]
        candidate, begins = piece.candidate, last is not piece.candidate
        missing = after.pop(last.key, ()) if last is not None and begins else ()
        if source.span[0] > at or missing:
            yield Run(text[at : source.span[0]], gone=tuple(missing))
        yield Run(text[slice(*source.span)], candidate, source, begins, tuple(before.pop(place, ())))
        at, last = source.span[1], candidate
    missing = after.pop(last.key, ()) if last is not None else ()
    if at < end or missing:
        yield Run(text[at:end], gone=tuple(missing))


def _holds(piece: Piece, source: Source) -> bool:
    begin = source.chunk_span[0] - (piece.candidate.read_from or 0)
    return piece.candidate.chunk.id == source.chunk_id and piece.start <= begin < piece.end


def _gone(pieces: Sequence[Piece]) -> tuple[dict[int, list[Gone]], dict[int, list[Gone]]]:
    """The missing parts before each piece, by its place, and after the last piece of each candidate, by its key."""
    before: dict[int, list[Gone]] = defaultdict(list)
    after: dict[int, list[Gone]] = {}
    reached: dict[int, int] = {}
    for place, piece in enumerate(pieces):
        candidate, text = piece.candidate, piece.candidate.chunk.text
        begin, shared = reached.get(candidate.key, 0), max(piece.start - piece.shared, 0)
        cut = candidate.shortened_by or "cut"
        for part, why in ((text[begin:shared], cut), (text[max(begin, shared) : piece.start], "overlap")):
            if part.strip():
                before[place].append(Gone(part, why))
        reached[candidate.key] = piece.end
        rest = text[piece.end :]
        after[candidate.key] = [Gone(rest, cut)] if rest.strip() else []
    return before, after
