"""Relevance of sentences to a query: no model, no index, any language.

The text of the candidates is split into sentences; a line of a table or of code counts as one. The score of a sentence
is a weighted sum of signals, each scaled by its best value. The retriever provides signals of chunks: the rank of the
nearest hit, the distance from it, and the number of good hits in the document. The query's words provide signals at
four widths: in the sentence, in the sentences next to it, in its chunk, and in its section, since a heading applies to
all the text below it. Words are weighted as in BM25, with document frequencies by chunk: among sentences even a word
that every chunk has is rare. Function words of the query ("what", "explain") count half. In a dialogue, the turns of a
speaker that the query names score higher (`speakers.py`), and so do documents that the query or the best sentences
mention by title (`titles.py`), sections whose heading has the words of the query, and the other lines of a table of
which one is among the best (`tables.py`).
"""

from __future__ import annotations

import math
import sys
from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, compress
from typing import TYPE_CHECKING

from ctxassembly.cached_property import cached_property
from ctxassembly.data.candidates import ALREADY_SENT, Candidate, CandidateSpan
from ctxassembly.text.lines import TextLines

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    FloatArray = NDArray[np.float64]
    IntArray = NDArray[np.int64]

EVERY_SENTENCE = -sys.float_info.max
"""The cutoff that no score is below; only sentences that may not be included score less."""
FULL_MINIMUM_TOKENS = 3_000
"""Tokens of a context from which `min_relevance` applies in full."""
FIRST_DISTANCE = 2.0
"""How much farther from the best sentence the first text may be; the factor falls evenly to 1 at that length.

Cheap text may be less relevant: the first sentences have the second document of a question about two, and the rest of a
section. At an equal number of tokens, recall is .01 to .02 higher than with a constant minimum
(`tests/bench/README.md`, "As short as the answer needs").
"""
MIN_CHARS = 13
"""Length of the shortest sentence that may represent its chunk; a shorter one says no more than a gap marker."""


def minimum_at(tokens: FloatArray, min_relevance: float) -> FloatArray:
    """Return the minimum relevance of text that is added to contexts of so many `tokens`.

    >>> import numpy as np
    >>> minimum_at(np.array([0, 1_500, 3_000, 6_000]), 0.2).round(2).tolist()
    [-0.6, -0.2, 0.2, 0.2]
    """
    factors = FIRST_DISTANCE - (FIRST_DISTANCE - 1) * (tokens / FULL_MINIMUM_TOKENS).clip(max=1.0)
    return 1 - (1 - min_relevance) * factors


@dataclass(frozen=True, eq=False)
class Ranking:
    """Scores of sentences, and what follows from them for sentences and candidates, whatever the cutoff."""

    scores: FloatArray
    """Only differences between scores have a meaning."""
    candidate_spans: Sequence[CandidateSpan]
    offered: IntArray
    """The indexes of the sentences that each candidate offers, one candidate after the other."""
    offered_counts: IntArray
    """The number of the sentences that each candidate offers."""

    @cached_property
    def order(self) -> IntArray:
        """The indexes of all sentences that may be included, best first; ties keep their order in the text."""
        return (-self.scores).argsort(kind="stable")[: int((self.scores >= EVERY_SENTENCE).sum())]

    @cached_property
    def candidate_scores(self) -> Mapping[int, tuple[float, float]]:
        """The average and the best score of the sentences of each candidate that offers any, by key."""
        import numpy as np  # loaded already, since scores are arrays

        scores, counts = self.scores[self.offered], self.offered_counts
        starts = (counts.cumsum() - counts)[counts > 0]
        if not len(starts):
            return {}
        means, best = np.add.reduceat(scores, starts) / counts[counts > 0], np.maximum.reduceat(scores, starts)
        keys = [span.candidate.key for span in compress(self.candidate_spans, counts.tolist())]
        return dict(zip(keys, zip(means.tolist(), best.tolist(), strict=True), strict=True))

    def ranking_scores(self) -> dict[int, float]:
        """Return the mean of each candidate's best and average score, by key.

        Half of each: many chunks that answer say much else as well.
        """
        return {key: (mean + best) / 2 for key, (mean, best) in self.candidate_scores.items()}


class TokenStarts(dict[int, int]):
    """Where the tokens of each sentence begin, by its index, found when they are first looked up.

    That is before the blanks between a sentence and the one that it continues: tokens mostly end there
    (`tokens/counter.py`), so the counts of sentences in a row add up. After the last one it is the end of the text.
    """

    __slots__ = ("_boundaries", "_continues", "_text")

    def __init__(self, text: str, boundaries: Sequence[int], continues: Sequence[bool]) -> None:
        super().__init__()
        self._text, self._boundaries, self._continues = text, boundaries, continues

    def __missing__(self, index: int) -> int:
        """Find where the tokens of the sentence at `index` begin."""
        start, text = self._boundaries[index], self._text
        if text[start - 1] == " " and index < len(self._continues) and self._continues[index]:
            before = self._boundaries[index - 1]
            while start > before and text[start - 1] == " ":
                start -= 1
        self[index] = start
        return start


@dataclass(frozen=True, eq=False)
class ScoredSentences:
    """All sentences of the candidates in order, with their scores; arrays are indexed by sentence."""

    text: str
    """The text of all candidates, one sentence after the other."""
    boundaries: Sequence[int]
    """The start of each sentence, then the end of the text."""
    lengths: IntArray
    """The characters of each sentence."""
    continues: Sequence[bool]
    """Whether each sentence continues the one before it."""
    document_ids: Sequence[str]
    """The document id of each sentence."""
    ranking: Ranking
    lexical_scores: FloatArray
    """The part of each score that comes from the words of the query, from a scorer and from titles."""
    term_scores: FloatArray
    """The weights of the query's words in each sentence itself."""
    lines: TextLines
    """The forms of the sentences."""
    cutoff: float = EVERY_SENTENCE
    """The minimum score of a sentence that may be included."""
    max_lexical_score: float = 1.0
    """The largest difference that the words of the query and a scorer can make."""
    linked_documents: Collection[str] = frozenset()
    """The documents that the query or the best sentences mention by title."""

    @property
    def scores(self) -> FloatArray:
        """The score of each sentence."""
        return self.ranking.scores

    @property
    def candidate_spans(self) -> Sequence[CandidateSpan]:
        """The candidates in the order of the text."""
        return self.ranking.candidate_spans

    @cached_property
    def included(self) -> Sequence[int]:
        """The indexes of the sentences that may be included and aren't below the cutoff, best first."""
        indexes: list[int] = self.ranking.order[: int((self.scores >= self.cutoff).sum())].tolist()
        return indexes

    def best(self, count: int) -> list[int]:
        """Return the indexes of the `count` best sentences that may be included, best first."""
        indexes: list[int] = self.ranking.order[:count].tolist()
        return indexes

    def above_minimum(
        self,
        min_relevance: float,
        chars_per_token: float,
        max_chars: float,
        offered: ScoredSentences | None = None,
    ) -> ScoredSentences:
        """Return those `offered` of the sentences, or all, with the cutoff of `min_relevance`.

        They are unchanged if the best ones exceed `max_chars`. Sentences are added best first, until the relevance of
        the next one is below the minimum, which rises with the tokens so far. What the conversation has counts as
        added, but takes no room.
        """
        offered, order = offered or self, self.ranking.order
        lengths = self.lengths[order]
        chars_before = lengths.cumsum() - lengths
        minimums = minimum_at(chars_before / chars_per_token, min_relevance)
        below = (self._relevance[order] < minimums).nonzero()[0]
        if not len(below):
            return offered
        above = order[: below[0]]
        if self.lengths[above][offered.scores[above] >= EVERY_SENTENCE].sum() > max_chars:
            return offered
        return replace(offered, cutoff=float(self.scores[above[-1]]) if len(above) else EVERY_SENTENCE)

    def raised(self, bonuses: FloatArray) -> ScoredSentences:
        """Return the sentences with scores higher by `bonuses`, none above the best one: cutoffs keep their meaning."""
        if not bonuses.any():
            return self
        bonuses = bonuses.clip(max=self.scores.max(initial=-math.inf) - self.scores)
        ranking = replace(self.ranking, scores=self.scores + bonuses)
        return replace(self, ranking=ranking, lexical_scores=self.lexical_scores + bonuses)

    def restricted_to(self, candidates: Iterable[Candidate]) -> ScoredSentences:
        """Return the sentences with only `candidates` to choose from; scores and cutoff stay the same."""
        import numpy as np  # loaded already, since scores are arrays

        forms = {candidate.key: candidate for candidate in candidates}
        if all(forms.get(span.candidate.key) is span.candidate for span in self.candidate_spans):
            return self
        spans = [
            span._replace(candidate=forms[span.candidate.key])
            for span in self.candidate_spans
            if span.candidate.key in forms
        ]
        own = [self._offered_by(span) for span in spans]
        offered, counts = (np.array([*values], dtype=np.int64) for values in (chain(*own), map(len, own)))
        scores = np.full(len(self.scores), -math.inf)
        scores[offered] = self.scores[offered]
        return replace(self, ranking=Ranking(scores, spans, offered, counts))

    def within(self, window: int) -> ScoredSentences:
        """Return the sentences with only the candidates to choose from that are at most `window` from a hit."""
        candidates = (span.candidate for span in self.candidate_spans)
        return self.restricted_to(own for own in candidates if own.distance <= window)

    def _offered_by(self, span: CandidateSpan) -> Sequence[int]:
        """Return the indexes of the sentences that a candidate offers: the ones of which it keeps any words."""
        own = span.sentence_range
        if span.candidate.shortened_by != ALREADY_SENT:
            return own
        found: list[int] = []
        for start, end in span.candidate.spans:
            begin, stop = span.start + start, span.start + end
            first = max(bisect_right(self.boundaries, begin) - 1, own.start)
            for index in range(first, min(bisect_left(self.boundaries, stop), own.stop)):
                kept = self.text[max(self.boundaries[index], begin) : min(self.boundaries[index + 1], stop)]
                if any(map(str.isalnum, kept)):
                    found.append(index)
        return found

    def sentence_text(self, index: int) -> str:
        """Return the text of a sentence without the white space around it."""
        return self.text[self.boundaries[index] : self.boundaries[index + 1]].strip()

    @cached_property
    def short_best_hit_range(self) -> range:
        """The sentences of the best hit if all of them are shorter than `MIN_CHARS`; else empty."""
        for span in self.candidate_spans:
            if span.candidate.is_hit and span.candidate.rank == 0:
                is_short = all(len(self.sentence_text(index)) < MIN_CHARS for index in span.sentence_range)
                return span.sentence_range if is_short else range(0)
        return range(0)

    def rank_candidates(self, candidates: Iterable[Candidate]) -> list[Candidate]:
        """Return `candidates` by the mean and the best score of their sentences, best first; ties keep their order."""
        scores = self.ranking.ranking_scores()
        return sorted(candidates, key=lambda candidate: -scores.get(candidate.key, 0.0))

    def outside_window_better(self, candidates: Sequence[Candidate], window: int) -> list[Candidate]:
        """Return the candidates farther than `window` from a hit that are more relevant than the last hit, best first.

        They have both a higher score and a higher lexical score: a better rank alone is not enough. A document without
        hits needs neither if it is linked.
        """
        ranked = self.rank_candidates(candidates)
        lexical_scores = replace(self.ranking, scores=self.lexical_scores).ranking_scores()
        last_hit = max((index for index, candidate in enumerate(ranked) if candidate.is_hit), default=0)
        lowest = lexical_scores.get(ranked[last_hit].key, 0.0)
        retrieved = {candidate.chunk.document_id for candidate in candidates if candidate.is_hit}
        linked = {*self.linked_documents} - retrieved
        return [
            candidate
            for place, candidate in enumerate(ranked)
            if candidate.distance > window
            and (
                candidate.chunk.document_id in linked
                or (place < last_hit and lexical_scores.get(candidate.key, 0.0) > lowest)
            )
        ]

    def relevance(self) -> dict[int, float]:
        """Return the relevance of each candidate's best sentence by key, on the scale of `min_relevance`: at most 1."""
        best = float(self.scores.max(initial=-math.inf))
        scores = self.ranking.candidate_scores
        return {key: round(1 - (best - own) / self.max_lexical_score, 3) for key, (_, own) in scores.items()}

    def next_below_cutoff(self, max_chars: float) -> tuple[int, float]:
        """Return how many of the best sentences below the cutoff `max_chars` have, and the relevance of the first."""
        below = self.ranking.order[len(self.included) :]
        count = int((self.lengths[below].cumsum() <= max_chars).sum())
        return count, float(self._relevance[below[0]]) if len(below) else 0.0

    @cached_property
    def _relevance(self) -> FloatArray:
        """The relevance of each sentence."""
        relevance: FloatArray = 1 - (self.scores.max(initial=-math.inf) - self.scores) / self.max_lexical_score
        return relevance

    @cached_property
    def token_starts(self) -> TokenStarts:
        """Where the tokens of each sentence begin."""
        return TokenStarts(self.text, self.boundaries, self.continues)

    def token_starts_in(self, key: int, start: int, end: int) -> Iterator[int]:
        """Yield where the tokens of sentences begin inside the slice `[start:end]` of a candidate's chunk.

        The offsets are relative to `start`; there are none for a candidate that has no sentences here.
        """
        if span := self._spans_by_key.get(key):
            begin, stop = span.start + start, span.start + end
            first = max(bisect_right(self.boundaries, begin), span.sentence_range.start)
            for at in map(self.token_starts.__getitem__, range(first, span.sentence_range.stop)):
                if at >= stop:
                    break
                if at > begin:
                    yield at - begin

    @cached_property
    def _spans_by_key(self) -> Mapping[int, CandidateSpan]:
        return {span.candidate.key: span for span in self.candidate_spans}

    def below_cutoff(self) -> set[int]:
        """Return the keys of the candidates all of whose sentences are below the cutoff."""
        return {key for key, (_, best) in self.ranking.candidate_scores.items() if best < self.cutoff}

    def has_below_cutoff(self, candidates: Iterable[Candidate]) -> bool:
        """Return whether any sentence of `candidates` is below the cutoff."""
        keys = {candidate.key for candidate in candidates}
        is_below = ((self.scores < self.cutoff) & (self.scores >= EVERY_SENTENCE)).tobytes()
        return any(
            is_below.find(1, own.start, own.stop) >= 0
            for candidate, _, _, own in self.candidate_spans
            if candidate.key in keys
        )
