"""Where the chunks of one document stand: consecutive places are adjacent chunks, all others are apart.

An index says it outright. Without one, adjacent is what is linked, what goes on or overlaps by offsets that the text
bears out, and, where the store is known to have nothing between, what comes next on a page or begins the next page.
What was retrieved together is not adjacent for that.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

from ctxassembly.assembly.adjacency.offsets import TOUCHING, by_offset, continues, lies_in, offset_of, part_of
from ctxassembly.data.candidates import Candidate
from ctxassembly.data.chunks import Chunk, PartName
from ctxassembly.settings.config import MAX_POOL_WINDOW

CHAIN_GAP = MAX_POOL_WINDOW + 1
"""Positions left free between runs of chunks whose distance is unknown: too far apart to be neighbours."""
_DIGITS = 9
"""A page with more is no number to reckon with."""


class Answered(NamedTuple):
    """What the store is known to have told of, so that what it didn't name isn't there."""

    whole: Collection[str] = ()
    """The documents that it gave whole, by what it calls them."""
    beside: Collection[str] = ()
    """The chunks beside which it gave all that is within `reach`, by id."""
    reach: int = 0


def positions(
    chunks: Sequence[Chunk],
    empty: Collection[int] = (),
    pages: Sequence[str] = (),
    answered: Answered = Answered(),  # noqa: B008 - it never changes
) -> dict[str, int]:
    """The place of each chunk of one document, by chunk id: consecutive places are adjacent chunks.

    The index where there is one, without the `empty` ones: what has no text leaves no gap. All others follow, ordered
    by page and offset as far as these are known, and as handed in where they aren't. `pages` are the names under which
    metadata have a page's number. A chunk that lies in another one has its place.
    """
    placed = {
        chunk.id: chunk.index - sum(at < chunk.index for at in empty) for chunk in chunks if chunk.index is not None
    }
    others = [chunk for chunk in chunks if chunk.index is None] if len(placed) < len(chunks) else []
    if not others:
        return placed
    page = page_name(others, pages)
    ordered = [(chunk, bool(step)) for run in _in_order(_runs(others), page) for step, chunk in enumerate(run)]
    told = _told([chunk for chunk, _ in ordered], answered)
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
    """The name under which all of `chunks` have the number of their page; the number before the label."""
    parts = [dict(part_of(chunk)) for chunk in chunks]
    for name in sorted(names, key=lambda name: "label" in name):
        if parts and all(_number(part.get(name)) is not None for part in parts):
            return name
    return None


def contained(candidates: Sequence[Candidate]) -> dict[int, Candidate]:
    """For each candidate without an index that lies in another of its document (by key) the one that it lies in."""
    by_part: dict[tuple[str, PartName], list[tuple[int, int, Candidate]]] = defaultdict(list)
    for each in candidates:
        if each.chunk.index is None and (at := offset_of(each.chunk)) is not None:
            members = by_part[each.chunk.document_id, part_of(each.chunk)]
            members.append((at, -len(each.chunk.text), each))
    found: dict[int, Candidate] = {}
    for members in by_part.values():
        farthest: Candidate | None = None
        for _, _, each in sorted(members, key=lambda member: member[:2]):
            if farthest is not None and lies_in(each.chunk, farthest.chunk):
                found[each.key] = farthest
            elif farthest is None or _end(each.chunk) >= _end(farthest.chunk):
                farthest = each
    return found


def is_covered(chunk: Chunk, others: Iterable[Chunk]) -> bool:
    """Whether the middle of `chunk` lies in any of `others` by the offsets: then it is of another text than they are.

    Two tenants' files under one document id lie over each other; what one tenant may not read lies between.
    """
    if chunk.start is None:
        return True
    middle, part = chunk.start + len(chunk.text) // 2, part_of(chunk)
    return any(
        each.start is not None and each.start <= middle < each.start + len(each.text) and part_of(each) == part
        for each in others
    )


def _in_order(runs: list[list[Chunk]], page: str | None) -> list[list[Chunk]]:
    """The runs by page, then part by part, each by offset.

    Parts without a number come by their first offset. Where the offsets show that they begin anew they say nothing of
    the order of the parts, which then come as handed in.
    """
    by_page: dict[float, dict[PartName, list[tuple[float, list[Chunk]]]]] = defaultdict(lambda: defaultdict(list))
    for run in runs:
        part = part_of(run[0])
        begin = next((at for chunk in run if (at := offset_of(chunk)) is not None), math.inf)
        by_page[_page(run[0], page)][part].append((begin, run))
    found: list[list[Chunk]] = []
    for _, parts in sorted(by_page.items()):
        shares = [sorted(share, key=lambda each: each[0]) for share in parts.values()]
        if len(shares) > 1 and not _begin_anew(shares):
            shares.sort(key=lambda share: share[0][0])
        found += [run for share in shares for _, run in share]
    return found


def _begin_anew(shares: Iterable[Sequence[tuple[float, Sequence[Chunk]]]]) -> bool:
    """Whether chunks of different parts lie over each other by their offsets, and aren't of one text."""
    spans = sorted(
        ((begin, part, run) for part, share in enumerate(shares) for begin, run in share if begin < math.inf),
        key=lambda span: span[:2],
    )
    for (begin, part, run), (after, other, second) in pairwise(spans):
        if part != other and after < begin + len(run[0].text) and not continues(run[0], second[0]):
            return True
    return False


def _told(chunks: Sequence[Chunk], answered: Answered) -> set[int]:
    """The places in `chunks`, which are in order, of those between which and the one before the store has nothing."""
    told: set[int] = set()
    for at, chunk in enumerate(chunks):
        if chunk.id in answered.beside:
            told.update(range(at - answered.reach + 1, at + answered.reach + 1))
    by_id = {chunk.id: chunk for chunk in chunks}
    for at, (before, chunk) in enumerate(pairwise(chunks), start=1):
        if _ends(before, by_id, answered) and _begins(chunk, answered):
            told.add(at)
    return told


def _comes_next(first: Chunk, second: Chunk, page: str | None, *, told: bool) -> bool:
    """Whether `second` comes after `first` on its page, text between them or not, or begins the page after its own."""
    if not told:
        return False
    if part_of(first) == part_of(second):
        gap = by_offset(first, second)
        return gap is not None and gap < 0
    is_begun = page is not None and (offset_of(second) or 0) <= TOUCHING
    return is_begun and _page(second, page) == _page(first, page) + 1


def _begins(chunk: Chunk, answered: Answered) -> bool:
    """Whether it is known that nothing of its part comes before the first known chunk of it, if its offset says so."""
    return chunk.lookup_id in answered.whole or chunk.prev_id is None


def _ends(chunk: Chunk, known: Mapping[str, Chunk], answered: Answered) -> bool:
    """Whether it is known that nothing of its part comes after the last known chunk of it."""
    if chunk.lookup_id in answered.whole:
        return True
    before = known.get(chunk.prev_id or "")
    return chunk.next_id is None and before is not None and before.next_id == chunk.id


def _page(chunk: Chunk, name: str | None) -> float:
    number = _number(dict(part_of(chunk)).get(name)) if name else None
    return math.inf if number is None else number


def _number(value: object) -> int | None:
    """A page's number, however it is kept: JSON columns have "7" for 7."""
    if isinstance(value, str):
        return int(value) if value.isdecimal() and len(value) <= _DIGITS else None
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    return int(value) if 0 <= value < 10**_DIGITS and value == value // 1 else None


def _end(chunk: Chunk) -> int:
    return (offset_of(chunk) or 0) + len(chunk.text)


def _runs(chunks: Sequence[Chunk]) -> list[list[Chunk]]:
    """Maximal runs of chunks linked to each other, each in order, by their first chunk as handed in."""
    by_id = {chunk.id: chunk for chunk in chunks}
    following = {chunk.id: chunk.next_id for chunk in chunks if chunk.next_id in by_id}
    following |= {chunk.prev_id: chunk.id for chunk in chunks if chunk.prev_id in by_id}
    followers = set(following.values())
    runs: list[list[Chunk]] = []
    placed: set[str] = set()
    # Heads first; whatever is left then stands in a circle of links, which is cut where it is met.
    for chunk in sorted(by_id.values(), key=lambda chunk: chunk.id in followers):
        run: list[Chunk] = []
        at: str | None = chunk.id
        while at is not None and at not in placed:
            placed.add(at)
            run.append(by_id[at])
            at = following.get(at)
        if run:
            runs.append(run)
    return runs
