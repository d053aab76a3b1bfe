"""Blocks of text, as a system of its own makes them -> one text, written as the default pipeline writes its own.

A block is a heading and passages. The formats write the heading, the guards keep the texts from passing for one, and
`cite` leads each verbatim character back to its chunk.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from ctxassembly.assembly.cite import SNIPPET_CHARS
from ctxassembly.assembly.join import Text
from ctxassembly.assembly.pool import Pool
from ctxassembly.assembly.render.labels import Label, Layout
from ctxassembly.assembly.render.write import OURS, RUN_SEPARATOR, Rendered, with_changes
from ctxassembly.data.candidates import GAP, Candidate, TextPiece
from ctxassembly.data.chunks import Span
from ctxassembly.data.metadata_keys import MetadataKeys
from ctxassembly.text.sentences import PAD
from ctxassembly.wording.formats import FORMATS, Heading, Lines
from ctxassembly.wording.label_forms import RULE
from ctxassembly.wording.label_guards import Guards, escape_heading, escape_labels
from ctxassembly.wording.languages import LANGUAGES
from ctxassembly.wording.metadata_labels import MetadataReader


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
        chunks = [best.chunk, *(other.chunk for other in others)]
        heading = self.reader().heading(best.chunk, chunks, partial(escape_heading, form=self.format_name))
        return replace(heading, score=best.score if score is None else score)

    def safe_text(self, text: str, *, at_line: bool = True) -> str:
        """Return `text` of no chunk, such as a summary, so that no line of it passes for one of ours."""
        return escape_labels(text, self.format_name, self.own_lines, at_line=at_line)

    def lines(self, heading: Heading, number: int) -> Lines:
        """Return the header and the footer of block `number`."""
        heading = replace(heading, number=number)
        if isinstance(self.format, str):
            return FORMATS[self.format].lines(heading, LANGUAGES[self.language])
        written = self.format(heading)
        return (written, "") if isinstance(written, str) else written


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


def _join_blocks(blocks: Sequence[TextBlock]) -> tuple[Text, Pool, Layout]:
    """Return the texts of `blocks` as one. A passage is a run, and each slice counts as a chunk of its own."""
    parts, size = [PAD], len(PAD)
    candidates, labels = list[Candidate](), list[Label]()
    begins, owns, ends = list[int](), list[int](), list[int]()
    breaks, opens = list[int](), list[int]()
    for number, block in enumerate(blocks):
        runs, first = list[Span](), len(candidates)
        opens.append(size)
        for passage in block.passages:
            breaks.append(size)
            for piece in passage:
                parts += (piece.separator, piece.text)
                candidates.append(piece.candidate)
                owns.append(size + len(piece.separator))
                begins.append(owns[-1] - piece.start)
                size = owns[-1] + len(piece.text)
                ends.append(size)
            runs.append((breaks[-1], size))
        chunks = tuple(range(first, len(candidates)))
        best = candidates.index(best_of(block.candidates), first)
        labels.append(Label(0, number, best, chunks, tuple(runs), 0.0))
    text = Text("".join((*parts, PAD)), begins, [0] * len(begins), owns, ends, breaks, opens)
    return text, Pool(candidates, opens), Layout(labels, owns)


def render_blocks(
    blocks: Sequence[TextBlock], style: Style, *, first_label: int = 1, around: tuple[str, str] = ("", "")
) -> tuple[Text, Pool, Rendered]:
    """Return `blocks` joined to one text, their chunks, and the blocks as they are written.

    `around` are blocks without a label, before and after them, written as they are.
    """
    text, pool, layout = _join_blocks(blocks)
    whole, labels = text.text, layout.labels
    guards = Guards(style.format_name, style.own_lines)
    replaced = guards.replaced(whole, [run for label in labels for run in label.runs])
    before, after = ([(0, [(block, OURS)])] if block else [] for block in around)
    written = [*before]
    for number, (block, label) in enumerate(zip(blocks, labels, strict=True), first_label):
        header, footer = style.lines(block.heading, number)
        parts = [(header and header + style.header_end, OURS), *((f"{line}\n", OURS) for line in block.lines)]
        for place, run in enumerate(label.runs):
            parts += [(block.between if place else "", OURS), *with_changes(whole, run, replaced[run])]
        written.append((number, [*parts, (footer and f"\n{footer}", OURS)]))
    written += after
    rendered = Rendered.of(layout)
    for place, (number, parts) in enumerate(written, 1):
        rule = f"\n\n{RULE}" if style.has_rule and place < len(written) else ""
        rendered.add_block([*parts, (rule, OURS)], number)
    return text, pool, rendered
