"""Positions of the chunks of one document: adjacent chunks get consecutive numbers, all others are far apart.

An index is a position. Without one, two chunks are adjacent on evidence alone:
- a link joins them;
- the second goes on where the first ends, or overlaps it, by offsets that the text bears out;
- the second comes next on the page, or begins the next page, and the store is known to have nothing between.
Chunks that were merely retrieved together are not adjacent: text that nobody has seen may stand between.

Chunks joined by links make chains. The chains are ordered by page, then part by part, each by offset; then neighbouring
chunks of that order are numbered one apart where there is evidence, `CHAIN_GAP` apart where there is none.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import NamedTuple

from ctxassembly.assembly.adjacency.overlap import overlap_chars
from ctxassembly.config.assembly import MAX_POOL_WINDOW
from ctxassembly.data.candidates import Candidate
from ctxassembly.data.chunks import Chunk, ChunkRef, PartName

# Chunks that name no document but are linked: a link proves that two of them are of one document.
#
# A chunk without a document id stands as a document of its own, under its own id. Its links say better: chunks linked
# to each other, directly or in steps, become one document under the id of the best-ranked hit among them.


def adopted(chunks: Iterable[Chunk], refs: Iterable[ChunkRef]) -> list[Chunk]:
    """`chunks`, of which those without a document get the one whose link asked for them."""
    askers = {ref.chunk_id: ref.document_id for ref in reversed(tuple(refs)) if ref.chunk_id is not None}
    return [
        replace(chunk, document_id=askers[chunk.id]) if is_nameless(chunk) and chunk.id in askers else chunk
        for chunk in chunks
    ]


def is_nameless(chunk: Chunk) -> bool:
    """True if `chunk` names no document and stands as one of its own."""
    return chunk.document_id == chunk.id


def one_document(hits: Sequence[Chunk], near: Iterable[Chunk]) -> Mapping[str, str]:
    """The document of the best-ranked linked hit, for each document that links join to it and that isn't it.

    Only documents of `hits` that name none are joined; `near` are chunks that came to them by links.
    """
    rank = {hit.document_id: at for at, hit in enumerate(hits) if is_nameless(hit)}
    if not any(hit.prev_id or hit.next_id for hit in hits if is_nameless(hit)):
        return {}
    # Union-find: each document leads to a better-ranked one until one leads to itself.
    home = {document_id: document_id for document_id in rank}

    def best(document_id: str) -> str:
        while home[document_id] != document_id:
            home[document_id] = document_id = home[home[document_id]]
        return document_id

    document_of = {chunk.id: chunk.document_id for chunk in (*near, *hits) if chunk.document_id in home}
    for chunk in (*hits, *near):
        for link in (chunk.prev_id, chunk.next_id):
            if chunk.id in document_of and link in document_of:
                first, second = sorted((best(document_of[chunk.id]), best(document_of[link])), key=rank.__getitem__)
                home[second] = first
    return {document_id: best(document_id) for document_id in home if best(document_id) != document_id}


def at_home(chunk: Chunk, homes: Mapping[str, str]) -> Chunk:
    """`chunk` in the document that `homes` names for its own, if any."""
    home = homes.get(chunk.document_id)
    return chunk if home is None else replace(chunk, document_id=home)


# Offsets of two chunks against each other, believed only as far as the texts bear them out.
#
# Splitters get offsets wrong: LangChain's `add_start_index` with a token splitter gave -1 for 88 of 245 chunks. Where a
# reader makes a document of each page or section, offsets begin anew there. So an offset says where to look; the text
# decides.


TOUCHING = 20
"""Characters of a gap that may be stripped white space, or of an overlap that may be an accident."""
FACTS = "facts"
"""The name of the part that holds a graph's facts about a chunk."""


def part_of(chunk: Chunk) -> PartName:
    """The page or section that the chunk's offset counts in."""
    return chunk.origin.part if chunk.origin else ()


def is_facts(chunk: Chunk) -> bool:
    """True if `chunk` is a graph's facts about another one, which have no position in the document's text."""
    return any(name == FACTS for name, _ in part_of(chunk))


def offset_of(chunk: Chunk) -> int | None:
    """The offset of `chunk` in its part, exact or approximate; None if unknown."""
    return chunk.start if chunk.start is not None or chunk.origin is None else chunk.origin.near


def by_offset(first: Chunk, second: Chunk) -> int | None:
    """Verified characters that the two share by their offsets; negative for a gap, None if the offsets are wrong."""
    if first.start is None or second.start is None or second.start < first.start:
        return None
    shared = first.start + len(first.text) - second.start
    if shared <= 0:
        return shared
    shared = min(shared, len(second.text))
    return shared if first.text.startswith(second.text[:shared], second.start - first.start) else None


def said_to_share(first: Chunk, second: Chunk) -> int:
    """Characters that the two share if their offsets are about right; 0 if by them `second` begins elsewhere."""
    one, two = offset_of(first), offset_of(second)
    if one is None or two is None or two < one or part_of(first) != part_of(second):
        return 0
    return max(one + len(first.text) - two, 0)


def continues(first: Chunk, second: Chunk) -> bool:
    """True if `second` goes on where `first` ends, or sooner, by offsets that the text bears out."""
    shared = by_offset(first, second)
    if shared is not None:
        # Chunks of different parts may touch by accident, since offsets begin anew; shared text is no accident.
        return shared > TOUCHING or (shared >= -TOUCHING and part_of(first) == part_of(second))
    return said_to_share(first, second) > TOUCHING and overlap_chars(first.text, second.text, TOUCHING) > 0


def lies_in(inner: Chunk, outer: Chunk) -> bool:
    """True if the text of `inner` stands in that of `outer` where their offsets say so."""
    begin, at = offset_of(outer), offset_of(inner)
    if begin is None or at is None or len(inner.text) > len(outer.text) or part_of(inner) != part_of(outer):
        return False
    if inner.start is not None and outer.start is not None:
        return at >= begin and outer.text.startswith(inner.text, at - begin)
    return begin - TOUCHING <= at <= begin + len(outer.text) and inner.text.strip() in outer.text


CHAIN_GAP = MAX_POOL_WINDOW + 1
"""Positions left free between chunks whose distance is unknown: too far apart to be neighbours."""
_DIGITS = 9
"""A page number with more digits is none to reckon with."""


class Answered(NamedTuple):
    """The documents and surroundings of which the store told all: what it didn't return isn't there."""

    whole: Collection[str] = ()
    """The lookup ids of the documents that it returned whole."""
    beside: Collection[str] = ()
    """The ids of the chunks around which it returned all within `reach`."""
    reach: int = 0


def positions(
    chunks: Sequence[Chunk],
    empty: Collection[int] = (),
    pages: Sequence[str] = (),
    answered: Answered = Answered(),  # noqa: B008 - it never changes
) -> dict[str, int]:
    """The position of each chunk of one document, by chunk id: adjacent chunks get consecutive ones.

    An index is the position, less the `empty` indexes before it: a chunk without text leaves no gap. Chunks without an
    index follow, by page and offset as far as these are known, else in the order given. A chunk that lies in another
    one has its position. `pages` are the metadata keys of a page's number.
    """
    blank = sorted(empty)
    placed = {chunk.id: chunk.index - bisect_left(blank, chunk.index) for chunk in chunks if chunk.index is not None}
    others = [chunk for chunk in chunks if chunk.index is None] if len(placed) < len(chunks) else []
    if not others:
        return placed
    page = page_name(others, pages)
    # Each chunk of a chain but the first is linked to the one before; the first needs other evidence.
    ordered = [(chunk, bool(step)) for chain in _in_order(_chains(others), page) for step, chunk in enumerate(chain)]
    told = _told([chunk for chunk, _ in ordered], answered)
    # Far behind all that have an index: nothing says where between them they belong.
    at = max(placed.values(), default=-CHAIN_GAP) + CHAIN_GAP
    last: Chunk | None = None
    for number, (chunk, linked) in enumerate(ordered):
        if last is not None:
            if lies_in(chunk, last):
                placed[chunk.id] = at
                continue
            is_next = linked or continues(last, chunk) or _comes_next(last, chunk, page, told=number in told)
            at += 1 if is_next else CHAIN_GAP
        placed[chunk.id] = at
        last = chunk
    return placed


def page_name(chunks: Iterable[Chunk], names: Sequence[str]) -> str | None:
    """The name under which all of `chunks` have a page number; a number is preferred to a label."""
    parts = [dict(part_of(chunk)) for chunk in chunks]
    for name in sorted(names, key=lambda name: "label" in name):
        if parts and all(_number(part.get(name)) is not None for part in parts):
            return name
    return None


def contained(candidates: Sequence[Candidate]) -> dict[int, Candidate]:
    """The candidate that contains it, for each one without an index that lies in another of its document; by key."""
    by_part: dict[tuple[str, PartName], list[tuple[int, int, Candidate]]] = defaultdict(list)
    for candidate in candidates:
        chunk = candidate.chunk
        if chunk.index is None and (at := offset_of(chunk)) is not None:
            by_part[chunk.document_id, part_of(chunk)].append((at, -len(chunk.text), candidate))
    found: dict[int, Candidate] = {}
    for members in by_part.values():
        # By their beginnings, the longer first: a chunk can only lie in the one that reaches farthest so far.
        farthest: Candidate | None = None
        for _, _, candidate in sorted(members, key=lambda member: member[:2]):
            if farthest is not None and lies_in(candidate.chunk, farthest.chunk):
                found[candidate.key] = farthest
            elif farthest is None or _end(candidate.chunk) >= _end(farthest.chunk):
                farthest = candidate
    return found


def is_covered(chunk: Chunk, others: Iterable[Chunk]) -> bool:
    """True if the middle of `chunk` lies in any of `others` by the offsets: then it is of another text.

    The files of two tenants under one document id lie over each other, while a chunk of the same file that may not be
    read lies between those that may.
    """
    if chunk.start is None:
        return True
    middle, part = chunk.start + len(chunk.text) // 2, part_of(chunk)
    return any(
        other.start is not None and other.start <= middle < other.start + len(other.text) and part_of(other) == part
        for other in others
    )


def _in_order(chains: list[list[Chunk]], page: str | None) -> list[list[Chunk]]:
    """The chains by page, then part by part, each part by offset.

    Parts without a page number come by their first offset. If the offsets show that they begin anew in each part, they
    say nothing of the order of the parts, which then come as given.
    """
    by_page: dict[float, dict[PartName, list[tuple[float, list[Chunk]]]]] = defaultdict(lambda: defaultdict(list))
    for chain in chains:
        part = part_of(chain[0])
        begin = next((at for chunk in chain if (at := offset_of(chunk)) is not None), math.inf)
        by_page[_page(chain[0], page)][part].append((begin, chain))
    ordered: list[list[Chunk]] = []
    for _, by_part in sorted(by_page.items()):
        parts = [sorted(members, key=lambda member: member[0]) for members in by_part.values()]
        if len(parts) > 1 and not _begin_anew(parts):
            parts.sort(key=lambda members: members[0][0])
        ordered += [chain for members in parts for _, chain in members]
    return ordered


def _begin_anew(parts: Iterable[Sequence[tuple[float, Sequence[Chunk]]]]) -> bool:
    """True if chunks of different parts lie over each other by their offsets without being of one text."""
    spans = sorted(
        ((begin, part, chain) for part, members in enumerate(parts) for begin, chain in members if begin < math.inf),
        key=lambda span: span[:2],
    )
    for (begin, part, chain), (after, other, second) in pairwise(spans):
        if part != other and after < begin + len(chain[0].text) and not continues(chain[0], second[0]):
            return True
    return False


def _told(chunks: Sequence[Chunk], answered: Answered) -> set[int]:
    """Indexes into the ordered `chunks` of those with nothing stored between them and the chunk before."""
    told: set[int] = set()
    for at, chunk in enumerate(chunks):
        # All within its reach came, so nothing else is stored there.
        if chunk.id in answered.beside:
            told.update(range(at - answered.reach + 1, at + answered.reach + 1))
    by_id = {chunk.id: chunk for chunk in chunks}
    for at, (before, chunk) in enumerate(pairwise(chunks), start=1):
        if _ends(before, by_id, answered) and _begins(chunk, answered):
            told.add(at)
    return told


def _comes_next(first: Chunk, second: Chunk, page: str | None, *, told: bool) -> bool:
    """True if nothing is stored between the two, and `second` is later on the page or begins the page after."""
    if not told:
        return False
    if part_of(first) == part_of(second):
        gap = by_offset(first, second)
        return gap is not None and gap < 0
    is_begun = page is not None and (offset_of(second) or 0) <= TOUCHING
    return is_begun and _page(second, page) == _page(first, page) + 1


def _begins(chunk: Chunk, answered: Answered) -> bool:
    """True if nothing is stored before the first known chunk of a part, supposing that `chunk` is that one."""
    return chunk.lookup_id in answered.whole or chunk.prev_id is None


def _ends(chunk: Chunk, known: Mapping[str, Chunk], answered: Answered) -> bool:
    """True if nothing is stored behind the last known chunk of a part, supposing that `chunk` is that one."""
    if chunk.lookup_id in answered.whole:
        return True
    # A missing link forward is an end only if links are kept at all: the chunk before links to this one.
    before = known.get(chunk.prev_id or "")
    return chunk.next_id is None and before is not None and before.next_id == chunk.id


def _page(chunk: Chunk, name: str | None) -> float:
    number = _number(dict(part_of(chunk)).get(name)) if name else None
    return math.inf if number is None else number


def _number(value: object) -> int | None:
    """A page's number in any form, as JSON columns have "7" for 7; None if it is no whole number."""
    if isinstance(value, str):
        return int(value) if value.isdecimal() and len(value) <= _DIGITS else None
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    return int(value) if 0 <= value < 10**_DIGITS and value == value // 1 else None


def _end(chunk: Chunk) -> int:
    return (offset_of(chunk) or 0) + len(chunk.text)


def _chains(chunks: Sequence[Chunk]) -> list[list[Chunk]]:
    """The longest chains of chunks linked to each other, each in order; the chains by their first chunk as given."""
    by_id = {chunk.id: chunk for chunk in chunks}
    # Either side's link will do; that of the chunk behind wins.
    following = {chunk.id: chunk.next_id for chunk in chunks if chunk.next_id in by_id}
    following |= {chunk.prev_id: chunk.id for chunk in chunks if chunk.prev_id in by_id}
    followers = set(following.values())
    chains: list[list[Chunk]] = []
    placed: set[str] = set()
    # Heads first; whatever is left then stands in a circle of links, which is cut where it is met.
    for chunk in sorted(by_id.values(), key=lambda chunk: chunk.id in followers):
        chain: list[Chunk] = []
        at: str | None = chunk.id
        while at is not None and at not in placed:
            placed.add(at)
            chain.append(by_id[at])
            at = following.get(at)
        if chain:
            chains.append(chain)
    return chains
