"""The turns of a dialogue whose speaker the query names.

"What did Sarah Jones say about the budget?" asks for her turns, and only their first lines have her name. A document is
a dialogue if at least half of its lines begin with a name and a colon: lists of terms have colons, too.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

from ctxassembly.assembly.join import Text
from ctxassembly.assembly.units import Units
from ctxassembly.text.scan import scan
from ctxassembly.text.titles import comparable

if TYPE_CHECKING:
    from ctxassembly.assembly.units import Floats

MIN_TURNS = 3
"""Lines of the shortest dialogue that begin with a name."""
MAX_NAME = 60
"""Characters up to the colon, with a time before or after the name."""
_NEWLINE, _COLONS = ord("\n"), (ord(":"), 0xFF1A)
_TIME = r"[\[(]?\d{1,2}(?::\d{2}){1,2}(?:[.,]\d{1,3})?[\])]?"
_SPEAKER = re.compile(
    rf"[\s>*_-]{{0,8}}(?:{_TIME}[ \t*_-]{{0,8}})?([^\W\d_][^\n:!?;|<>\"()\[\]{{}}]{{0,39}}?)"
    rf"(?: ?{_TIME})?[*_]{{0,2}}(?:\uff1a|:(?=[\s*_]))"
)
_WORD = re.compile(r"\w+")


def speaker_values(text: Text, units: Units, query: str) -> Floats | None:
    """Return 1 for the sentences in turns of a speaker whom `query` names, else 0; None if there are none."""
    plain, starts = scan(text.text).plain, units.starts
    is_colon = (plain == _COLONS[0]) | (plain == _COLONS[1])
    colons = np.flatnonzero(is_colon)
    if len(colons) < MIN_TURNS:
        return None
    lines = np.flatnonzero((plain[starts - 1] == _NEWLINE) | ~units.continues)
    next_colons = colons[np.minimum(np.searchsorted(colons, starts[lines]), len(colons) - 1)] - starts[lines]
    is_turn = (next_colons > 0) & (next_colons <= MAX_NAME)
    owners = units.documents[lines]
    turns, all_lines = np.bincount(owners[is_turn], minlength=owners.max() + 1), np.bincount(owners)
    is_turn &= ((turns >= MIN_TURNS) & (2 * turns >= all_lines))[owners]
    names = {
        at: found[1].strip()
        for at in lines[is_turn].tolist()
        if (found := _SPEAKER.match(text.text, starts[at])) and found[1][0].isupper()
    }
    asked = _named({*names.values()}, query)
    if not asked:
        return None
    begins, is_asked = ~units.continues, np.zeros(len(starts))
    begins[[*names]] = True
    is_asked[[at for at, name in names.items() if name in asked]] = 1.0
    values: Floats = is_asked[np.maximum.accumulate(np.where(begins, np.arange(len(starts)), 0))]
    return values


def _named(names: Iterable[str], query: str) -> set[str]:
    """Return the `names` that are in `query`, and those that share a word with it that has a capital.

    The first word of a question has one anyway.
    """
    asked = comparable(query)
    forms = {name: comparable(name) for name in names}
    whole = {name for name, form in forms.items() if form.strip() and form in asked}
    capitals = {word.lower() for word in _WORD.findall(query)[1:] if word[0].isupper()}
    capitals -= {word for name in whole for word in forms[name].split()}
    return whole | {name for name, form in forms.items() if not capitals.isdisjoint(form.split())}
