"""The documents behind a context, named without labels: for a voice, or below an answer that cites none."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ctxassembly.data.chunks import Chunk
from ctxassembly.data.citations import Passage
from ctxassembly.data.metadata_keys import MetadataKeys
from ctxassembly.wording.metadata_labels import Particulars


@dataclass(frozen=True, slots=True)
class Reference:
    """A document as the metadata of its chunks in the context name it; None where they don't.

    Section, sheet, row and start line belong together: they come from the first chunk that has any of them.

    >>> from ctxassembly import Chunk, Hit, assemble
    >>> pages = [{"source": "gastro.pdf", "title": "Gastroscopy", "page": page} for page in (3, 1)]
    >>> hits = [Hit(Chunk(f"gastro#{n}", "gastro", f"Step {n}.", metadata=page)) for n, page in enumerate(pages)]
    >>> for reference in assemble(hits).sources():
    ...     print(reference.title, reference.source, reference.pages)
    Gastroscopy gastro.pdf (1, 3)
    """

    document_id: str
    source: str | None = None
    """The file."""
    title: str | None = None
    url: str | None = None
    section: str | None = None
    sheet: str | None = None
    row: int | str | None = None
    start_line: int | str | None = None
    pages: tuple[int | str, ...] = ()
    """Its pages in the context, each once: whole numbers in ascending order, then others."""


def references(passages: Iterable[Passage], keys: MetadataKeys) -> tuple[Reference, ...]:
    """One reference for each document, in reading order."""
    read = Particulars(keys)
    chunks: dict[str, list[Chunk]] = {}
    for passage in passages:
        chunks.setdefault(passage.document_id, []).extend(piece.candidate.chunk for piece in passage.pieces)
    return tuple(_reference(document_id, members, read) for document_id, members in chunks.items())


def _reference(document_id: str, chunks: Sequence[Chunk], read: Particulars) -> Reference:
    def first(name: str) -> str | None:
        return next((line for chunk in chunks if (line := read.line(chunk, name))), None)

    places = ("section", "sheet", "row_number", "start_line")
    placed = next((chunk for chunk in chunks if any(read.line(chunk, name) for name in places)), chunks[0])
    return Reference(
        document_id,
        source=first("source"),
        title=first("title"),
        url=first("url"),
        section=read.line(placed, "section"),
        sheet=read.line(placed, "sheet"),
        row=read.number(placed, "row_number"),
        start_line=read.number(placed, "start_line"),
        pages=read.pages(chunks),
    )
