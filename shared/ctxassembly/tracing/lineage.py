"""The present form of each candidate and the original of each copy, by the key of a candidate, which never changes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from ctxassembly.data.candidates import Candidate, Reason


class Lineage:
    """The present form of each candidate, and its original if it is a copy."""

    def __init__(self) -> None:
        self._current: dict[int, Candidate] = {}
        self._duplicates: dict[int, tuple[Candidate, Reason]] = {}

    def record_forms(self, candidates: Iterable[Candidate]) -> None:
        """Record the present forms of candidates."""
        self._current |= {candidate.key: candidate for candidate in candidates}

    def merge_duplicates(
        self, candidates: Sequence[Candidate], original_of: Mapping[int, Candidate], why: Reason
    ) -> tuple[Candidate, ...]:
        """Record the copies among `candidates`; return the others with what they inherit. Both are best first."""
        if not original_of:
            return tuple(candidates)
        self.record_duplicates(original_of, why)
        heirs = inherit_ranks(candidates, original_of)
        self.record_forms(heirs)
        return heirs

    def record_duplicates(self, original_of: Mapping[int, Candidate], why: Reason) -> None:
        """Record copies by their keys, each with its original in any form. The originals inherit nothing."""
        self._duplicates |= {key: (original, why) for key, original in original_of.items()}

    def duplicates(self) -> dict[int, tuple[Candidate, Reason]]:
        """Return for each copy, by key, the candidate that represents it in the end, and the reason.

        The reason is the last one on the way there: an exact copy of a near duplicate is a near duplicate.
        """
        ends: dict[int, tuple[Candidate, Reason]] = {}
        for copy, (original, reason) in self._duplicates.items():
            end, why = original, reason
            while end.key in self._duplicates:
                end, why = self._duplicates[end.key]
            ends[copy] = (end, why)
        return ends

    def current(self, candidate: Candidate) -> Candidate:
        """Return the present form of `candidate`."""
        return self._current.get(candidate.key, candidate)


def inherit_ranks(candidates: Iterable[Candidate], original_of: Mapping[int, Candidate]) -> tuple[Candidate, ...]:
    """Return the candidates that are kept, best first, with what they inherit from their copies.

    A candidate gets the best score, and the rank and distance of the best, among itself and its copies. `candidates`
    are all of them, best first; `original_of` has the original of each copy.
    """
    groups: dict[int, list[Candidate]] = {}
    for candidate in candidates:
        groups.setdefault(original_of.get(candidate.key, candidate).key, []).append(candidate)
    heirs: list[Candidate] = []
    for key, group in groups.items():
        first, representative = group[0], next(candidate for candidate in group if candidate.key == key)
        score = max((candidate.score for candidate in group if candidate.score is not None), default=None)
        heirs.append(representative._replace(rank=first.rank, distance=first.distance, score=score))
    return tuple(heirs)
