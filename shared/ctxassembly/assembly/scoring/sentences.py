"""Values of sentences for a query: no model, no index, any language.

The candidates are laid onto lines of text and divided into units: sentences, or lines of a table or of code. A unit's
value is a sum of signals, each in parts of the best unit's. The retriever tells of chunks: the rank of the nearest hit,
the distance from it, and how many good hits the document has. The words of the query tell at four widths: in the unit
itself, in the units beside it, in its chunk, and in its section, since a heading holds for all that stands below it.
Words weigh as BM25 has it, by chunks: among sentences even a word that every chunk has is rare. Function words of the
query ("what", "explain") weigh half. In a dialogue the turns of whom the query names are worth more (`speakers.py`).
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from ctxassembly.assembly.rendering.excerpt import Line
from ctxassembly.assembly.scoring.weights import WEIGHT, WEIGHTS, Weights
from ctxassembly.data.candidates import Candidate, Share

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Values = NDArray[np.float64]

LEAST_CHARS = 13
"""Length of the shortest sentence that may stand for its chunk; a shorter one says no more than a marker."""


class Unit(NamedTuple):
    """A sentence or line of the text that candidates make together."""

    document_id: str
    line: str
    """All the text that it is a slice of."""
    start: int
    end: int
    continues: bool
    """Whether it continues the unit before it."""

    @property
    def text(self) -> str:
        """The slice."""
        return self.line[self.start : self.end]


@dataclass(frozen=True, eq=False)
class Units:
    """All units in order, with their values for the query and the shares that the candidates have of them.

    There are thousands: all that is known of them is in arrays, by their place.
    """

    text: str
    """All that candidates make together, one unit after the other."""
    edges: Sequence[int]
    """Where each unit begins, and at last where the text ends."""
    continues: Sequence[bool]
    documents: Sequence[str]
    """The id of each unit's document."""
    values: Values
    """Only the distances between them mean something."""
    words: Values
    """The part of each value that the words of the query make, and a scorer."""
    matches: Values
    """The weights of the query's words in each unit itself."""
    shares: Sequence[Share]
    least: float = -math.inf
    """The value below which a unit is not worth its room."""
    scale: float = 1.0
    """The most that the words of the query, and a scorer, can make out."""

    @cached_property
    def units(self) -> Sequence[Unit]:
        """The units one by one, for those who look at few candidates."""
        ends = self.edges[1:]
        return [
            Unit(document, self.text, start, end, continues)
            for document, start, end, continues in zip(self.documents, self.edges, ends, self.continues, strict=False)
        ]

    @cached_property
    def best_first(self) -> Sequence[int]:
        """The places of all units by value; of equal ones the one that comes first."""
        places: list[int] = (-self.values).argsort(kind="stable").tolist()
        return places

    def sentence(self, place: int) -> str:
        """The text of a unit without the white space around it."""
        return self.text[self.edges[place] : self.edges[place + 1]].strip()

    @cached_property
    def short_best_hit(self) -> range:
        """The places of the best hit's units if none of them is long enough to stand for a chunk; else no place."""
        for share in self.shares:
            if share.candidate.is_hit and share.candidate.rank == 0:
                is_short = all(len(self.sentence(place)) < LEAST_CHARS for place in share.places)
                return share.places if is_short else range(0)
        return range(0)

    def by_value(self, candidates: Iterable[Candidate]) -> list[Candidate]:
        """`candidates` by the mean and the best value of the units that they are in, best first.

        A tie leaves their order.
        """
        worth = self._mean_and_best(self.values)
        return sorted(candidates, key=lambda candidate: -worth[candidate.key])

    def beyond(self, candidates: Sequence[Candidate], window: int) -> list[Candidate]:
        """Those of `candidates` farther than `window` from a hit that tell more than the least hit, best first.

        They are worth more than it, and not by their rank alone: they answer the query better, too.
        """
        ranked, words = self.by_value(candidates), self._mean_and_best(self.words)
        last = max((place for place, candidate in enumerate(ranked) if candidate.is_hit), default=0)
        least = words[ranked[last].key]
        return [
            candidate for candidate in ranked[:last] if candidate.distance > window and words[candidate.key] > least
        ]

    def best_of(self, hits: Iterable[Candidate], standing: Iterable[int] = ()) -> frozenset[int]:
        """The place of the best sentence of each of `hits`.

        Of the next best where another hit has the same, or one of the units that are `standing` already.
        """
        places = {share.candidate.key: share.places for share in self.shares}
        said = {self.sentence(place) for place in standing}
        found: dict[str, int] = {}
        for hit in hits:
            own = places[hit.key]
            best_first = ((-self.values[own.start : own.stop]).argsort(kind="stable") + own.start).tolist()
            new = (
                (text, place)
                for place in best_first
                if len(text := self.sentence(place)) >= LEAST_CHARS and text not in found and text not in said
            )
            if best_first:
                found.setdefault(*next(new, (self.sentence(best_first[0]), best_first[0])))
        return frozenset(found.values())

    def worth(self) -> dict[int, float]:
        """The worth of each candidate's best unit by key, on the scale of `stop_below`: the best of all is worth 1."""
        best = float(self.values.max(initial=-math.inf))
        return {key: round(1 - (best - own) / self.scale, 3) for key, own in self._best.items()}

    def poor(self) -> set[int]:
        """The candidates of which no unit is worth its room, by key."""
        if self.least == -math.inf:
            return set()
        return {key for key, best in self._best.items() if best < self.least}

    @cached_property
    def _best(self) -> Mapping[int, float]:
        """The value of the best unit of each candidate that has any, by key."""
        return self._best_of(self.values)

    def _best_of(self, values: Values) -> Mapping[int, float]:
        from ctxassembly.assembly.scoring.features import best_in_shares  # with numpy, as below

        best = best_in_shares(values, self.shares).tolist()
        return {share.candidate.key: own for share, own in zip(self.shares, best, strict=True) if share.places}

    def _mean_and_best(self, values: Values) -> dict[int, float]:
        """Half of each, by key: many chunks that answer say much else as well."""
        best = self._best if values is self.values else self._best_of(values)
        upto = [0.0, *values.cumsum().tolist()]
        return {
            share.candidate.key: (
                ((upto[share.places.stop] - upto[share.places.start]) / len(share.places) + best[share.candidate.key])
                / 2
                if share.places
                else 0.0
            )
            for share in self.shares
        }


def units_of(
    lines: Iterable[Line],
    query: str,
    stop_below: float | None = None,
    weights: Weights = WEIGHTS,
    function_words: Collection[str] | None = None,
    scores: Mapping[str, float] = MappingProxyType({}),
) -> Units:
    """Divide all lines into units and value them for `query`, of which `function_words` say little, as in the config.

    `scores` are a scorer's, by the text of a unit. A unit is not worth its room if it falls below the best by more than
    (1 - `stop_below`) x all that the words of the query and the scores can make out.
    """
    from ctxassembly.assembly.scoring.features import value_units  # with numpy, which nothing without a query needs

    valued = value_units(lines, query, weights, function_words, scores)
    scale = weights.words + (WEIGHT if scores else 0.0)
    least = -math.inf if stop_below is None else max(valued.values.tolist(), default=0.0) - (1 - stop_below) * scale
    return Units(**valued._asdict(), least=least, scale=scale)
