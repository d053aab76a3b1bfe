"""What stands of a line of text, statement by statement."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from functools import cached_property
from operator import itemgetter

from ctxassembly.assembly.rendering.excerpt import Line
from ctxassembly.assembly.rendering.groups import by_merit
from ctxassembly.data.candidates import Candidate
from ctxassembly.data.chunks import Span
from ctxassembly.text.prose import Statement


class Standing:
    """A line that stands, by its statements."""

    def __init__(self, line: Line, text: str, statements: Sequence[Statement]) -> None:
        self.line = line
        self.statements = statements
        self.merit = min(by_merit(candidate) for _, candidate in line.members)
        self.stands = [bool(each.text) for each in statements]
        if any(candidate.kept is not None for _, candidate in line.members):
            covered: list[list[Span]] = [[] for _ in statements]
            for begin, candidate in line.members:
                for start, end in candidate.slices:
                    for place in self._places(begin + start, begin + end):
                        covered[place].append((begin + start, begin + end))
            self.stands = [_is_covered(text, each, spans) for each, spans in zip(statements, covered, strict=True)]
        self.keys = [
            each.text if each.is_prose and stands else None
            for each, stands in zip(statements, self.stands, strict=True)
        ]
        """What is looked for in other lines: the sentences of prose that stand, by place."""

    @cached_property
    def said(self) -> frozenset[str]:
        """Of all that stands the texts."""
        return frozenset(each.text for each, stands in zip(self.statements, self.stands, strict=True) if stands)

    @cached_property
    def writers(self) -> list[Candidate | None]:
        """In whose text each statement is written: of those that have it, the first one."""
        writers: list[Candidate | None] = [None] * len(self.statements)
        for begin, candidate in self.line.members:
            for start, end in candidate.slices:
                for place in self._places(begin + start, begin + end):
                    writers[place] = writers[place] or candidate
        return writers

    def of(self, these: Callable[[Candidate], bool]) -> set[int]:
        """The places of the statements that one of `these` has a part of."""
        return {
            place
            for begin, candidate in self.line.members
            if these(candidate)
            for start, end in candidate.slices
            for place in self._places(begin + start, begin + end)
        }

    def _places(self, start: int, end: int) -> range:
        """Of the statements between the two offsets, or partly so."""
        first = bisect_right(self.statements, start, key=itemgetter(1))
        return range(first, bisect_left(self.statements, end, lo=first, key=itemgetter(0)))


def _is_covered(text: str, statement: Statement, spans: Sequence[Span]) -> bool:
    """Whether all of the statement but its white space is in `spans`."""
    at, end = statement.start, statement.end
    for start, stop in sorted(spans):
        if start > at and text[at:start].strip():
            return False
        at = max(at, stop)
    return bool(statement.text) and (at >= end or not text[at:end].strip())
