"""What a sentence needs to be understood: a row the head of its table, an item the stem of its list, and so on.

All of it is read off the form of lines, in any language, and each sentence needs at most one other.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ctxassembly.assembly.join import Text
from ctxassembly.assembly.select.heads import find_heads, head_of
from ctxassembly.assembly.units import Units
from ctxassembly.text.kinds import CLOSING, LETTER, NEWLINE, SPACE, STOP, WIDE_STOP
from ctxassembly.text.scan import scan
from ctxassembly.text.sentence_starts import last_characters

if TYPE_CHECKING:
    from ctxassembly.assembly.units import Bools, Ints
    from ctxassembly.text.kinds import Bytes, Codes

SHORT = 60
"""Characters below which a sentence says little without the one next to it."""
_BAR, _HASH = ord("|"), ord("#")
_BULLETS = [*map(ord, "-*+\u2022\u00b7\u2023\u25aa\u25e6\u2013\u2014")]
_COLONS, _AFTER_NUMBER = [ord(":"), 0xFF1A], [ord("."), ord(")")]
_DIGITS = (ord("0"), ord("9"))
_MAX_INDENT, _MAX_DIGITS = 8, 3


def needed(text: Text, units: Units) -> Ints:
    """Return for each sentence the number of the one that it needs; its own number if it needs none."""
    known = scan(text.text)
    kinds, plain, size = known.kinds, known.plain, len(units.starts)
    numbers, starts = np.arange(size), units.starts
    begins_line = ((kinds[starts - 1] & NEWLINE) > 0) | ~units.continues
    is_linked = np.append(units.continues[1:], False)  # the next sentence goes on
    first = starts
    for _ in range(_MAX_INDENT):
        first = first + ((kinds[first] & (SPACE | NEWLINE)) == SPACE)
    last = last_characters(units.ends - 1, kinds)
    is_ended = ((kinds[last] & (STOP | WIDE_STOP)) > 0) | (
        ((kinds[last] & CLOSING) > 0) & ((kinds[last - 1] & (STOP | WIDE_STOP)) > 0)
    )
    ends_paragraph = ((kinds[units.ends - 1] & kinds[units.ends - 2] & NEWLINE) > 0) | ~is_linked
    is_row, is_item = begins_line & (plain[first] == _BAR), begins_line & _is_item(kinds, plain, first)
    has_colon = np.isin(plain[last], _COLONS)
    length = last - first + 1
    is_label = begins_line & ~is_ended & ~is_row & ~is_item & (length < SHORT) & ends_paragraph
    introduces = (has_colon | is_label | (begins_line & (plain[first] == _HASH) & ~is_ended)) & is_linked

    needs = np.where(introduces, np.minimum(numbers + 1, size - 1), numbers)
    is_short = (length < SHORT) & is_ended & ~begins_line | (length < SHORT) & is_ended & ~ends_paragraph
    needs = np.where(is_short & ~introduces & ~is_item, _better_neighbor(units), needs)
    # Sentences of an item that begin no line belong to it.
    in_list = is_item[np.maximum.accumulate(np.where(begins_line, numbers, 0))]
    stem = _run_starts(in_list, units) - 1
    has_stem = in_list & (stem >= 0) & introduces[stem]
    needs = np.where(has_stem, stem, needs)
    head = _run_starts(is_row, units)
    # A table that goes on after a gap has its head before that.
    heads = find_heads(text) if is_row.any() else []
    for number in np.flatnonzero(is_row & ~units.continues).tolist() if heads else ():
        far = head_of(text, heads, int(first[number]), text.opens[int(units.documents[number])])
        if far is not None:
            head[head == number] = np.searchsorted(starts, far.start, "right") - 1
    has_head = is_row & (head != numbers)
    needs = np.where(has_head, head, needs)
    is_head = is_row & (head == numbers) & np.append(is_row[1:], False) & is_linked
    return np.where(is_head, np.minimum(numbers + 1, size - 1), needs)


def _is_item(kinds: Bytes, plain: Codes, first: Ints) -> Bools:
    """Return whether a bullet, or a number or letter with a stop or bracket, is at each of `first`."""
    is_bullet = np.isin(plain[first], _BULLETS) & ((kinds[first + 1] & SPACE) > 0)
    behind = first
    for _ in range(_MAX_DIGITS):
        behind = behind + ((plain[behind] >= _DIGITS[0]) & (plain[behind] <= _DIGITS[1]))
    behind = np.where((behind == first) & ((kinds[first] & LETTER) > 0), first + 1, behind)
    is_numbered = (behind > first) & np.isin(plain[behind], _AFTER_NUMBER) & ((kinds[behind + 1] & SPACE) > 0)
    found: Bools = is_bullet | is_numbered
    return found


def _run_starts(mask: Bools, units: Units) -> Ints:
    """Return for each unit the first one of the run in `mask` that it is in; of others nothing is meant."""
    begins = mask & ~(np.append(False, mask[:-1]) & units.continues)
    starts: Ints = np.maximum.accumulate(np.where(begins, np.arange(len(mask)), 0))
    return starts


def _better_neighbor(units: Units) -> Ints:
    """Return for each unit the better one of the two next to it that it is linked with; its own number without any."""
    values = units.values
    numbers = np.arange(len(values))
    before = np.where(units.continues, np.append(-np.inf, values[:-1]), -np.inf)
    after = np.append(np.where(units.continues[1:], values[1:], -np.inf), -np.inf)
    better = np.where(before >= after, numbers - 1, numbers + 1)
    return np.where(np.maximum(before, after) > -np.inf, better, numbers)
