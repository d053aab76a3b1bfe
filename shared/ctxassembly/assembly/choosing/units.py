"""Values of sentences for a query: no model, no index, any language.

The candidates are laid onto lines of text and divided into units: sentences, or lines of a table or of code. A unit's
value is a sum of signals, each in parts of the best unit's. The retriever tells of chunks: the rank of the nearest hit,
the distance from it, and how many good hits the document has. The words of the query tell at four widths: in the unit
itself, in the units beside it, in its chunk, and in its section, since a heading holds for all that stands below it.
Words weigh as BM25 has it, by chunks: among sentences even a word that every chunk has is rare. Function words of the
query ("what", "explain") weigh half.

Of the words, those of the chunk weigh most and those of the unit itself least. The weights were fitted on question sets
with marked evidence, and are flat: half or twice of one moves the share of the evidence that is found by a hundredth,
and weights learned on all sets but one find no more on that one than these do (.000 to -.006, `tests/bench/README.md`).
"""

from __future__ import annotations

import math
import re
from array import array
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from ctxassembly.assembly.choosing.asked import factors_of
from ctxassembly.assembly.rendering.excerpt import Line
from ctxassembly.data.candidates import Candidate
from ctxassembly.text.bm25 import Bm25
from ctxassembly.text.sentences import tiles
from ctxassembly.text.terms import finder, long_words, stems

SECTION_CHARS = 4_000
"""Length at which a section ends if no heading ends it."""
LEAST_CHARS = 13
"""Length of the shortest sentence that may stand for its chunk; a shorter one says no more than a marker."""
# It ends where a section begins: at a heading, or after two blank lines.
_SECTION = re.compile(r"\n(?:\n\n+|(?=#{1,6} ))")


class Weights(NamedTuple):
    """The most that each signal can make out between two units."""

    rank: float = 0.8
    """Times the logarithm of 1 + the rank of the nearest hit."""
    neighbour: float = 0.8
    """Being only near a hit."""
    distance: float = 0.15
    """Each further step from it."""
    chunk: float = 5.5
    """The words of the query in the chunk, as those below in parts of the best."""
    sentence: float = 0.75
    surroundings: float = 2.0
    section: float = 2.0
    document: float = 1.5
    """The number of good hits in the document."""

    @property
    def words(self) -> float:
        """All that the words of a query can make out."""
        return self.chunk + self.sentence + self.surroundings + self.section


WEIGHTS = Weights()
MARGIN = 0.5
"""The margin by which a neighbour has to be worth more than a hit where all hits fit whole: it takes room from one.

Without one the hard questions find less; between 0.5 and 0.9 no difference can be told (see `tests/bench/README.md`).
"""
HELD = WEIGHTS._replace(neighbour=WEIGHTS.neighbour + MARGIN)


class Unit(NamedTuple):
    """A sentence or line of the text that candidates make together."""

    document_id: str
    line: str
    """All the text that it is a slice of."""
    start: int
    """Its offset on the line: 0 if it doesn't continue the unit before it."""
    end: int

    @property
    def text(self) -> str:
        """The slice."""
        return self.line[self.start : self.end]


class Share(NamedTuple):
    """The part of a line that a candidate has, from `begin` to `end`, and the places of the units that it is in."""

    candidate: Candidate
    begin: int
    end: int
    places: range


@dataclass(frozen=True, slots=True)
class Units:
    """All units in order, with their values for the query and the shares that the candidates have of them."""

    units: Sequence[Unit]
    values: Sequence[float]
    """Only the distances between them mean something."""
    words: Sequence[float]
    """The part of each value that the words of the query make."""
    shares: Sequence[Share]
    least: float = -math.inf
    """The value below which a unit is not worth its room."""
    matches: Sequence[float] = ()
    """The weights of the query's words in each unit itself."""
    scale: float = 1.0
    """The most that the words of the query can make out."""

    def by_value(self, candidates: Iterable[Candidate]) -> list[Candidate]:
        """`candidates` by the mean and the best value of the units that they are in, best first.

        A tie leaves their order.
        """
        worth = self._by_candidate(self.values)
        return sorted(candidates, key=lambda candidate: -worth[candidate.key])

    def beyond(self, candidates: Sequence[Candidate], window: int) -> list[Candidate]:
        """Those of `candidates` farther than `window` from a hit that tell more than the least hit, best first.

        They are worth more than it, and not by their rank alone: they answer the query better, too.
        """
        ranked, words = self.by_value(candidates), self._by_candidate(self.words)
        last = max((place for place, candidate in enumerate(ranked) if candidate.is_hit), default=0)
        least = words[ranked[last].key]
        return [
            candidate for candidate in ranked[:last] if candidate.distance > window and words[candidate.key] > least
        ]

    def best_of(self, hits: Iterable[Candidate]) -> frozenset[int]:
        """The place of the best sentence of each of `hits`: of the next best where another hit has the same."""
        places = {share.candidate.key: share.places for share in self.shares}
        found: dict[str, int] = {}
        for hit in hits:
            ranked = sorted(places[hit.key], key=lambda place: -self.values[place])
            texts = {place: self.units[place].text.strip() for place in ranked}
            best = (place for place in ranked if len(texts[place]) >= LEAST_CHARS and texts[place] not in found)
            if (place := next(best, ranked[0] if ranked else None)) is not None:
                found.setdefault(texts[place], place)
        return frozenset(found.values())

    def _by_candidate(self, scores: Sequence[float]) -> dict[int, float]:
        return {share.candidate.key: _mean_and_best(scores[place] for place in share.places) for share in self.shares}

    def worth(self) -> dict[int, float]:
        """The worth of each candidate's best unit by key, on the scale of `stop_below`: the best of all is worth 1."""
        values = self.values
        best, scale = max(values, default=0.0), self.scale
        return {
            share.candidate.key: round(1 - (best - max(values[share.places.start : share.places.stop])) / scale, 3)
            for share in self.shares
            if share.places
        }

    def poor(self) -> set[int]:
        """The candidates of which no unit is worth its room, by key."""
        if self.least == -math.inf:
            return set()
        return {
            share.candidate.key
            for share in self.shares
            if max((self.values[place] for place in share.places), default=math.inf) < self.least
        }


def units_of(
    lines: Iterable[Line],
    query: str,
    stop_below: float | None = None,
    weights: Weights = WEIGHTS,
    function_words: Collection[str] | None = None,
) -> Units:
    """Divide all lines into units and value them for `query`, of which `function_words` say little, as in the config.

    A unit is not worth its room if it falls below the best by more than (1 - `stop_below`) x `weights.words`.
    """
    units: list[Unit] = []
    shares: list[Share] = []
    found: list[Sequence[str]] = []
    long = long_words(query)
    find = finder(list(dict.fromkeys(stems(query))), long)
    for line in lines:
        first, document_id, text = len(units), line.last.document_id, line.text
        spans = tiles(text)
        units += [Unit(document_id, text, start, end) for start, end in spans]
        found += find(text, spans)
        starts, ends = [start for start, _ in spans], [end for _, end in spans]
        for begin, candidate in line.members:
            end = begin + len(candidate.chunk.text)
            places = range(first + bisect_right(ends, begin), first + bisect_left(starts, end))
            shares.append(Share(candidate, begin, end, places))
    # By chunks: among sentences even a word that every chunk has is rare.
    stems_of = [_joined(found, share.places) for share in shares]
    bm25 = Bm25(stems_of, factors_of(query, function_words), within=long)
    matches = [bm25.weight(set(stems)) if stems else 0.0 for stems in found]
    by_words = _added([0.0] * len(units), weights.chunk, _of_chunks(shares, stems_of, len(units), bm25))
    by_words = _added(by_words, weights.section, _of_sections(units, found, bm25))
    by_words = _added(by_words, weights.sentence, matches)
    by_words = _added(by_words, weights.surroundings, _smoothed(_smoothed(matches, units), units))
    ranks = _of_ranks(units, shares, weights)
    values = [by_rank + by_word for by_rank, by_word in zip(ranks, by_words, strict=True)]
    least = -math.inf if stop_below is None else max(values, default=0.0) - (1 - stop_below) * weights.words
    # Bare numbers: of a float each, two thousand sentences would take three times as much.
    return Units(units, array("d", values), array("d", by_words), shares, least, array("d", matches), weights.words)


def _added(values: Sequence[float], weight: float, scores: Sequence[float]) -> list[float]:
    """`values` plus `scores` by their weight; the best score has all of it."""
    factor = weight / (max(scores, default=0.0) or 1.0)
    return [value + factor * score for value, score in zip(values, scores, strict=True)]


def _mean_and_best(values: Iterable[float]) -> float:
    """Half of each: many chunks that answer say much else as well."""
    known = list(values)
    return (sum(known) / len(known) + max(known)) / 2 if known else 0.0


def _of_chunks(shares: Sequence[Share], words: Sequence[Sequence[str]], units: int, bm25: Bm25) -> list[float]:
    """The score of the best chunk that has a part of each of the `units`, by the query's words in the chunks."""
    scores = bm25.scores([(found, share.end - share.begin) for found, share in zip(words, shares, strict=True)])
    best = [0.0] * units
    for share, score in sorted(zip(shares, scores, strict=True), key=lambda scored: scored[1]):
        best[share.places.start : share.places.stop] = [score] * len(share.places)
    return best


def _of_sections(units: Sequence[Unit], found: Sequence[Sequence[str]], bm25: Bm25) -> list[float]:
    """The score of each unit's section: its heading holds for all that stands below it."""
    sections: list[range] = []
    sizes: list[int] = []
    begin, size, heads = 0, 0, set[int]()
    for place, (_, line, start, end) in enumerate(units):
        if not start:
            heads = {match.end() for match in _SECTION.finditer(line)}
        if place and (not start or size > SECTION_CHARS or start in heads):
            sections.append(range(begin, place))
            sizes.append(size)
            begin, size = place, 0
        size += end - start
    sections.append(range(begin, len(units)))
    sizes.append(size)
    texts = [(_joined(found, places), size) for places, size in zip(sections, sizes, strict=True)]
    return [score for score, places in zip(bm25.scores(texts), sections, strict=True) for _ in places]


def _joined(found: Sequence[Sequence[str]], places: range) -> list[str]:
    """All the stems found at `places`."""
    return [stem for stems in found[places.start : places.stop] if stems for stem in stems]


def _smoothed(scores: Sequence[float], units: Sequence[Unit]) -> list[float]:
    """Half of each unit's score, and a quarter of that of each of the two beside it."""
    smooth = [score / 2 for score in scores]
    last = len(scores) - 1
    for place, score in enumerate(scores):
        if score:
            if units[place].start:
                smooth[place - 1] += score / 4
            if place < last and units[place + 1].start:
                smooth[place + 1] += score / 4
    return smooth


def _of_ranks(units: Sequence[Unit], shares: Sequence[Share], weights: Weights) -> list[float]:
    """The value that the retriever gives each unit: the nearest hit's rank, and the good hits of its document."""
    hits: dict[str, float] = defaultdict(float)
    for share in shares:
        if share.candidate.is_hit:
            hits[share.candidate.chunk.document_id] += 1 / (2 + share.candidate.rank)
    most = max(hits.values(), default=1.0)
    values = [0.0] * len(units)
    # Text that two chunks share is the nearer one's, which comes last.
    for share in sorted(shares, key=lambda share: (-share.candidate.distance, -share.candidate.rank)):
        candidate, places = share.candidate, share.places
        value = weights.document * hits[candidate.chunk.document_id] / most - weights.rank * math.log1p(candidate.rank)
        if candidate.distance:
            value -= weights.neighbour + weights.distance * (candidate.distance - 1)
        values[places.start : places.stop] = [value] * len(places)
    return values
