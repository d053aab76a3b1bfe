"""Neighbours by document and index in their metadata, for the vector stores whose query can ask for these.

Chroma and Qdrant find a neighbour so whatever its id is. Two things are asked for in more than one form: each key under
which metadata may hold the value (`keys.looked_up`, `keys.index`), and a document id that reads as a number, since a
chunk's id is text and its metadata may have the number. Indexes are asked for as integers; 7.0 and "7" aren't found.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from langchain_core.documents import Document

from ctxassembly.data.chunks import Beside, ChunkRef, PartName
from ctxassembly.data.metadata_keys import MetadataKeys
from ctxassembly.safe_repr import as_name

# Neighbours of chunks without an index, by their offsets, in vector stores that can be asked for a range of numbers.
#
# Chroma can't sort by an offset and stop after the first few, and Qdrant only where there is an index on it. A query
# for all chunks that begin before an offset would bring half of the document. So the first query asks for a stretch
# around the offset, `NEAR_CHARS` for each chunk that is wanted on a side. Where it brings too few, which is mostly so
# at the ends of a page or of a document, a second query asks for the rest of the part, and for the page before or after
# it. Both read ids and metadata alone; the texts of those that are wanted are fetched afterwards.


NEAR_CHARS = 4_000
"""Characters on each side of an offset that the first query covers, for each chunk wanted there."""
_MOST_DIGITS = 15
"""Of a page number; a longer one isn't exact as a float."""

Found = tuple[Any, Mapping[str, Any]]
"""An id and the metadata."""


class Spot(NamedTuple):
    """An offset in what the vector store calls a document."""

    document_id: str
    beside: Beside

    @property
    def page(self) -> int | None:
        """The number of its page; None if pages don't follow each other."""
        name = self.beside.page
        return None if name is None else int(float(dict(self.beside.part)[name]))


class Stretch(NamedTuple):
    """A range to ask for: the chunks of a part of a document that begin from `low` to `high`; None is no bound."""

    names: tuple[str, ...]
    """The keys that may hold the document's id."""
    document_id: str
    part: PartName
    """Keys and values that all chunks in it have."""
    low: int | None = None
    high: int | None = None


Read = Callable[[Sequence[Stretch]], Iterable[Found]]
"""A query of the vector store: from stretches to ids and metadata of all chunks in any of them."""


def spots(refs: Iterable[ChunkRef]) -> list[Spot]:
    """The offsets that `refs` ask to stand beside, each once."""
    return list(dict.fromkeys(Spot(ref.document_id, ref.beside) for ref in refs if ref.beside is not None))


def ids_beside(asked: Sequence[Spot], keys: MetadataKeys, read: Read) -> list[Any]:
    """Ids of the chunks at each spot, of the last before it and of the first after it, each once, by two queries."""
    near = [_around(spot, keys) for spot in asked]
    found = dict(read(near)) if near else {}
    farther = [
        stretch
        for spot in asked
        for before, _, after in (_sides(spot, keys, found, near_by=True),)
        for stretch in _farther(spot, keys, before, after)
    ]
    if farther:
        found |= dict(read(farther))
    return list(dict.fromkeys(id_ for spot in asked for side in _sides(spot, keys, found) for id_ in side))


def _around(spot: Spot, keys: MetadataKeys) -> Stretch:
    start, reach = spot.beside.start, NEAR_CHARS * spot.beside.each_side
    return Stretch(keys.looked_up, spot.document_id, _shared(spot), start - reach, start + reach)


def _farther(spot: Spot, keys: MetadataKeys, before: Sequence[Any], after: Sequence[Any]) -> Iterator[Stretch]:
    """Stretches for the second query, on each side with too few chunks: the rest of the part, the page beside it."""
    around, wanted = _around(spot, keys), spot.beside.each_side
    low, high = around.low or 0, around.high or 0
    if len(before) < wanted:
        if low > 0:  # nothing begins before 0
            yield around._replace(low=None, high=low - 1)
        yield from _page(spot, keys, -1)
    if len(after) < wanted:
        yield around._replace(low=high + 1, high=None)
        yield from _page(spot, keys, 1)


def _page(spot: Spot, keys: MetadataKeys, step: int) -> Iterator[Stretch]:
    """The whole page `step` pages on; nothing if pages don't follow each other, or before page 0."""
    name, number = spot.beside.page, spot.page
    if name is None or number is None or number + step < 0:
        return
    given = dict(spot.beside.part)[name]
    value = type(given)(number + step)  # as it is stored: 7, 7.0 or "7"
    document_id = spot.beside.document_id
    names = keys.looked_up if document_id is None else keys.documents
    yield Stretch(names, spot.document_id if document_id is None else document_id, ((name, value),))


def _shared(spot: Spot) -> PartName:
    """Metadata that all chunks of the spot's part share: the page number, or without pages all names of the part."""
    part, page = spot.beside.part, spot.beside.page
    return part if page is None else ((page, dict(part)[page]),)


def _sides(
    spot: Spot, keys: MetadataKeys, found: Mapping[Any, Mapping[str, Any]], *, near_by: bool = False
) -> tuple[list[Any], list[Any], list[Any]]:
    """Ids out of `found` before the spot, at it, and after it, each in order; on a side at most as many as wanted.

    The queries ask for all spots at once, so some of `found` belongs to others. `near_by` counts only what the first
    query asked for on behalf of this spot: a chunk farther off may have others between, which nobody has read yet.
    """
    here, wanted = (spot.page or 0, spot.beside.start), spot.beside.each_side
    pages, chars = (0, NEAR_CHARS * wanted) if near_by else (1, math.inf)
    placed = [
        (place, id_)
        for id_, metadata in found.items()
        if (place := _place(metadata, spot, keys)) is not None
        and abs(place[0] - here[0]) <= pages
        and abs(place[1] - here[1]) <= chars
    ]
    placed.sort(key=lambda entry: entry[0])
    before = [id_ for place, id_ in placed if place < here]
    own = [id_ for place, id_ in placed if place == here]
    after = [id_ for place, id_ in placed if place > here]
    return before[-wanted:], own, after[:wanted]


def _place(metadata: Mapping[str, Any], spot: Spot, keys: MetadataKeys) -> tuple[int, int] | None:
    """Page and offset of a chunk of the spot's document, and of its part where pages don't follow each other."""
    start = keys.read(metadata, "start")
    if type(start) is not int or not _is_of(metadata, spot, keys):
        return None
    name = spot.beside.page
    if name is None:
        return (0, start) if all(metadata.get(key) == value for key, value in spot.beside.part) else None
    page = as_name(metadata.get(name))
    if page is None or len(page) > _MOST_DIGITS or not page.removesuffix(".0").isdecimal():
        return None
    return int(float(page)), start


def _is_of(metadata: Mapping[str, Any], spot: Spot, keys: MetadataKeys) -> bool:
    """True if a chunk is of the spot's document, by the name in its store, or of the file that its pages belong to."""
    named = as_name(keys.document_of(metadata))
    looked_up = as_name(keys.read(metadata, "lookup_id"))
    return spot.document_id == (named if looked_up is None else looked_up) or (
        spot.beside.document_id is not None and spot.beside.document_id == named
    )


Asked = tuple[str, tuple[int, ...]]
"""A document and indexes in it; without indexes, all of it."""
MOST_DOCUMENTS = 32
"""Documents, or parts of them, in one query of Chroma, whose time grows with the square of the alternatives."""
PAGE = 1_000
"""Points that Qdrant is asked for at once."""


def by_document(refs: Sequence[ChunkRef]) -> list[Asked]:
    """Each document of `refs` once, with the indexes asked for; references by id or by offset are left out."""
    found: dict[str, set[int]] = {}
    refs = [ref for ref in refs if ref.chunk_id is None and ref.beside is None]
    whole = {ref.document_id for ref in refs if ref.index is None}
    for ref in refs:
        indexes = found.setdefault(ref.document_id, set())
        if ref.index is not None and ref.document_id not in whole:
            indexes.add(ref.index)
    return [(document_id, tuple(sorted(indexes))) for document_id, indexes in found.items()]


def chroma_places(vectorstore: Any, asked: Sequence[Asked], keys: MetadataKeys, condition: Any) -> list[Document]:
    """The documents asked for that pass `condition`, a filter of Chroma's: one query for each `MOST_DOCUMENTS`."""
    return [
        document
        for at in range(0, len(asked), MOST_DOCUMENTS)
        for document in chroma_documents(
            vectorstore.get(where=_and(_chroma_where(asked[at : at + MOST_DOCUMENTS], keys), condition))
        )
    ]


def chroma_beside(vectorstore: Any, asked: Sequence[Spot], keys: MetadataKeys, condition: Any) -> list[Any]:
    """Ids of the documents beside the spots that pass `condition`; no text is read."""

    def read(stretches: Sequence[Stretch]) -> Iterator[Found]:
        for at in range(0, len(stretches), MOST_DOCUMENTS):
            where = _or([_chroma_stretch(stretch, keys) for stretch in stretches[at : at + MOST_DOCUMENTS]])
            found = vectorstore.get(where=_and(where, condition), include=["metadatas"])
            yield from zip(found["ids"], (metadata or {} for metadata in found["metadatas"]), strict=True)

    return ids_beside(asked, keys, read)


def _chroma_stretch(stretch: Stretch, keys: MetadataKeys) -> Any:
    """The condition for a stretch: one of its document's names, all of its part, and an offset within its bounds."""
    names = _or([{key: {"$eq": name}} for key in stretch.names for name in _names(stretch.document_id)])
    bounds = {"$gte": stretch.low, "$lte": stretch.high}
    ranges = [
        {"$and": limits} if len(limits) > 1 else limits[0]
        for key in keys.start
        if (limits := [{key: {bound: value}} for bound, value in bounds.items() if value is not None])
    ]
    parts = [{key: {"$eq": value}} for key, value in stretch.part]
    every = [names, *parts, *([_or(ranges)] if ranges else [])]
    return {"$and": every} if len(every) > 1 else names


def chroma_documents(found: Any) -> Iterator[Document]:
    """Documents from an answer of Chroma's `get`; those without text are left out, as by its own `get_by_ids`."""
    for id_, text, metadata in zip(found["ids"], found["documents"], found["metadatas"], strict=True):
        if text is not None:
            yield Document(id=id_, page_content=text, metadata=metadata or {})


def _chroma_where(asked: Sequence[Asked], keys: MetadataKeys) -> Any:
    return _or(
        [
            _and(
                _or([{key: {"$eq": name}} for key in keys.looked_up for name in _names(document_id)]),
                _or([{key: {"$in": list(indexes)}} for key in keys.index]) if indexes else None,
            )
            for document_id, indexes in asked
        ]
    )


def _or(conditions: list[Any]) -> Any:
    # Chroma refuses an $or and an $and of one.
    return {"$or": conditions} if len(conditions) > 1 else conditions[0]


def _and(condition: Any, other: Any) -> Any:
    return {"$and": [condition, other]} if other else condition


def qdrant_places(vectorstore: Any, asked: Sequence[Asked], keys: MetadataKeys, condition: Any) -> list[Document]:
    """The documents asked for that pass `condition`, a `models.Filter`: one query, read `PAGE` points at a time."""
    from qdrant_client import models

    payload = vectorstore.metadata_payload_key
    one_of = [
        _each_of(
            models,
            {_path(payload, key): models.MatchValue(value=name) for key in keys.looked_up},
            {_path(payload, key): models.MatchAny(any=list(indexes)) for key in keys.index if indexes},
        )
        for document_id, indexes in asked
        for name in _names(document_id)
    ]
    wanted = models.Filter(must=[models.Filter(should=one_of), *([condition] if condition is not None else [])])
    return list(qdrant_documents(vectorstore, wanted))


def qdrant_beside(vectorstore: Any, asked: Sequence[Spot], keys: MetadataKeys, condition: Any) -> list[Any]:
    """Ids of the points beside the spots that pass `condition`; no text is read."""
    from qdrant_client import models

    payload = vectorstore.metadata_payload_key

    def read(stretches: Sequence[Stretch]) -> Iterator[Found]:
        one_of = [_qdrant_stretch(models, payload, stretch, keys) for stretch in stretches]
        wanted = models.Filter(must=[models.Filter(should=one_of), *([condition] if condition is not None else [])])
        for point in _points(vectorstore, wanted, with_payload=[payload]):
            yield point.id, point.payload.get(payload) or {}

    return ids_beside(asked, keys, read)


def _qdrant_stretch(models: Any, payload: str, stretch: Stretch, keys: MetadataKeys) -> Any:
    """The same condition as `_chroma_stretch`, in Qdrant's words."""

    def is_value(key: str, value: Any) -> Any:
        path = _path(payload, key)
        if isinstance(value, (int, float)):  # 7 and 7.0 are one place
            return models.FieldCondition(key=path, range=models.Range(gte=value, lte=value))
        return models.FieldCondition(key=path, match=models.MatchValue(value=value))

    names = [
        models.FieldCondition(key=_path(payload, key), match=models.MatchValue(value=name))
        for key in stretch.names
        for name in _names(stretch.document_id)
    ]
    bounds = models.Range(gte=stretch.low, lte=stretch.high)
    ranges = [models.FieldCondition(key=_path(payload, key), range=bounds) for key in keys.start]
    unbounded = stretch.low is None and stretch.high is None
    return models.Filter(
        must=[
            models.Filter(should=names),
            *(is_value(key, value) for key, value in stretch.part),
            *(() if unbounded else (models.Filter(should=ranges),)),
        ]
    )


def qdrant_documents(vectorstore: Any, wanted: Any) -> Iterator[Document]:
    """The documents of all points that pass a filter, with the metadata that Qdrant's own search gives them."""
    for point in _points(vectorstore, wanted):
        metadata = point.payload.get(vectorstore.metadata_payload_key) or {}
        yield Document(
            page_content=point.payload.get(vectorstore.content_payload_key, ""),
            metadata={**metadata, "_id": point.id, "_collection_name": vectorstore.collection_name},
        )


def _points(vectorstore: Any, wanted: Any, with_payload: Any = True) -> Iterator[Any]:
    offset = None
    while True:
        points, offset = vectorstore.client.scroll(
            vectorstore.collection_name, scroll_filter=wanted, limit=PAGE, offset=offset, with_payload=with_payload
        )
        yield from points
        if offset is None:
            return


def _each_of(models: Any, *groups: dict[str, Any]) -> Any:
    """A filter that wants one key of each group to match; an empty group wants nothing."""
    return models.Filter(
        must=[
            models.Filter(should=[models.FieldCondition(key=key, match=match) for key, match in group.items()])
            for group in groups
            if group
        ]
    )


def _path(payload: str, key: str) -> str:
    """The path of a metadata key in a payload; what isn't a plain or dotted name is quoted."""
    return f"{payload}.{key}" if re.fullmatch(r"[\w-]+(\.[\w-]+)*", key) else f'{payload}."{key}"'


def _names(document_id: str) -> list[str | int]:
    """The values under which metadata may hold a document's id: a number was made text."""
    is_number = re.fullmatch(r"0|-?[1-9]\d{0,17}", document_id)
    return [document_id, int(document_id)] if is_number else [document_id]
