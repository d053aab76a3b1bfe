"""Lines of text that stand, statement by statement.

A line is the text that chunks make together. Where only slices of a chunk are kept, not all of its statements
stand. One that stands in part doesn't count: whoever has only that copy would miss the rest.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from operator import itemgetter

from ctxassembly.assembly.rendering.excerpt import Line
from ctxassembly.assembly.rendering.groups import by_merit
from ctxassembly.data.candidates import Candidate
from ctxassembly.data.chunks import Span
from ctxassembly.text.prose import Statement


class Standing:
    """A line by its statements. A place is that of a statement on the line."""

    def __init__(self, line: Line, text: str, statements: Sequence[Statement]) -> None:
        self.line = line
        self.statements = statements
        self.merit = min(by_merit(candidate) for _, candidate in line.members)
        self.stands = [bool(statement.text) for statement in statements]
        """True for each statement all of which stands."""
        if any(candidate.kept is not None for _, candidate in line.members):
            self.stands = self._covered(text)
        self.keys = [
            statement.text if statement.is_prose and stands else None
            for statement, stands in zip(statements, self.stands, strict=True)
        ]
        """The sentences of prose that stand, by place: what other lines may repeat."""

    @cached_property
    def said(self) -> frozenset[str]:
        """The texts of all statements that stand."""
        both = zip(self.statements, self.stands, strict=True)
        return frozenset(statement.text for statement, stands in both if stands)

    @cached_property
    def writers(self) -> list[Candidate | None]:
        """The first candidate that has a part of each statement, by place: in its text it is written."""
        writers: list[Candidate | None] = [None] * len(self.statements)
        for candidate, _, places in self._slices():
            for place in places:
                writers[place] = writers[place] or candidate
        return writers

    def of(self, these: Callable[[Candidate], bool]) -> set[int]:
        """The places of the statements that one of `these` has a part of."""
        return {place for candidate, _, places in self._slices() if these(candidate) for place in places}

    def _covered(self, text: str) -> list[bool]:
        covered: list[list[Span]] = [[] for _ in self.statements]
        for _, span, places in self._slices():
            for place in places:
                covered[place].append(span)
        both = zip(self.statements, covered, strict=True)
        return [_is_covered(text, statement, spans) for statement, spans in both]

    def _slices(self) -> Iterator[tuple[Candidate, Span, range]]:
        """Each candidate's slices in the text of the line, with the places of the statements in them, or partly so."""
        for begin, candidate in self.line.members:
            for start, end in candidate.slices:
                first = bisect_right(self.statements, begin + start, key=itemgetter(1))
                last = bisect_left(self.statements, begin + end, lo=first, key=itemgetter(0))
                yield candidate, (begin + start, begin + end), range(first, last)


def _is_covered(text: str, statement: Statement, spans: Sequence[Span]) -> bool:
    """True if all of the statement but its white space is in `spans`."""
    at, end = statement.start, statement.end
    for start, stop in sorted(spans):
        if start > at and text[at:start].strip():
            return False
        at = max(at, stop)
    return bool(statement.text) and (at >= end or not text[at:end].strip())
