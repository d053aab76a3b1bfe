"""Warnings of what hits or their store lack for neighbours and joining, each with the line that mends it.

A chunk finds its neighbours by its document and its index, or by links to them. Most indexes are made without either.
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

from ctxassembly.assembly.adjacency.positions import TOUCHING, is_facts, offset_of
from ctxassembly.data.chunks import Chunk
from ctxassembly.data.metadata_keys import MetadataKeys
from ctxassembly.safe_repr import counted, shown
from ctxassembly.user_warnings import with_remedy

Lack = Literal["place", "answer", "method", "failed", "pages", "hit"]
"""The hits don't say where in their document they stand; the store has none of the chunks that must be there; the store
can't be asked; it raised an error; each page of a file is a document of its own; the store doesn't hold the hits
themselves."""

REMEDIES: Mapping[Lack, str] = {
    "place": "store number_chunks(documents), or number the stored ones by number_stored_chunks(vectorstore)",
    "answer": "its fetch(refs) has to find chunks by document_id and index, or by chunk_id, and to read them under the "
    "same keys as AssemblyConfig(keys=...)",
    "method": "pass store=, any object with fetch(refs) that has the chunks",
    "failed": "if it happens at every call, pass store=, any object with fetch(refs) that has the chunks; "
    "AssemblyConfig(on_store_error='raise') shows the error, AssemblyConfig(window=0) asks for no neighbors",
    "hit": "give the store of the collection that is searched; a step that changes texts belongs in on_fetched, too",
    "pages": "AssemblyConfig(keys=MetadataKeys(document_id={!r})) makes one document of them",
}
"""The remedies for a store that names none of its own; see `ctxassembly.Store`."""
_ELSEWHERE = (
    "; other hits of the same document have one, so give the numbered chunks to every retriever, also to one that "
    "keeps its own (BM25)"
)
_ID_CHARS = 40
_FILE = re.compile(r"\.\w{2,5}$")


def missing(
    hits: Sequence[Chunk],
    keys: MetadataKeys,
    answered: Mapping[str, Collection[str]] | None,
    beside: Collection[str] = (),
    refused: tuple[Lack, str] | None = None,
    remedies: Mapping[Lack, str] | None = None,
) -> str | None:
    """The sentence that says what `hits` or their store lack, with the remedy; None if they lack nothing.

    `answered` are the ids of the chunks that the store returned, by document id; None if it wasn't asked, or failed.
    `beside` are the ids of the hits whose surroundings it told by their offsets. `refused` is the error of
    the store, and whether it failed or has no way to be asked.
    """
    if refused is not None and refused[0] == "method":
        return _told([("method", f"the store can't be asked for neighbors ({refused[1]})")], remedies)
    failed: list[tuple[Lack, str]] = (
        [] if refused is None else [("failed", f"the store failed, so hits lack neighbors ({refused[1]})")]
    )
    unplaced = _unplaced([hit for hit in hits if not is_facts(hit)], answered, beside)
    if unplaced:
        elsewhere = _ELSEWHERE if _is_placed_elsewhere(unplaced, hits) else ""
        return _told([("place", _without_place(unplaced, len(hits), keys)), *failed], remedies, elsewhere)
    if failed:
        return _told(failed, remedies)
    if answered is not None and not answered and (because := proof(hits) or _not_found(hits)) is not None:
        return _told([("answer", f"the store has none of the chunks next to the hits, but {because}")], remedies)
    if (apart := _pages_apart(hits, keys)) is not None:
        fact, key = apart
        return with_remedy(fact, REMEDIES["pages"].format(key))
    return None


def _pages_apart(hits: Iterable[Chunk], keys: MetadataKeys) -> tuple[str, str] | None:
    """The fact that pages of one file are documents of their own, and the key for the file.

    Chunks of a page may be linked to each other. One with an index above 0 is of a document that somebody numbered.
    """
    pages: dict[tuple[str, str], dict[str, str]] = defaultdict(dict)
    for hit in hits:
        page = keys.read(hit.metadata, "page")
        if page is None or hit.index:
            continue
        for key in ("file_path", *keys.source):
            file = hit.metadata.get(key)
            if isinstance(file, str) and _FILE.search(file):
                pages[key, file].setdefault(hit.document_id, shown(page, _ID_CHARS))
                break
    for (key, file), of_file in pages.items():
        numbers = [*dict.fromkeys(of_file.values())]
        if len(of_file) > 1 and len(numbers) > 1:
            return f"Pages {numbers[0]} and {numbers[1]} of {shown(file, _ID_CHARS)} are separate documents", key
    return None


def untold(
    hits: Sequence[Chunk],
    answered: Mapping[str, Collection[str]] | None,
    remedies: Mapping[Lack, str] | None = None,
) -> str | None:
    """A note if nobody can tell whether `hits` lack something: each may be all there is of its document.

    A store that has documents of one chunk finds the hit itself when it is asked for its index; see `own.py`.
    """
    first = next(iter(_first_hits(hits)), None)
    if answered is None or answered or first is None:
        return None
    where = f"the hit at index {first.index} of document {shown(first.document_id, _ID_CHARS)}"
    fact = f"the store finds nothing next to the hits, not even {where}; if there is more of it"
    return _told([("answer", fact)], remedies)


def _first_hits(hits: Iterable[Chunk]) -> list[Chunk]:
    """The first hit of each document that has an index."""
    found: dict[str, Chunk] = {}
    for hit in hits:
        if hit.index is not None:
            found.setdefault(hit.document_id, hit)
    return [*found.values()]


def _not_found(hits: Iterable[Chunk]) -> str | None:
    """The proof that the store misses a document: several hits are of it, and not even the first is found."""
    hits = list(hits)
    firsts = {hit.document_id: hit for hit in _first_hits(hits)}
    for hit in hits:
        first = firsts.get(hit.document_id)
        if first is not None and hit.index is not None and hit.index != first.index:
            chunks = f"chunks {first.index} and {hit.index} of document {shown(hit.document_id, _ID_CHARS)}"
            return f"{chunks} are hits, and it doesn't find chunk {first.index} either"
    return None


def not_held(strangers: Sequence[Chunk], of: int, remedies: Mapping[Lack, str] | None = None) -> str | None:
    """The sentence that says which hits the store doesn't hold; None if there are no such `strangers`."""
    if not strangers:
        return None
    first = shown(strangers[0].id, _ID_CHARS)
    which = f"{len(strangers):,} of {counted(of, 'hit')} (the first is {first})"
    fact = f"the store doesn't hold {which}, so they get no neighbors"
    return _told([("hit", fact)], remedies)


def under_filter(remedies: Mapping[Lack, str] | None) -> Mapping[Lack, str]:
    """`remedies` of a store that holds a filter, which may exclude all that stands next to the hits."""
    answer = {**REMEDIES, **(remedies or {})}["answer"]
    return {**(remedies or {}), "answer": f"if the filter of the search lets it through, {answer}"}


def _told(facts: Sequence[tuple[Lack, str]], remedies: Mapping[Lack, str] | None, beside: str = "") -> str:
    """One message of all `facts`, with their remedies."""
    fact = "; ".join(said for _, said in facts)
    what = "; ".join((remedies or {}).get(lack) or REMEDIES[lack] for lack, _ in facts)
    return with_remedy(fact[0].upper() + fact[1:], what + beside)


def _unplaced(
    hits: Sequence[Chunk], answered: Mapping[str, Collection[str]] | None, beside: Collection[str]
) -> list[Chunk]:
    """The hits whose neighbours can't be told, although they have some or may have."""
    linked = {chunk_id for hit in hits for chunk_id in (hit.prev_id, hit.next_id)}
    alone = [hit for hit in hits if hit.index is None and not (hit.prev_id or hit.next_id or hit.id in linked)]
    if not alone:
        return []
    together = Counter(hit.document_id for hit in hits)
    ids: dict[str, set[str]] = defaultdict(set)
    for hit in hits:
        ids[hit.document_id].add(hit.id)
    found = []
    for hit in alone:
        there = None if answered is None or hit.id in beside else answered.get(hit.document_id, ())
        can_be_sorted = offset_of(hit) is not None
        # Without an offset its order is unknown, among other hits as among other chunks that came. A store that was
        # asked and has nothing of the document didn't find it.
        is_among_others = not can_be_sorted and together[hit.document_id] > 1
        if is_among_others or not (
            there is None or (there and (can_be_sorted or ids[hit.document_id].issuperset(there)))
        ):
            found.append(hit)
    return found


def _without_place(unplaced: Sequence[Chunk], of: int, keys: MetadataKeys) -> str:
    nameless = sum(hit.document_id == hit.id for hit in unplaced)
    lacks: list[str] = []
    # A hit without a document has lost its index.
    if nameless < len(unplaced) or any(keys.read(hit.metadata, "index") is None for hit in unplaced):
        lacks.append(f"no {keys.index[0]} or prev/next links")
    if nameless:
        whose = "" if nameless == len(unplaced) else f" ({nameless:,} of them)"
        lacks.append(f"neither {keys.document_id[0]} nor {keys.source[0]}{whose}")
    lacking, first = " and ".join(lacks), shown(unplaced[0].id, _ID_CHARS)
    have = "hit has" if of == 1 else "hits have"
    return f"{len(unplaced):,} of {of:,} {have} {lacking}, so neighbors can't be joined (first: {first})"


def _is_placed_elsewhere(unplaced: Iterable[Chunk], hits: Iterable[Chunk]) -> bool:
    """True if one of several retrievers gives the chunks of a document with their index, and another without."""
    placed = {hit.document_id for hit in hits if hit.index is not None}
    return any(hit.document_id in placed for hit in unplaced)


def proof(hits: Iterable[Chunk]) -> str | None:
    """The proof that a neighbour of the hits isn't among them; None if that isn't certain."""
    hits = list(hits)
    ids = {hit.id for hit in hits}
    indexes = {(hit.document_id, hit.index) for hit in hits}
    for hit in hits:
        if hit.index is not None:
            if hit.index and (hit.document_id, hit.index - 1) not in indexes:
                document = shown(hit.document_id, _ID_CHARS)
                return f"chunk {hit.index} of document {document} has another before it"
        elif hit.start is not None and hit.start > TOUCHING and hit.prev_id not in ids:
            return f"chunk {shown(hit.id, _ID_CHARS)} begins at character {hit.start:,}"
        elif link := next((name for name in (hit.prev_id, hit.next_id) if name and name not in ids), None):
            return f"chunk {shown(hit.id, _ID_CHARS)} is linked to {shown(link, _ID_CHARS)}"
    return None
