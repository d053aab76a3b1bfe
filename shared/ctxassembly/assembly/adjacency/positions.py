"""Positions of the chunks of one document: adjacent chunks get consecutive numbers, all others are far apart.

An index is a position. Without one, two chunks are adjacent on evidence alone:
- a link joins them;
- the second goes on where the first ends, or overlaps it, by offsets that the text bears out;
- the second comes next on the page, or begins the next page, and the store is known to have nothing between.
Chunks that were merely retrieved together are not adjacent: unseen text may be between them.

Chunks joined by links make chains. The chains are ordered by page, then part by part, each by offset; then neighboring
chunks of that order are numbered one apart where there is evidence, `CHAIN_GAP` apart where there is none.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from itertools import pairwise
from typing import NamedTuple

from ctxassembly.config.assembly import MAX_CANDIDATE_WINDOW
from ctxassembly.data.candidates import Candidate
from ctxassembly.data.chunks import Chunk, SectionKey
from ctxassembly.ingestion.matches import shared_length

# Offsets of two chunks against each other, believed only as far as the texts bear them out.
#
# Splitters get offsets wrong: LangChain's `add_start_index` with a token splitter gave -1 for 88 of 245 chunks. Where a
# reader makes a document of each page or section, offsets begin again there. So an offset says where to look; the text
# decides.


OFFSET_TOLERANCE = 20
"""Characters of a gap that may be stripped white space, or of an overlap that may be an accident."""
PARENT_KEY = "parent"
"""The name of the part that is a larger chunk, by its id, from which smaller ones were cut."""


def chunk_section(chunk: Chunk) -> SectionKey:
    """Return the page or section that the chunk's offset counts in."""
    return chunk.origin.section if chunk.origin else ()


def offset_of(chunk: Chunk) -> int | None:
    """Return the offset of `chunk` in its part, exact or approximate; None if unknown."""
    return chunk.start if chunk.start is not None or chunk.origin is None else chunk.origin.near


def overlap_by_offset(first: Chunk, second: Chunk) -> int | None:
    """Verified characters that the two share by their offsets; negative for a gap, None if the offsets are wrong."""
    if first.start is None or second.start is None or second.start < first.start:
        return None
    shared = first.start + len(first.text) - second.start
    if shared <= 0:
        return shared
    shared = min(shared, len(second.text))
    return shared if first.text.startswith(second.text[:shared], second.start - first.start) else None


def claimed_overlap(first: Chunk, second: Chunk) -> int:
    """Characters that the two share if their offsets are about right; 0 if by them `second` begins elsewhere."""
    before, after = offset_of(first), offset_of(second)
    if before is None or after is None or after < before or chunk_section(first) != chunk_section(second):
        return 0
    return max(before + len(first.text) - after, 0)


def is_continuation(first: Chunk, second: Chunk) -> bool:
    """Return True if `second` goes on where `first` ends, or sooner, by offsets that the text bears out."""
    shared = overlap_by_offset(first, second)
    if shared is None:
        is_claimed = claimed_overlap(first, second) > OFFSET_TOLERANCE
        return is_claimed and shared_length(first.text, second.text, OFFSET_TOLERANCE) > 0
    # Chunks of different parts may touch by accident, since offsets begin again; shared text is no accident.
    is_touching = shared >= -OFFSET_TOLERANCE and chunk_section(first) == chunk_section(second)
    return shared > OFFSET_TOLERANCE or is_touching


def is_contained_in(inner: Chunk, outer: Chunk) -> bool:
    """Return True if `outer` contains the text of `inner` at the position given by their offsets."""
    begin, at = offset_of(outer), offset_of(inner)
    if begin is None or at is None or len(inner.text) > len(outer.text) or chunk_section(inner) != chunk_section(outer):
        return False
    if inner.start is not None and outer.start is not None:
        return at >= begin and outer.text.startswith(inner.text, at - begin)
    return begin - OFFSET_TOLERANCE <= at <= begin + len(outer.text) and inner.text.strip() in outer.text


CHAIN_GAP = MAX_CANDIDATE_WINDOW + 1
"""Positions left free between chunks whose distance is unknown: too far apart to be neighbors."""
_MAX_PAGE_DIGITS = 9
"""A page number with more digits is not a page number."""


class KnownComplete(NamedTuple):
    """The documents and surroundings that the store returned completely: what it didn't return doesn't exist."""

    documents: Collection[str] = ()
    """The lookup ids of the documents that it returned whole."""
    chunks: Collection[str] = ()
    """The ids of the chunks around which it returned all within `window`."""
    window: int = 0


def chunk_positions(
    chunks: Sequence[Chunk],
    empty_indexes: Collection[int] = (),
    page_keys: Sequence[str] = (),
    complete: KnownComplete = KnownComplete(),  # noqa: B008 - it never changes
) -> dict[str, int]:
    """Return the position of each chunk of one document, by chunk id: adjacent chunks get consecutive ones.

    An index is the position, less the `empty_indexes` indexes before it: a chunk without text leaves no gap. Chunks
    without an index follow, by page and offset as far as these are known, else in the order given. A chunk that lies in
    another one has its position. `page_keys` are the metadata keys of a page's number.
    """
    sorted_empty = sorted(empty_indexes)
    result = {one.id: one.index - bisect_left(sorted_empty, one.index) for one in chunks if one.index is not None}
    unindexed = [chunk for chunk in chunks if chunk.index is None] if len(result) < len(chunks) else []
    if not unindexed:
        return result
    page = page_key(unindexed, page_keys)
    # Each chunk of a chain but the first is linked to the one before; the first needs other evidence.
    chains = _sort_chains(_link_chains(unindexed), page)
    ordered = [(chunk, bool(step)) for chain in chains for step, chunk in enumerate(chain)]
    gapless = _find_gapless([chunk for chunk, _ in ordered], complete)
    # Far behind all that have an index: nothing says where between them they belong.
    position = max(result.values(), default=-CHAIN_GAP) + CHAIN_GAP
    previous, _ = ordered[0]
    for number, (chunk, is_linked) in enumerate(ordered):
        if number and not is_contained_in(chunk, previous):
            is_next = is_linked or is_continuation(previous, chunk)
            is_next = is_next or (number in gapless and _is_next(previous, chunk, page))
            position += 1 if is_next else CHAIN_GAP
            previous = chunk
        result[chunk.id] = position
    return result


def page_key(chunks: Iterable[Chunk], keys: Sequence[str]) -> str | None:
    """Return the name under which all of `chunks` have a page number; a number is preferred to a label."""
    parts = [dict(chunk_section(chunk)) for chunk in chunks]
    for name in sorted(keys, key=lambda name: "label" in name):
        if parts and all(_parse_page_number(part.get(name)) is not None for part in parts):
            return name
    return None


def find_containers(candidates: Sequence[Candidate]) -> dict[int, Candidate]:
    """Return, by key, the container of each candidate that lies in another of its document.

    Of those without an index the offsets say so; of those cut from a larger chunk, whose offsets count in it, the text.
    """
    by_part: dict[tuple[str, SectionKey], list[tuple[int, int, int, Candidate]]] = defaultdict(list)
    containers: dict[int, Candidate] = {}
    for number, candidate in enumerate(candidates):
        chunk = candidate.chunk
        if chunk.index is None and (at := offset_of(chunk)) is not None:
            by_part[chunk.document_id, chunk_section(chunk)].append((at, -len(chunk.text), number, candidate))
    for members in by_part.values():
        # By their beginnings, the longer first: a chunk can only lie in the one that reaches farthest so far.
        farthest, end = members[0][-1], -1
        for at, _, _, candidate in sorted(members):
            if end >= 0 and is_contained_in(candidate.chunk, farthest.chunk):
                containers[candidate.key] = farthest
            elif at + len(candidate.chunk.text) >= end:
                farthest, end = candidate, at + len(candidate.chunk.text)
    containers |= _find_larger(candidates)
    for key, container in containers.items():
        while container.key in containers:
            container = containers[container.key]  # noqa: PLW2901 - the outermost one
        containers[key] = container
    return containers


def _find_larger(candidates: Sequence[Candidate]) -> dict[int, Candidate]:
    """Return, by key, the longest candidate whose text contains a chunk cut from a larger one."""
    larger: dict[int, Candidate] = {}
    for candidate in candidates:
        chunk = candidate.chunk
        if chunk.origin is not None and PARENT_KEY in dict(chunk.origin.section):
            text = chunk.text.strip()
            of_document = [one for one in candidates if one.chunk.document_id == chunk.document_id]
            for other in of_document:
                is_longest = len(other.chunk.text) > len(larger.get(candidate.key, candidate).chunk.text)
                if is_longest and chunk_section(other.chunk) != chunk.origin.section and text in other.chunk.text:
                    larger[candidate.key] = other
    return larger


def is_covered(chunk: Chunk, others: Iterable[Chunk]) -> bool:
    """Return True if the middle of `chunk` lies in any of `others` by the offsets: then it is of another text.

    The files of two tenants under one document id lie over each other, while a chunk of the same file that may not be
    read lies between those that may.
    """
    if chunk.start is None:
        return True
    middle, part = chunk.start + len(chunk.text) // 2, chunk_section(chunk)
    return any(
        other.start is not None
        and other.start <= middle < other.start + len(other.text)
        and chunk_section(other) == part
        for other in others
    )


def _sort_chains(chains: list[list[Chunk]], page: str | None) -> list[list[Chunk]]:
    """Return the chains by page, then part by part, each part by offset.

    Parts without a page number come by their first offset. If the offsets show that they begin again in each part, they
    say nothing of the order of the parts, which then come as given.
    """
    by_page: dict[float, dict[SectionKey, list[tuple[float, list[Chunk]]]]] = defaultdict(lambda: defaultdict(list))
    for chain in chains:
        part = chunk_section(chain[0])
        begin = next((at for chunk in chain if (at := offset_of(chunk)) is not None), math.inf)
        by_page[_page_number(chain[0], page)][part].append((begin, chain))
    ordered: list[list[Chunk]] = []
    for _, by_part in sorted(by_page.items()):
        parts = [sorted(members, key=lambda member: member[0]) for members in by_part.values()]
        if len(parts) > 1 and not _has_offset_restarts(parts):
            parts.sort(key=lambda members: members[0][0])
        ordered += [chain for members in parts for _, chain in members]
    return ordered


def _has_offset_restarts(parts: Iterable[Sequence[tuple[float, Sequence[Chunk]]]]) -> bool:
    """Return True if chunks of different parts overlap by their offsets without being of one text."""
    spans = sorted(
        ((begin, part, chain) for part, members in enumerate(parts) for begin, chain in members if begin < math.inf),
        key=lambda span: span[:2],
    )
    for (begin, part, chain), (after, other, second) in pairwise(spans):
        if part != other and after < begin + len(chain[0].text) and not is_continuation(chain[0], second[0]):
            return True
    return False


def _find_gapless(chunks: Sequence[Chunk], complete: KnownComplete) -> set[int]:
    """Indexes into the ordered `chunks` of those with nothing stored between them and the chunk before."""
    gapless: set[int] = set()
    for at, chunk in enumerate(chunks):
        # All within its reach came, so nothing else is stored there.
        if chunk.id in complete.chunks:
            gapless.update(range(at - complete.window + 1, at + complete.window + 1))
    by_id = {chunk.id: chunk for chunk in chunks}
    for at, (before, chunk) in enumerate(pairwise(chunks), start=1):
        # A missing link forward is an end only if links are kept at all: the chunk before links to this one.
        other = by_id.get(before.prev_id or "")
        is_last = before.next_id is None and other is not None and other.next_id == before.id
        if (is_last or before.lookup_id in complete.documents) and (
            chunk.prev_id is None or chunk.lookup_id in complete.documents
        ):
            gapless.add(at)
    return gapless


def _is_next(first: Chunk, second: Chunk, page: str | None) -> bool:
    """Return True if `second` is later on the page or begins the next, supposing that nothing is stored between."""
    if chunk_section(first) == chunk_section(second):
        gap = overlap_by_offset(first, second)
        return gap is not None and gap < 0
    is_begun = page is not None and (offset_of(second) or 0) <= OFFSET_TOLERANCE
    return is_begun and _page_number(second, page) == _page_number(first, page) + 1


def _page_number(chunk: Chunk, key: str | None) -> float:
    number = _parse_page_number(dict(chunk_section(chunk)).get(key)) if key else None
    return math.inf if number is None else number


def _parse_page_number(value: object) -> int | None:
    """Return a page's number in any form, as JSON columns have "7" for 7; None if it is no whole number."""
    if isinstance(value, str):
        return int(value) if value.isdecimal() and len(value) <= _MAX_PAGE_DIGITS else None
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    return int(value) if 0 <= value < 10**_MAX_PAGE_DIGITS and value == value // 1 else None


def _link_chains(chunks: Sequence[Chunk]) -> list[list[Chunk]]:
    """Return the longest chains of linked chunks, each in order; the chains by their first chunk as given."""
    by_id = {chunk.id: chunk for chunk in chunks}
    # A link from either chunk is enough; if they disagree, the later chunk's link is used.
    following = {chunk.id: chunk.next_id for chunk in chunks if chunk.next_id in by_id}
    following |= {chunk.prev_id: chunk.id for chunk in chunks if chunk.prev_id in by_id}
    followers = set(following.values())
    chains: list[list[Chunk]] = []
    # Heads first; whatever is left then is in a circle of links, which is cut where it is met.
    for head in sorted(by_id, key=followers.__contains__):
        chain: list[Chunk] = []
        chunk_id = head
        while chunk_id in by_id:
            chain.append(by_id.pop(chunk_id))
            chunk_id = following.get(chunk_id) or ""
        if chain:
            chains.append(chain)
    return chains
