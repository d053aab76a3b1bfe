"""Chunks fresh from a splitter -> chunks that know their place: document, index, and an id made of both.

Places that a chunk has already are kept. Places that contradict each other are refused: with a made-up index, text that
isn't continuous would be joined as if it were.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ctxassembly.data.chunks import Chunk
from ctxassembly.data.metadata_keys import MetadataKeys, look_up
from ctxassembly.errors import InputError
from ctxassembly.safe_repr import as_name, shown

IdOf = Callable[[str, int], str]
"""A function from a document's id and an index to the id of the chunk there."""
_RANDOM = re.compile(r"[0-9a-f]{8}-?[0-9a-f]{4}-?4[0-9a-f]{3}-?[89ab][0-9a-f]{3}-?[0-9a-f]{12}", re.IGNORECASE)
"""A UUID of version 4, which is another one in every run."""
_PATH = "file_path"
"""The key under which LlamaIndex's readers tell two files of one name apart."""


@dataclass(frozen=True, slots=True)
class Place:
    """The place of a chunk, and its id."""

    id: str
    document_id: str
    index: int


def document_and_index(document_id: str, index: int) -> str:
    """The default id of a chunk.

    >>> document_and_index("handbook.pdf", 7)
    'handbook.pdf#7'
    """
    return f"{document_id}#{index}"


def uuid_of(document_id: str, index: int) -> str:
    """The default id as a UUID of version 5, for stores that take only UUIDs: Qdrant, and PGVectorStore by default.

    >>> uuid_of("handbook.pdf", 7) == uuid_of("handbook.pdf", 7)
    True
    """
    import uuid  # here, so that importing the engine stays light

    return str(uuid.uuid5(uuid.NAMESPACE_URL, document_and_index(document_id, index)))


def number_chunks(
    chunks: Sequence[Chunk],
    *,
    keys: MetadataKeys | None = None,
    document_id: str | None = None,
    id_of: IdOf = document_and_index,
) -> list[Chunk]:
    """Copies of `chunks`, in order, with a document id, an index, and an id made of both.

    The chunks of a document are numbered as they are handed in, across its pages: a splitter leaves them in reading
    order. A chunk without a document takes its source (`keys.source`) for one, else `document_id`. Indexes and ids that
    are there stay, but for random ids (UUIDs of version 4). Links to ids that change are changed with them.

    Two documents under one source, such as a file that two tenants have, need a document id each beforehand. Else they
    are numbered as one, or, in two calls, get the same ids, and a store replaces the one by the other.

    >>> chunks = [Chunk("", "gastro.pdf", text) for text in ("Drink water.", "Then rest.")]
    >>> [(chunk.id, chunk.index) for chunk in number_chunks(chunks)]
    [('gastro.pdf#0', 0), ('gastro.pdf#1', 1)]

    Raises:
        InputError: a chunk has neither document nor source; the indexes of a document, ids or the order of pages
            contradict each other; two files have one name. The message says what to do.
    """
    keys = MetadataKeys() if keys is None else keys
    places = placed(chunks, keys, document_id, id_of)
    now = {chunk.id: place.id for chunk, place in zip(chunks, places, strict=True) if chunk.id}
    return [
        replace(
            chunk,
            id=place.id,
            document_id=place.document_id,
            index=place.index,
            prev_id=now.get(chunk.prev_id or "", chunk.prev_id),
            next_id=now.get(chunk.next_id or "", chunk.next_id),
        )
        for chunk, place in zip(chunks, places, strict=True)
    ]


def placed(chunks: Sequence[Chunk], keys: MetadataKeys, document_id: str | None, id_of: IdOf) -> list[Place]:
    """The place of each of `chunks`. In these a missing id or document id is empty or None.

    Raises:
        InputError: as for `number_chunks`.
    """
    documents: dict[str, list[int]] = defaultdict(list)
    for at, chunk in enumerate(chunks):
        if not isinstance(chunk, Chunk):
            raise InputError(
                f"chunks must be a sequence of Chunk, got {shown(chunk)} at place {at}; for documents or nodes, "
                "import number_chunks from langchain_ctxassembly or llamaindex_ctxassembly"
            )
        documents[_document(chunk, at, keys, document_id)].append(at)
    indexes: dict[int, tuple[str, int]] = {}
    for name, members in documents.items():
        of = [chunks[at] for at in members]
        _check_one_file(name, of)
        _check_pages(name, of, keys)
        indexes |= {at: (name, index) for at, index in zip(members, _indexes(name, of, keys), strict=True)}
    found = [Place(_id(chunk, id_of, *indexes[at]), *indexes[at]) for at, chunk in enumerate(chunks)]
    _check_ids(chunks, found)
    return found


def _document(chunk: Chunk, at: int, keys: MetadataKeys, otherwise: str | None) -> str:
    name = as_name(chunk.document_id) or as_name(keys.document_of(chunk.metadata)) or as_name(otherwise)
    if not name:
        wanted = " nor ".join(repr(key) for key in (keys.document_id[0], keys.source[0]))
        raise InputError(
            f"chunk {at} has neither {wanted} in its metadata: set one of them before splitting, or say of which "
            "document they all are, number_chunks(..., document_id='handbook')"
        )
    return name


def _check_one_file(name: str, chunks: Iterable[Chunk]) -> None:
    paths = {path for chunk in chunks if (path := as_name(chunk.metadata.get(_PATH)))}
    if len(paths) > 1 and not any(as_name(chunk.document_id) for chunk in chunks):
        first, second, *_ = sorted(paths)
        raise InputError(
            f"two files are called {shown(name)}, {shown(first)} and {shown(second)}: give their chunks a document id, "
            f"number_chunks(..., keys=MetadataKeys(document_id={_PATH!r}))"
        )


def _check_pages(name: str, chunks: Sequence[Chunk], keys: MetadataKeys) -> None:
    """Refuse chunks without an index that don't come page by page: they aren't in reading order."""
    last: int | None = None
    for chunk in chunks:
        page = _page(chunk, keys) if chunk.index is None else None
        if page is not None and last is not None and page < last:
            raise InputError(
                f"page {page} of document {shown(name)} comes after page {last}: hand in the chunks of a document in "
                "reading order, each once, or give two documents of one name a document id each"
            )
        last = page if page is not None else last


def _page(chunk: Chunk, keys: MetadataKeys) -> int | None:
    """The page number of `chunk`. Page labels don't count: they may begin anew within a document."""
    numbers = (look_up(chunk.metadata, key) for key in keys.page)
    return next((number for number in numbers if type(number) is int), None)


def _indexes(name: str, chunks: Sequence[Chunk], keys: MetadataKeys) -> list[int]:
    given = [_number(name, chunk.index) for chunk in chunks]
    texts: dict[int, str] = {}
    for chunk, index in zip(chunks, given, strict=True):
        if index is not None and texts.setdefault(index, chunk.text) != chunk.text:
            raise InputError(
                f"two texts of document {shown(name)} have index {index}: a splitter copies the index to what it makes "
                f"of a chunk, so delete metadata[{keys.index[0]!r}] before it splits, or from all of its chunks"
            )
    if None not in given:
        return [index for index in given if index is not None]
    found: list[int] = []
    for index in given:
        following = found[-1] + 1 if found else 0
        if index is not None and index < following:
            raise InputError(
                f"chunks of document {shown(name)} without an index stand before one with index {index}, where there "
                f"is no room for them: number all of its chunks together, without metadata[{keys.index[0]!r}]"
            )
        found.append(following if index is None else index)
    return found


def _number(name: str, value: Any) -> int | None:
    if value is None:
        return None
    text = as_name(value)
    if isinstance(value, bool) or text is None or not re.fullmatch(r"[0-9]{1,15}(\.0+)?", text):
        raise InputError(f"index {shown(value)} in document {shown(name)} is not a whole number from 0: delete it")
    return int(float(text))


def _id(chunk: Chunk, id_of: IdOf, document_id: str, index: int) -> str:
    name = as_name(chunk.id)
    return name if name and not _RANDOM.fullmatch(name) else id_of(document_id, index)


def _check_ids(chunks: Sequence[Chunk], places: Sequence[Place]) -> None:
    first: dict[str, int] = {}
    for at, (chunk, place) in enumerate(zip(chunks, places, strict=True)):
        other = first.setdefault(place.id, at)
        if places[other] != place or chunks[other].text != chunk.text:
            raise InputError(
                f"chunks {other} and {at} have the id {shown(place.id)} but differ: clear the ids of all, which "
                "number_chunks then gives anew"
            )
