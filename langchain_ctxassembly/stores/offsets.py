"""Neighbours of chunks without an index, by their offsets, in vector stores that can be asked for a range of numbers.

Chroma can't sort by an offset and stop after the first few, and Qdrant only where there is an index on it. A query for
all chunks that begin before an offset would bring half of the document. So the first query asks for a stretch around
the offset, `NEAR_CHARS` for each chunk that is wanted on a side. Where it brings too few, which is mostly so at the
ends of a page or of a document, a second query asks for the rest of the part, and for the page before or after it. Both
read ids and metadata alone; the texts of those that are wanted are fetched afterwards.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from ctxassembly.data.chunks import Beside, ChunkRef, PartName
from ctxassembly.data.metadata_keys import MetadataKeys
from ctxassembly.safe_repr import as_name

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
