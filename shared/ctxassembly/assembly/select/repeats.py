"""Sentences that a better passage has, too, are read once.

A passage is text that goes on, whatever chunks it is made of, so a repeat is found even where a chunk ends inside it.
Runs of prose count from 100 characters on: for less, a reader isn't sent elsewhere. Of tables, lists and code a part
says little, and headings say what was left out, so they stay, but for one that the better passage has as well, above
the same text. So does what an author says twice in one passage.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ctxassembly.assembly.join import Text
from ctxassembly.assembly.render.page import Page
from ctxassembly.assembly.units import Units, divide, sentence_units
from ctxassembly.data.chunks import find_flagged
from ctxassembly.text.kinds import last_characters
from ctxassembly.text.lines import read_lines
from ctxassembly.text.scan import scan
from ctxassembly.text.sentences import PAD

if TYPE_CHECKING:
    from ctxassembly.assembly.units import Bools, Floats, Ints
    from ctxassembly.text.kinds import Codes
    from ctxassembly.text.scan import Keys

MIN_CHARS = 100
"""Characters of the shortest run that is read once: two sentences, or a long one."""
PIECE_CHARS = 25
"""Characters of the shortest piece between two stops by which a written text is searched for repeats."""
_FENCE = "```"
_FACTOR = np.uint64(0x9E3779B97F4A7C15)


class Repeat(NamedTuple):
    """A sentence that a better passage has, too: where it is in the joined text, and where the other one begins."""

    start: int
    end: int
    other: int


def repeats_itself(text: str) -> bool:
    """Return True if a written `text` may have a sentence twice; most have none, and to know that takes little time."""
    parts = text.replace("\n", ". ").replace("。", ". ").split(". ")
    pieces = [part for part in parts if len(part) >= PIECE_CHARS]
    return len({*pieces}) < len(pieces)


def without_repeats(page: Page, units: Units) -> tuple[Units, dict[int, int]]:
    """Return `units`, chunks divided where a repeat begins or ends, and for each that is a repeat the better one.

    Chunks that are marked to be kept whole lose nothing.
    """
    text, pool = page.text, page.pool
    repeats = [*find_repeats(text, _ranks(page, units))]
    chunks = [one.chunk for one in pool.candidates]
    for number in find_flagged(chunks, "keep_whole", page.config.keys) if repeats else ():
        begin, end = text.begins[number], text.ends[number]
        repeats = [one for one in repeats if one.end <= begin or one.start >= end]
    if not repeats:
        return units, {}
    if units.leads is units.starts:
        return _better_ones(text, units, repeats)
    units, copies, origin = _divided(text, units, _runs(text, repeats))
    entries, firsts = np.arange(len(origin)), dict[int, int]()
    for number in sorted({*range(len(origin))} - {*copies}):  # what is left of a chunk is read together
        entries[number] = firsts.setdefault(origin[number], number)
    return units._replace(entries=entries), copies


def _better_ones(text: Text, units: Units, repeats: list[Repeat]) -> tuple[Units, dict[int, int]]:
    """Return the better one of each of the sentences `repeats`, and `units` in which it has the value of both."""
    copies: dict[int, int] = {}
    values, relevance = units.values.copy(), units.relevance.copy()
    firsts = np.searchsorted(units.starts, [one.start for one in repeats]).tolist()
    others = (np.searchsorted(units.starts, [one.other for one in repeats], "right") - 1).tolist()
    for one, number, other in zip(repeats, firsts, others, strict=True):
        if number < len(values) and units.starts[number] == one.start and _ends(text, units, number, one.end):
            copies[number] = other
            values[other] = max(values[other], values[number])
            relevance[other] = max(relevance[other], relevance[number])
    return units._replace(values=values, relevance=relevance), copies


def _ends(text: Text, units: Units, number: int, end: int) -> bool:
    """Return True if the unit at `number` has nothing behind `end`."""
    return not text.text[end : units.ends[number]].strip()


def find_repeats(text: Text, ranks: Floats) -> Iterator[Repeat]:
    """Yield the sentences of `text` that a better passage has. `ranks` has one for each, the lowest is the best."""
    units = sentence_units(text)
    starts, known = units.starts, scan(text.text)
    last = last_characters(units.ends - 1, known.kinds)
    keys = _keys(known.plain, starts, last)
    passage = _passages(text, starts)
    places = np.argsort(keys, kind="stable")
    same = (keys[places[1:]] == keys[places[:-1]]) & (passage[places[1:]] != passage[places[:-1]])
    shared = np.zeros(len(starts), bool)
    shared[places[1:][same]] = shared[places[:-1][same]] = True
    shared &= last > starts
    if not shared.any():
        return
    is_prose, is_lead = _prose_and_leads(text, units)
    shared &= is_prose
    numbers, whole = np.flatnonzero(shared), text.text
    said = {number: whole[starts[number] : last[number] + 1] for number in numbers.tolist()}
    seen, found = dict[str, int](), dict[int, int]()
    for number in numbers[np.argsort(ranks[passage[numbers]], kind="stable")].tolist():
        if number in found:
            continue
        other, size = seen.setdefault(said[number], number), 0
        while passage[number] == passage[min(number + size, len(passage) - 1)] != passage[other] and said.get(
            number + size, ""
        ) == said.get(other + size):
            size += 1
        if size and last[number + size - 1] - starts[number] >= MIN_CHARS - 1:
            lead = 0
            while is_lead[number - lead - 1] and _is_same(whole, units, number - lead - 1, other - lead - 1):
                lead += 1
            found.update((number + at, found.get(other + at, other + at)) for at in range(-lead, size))
    for number, other in found.items():
        yield Repeat(int(starts[number]), int(last[number]) + 1, int(starts[other]))


def _keys(plain: Codes, starts: Ints, last: Ints) -> Keys:
    """Return a number for each sentence by its length, its first letters and its last ones."""
    eight: Keys = np.ndarray((len(plain) - len(PAD),), "<u8", plain, 0, (2,))
    keys: Keys = eight[starts] ^ (eight[np.maximum(last - 3, starts)] * _FACTOR) ^ (last - starts).astype(np.uint64)
    return keys


def _prose_and_leads(text: Text, units: Units) -> tuple[Bools, Bools]:
    """Return which sentences are prose, no row, item or heading and no code, and which are lines that lead to text."""
    known, whole = scan(text.text), text.text
    lines = read_lines(units.starts, units.ends, known.kinds, known.plain)
    begins = lines.begins | ~units.continues
    line = np.maximum.accumulate(np.where(begins, np.arange(len(units.starts)), 0))
    goes_on = np.append(units.continues[1:], False)
    is_form = lines.is_row | lines.is_item
    prose, leads = lines.is_ended & ~(is_form | lines.is_heading)[line], begins & ~lines.is_ended & ~is_form & goes_on
    if _FENCE in whole:
        fences = [found.start() for found in re.finditer(_FENCE, whole)]
        is_text = np.searchsorted(fences, units.starts) % 2 == 0
        prose, leads = prose & is_text, leads & is_text
    return prose, leads


def _is_same(whole: str, units: Units, one: int, other: int) -> bool:
    """Return True if two units, of which the text goes on, are the same but for white space around them."""
    texts = [whole[units.starts[number] : units.ends[number]].strip() for number in (one, other)]
    return other >= 0 and texts[0] == texts[1] and bool(units.continues[other + 1])


def _ranks(page: Page, units: Units) -> Floats:
    """Return the rank of each passage: by its best value for the query, else by its best hit."""
    passage = _passages(page.text, units.starts)
    best = np.full(len(page.text.breaks), -np.inf)
    np.maximum.at(best, passage, units.values)
    return -best


def _passages(text: Text, starts: Ints) -> Ints:
    """Return the number of the passage that has the text at each of `starts`."""
    numbers: Ints = np.searchsorted(text.breaks, starts, "right") - 1
    return numbers.clip(min=0)


def _runs(text: Text, repeats: list[Repeat]) -> list[Repeat]:
    """Return `repeats`, ascending, of which those that go on are one."""
    runs: list[Repeat] = []
    for one in sorted(repeats):
        if runs and not text.text[runs[-1].end : one.start].strip():
            runs[-1] = runs[-1]._replace(end=one.end)
        else:
            runs.append(one)
    return runs


def _divided(text: Text, units: Units, runs: list[Repeat]) -> tuple[Units, dict[int, int], list[int]]:
    """Return the chunks `units` divided where one of `runs` begins or ends, the better one of each part that is a copy.

    The third has the number of the undivided chunk of each unit.
    """
    whole, origin, leads = text.text, list(range(len(units.starts))), units.leads
    for run in runs:  # the overlap with a text that isn't read begins no chunk
        leads = np.where((leads < run.end) & (units.starts > run.start), np.maximum(leads, units.starts), leads)
    units = units._replace(leads=leads)
    for offset in sorted({edge for run in runs for edge in run[:2]}):
        number = int(np.searchsorted(units.starts, offset, "right")) - 1
        start, end = int(units.starts[number]), int(units.ends[number])
        if whole[start:offset].strip() and whole[offset:end].strip():
            units = divide(units, number, offset)
            origin.insert(number + 1, origin[number])
    copies: dict[int, int] = {}
    for run in runs:
        number = int(np.searchsorted(units.starts, run.start, "right")) - 1
        number += bool(whole[units.starts[number] : run.start].strip())
        other = int(np.searchsorted(units.starts, run.other, "right")) - 1
        while number < len(origin) and units.starts[number] < run.end and _ends(text, units, number, run.end):
            copies[number] = other
            number += 1
    return units, copies, origin
