"""What is recorded of each chunk while all chunks of its document are at hand, as metadata that every store keeps.

Few keys, and short values: numbers, and texts of at most 300 characters. What the metadata of a reader or a splitter
say of headings is believed before the text.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from ctxassembly.data.chunks import Chunk, section_of
from ctxassembly.data.metadata_keys import MetadataKeys
from ctxassembly.ingestion.beginnings import find_beginnings
from ctxassembly.ingestion.matches import overlap_by_offset
from ctxassembly.ingestion.overlaps import find_overlaps
from ctxassembly.ingestion.places import PATH_SEPARATOR, find_places
from ctxassembly.ingestion.tables import MAX_HEAD
from ctxassembly.ingestion.version import document_version
from ctxassembly.safe_repr import to_text
from ctxassembly.wording.metadata_labels import line_of

Recorded = Mapping[str, "str | int"]
"""Metadata to add to a chunk."""


class _Bodies(NamedTuple):
    """The chunks of a document by their indexes, ascending, without their contextual headers."""

    indexes: Sequence[int]
    chunks: Sequence[Chunk]
    headers: Sequence[str]
    texts: Sequence[str]
    apart: frozenset[int]
    """The numbers of the chunks that continue nothing, or begin another page or section."""


def record_documents(documents: Sequence[Mapping[int, Chunk]], keys: MetadataKeys) -> list[dict[int, Recorded]]:
    """Return what to record of the chunks of each document, by their indexes.

    The number of chunks and the version are recorded only of a document of which no index is missing.
    """
    bodies = [_without_headers(chunks, keys) for chunks in documents]
    overlaps = find_overlaps([each.texts for each in bodies], [each.apart for each in bodies])
    return [_record(each, found, keys) for each, found in zip(bodies, overlaps, strict=True)]


def _without_headers(by_index: Mapping[int, Chunk], keys: MetadataKeys) -> _Bodies:
    indexes = sorted(by_index)
    chunks = [by_index[index] for index in indexes]
    texts = [chunk.text if isinstance(chunk.text, str) else "" for chunk in chunks]
    lengths = find_beginnings(texts)
    sections = [section_of(chunk.metadata, keys) for chunk in chunks]
    apart = frozenset(
        at for at in range(1, len(chunks)) if indexes[at] != indexes[at - 1] + 1 or sections[at] != sections[at - 1]
    )
    headers = [text[:length] for text, length in zip(texts, lengths, strict=True)]
    return _Bodies(indexes, chunks, headers, [text[len(at) :] for text, at in zip(texts, headers, strict=True)], apart)


def _record(bodies: _Bodies, found: Sequence[int], keys: MetadataKeys) -> dict[int, Recorded]:
    indexes, chunks, headers, texts, apart = bodies
    overlaps = [*found]
    for at in range(1, len(chunks)):
        if at not in apart:
            shown = overlap_by_offset(texts[at - 1], chunks[at - 1].start, texts[at], chunks[at].start)
            overlaps[at] = overlaps[at] if shown is None else shown
    of_document: dict[str, str | int] = {}
    if indexes == [*range(len(chunks))]:
        own = [text[overlap:] for text, overlap in zip(texts, overlaps, strict=True)]
        of_document = {MetadataKeys.chunk_count: len(chunks), MetadataKeys.document_version: document_version(own)}
    recorded: dict[int, Recorded] = {}
    name = to_text(keys.read(chunks[0].metadata, "source")) or to_text(chunks[0].document_id) or ""
    for at, (index, place) in enumerate(zip(indexes, find_places(texts, overlaps, name), strict=True)):
        # What both chunks begin with is repeated, too: it is read once, and again where it changes.
        has_same_header = at > 0 and headers[at] == headers[at - 1]
        overlap = len(headers[at]) + overlaps[at] if has_same_header else 0 if headers[at] else overlaps[at]
        path = _path_in_metadata(chunks[at], keys) or place.heading_path
        optional = {MetadataKeys.table_head: place.table_head, MetadataKeys.heading_path: path[-MAX_HEAD:]}
        recorded[index] = {
            MetadataKeys.overlap[0]: overlap,
            **{key: value for key, value in optional.items() if value},
            **of_document,
        }
    return recorded


def _path_in_metadata(chunk: Chunk, keys: MetadataKeys) -> str:
    """Return the headings that the metadata name, without the one that the chunk itself begins with."""
    value = keys.read(chunk.metadata, "section")
    levels = [line_of(level, "section") or "" for level in (value if isinstance(value, (list, tuple)) else [value])]
    first = chunk.text.lstrip("#\n ").partition("\n")[0].strip() if isinstance(chunk.text, str) else ""
    return PATH_SEPARATOR.join(levels[:-1] if levels[-1] == first else levels)
