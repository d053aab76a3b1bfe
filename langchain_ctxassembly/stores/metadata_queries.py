"""Neighbors by document and index in their metadata, for the vector stores whose query can ask for these.

Chroma and Qdrant find a neighbor by these whatever its id is. A query tries each key that may hold the value
(`keys.lookup_keys`, `keys.index`), and a document id that is a number both as text and as a number, since metadata may
hold either. Indexes are queried as integers; 7.0 and "7" aren't found.

Neighbors of chunks without an index are found by their offsets. Chroma can't sort by an offset and stop after the first
few, and Qdrant only with an index on it; a query for all chunks that begin before an offset would return half of the
document. So the first query covers a range around the offset, `NEAR_CHARS` for each chunk wanted on a side. If it
returns too few, mostly at the ends of a page or a document, a second query reads the rest of the section and the page
before or after it. Both read only ids and metadata; the texts of the neighbors are fetched afterwards.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from langchain_core.documents import Document

from ctxassembly.data.chunks import ChunkRef, OffsetRange, SectionKey
from ctxassembly.data.metadata_keys import MetadataKeys
from ctxassembly.safe_repr import to_id

NEAR_CHARS = 4_000
"""Characters on each side of an offset that the first query covers, for each chunk wanted there."""
_MAX_DIGITS = 15
"""Of a page number; a longer one isn't exact as a float."""

IdAndMetadata = tuple[Any, Mapping[str, Any]]
"""An id and the metadata."""


class OffsetTarget(NamedTuple):
    """An offset in what the vector store calls a document."""

    document_id: str
    around_offset: OffsetRange

    @property
    def page(self) -> int | None:
        """The number of its page; None if pages don't follow each other."""
        name = self.around_offset.page_key
        return None if name is None else int(float(dict(self.around_offset.section)[name]))


class StartRange(NamedTuple):
    """The chunks of a part of a document that begin from `min_start` to `max_start`; None is no bound."""

    id_keys: tuple[str, ...]
    """The keys that may hold the document's id."""
    document_id: str
    section: SectionKey
    """Keys and values that all chunks in it have."""
    min_start: int | None = None
    max_start: int | None = None


RangeQuery = Callable[[Sequence[StartRange]], Iterable[IdAndMetadata]]
"""A query of the vector store: from stretches to ids and metadata of all chunks in any of them."""


def offset_targets(refs: Iterable[ChunkRef]) -> list[OffsetTarget]:
    """Return the offsets in `refs` whose neighbors are requested, each once."""
    return list(
        dict.fromkeys(OffsetTarget(ref.document_id, ref.around_offset) for ref in refs if ref.around_offset is not None)
    )


def neighbor_ids(targets: Sequence[OffsetTarget], keys: MetadataKeys, run_query: RangeQuery) -> list[Any]:
    """Return the ids of the chunks at each target, the last before and the first after it, by at most two queries."""
    near = [_near_range(target, keys) for target in targets]
    found = dict(run_query(near)) if near else {}
    farther = [
        start_range
        for target in targets
        for before, _, after in (_split_sides(target, keys, found, is_first_query=True),)
        for start_range in _farther_ranges(target, keys, before, after)
    ]
    if farther:
        found |= dict(run_query(farther))
    return list(dict.fromkeys(id_ for target in targets for side in _split_sides(target, keys, found) for id_ in side))


def _near_range(target: OffsetTarget, keys: MetadataKeys) -> StartRange:
    start, near_chars = target.around_offset.start, NEAR_CHARS * target.around_offset.per_side
    return StartRange(
        keys.lookup_keys, target.document_id, _shared_metadata(target), start - near_chars, start + near_chars
    )


def _farther_ranges(
    target: OffsetTarget, keys: MetadataKeys, before: Sequence[Any], after: Sequence[Any]
) -> Iterator[StartRange]:
    """Yield the second query's ranges, on each side with too few chunks: the rest of the section, the next page."""
    near, per_side = _near_range(target, keys), target.around_offset.per_side
    low, high = near.min_start or 0, near.max_start or 0
    if len(before) < per_side:
        if low > 0:  # nothing begins before 0
            yield near._replace(min_start=None, max_start=low - 1)
        yield from _page_range(target, keys, -1)
    if len(after) < per_side:
        yield near._replace(min_start=high + 1, max_start=None)
        yield from _page_range(target, keys, 1)


def _page_range(target: OffsetTarget, keys: MetadataKeys, step: int) -> Iterator[StartRange]:
    """Return the whole page `step` pages on; nothing if pages don't follow each other, or before page 0."""
    name, number = target.around_offset.page_key, target.page
    if name is None or number is None or number + step < 0:
        return
    stored_value = dict(target.around_offset.section)[name]
    value = type(stored_value)(number + step)  # as it is stored: 7, 7.0 or "7"
    document_id = target.around_offset.document_id
    names = keys.lookup_keys if document_id is None else keys.document_keys
    yield StartRange(names, target.document_id if document_id is None else document_id, ((name, value),))


def _shared_metadata(target: OffsetTarget) -> SectionKey:
    """Return the metadata that chunks of the target's section share: its page number, or all of it without pages."""
    part, page = target.around_offset.section, target.around_offset.page_key
    return part if page is None else ((page, dict(part)[page]),)


def _split_sides(
    target: OffsetTarget, keys: MetadataKeys, found: Mapping[Any, Mapping[str, Any]], *, is_first_query: bool = False
) -> tuple[list[Any], list[Any], list[Any]]:
    """Return the ids in `found` before the target, at it, and after it, in order, at most `per_side` on each side.

    The queries cover all targets at once, so some of `found` belongs to others. `is_first_query` counts only what the
    first query requested for this target: between it and a chunk farther away there may be chunks not read yet.
    """
    own_position, per_side = (target.page or 0, target.around_offset.start), target.around_offset.per_side
    max_pages, max_chars = (0, NEAR_CHARS * per_side) if is_first_query else (1, math.inf)
    positions = [
        (position, id_)
        for id_, metadata in found.items()
        if (position := _position(metadata, target, keys)) is not None
        and abs(position[0] - own_position[0]) <= max_pages
        and abs(position[1] - own_position[1]) <= max_chars
    ]
    positions.sort(key=lambda entry: entry[0])
    before = [id_ for position, id_ in positions if position < own_position]
    own = [id_ for position, id_ in positions if position == own_position]
    after = [id_ for position, id_ in positions if position > own_position]
    return before[-per_side:], own, after[:per_side]


def _position(metadata: Mapping[str, Any], target: OffsetTarget, keys: MetadataKeys) -> tuple[int, int] | None:
    """Return page and offset of a chunk of the target's document; of its section if pages don't follow each other."""
    start = keys.read(metadata, "start")
    if type(start) is not int or not _is_same_document(metadata, target, keys):
        return None
    name = target.around_offset.page_key
    if name is None:
        return (0, start) if all(metadata.get(key) == value for key, value in target.around_offset.section) else None
    page = to_id(metadata.get(name))
    if page is None or len(page) > _MAX_DIGITS or not page.removesuffix(".0").isdecimal():
        return None
    return int(float(page)), start


def _is_same_document(metadata: Mapping[str, Any], target: OffsetTarget, keys: MetadataKeys) -> bool:
    """Return True if a chunk is of the target's document, by its id in the store, or of the file of its pages."""
    document_name = to_id(keys.read_document_id(metadata))
    looked_up = to_id(keys.read(metadata, "lookup_id"))
    return target.document_id == (document_name if looked_up is None else looked_up) or (
        target.around_offset.document_id is not None and target.around_offset.document_id == document_name
    )


IndexQuery = tuple[str, tuple[int, ...]]
"""A document and indexes in it; without indexes, all of it."""
MAX_DOCUMENTS = 32
"""Documents, or parts of them, in one query of Chroma, whose time grows with the square of the alternatives."""
PAGE_SIZE = 1_000
"""Points in one page of a Qdrant query."""


def index_queries(refs: Sequence[ChunkRef]) -> list[IndexQuery]:
    """Return each document of `refs` once, with the requested indexes; refs by id or by offset are left out."""
    indexes_by_document: dict[str, set[int]] = {}
    refs = [ref for ref in refs if ref.chunk_id is None and ref.around_offset is None]
    whole_documents = {ref.document_id for ref in refs if ref.index is None}
    for ref in refs:
        indexes = indexes_by_document.setdefault(ref.document_id, set())
        if ref.index is not None and ref.document_id not in whole_documents:
            indexes.add(ref.index)
    return [(document_id, tuple(sorted(indexes))) for document_id, indexes in indexes_by_document.items()]


def chroma_by_index(
    vectorstore: Any, queries: Sequence[IndexQuery], keys: MetadataKeys, condition: Any
) -> list[Document]:
    """Return the requested documents that pass `condition`, a Chroma filter, by one query per `MAX_DOCUMENTS`."""
    return [
        document
        for at in range(0, len(queries), MAX_DOCUMENTS)
        for document in chroma_documents(
            vectorstore.get(where=_and(_chroma_where(queries[at : at + MAX_DOCUMENTS], keys), condition))
        )
    ]


def chroma_ids_by_offset(
    vectorstore: Any, targets: Sequence[OffsetTarget], keys: MetadataKeys, condition: Any
) -> list[Any]:
    """Return the ids of the documents next to the targets that pass `condition`; no text is read."""

    def run_query(stretches: Sequence[StartRange]) -> Iterator[IdAndMetadata]:
        for at in range(0, len(stretches), MAX_DOCUMENTS):
            where = _or([_chroma_range_filter(stretch, keys) for stretch in stretches[at : at + MAX_DOCUMENTS]])
            found = vectorstore.get(where=_and(where, condition), include=["metadatas"])
            yield from zip(found["ids"], (metadata or {} for metadata in found["metadatas"]), strict=True)

    return neighbor_ids(targets, keys, run_query)


def _chroma_range_filter(start_range: StartRange, keys: MetadataKeys) -> Any:
    """Return the condition for a range: one of its document's ids, all of its section, an offset within its bounds."""
    names = _or([{key: {"$eq": name}} for key in start_range.id_keys for name in _id_values(start_range.document_id)])
    bounds = {"$gte": start_range.min_start, "$lte": start_range.max_start}
    ranges = [
        {"$and": limits} if len(limits) > 1 else limits[0]
        for key in keys.start
        if (limits := [{key: {bound: value}} for bound, value in bounds.items() if value is not None])
    ]
    parts = [{key: {"$eq": value}} for key, value in start_range.section]
    conditions = [names, *parts, *([_or(ranges)] if ranges else [])]
    return {"$and": conditions} if len(conditions) > 1 else names


def chroma_documents(found: Any) -> Iterator[Document]:
    """Yield the documents in a result of Chroma's `get`, without those that have no text, as its `get_by_ids` does."""
    for id_, text, metadata in zip(found["ids"], found["documents"], found["metadatas"], strict=True):
        if text is not None:
            yield Document(id=id_, page_content=text, metadata=metadata or {})


def _chroma_where(queries: Sequence[IndexQuery], keys: MetadataKeys) -> Any:
    return _or(
        [
            _and(
                _or([{key: {"$eq": name}} for key in keys.lookup_keys for name in _id_values(document_id)]),
                _or([{key: {"$in": list(indexes)}} for key in keys.index]) if indexes else None,
            )
            for document_id, indexes in queries
        ]
    )


def _or(conditions: list[Any]) -> Any:
    # Chroma refuses an $or and an $and of one.
    return {"$or": conditions} if len(conditions) > 1 else conditions[0]


def _and(condition: Any, other: Any) -> Any:
    return {"$and": [condition, other]} if other else condition


def qdrant_by_index(
    vectorstore: Any, queries: Sequence[IndexQuery], keys: MetadataKeys, condition: Any
) -> list[Document]:
    """Return the documents that pass `condition`, a `models.Filter`: one query, read `PAGE_SIZE` points at a time."""
    from qdrant_client import models

    payload = vectorstore.metadata_payload_key
    one_of = [
        _match_each(
            models,
            {_payload_path(payload, key): models.MatchValue(value=name) for key in keys.lookup_keys},
            {_payload_path(payload, key): models.MatchAny(any=list(indexes)) for key in keys.index if indexes},
        )
        for document_id, indexes in queries
        for name in _id_values(document_id)
    ]
    query_filter = models.Filter(must=[models.Filter(should=one_of), *([condition] if condition is not None else [])])
    return list(qdrant_documents(vectorstore, query_filter))


def qdrant_ids_by_offset(
    vectorstore: Any, targets: Sequence[OffsetTarget], keys: MetadataKeys, condition: Any
) -> list[Any]:
    """Return the ids of the points next to the targets that pass `condition`; no text is read."""
    from qdrant_client import models

    payload = vectorstore.metadata_payload_key

    def run_query(stretches: Sequence[StartRange]) -> Iterator[IdAndMetadata]:
        one_of = [_qdrant_range_filter(models, payload, stretch, keys) for stretch in stretches]
        wanted = models.Filter(must=[models.Filter(should=one_of), *([condition] if condition is not None else [])])
        for point in _points(vectorstore, wanted, with_payload=[payload]):
            yield point.id, point.payload.get(payload) or {}

    return neighbor_ids(targets, keys, run_query)


def _qdrant_range_filter(models: Any, payload: str, start_range: StartRange, keys: MetadataKeys) -> Any:
    """Return the condition of `_chroma_range_filter` as a Qdrant filter."""

    def is_value(key: str, value: Any) -> Any:
        path = _payload_path(payload, key)
        if isinstance(value, (int, float)):  # 7 and 7.0 are one place
            return models.FieldCondition(key=path, range=models.Range(gte=value, lte=value))
        return models.FieldCondition(key=path, match=models.MatchValue(value=value))

    names = [
        models.FieldCondition(key=_payload_path(payload, key), match=models.MatchValue(value=name))
        for key in start_range.id_keys
        for name in _id_values(start_range.document_id)
    ]
    bounds = models.Range(gte=start_range.min_start, lte=start_range.max_start)
    ranges = [models.FieldCondition(key=_payload_path(payload, key), range=bounds) for key in keys.start]
    unbounded = start_range.min_start is None and start_range.max_start is None
    return models.Filter(
        must=[
            models.Filter(should=names),
            *(is_value(key, value) for key, value in start_range.section),
            *(() if unbounded else (models.Filter(should=ranges),)),
        ]
    )


def qdrant_documents(vectorstore: Any, query_filter: Any) -> Iterator[Document]:
    """Return the documents of all points that pass a filter, with the metadata that Qdrant's own search gives them."""
    for point in _points(vectorstore, query_filter):
        metadata = point.payload.get(vectorstore.metadata_payload_key) or {}
        yield Document(
            page_content=point.payload.get(vectorstore.content_payload_key, ""),
            metadata={**metadata, "_id": point.id, "_collection_name": vectorstore.collection_name},
        )


def _points(vectorstore: Any, query_filter: Any, with_payload: Any = True) -> Iterator[Any]:
    offset = None
    while True:
        points, offset = vectorstore.client.scroll(
            vectorstore.collection_name,
            scroll_filter=query_filter,
            limit=PAGE_SIZE,
            offset=offset,
            with_payload=with_payload,
        )
        yield from points
        if offset is None:
            return


def _match_each(models: Any, *groups: dict[str, Any]) -> Any:
    """Return a filter that wants one key of each group to match; an empty group wants nothing."""
    return models.Filter(
        must=[
            models.Filter(should=[models.FieldCondition(key=key, match=match) for key, match in group.items()])
            for group in groups
            if group
        ]
    )


def _payload_path(payload: str, key: str) -> str:
    """Return the path of a metadata key in a payload; what isn't a plain or dotted name is quoted."""
    return f"{payload}.{key}" if re.fullmatch(r"[\w-]+(\.[\w-]+)*", key) else f'{payload}."{key}"'


def _id_values(document_id: str) -> list[str | int]:
    """Return the values under which metadata may hold a document's id: a number was made text."""
    is_number = re.fullmatch(r"0|-?[1-9]\d{0,17}", document_id)
    return [document_id, int(document_id)] if is_number else [document_id]
