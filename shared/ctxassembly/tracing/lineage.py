"""What became of each candidate on its way to the budget: stages change and drop them, the trace tells all of it."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence

from ctxassembly.data.candidates import Candidate
from ctxassembly.data.reasons import EXACT, Reason


class Lineage:
    """The form that each candidate has now, and the candidate that stands for it, if one does; both by key."""

    def __init__(self) -> None:
        self._now: dict[int, Candidate] = {}
        self._copies: dict[int, tuple[Candidate, Reason]] = {}

    def change(self, before: Candidate, after: Candidate) -> Candidate:
        """`after`, which is what `before` has become."""
        if before is not after:
            self._now[after.key] = after
        return after

    def collapse(
        self, candidates: Sequence[Candidate], stands_for: Mapping[int, Candidate], why: Reason
    ) -> tuple[Candidate, ...]:
        """Those of `candidates`, best first, that stand, with what they inherited; again best first."""
        if not stands_for:
            return tuple(candidates)
        self.drop(candidates, stands_for, why)
        standing = {candidate.key: candidate for candidate in candidates if candidate.key not in stands_for}
        return tuple(self.change(standing[key], heir) for key, heir in inherit(candidates, stands_for).items())

    def drop(self, candidates: Iterable[Candidate], stands_for: Mapping[int, Candidate], why: Reason) -> None:
        """Let others stand for those of `candidates` whose key `stands_for` has, without inheriting anything."""
        for candidate in candidates:
            if (original := stands_for.get(candidate.key)) is not None:
                self._copies[candidate.key] = (original, why)

    def revive(self, candidates: Iterable[Candidate]) -> None:
        """Nobody stands for `candidates` any more."""
        for candidate in candidates:
            del self._copies[candidate.key]

    def unserved(self, candidates: Iterable[Candidate], left_out: Container[int]) -> tuple[Candidate, ...]:
        """Those of `candidates` for which one stands that is not its exact copy and was left out; best first.

        `left_out` has keys.
        """
        copies = self.copies()
        found = [
            self.now(candidate)
            for candidate in candidates
            if candidate.key in copies
            and self._copies[candidate.key][1] != EXACT
            and copies[candidate.key][0].key in left_out
        ]
        return tuple(sorted(found, key=lambda candidate: (candidate.distance, candidate.rank)))

    def copies(self) -> dict[int, tuple[Candidate, Reason]]:
        """For each copy, by its key: the one that stands for it in the end, and why.

        The copy of a copy is what that one is: an exact copy of a near duplicate is a near duplicate.
        """
        ends: dict[int, tuple[Candidate, Reason]] = {}
        for copy, (original, reason) in self._copies.items():
            end, why = original, reason
            while end.key in self._copies:
                end, why = self._copies[end.key]
            ends[copy] = (end, why)
        return ends

    def now(self, candidate: Candidate) -> Candidate:
        """The form that `candidate` has now."""
        return self._now.get(candidate.key, candidate)


def inherit(candidates: Iterable[Candidate], stands_for: Mapping[int, Candidate]) -> dict[int, Candidate]:
    """What each candidate that stands has become, by its key; best first.

    It has the best score and the place (rank and distance) of the best among itself and those that it stands for.
    `candidates` are all of them, best first.
    """
    groups: dict[int, list[Candidate]] = {}
    for candidate in candidates:
        groups.setdefault(stands_for.get(candidate.key, candidate).key, []).append(candidate)
    became: dict[int, Candidate] = {}
    for key, group in groups.items():
        first, stands = group[0], next(candidate for candidate in group if candidate.key == key)
        score = max((candidate.score for candidate in group if candidate.score is not None), default=None)
        place = (first.rank, first.distance, score)
        same = place == (stands.rank, stands.distance, stands.score)
        became[key] = stands if same else stands._replace(rank=first.rank, distance=first.distance, score=score)
    return became
