"""Rendered blocks -> one text with its spans, citations and provenance.

Built last, from what was really written, so label n is what the reader sees as n.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from ctxassembly.data.assembled import Block, Citation, Passage, Source
from ctxassembly.data.candidates import Candidate
from ctxassembly.data.chunks import Span
from ctxassembly.data.metadata import copied
from ctxassembly.data.pieces import Label, Part
from ctxassembly.data.trace import Shortened
from ctxassembly.wording.particulars import Particulars

SNIPPET_CHARS = 200
"""The published length."""


@dataclass(frozen=True, slots=True)
class Cited:
    """A text and the way back from it."""

    text: str
    blocks: tuple[Block, ...]
    passages: tuple[Passage, ...]
    provenance: tuple[Source, ...]


def cite(
    blocks: Sequence[tuple[Label | None, Sequence[Part]]],
    separator: str,
    read: Particulars,
    shortened: Mapping[int, Shortened],
    first_label: int = 1,
) -> Cited:
    """The text that `blocks` make with `separator` between them. One without a label is cited as nothing.

    `read` tells what the metadata say, as the headers do; `shortened` says, by key, which candidates stand in part.
    """
    text = separator.join("".join(part.text for part in block) for _, block in blocks)
    cited: list[Block] = []
    passages: list[Passage] = []
    provenance: list[Source] = []
    at, number = 0, first_label
    for label, block in blocks:
        begin = at
        sources: list[Source] = []
        spans: dict[int, Span] = {}
        for part in block:
            if part.candidate is not None:
                source = _source(part, part.candidate, at)
                before = sources[-1] if sources else None
                if before and before.chunk_id == source.chunk_id and _meet(before, source):
                    chunk_span = (before.chunk_span[0], source.chunk_span[1])
                    source = replace(
                        source, span=(before.span[0], source.span[1]), start=before.start, chunk_span=chunk_span
                    )
                    sources.pop()
                sources.append(source)
                first, _ = spans.get(part.candidate.key, (at, at))
                spans[part.candidate.key] = (first, at + len(part.text))
            at += len(part.text)
        whole = (begin, at)
        at += len(separator)
        if label is None:
            cited.append(Block(text[slice(*whole)], whole, None))
            continue
        # A text of escaped characters alone has no verbatim one: its block stands in for it.
        span = (sources[0].span[0], sources[-1].span[1]) if sources else whole
        cited.append(Block(text[slice(*whole)], whole, _citation(label, number, span, read, shortened)))
        number += 1
        provenance += sources
        for pieces in label.passages:
            found = [spans[piece.candidate.key] for piece in pieces if piece.candidate.key in spans]
            # Slices of two chunks may take turns, and the first one may be nothing but blank lines that were stripped.
            reach = (min(found)[0], max(end for _, end in found)) if found else span
            passages.append(Passage(pieces[0].candidate.chunk.document_id, pieces, reach))
    return Cited(text, tuple(cited), tuple(passages), tuple(provenance))


def _meet(first: Source, second: Source) -> bool:
    """Whether the two are one run of their chunk."""
    return first.span[1] == second.span[0] and first.chunk_span[1] == second.chunk_span[0]


def _source(part: Part, candidate: Candidate, at: int) -> Source:
    chunk, skipped = candidate.chunk, candidate.read_from or 0
    offset = chunk.start if chunk.origin is None or not chunk.origin.part else None
    return Source(
        span=(at, at + len(part.text)),
        chunk_id=chunk.id,
        document_id=chunk.document_id,
        start=None if offset is None else offset + part.start,
        end=None if offset is None else offset + part.end,
        chunk_span=(skipped + part.start, skipped + part.end),
    )


def _citation(label: Label, number: int, span: Span, read: Particulars, shortened: Mapping[int, Shortened]) -> Citation:
    pieces = [piece for passage in label.passages for piece in passage]
    best = next(piece for piece in pieces if piece.candidate is label.best)
    chunk = label.best.chunk
    candidates = dict.fromkeys(piece.candidate.key for piece in pieces)
    pages = read.pages(piece.candidate.chunk for piece in pieces)
    return Citation(
        label=str(number),
        document_id=chunk.document_id,
        chunk_ids=tuple(dict.fromkeys(piece.candidate.chunk.id for piece in pieces)),
        span=span,
        snippet=_snippet(best.text.strip()),
        best_chunk_id=chunk.id,
        score=label.best.score,
        source=read.source(chunk),
        section=read.line(chunk, "section"),
        sheet=read.line(chunk, "sheet"),
        row=read.number(chunk, "row_number"),
        start_line=read.number(chunk, "start_line"),
        page=read.number(chunk, "page"),
        pages=pages,
        metadata=copied(chunk.metadata),
        shortened=tuple(shortened[key] for key in candidates if key in shortened),
        reference=read.reference(chunk, pages),
    )


def _snippet(text: str) -> str:
    """The beginning of `text`, up to the last word that ends in time; a word that leaves less than half is cut."""
    if len(text) <= SNIPPET_CHARS:
        return text
    # One more character, since a blank there says that the word before it is whole; the stroke is the next one.
    words = f"{text[: SNIPPET_CHARS + 1]}|".rsplit(maxsplit=1)[0]
    return words if SNIPPET_CHARS // 2 <= len(words) <= SNIPPET_CHARS else text[:SNIPPET_CHARS]
