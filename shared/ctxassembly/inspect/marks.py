"""The marks of evidence in the texts of a context, of its fragments and of its passages."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field

from ctxassembly.data.chunks import Span
from ctxassembly.data.citations import Passage
from ctxassembly.inspect.evidence import Evidence, Located

Mark = tuple[Span, tuple[int, ...]]
"""A stretch of text to mark, and the numbers of the pieces that it is evidence of, from 0."""


@dataclass(frozen=True)
class Marks:
    """The stretches of text to mark. They may overlap."""

    standing: dict[int, list[Mark]] = field(default_factory=dict)
    """In the text of candidates, by key."""
    fragments: dict[int, list[Mark]] = field(default_factory=dict)
    """In the text of fragments, by rank."""


def marks(found: Sequence[Located]) -> Marks:
    """The marks of all of `found`."""
    numbers: dict[Evidence, list[int]] = defaultdict(list)
    for number, one in enumerate(found):
        numbers[one.evidence].append(number)
    standing: dict[int, list[Mark]] = defaultdict(list)
    fragments: dict[int, list[Mark]] = defaultdict(list)
    for one in {one.evidence: one for one in found}.values():
        own = tuple(numbers[one.evidence])
        for all_of, spans_of in ((standing, one.standing), (fragments, one.fragments)):
            for key, spans in spans_of.items():
                all_of[key] += [(span, own) for span in spans]
    return Marks(dict(standing), dict(fragments))


def in_passage(passage: Passage, marks: Marks) -> list[Mark]:
    """The marks in the text of `passage`, which count in it."""
    found: list[Mark] = []
    at = 0
    for piece in passage.pieces:
        at += len(piece.glue)
        for (start, end), numbers in marks.standing.get(piece.candidate.key, ()):
            first, last = max(start, piece.start), min(end, piece.end)
            if first < last:
                found.append(((at + first - piece.start, at + last - piece.start), numbers))
        at += len(piece.text)
    return found
