"""The turns of a dialogue whose speaker a query names.

"What did Sarah Jones say about the budget?" asks for her turns, and only their first lines have her name. A turn begins
with a line that has a name and a colon, perhaps with a time before or after the name, and ends at the next such line:

    Sarah Jones: It costs too much.     [00:12:07] Dr. Li: I see.     Speaker 2 (03:10): Yes.

"Note:" and "Source:" begin lines in the same way. So texts are a dialogue only if one name occurs twice and there is
another one, and a name counts only if the query has all of it, or one of its words with a capital.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Collection, Iterator, Sequence
from itertools import pairwise
from operator import itemgetter
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ctxassembly.text.words import words
from ctxassembly.wording.languages import stop_words

if TYPE_CHECKING:
    from numpy.typing import NDArray

    IntArray = NDArray[np.int64]

SPEAKER_BONUS = 1.0
"""Added to sentences in turns of a speaker whom the query names, on the scale of `Weights`: less than their words."""
_MAX_NAME_CHARS = 100
"""Maximum number of characters before the colon of a turn: a time, a name, another time."""
_FULLWIDTH_COLON = "\uff1a"
# A single character is found in a fifth of the time.
_ASCII_COLON, _ANY_COLON = re.compile(":"), re.compile(f"[:{_FULLWIDTH_COLON}]")
_MAX_NAME_WORDS = 4
"""Maximum number of words of a name, titles and numbers included."""
_TIME = r"\d{1,2}(?::\d{2}){1,2}(?:[.,]\d{1,3})?"
# All repetitions are bounded, and a line is tried once: time is linear.
_TURN = re.compile(
    rf"[ \t>*_-]{{0,8}}(?:[\[(]?{_TIME}[\])]?[ \t*_-]{{0,8}})?"
    r"(?P<name>[^\W\d_][^\n:\uff1a!?;|<>\"()\[\]{}]{0,39})"
    rf"(?:[ \t]?[\[(]{_TIME}[\])])?[*_]{{0,2}}(?:\uff1a|:(?=[\s*_]))"
)
_CAPITALIZED = re.compile(r"(?<=[^\w])\w+")


class LabeledLines(NamedTuple):
    """The lines that have a colon after at most `_MAX_NAME_CHARS` characters, as parallel arrays of offsets."""

    begins: IntArray
    colons: IntArray
    """The first colon of each."""
    text_ends: IntArray
    """The end of the document's text that each is in."""


def labeled_lines(text: str, text_starts: Sequence[int]) -> LabeledLines:
    """Return the labeled lines of `text`; at `text_starts`, ascending from 0, the text of each document begins."""
    found = [match.start() for match in (_ANY_COLON if _FULLWIDTH_COLON in text else _ASCII_COLON).finditer(text)]
    breaks = [text.rfind("\n", max(colon - _MAX_NAME_CHARS, 0), colon) for colon in found]
    colons, line_starts = np.array(found, dtype=np.int64), np.array(breaks, dtype=np.int64) + 1
    bounds = np.append(text_starts, len(text)).astype(np.int64)
    numbers = np.searchsorted(bounds, colons, "right")
    begins = np.maximum(bounds[numbers - 1], line_starts)
    is_near = colons - begins < _MAX_NAME_CHARS
    begins, firsts = np.unique(begins[is_near], return_index=True)
    return LabeledLines(begins, colons[is_near][firsts], bounds[numbers[is_near][firsts]])


def lines_by_mentioned_speaker(
    text: str, lines: LabeledLines, boundaries: Sequence[int], continues: Sequence[bool], query: str
) -> list[float]:
    r"""Return 1 for each sentence in a turn of a speaker whom `query` names, else 0; empty if there is none.

    For `boundaries` and `continues` see `ScoredSentences`.

    >>> text = "Li Wei: Too dear.\nIt is.\nAnn: No.\nLi Wei: Yes."
    >>> lines = labeled_lines(text, [0])
    >>> lines_by_mentioned_speaker(text, lines, [0, 18, 25, 34, 46], [False, True, True, True], "What did Li Wei say?")
    [1.0, 1.0, 0.0, 1.0]
    """
    speakers = [(begin, name) for begin, name in _find_speakers(text, lines) if name]
    names = {name for _, name in speakers}
    if len(names) == len(speakers) or len(names) < 2:
        return []
    mentioned = _mentioned_names(names, query)
    if not mentioned:
        return []
    # Where the text of a document begins, the speaker is unknown.
    turns = [(index, "") for index, is_continuation in enumerate(continues) if not is_continuation] + [
        (bisect_right(boundaries, begin) - 1, name) for begin, name in speakers
    ]
    flags = [0.0] * len(continues)
    for (begin, name), (end, _) in pairwise([*sorted(turns, key=itemgetter(0)), (len(continues), "")]):
        if name in mentioned:
            flags[begin:end] = [1.0] * (end - begin)
    return flags


def might_mention_speaker(text: str, lines: LabeledLines, term_offsets: IntArray, query: str) -> bool:
    """Return False only if `query` names no speaker of `text`, which is quick to find out.

    `term_offsets` are the offsets of the query's words, ascending. Hardly any text has a word of the query before a
    colon at the beginning of a line, and where code does ("class Circle:"), it isn't a name in the query.
    """
    has_term = np.searchsorted(term_offsets, lines.begins) < np.searchsorted(term_offsets, lines.colons)
    near_terms = LabeledLines(*(offsets[has_term] for offsets in lines))
    names = {name for _, name in _find_speakers(text, near_terms)}
    return bool(names) and bool(_mentioned_names(names, query))


def _find_speakers(text: str, lines: LabeledLines) -> Iterator[tuple[int, str]]:
    """Yield the start and the speaker of each turn among `lines`."""
    for begin, end in zip(lines.begins.tolist(), lines.text_ends.tolist(), strict=True):
        turn = _TURN.match(text, begin, end)
        if turn and len(turn["name"].split()) <= _MAX_NAME_WORDS:
            yield begin, " ".join(words(turn["name"]))


def _mentioned_names(names: Collection[str], query: str) -> set[str]:
    """Return the `names` that are in `query`, and other names that share a capitalized word with it."""
    query_words = words(query)
    weak_words = stop_words(frozenset(query_words))
    text = f" {' '.join(query_words)} "
    full_names = {name for name in names if f" {name} " in text and not weak_words.issuperset(name.split())}
    matched_words = {word for name in full_names for word in name.split()} | weak_words
    capitalized = {word for match in _CAPITALIZED.finditer(query) if match[0][0].isupper() for word in words(match[0])}
    return full_names | {name for name in names if (capitalized - matched_words).intersection(name.split())}
