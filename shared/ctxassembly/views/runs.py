"""The text of a context in runs, each with the chunk it comes from."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ctxassembly.data.candidates import Candidate, TextPiece
from ctxassembly.data.citations import Block, Citation, ContextData, Source, block_contents, has_source
from ctxassembly.wording.languages import LANGUAGES


class TextRun(NamedTuple):
    """A slice of the context's text with one origin."""

    text: str
    candidate: Candidate | None = None
    """None for text that the engine wrote around the documents' words."""
    source: Source | None = None
    is_chunk_start: bool = False
    """True if it is the first run of its chunk."""


class BlockParts(NamedTuple):
    """The parts of a block; header, summary and runs together are its text."""

    block: Block
    citation: Citation | None
    """None for the supplement, which has no label and is one run."""
    header: str
    summary: str
    runs: tuple[TextRun, ...]
    candidates: tuple[Candidate, ...]
    """The chunks of the block, those without characters of their own too."""


def block_parts(context: ContextData) -> Iterator[BlockParts]:
    """Yield the parts of each block."""
    included = [decision for decision in context.trace.decisions if decision.is_in_context]
    ranks = {(decision.chunk_id, decision.rank, decision.distance) for decision in included}
    decision_by_chunk = {(decision.document_id, decision.chunk_id): decision for decision in reversed(included)}

    def restore_rank(candidate: Candidate) -> Candidate:
        # A newer version of a chunk takes the place of the version that it displaced: the trace has its own rank.
        chunk = candidate.chunk
        decision = decision_by_chunk.get((chunk.document_id, chunk.id))
        if decision is None or (chunk.id, candidate.rank, candidate.distance) in ranks:
            return candidate
        return candidate._replace(rank=decision.rank, distance=decision.distance)

    for block, passages, sources in block_contents(context):
        if block.citation is None:
            yield BlockParts(block, None, "", "", (TextRun(block.text),), ())
            continue
        shown = [piece for passage in passages for piece in passage.pieces]
        pieces = [piece._replace(candidate=restore_rank(piece.candidate)) for piece in shown]
        header, summary = _split_header(context, block, block.citation)
        start = block.span[0] + len(header) + len(summary)
        candidates = {piece.candidate.key: piece.candidate for piece in pieces}
        # Without pieces a caller has replaced the passages.
        runs = tuple(_text_runs(context.text, start, block.span[1], sources if pieces else (), pieces))
        yield BlockParts(block, block.citation, header, summary, runs, tuple(candidates.values()))


def _split_header(context: ContextData, block: Block, citation: Citation) -> tuple[str, str]:
    """Return header and summary, each with its line break. They end before the citation, where the passages begin."""
    before = block.text[: citation.span[0] - block.span[0]]
    lines = before[: before.rfind("\n") + 1]
    prefix = LANGUAGES[context.language].summary.partition("{}")[0]
    start = 0 if lines.startswith(prefix) else lines.rfind("\n" + prefix) + 1 or len(lines)
    return lines[:start], lines[start:]


def _text_runs(
    text: str, start: int, end: int, sources: Sequence[Source], pieces: Sequence[TextPiece]
) -> Iterator[TextRun]:
    index, last_key = 0, None
    for source in sources:
        index = next((n for n in range(index, len(pieces)) if has_source(pieces[n], source)), index)
        candidate = pieces[index].candidate
        if source.span[0] > start:
            yield TextRun(text[start : source.span[0]])
        yield TextRun(text[slice(*source.span)], candidate, source, candidate.key != last_key)
        start, last_key = source.span[1], candidate.key
    if start < end:
        yield TextRun(text[start:end])
