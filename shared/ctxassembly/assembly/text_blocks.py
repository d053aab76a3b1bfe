"""Blocks of text, as a system of its own makes them -> one text with its citations and provenance.

A block is a heading and passages. The formats write the heading, the guards keep the texts from passing for one, and
`cite` leads each verbatim character back to its chunk.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from ctxassembly.assembly.cite_blocks import SNIPPET_CHARS, CitedText, cite
from ctxassembly.assembly.render.write import RUN_SEPARATOR
from ctxassembly.data.candidates import GAP, Candidate, CitationBlock, RenderedPart, TextPiece
from ctxassembly.data.metadata_keys import MetadataKeys
from ctxassembly.data.trace import Shortened
from ctxassembly.wording.formats import FORMATS, Heading, Lines
from ctxassembly.wording.label_forms import RULE
from ctxassembly.wording.label_guards import build_guard, escape_labels, escape_replacements, escape_value
from ctxassembly.wording.languages import LANGUAGES
from ctxassembly.wording.metadata_labels import MetadataReader
from ctxassembly.wording.unicode import apply_replacements


@dataclass(frozen=True, slots=True)
class Style:
    """The way a system writes its blocks."""

    format: str | Callable[[Heading], str | Lines] = "numbered"
    """A format of `AssemblyConfig.format`, or a function from the heading of a block to its header."""
    language: str = "en"
    keys: MetadataKeys = field(default_factory=MetadataKeys)
    has_rule: bool = False
    """Whether a line `---` is between two blocks."""
    header_end: str = "\n"
    """The text between a header and its block."""
    own_lines: tuple[str, ...] = ()
    """Beginnings of other lines that the system writes: no text of a document may begin a line with them."""
    snippet_chars: int = SNIPPET_CHARS
    encoding: str | Callable[[str], int] = "cl100k_base"
    """The encoding in which the context is counted."""

    @property
    def format_name(self) -> str:
        """The name of the format; "custom" for a function."""
        return self.format if isinstance(self.format, str) else "custom"

    def reader(self, *, for_header: bool = True) -> MetadataReader:
        """Return a reader of metadata, for headers or for citations."""
        return MetadataReader(self.keys, self.language, for_header=for_header)

    def heading(self, best: Candidate, *others: Candidate, score: float | None = None) -> Heading:
        """Return the heading of a block whose best chunk is `best`, with the pages of all its chunks."""
        reader, chunk = self.reader(), best.chunk
        pages, row = reader.pages([chunk, *(other.chunk for other in others)]), reader.number(chunk, "row_number")
        return Heading(
            number=0,
            source=self._safe_value(reader.source(chunk)),
            pages=tuple(self._safe_value(page) if isinstance(page, str) else page for page in pages),
            section=self._safe_value(reader.line(chunk, "section") or ""),
            sheet=self._safe_value(reader.line(chunk, "sheet") or ""),
            row="" if row is None else self._safe_value(str(row)),
            score=best.score if score is None else score,
            metadata=chunk.metadata,
        )

    def safe_text(self, text: str, *, at_line: bool = True) -> str:
        """Return `text` of no chunk, such as a summary, so that no line of it passes for one of ours."""
        return apply_replacements(text, self._replacements(text, at_line=at_line))

    def _replacements(self, text: str, *, at_line: bool = True) -> dict[int, tuple[int, str]]:
        guard = build_guard(self.format_name, self.own_lines)
        found = escape_replacements(text, self.format_name, at_line=at_line, guard=guard)
        # One character each, so that none reaches from one chunk into the next.
        return {
            at + n: (at + n + 1, written[n]) if end - at > 1 else (end, written)
            for at, (end, written) in found.items()
            for n in range(max(end - at, 1))
        }

    def _safe_value(self, line: str) -> str:
        has_labels = self.format_name in FORMATS and FORMATS[self.format_name].has_labels
        return escape_value(line if has_labels else escape_labels(line, self.format_name), self.format_name)

    def _lines(self, heading: Heading) -> Lines:
        if isinstance(self.format, str):
            return FORMATS[self.format].lines(heading, LANGUAGES[self.language])
        written = self.format(heading)
        return (written, "") if isinstance(written, str) else written

    def block_parts(self, number: int, block: TextBlock) -> list[RenderedPart]:
        """Return the parts of one block."""
        header, footer = self._lines(replace(block.heading, number=number))
        parts = [RenderedPart(header + self.header_end)] if header else []
        parts += [RenderedPart(line + "\n") for line in block.lines]
        for at, passage in enumerate(block.passages):
            parts += [RenderedPart(block.between)] if at else []
            parts += self._passage_parts(passage)
        return [*parts, RenderedPart("\n" + footer)] if footer else parts

    def _passage_parts(self, passage: Sequence[TextPiece]) -> Iterator[RenderedPart]:
        """Yield the parts of a passage, guarded as one text: a label may begin in one chunk and end in the next."""
        replaced = sorted(self._replacements("".join(piece.separator + piece.text for piece in passage)).items())
        begin = 0
        for piece in passage:
            for text, candidate, start in ((piece.separator, None, 0), (piece.text, piece.candidate, piece.start)):
                first, last = (bisect_left(replaced, (edge,)) for edge in (begin, begin + len(text)))
                own = {at - begin: (end - begin, written) for at, (end, written) in replaced[first:last]}
                yield from split_parts(text, own, candidate, start)
                begin += len(text)


@dataclass(frozen=True, slots=True)
class TextBlock:
    """One label's share of a context."""

    passages: tuple[tuple[TextPiece, ...], ...]
    """Each is a run of pieces that are written one after the other, each piece after its `separator`."""
    heading: Heading
    lines: tuple[str, ...] = ()
    """Lines between the header and the text, such as a summary, guarded by `Style.safe_text`."""
    between: str = RUN_SEPARATOR
    """The text between two passages."""

    @classmethod
    def of(cls, heading: Heading, *candidates: Candidate, between: str = "\n\n") -> TextBlock:
        """Return the block of `candidates`, each with all of its text, or with what is kept of it."""
        return cls(tuple(map(pieces_of, candidates)), heading, between=between)

    @property
    def candidates(self) -> tuple[Candidate, ...]:
        """The chunks of the block, in reading order."""
        return tuple({piece.candidate.key: piece.candidate for passage in self.passages for piece in passage}.values())

    @property
    def text(self) -> str:
        """The text of its chunks, without its header."""
        passages = ("".join(piece.separator + piece.text for piece in passage) for passage in self.passages)
        return self.between.join(passages)


def best_of(candidates: Sequence[Candidate]) -> Candidate:
    """Return the candidate that a label describes: a hit before a neighbor, and the best-scored of them."""
    return min(candidates, key=lambda one: (one.distance, -(one.score or 0), one.rank))


def pieces_of(candidate: Candidate) -> tuple[TextPiece, ...]:
    """Return the pieces of one chunk: one, or as many as slices of it are kept, without white space at their ends."""
    spans = list(candidate.spans)
    if candidate.shortened_by in ("extractive", "llm"):
        text = candidate.chunk.text
        spans = [(end - len(text[start:end].lstrip()), start + len(text[start:end].rstrip())) for start, end in spans]
    return tuple(TextPiece(candidate, start, end, f" {GAP} " if at else "") for at, (start, end) in enumerate(spans))


def render_blocks(
    blocks: Sequence[TextBlock],
    style: Style,
    *,
    first_label: int = 1,
    shortened: Mapping[int, Shortened] | None = None,
    around: tuple[str, str] = ("", ""),
) -> CitedText:
    """Return the text of `blocks`, with its blocks, passages and provenance.

    `around` are blocks without a label, before and after them, written as they are.
    """
    labeled: list[tuple[CitationBlock | None, list[RenderedPart]]] = [
        (_citation_block(block), style.block_parts(number, block)) for number, block in enumerate(blocks, first_label)
    ]
    before, after = ([(None, [RenderedPart(text)])] if text else [] for text in around)
    labeled = [*before, *labeled, *after]
    if style.has_rule:
        for _, parts in labeled[:-1]:
            parts.append(RenderedPart(f"\n\n{RULE}"))
    numbers = range(first_label, first_label + len(blocks))
    return cite(labeled, numbers, "\n\n", style.reader(for_header=False), shortened or {}, style.snippet_chars)


def _citation_block(block: TextBlock) -> CitationBlock:
    return CitationBlock(block.passages, best_of(block.candidates), "")


def split_parts(
    text: str, replaced: Mapping[int, tuple[int, str]], candidate: Candidate | None = None, start: int = 0
) -> list[RenderedPart]:
    """Return `text`, at `start` in the candidate's text, as verbatim parts with the replacements between."""
    parts: list[RenderedPart] = []
    copied_to = 0
    for at in sorted(replaced):
        end, replacement = replaced[at]
        if at > copied_to:
            parts.append(RenderedPart(text[copied_to:at], candidate, start + copied_to, start + at))
        if replacement:
            parts.append(RenderedPart(replacement))
        copied_to = end
    if copied_to < len(text):
        parts.append(RenderedPart(text[copied_to:], candidate, start + copied_to, start + len(text)))
    return parts
