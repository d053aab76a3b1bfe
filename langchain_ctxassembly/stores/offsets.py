"""The ids of the documents beside an offset, for vector stores that can be asked for a range of it: Chroma, Qdrant.

Two queries at most are made, and both read metadata alone: one near the offsets, one farther off for those where it
found too few, which are mostly the first and the last of a page or of a document.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from ctxassembly.data.chunks import Beside, ChunkRef, PartName
from ctxassembly.data.keys import MetadataKeys
from ctxassembly.shown import as_name

NEAR_CHARS = 4_000
"""How far from an offset is looked first, for each chunk that is wanted on a side."""
_MOST_DIGITS = 15

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
    """The chunks of a part of a document that begin from `low` to `high`, each where it is known."""

    names: tuple[str, ...]
    """The keys that may hold the document's id."""
    document_id: str
    part: PartName
    """The keys and values that all have."""
    low: int | None = None
    high: int | None = None


Read = Callable[[Sequence[Stretch]], Iterable[Found]]
"""From stretches to ids and metadata of all that lies in any of them."""


def spots(refs: Iterable[ChunkRef]) -> list[Spot]:
    """The offsets that `refs` ask to stand beside, each once."""
    return list(dict.fromkeys(Spot(ref.document_id, ref.beside) for ref in refs if ref.beside is not None))


def ids_beside(asked: Sequence[Spot], keys: MetadataKeys, read: Read) -> list[Any]:
    """The ids of the last ones that begin before each spot and of the first ones after it, each once."""
    near = [_around(spot, keys) for spot in asked]
    found = dict(read(near)) if near else {}
    farther = [stretch for spot in asked for stretch in _farther(spot, keys, *_sides(spot, keys, found, near_by=True))]
    if farther:
        found |= dict(read(farther))
    return list(dict.fromkeys(each for spot in asked for side in _sides(spot, keys, found) for each in side))


def _around(spot: Spot, keys: MetadataKeys) -> Stretch:
    start, reach = spot.beside.start, NEAR_CHARS * spot.beside.each_side
    return Stretch(keys.looked_up, spot.document_id, _shared(spot), start - reach, start + reach)


def _farther(spot: Spot, keys: MetadataKeys, before: Sequence[Any], after: Sequence[Any]) -> Iterator[Stretch]:
    """Where the sides on which too few were found go on: to the end of the part, and on the page beside it."""
    around, wanted = _around(spot, keys), spot.beside.each_side
    low, high = around.low or 0, around.high or 0
    if len(before) < wanted:
        if low > 0:
            yield around._replace(low=None, high=low - 1)
        yield from _page(spot, keys, -1)
    if len(after) < wanted:
        yield around._replace(low=high + 1, high=None)
        yield from _page(spot, keys, 1)


def _page(spot: Spot, keys: MetadataKeys, step: int) -> Iterator[Stretch]:
    name, number = spot.beside.page, spot.page
    if name is None or number is None or number + step < 0:
        return
    given = dict(spot.beside.part)[name]
    value = type(given)(number + step)
    document_id = spot.beside.document_id
    names = keys.looked_up if document_id is None else keys.documents
    yield Stretch(names, spot.document_id if document_id is None else document_id, ((name, value),))


def _shared(spot: Spot) -> PartName:
    """What all chunks have among which the spot's offset counts: the number of the page, else all names of the part."""
    part, page = spot.beside.part, spot.beside.page
    return part if page is None else ((page, dict(part)[page]),)


def _sides(
    spot: Spot, keys: MetadataKeys, found: Mapping[Any, Mapping[str, Any]], *, near_by: bool = False
) -> tuple[list[Any], list[Any]]:
    """Of what was `found` the ids that are wanted before the spot, and those after it, in order.

    Some of it was found for other spots. With `near_by` only what was looked for first counts for this one.
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
    placed.sort(key=lambda each: each[0])
    before = [id_ for place, id_ in placed if place < here]
    after = [id_ for place, id_ in placed if place > here]
    return before[-wanted:], after[:wanted]


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
    named = as_name(keys.document_of(metadata))
    looked_up = as_name(keys.read(metadata, "lookup_id"))
    return spot.document_id == (named if looked_up is None else looked_up) or (
        spot.beside.document_id is not None and spot.beside.document_id == named
    )
