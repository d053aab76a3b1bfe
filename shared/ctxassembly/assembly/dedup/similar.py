"""Texts that make others superfluous, one by one, best first: the rule that near and semantic duplicates share.

The text that two neighboring chunks share is not a copy but an overlap: joining strips it and keeps the rest.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence

from ctxassembly.assembly.dedup.facts import Match
from ctxassembly.data.candidates import Candidate

FindMatches = Callable[[int, Collection[int]], Sequence[Match]]
"""A function from a text, by its place among all, and the places of those kept so far, to the kept ones that make it
superfluous, by place."""


def find_similar(
    candidates: Sequence[Candidate],
    find: FindMatches,
    dates: Mapping[int, float | None],
    differs: Callable[[int, Match], bool] = lambda _position, _match: False,
) -> dict[int, Candidate]:
    """Return the candidate that represents each similar one, by the dropped one's key. `candidates` are best first.

    A match from which a candidate `differs` is none, unless by their `dates` they are an older and a newer version.

    A candidate is dropped if one that was kept before it matches; a dropped one drops no other. If it is newer than all
    its matches, it is kept and they are dropped. A newer text doesn't displace one of which it is only a part.

    The candidates that a displaced one had dropped are tried again at the end, newest first. The newest then meets them
    first, so of a thousand versions of a page each is tried twice, not once for every version after it.
    """
    date = [dates.get(candidate.key) for candidate in candidates]
    kept: set[int] = set()
    keeper_of: dict[int, int] = {}
    dropped_for: dict[int, list[int]] = defaultdict(list)
    pending: Sequence[int] = range(len(candidates))
    while pending:
        retries: list[int] = []
        for position in pending:
            matches = [
                match
                for match in find(position, kept)
                if not is_overlap(candidates[position], candidates[match.text_index])
                and (_are_versions(date[position], date[match.text_index]) or not differs(position, match))
            ]
            keepers = [other for other, is_part in matches if is_part or not is_newer(date[position], date[other])]
            if keepers:
                keeper_of[position] = keepers[0]
                dropped_for[keepers[0]].append(position)
                continue
            # It is kept, and older matches give way to it.
            kept.add(position)
            for displaced, _ in matches:
                kept.remove(displaced)
                retries += dropped_for.pop(displaced, [])
                keeper_of[displaced] = position
                dropped_for[position].append(displaced)
        # Those whose keeper is gone: the newer one that displaced it may not match them.
        for position in retries:
            del keeper_of[position]
        pending = sorted(retries, key=lambda at: (math.inf if date[at] is None else -(date[at] or 0), at))
    return {candidates[copy].key: candidates[original] for copy, original in keeper_of.items()}


def is_newer(first: float | None, second: float | None) -> bool:
    """Return True if both dates are known, and the `first` is later."""
    return first is not None and second is not None and first > second


def _are_versions(first: float | None, second: float | None) -> bool:
    return is_newer(first, second) or is_newer(second, first)


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
