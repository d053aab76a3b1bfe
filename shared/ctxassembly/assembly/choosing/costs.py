"""The tokens of units, counted once: to choose by, and again for what is written of those that are chosen.

A unit is counted from the blanks before it to the blanks after it. These are safe places (`tokens/counter.py`), so the
counts of units in a row add up, and none of the text that they make together is encoded again: its tokens are the sum
of the units', less those of the word that begins it and of the one that ends it, which may merge with what is written
around. Where a place is not safe, as before a line that begins with a slash, the sum is but a guess, and nothing is
kept of it.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from itertools import pairwise

from ctxassembly.assembly.choosing.units import Units
from ctxassembly.assembly.rendering.layout import Layout
from ctxassembly.data.candidates import Candidate
from ctxassembly.data.chunks import Span
from ctxassembly.tokens.counter import Measured, ends_inside, is_safe

AROUND, MARKER, END = 2.0, 2.8, 0.12
"""Guesses at tokens: of what a document takes besides its header and of a marker, and how many more a unit takes where
it meets what comes next."""
LONG = 1.5
"""How many times as many characters as usual the tokens of a unit may have: a longer one is not counted in vain."""


class Costs:
    """What units take of a layout; where counts don't add up, a guess by their characters."""

    def __init__(self, layout: Layout, units: Units, chars_per_token: float) -> None:
        self._layout, self._units, self._chars_per_token = layout, units, chars_per_token
        self._counter = layout.typesetter.counter
        self._tokens: dict[int, int] = {}
        self._cuts: dict[int, int] = {}
        self._unsafe: set[int] = set()
        self._headers: dict[str, float] = {}
        self._first = {share.candidate.chunk.document_id: share.candidate for share in reversed(units.shares)}

    def longest(self, room: float) -> float:
        """The characters of the longest unit that may fit into so many tokens."""
        return (room + 1) * self._chars_per_token * LONG

    def of(self, place: int) -> float:
        """The tokens of a unit beside others."""
        if not self._counter.additive:
            edges = self._units.edges
            return (edges[place + 1] - edges[place]) / self._chars_per_token
        return self._count(place) + END

    def header(self, document_id: str) -> float:
        """The tokens of a document's header and of what is around it."""
        if document_id not in self._headers:
            above = self._layout.tokens_above(self._first[document_id])
            self._headers[document_id] = above + AROUND if above else 0.0
        return self._headers[document_id]

    def keep(self, candidates: Iterable[Candidate]) -> None:
        """Keep the measures of what will be written of `candidates`, which have whole units."""
        if not self._counter.additive:
            return
        shares = {share.candidate.key: share for share in self._units.shares}
        spans: list[Span] = []
        reach = 0
        for candidate in candidates:
            begin = shares[candidate.key].begin
            for start, end in candidate.slices:
                # Text that two of them share is the first one's.
                spans.append((max(begin + start, reach) if begin <= reach else begin + start, begin + end))
                reach = begin + end
        for (start, end), (beyond, _) in pairwise([*spans, (-1, -1)]):
            written = self._units.text[start:end]
            # White space stays where the next one continues it.
            self._keep(start, written if beyond == end else written.rstrip())

    def _keep(self, start: int, written: str) -> None:
        edges, text = self._units.edges, self._units.text
        inside = ends_inside(written)
        if inside is None:
            return
        head, tail = start + inside[0], start + inside[1]
        first, last = bisect_right(edges, start) - 1, bisect_left(edges, start + len(written)) - 1
        inner = sum([self._count(place) for place in range(first, last + 1)])
        begin, end = self._cut(first), self._cut(last + 1)
        if head < begin or tail > end or not self._unsafe.isdisjoint(range(first + 1, last + 1)):
            return
        count = self._counter.count
        inner -= count(text[begin:head]) + count(text[tail:end])
        self._counter.keep(written, Measured(written[: inside[0]], inner, written[inside[1] :], len(written)))

    def _count(self, place: int) -> int:
        tokens = self._tokens
        if place not in tokens:
            tokens[place] = self._counter.count(self._units.text[self._cut(place) : self._cut(place + 1)])
        return tokens[place]

    def _cut(self, place: int) -> int:
        """Where the unit's tokens begin: before the blanks between it and the one that it continues."""
        cuts = self._cuts
        if place not in cuts:
            units = self._units
            text, at = units.text, units.edges[place]
            if place < len(units.continues) and units.continues[place]:
                before = units.edges[place - 1]
                at = before + len(text[before:at].rstrip(" "))
                if not is_safe(text, at):
                    self._unsafe.add(place)
            cuts[place] = at
        return cuts[place]
