"""Parts of a text that doesn't fit: some of its sentences, else its beginning up to a word or a character.

Every search here halves: a text of any length costs a few tries, each of which renders and counts. That is sound as
long as a longer part counts more, which holds but for the odd token; the part that comes back was tried itself.
"""

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
    """The sentences and lines of all that is kept of the candidate, in order."""
    found: list[Sentence] = []
    for begin, end in candidate.slices:
        spans = tiles(candidate.chunk.text[begin:end])
        found += (Sentence(candidate, (begin + start, begin + stop)) for start, stop in spans)
    return found


def last_fitting(ends: Sequence[int], fits: Callable[[int], bool], guess: int | None = None) -> int:
    """The last of the ascending `ends` that fits, by halving; 0 if none.

    With a `guess` at how many fit it begins there, and goes away from it by steps that double, until it has gone past.
    Where a tokenizer counts a longer text lower than a shorter one, a later end may be missed; what comes back fits.
    """
    low, high, step, before = 0, len(ends), 1, None
    middle = high // 2 if guess is None else max(min(guess, high) - 1, 0)
    while low < high:
        fitting = fits(ends[middle])
        low, high = (middle + 1, high) if fitting else (low, middle)
        if guess is None or before not in (None, fitting):
            guess, middle = None, (low + high) // 2
        else:
            middle = min(low + step - 1, high - 1) if fitting else max(high - step, low)
            before, step = fitting, 2 * step
    return ends[low - 1] if low else 0


def fitting_end(text: str, begin: int, fits: Callable[[int], bool]) -> int:
    """The last end after `begin` up to which `text` fits: at a sentence, else a word, else a character; 0 if none."""
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
        ranked = [sentence for sentence in ranked[number + 1 :] if len(sentence.text) <= most]
    return excerpt(chosen)


def _fitting_number(
    ranked: Sequence[Sentence], chosen: Sequence[Sentence], fits: Callable[[Sequence[Candidate]], bool]
) -> int:
    """The number of `ranked` that fit beside what is chosen."""
    if not fits(excerpt([*chosen, ranked[0]])):  # mostly there is room for none: one try tells
        return 0
    return last_fitting(range(1, len(ranked) + 1), lambda upto: fits(excerpt([*chosen, *ranked[:upto]])))


def excerpt(sentences: Iterable[Sentence]) -> list[Candidate]:
    """The candidates that have any of `sentences`, reduced to these; one that has all of them is unchanged."""
    chosen: dict[int, list[Sentence]] = {}
    for sentence in sentences:
        chosen.setdefault(sentence.candidate.key, []).append(sentence)
    return [_reduced(own[0].candidate, sorted(sentence.span for sentence in own)) for own in chosen.values()]


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
    # A model's excerpt stays the model's however it is reduced.
    by: Shortening = "llm" if candidate.shortened_by == "llm" else "extractive"
    return candidate._replace(kept=kept, shortened_by=by)
