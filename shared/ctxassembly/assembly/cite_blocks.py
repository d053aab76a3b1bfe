"""Rendered blocks -> one text with its spans, citations and provenance.

Built last, from the parts that were really written: each knows the slice of a chunk that it is. So label n is what the
reader sees as n, and every verbatim character leads back to its document without a search.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from ctxassembly.data.candidates import Candidate, CitationBlock, RenderedPart
from ctxassembly.data.chunks import Span
from ctxassembly.data.citations import Block, Citation, Passage, Source
from ctxassembly.data.sanitize import copy_metadata
from ctxassembly.data.trace import Shortened
from ctxassembly.wording.formats import Heading
from ctxassembly.wording.metadata_labels import MetadataReader

SNIPPET_CHARS = 200
"""Characters of a citation's snippet, as published."""


class CitedText(NamedTuple):
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
    snippet_chars: int = SNIPPET_CHARS,
) -> CitedText:
    """Return the text that `blocks` make with `separator` between them, cited. A block without a label has no citation.

    `metadata_reader` reads the metadata, as it does for the headers; `shortened` has, by key, the candidates that are
    included in part. `numbers` are the numbers of the labels. A snippet has at most `snippet_chars` characters.
    """
    cited_blocks: list[Block] = []
    passages: list[Passage] = []
    provenance: list[Source] = []
    begin, remaining = 0, iter(numbers)
    for label, parts in blocks:
        text = "".join([part.text for part in parts])
        block_span, citation = (begin, begin + len(text)), None
        if label is not None:
            verbatim = _verbatim_spans(parts, begin)
            # A text of escaped characters alone has no verbatim source: the span of its block is used instead.
            span = (verbatim[0].start, verbatim[-1].end) if verbatim else block_span
            citation = _citation(label, next(remaining), span, metadata_reader, shortened, snippet_chars)
            passages += _passages(label, verbatim, span)
            provenance += [_source(*found) for found in verbatim]
        cited_blocks.append(Block(text, block_span, citation))
        begin += len(text) + len(separator)
    text = separator.join([block.text for block in cited_blocks])
    return CitedText(text, tuple(cited_blocks), tuple(passages), tuple(provenance))


class _VerbatimSpan(NamedTuple):
    """A stretch of the context that is a slice of a candidate's chunk, and the beginning of that slice."""

    start: int
    end: int
    candidate: Candidate
    chunk_start: int


def _verbatim_spans(parts: Sequence[RenderedPart], begin: int) -> list[_VerbatimSpan]:
    """Return the verbatim stretches of a block that begins at `begin`; contiguous parts make one."""
    spans: list[_VerbatimSpan] = []
    for text, candidate, chunk_start, _ in parts:
        end = begin + len(text)
        if candidate is not None:
            last = spans[-1] if spans and spans[-1].end == begin else None
            if last and last.candidate.key == candidate.key and last.chunk_start + begin - last.start == chunk_start:
                spans[-1] = last._replace(end=end)
            else:
                spans.append(_VerbatimSpan(begin, end, candidate, chunk_start))
        begin = end
    return spans


def _passages(label: CitationBlock, verbatim: Sequence[_VerbatimSpan], whole: Span) -> Iterator[Passage]:
    """Yield the passages of a label, each with the span of its candidates; `whole` if none has verbatim text."""
    spans: dict[int, Span] = {}
    for start, end, candidate, _ in verbatim:
        spans[candidate.key] = spans.get(candidate.key, (start,))[0], end
    for pieces in label.passages:
        # Slices of two chunks may take turns, and the first one may be nothing but blank lines that were stripped.
        own = [spans[piece.candidate.key] for piece in pieces if piece.candidate.key in spans]
        span = (min(own)[0], max([end for _, end in own])) if own else whole
        yield Passage(pieces[0].candidate.chunk.document_id, pieces, span)


def _source(start: int, end: int, candidate: Candidate, chunk_start: int) -> Source:
    chunk, chunk_end = candidate.chunk, chunk_start + end - start
    # An offset that counts in a page or a section says nothing of the document.
    offset = chunk.start if chunk.origin is None or not chunk.origin.section else None
    return Source(
        (start, end),
        chunk.id,
        chunk.document_id,
        None if offset is None else offset + chunk_start,
        None if offset is None else offset + chunk_end,
        (chunk_start, chunk_end),
    )


def _citation(
    label: CitationBlock,
    number: int,
    span: Span,
    metadata_reader: MetadataReader,
    shortened: Mapping[int, Shortened],
    snippet_chars: int,
) -> Citation:
    pieces = [piece for passage in label.passages for piece in passage]
    chunks = {piece.candidate.key: piece.candidate.chunk for piece in pieces}
    best = next(piece for piece in pieces if piece.candidate is label.best_candidate)
    chunk = label.best_candidate.chunk
    pages = metadata_reader.pages(chunks.values())
    source, row = metadata_reader.source(chunk), metadata_reader.number(chunk, "row_number")
    section, sheet = metadata_reader.line(chunk, "section"), metadata_reader.line(chunk, "sheet")
    heading = Heading(number, source, pages, section or "", sheet or "", "" if row is None else str(row))
    return Citation(
        label=str(number),
        document_id=chunk.document_id,
        chunk_ids=tuple(dict.fromkeys([cited.id for cited in chunks.values()])),
        span=span,
        snippet=_snippet(best.text.strip(), snippet_chars),
        best_chunk_id=chunk.id,
        score=label.best_candidate.score,
        source=source,
        section=section,
        sheet=sheet,
        row=row,
        start_line=metadata_reader.number(chunk, "start_line"),
        page=metadata_reader.number(chunk, "page"),
        pages=pages,
        metadata=copy_metadata(chunk.metadata),
        shortened=tuple([shortened[key] for key in chunks if key in shortened]),
        reference=metadata_reader.reference(heading),
    )


def _snippet(text: str, max_chars: int) -> str:
    """Return the beginning of `text` up to its last whole word; if less than half would remain, that word is cut."""
    if len(text) <= max_chars:
        return text
    # One more character, since a blank there says that the word before it is whole; the stroke is the next one.
    words = f"{text[: max_chars + 1]}|".rsplit(maxsplit=1)[0]
    return words if max_chars // 2 <= len(words) <= max_chars else text[:max_chars]
