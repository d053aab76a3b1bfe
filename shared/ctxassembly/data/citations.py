"""The result of one assembly: the text and all that is known of it. The views read this and nothing else."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Any

from ctxassembly.data.candidates import TextPiece
from ctxassembly.data.chunks import Chunk, RetrievedFragment, Span
from ctxassembly.data.metadata_keys import MetadataKeys
from ctxassembly.data.retrieval import Retrieved
from ctxassembly.data.trace import Shortened, Trace


@dataclass(frozen=True, slots=True)
class Passage:
    """A contiguous run of chunks of one document after joining.

    >>> from ctxassembly import Chunk, Hit, assemble
    >>> said = "Drink water. Eat nothing. Then rest."
    >>> chunks = [Chunk("a#0", "a", said[:25], index=0, start=0), Chunk("a#1", "a", said[13:], index=1, start=13)]
    >>> [passage] = assemble([Hit(chunk) for chunk in chunks]).passages
    >>> passage.text, passage.chunk_ids
    ('Drink water. Eat nothing. Then rest.', ('a#0', 'a#1'))
    """

    document_id: str
    pieces: tuple[TextPiece, ...]
    span: Span = (0, 0)
    """In the context's text, from the first source character to the last."""

    @property
    def text(self) -> str:
        """The joined text, as the document has it: nothing neutralized or escaped."""
        return "".join(piece.separator + piece.text for piece in self.pieces)

    @property
    def chunk_ids(self) -> tuple[str, ...]:
        """The chunks that it is made of, in order."""
        return tuple(dict.fromkeys(piece.candidate.chunk.id for piece in self.pieces))


_LABEL = re.compile("[1-9][0-9]{0,5}")
MAX_LABEL = 999_999


def check_labels(labels: Iterable[str]) -> None:
    """Check labels that come from data.

    Raises:
        ValueError: one is no positive number of at most six digits.
    """
    if not all(map(_LABEL.fullmatch, labels)):
        raise ValueError("labels of at most six digits expected")


@dataclass(frozen=True, slots=True)
class Source:
    """The origin of a verbatim stretch of the context.

    >>> from ctxassembly import Chunk, Hit, assemble
    >>> said = "Drink water. Eat nothing. Then rest."
    >>> chunks = [Chunk("a#0", "a", said[:25], index=0, start=0), Chunk("a#1", "a", said[13:], index=1, start=13)]
    >>> context = assemble([Hit(chunk) for chunk in chunks])
    >>> for source in context.provenance:
    ...     print(source.chunk_id, repr(context.text[slice(*source.span)]), "is from", source.start, "to", source.end)
    a#0 'Drink water. Eat nothing.' is from 0 to 25
    a#1 ' Then rest.' is from 25 to 36
    """

    span: Span
    """In the context's text."""
    chunk_id: str
    document_id: str
    start: int | None
    """In the document, half-open with `end`; None if the chunk's offset is unknown, counts in a page or section, or
    contradicts another one."""
    end: int | None
    chunk_span: Span
    """In the chunk's own text."""


@dataclass(frozen=True, slots=True)
class Citation:
    """A label's way back to source characters, and the description of the source that a reader gets.

    Source, section, sheet, row, start line, page, score and metadata are taken from the best chunk cited. Each string
    is one line. A row, line or page that is not a whole number is kept as text. None means unknown.

    >>> from ctxassembly import Chunk, Hit, assemble
    >>> chunk = Chunk("gastro#0", "gastro", "Drink water.", metadata={"source": "gastro.pdf", "page": 3})
    >>> for citation in assemble([Hit(chunk)]).citations:
    ...     print(f"[{citation.label}] {citation.reference}: {citation.snippet}")
    [1] gastro.pdf, page 3: Drink water.
    """

    label: str
    document_id: str
    chunk_ids: tuple[str, ...]
    span: Span
    """In the context's text, from the first source character to the last; gap markers inside count."""
    snippet: str
    """The beginning of the best chunk cited: at most 200 characters, cut at a word."""
    best_chunk_id: str
    score: float | None
    source: str
    """The file, else the title, else the URL, else "unknown" in the configured language."""
    section: str | None = None
    sheet: str | None = None
    row: int | str | None = None
    """The row of a table, by the number that its metadata give it."""
    start_line: int | str | None = None
    """The line of the file in which the chunk begins."""
    page: int | str | None = None
    pages: tuple[int | str, ...] = ()
    """The pages of all chunks cited, as the header shows them, each once: Roman numbers, whole ones ascending, then
    others."""
    metadata: Mapping[str, Any] = field(default_factory=dict, hash=False)
    """A copy."""
    shortened: tuple[Shortened, ...] = ()
    """The cited chunks that were cut or compressed."""
    reference: str = ""
    """The source and the place in it, ready to be shown: "report.pdf § Executive Summary", "figures.xlsx § Sheet1 Row
    42" or "report.pdf, page 3"."""
    same_text_in: tuple[str, ...] = ()
    """The sources of other documents that have the text of a cited chunk: copies of it were left out."""


@dataclass(frozen=True, slots=True)
class Block:
    """One label's share of the context: header, summary and passages. Blocks joined by a blank line are the text.

    >>> from ctxassembly import Chunk, Hit, assemble
    >>> context = assemble([Hit(Chunk("gastro#0", "gastro", "Drink water."))], supplement="Appointment: Friday, 9:30.")
    >>> for block in context.blocks:
    ...     print(block.citation and block.citation.label, block.text.splitlines())
    1 ['[1] Source: unknown', 'Drink water.']
    None ['--- SUPPLEMENTARY INFORMATION ---', 'Appointment: Friday, 9:30.']
    """

    text: str
    span: Span
    citation: Citation | None
    """None for the block of supplementary text, which has no label."""


@dataclass(frozen=True, slots=True)
class ContextData:
    """The fields of a `Context`. `Context` adds the methods."""

    text: str
    """Never over the budget."""
    token_count: int
    """The exact number of tokens of `text` in the configured encoding."""
    passages: tuple[Passage, ...] = ()
    """In rendered order."""
    citations: tuple[Citation, ...] = ()
    """One per label, in the order in which they are read."""
    blocks: tuple[Block, ...] = ()
    provenance: tuple[Source, ...] = ()
    """Ascending and disjoint: every verbatim character is in exactly one."""
    trace: Trace = field(default_factory=Trace)
    query: str | None = None
    format: str = "numbered"
    """The format that a reader sees. "minimal" if no header had room. If a function wrote the headers: the format whose
    labels they all show, else "custom"."""
    language: str = "en"
    keys: MetadataKeys = field(default_factory=MetadataKeys)
    hits: tuple[RetrievedFragment, ...] = field(default=(), repr=False, compare=False)
    """The hits that the views show, by rank."""
    encoding: str | Callable[[str], int] | None = field(default=None, repr=False, compare=False)
    """The encoding behind `token_count`. None if unknown: pickling leaves a function behind."""
    retrieved: Retrieved | None = field(default=None, repr=False, compare=False)
    """The retrieval behind the hits, for the views; None if the hits came by another way, and for a context made again
    of `to_dict`."""
    earlier_citations: tuple[Citation, ...] = field(default=(), repr=False, compare=False)
    """The citations of the conversation before it, by which `resolve` finds earlier labels. `to_dict` leaves them out:
    the messages of a conversation have them."""
    sanitized: bool = field(default=False, repr=False)
    """True if it was assembled with `sanitize=True`. Search results made of it are sanitized, too."""

    @property
    def supplement(self) -> str:
        """The block of supplementary text, as it appears in `text`; empty if there is none."""
        # A block of one line says that the conversation has everything that was found.
        return next((block.text for block in self.blocks if block.citation is None and "\n" in block.text), "")

    def cites(self, citation: Citation, chunk: Chunk) -> bool:
        """Return True if `citation` cites `chunk`: by id and text, since another chunk may have its id.

        A chunk whose text isn't in the context as it is, such as one of which only a part was read, is known by its id.
        """
        if chunk.id not in citation.chunk_ids:
            return False
        first, last = citation.span
        same_id = [
            (first <= passage.span[0] < last, piece.candidate.chunk)
            for passage in self.passages
            for piece in passage.pieces
            if piece.candidate.chunk.id == chunk.id
        ]
        # The document isn't compared: the context may have given it another name.
        same_text = [is_cited for is_cited, other in same_id if other.identity[1:] == chunk.identity[1:]]
        return any(same_text) if same_text else True


def block_contents(context: ContextData) -> Iterator[tuple[Block, Sequence[Passage], Sequence[Source]]]:
    """Yield each block of `context` with its passages and its provenance, in reading order."""
    passages = sorted(context.passages, key=attrgetter("span"))
    passage_starts = [passage.span[0] for passage in passages]
    source_starts = [source.span[0] for source in context.provenance]
    for block in context.blocks:
        first, last = (bisect_left(passage_starts, edge) for edge in block.span)
        begin, end = (bisect_left(source_starts, edge) for edge in block.span)
        yield block, passages[first:last], context.provenance[begin:end]


def has_source(piece: TextPiece, source: Source) -> bool:
    """Return True if the text of `source` is from `piece`."""
    return piece.candidate.chunk.id == source.chunk_id and piece.start <= source.chunk_span[0] < piece.end


class AssembledBlock(dict[str, Any]):
    """A block of a context in the metadata of a document or node, by which an adapter knows it.

    The type alone decides: anybody can write a dict with the same keys, and JSON gives one back. It is a plain dict to
    whoever reads it, and in its attributes is what it was made of.

    The attributes survive copies and pickling. The dict is there to be shown, and nothing is read back from it.
    """

    __slots__ = ("block", "has_labels", "header", "passages", "query")

    block: Block
    passages: Sequence[Passage]
    header: str
    """What the text of the block has before the first character of a chunk, or of a supplement."""
    has_labels: bool
    """True if a reader of the context sees labels."""
    query: str | None
    """The query of the context."""

    def __init__(
        self,
        shown: Mapping[str, Any],
        block: Block,
        passages: Sequence[Passage],
        header: str,
        query: str | None,
        *,
        has_labels: bool,
    ) -> None:
        super().__init__(shown)
        self.block, self.passages, self.header = block, passages, header
        self.query, self.has_labels = query, has_labels


def block_in(metadata: Any) -> AssembledBlock | None:
    """Return the block that an adapter put into `metadata`; None if the metadata are somebody else's."""
    if type(metadata) is not dict:  # of a class that may raise
        return None
    values = (metadata.get("citation"), metadata.get("supplement"))
    return next((value for value in values if type(value) is AssembledBlock), None)
