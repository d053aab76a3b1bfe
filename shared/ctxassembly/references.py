"""The documents behind a context, as one names them without labels: for a voice, or under an answer that cites none."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from ctxassembly.keys import MetadataKeys
from ctxassembly.types import Chunk, Passage


@dataclass(frozen=True, slots=True)
class Reference:
    """One document, by what the metadata of its chunks in the context say."""

    document_id: str
    source: str | None = None
    """The file."""
    title: str | None = None
    url: str | None = None
    section: str | None = None
    pages: tuple[str, ...] = ()
    """The pages that stand in the context, each once, in reading order."""


def references(passages: Iterable[Passage], keys: MetadataKeys) -> tuple[Reference, ...]:
    """One reference per document, in the order in which they are first read."""
    chunks: dict[str, list[Chunk]] = {}
    for passage in passages:
        chunks.setdefault(passage.document_id, []).extend(piece.candidate.chunk for piece in passage.pieces)
    return tuple(_reference(document_id, members, keys) for document_id, members in chunks.items())


def _reference(document_id: str, chunks: Iterable[Chunk], keys: MetadataKeys) -> Reference:
    said: dict[str, list[str]] = {
        name: [
            line
            for chunk in chunks
            if (value := keys.read(chunk.metadata, name)) is not None and (line := " ".join(str(value).split()))
        ]
        for name in ("source", "title", "url", "section", "page")
    }
    pages = tuple(dict.fromkeys(said.pop("page")))
    return Reference(document_id, **{name: lines[0] for name, lines in said.items() if lines}, pages=pages)
