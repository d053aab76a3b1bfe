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

from ctxassembly.assembly.rendering.excerpt import DocumentText
from ctxassembly.assembly.scoring.weights import SCORER_WEIGHT, WEIGHTS, Weights
from ctxassembly.data.candidates import Candidate, CandidateSpan

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    FloatArray = NDArray[np.float64]

MIN_CHARS = 13
"""Length of the shortest sentence that may stand for its chunk; a shorter one says no more than a marker."""


class SentenceSpan(NamedTuple):
    """A sentence or line of the text that candidates make together."""

    document_id: str
    full_text: str
    """All the text that it is a slice of."""
    start: int
    end: int
    continues: bool
    """Whether it continues the unit before it."""

    @property
    def text(self) -> str:
        """The slice."""
        return self.full_text[self.start : self.end]


@dataclass(frozen=True, eq=False)
class ScoredSentences:
    """All units in order, with their values for the query and the shares that the candidates have of them.

    There are thousands: all that is known of them is in arrays, by their place.
    """

    text: str
    """All that candidates make together, one unit after the other."""
    boundaries: Sequence[int]
    """Where each unit begins, and at last where the text ends."""
    continues: Sequence[bool]
    document_ids: Sequence[str]
    """The id of each unit's document."""
    scores: FloatArray
    """Only the distances between them mean something."""
    lexical_scores: FloatArray
    """The part of each value that the words of the query make, and a scorer."""
    term_scores: FloatArray
    """The weights of the query's words in each unit itself."""
    candidate_spans: Sequence[CandidateSpan]
    cutoff: float = -math.inf
    """The value below which a unit is not worth its room."""
    max_lexical_score: float = 1.0
    """The most that the words of the query, and a scorer, can make out."""

    @cached_property
    def spans(self) -> Sequence[SentenceSpan]:
        """The units one by one, for those who look at few candidates."""
        ends = self.boundaries[1:]
        return [
            SentenceSpan(document, self.text, start, end, continues)
            for document, start, end, continues in zip(
                self.document_ids, self.boundaries, ends, self.continues, strict=False
            )
        ]

    @cached_property
    def indexes_by_score(self) -> Sequence[int]:
        """The places of all units by value; of equal ones the one that comes first."""
        indexes: list[int] = (-self.scores).argsort(kind="stable").tolist()
        return indexes

    def sentence_text(self, index: int) -> str:
        """The text of a unit without the white space around it."""
        return self.text[self.boundaries[index] : self.boundaries[index + 1]].strip()

    @cached_property
    def short_best_hit_range(self) -> range:
        """The places of the best hit's units if none of them is long enough to stand for a chunk; else no place."""
        for candidate_span in self.candidate_spans:
            if candidate_span.candidate.is_hit and candidate_span.candidate.rank == 0:
                is_short = all(len(self.sentence_text(place)) < MIN_CHARS for place in candidate_span.sentence_range)
                return candidate_span.sentence_range if is_short else range(0)
        return range(0)

    def rank_candidates(self, candidates: Iterable[Candidate]) -> list[Candidate]:
        """`candidates` by the mean and the best value of the units that they are in, best first.

        A tie leaves their order.
        """
        ranking_scores = self._ranking_scores(self.scores)
        return sorted(candidates, key=lambda candidate: -ranking_scores[candidate.key])

    def outside_window_better(self, candidates: Sequence[Candidate], window: int) -> list[Candidate]:
        """Those of `candidates` farther than `window` from a hit that tell more than the least hit, best first.

        They are worth more than it, and not by their rank alone: they answer the query better, too.
        """
        ranked, lexical_scores = self.rank_candidates(candidates), self._ranking_scores(self.lexical_scores)
        last = max((place for place, candidate in enumerate(ranked) if candidate.is_hit), default=0)
        lowest = lexical_scores[ranked[last].key]
        return [
            candidate
            for candidate in ranked[:last]
            if candidate.distance > window and lexical_scores[candidate.key] > lowest
        ]

    def best_sentence_per_hit(self, hits: Iterable[Candidate], taken: Iterable[int] = ()) -> frozenset[int]:
        """The place of the best sentence of each of `hits`.

        Of the next best where another hit has the same, or one of the units that are `taken` already.
        """
        sentence_ranges = {share.candidate.key: share.sentence_range for share in self.candidate_spans}
        taken_texts = {self.sentence_text(place) for place in taken}
        found: dict[str, int] = {}
        for hit in hits:
            sentence_range = sentence_ranges[hit.key]
            ranked = (
                (-self.scores[sentence_range.start : sentence_range.stop]).argsort(kind="stable") + sentence_range.start
            ).tolist()
            unused = (
                (text, place)
                for place in ranked
                if len(text := self.sentence_text(place)) >= MIN_CHARS and text not in found and text not in taken_texts
            )
            if ranked:
                found.setdefault(*next(unused, (self.sentence_text(ranked[0]), ranked[0])))
        return frozenset(found.values())

    def relevance(self) -> dict[int, float]:
        """The relevance of each candidate's best sentence by key, as in `min_relevance`: the best of all has 1."""
        best = float(self.scores.max(initial=-math.inf))
        return {key: round(1 - (best - own) / self.max_lexical_score, 3) for key, own in self._best_scores.items()}

    def below_cutoff(self) -> set[int]:
        """The candidates of which no unit is worth its room, by key."""
        if self.cutoff == -math.inf:
            return set()
        return {key for key, best in self._best_scores.items() if best < self.cutoff}

    @cached_property
    def _best_scores(self) -> Mapping[int, float]:
        """The value of the best unit of each candidate that has any, by key."""
        return self._best_per_candidate(self.scores)

    def _best_per_candidate(self, scores: FloatArray) -> Mapping[int, float]:
        from ctxassembly.assembly.scoring.features import best_per_span  # with numpy, as below

        best = best_per_span(scores, self.candidate_spans).tolist()
        return {
            share.candidate.key: own
            for share, own in zip(self.candidate_spans, best, strict=True)
            if share.sentence_range
        }

    def _ranking_scores(self, scores: FloatArray) -> dict[int, float]:
        """Half of each, by key: many chunks that answer say much else as well."""
        best = self._best_scores if scores is self.scores else self._best_per_candidate(scores)
        cumulative = [0.0, *scores.cumsum().tolist()]
        return {
            span.candidate.key: (
                (
                    (cumulative[span.sentence_range.stop] - cumulative[span.sentence_range.start])
                    / len(span.sentence_range)
                    + best[span.candidate.key]
                )
                / 2
                if span.sentence_range
                else 0.0
            )
            for span in self.candidate_spans
        }


def split_and_score(
    document_texts: Iterable[DocumentText],
    query: str,
    min_relevance: float | None = None,
    weights: Weights = WEIGHTS,
    stop_words: Collection[str] | None = None,
    scorer_scores: Mapping[str, float] = MappingProxyType({}),
) -> ScoredSentences:
    """Divide all lines into units and value them for `query`, of which `stop_words` say little, as in the config.

    `scorer_scores` are a scorer's, by the text of a unit. A unit is not worth its room if it falls below the best by
    more than (1 - `min_relevance`) x all that the words of the query and the scores can make out.
    """
    from ctxassembly.assembly.scoring.features import score_sentences  # with numpy, which nothing without a query needs

    sentence_scores = score_sentences(document_texts, query, weights, stop_words, scorer_scores)
    max_lexical_score = weights.max_lexical_score + (SCORER_WEIGHT if scorer_scores else 0.0)
    cutoff = (
        -math.inf
        if min_relevance is None
        else max(sentence_scores.scores.tolist(), default=0.0) - (1 - min_relevance) * max_lexical_score
    )
    return ScoredSentences(**sentence_scores._asdict(), cutoff=cutoff, max_lexical_score=max_lexical_score)
