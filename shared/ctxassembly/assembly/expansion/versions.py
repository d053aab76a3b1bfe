"""Versions of a document: each that was retrieved is a document of its own, and no other one gives neighbors.

A file that was changed and loaded again may leave old chunks in the store. `number_chunks` records the version of the
document and the number of its chunks. Without that, the time of the update tells versions apart, unless no two chunks
of the document share it: then it is when each chunk was written.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

from ctxassembly.data.chunks import Chunk, renumber_document
from ctxassembly.data.metadata_keys import MetadataKeys
from ctxassembly.safe_repr import pluralize, safe_repr, to_id, to_text

MIN_CHUNKS = 3
"""Chunks of a document, all with a time of their own, of which the times say nothing of versions."""


class _Version(NamedTuple):
    """What is known of the version that a chunk is of; None is unknown."""

    text: str | None
    updated: str | None
    chunk_count: int | None

    def has(self, chunk: Chunk, other: _Version) -> bool:
        """Return True if nothing says that `chunk`, of the version `other`, is of another one than this."""
        if self.text is not None and other.text is not None:
            return self.text == other.text
        is_behind = self.chunk_count is not None and chunk.index is not None and chunk.index >= self.chunk_count
        return not is_behind and (None in (self.updated, other.updated) or self.updated == other.updated)


def split_versions(
    hits: Sequence[Chunk], found: Sequence[Chunk], keys: MetadataKeys
) -> tuple[list[Chunk], list[Chunk], list[str]]:
    """Return `hits`, each version of a document with an id of its own, and the chunks of these in `found`; and notes.

    The first hit of a document keeps its id.
    """
    versions = _read_versions([*hits, *found], keys)
    if not any(version.text or version.updated for version in versions):
        return [*hits], [*found], []
    known: dict[str, list[_Version]] = defaultdict(list)
    taken = {chunk.document_id for chunk in (*hits, *found)}
    split, others = list[Chunk](), list[Chunk]()
    for at, (chunk, version) in enumerate(zip((*hits, *found), versions, strict=True)):
        of_document = known[chunk.document_id]
        number = next((number for number, one in enumerate(of_document) if one.has(chunk, version)), None)
        if number is None and at >= len(hits) and of_document:
            others.append(chunk)
            continue
        if number is None:
            number = len(of_document)
            of_document.append(version)
        split.append(renumber_document(chunk, number, taken))
    many = f"store: {pluralize(len(others), 'chunk')} of another version left out; the first is"
    notes = [f"{many} {safe_repr(others[0].id, 80)}"] if others else []
    several = [name for name, own in known.items() if len(own) > 1]
    notes += [f"document {safe_repr(name, 80)}: hits of several versions, each read apart" for name in several]
    return split[: len(hits)], split[len(hits) :], notes


def _read_versions(chunks: Sequence[Chunk], keys: MetadataKeys) -> list[_Version]:
    """Return the version of each chunk, without times where no two chunks of the document share one."""
    updates = [to_text(keys.read(chunk.metadata, "updated_at")) for chunk in chunks]
    by_document: dict[str, list[str]] = defaultdict(list)
    for chunk, update in zip(chunks, updates, strict=True):
        if update is not None:
            by_document[chunk.document_id].append(update)
    unstable = {name for name, own in by_document.items() if MIN_CHUNKS <= len(own) == len({*own})}
    return [
        _Version(
            to_id(chunk.metadata.get(MetadataKeys.document_version)),
            None if chunk.document_id in unstable else update,
            count if type(count := chunk.metadata.get(MetadataKeys.chunk_count)) is int else None,
        )
        for chunk, update in zip(chunks, updates, strict=True)
    ]
