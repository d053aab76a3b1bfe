"""Copies and how they collapse: of chunks with the same text, one represents the others.

A copy has the whole text of another chunk, outer white space apart. Beginnings, ids and content hashes prove nothing:
chunks begin alike, splitters copy ids and hashes from the document to all its chunks, and stores count from 0 again.
The better-ranked one is kept, or by date the newest; it inherits the best rank and score of those it represents (see
`tracing/lineage.py`).

The text that two neighboring chunks share is not a copy but an overlap: joining strips it and keeps the rest.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from typing import Protocol

from ctxassembly.data.candidates import Candidate, Match
from ctxassembly.data.metadata_keys import MetadataKeys
from ctxassembly.safe_repr import to_id

DateOf = Callable[[Candidate], float | None]
"""The date of a candidate's last update; None if it is unknown, or doesn't decide which of two copies stays."""

_PREFIX_CHARS = 40
"""Characters that are compared first for texts of the same length, before the whole texts are compared."""


def no_date(_candidate: Candidate) -> None:
    """Return the date of no candidate: of copies the better-ranked one stays."""


def dedup_exact(candidates: Sequence[Candidate], date_of: DateOf = no_date) -> dict[int, Candidate]:
    """Return the candidate that represents each copy, by the copy's key. `candidates` are best first.

    Of all copies of a text the first one is kept, or by `date_of` a newer one.
    """
    by_prefix: dict[tuple[int, str], list[tuple[str, Candidate]]] = {}
    for candidate in candidates:
        text = candidate.chunk.text.strip()
        by_prefix.setdefault((len(text), text[:_PREFIX_CHARS]), []).append((text, candidate))
    representatives: dict[int, Candidate] = {}
    for found in by_prefix.values():
        if len(found) > 1:  # hashing whole texts would take longer than all the rest
            by_text: dict[str, list[Candidate]] = defaultdict(list)
            for text, candidate in found:
                by_text[text].append(candidate)
            for group in by_text.values():
                representatives |= _representatives(group, date_of)
    return representatives


def _representatives(group: Sequence[Candidate], date_of: DateOf) -> dict[int, Candidate]:
    """Return the candidate that represents all others of a `group` of copies, by the key of each of these."""
    representative = group[0]
    for candidate in group[1:]:
        representative = candidate if _is_newer(date_of(candidate), date_of(representative)) else representative
    return {candidate.key: representative for candidate in group if candidate is not representative}


def shared_hashes(candidates: Iterable[Candidate], keys: MetadataKeys) -> int:
    """Return the number of `candidates` that have the content hash of another one, but not its text."""
    texts: dict[object, str] = {}
    shared = 0
    for candidate in candidates:
        content_hash = keys.read(candidate.chunk.metadata, "content_hash")
        if type(content_hash) not in (str, bytes, int):
            content_hash = to_id(content_hash) if isinstance(content_hash, (str, bytes, int)) else None
        # An empty hash, or 0, is none.
        if content_hash:
            text = candidate.chunk.text.strip()
            shared += texts.setdefault(content_hash, text) != text
    return shared


class SimilarityIndex(Protocol):
    """The candidates kept so far, by their position in the list of all."""

    def find(self, position: int) -> Sequence[Match]:
        """Return the kept ones that make the one at position `position` superfluous, by position."""

    def add(self, position: int) -> None:
        """Keep the one at position `position`."""

    def discard(self, position: int) -> None:
        """Keep the one at position `position` no longer."""


def dedup_similar(
    candidates: Sequence[Candidate],
    index: SimilarityIndex,
    date_of: DateOf = no_date,
    differs: Callable[[int, Match], bool] = lambda _position, _match: False,
) -> dict[int, Candidate]:
    """Return the candidate that represents each similar one, by the dropped one's key. `candidates` are best first.

    A match from which a candidate `differs` is none, unless by `date_of` they are an older and a newer version.

    A candidate is dropped if one that was kept before it matches; a dropped one drops no other. If by `date_of` it is
    newer than all its matches, it is kept and they are dropped. A newer text doesn't displace one of which it is only a
    part.

    The candidates that a displaced one had dropped are tried again at the end, newest first. The newest then meets them
    first, so of a thousand versions of a page each is tried twice, not once for every version after it.
    """
    dates = [date_of(candidate) for candidate in candidates]
    representatives: dict[int, int] = {}
    dropped_for: dict[int, list[int]] = defaultdict(list)
    pending: Sequence[int] = range(len(candidates))
    while pending:
        retries: list[int] = []
        for position in pending:
            # The text that adjacent chunks share is stripped when they are joined; that makes neither superfluous.
            matches = [
                match
                for match in index.find(position)
                if not is_overlap(candidates[position], candidates[match.text_index])
                and (_are_versions(dates[position], dates[match.text_index]) or not differs(position, match))
            ]
            keepers = [other for other, is_part in matches if is_part or not _is_newer(dates[position], dates[other])]
            if keepers:
                representatives[position] = keepers[0]
                dropped_for[keepers[0]].append(position)
                continue
            # It is kept, and older matches give way to it.
            index.add(position)
            for displaced, _ in matches:
                index.discard(displaced)
                retries += dropped_for.pop(displaced, [])
                representatives[displaced] = position
                dropped_for[position].append(displaced)
        # Those whose keeper is gone: the newer one that displaced it may not match them.
        for position in retries:
            del representatives[position]
        pending = sorted(
            retries,
            key=lambda position: (-math.inf if (date := dates[position]) is None else date, -position),
            reverse=True,
        )
    return {candidates[copy].key: candidates[original] for copy, original in representatives.items()}


def _is_newer(first: float | None, second: float | None) -> bool:
    return first is not None and second is not None and first > second


def _are_versions(first: float | None, second: float | None) -> bool:
    return _is_newer(first, second) or _is_newer(second, first)


def is_overlap(first: Candidate, second: Candidate) -> bool:
    """Return True if what they share is an overlap: they are adjacent in one document, or their offsets prove it.

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
