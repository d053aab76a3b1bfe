"""A rendered context -> its blocks, passages, citations and sources.

Built last, from what was written: each piece knows where it is in the joined text, and a bisection says which chunk
owns each character there. So label n is what the reader sees as n, and every verbatim character leads back to its
chunk.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise, takewhile
from typing import NamedTuple

from ctxassembly.assembly.join import Text
from ctxassembly.assembly.pool import Pool
from ctxassembly.assembly.render.labels import Label
from ctxassembly.assembly.render.write import OURS, RUN_SEPARATOR, Rendered
from ctxassembly.context import Context
from ctxassembly.data.candidates import Candidate, TextPiece
from ctxassembly.data.chunks import Hit, Span
from ctxassembly.data.citations import Block, Citation, Passage, Source
from ctxassembly.data.sanitize import copy_metadata
from ctxassembly.data.trace import Shortened, Trace
from ctxassembly.tracing import TraceRecorder, retain_hits
from ctxassembly.wording.metadata_labels import MetadataReader

SNIPPET_CHARS = 200
"""Characters of a citation's snippet, as published."""


class Cited(NamedTuple):
    """A text and the way back from it."""

    text: str
    blocks: tuple[Block, ...]
    passages: tuple[Passage, ...]
    provenance: tuple[Source, ...]

    @property
    def headers(self) -> dict[str, str]:
        """The first line of each block by its label."""
        cited = ((block.citation, block.text) for block in self.blocks)
        return {citation.label: text.partition("\n")[0] for citation, text in cited if citation is not None}


def cite(
    text: Text,
    pool: Pool,
    rendered: Rendered,
    reader: MetadataReader,
    shortened: Mapping[int, Shortened],
    snippet_chars: int = SNIPPET_CHARS,
) -> Cited:
    """Return the text of `rendered`, cited. `shortened` is by number of the chunk.

    Besides the blocks of the labels there may be one of a supplement, before them or after.
    """
    owns, labels = rendered.layout.owns, iter(rendered.layout.labels)
    blocks, passages, provenance = list[Block](), list[Passage](), list[Source]()
    offset = first = 0
    for end, number in zip(rendered.ends, rendered.numbers, strict=True):
        if first:  # the separator between two blocks
            offset += len(rendered.pieces[first])
            first += 1
        begin, sources = offset, list[tuple[int, Source]]()
        for at in range(first, end):
            piece = rendered.pieces[at]
            if rendered.places[at] != OURS:
                sources += _sources(text, pool, owns, piece, rendered.places[at], offset)
            offset += len(piece)
        written, citation = "".join(rendered.pieces[first:end]), None
        first = end
        if number:
            label = next(labels)
            # A text of escaped characters alone has no verbatim source: the span of its block is used instead.
            span = (sources[0][1].span[0], sources[-1][1].span[1]) if sources else (begin, offset)
            own = [*_passages(text, pool, owns, label.runs, sources, span)]
            snippet = _snippet(_best_text(pool.candidates[label.best], own), snippet_chars)
            citation = _citation(pool, label, (str(number), span, snippet), reader, shortened)
            passages += own
            provenance += [source for _, source in sources]
        blocks.append(Block(written, (begin, offset), citation))
    return Cited(rendered.text, tuple(blocks), tuple(passages), tuple(provenance))


def _owned(text: Text, owns: list[int], start: int, end: int) -> Iterator[tuple[int, int, int]]:
    """Yield the chunks that own the joined text from `start` to `end`: number, start, end of each part."""
    number = max(bisect_right(owns, start) - 1, 0)
    while number < len(owns) and owns[number] < end:
        first, last = max(start, owns[number]), min(end, text.ends[number])
        if first < last and not text.cuts:
            yield number, first, last
        elif first < last:
            cuts = text.cuts[bisect_right(text.cuts, first) : bisect_left(text.cuts, last)]
            yield from ((number, *part) for part in pairwise((first, *cuts, last)))
        number += 1


def _sources(
    text: Text, pool: Pool, owns: list[int], piece: str, place: int, offset: int
) -> Iterator[tuple[int, Source]]:
    """Yield the sources of a verbatim `piece`, at `place` in the joined text and at `offset` in the context."""
    for number, start, end in _owned(text, owns, place, place + len(piece)):
        chunk, span = pool.candidates[number].chunk, text.in_chunk(number, start, end)
        # An offset that counts in a page or a section says nothing of the document.
        base = chunk.start if chunk.origin is None or not chunk.origin.section else None
        yield (
            start,
            Source(
                (offset + start - place, offset + end - place),
                chunk.id,
                chunk.document_id,
                None if base is None else base + span[0],
                None if base is None else base + span[1],
                span,
            ),
        )


def _passages(
    text: Text, pool: Pool, owns: list[int], runs: Sequence[Span], sources: list[tuple[int, Source]], whole: Span
) -> Iterator[Passage]:
    """Yield the passages of a label: of runs between which no chunk is left out, one. `whole` is the span of all."""
    pieces: list[TextPiece] = []
    last_chunk, first_place = -1, runs[0][0]
    for start, end in runs:
        owned = [*_owned(text, owns, start, end)]
        is_apart = pieces and (owned[0][0] > last_chunk + 1 or _is_broken(text, first_place, start))
        if is_apart:
            yield _passage(pieces, sources, first_place, start, whole)
            pieces, first_place = [], start
        separator = RUN_SEPARATOR if pieces else ""
        before = start
        for number, first, last in owned:
            begin, glue = text.begins[number] - text.headers[number], text.text[before:first]
            overlap = first - begin if not glue and first == owns[number] and begin >= start else 0
            span = text.in_chunk(number, first, last)
            pieces.append(TextPiece(pool.candidates[number], *span, separator + glue, overlap))
            separator, before, last_chunk = "", last, number
    yield _passage(pieces, sources, first_place, runs[-1][1], whole)


def _is_broken(text: Text, start: int, end: int) -> bool:
    """Return True if the text at `end` doesn't continue that at `start`."""
    return bisect_right(text.breaks, start) != bisect_right(text.breaks, end)


def _passage(pieces: list[TextPiece], sources: list[tuple[int, Source]], start: int, end: int, whole: Span) -> Passage:
    spans = [source.span for place, source in sources if start <= place < end]
    span = (spans[0][0], spans[-1][1]) if spans else whole
    return Passage(pieces[0].candidate.chunk.document_id, tuple(pieces), span)


def _citation(
    pool: Pool,
    label: Label,
    written: tuple[str, Span, str],
    reader: MetadataReader,
    shortened: Mapping[int, Shortened],
) -> Citation:
    """Return the citation of `label`, which is `written` with this number, at this span, with this snippet."""
    number, span, snippet = written
    best, own = pool.candidates[label.best], [pool.candidates[at].chunk for at in label.chunks]
    chunk = best.chunk
    heading = reader.heading(chunk, own)
    others = [copy for at in label.chunks for copy in pool.copies.get(pool.candidates[at].key, ())]
    elsewhere = [reader.heading(copy, [copy]).source for copy in others if copy.document_id != chunk.document_id]
    return Citation(
        label=number,
        span=span,
        snippet=snippet,
        document_id=chunk.document_id,
        chunk_ids=tuple(dict.fromkeys([one.id for one in own])),
        best_chunk_id=chunk.id,
        score=best.score,
        source=heading.source,
        section=heading.section or None,
        sheet=heading.sheet or None,
        row=reader.number(chunk, "row_number"),
        start_line=reader.number(chunk, "start_line"),
        page=reader.number(chunk, "page"),
        pages=heading.pages,
        metadata=copy_metadata(chunk.metadata),
        shortened=tuple([shortened[at] for at in label.chunks if at in shortened]),
        reference=reader.reference(heading),
        same_text_in=tuple(dict.fromkeys(name for name in elsewhere if name != heading.source)),
    )


def _best_text(best: Candidate, passages: Sequence[Passage]) -> str:
    """Return the first text of the `best` chunk in `passages`, cuts closed."""
    own = [piece for passage in passages for piece in passage.pieces if piece.candidate is best]
    first = takewhile(lambda piece: piece is own[0] or not piece.separator, own)
    return "".join(piece.text for piece in first).strip()


def _snippet(text: str, max_chars: int) -> str:
    """Return the beginning of `text` up to its last whole word; if less than half would remain, that word is cut."""
    if len(text) <= max_chars:
        return text
    # One more character, since a blank there says that the word before it is whole; the stroke is the next one.
    words = f"{text[: max_chars + 1]}|".rsplit(maxsplit=1)[0]
    return words if max_chars // 2 <= len(words) <= max_chars else text[:max_chars]


def finish(cited: Cited, trace: Trace, hits: Sequence[Hit], log: TraceRecorder) -> Context:
    """Return the context of `cited`. Its trace is `trace` with what the `log` has."""
    trace = replace(
        trace,
        stages=tuple(log.stages),
        notes=tuple(log.notes),
        hits=len(hits),
        round_trips=log.round_trips,
        missing=log.missing,
        unscoped=log.unscoped,
        character_count=len(cited.text),
    )
    return Context(
        text=cited.text,
        token_count=trace.token_count,
        passages=cited.passages,
        citations=tuple(block.citation for block in cited.blocks if block.citation is not None),
        blocks=cited.blocks,
        provenance=cited.provenance,
        trace=trace,
        hits=retain_hits(hits),
    )
