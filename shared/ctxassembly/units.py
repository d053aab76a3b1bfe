"""What each sentence of the candidates is worth to a reader with a query: no model, no index, any language.

A sentence is worth more the better its chunk was ranked, the more of the query's words it, its surroundings, its chunk
and its section have, and the more hits its document has. The weights were fitted by hand on question sets with marked
evidence, with one set left out each time; they are flat: half or twice of one moves the evidence found by a hundredth.
"""

from __future__ import annotations

import math
import re
import sys
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ctxassembly.bm25 import Bm25
from ctxassembly.cut import tiles
from ctxassembly.excerpt import Line
from ctxassembly.terms import finder, stems
from ctxassembly.types import Candidate

RANK = 0.8
NEIGHBOUR = 0.8
DISTANCE = 0.15
CHUNK = 5.5
SENTENCE = 0.75
SURROUNDINGS = 2.0
SECTION = 2.0
DOCUMENT = 1.5

SECTION_CHARS = 4_000
"""Where no heading ends a section, this does."""
_HEADING = re.compile(r"#{1,6} ")


@dataclass(slots=True)
class Unit:
    """A sentence or line of the text that candidates make together."""

    line: Line
    start: int
    end: int
    text: str
    follows: bool
    """Whether it continues the unit before it."""
    value: float = 0.0
    """Only the order of values means something."""


def units_of(lines: Iterable[Line], query: str) -> list[Unit]:
    """The units of all lines in order, with their value for `query`."""
    units = [
        Unit(line, start, end, line.text[start:end], follows=place > 0)
        for line in lines
        for place, (start, end) in enumerate(tiles(line.text))
    ]
    find = finder(list(dict.fromkeys(stems(query))))
    found = [find(unit.text) for unit in units]
    bm25 = Bm25(found)
    matches = [bm25.weight(set(each)) for each in found]
    lexical = (
        (SENTENCE, matches),
        (SURROUNDINGS, _smoothed(_smoothed(matches, units), units)),
        (CHUNK, _of_chunks(units, found, bm25)),
        (SECTION, _of_sections(units, found, bm25)),
    )
    for weight, scores in lexical:
        best = max(scores, default=0) or 1
        for unit, score in zip(units, scores, strict=True):
            unit.value += weight * score / best
    _add_ranks(units)
    return units


def by_value(candidates: Sequence[Candidate], units: Sequence[Unit]) -> list[Candidate]:
    """`candidates` by the mean value of the units that they have a part of, best first; a tie leaves their order."""
    values = {
        id(candidate): sum(units[place].value for place in places) / max(len(places), 1)
        for candidate, _, _, places in covered(units)
    }
    return sorted(candidates, key=lambda candidate: -values[id(candidate)])


def covered(units: Sequence[Unit]) -> Iterable[tuple[Candidate, int, int, range]]:
    """Every candidate with where it begins and ends in its line, and the places of the units that it has a part of."""
    first = 0
    while first < len(units):
        line, last = units[first].line, first
        while last < len(units) and units[last].line is line:
            last += 1
        starts, ends = ([unit.start for unit in units[first:last]], [unit.end for unit in units[first:last]])
        for begin, candidate in line.members:
            end = begin + len(candidate.chunk.text)
            yield candidate, begin, end, range(first + bisect_right(ends, begin), first + bisect_left(starts, end))
        first = last


def _of_chunks(units: Sequence[Unit], found: Sequence[Sequence[str]], bm25: Bm25) -> list[float]:
    """For each unit the score of the best chunk that has a part of it."""
    chunks = [(end - begin, places) for _, begin, end, places in covered(units)]
    scores = bm25.scores([([stem for place in places for stem in found[place]], length) for length, places in chunks])
    best = [0.0] * len(units)
    for score, (_, places) in zip(scores, chunks, strict=True):
        for place in places:
            best[place] = max(best[place], score)
    return best


def _of_sections(units: Sequence[Unit], found: Sequence[Sequence[str]], bm25: Bm25) -> list[float]:
    """For each unit the score of its section: what its heading says holds for all that stands below it."""
    sections: list[list[int]] = []
    size = 0
    for place, unit in enumerate(units):
        if not unit.follows or size > SECTION_CHARS or _begins_section(units[place - 1].text, unit.text):
            sections.append([])
            size = 0
        sections[-1].append(place)
        size += len(unit.text)
    texts = [
        ([stem for place in places for stem in found[place]], sum(len(units[place].text) for place in places))
        for places in sections
    ]
    return [score for score, places in zip(bm25.scores(texts), sections, strict=True) for _ in places]


def _begins_section(before: str, text: str) -> bool:
    """Whether a heading, or two blank lines, part `text` from the one before."""
    breaks = before[len(before.rstrip()) :].count("\n")
    return breaks > 2 or (breaks > 0 and _HEADING.match(text) is not None)


def _smoothed(scores: Sequence[float], units: Sequence[Unit]) -> list[float]:
    """Half of each unit's score, and a quarter of that of each of the two beside it."""
    smooth = [score / 2 for score in scores]
    for place, unit in enumerate(units):
        if unit.follows:
            smooth[place] += scores[place - 1] / 4
            smooth[place - 1] += scores[place] / 4
    return smooth


def _add_ranks(units: Sequence[Unit]) -> None:
    """What the retriever says: the rank of the nearest hit's chunk, and how many good hits the document has."""
    hits: dict[str, float] = defaultdict(float)
    nearest = [(sys.maxsize, 0)] * len(units)
    documents = [""] * len(units)
    for candidate, _, _, places in covered(units):
        document_id = candidate.chunk.document_id
        if candidate.is_hit:
            hits[document_id] += 1 / (2 + candidate.rank)
        for place in places:
            nearest[place] = min(nearest[place], (candidate.distance, candidate.rank))
            documents[place] = document_id
    most = max(hits.values(), default=1.0)
    for unit, (distance, rank), document_id in zip(units, nearest, documents, strict=True):
        unit.value += DOCUMENT * hits[document_id] / most - RANK * math.log1p(rank)
        if distance:
            unit.value -= NEIGHBOUR + DISTANCE * (distance - 1)
