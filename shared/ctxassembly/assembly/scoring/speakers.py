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
from functools import lru_cache
from itertools import pairwise
from operator import itemgetter
from typing import TYPE_CHECKING

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


def lines_by_mentioned_speaker(
    text: str, boundaries: Sequence[int], continues: Sequence[bool], query: str
) -> list[float]:
    r"""Return 1 for each sentence in a turn of a speaker whom `query` names, else 0; empty if there is none.

    For `boundaries` and `continues` see `ScoredSentences`.

    >>> text = "Li Wei: Too dear.\nIt is.\nAnn: No.\nLi Wei: Yes."
    >>> lines_by_mentioned_speaker(text, [0, 18, 25, 34, 46], [False, True, True, True], "What did Li Wei say?")
    [1.0, 1.0, 0.0, 1.0]
    """
    first_indexes = [index for index, is_continuation in enumerate(continues) if not is_continuation]
    speakers = [
        (begin, name) for begin, name in _find_speakers(text, [boundaries[index] for index in first_indexes]) if name
    ]
    names = {name for _, name in speakers}
    if len(names) == len(speakers) or len(names) < 2:
        return []
    mentioned = _mentioned_names(names, query)
    if not mentioned:
        return []
    # Where the text of a document begins, the speaker is unknown.
    turns = [(first, "") for first in first_indexes] + [
        (bisect_right(boundaries, begin) - 1, name) for begin, name in speakers
    ]
    flags = [0.0] * len(continues)
    for (begin, name), (end, _) in pairwise([*sorted(turns, key=itemgetter(0)), (len(continues), "")]):
        if name in mentioned:
            flags[begin:end] = [1.0] * (end - begin)
    return flags


def might_mention_speaker(text: str, line_starts: Sequence[int], term_offsets: Sequence[int], query: str) -> bool:
    """Return False only if `query` names no speaker of `text`, which is quick to find out.

    `line_starts` are the offsets at which each document's text begins, and `term_offsets` the offsets of the query's
    words, both ascending. Hardly any text has a word of the query before a colon at the beginning of a line, and where
    code does ("class Circle:"), it isn't a name in the query.
    """
    names = {name for _, name in _find_speakers(text, line_starts, term_offsets)}
    return bool(names) and bool(_mentioned_names(names, query))


def _find_speakers(
    text: str, line_starts: Sequence[int], term_offsets: Sequence[int] | None = None
) -> Iterator[tuple[int, str]]:
    """Yield the start and the speaker of each turn; with `term_offsets`, only if one of them is before the colon."""
    begins, colons = _labeled_lines(text, line_starts)
    if term_offsets is not None:
        offsets = np.array(term_offsets, dtype=np.int64)
        begins = begins[np.searchsorted(offsets, begins) < np.searchsorted(offsets, colons)]
    ends = np.append(line_starts, len(text))[np.searchsorted(line_starts, begins, "right")]
    for begin, end in zip(begins.tolist(), ends.tolist(), strict=True):
        turn = _TURN.match(text, begin, end)
        if turn and len(turn["name"].split()) <= _MAX_NAME_WORDS:
            yield begin, _normalize_name(turn["name"])


@lru_cache(4_096)
def _normalize_name(name: str) -> str:
    return " ".join(words(name))


def _labeled_lines(text: str, line_starts: Sequence[int]) -> tuple[IntArray, IntArray]:
    """Return the starts of the lines with a colon after at most `_MAX_NAME_CHARS`, and the first colon of each."""
    codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype="<u4")
    is_colon = codes == ord(":")
    if _FULLWIDTH_COLON in text:
        is_colon |= codes == ord(_FULLWIDTH_COLON)
    colons = np.flatnonzero(is_colon)
    firsts = np.array(line_starts, dtype=np.int64)
    begins = firsts[np.searchsorted(firsts, colons, "right") - 1]
    breaks = np.append(-1, np.flatnonzero(codes == ord("\n")))
    begins = np.maximum(begins, breaks[np.searchsorted(breaks, colons) - 1] + 1)
    is_near = colons - begins < _MAX_NAME_CHARS
    begins, indexes = np.unique(begins[is_near], return_index=True)
    return begins, colons[is_near][indexes]


def _mentioned_names(names: Collection[str], query: str) -> set[str]:
    """Return the `names` that are in `query`, and other names that share a capitalized word with it."""
    query_words = words(query)
    weak_words = stop_words(frozenset(query_words))
    text = f" {' '.join(query_words)} "
    full_names = {name for name in names if f" {name} " in text and not weak_words.issuperset(name.split())}
    matched_words = {word for name in full_names for word in name.split()} | weak_words
    capitalized = {word for match in _CAPITALIZED.finditer(query) if match[0][0].isupper() for word in words(match[0])}
    return full_names | {name for name in names if (capitalized - matched_words).intersection(name.split())}
