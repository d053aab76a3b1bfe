"""The cases that every store of neighbors must pass, and filters with the chunks of a sample that pass each."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ctxassembly.data.chunks import Chunk, ChunkRef
from ctxassembly.safe_repr import safe_repr


@dataclass(frozen=True, slots=True)
class StoreCase:
    """One request to a store, and the chunks that it must answer with.

    >>> case = StoreCase((ChunkRef("gastro", 1),), (Chunk("gastro#1", "gastro", "Rest.", 1),))
    >>> case.check([Chunk("gastro#1", "gastro", "Rest.", 1)])
    """

    refs: tuple[ChunkRef, ...]
    expected: tuple[Chunk, ...]
    can_be_empty: bool = False
    """True if the store may leave such references unanswered: those by id, or to whole documents."""

    def check(self, found: Sequence[Chunk]) -> None:
        """Compare an answer by id, document, index, text and metadata. Order doesn't count, nor what comes twice.

        Raises:
            AssertionError: the answer is another one. It names the references and both sets of chunks.
        """
        if not isinstance(found, Sequence) or not all(isinstance(chunk, Chunk) for chunk in found):
            raise AssertionError(f"{self.refs} must give a list of chunks, gave {safe_repr(found)}")
        got, wanted = sorted({*map(_comparable, found)}), sorted({*map(_comparable, self.expected)})
        if got != wanted and (found or not self.can_be_empty):
            raise AssertionError(f"{self.refs} must give {wanted}, gave {got}")


def store_cases(chunks: Iterable[Chunk]) -> Iterator[StoreCase]:
    """Yield cases for a store of exactly these `chunks`, each with an index and an id of its own.

    They ask by index, for several documents in one call, by id and for whole documents; for chunks that don't exist;
    twice for the same chunk; and for nothing. An async store is given the same cases: `case.check(await
    store.afetch(case.refs))`. Filters, offsets and titles are not asked for.

    >>> from ctxassembly import MemoryStore
    >>> chunks = [Chunk(f"{name}#{at}", name, f"Part {at} of {name}.", at) for name in "ab" for at in range(3)]
    >>> store = MemoryStore(chunks)
    >>> for case in store_cases(chunks):
    ...     case.check(store.fetch(case.refs))
    """
    all_chunks = tuple(chunks)
    documents: dict[str, list[Chunk]] = defaultdict(list)
    for chunk in all_chunks:
        documents[chunk.lookup_id].append(chunk)
    yield StoreCase((), ())
    yield StoreCase(tuple(ChunkRef(chunk.lookup_id, chunk.index) for chunk in all_chunks), all_chunks)
    yield StoreCase((ChunkRef("no such document", 0),), ())
    yield StoreCase((ChunkRef("no such document", chunk_id="no such chunk"),), ())
    yield StoreCase((ChunkRef("no such document"),), ())
    for document_id, members in documents.items():
        first = min(members, key=lambda chunk: chunk.index or 0)
        existing = ChunkRef(document_id, first.index)
        missing = ChunkRef(document_id, 1 + max(chunk.index or 0 for chunk in members))
        yield StoreCase((existing, missing, existing), (first,))
        yield StoreCase((ChunkRef(document_id, chunk_id=first.id),), (first,), can_be_empty=True)
        yield StoreCase((ChunkRef(document_id),), (*members,), can_be_empty=True)


def _comparable(chunk: Chunk) -> tuple[str, ...]:
    """Return the fields that a store must return as they were stored; types count: 1 is not "1"."""
    metadata = sorted(chunk.metadata.items(), key=lambda entry: str(entry[0]))
    return tuple(map(repr, (chunk.id, chunk.lookup_id, chunk.index, chunk.text, metadata)))


ROWS: Mapping[str, Mapping[str, Any]] = {
    "a": {"tenant": "ours", "year": 2020, "ok": True, "tags": ["x", "y"], "at": {"page": 3}},
    "b": {"tenant": "theirs", "year": 2021, "ok": False, "tags": ["y"], "at": {"page": "3"}},
    "c": {"tenant": "O'Brien", "year": 1, "ok": 1, "at.page": 3},
    "d": {"tenant": "Éa", "year": "2020", "score": 1.5},
    "e": {},
    "f": {"tenant": None, "year": 2020.0, "tags": "x"},
}
"""Ids, and their metadata."""
EVERYONE = "abcdef"

FILTER_CASES: Sequence[tuple[Any, str]] = (
    (None, EVERYONE),
    ({}, EVERYONE),
    ({"tenant": "ours"}, "a"),
    ({"tenant": {"$eq": "O'Brien"}}, "c"),
    ({"tenant": "x' OR '1'='1"}, ""),
    ({"tenant": {"$ne": "ours"}}, "bcd"),  # a row without the key passes none
    ({"tenant": {"$in": ["ours", "Éa"]}}, "ad"),
    ({"tenant": {"$in": []}}, ""),
    ({"tenant": {"$nin": ["ours", "Éa"]}}, "bc"),
    ({"tenant": {"$nin": []}}, "abcd"),
    ({"tenant": {"$exists": True}}, "abcd"),
    ({"tenant": {"$exists": False}}, "ef"),
    ({"unknown": {"$exists": False}}, EVERYONE),
    ({"unknown": "x"}, ""),
    ({"unknown": {"$ne": "x"}}, ""),
    ({"year": 2020}, "af"),  # 2020.0 is 2020, "2020" isn't
    ({"year": "2020"}, "d"),
    ({"year": {"$gt": 2020}}, "b"),
    ({"year": {"$gte": 2020}}, "abf"),
    ({"year": {"$lt": 2020}}, "c"),
    ({"year": {"$lte": 2020}}, "acf"),
    ({"year": {"$gt": 2019, "$lt": 2021}}, "af"),
    ({"year": {"$gt": "1"}}, "d"),  # text with text alone
    ({"tenant": {"$gt": "ours"}}, "bd"),  # by code points
    ({"score": {"$gte": 1.5}}, "d"),
    ({"year": {"$in": [1, 2021]}}, "bc"),
    ({"ok": True}, "a"),  # True is not 1
    ({"ok": 1}, "c"),
    ({"ok": {"$in": [True, 1]}}, "ac"),
    ({"ok": False}, "b"),
    ({"tags": {"$eq": ["x", "y"]}}, "a"),
    ({"tags": "x"}, "f"),
    ({"tags": "y"}, ""),  # a list isn't its element
    ({"tags": {"$in": ["x", "y"]}}, "f"),
    ({"at.page": 3}, "ac"),
    ({"at.page": {"$exists": True}}, "abc"),
    ({"tenant": "ours", "year": 2020}, "a"),
    ({"tenant": "ours", "year": 2021}, ""),
    ({"$and": [{"tenant": "ours"}, {"year": 2020}]}, "a"),
    ({"$or": [{"tenant": "ours"}, {"year": 1}]}, "ac"),
    ({"$or": [{"$and": [{"tenant": "ours"}, {"year": 2021}]}, {"$and": [{"year": 1}, {"ok": 1}]}]}, "c"),
    ({"$and": [{"$or": [{"tenant": "ours"}, {"tenant": "theirs"}]}, {"year": {"$gt": 2020}}]}, "b"),
    ({"$not": {"tenant": "ours"}}, "bcd"),  # here neither
    ({"$not": {"$or": [{"tenant": "ours"}, {"unknown": "x"}]}}, ""),
    ({"$not": {"$not": {"tenant": "ours"}}}, "a"),
    ({"$not": {"tenant": {"$nin": ["ours"]}}}, "a"),
    ({"$not": {"tenant": {"$in": []}}}, "abcd"),
    ({"$not": {"tenant": {"$in": ["ours"]}}}, "bcd"),
    ({"$not": {"tenant": {"$ne": "ours"}}}, "a"),
    ({"$not": {"tenant": {"$like": "o%"}}}, "bcd"),
    ({"$not": {"tenant": {"$gt": "ours"}}}, "ac"),
    ({"$not": {"year": {"$between": [2020, 2021]}}}, "cd"),
    ({"$not": {"at.page": 3}}, "b"),
    ({"$not": {"tenant": {"$exists": True}}}, "ef"),
    ({"$not": [{"tenant": "ours"}, {"year": 1}]}, "bd"),
    ({"year": {"$between": [2020, 2021]}}, "abf"),
    ({"tenant": {"$like": "o%"}}, "a"),
    ({"tenant": {"$ilike": "o%"}}, "ac"),
    ({"tenant": {"$like": "%"}, "year": {"$like": "%"}}, "d"),
    ({"chunk_index": {"$lt": 2}}, "ab"),  # columns are read as well
    ({"document_id": "doc"}, EVERYONE),
    ({"document_id": {"$in": ["doc", "x"]}, "tenant": "ours"}, "a"),
    ({"chunk_index": {"$in": [2, 3]}}, "cd"),
    ({"chunk_index": {"$nin": [2, 3]}}, "abef"),
    ({"chunk_index": True}, ""),
)
"""Filters, and the ids of the rows that pass each."""

UNREADABLE: Sequence[Any] = (
    {"$and": []},
    {"$or": [{}]},
    {"$nor": [{"tenant": "ours"}]},
    {7: "x"},
    {"tenant": {"$regex": "x"}},
    {"tenant": None},
)
"""Filters that no index can read: each is an error, since without it all chunks would be found."""
