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
from collections.abc import Collection, Iterable, Sequence
from itertools import pairwise

from ctxassembly.data.chunks import Span
from ctxassembly.text.words import words
from ctxassembly.wording.languages import stop_words

SPEAKER_BONUS = 1.0
"""Added to sentences in turns of a speaker whom the query names, on the scale of `Weights`: less than their words."""
_MAX_NAME_CHARS = 100
"""Maximum number of characters before the colon of a turn: a time, a name, another time."""
_MAX_WORD_DISTANCE = 60
"""The same from the beginning of a word of the name on."""
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


def mentioned_turns(text: str, text_starts: Sequence[int], term_offsets: Iterable[int], query: str) -> list[Span]:
    r"""Return the spans of the turns in `text` of speakers whom `query` names.

    At `text_starts`, ascending from 0, the text of each document begins. `term_offsets` are the offsets of the query's
    words but its function words.

    >>> text = "Li Wei: Too dear.\nIt is.\nAnn: No.\nLi Wei: Yes."
    >>> mentioned_turns(text, [0], [0, 3, 34, 37], "What did Li Wei say?")
    [(0, 25), (34, 46)]
    """
    bounds = [*text_starts, len(text)]
    searched = text.replace(_FULLWIDTH_COLON, ":")
    # Hardly any text has a word of the query before a colon at the beginning of a line, and where code does
    # ("class Circle:"), it isn't a name in the query.
    near = {searched.find(":", offset, offset + _MAX_WORD_DISTANCE) for offset in term_offsets} - {-1}
    mentioned = _mentioned_names({name for _, name in _find_turns(text, sorted(near), bounds)}, query)
    if not mentioned:
        return []
    turns = _find_turns(text, [match.start() for match in re.finditer(":", searched)], bounds)
    names = {name for _, name in turns}
    if len(names) == len(turns) or len(names) < 2:
        return []
    # Where the text of a document begins, the speaker is unknown.
    places = sorted([*turns, *((bound, "") for bound in bounds)])
    return [(begin, end) for (begin, name), (end, _) in pairwise(places) if name in mentioned]


def _find_turns(text: str, colons: Sequence[int], bounds: Sequence[int]) -> list[tuple[int, str]]:
    """Return the start and the speaker of each turn that has its first colon at one of `colons`.

    Between two `bounds` is the text of a document.
    """
    line_ends: dict[int, int] = {}
    for colon in colons:
        number = bisect_right(bounds, colon)
        begin = max(text.rfind("\n", max(colon - _MAX_NAME_CHARS, 0), colon) + 1, bounds[number - 1])
        if colon - begin < _MAX_NAME_CHARS:
            line_ends.setdefault(begin, bounds[number])
    turns = []
    for begin, end in line_ends.items():
        turn = _TURN.match(text, begin, end)
        if turn and len(turn["name"].split()) <= _MAX_NAME_WORDS and (name := " ".join(words(turn["name"]))):
            turns.append((begin, name))
    return turns


def _mentioned_names(names: Collection[str], query: str) -> set[str]:
    """Return the `names` that are in `query`, and other names that share a capitalized word with it."""
    query_words = words(query)
    names = {name for name in names if any(word in query_words for word in name.split())}
    if not names:
        return set()
    weak_words = stop_words(query_words)
    text = f" {' '.join(query_words)} "
    full_names = {name for name in names if f" {name} " in text and not weak_words.issuperset(name.split())}
    matched_words = {word for name in full_names for word in name.split()} | weak_words
    capitalized = {word for match in _CAPITALIZED.finditer(query) if match[0][0].isupper() for word in words(match[0])}
    return full_names | {name for name in names if (capitalized - matched_words).intersection(name.split())}
