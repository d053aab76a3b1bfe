"""The turns of a dialogue whose speaker a query names.

"What did Sarah Jones say about the budget?" asks for her turns, of which only the first line has her name. A turn
begins with a line that has a name and a colon, a time before or after the name, and goes on up to the next one:

    Sarah Jones: It costs too much.     [00:12:07] Dr. Li: I see.     Speaker 2 (03:10): Yes.

"Note:" or "Source:" begin a line just so. So texts are a dialogue only if some name comes again and another one is
there as well, and a name counts only if the query has it: all of it, or one of its words with a capital.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterator, Sequence
from itertools import pairwise
from operator import itemgetter

from ctxassembly.text.words import words
from ctxassembly.wording.stop_words import function_words

NAMED = 1.0
"""The value of standing in a turn of a speaker whom the query names, beside `Weights`: less than what stands in it."""
_TURN_CHARS = 100
"""Characters before the colon of a turn, at most: a time, a name, another time."""
_WIDE = "\uff1a"
_NARROW, _COLON = re.compile(":"), re.compile(f"[:{_WIDE}]")  # one character is found in a fifth of the time
_NAME_WORDS = 4
"""Words of the longest name, titles and numbers included."""
_TIME = r"\d{1,2}(?::\d{2}){1,2}(?:[.,]\d{1,3})?"
# All repetitions are bounded, and a line is tried once: time is linear.
_TURN = re.compile(
    rf"[ \t>*_-]{{0,8}}(?:[\[(]?{_TIME}[\])]?[ \t*_-]{{0,8}})?"
    r"(?P<name>[^\W\d_][^\n:\uff1a!?;|<>\"()\[\]{}]{0,39})"
    rf"(?:[ \t]?[\[(]{_TIME}[\])])?[*_]{{0,2}}(?:\uff1a|:(?=[\s*_]))"
)
_CAPITALISED = re.compile(r"(?<=[^\w])\w+")


def said_by_named(text: str, edges: Sequence[int], continues: Sequence[bool], query: str) -> list[float]:
    r"""1 for each sentence in a turn of a speaker whom `query` names, else 0; empty if there is none.

    `edges` and `continues` are those of `Units`.

    >>> text = "Li Wei: Too dear.\nIt is.\nAnn: No.\nLi Wei: Yes."
    >>> said_by_named(text, [0, 18, 25, 34, 46], [False, True, True, True], "What did Li Wei say?")
    [1.0, 1.0, 0.0, 1.0]
    """
    firsts = [place for place, goes_on in enumerate(continues) if not goes_on]
    speakers = [(begin, name) for begin, name in _speakers(text, [edges[place] for place in firsts]) if name]
    names = {name for _, name in speakers}
    if len(names) == len(speakers) or len(names) < 2:
        return []
    named = _named(names, query)
    if not named:
        return []
    # Where a line begins nobody is known to speak.
    turns = [(first, "") for first in firsts] + [(bisect_right(edges, begin) - 1, name) for begin, name in speakers]
    said = [0.0] * len(continues)
    for (begin, name), (end, _) in pairwise([*sorted(turns, key=itemgetter(0)), (len(continues), "")]):
        if name in named:
            said[begin:end] = [1.0] * (end - begin)
    return said


def may_name(text: str, begins: Sequence[int], found: Sequence[int], query: str) -> bool:
    """False if surely no turn is of a speaker whom `query` names.

    `begins` are where the lines of candidates begin in `text`, and `found` the places of the query's words in it, both
    ascending. Hardly any text has a word of the query at the beginning of a line and before a colon, and where code has
    ("class Circle:"), it is no name of the query.
    """
    names = {name for _, name in _speakers(text, begins, found)}
    return bool(names) and bool(_named(names, query))


def _speakers(text: str, begins: Sequence[int], found: Sequence[int] | None = None) -> Iterator[tuple[int, str]]:
    """Where turns begin, each with the words of the speaker's name; of `found`, if given, one stands in it."""
    last = -1
    for match in (_COLON if _WIDE in text else _NARROW).finditer(text):
        colon = match.start()
        line = bisect_right(begins, colon)
        first = begins[line - 1]
        begin = text.rfind("\n", max(colon - _TURN_CHARS, first), colon) + 1 or first
        if begin == last or colon - begin >= _TURN_CHARS:
            continue
        last = begin
        if found is not None:
            at = bisect_left(found, begin)
            if at == len(found) or found[at] >= colon:
                continue
        turn = _TURN.match(text, begin, begins[line] if line < len(begins) else len(text))
        if turn and len(turn["name"].split()) <= _NAME_WORDS:
            yield begin, " ".join(words(turn["name"]))


def _named(names: Collection[str], query: str) -> set[str]:
    """Those of `names` that stand in `query`; of the others those that share a capitalised word with it."""
    asked = words(query)
    little = function_words(frozenset(asked))
    text = f" {' '.join(asked)} "
    whole = {name for name in names if f" {name} " in text and not little.issuperset(name.split())}
    told = {word for name in whole for word in name.split()} | little
    capitalised = {word for match in _CAPITALISED.finditer(query) if match[0][0].isupper() for word in words(match[0])}
    return whole | {name for name in names if (capitalised - told).intersection(name.split())}
