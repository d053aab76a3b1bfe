"""What may stand of a text that doesn't fit: some of its sentences, else its beginning up to a word or a character."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import NamedTuple

from ctxassembly.types import Candidate, Shortening, Span

# A run of stops is tried from its first one only: from each of them, a long run would take quadratic time.
_BREAK = re.compile(r"\n\s*|(?<![.!?…])[.!?…。！？]+(?:[\"'”’»)\]」』）]*\s+|(?<=[。！？])[\"'”’»)\]」』）]*)")
_WORD_END = re.compile(r"\S(?=\s)")


class Sentence(NamedTuple):
    """A slice of a candidate's chunk that says something by itself."""

    candidate: Candidate
    span: Span

    @property
    def text(self) -> str:
        """The slice itself."""
        return self.candidate.chunk.text[slice(*self.span)]


def tiles(text: str) -> list[Span]:
    """`text` by sentences and lines, in order: white space belongs to the one before it, and none is blank."""
    edges = [0, *(match.end() for match in _BREAK.finditer(text)), len(text)]
    found = [(first, second) for first, second in pairwise(edges) if text[first:second].strip()]
    if found:  # the white space before all of them belongs to the first
        found[0] = (0, found[0][1])
    return found


def sentence_ends(text: str, begin: int = 0) -> list[int]:
    """Where the sentences and lines of `text[begin:]` end, ascending; that of the last one only if more follows."""
    text = text[begin:] if begin else text
    ends = [first + len(text[first:second].rstrip()) for first, second in tiles(text)]
    return [begin + end for end in ends if end < len(text)]


def sentences(candidate: Candidate) -> list[Sentence]:
    """What is kept of the candidate by sentences and lines, in order; white space belongs to the one before it."""
    found: list[Sentence] = []
    text = candidate.chunk.text
    for begin, end in candidate.kept or ((0, len(text)),):
        found += (Sentence(candidate, (begin + first, begin + second)) for first, second in tiles(text[begin:end]))
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
    for start, stop in candidate.kept or ((0, len(candidate.chunk.text)),):
        if end > 0:
            kept.append((start, min(stop, start + end)))
        end -= stop - start
    return replace(candidate, kept=tuple(kept), shortened_by=by)


def excerpt(sentences: Iterable[Sentence]) -> list[Candidate]:
    """The candidates that have any of `sentences`, reduced to these; one that has all of them is unchanged."""
    chosen: dict[int, list[Sentence]] = {}
    for each in sentences:
        chosen.setdefault(id(each.candidate), []).append(each)
    return [_reduced(each[0].candidate, sorted(sentence.span for sentence in each)) for each in chosen.values()]


def _reduced(candidate: Candidate, spans: Iterable[Span]) -> Candidate:
    kept: list[Span] = []
    for start, end in spans:
        if kept and kept[-1][1] == start:
            kept[-1] = (kept[-1][0], end)
        else:
            kept.append((start, end))
    if tuple(kept) == (candidate.kept or ((0, len(candidate.chunk.text)),)):
        return candidate
    # What a model has extracted stays the model's.
    by: Shortening = "llm" if candidate.shortened_by == "llm" else "extractive"
    return replace(candidate, kept=tuple(kept), shortened_by=by)
