"""The documents behind a context, named without labels: for a voice, or below an answer that cites none."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ctxassembly.data.chunks import Chunk
from ctxassembly.data.citations import Passage
from ctxassembly.data.metadata_keys import MetadataKeys
from ctxassembly.wording.metadata_labels import MetadataReader


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
    """Its pages in the context, each once: Roman numbers, whole numbers in ascending order, then others."""


def list_references(passages: Iterable[Passage], keys: MetadataKeys) -> tuple[Reference, ...]:
    """Return one reference for each document, in reading order."""
    reader = MetadataReader(keys)
    chunks: dict[str, list[Chunk]] = {}
    for passage in passages:
        chunks.setdefault(passage.document_id, []).extend(piece.candidate.chunk for piece in passage.pieces)
    return tuple(_make_reference(document_id, members, reader) for document_id, members in chunks.items())


def _make_reference(document_id: str, chunks: Sequence[Chunk], reader: MetadataReader) -> Reference:
    def first(name: str) -> str | None:
        return next((line for chunk in chunks if (line := reader.line(chunk, name))), None)

    places = ("section", "sheet", "row_number", "start_line")
    located = next((chunk for chunk in chunks if any(reader.line(chunk, name) for name in places)), chunks[0])
    return Reference(
        document_id,
        source=first("source"),
        title=first("title"),
        url=first("url"),
        section=reader.line(located, "section"),
        sheet=reader.line(located, "sheet"),
        row=reader.number(located, "row_number"),
        start_line=reader.number(located, "start_line"),
        pages=reader.pages(chunks),
    )
