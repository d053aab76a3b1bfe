"""Warnings of what hits or their store lack for neighbors and joining, each with the line that fixes it.

A chunk finds its neighbors by its document and its index, or by links to them. Most indexes are made without either.
Then an assembly can't do what it is there for although nothing has failed, so silence would be the worst answer.

A warning needs proof that something is missing, since a document may have one chunk only: a hit at index 3 has others
before it, an offset of 4,000 has text before it, a link names another chunk. Hits at index 0 prove nothing. The store
is asked for them as well; if it doesn't find even those, a note says so with an "if".
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, Literal

from ctxassembly.assembly.adjacency.positions import (
    OFFSET_TOLERANCE,
    PARENT_KEY,
    chunk_section,
    offset_of,
)
from ctxassembly.assembly.expansion.fetch import Fetched, FetchPolicy
from ctxassembly.data.chunks import Chunk
from ctxassembly.data.metadata_keys import MetadataKeys
from ctxassembly.safe_repr import describe_error, pluralize, safe_repr
from ctxassembly.user_warnings import with_remedy

Remedies = Mapping[Any, str] | None
"""The calls that the store names for each problem."""
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


def describe_lack(
    hits: Sequence[Chunk], retrieved: Sequence[Chunk], fetched: Fetched, policy: FetchPolicy, keys: MetadataKeys
) -> tuple[list[str], str | None]:
    """Return notes on what the hits or their store lack, and the message of `Trace.missing`.

    `hits` are those whose neighbors were asked for, `retrieved` all that were given.
    """
    notes, remedies = list[str](), policy.store.remedies
    if fetched.refused_refs:
        refused = f"{len(fetched.refused_refs):,} neighbors by names with characters that databases refuse"
        notes.append(f"store: not asked for {refused}")
    # Of a store that wasn't asked, or failed to answer, nobody knows what it lacks; a failure is noted already.
    returned: Mapping[str, Collection[str]] | None = None
    if policy.window and not fetched.errors:
        gap = missing_neighbor(hits, hits)
        # Under a filter all that is next to the hits may belong to others.
        is_one_short = gap is not None and not fetched.has_others and not policy.store.holds_filter
        returned = {} if is_one_short else fetched.returned_ids
        if not returned and len(hits) < len(retrieved) and (gap is None or missing_neighbor(hits, retrieved) is None):
            returned = None  # they are adjacent only to copies and other hits, which are not requested from the store
    which = pluralize(len(hits), "retrieved chunk")
    lack = _find_lack(hits, keys, returned, fetched, remedies)
    notes += [lack] if lack else []
    missing = "\n".join(filter(None, (lack, _describe_failure(fetched, remedies)))) or None
    limited = [hit for hit in hits if hit.index is None and _is_limited(hit, bool(policy.offset_window))]
    if fetched.returned_ids and limited:
        place = f"The place of {len(limited):,} of {which} (first: {safe_repr(limited[0].id, _ID_CHARS)})"
        notes.append(describe_problem("part", f"{place} is known in its page or larger chunk alone", remedies))
    indexed = next((hit for hit in hits if hit.index is not None), None)
    if missing is None and returned == {} and indexed is not None:
        # Each may be the only chunk of its document; but then the store finds the hit itself at its index.
        which = f"the retrieved chunk {indexed.index} of it"
        fact = f"The store may lack document {safe_repr(indexed.document_id, _ID_CHARS)}, since it doesn't find {which}"
        notes.append(describe_problem("answer", fact, remedies))
    return notes, missing


def _describe_failure(fetched: Fetched, remedies: Remedies) -> str | None:
    """Return the message that the store failed to answer some references, or has no way to be asked."""
    if not fetched.errors:
        return None
    unable = [error for error in fetched.errors if isinstance(error, NotImplementedError)]
    if unable and not fetched.returned_ids:
        problem = f"The store can't find adjacent chunks ({describe_error(unable[0])})"
        return describe_problem("method", problem, remedies)
    return describe_problem("failed", f"The store failed ({describe_error(fetched.errors[0])})", remedies)


def _is_limited(hit: Chunk, finds_pages: bool) -> bool:
    """Return True if `hit` finds neighbors only in its own page, or in the larger chunk that it was cut from.

    `finds_pages` says whether the store is asked for the pages before and after by their numbers.
    """
    is_page = not finds_pages and hit.lookup_id != hit.document_id and bool(chunk_section(hit))
    return is_page or PARENT_KEY in dict(chunk_section(hit))


def _find_lack(
    hits: Sequence[Chunk],
    keys: MetadataKeys,
    returned_ids: Mapping[str, Collection[str]] | None,
    fetched: Fetched,
    remedies: Remedies,
) -> str | None:
    """Return the message that says what `hits` or their store lack; None if they lack nothing.

    `returned_ids` are the ids of the chunks that the store returned, by document id; None if it wasn't asked, or
    failed.
    """
    if unstored := fetched.unstored_hits:  # the cause of whatever else is lacking
        many = f"{len(unstored):,} of {pluralize(len(hits), 'retrieved chunk')}"
        fact = f"The store doesn't contain {many} (first: {safe_repr(unstored[0].id, _ID_CHARS)})"
        return describe_problem("hit", fact, remedies)
    if without_position := _hits_without_position(hits, returned_ids, fetched.offset_answered):
        fact = _describe_without_position(without_position, len(hits), keys)
        indexed = {hit.document_id for hit in hits if hit.index is not None}
        if not indexed.isdisjoint(hit.document_id for hit in without_position):
            # They come from a retriever that keeps chunks of its own, such as BM25.
            fact += "; other chunks of the same document have an index"
            remedies = {"place": "documents = number_chunks(documents)"}
        elif remedies and "order" in remedies and any(offset_of(hit) is None for hit in without_position):
            remedies = {"place": remedies["order"]}
        return describe_problem("place", fact, remedies)
    is_empty = returned_ids is not None and not returned_ids
    if is_empty and (reason := missing_neighbor(hits, hits) or _missing_hit(hits)) is not None:
        return describe_problem("answer", f"The store has no chunk next to the retrieved ones, but {reason}", remedies)
    return _pages_as_documents(hits, keys)


def describe_problem(problem: Problem, fact: str, remedies: Remedies = None) -> str:
    """Return the message of `fact`, with what follows from it and the call that fixes it."""
    effect, call = ADVICE[problem]
    return with_remedy(fact, effect, (remedies or {}).get(problem) or call)


def _pages_as_documents(hits: Iterable[Chunk], keys: MetadataKeys) -> str | None:
    """Return the message that pages of one file are documents of their own; None if they aren't.

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
            fact = f"Pages {numbers[0]} and {numbers[1]} of {safe_repr(file, _ID_CHARS)} are separate documents"
            return describe_problem("pages", fact, {"pages": ADVICE["pages"][1].format(key)})
    return None


def _missing_hit(hits: Iterable[Chunk]) -> str | None:
    """Return the proof that the store misses a document: several hits are of it, and not even the first is found."""
    first_indexes: dict[str, int] = {}
    for hit in hits:
        if hit.index is not None and hit.index != (first := first_indexes.setdefault(hit.document_id, hit.index)):
            chunks = f"chunks {first} and {hit.index} of document {safe_repr(hit.document_id, _ID_CHARS)}"
            return f"{chunks} were retrieved, and it doesn't find chunk {first} either"
    return None


def _hits_without_position(
    hits: Sequence[Chunk], returned_ids: Mapping[str, Collection[str]] | None, offset_answered: Collection[str]
) -> list[Chunk]:
    """Return the hits whose neighbors can't be determined, although they have some or may have some."""
    linked = {chunk_id for hit in hits for chunk_id in (hit.prev_id, hit.next_id) if chunk_id}
    unlinked = [hit for hit in hits if hit.index is None and not (hit.prev_id or hit.next_id or hit.id in linked)]
    ids: dict[str, set[str]] = defaultdict(set)
    for hit in hits if unlinked else ():
        ids[hit.document_id].add(hit.id)
    result = []
    for hit in unlinked:
        can_be_sorted, own = offset_of(hit) is not None, ids[hit.document_id]
        # Without an offset its order is unknown, among other hits as among other chunks that came. A store that was
        # asked and has nothing of the document didn't find it.
        is_placed = can_be_sorted or len(own) == 1
        if returned_ids is not None and hit.id not in offset_answered:
            returned = returned_ids.get(hit.document_id, ())
            is_placed = is_placed and bool(returned) and (can_be_sorted or own.issuperset(returned))
        if not is_placed:
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


def missing_neighbor(hits: Iterable[Chunk], known: Sequence[Chunk]) -> str | None:
    """Return the proof that a neighbor of the hits is not among the `known`; None if that isn't certain."""
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
