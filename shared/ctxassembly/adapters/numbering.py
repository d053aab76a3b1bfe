"""Chunks fresh from a splitter -> chunks that know their place: document, index, and an id made of both.

All chunks of a document are at hand here, and one follows the other for certain. So what a few of them wouldn't show
later is recorded in the metadata (`ctxassembly.ingestion`): the overlap of each chunk with the one before, the table
and the headings that it begins inside, and the version of the document.

Places that a chunk has already are kept. Places that contradict each other are refused: with a made-up index, text that
isn't continuous would be joined as if it were.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ctxassembly.data.chunks import Chunk, renumber_document, section_of
from ctxassembly.data.metadata_keys import FILE_PATH_KEY, MetadataKeys, get_path, to_integer
from ctxassembly.errors import InputError
from ctxassembly.ingestion.record import Recorded, record_documents
from ctxassembly.safe_repr import safe_repr, to_id

IdOf = Callable[[str, int], str]
"""A function from a document's id and an index to the id of the chunk there."""
RANDOM_UUID = re.compile(r"[0-9a-f]{8}-?[0-9a-f]{4}-?4[0-9a-f]{3}-?[89ab][0-9a-f]{3}-?[0-9a-f]{12}", re.IGNORECASE)
"""A UUID of version 4, which is another one in every run."""
SAME_CHARS = 20
"""Characters at the beginning of a text by which it is known again, if it is also as long."""


@dataclass(frozen=True, slots=True)
class ChunkNumber:
    """The place of a chunk, and its id."""

    id: str
    document_id: str
    index: int
    recorded: Recorded = field(default_factory=dict)
    """Metadata to add: what only the whole document knows (`ctxassembly.ingestion`)."""

    def added_to(self, metadata: Mapping[str, Any], keys: MetadataKeys) -> dict[str, Any]:
        """Return what `metadata` lack: the document and the index, and what is recorded."""
        added: dict[str, Any] = {}
        if not to_id(keys.read(metadata, "document_id")):
            added[keys.document_id[0]] = self.document_id
        if keys.read(metadata, "index") is None:
            added[keys.index[0]] = self.index
        return {**added, **self.recorded}


def default_chunk_id(document_id: str, index: int) -> str:
    """Return the default id of a chunk.

    >>> default_chunk_id("handbook.pdf", 7)
    'handbook.pdf#7'
    """
    return f"{document_id}#{index}"


def uuid_of(document_id: str, index: int) -> str:
    """Return the default id as a UUID of version 5, for stores that accept only UUIDs: Qdrant, PGVectorStore.

    >>> uuid_of("handbook.pdf", 7) == uuid_of("handbook.pdf", 7)
    True
    """
    import uuid  # here, so that importing the engine stays light

    return str(uuid.uuid5(uuid.NAMESPACE_URL, default_chunk_id(document_id, index)))


def number_chunks(
    chunks: Iterable[Chunk],
    *,
    keys: MetadataKeys | None = None,
    document_id: str | None = None,
    id_of: IdOf = default_chunk_id,
) -> list[Chunk]:
    """Return copies of `chunks`, in order, with a document id, an index, and an id made of both.

    What only the whole document shows is recorded in the metadata: `overlap_chars`, `table_head`, `heading_path`,
    `chunk_count` and `document_version`.

    The chunks of a document are numbered in the given order, across its pages: a splitter leaves them in reading
    order. A chunk without a document id gets its source (`keys.source`) as one, else `document_id`. Existing indexes
    and ids stay, except for random ids (UUIDs of version 4). Links to changed ids are updated.

    Give two documents with the same source, such as the files of two tenants, a document id each beforehand. Otherwise
    they are numbered as one, or, in two calls, get the same ids, and a store replaces one with the other.

    >>> chunks = [Chunk("", "gastro.pdf", text) for text in ("Drink water.", "Then rest.")]
    >>> [(chunk.id, chunk.index) for chunk in number_chunks(chunks)]
    [('gastro.pdf#0', 0), ('gastro.pdf#1', 1)]

    Raises:
        InputError: a chunk has neither document nor source; the indexes of a document, ids or the order of pages
            contradict each other; two files have one name. The message says what to do.
    """
    keys = MetadataKeys() if keys is None else keys
    chunks = [*chunks]
    numbers = assign_numbers(chunks, keys, document_id, id_of)
    new_ids = {chunk.id: place.id for chunk, place in zip(chunks, numbers, strict=True) if chunk.id}
    return [
        replace(
            chunk,
            id=place.id,
            document_id=place.document_id,
            index=place.index,
            prev_id=new_ids.get(chunk.prev_id or "", chunk.prev_id),
            next_id=new_ids.get(chunk.next_id or "", chunk.next_id),
            metadata={**chunk.metadata, **place.recorded} if place.recorded else chunk.metadata,
        )
        for chunk, place in zip(chunks, numbers, strict=True)
    ]


def assign_numbers(
    chunks: Sequence[Chunk], keys: MetadataKeys, document_id: str | None, id_of: IdOf
) -> list[ChunkNumber]:
    """Return the document, index and id of each of `chunks`, whose ids may be empty or None.

    Raises:
        InputError: as for `number_chunks`.
    """
    documents: dict[str, list[int]] = defaultdict(list)
    for at, chunk in enumerate(chunks):
        if not isinstance(chunk, Chunk):
            raise InputError(
                f"chunks must be a sequence of Chunk, got {safe_repr(chunk)} at place {at}; for documents or nodes, "
                "import number_chunks from langchain_ctxassembly or llamaindex_ctxassembly"
            )
        documents[_document_id(chunk, at, keys, document_id)].append(at)
    documents = _split_files(documents, chunks, keys)
    indexes: dict[int, tuple[str, int]] = {}
    for name, members in documents.items():
        document_chunks = [chunks[at] for at in members]
        _check_one_file(name, document_chunks)
        _check_pages(name, document_chunks, keys)
        indexes |= {at: (name, index) for at, index in zip(members, _indexes(name, document_chunks, keys), strict=True)}
    recorded = _record(chunks, indexes, keys)
    numbers = [
        ChunkNumber(_chunk_id(chunk, id_of, *indexes[at]), *indexes[at], recorded.get(indexes[at], {}))
        for at, chunk in enumerate(chunks)
    ]
    _check_ids(chunks, numbers)
    return numbers


def _record(
    chunks: Sequence[Chunk], places: Mapping[int, tuple[str, int]], keys: MetadataKeys
) -> dict[tuple[str, int], Recorded]:
    """Return what to record of the chunk at each place, but for documents whose chunks have it already."""
    by_document: dict[str, dict[int, Chunk]] = defaultdict(dict)
    for at, chunk in enumerate(chunks):
        by_document[places[at][0]][places[at][1]] = chunk
    new = {
        name: members
        for name, members in by_document.items()
        if not all(get_path(chunk.metadata, keys.overlap[0]) is not None for chunk in members.values())
    }
    found = record_documents([*new.values()], keys)
    return {(name, index): each for name, own in zip(new, found, strict=True) for index, each in own.items()}


def _document_id(chunk: Chunk, position: int, keys: MetadataKeys, fallback: str | None) -> str:
    name = to_id(chunk.document_id) or to_id(keys.read_document_id(chunk.metadata)) or to_id(fallback)
    if not name:
        wanted = " nor ".join(repr(key) for key in (keys.document_id[0], keys.source[0]))
        raise InputError(
            f"chunk {position} has neither {wanted} in its metadata: set one of them before splitting, or write "
            "number_chunks(..., document_id='handbook') for the chunks of one document"
        )
    return name


def _split_files(
    documents: Mapping[str, list[int]], chunks: Sequence[Chunk], keys: MetadataKeys
) -> dict[str, list[int]]:
    """Return `documents` with each file of one name as one of its own: offsets begin again at 0 in the same section.

    Where the text begins and ends alike, it was split twice, into chunks of two sizes. A document id is believed.
    """
    taken, split = {*documents}, dict[str, list[int]]()
    for name, members in documents.items():
        runs, before = [members[:1]], chunks[members[0]]
        for at in members[1:]:
            chunk, last = chunks[at], before.start if type(before.start) is int else 0
            is_named = to_id(chunk.document_id) or keys.read(chunk.metadata, "document_id") is not None
            if (
                last > 0 == chunk.start
                and not is_named
                and section_of(before.metadata, keys) == section_of(chunk.metadata, keys)
            ):
                runs.append([])
            runs[-1].append(at)
            before = chunk
        extents = [(chunks[run[0]].text[:SAME_CHARS], _end([chunks[at] for at in run])) for run in runs]
        for run, extent in zip(runs, extents, strict=True):
            number = [*dict.fromkeys(extents)].index(extent)
            split.setdefault(renumber_document(Chunk("", name, ""), number, taken).document_id, []).extend(run)
    return split


def _end(chunks: Iterable[Chunk]) -> int:
    return max((chunk.start + len(chunk.text) for chunk in chunks if type(chunk.start) is int), default=0)


def _check_one_file(name: str, chunks: Iterable[Chunk]) -> None:
    paths = {path for chunk in chunks if (path := to_id(chunk.metadata.get(FILE_PATH_KEY)))}
    if len(paths) > 1 and not any(to_id(chunk.document_id) for chunk in chunks):
        first, second, *_ = sorted(paths)
        raise InputError(
            f"two files are called {safe_repr(name)}, {safe_repr(first)} and {safe_repr(second)}: give their chunks a "
            f"document id, number_chunks(..., keys=MetadataKeys(document_id={FILE_PATH_KEY!r}))"
        )


def _check_pages(name: str, chunks: Sequence[Chunk], keys: MetadataKeys) -> None:
    """Check that chunks without an index come page by page: otherwise they aren't in reading order."""
    last: int | None = None
    for chunk in chunks:
        numbers = (get_path(chunk.metadata, key) for key in keys.page if chunk.index is None)
        page = next((number for number in numbers if type(number) is int), None)  # labels may restart in a document
        if page is not None and last is not None and page < last:
            raise InputError(
                f"page {page} of document {safe_repr(name)} comes after page {last}: pass the chunks of a document in "
                "reading order, each once, or give two documents of one name a document id each"
            )
        last = page if page is not None else last


def _indexes(name: str, chunks: Sequence[Chunk], keys: MetadataKeys) -> list[int]:
    known_indexes = [to_integer(chunk.index) for chunk in chunks]
    texts: dict[int, str] = {}
    for chunk, index in zip(chunks, known_indexes, strict=True):
        if index is None and chunk.index is not None:
            given = f"index {safe_repr(chunk.index)} in document {safe_repr(name)}"
            raise InputError(f"{given} is not a whole number from 0: delete it")
        if index is not None and texts.setdefault(index, chunk.text) != chunk.text:
            raise InputError(
                f"two texts of document {safe_repr(name)} have index {index}: a splitter copies the index to what it "
                f"makes of a chunk, so delete metadata[{keys.index[0]!r}] before it splits, or from all of its chunks"
            )
    if None not in known_indexes:
        return [index for index in known_indexes if index is not None]
    found: list[int] = []
    for index in known_indexes:
        following = found[-1] + 1 if found else 0
        if index is not None and index < following:
            raise InputError(
                f"chunks of document {safe_repr(name)} without an index come before one with index {index}, where "
                f"there is no room for them: number all of its chunks together, without metadata[{keys.index[0]!r}]"
            )
        found.append(following if index is None else index)
    return found


def _chunk_id(chunk: Chunk, id_of: IdOf, document_id: str, index: int) -> str:
    name = to_id(chunk.id)
    return name if name and not RANDOM_UUID.fullmatch(name) else id_of(document_id, index)


def _check_ids(chunks: Sequence[Chunk], numbers: Sequence[ChunkNumber]) -> None:
    first: dict[str, int] = {}
    for at, (chunk, place) in enumerate(zip(chunks, numbers, strict=True)):
        other = first.setdefault(place.id, at)
        if numbers[other] != place or chunks[other].text != chunk.text:
            raise InputError(
                f"chunks {other} and {at} have the id {safe_repr(place.id)} but differ: clear the ids of all, and "
                "number_chunks makes new ones"
            )
