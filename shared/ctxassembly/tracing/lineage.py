"""The lineage of candidates: the present form of each, and the original of each copy.

Stages change candidates (a better rank, a shortened text) and drop copies. They record it here, so that the trace can
follow every candidate from its first form to its last. All maps are by the key of a candidate, which never changes.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence

from ctxassembly.data.candidates import EXACT_DUPLICATE, Candidate, Reason


class Lineage:
    """The present form of each candidate, and its original if it is a copy."""

    def __init__(self) -> None:
        self._current: dict[int, Candidate] = {}
        self._duplicates: dict[int, tuple[Candidate, Reason]] = {}

    def record_change(self, before: Candidate, after: Candidate) -> Candidate:
        """Record that `before` has become `after`, and return `after`."""
        if before is not after:
            self._current[after.key] = after
        return after

    def record_changes(self, candidates: Iterable[Candidate], forms: Mapping[int, Candidate]) -> None:
        """Record the final form of each of `candidates`: the one in `forms`, by key, or the one given."""
        for candidate in candidates:
            self._current[candidate.key] = forms.get(candidate.key, candidate)

    def merge_duplicates(
        self, candidates: Sequence[Candidate], original_of: Mapping[int, Candidate], why: Reason
    ) -> tuple[Candidate, ...]:
        """Record the copies among `candidates`; return the others with what they inherit. Both are best first."""
        if not original_of:
            return tuple(candidates)
        self.record_duplicates(candidates, original_of, why)
        originals = {candidate.key: candidate for candidate in candidates if candidate.key not in original_of}
        return tuple(
            self.record_change(originals[key], heir) for key, heir in inherit_ranks(candidates, original_of).items()
        )

    def record_duplicates(
        self, candidates: Iterable[Candidate], original_of: Mapping[int, Candidate], why: Reason
    ) -> None:
        """Record the copies among `candidates`. Their originals inherit nothing."""
        for candidate in candidates:
            # The form as it came is enough: whoever reads a copy asks for the present form of its original.
            if (original := original_of.get(candidate.key)) is not None:
                self._duplicates[candidate.key] = (original, why)

    def restore(self, candidates: Iterable[Candidate]) -> None:
        """Record that `candidates` are no copies any more."""
        for candidate in candidates:
            del self._duplicates[candidate.key]

    def unrepresented(self, candidates: Iterable[Candidate], left_out: Container[int]) -> tuple[Candidate, ...]:
        """Return the copies among `candidates` whose original was left out, best first. `left_out` has keys.

        Exact copies are not among them: they fit where their original fits, and that didn't.
        """
        copies = self.duplicates()
        found = [
            self.current(candidate)
            for candidate in candidates
            if candidate.key in copies
            and self._duplicates[candidate.key][1] != EXACT_DUPLICATE
            and copies[candidate.key][0].key in left_out
        ]
        return tuple(sorted(found, key=lambda candidate: (candidate.distance, candidate.rank)))

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


def inherit_ranks(candidates: Iterable[Candidate], original_of: Mapping[int, Candidate]) -> dict[int, Candidate]:
    """Return the candidates that are kept, by key and best first, with what they inherit from their copies.

    A candidate gets the best score, and the rank and distance of the best, among itself and its copies. `candidates`
    are all of them, best first; `original_of` has the original of each copy.
    """
    groups: dict[int, list[Candidate]] = {}
    for candidate in candidates:
        groups.setdefault(original_of.get(candidate.key, candidate).key, []).append(candidate)
    result: dict[int, Candidate] = {}
    for key, group in groups.items():
        first, representative = group[0], next(candidate for candidate in group if candidate.key == key)
        score = max((candidate.score for candidate in group if candidate.score is not None), default=None)
        same = (first.rank, first.distance, score) == (
            representative.rank,
            representative.distance,
            representative.score,
        )
        result[key] = (
            representative if same else representative._replace(rank=first.rank, distance=first.distance, score=score)
        )
    return result
