"""Copies and how they collapse: of chunks that say the same, one stands for the others.

A copy has the whole text of another chunk, outer white space apart. Beginnings, ids and content hashes prove nothing:
chunks begin alike, splitters copy ids and hashes from the document to all its chunks, and stores count anew. The
better-ranked one stands, or by date the newest; it inherits the best rank and score of those it stands for (see
`tracing/lineage.py`).

The text that two neighbouring chunks share is not a copy but an overlap: joining strips it and keeps the rest.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from typing import Protocol

from ctxassembly.data.candidates import Candidate, Match
from ctxassembly.data.metadata_keys import MetadataKeys
from ctxassembly.safe_repr import as_name

DateOf = Callable[[Candidate], float | None]
"""The date of a candidate's last update; None if it is unknown, or doesn't decide which of two copies stays."""

_BEGINNING = 40
"""Characters by which texts of the same length are told apart before all of them is looked at."""


def undated(_candidate: Candidate) -> None:
    """The date of no candidate: of copies the better-ranked one stays."""


def collapse_exact(candidates: Sequence[Candidate], date_of: DateOf = undated) -> dict[int, Candidate]:
    """The candidate that stands for each copy, by the copy's key. `candidates` are best first.

    Of all copies of a text the first one stands, or by `date_of` a newer one.
    """
    alike: dict[tuple[int, str], list[tuple[str, Candidate]]] = {}
    for candidate in candidates:
        text = candidate.chunk.text.strip()
        alike.setdefault((len(text), text[:_BEGINNING]), []).append((text, candidate))
    stands_for: dict[int, Candidate] = {}
    for found in alike.values():
        if len(found) > 1:  # hashing whole texts would take longer than all the rest
            by_text: dict[str, list[Candidate]] = defaultdict(list)
            for text, candidate in found:
                by_text[text].append(candidate)
            for group in by_text.values():
                stands_for |= _stand_ins(group, date_of)
    return stands_for


def _stand_ins(group: Sequence[Candidate], date_of: DateOf) -> dict[int, Candidate]:
    """The candidate that stands for all others of a `group` of copies, by the key of each of these."""
    stands = group[0]
    for candidate in group[1:]:
        stands = candidate if _is_newer(date_of(candidate), date_of(stands)) else stands
    return {candidate.key: stands for candidate in group if candidate is not stands}


def shared_hashes(candidates: Iterable[Candidate], keys: MetadataKeys) -> int:
    """The number of `candidates` that have the content hash of another one, but not its text."""
    texts: dict[object, str] = {}
    shared = 0
    for candidate in candidates:
        content_hash = keys.read(candidate.chunk.metadata, "content_hash")
        if type(content_hash) not in (str, bytes, int):
            content_hash = as_name(content_hash) if isinstance(content_hash, (str, bytes, int)) else None
        # An empty hash, or 0, is none.
        if content_hash:
            text = candidate.chunk.text.strip()
            shared += texts.setdefault(content_hash, text) != text
    return shared


class Index(Protocol):
    """The candidates kept so far, by their position in the list of all."""

    def find(self, at: int) -> Sequence[Match]:
        """The kept ones that make the one at position `at` superfluous, by position."""

    def add(self, at: int) -> None:
        """Keep the one at position `at`."""

    def discard(self, at: int) -> None:
        """Keep the one at position `at` no longer."""


def collapse_similar(candidates: Sequence[Candidate], index: Index, date_of: DateOf = undated) -> dict[int, Candidate]:
    """The candidate that stands for each similar one, by the dropped one's key. `candidates` are best first.

    A candidate is dropped if one that was kept before it matches; a dropped one drops no other. If by `date_of` it is
    newer than all its matches, it is kept and they are dropped. A newer text doesn't displace one of which it is only a
    part.

    The candidates that a displaced one had dropped are tried again at the end, newest first. The newest then meets them
    first, so of a thousand versions of a page each is tried twice, not once for every version after it.
    """
    dates = [date_of(candidate) for candidate in candidates]
    stands_for: dict[int, int] = {}
    dropped_for: dict[int, list[int]] = defaultdict(list)
    waiting: Sequence[int] = range(len(candidates))
    while waiting:
        again: list[int] = []
        for at in waiting:
            # The text that adjacent chunks share is stripped when they are joined; that makes neither superfluous.
            matches = [match for match in index.find(at) if not overlap(candidates[at], candidates[match.place])]
            standing = [other for other, is_part in matches if is_part or not _is_newer(dates[at], dates[other])]
            if standing:
                stands_for[at] = standing[0]
                dropped_for[standing[0]].append(at)
                continue
            # It is kept, and older matches give way to it.
            index.add(at)
            for displaced, _ in matches:
                index.discard(displaced)
                again += dropped_for.pop(displaced, [])
                stands_for[displaced] = at
                dropped_for[at].append(displaced)
        # Those whose keeper is gone: the newer one that displaced it may not match them.
        for at in again:
            del stands_for[at]
        waiting = sorted(again, key=lambda at: (-math.inf if (date := dates[at]) is None else date, -at), reverse=True)
    return {candidates[copy].key: candidates[original] for copy, original in stands_for.items()}


def _is_newer(first: float | None, second: float | None) -> bool:
    return first is not None and second is not None and first > second


def overlap(first: Candidate, second: Candidate) -> bool:
    """True if what the two share is an overlap: they are adjacent in one document, or their offsets prove it.

    Joining strips the overlap and keeps the rest, however little that is; collapsing would lose the rest.
    """
    if first.chunk.document_id != second.chunk.document_id:
        return False
    if abs(first.position - second.position) == 1:
        return True
    early, late = sorted((first.chunk, second.chunk), key=lambda chunk: chunk.start or 0)
    if early.start is None or late.start is None or first.position == second.position:
        return False
    before = late.start - early.start
    shared = len(early.text) - before
    return 0 < shared < len(late.text) and before > 0 and early.text.endswith(late.text[:shared])
