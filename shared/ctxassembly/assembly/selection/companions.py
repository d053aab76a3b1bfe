"""The companions of a sentence: those that are picked with it, or it isn't picked.

They are what its line needs to be understood (`text/lines.py`), and what they need in turn. A sentence that begins with
"This" or "They" is read better with the one before it, its antecedent, which is picked with it if there is room for
both.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

from ctxassembly.assembly.scoring.sentences import EVERY_SENTENCE, ScoredSentences

MAX_ANTECEDENT_CHARS = 400
"""Length of the longest antecedent."""
MAX_BEST = 10
"""Number of the best sentences: they are kept alone rather than not at all."""
MAX_COMPANIONS = 4
"""Most steps from a sentence to what it needs, such as from a heading to an introduction to an item."""


class Companions:
    """The companions of sentences, each found once."""

    def __init__(self, sentences: ScoredSentences) -> None:
        self._sentences, self._lines = sentences, sentences.lines
        self._best = frozenset(sentences.indexes_by_score[:MAX_BEST])
        self._found: dict[int, tuple[int, ...]] = {}

    def of(self, index: int) -> tuple[int, ...]:
        """Return the indexes of the sentences that the one at `index` needs, ascending, without its own."""
        if index not in self._found:
            self._found[index] = self._find(index)
        return self._found[index]

    def antecedent(self, index: int) -> int | None:
        """Return the index of the sentence before the one at `index` if this one refers to it; None if it is long."""
        if not self._sentences.refers_back(index) or self._sentences.scores[index - 1] < EVERY_SENTENCE:
            return None
        boundaries = self._sentences.boundaries
        return index - 1 if boundaries[index] - boundaries[index - 1] <= MAX_ANTECEDENT_CHARS else None

    def can_do_without(self, index: int) -> bool:
        """Return True if the sentence at `index` may be kept alone where its companions don't fit.

        It is one of the best, so that it may be the answer, and is a row, an item or prose: a part of an entry could
        pass for a part of another, and an introduction says nothing.
        """
        return index in self._best and not self._lines.introduces(index) and not self._lines.is_part(index)

    def _find(self, index: int) -> tuple[int, ...]:
        if not (first := self._needed(index)):
            return ()
        needed, last = {*first}, index
        for _ in range(MAX_COMPANIONS):
            if max(needed) <= last or not self._lines.introduces(max(needed)):
                break
            last = max(needed)
            needed.update(self._needed(last))
        scores = self._sentences.scores
        return tuple(sorted(at for at in needed if at != index and scores[at] >= EVERY_SENTENCE))

    def _needed(self, index: int) -> Sequence[int]:
        needed = self._lines.needed(index)
        return self._better_neighbor(index) if needed is None else needed

    def _better_neighbor(self, index: int) -> Sequence[int]:
        """Return the one of the two sentences next to it in the same chunk that has the higher score."""
        neighbors = [at for at in (index - 1, index + 1) if self._continues_in_chunk[max(at, index)]]
        return [max(neighbors, key=self._sentences.scores.__getitem__)] if neighbors else []

    @cached_property
    def _continues_in_chunk(self) -> Sequence[int]:
        """For each sentence 1 if it continues another one in the same chunk, else 0."""
        flags = bytearray(len(self._sentences.continues) + 1)
        for span in self._sentences.candidate_spans:
            first, stop = span.sentence_range.start + 1, span.sentence_range.stop
            flags[first:stop] = b"\x01" * (stop - first)
        return flags
