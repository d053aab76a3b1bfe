"""The text of a context in runs, each with the chunk it comes from and the parts of that chunk that are missing."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from operator import attrgetter
from typing import NamedTuple

from ctxassembly.data.candidates import Candidate, TextPiece
from ctxassembly.data.citations import Block, ContextData, Source
from ctxassembly.wording.languages import LANGUAGES


class MissingText(NamedTuple):
    """A part of a chunk that is missing where it would stand, and why."""

    text: str
    reason: str


class TextRun(NamedTuple):
    """A stretch of the text."""

    text: str
    candidate: Candidate | None = None
    """None for text that the engine wrote around the documents' words."""
    source: Source | None = None
    is_chunk_start: bool = False
    """True if it is the first run of its chunk."""
    missing: tuple[MissingText, ...] = ()
    """Parts of chunks that are missing before it."""


class BlockParts(NamedTuple):
    """The parts of a label's block; header, summary and runs together are its text."""

    header: str
    summary: str
    runs: tuple[TextRun, ...]
    pieces: tuple[TextPiece, ...]


def block_parts(context: ContextData) -> Iterator[tuple[Block, BlockParts]]:
    """Each block that has a label, with its parts."""
    passages = sorted(context.passages, key=attrgetter("span"))
    passage_starts = [passage.span[0] for passage in passages]
    source_starts = [source.span[0] for source in context.provenance]
    restore_rank = _rank_restorer(context)
    for block in context.blocks:
        if block.citation is None:
            continue
        first, last = bisect_left(passage_starts, block.span[0]), bisect_left(passage_starts, block.span[1])
        pieces = tuple(
            piece._replace(candidate=restore_rank(piece.candidate))
            for passage in passages[first:last]
            for piece in passage.pieces
        )
        first, last = bisect_left(source_starts, block.span[0]), bisect_left(source_starts, block.span[1])
        header, summary = _split_header(context, block)
        at = block.span[0] + len(header) + len(summary)
        sources = context.provenance[first:last] if pieces else ()  # someone may have replaced the passages
        runs = tuple(_text_runs(context.text, at, block.span[1], sources, pieces))
        yield block, BlockParts(header, summary, runs, pieces)


def _rank_restorer(context: ContextData) -> Callable[[Candidate], Candidate]:
    """A function that gives a candidate the rank and distance with which it came, as the trace has them.

    A newer version stands in the place of the one that it displaced: its candidate has the place of that one.
    """
    included = [decision for decision in context.trace.decisions if decision.is_in_context]
    known = {(decision.chunk_id, decision.rank, decision.distance) for decision in included}
    decision_by_chunk = {(decision.document_id, decision.chunk_id): decision for decision in reversed(included)}
    restored: dict[int, Candidate] = {}

    def restore_rank(candidate: Candidate) -> Candidate:
        chunk = candidate.chunk
        decision = decision_by_chunk.get((chunk.document_id, chunk.id))
        if decision is None or (chunk.id, candidate.rank, candidate.distance) in known:
            return candidate
        if candidate.key not in restored:
            restored[candidate.key] = candidate._replace(rank=decision.rank, distance=decision.distance)
        return restored[candidate.key]

    return restore_rank


def _split_header(context: ContextData, block: Block) -> tuple[str, str]:
    """Header and summary, each with its line break. They end before the citation, so no line of a document is taken."""
    assert block.citation is not None  # noqa: S101 - the caller has looked
    before = block.text[: block.citation.span[0] - block.span[0]]
    header_lines = before[: before.rfind("\n") + 1]
    summary_prefix = LANGUAGES[context.language].summary.partition("{}")[0]
    at = (
        0
        if header_lines.startswith(summary_prefix)
        else header_lines.rfind("\n" + summary_prefix) + 1 or len(header_lines)
    )
    return header_lines[:at], header_lines[at:]


def _text_runs(
    text: str, start: int, end: int, sources: Sequence[Source], pieces: Sequence[TextPiece]
) -> Iterator[TextRun]:
    before, after = _missing_texts(pieces)
    piece_index, last = 0, None
    for source in sources:
        piece_index = next(
            (n for n in range(piece_index, len(pieces)) if _contains_source(pieces[n], source)), piece_index
        )
        piece = pieces[piece_index]
        candidate, is_chunk_start = piece.candidate, last is not piece.candidate
        missing = after.pop(last.key, ()) if last is not None and is_chunk_start else ()
        if source.span[0] > start or missing:
            yield TextRun(text[start : source.span[0]], missing=tuple(missing))
        yield TextRun(text[slice(*source.span)], candidate, source, is_chunk_start, tuple(before.pop(piece_index, ())))
        start, last = source.span[1], candidate
    missing = after.pop(last.key, ()) if last is not None else ()
    if start < end or missing:
        yield TextRun(text[start:end], missing=tuple(missing))


def _contains_source(piece: TextPiece, source: Source) -> bool:
    begin = source.chunk_span[0] - (piece.candidate.text_offset or 0)
    return piece.candidate.chunk.id == source.chunk_id and piece.start <= begin < piece.end


def _missing_texts(pieces: Sequence[TextPiece]) -> tuple[dict[int, list[MissingText]], dict[int, list[MissingText]]]:
    """The missing parts before each piece, by its place, and after the last piece of each candidate, by its key."""
    before: dict[int, list[MissingText]] = defaultdict(list)
    after: dict[int, list[MissingText]] = {}
    end_by_key: dict[int, int] = {}
    for place, piece in enumerate(pieces):
        candidate, text = piece.candidate, piece.candidate.chunk.text
        begin, shared = end_by_key.get(candidate.key, 0), max(piece.start - piece.overlap, 0)
        cut = candidate.shortened_by or "cut"
        for part, why in ((text[begin:shared], cut), (text[max(begin, shared) : piece.start], "overlap")):
            if part.strip():
                before[place].append(MissingText(part, why))
        end_by_key[candidate.key] = piece.end
        rest = text[piece.end :]
        after[candidate.key] = [MissingText(rest, cut)] if rest.strip() else []
    return before, after
