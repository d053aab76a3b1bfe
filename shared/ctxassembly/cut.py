"""What may stand of a text that doesn't fit: some of its sentences, else its beginning up to a word or a character."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from ctxassembly.types import Candidate, Shortening, Span

# Those of other scripts end a sentence whatever comes after them: Chinese and Japanese, Devanagari and its neighbours,
# Arabic and Urdu, Ethiopic, Khmer, Burmese, Tibetan.
_FULL = "。！？｡।॥؟۔።፧។៕။།"
_STOPS, _CLOSING = f".!?…{_FULL}", "\"'”’»)\\]」』）"
# It begins with one character of a set, which is what a search can skip to. A run of stops is tried from its first one
# only: from each of them, a long run would take quadratic time.
_BREAK = re.compile(
    rf"[\n{_STOPS}](?:(?<=\n)(?:\s*\n)?|(?<!\n)(?<![.!?…].)[{_STOPS}]*"
    rf"(?:[{_CLOSING}]*(?:\s*\n|\s+)|(?<=[{_FULL}])[{_CLOSING}]*))",
    re.DOTALL,
)
# Thai and Lao have no stops: a blank parts sentences, and phrases as well.
_THAI, _OFTEN = "\u0e00-\u0eff", "\u0e32\u0eb2"
_BREAK_OR_BLANK = re.compile(rf"{_BREAK.pattern}|(?<=[{_THAI}]) +(?=[{_THAI}])", re.DOTALL)
PHRASE_CHARS = 60
"""What Thai puts between two blanks is put together up to here: a phrase alone says little."""
LONGEST, CUT = 1_200, 400
"""Characters of a sentence: the longest that is whole, and what is made of a longer one, which is no sentence but, say,
a transcript without stops. Or nothing of it would stand where there is room for less."""
_BLANK = re.compile(r"\s(?=\S)")
_WORD_END = re.compile(r"\S(?=\s)")
# A list's number says nothing by itself, and less after the text before it.
_NUMBER = re.compile(r"\s*\(?(?:\d{1,3}(?:\.\d{1,3})*|[A-Za-z])[.)]\s*")
NUMBER_CHARS = 24
"""Of an item's number at most, with the blanks around it."""
_ROW = re.compile(r"[ \t]*\|")


class Sentence(NamedTuple):
    """A slice of a candidate's chunk that says something by itself."""

    candidate: Candidate
    span: Span

    @property
    def text(self) -> str:
        """The slice itself."""
        return self.candidate.chunk.text[slice(*self.span)]


def tiles(text: str) -> list[Span]:
    """`text` by sentences and lines, in order; together they are all of it.

    White space belongs to the one before it, but for the indentation of a line; the number of an item to what comes
    after it; a row of a table is one, whatever stops are in its cells.
    """
    edges = [0]
    begin, rows, phrases = 0, "|" in text, any(sign in text for sign in _OFTEN)
    for match in (_BREAK_OR_BLANK if phrases else _BREAK).finditer(text):
        end = match.end()
        if phrases and end - begin < PHRASE_CHARS and match[0][0] == " ":
            continue
        if (text[begin].isspace() and text[begin:end].isspace()) or (
            end - begin <= NUMBER_CHARS and _NUMBER.fullmatch(text, begin, end)
        ):
            continue
        if rows and _ROW.match(text, begin, end) and "\n" not in match[0]:
            continue
        edges.append(end)
        begin = end
    if len(edges) > 1 and not text[edges[-1] :].strip():
        edges.pop()
    edges.append(len(text))
    if any(end - begin > LONGEST for begin, end in pairwise(edges)):
        edges = [0, *(each for begin, end in pairwise(edges) for each in _cut(text, begin, end))]
    return list(pairwise(edges)) if text else []


def _cut(text: str, begin: int, end: int) -> Iterator[int]:
    """Where what has no stop from `begin` to `end` ends all the same: at blanks, but for a row of a table."""
    if end - begin > LONGEST and not _ROW.match(text, begin):
        begin = end - len(text[begin:end].lstrip())
        while end - begin > 2 * CUT and (blank := _BLANK.search(text, begin + CUT, end)):
            begin = blank.end()
            yield begin
    yield end


def sentence_ends(text: str, begin: int = 0) -> list[int]:
    """Where the sentences and lines of `text[begin:]` end, ascending; that of the last one only if more follows."""
    text = text[begin:] if begin else text
    ends = [first + len(text[first:second].rstrip()) for first, second in tiles(text)]
    return [begin + end for end in ends if 0 < end < len(text)]  # of a blank text there is none


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
        chosen.setdefault(id(each.candidate), []).append(each)
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
