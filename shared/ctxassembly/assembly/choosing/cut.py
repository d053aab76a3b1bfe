"""What may stand of a text that doesn't fit: some of its sentences, else its beginning up to a word or a character."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from ctxassembly.data.candidates import Candidate, Shortening
from ctxassembly.data.chunks import Span
from ctxassembly.text.sentences import sentence_ends, tiles

BestSentences = Callable[[Sequence[Candidate]], "Sequence[Sentence]"]
"""Ranks the sentences of candidates that may stand where not all of them fit, best first."""

_WORD_END = re.compile(r"\S(?=\s)")


class Sentence(NamedTuple):
    """A slice of a candidate's chunk that says something by itself."""

    candidate: Candidate
    span: Span

    @property
    def text(self) -> str:
        """The slice itself."""
        return self.candidate.chunk.text[slice(*self.span)]


def sentences(candidate: Candidate) -> list[Sentence]:
    """All that is kept of the candidate by sentences and lines, in order."""
    found: list[Sentence] = []
    for begin, end in candidate.slices:
        spans = tiles(candidate.chunk.text[begin:end])
        found += (Sentence(candidate, (begin + first, begin + second)) for first, second in spans)
    return found


def last_fitting(ends: Sequence[int], fits: Callable[[int], bool]) -> int:
    """The last of the ascending `ends` that fits, by halving; 0 if none.

    Where a tokenizer counts a longer text lower than a shorter one, a later end may be missed; what comes back fits.
    """
    low, high = 0, len(ends)
    while low < high:
        middle = (low + high) // 2
        if fits(ends[middle]):
            low = middle + 1
        else:
            high = middle
    return ends[low - 1] if low else 0


def fitting_end(text: str, begin: int, fits: Callable[[int], bool]) -> int:
    """Where to cut `text` after `begin` so that what is before fits: at a sentence, else a word, else a character.

    0 if nowhere.
    """
    for ends in (
        sentence_ends(text, begin),
        [match.end() for match in _WORD_END.finditer(text, begin)],
        range(begin + 1, len(text)),
    ):
        if end := last_fitting(ends, fits):
            return end
    return 0


def beginning(candidate: Candidate, end: int, by: Shortening) -> Candidate:
    """`candidate` with the first `end` characters of its text; itself if that is all of it."""
    if end >= len(candidate.text):
        return candidate
    kept: list[Span] = []
    for start, stop in candidate.slices:
        if end > 0:
            kept.append((start, min(stop, start + end)))
        end -= stop - start
    return candidate._replace(kept=tuple(kept), shortened_by=by)


def fitting_excerpt(ranked: Sequence[Sentence], fits: Callable[[Sequence[Candidate]], bool]) -> list[Candidate]:
    """The excerpt of as many of `ranked`, best first, as fit together; nothing if none does.

    One that doesn't fit is passed over, and so are those after it that are more than half as long: that keeps the tries
    few, however many there are.
    """
    chosen: list[Sentence] = []
    while ranked:
        number = _fitting_number(ranked, chosen, fits)
        chosen += ranked[:number]
        most = len(ranked[number].text) // 2 if number < len(ranked) else 0
        ranked = [each for each in ranked[number + 1 :] if len(each.text) <= most]
    return excerpt(chosen)


def _fitting_number(
    ranked: Sequence[Sentence], chosen: Sequence[Sentence], fits: Callable[[Sequence[Candidate]], bool]
) -> int:
    """How many of `ranked` fit beside what is chosen."""
    if not fits(excerpt([*chosen, ranked[0]])):  # mostly there is room for none: one try tells
        return 0
    return last_fitting(range(1, len(ranked) + 1), lambda upto: fits(excerpt([*chosen, *ranked[:upto]])))


def excerpt(sentences: Iterable[Sentence]) -> list[Candidate]:
    """The candidates that have any of `sentences`, reduced to these; one that has all of them is unchanged."""
    chosen: dict[int, list[Sentence]] = {}
    for each in sentences:
        chosen.setdefault(each.candidate.key, []).append(each)
    return [_reduced(each[0].candidate, sorted(sentence.span for sentence in each)) for each in chosen.values()]


def merged(spans: Iterable[Span]) -> tuple[Span, ...]:
    """The ascending `spans`, those that touch as one."""
    runs: list[Span] = []
    for start, end in spans:
        if runs and runs[-1][1] == start:
            runs[-1] = (runs[-1][0], end)
        else:
            runs.append((start, end))
    return tuple(runs)


def _reduced(candidate: Candidate, spans: Iterable[Span]) -> Candidate:
    kept = merged(spans)
    if kept == candidate.slices:
        return candidate
    # What a model has extracted stays the model's.
    by: Shortening = "llm" if candidate.shortened_by == "llm" else "extractive"
    return candidate._replace(kept=kept, shortened_by=by)
