"""Rendered blocks -> one text with its spans, citations and provenance.

Built last, from the parts that were really written: each knows the slice of a chunk that it is. So label n is what the
reader sees as n, and every verbatim character leads back to its document without a search.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from ctxassembly.data.candidates import Candidate, CitationBlock, RenderedPart
from ctxassembly.data.chunks import Span
from ctxassembly.data.citations import Block, Citation, Passage, Source
from ctxassembly.data.sanitize import copy_metadata
from ctxassembly.data.trace import Shortened
from ctxassembly.wording.metadata_labels import MetadataReader

SNIPPET_CHARS = 200
"""Characters of a citation's snippet, as published."""


@dataclass(frozen=True, slots=True)
class CitedText:
    """A text and the way back from it."""

    text: str
    blocks: tuple[Block, ...]
    passages: tuple[Passage, ...]
    provenance: tuple[Source, ...]


def cite(
    blocks: Sequence[tuple[CitationBlock | None, Sequence[RenderedPart]]],
    numbers: Sequence[int],
    separator: str,
    metadata_reader: MetadataReader,
    shortened: Mapping[int, Shortened],
) -> CitedText:
    """Return the text that `blocks` make with `separator` between them, cited. A block without a label has no citation.

    `metadata_reader` reads the metadata, as it does for the headers; `shortened` has, by key, the candidates that are
    included in part. `numbers` are the numbers of the labels.
    """
    text = separator.join("".join(part.text for part in block) for _, block in blocks)
    cited_blocks: list[Block] = []
    passages: list[Passage] = []
    provenance: list[Source] = []
    begin, remaining = 0, iter(numbers)
    for label, parts in blocks:
        end = begin + sum(len(part.text) for part in parts)
        block_text, block_span = text[begin:end], (begin, end)
        if label is None:
            cited_blocks.append(Block(block_text, block_span, None))
        else:
            sources = _sources(parts, begin)
            # A text of escaped characters alone has no verbatim source: the span of its block is used instead.
            span = (sources[0].span[0], sources[-1].span[1]) if sources else block_span
            cited_blocks.append(
                Block(block_text, block_span, _citation(label, next(remaining), span, metadata_reader, shortened))
            )
            passages += _passages(label, _span_by_candidate(parts, begin), span)
            provenance += sources
        begin = end + len(separator)
    return CitedText(text, tuple(cited_blocks), tuple(passages), tuple(provenance))


def _sources(parts: Sequence[RenderedPart], begin: int) -> list[Source]:
    """Return the verbatim stretches of a block that begins at `begin`; contiguous parts make one."""
    sources: list[Source] = []
    at = begin
    for part in parts:
        if part.candidate is not None:
            source = _source(part, part.candidate, at)
            previous = sources[-1] if sources else None
            if previous and previous.chunk_id == source.chunk_id and _is_contiguous(previous, source):
                span, chunk_span = (previous.span[0], source.span[1]), (previous.chunk_span[0], source.chunk_span[1])
                sources[-1] = replace(source, span=span, start=previous.start, chunk_span=chunk_span)
            else:
                sources.append(source)
        at += len(part.text)
    return sources


def _span_by_candidate(parts: Sequence[RenderedPart], begin: int) -> dict[int, Span]:
    """Return the span from the first to the last verbatim character of each candidate in a block, by its key."""
    spans: dict[int, Span] = {}
    at = begin
    for part in parts:
        end = at + len(part.text)
        if part.candidate is not None:
            first, _ = spans.get(part.candidate.key, (at, at))
            spans[part.candidate.key] = (first, end)
        at = end
    return spans


def _passages(label: CitationBlock, spans: Mapping[int, Span], whole: Span) -> Iterator[Passage]:
    """Yield the passages of a label, each with the span of its candidates; `whole` if none has verbatim text."""
    for pieces in label.passages:
        found = [spans[piece.candidate.key] for piece in pieces if piece.candidate.key in spans]
        # Slices of two chunks may take turns, and the first one may be nothing but blank lines that were stripped.
        span = (min(found)[0], max(end for _, end in found)) if found else whole
        yield Passage(pieces[0].candidate.chunk.document_id, pieces, span)


def _is_contiguous(first: Source, second: Source) -> bool:
    """Return True if `second` continues where `first` ends, in the text as in their chunk."""
    return first.span[1] == second.span[0] and first.chunk_span[1] == second.chunk_span[0]


def _source(part: RenderedPart, candidate: Candidate, text_start: int) -> Source:
    """Return the source of a verbatim part at `text_start`."""
    chunk = candidate.chunk
    # An offset that counts in a page or a section says nothing of the document.
    offset = chunk.start if chunk.origin is None or not chunk.origin.section else None
    return Source(
        span=(text_start, text_start + len(part.text)),
        chunk_id=chunk.id,
        document_id=chunk.document_id,
        start=None if offset is None else offset + part.start,
        end=None if offset is None else offset + part.end,
        chunk_span=(part.start, part.end),
    )


def _citation(
    label: CitationBlock, number: int, span: Span, metadata_reader: MetadataReader, shortened: Mapping[int, Shortened]
) -> Citation:
    pieces = [piece for passage in label.passages for piece in passage]
    best = next(piece for piece in pieces if piece.candidate is label.best_candidate)
    chunk = label.best_candidate.chunk
    candidates = dict.fromkeys(piece.candidate.key for piece in pieces)
    pages = metadata_reader.pages(piece.candidate.chunk for piece in pieces)
    return Citation(
        label=str(number),
        document_id=chunk.document_id,
        chunk_ids=tuple(dict.fromkeys(piece.candidate.chunk.id for piece in pieces)),
        span=span,
        snippet=_snippet(best.text.strip()),
        best_chunk_id=chunk.id,
        score=label.best_candidate.score,
        source=metadata_reader.source(chunk),
        section=metadata_reader.line(chunk, "section"),
        sheet=metadata_reader.line(chunk, "sheet"),
        row=metadata_reader.number(chunk, "row_number"),
        start_line=metadata_reader.number(chunk, "start_line"),
        page=metadata_reader.number(chunk, "page"),
        pages=pages,
        metadata=copy_metadata(chunk.metadata),
        shortened=tuple(shortened[key] for key in candidates if key in shortened),
        reference=metadata_reader.reference(chunk, pages),
    )


def _snippet(text: str) -> str:
    """Return the beginning of `text` up to its last whole word; if less than half would remain, that word is cut."""
    if len(text) <= SNIPPET_CHARS:
        return text
    # One more character, since a blank there says that the word before it is whole; the stroke is the next one.
    words = f"{text[: SNIPPET_CHARS + 1]}|".rsplit(maxsplit=1)[0]
    return words if SNIPPET_CHARS // 2 <= len(words) <= SNIPPET_CHARS else text[:SNIPPET_CHARS]
