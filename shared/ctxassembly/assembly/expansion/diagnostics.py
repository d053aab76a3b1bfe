"""Warnings of what hits or their store lack for neighbors and joining, each with the line that fixes it.

A chunk finds its neighbors by its document and its index, or by links to them. Most indexes are made without either.
Then an assembly can't do what it is there for although nothing has failed, so silence would be the worst answer.

A warning needs proof that something is missing, since a document may have one chunk only: a hit at index 3 has others
before it, an offset of 4,000 has text before it, a link names another chunk. Hits at index 0 prove nothing. The store
is asked for them as well; if it doesn't find even those, a note says so with an "if".
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Literal

from ctxassembly.assembly.adjacency.positions import (
    OFFSET_TOLERANCE,
    PARENT_KEY,
    chunk_section,
    offset_of,
)
from ctxassembly.data.chunks import Chunk
from ctxassembly.data.metadata_keys import MetadataKeys
from ctxassembly.safe_repr import pluralize, safe_repr
from ctxassembly.user_warnings import with_remedy

Problem = Literal["place", "part", "answer", "method", "failed", "pages", "hit"]
"""The hits have no position in their document, or one in a page or a larger chunk alone; the store has none of the
expected chunks; the store can't be queried; it raised an error; each page of a file is a separate document; the store
doesn't contain the hits themselves."""

_ALONE = "The text before and after the retrieved chunks isn't added"
ADVICE: Mapping[Problem, tuple[str, str]] = {
    "place": (
        "The text before and after these chunks isn't added",
        "number_stored_chunks(vectorstore) or number_chunks(documents)",
    ),
    "part": ("The text beyond it isn't added", "number_chunks(documents)"),
    "answer": (_ALONE, "AssemblyConfig(keys=MetadataKeys(document_id='document_id', index='chunk_index'))"),
    "method": (_ALONE, "assemble(hits, store=MemoryStore(chunks))"),
    "failed": (_ALONE, "AssemblyConfig(on_store_error='raise')"),
    "hit": ("The text before and after these chunks isn't added", "store = VectorStoreNeighbors(vectorstore)"),
    "pages": ("Text that runs over a page break isn't joined", "AssemblyConfig(keys=MetadataKeys(document_id={!r}))"),
}
"""What follows from each problem, and the call that fixes it, unless the store has one; see `protocols.Store`."""
_ID_CHARS = 40
_FILE = re.compile(r"\.\w{2,5}$")


def diagnose(
    hits: Sequence[Chunk],
    keys: MetadataKeys,
    returned_ids: Mapping[str, Collection[str]] | None,
    offset_answered: Collection[str] = (),
    remedies: Mapping[Problem, str] | None = None,
) -> str | None:
    """Return the message that says what `hits` or their store lack; None if they lack nothing.

    `returned_ids` are the ids of the chunks that the store returned, by document id; None if it wasn't asked, or
    failed. `offset_answered` are the ids of the hits whose neighbors it found by their offsets. `remedies` are the
    calls that the store names.
    """
    without_position = _hits_without_position(hits, returned_ids, offset_answered)
    if without_position:
        fact = _describe_without_position(without_position, len(hits), keys)
        if _is_indexed_elsewhere(without_position, hits):
            # They come from a retriever that keeps chunks of its own, such as BM25.
            fact += "; other chunks of the same document have an index"
            remedies = {"place": "documents = number_chunks(documents)"}
        return describe_problem("place", fact, remedies)
    is_empty = returned_ids is not None and not returned_ids
    if is_empty and (reason := missing_neighbor(hits) or _missing_hit_proof(hits)) is not None:
        return describe_problem("answer", f"The store has no chunk next to the retrieved ones, but {reason}", remedies)
    if (separate_pages := _pages_as_documents(hits, keys)) is not None:
        fact, key = separate_pages
        return describe_problem("pages", fact, {"pages": ADVICE["pages"][1].format(key)})
    return None


def describe_problem(problem: Problem, fact: str, remedies: Mapping[Problem, str] | None = None) -> str:
    """Return the message of `fact`, with what follows from it and the call that fixes it."""
    effect, call = ADVICE[problem]
    return with_remedy(fact, effect, (remedies or {}).get(problem) or call)


def _pages_as_documents(hits: Iterable[Chunk], keys: MetadataKeys) -> tuple[str, str] | None:
    """Return the fact that pages of one file are documents of their own, and the key for the file.

    Chunks of a page may be linked to each other. One with an index above 0 is of a document that somebody numbered.
    """
    pages: dict[tuple[str, str], dict[str, str]] = defaultdict(dict)
    for hit in hits:
        if hit.index or (page := keys.read(hit.metadata, "page")) is None:
            continue
        for key in ("file_path", *keys.source):
            file = hit.metadata.get(key)
            if isinstance(file, str) and _FILE.search(file):
                pages[key, file].setdefault(hit.document_id, safe_repr(page, _ID_CHARS))
                break
    for (key, file), of_file in pages.items():
        numbers = [*dict.fromkeys(of_file.values())]
        if len(of_file) > 1 and len(numbers) > 1:
            return f"Pages {numbers[0]} and {numbers[1]} of {safe_repr(file, _ID_CHARS)} are separate documents", key
    return None


def limited_to_part(
    hits: Sequence[Chunk], finds_pages: bool, remedies: Mapping[Problem, str] | None = None
) -> str | None:
    """Return a note on `hits` that find neighbors only in their own page, or in the larger chunk they were cut from.

    `finds_pages` says whether the store is asked for the pages before and after by their numbers.
    """

    def is_limited(hit: Chunk) -> bool:
        is_page = not finds_pages and hit.lookup_id != hit.document_id and bool(chunk_section(hit))
        return hit.index is None and (is_page or PARENT_KEY in dict(chunk_section(hit)))

    limited = [hit for hit in hits if is_limited(hit)]
    if not limited:
        return None
    which = (
        f"{len(limited):,} of {pluralize(len(hits), 'retrieved chunk')} (first: {safe_repr(limited[0].id, _ID_CHARS)})"
    )
    return describe_problem("part", f"The place of {which} is known in its page or larger chunk alone", remedies)


def unverified_gaps(hits: Sequence[Chunk], remedies: Mapping[Problem, str] | None = None) -> str | None:
    """Return a note on `hits` near which the store has nothing: each may be its document's only chunk.

    A store that has documents of one chunk finds the hit itself at its index; see `store_identity.py`.
    """
    first = next((hit for hit in hits if hit.index is not None), None)
    if first is None:
        return None
    document = safe_repr(first.document_id, _ID_CHARS)
    fact = f"The store may lack document {document}, since it doesn't find the retrieved chunk {first.index} of it"
    return describe_problem("answer", fact, remedies)


def _missing_hit_proof(hits: Iterable[Chunk]) -> str | None:
    """Return the proof that the store misses a document: several hits are of it, and not even the first is found."""
    first_indexes: dict[str, int] = {}
    for hit in hits:
        if hit.index is not None and hit.index != (first := first_indexes.setdefault(hit.document_id, hit.index)):
            chunks = f"chunks {first} and {hit.index} of document {safe_repr(hit.document_id, _ID_CHARS)}"
            return f"{chunks} were retrieved, and it doesn't find chunk {first} either"
    return None


def unstored_hits_warning(unstored: Sequence[Chunk], total: int, remedies: Mapping[Problem, str] | None = None) -> str:
    """Return the message that says that the store doesn't hold `unstored`, which are some of the `total` hits."""
    which = f"{len(unstored):,} of {pluralize(total, 'retrieved chunk')}"
    first = safe_repr(unstored[0].id, _ID_CHARS)
    return describe_problem("hit", f"The store doesn't contain {which} (first: {first})", remedies)


def _hits_without_position(
    hits: Sequence[Chunk], returned_ids: Mapping[str, Collection[str]] | None, offset_answered: Collection[str]
) -> list[Chunk]:
    """Return the hits whose neighbors can't be determined, although they have some or may have some."""
    unlinked = [hit for hit in hits if hit.index is None and not (hit.prev_id or hit.next_id)]
    if not unlinked:
        return []
    linked = {chunk_id for hit in hits for chunk_id in (hit.prev_id, hit.next_id)}
    hits_per_document = Counter(hit.document_id for hit in hits)
    ids: dict[str, set[str]] = defaultdict(set)
    for hit in hits:
        ids[hit.document_id].add(hit.id)
    result = []
    for hit in unlinked:
        if hit.id in linked:
            continue
        returned = None if returned_ids is None or hit.id in offset_answered else returned_ids.get(hit.document_id, ())
        can_be_sorted = offset_of(hit) is not None
        # Without an offset its order is unknown, among other hits as among other chunks that came. A store that was
        # asked and has nothing of the document didn't find it.
        is_among_others = not can_be_sorted and hits_per_document[hit.document_id] > 1
        if is_among_others or not (
            returned is None or (returned and (can_be_sorted or ids[hit.document_id].issuperset(returned)))
        ):
            result.append(hit)
    return result


def _describe_without_position(without_position: Sequence[Chunk], total: int, keys: MetadataKeys) -> str:
    nameless = sum(hit.document_id == hit.id for hit in without_position)
    lacks: list[str] = []
    # A hit without a document has lost its index.
    if nameless < len(without_position) or any(keys.read(hit.metadata, "index") is None for hit in without_position):
        lacks.append(f"no {keys.index[0]} or prev/next links")
    if nameless:
        whose = "" if nameless == len(without_position) else f" ({nameless:,} of them)"
        lacks.append(f"neither {keys.document_id[0]} nor {keys.source[0]}{whose}")
    lacking, first = " and ".join(lacks), safe_repr(without_position[0].id, _ID_CHARS)
    verb = "chunk has" if total == 1 else "chunks have"
    return f"{len(without_position):,} of {total:,} retrieved {verb} {lacking} (first: {first})"


def _is_indexed_elsewhere(without_position: Iterable[Chunk], hits: Iterable[Chunk]) -> bool:
    """Return True if one retriever gives the chunks of a document with their index, and another one without."""
    indexed = {hit.document_id for hit in hits if hit.index is not None}
    return any(hit.document_id in indexed for hit in without_position)


def missing_neighbor(hits: Iterable[Chunk], others: Iterable[Chunk] = ()) -> str | None:
    """Return the proof that a neighbor of the hits is neither a hit nor among `others`; None if that isn't certain."""
    hits = list(hits)
    known = [*hits, *others]
    ids = {chunk.id for chunk in known}
    indexes = {(chunk.document_id, chunk.index) for chunk in known}
    for hit in hits:
        if hit.index is not None:
            if hit.index and (hit.document_id, hit.index - 1) not in indexes:
                document = safe_repr(hit.document_id, _ID_CHARS)
                return f"chunk {hit.index} of document {document} has another before it"
        elif hit.start is not None and hit.start > OFFSET_TOLERANCE and hit.prev_id not in ids:
            return f"chunk {safe_repr(hit.id, _ID_CHARS)} begins at character {hit.start:,}"
        elif link := next((name for name in (hit.prev_id, hit.next_id) if name and name not in ids), None):
            return f"chunk {safe_repr(hit.id, _ID_CHARS)} is linked to {safe_repr(link, _ID_CHARS)}"
    return None
