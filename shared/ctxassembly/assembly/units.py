"""What a context is chosen from: the sentences of a text, its chunks, or its passages, as arrays with an entry each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ctxassembly.assembly.join import Text
from ctxassembly.data.candidates import Reason, Shortening
from ctxassembly.text.scan import scan
from ctxassembly.text.sentences import PAD

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Bools = NDArray[np.bool_]
    Floats = NDArray[np.float64]
    Ints = NDArray[np.intp]

PARTS = 4
"""Parts of a context that are read one after the other: the best sentences, the best chunk, the next best, the rest."""
CHARACTERS_PER_TOKEN = 4.4
"""Of English prose, for chunks that are whole; all costs are scaled by a sample of the text."""


class Units(NamedTuple):
    """The units of a text in its order. Offsets are into the text. `firsts` and `lasts` are by chunk."""

    starts: Ints
    ends: Ints
    leads: Ints
    """Where a unit begins if the one before it isn't read: a chunk then begins with its overlap."""
    continues: Bools
    """Whether a unit continues the one before it."""
    documents: Ints
    """The number of the document of each unit."""
    firsts: Ints
    lasts: Ints
    """The first unit of each chunk, and the one after its last."""
    costs: Floats
    """About how many tokens each has, but for a factor."""
    values: Floats
    """By which they are chosen; only differences count, and -inf can't be chosen."""
    relevance: Floats
    """1 for the best, 0 for one of the same rank without any word of the query."""
    parts: Ints
    """The part of the context that each is read in, from 0."""
    barred: Bools
    """Whether each may not be read: the conversation has it, or a model found nothing in it."""
    needs: Ints | None = None
    """The number of the unit that each one needs to be understood, its own if it needs none; None if none needs any."""
    entries: Ints | None = None
    """The number of the first unit of each one's entry, of which all is read; its own if it is in none."""


class Barred(NamedTuple):
    """Why chunks, or parts of them, may not be read: the conversation has them, or a model found nothing in them.

    Each reason is by the number of a chunk in the pool.
    """

    reasons: Mapping[int, Reason] = {}
    """For chunks of which nothing may be read."""
    by: Mapping[int, Shortening] = {}
    """For chunks of which a part may not be read."""
    sent_as: Mapping[int, str] = {}
    """The label under which the conversation has text of a chunk."""


def sentence_units(text: Text) -> Units:
    """Return the sentences of `text`. A sentence on the border of two chunks is one of both."""
    known = scan(text.text)
    starts, costs = known.sentences, known.costs
    before = np.searchsorted(starts, text.breaks, "right") - 1
    inside = [(at, end) for at, end in zip(before.tolist(), text.breaks, strict=True) if starts[at] < end]
    if inside:
        # A text of signs alone doesn't end as a sentence does, and yet another text begins after it.
        apart, starts = list[int](), starts.copy()
        for at, end in inside:
            said = text.text[starts[at] : end]
            blank = said[len(said.rstrip()) :].splitlines() or [""]
            line = end - len(blank[-1])  # the indentation of a line stays
            if said.isspace():
                starts[at] = line
            else:
                apart.append(line)
        starts = np.union1d(starts, apart).astype(np.intp)
        costs = costs[np.searchsorted(known.sentences, starts, "right") - 1]
    ends = np.append(starts[1:], len(text.text) - len(PAD))
    middles = starts + np.maximum(ends - starts - 3, 0) // 2  # of what is more than line breaks
    begins = np.minimum(text.begins, [0, *text.ends[:-1]])  # what is between two chunks is one of the second
    firsts, lasts = np.searchsorted(middles, begins), np.searchsorted(middles, text.ends)
    lasts = np.maximum(firsts, lasts)
    return _units(text, (starts, ends, starts), firsts, lasts, costs)


def chunk_units(text: Text) -> Units:
    """Return the chunks of `text`, each with the text that is its own."""
    starts, ends = np.array(text.owns), np.array(text.ends)
    numbers = np.arange(len(starts))
    costs = (ends - starts) / CHARACTERS_PER_TOKEN
    return _units(text, (starts, ends, np.array(text.begins)), numbers, numbers + 1, costs)


def _units(text: Text, edges: tuple[Ints, Ints, Ints], firsts: Ints, lasts: Ints, costs: Floats) -> Units:
    """Return units from `edges`, their starts, ends and leads; nothing is known of their values yet."""
    starts, ends, leads = edges
    size = len(starts)
    continues = np.ones(size, bool)
    continues[np.searchsorted(starts, text.breaks, "right") - 1] = False
    opens = np.searchsorted(starts, text.opens, "right") - 1
    opens[:1] = 0
    documents = np.repeat(np.arange(len(opens)), np.diff(opens, append=size))
    unknown = np.zeros(size), np.ones(size)
    none = np.zeros(size, np.intp), np.zeros(size, bool)
    return Units(starts, ends, leads, continues, documents, firsts, lasts, costs, *unknown, *none)


def best_of_chunks(units: Units, values: Floats, least: float) -> Floats:
    """Return for each unit the highest of the `values` of the chunks that have it; `least` for what is in none."""
    counts = units.lasts - units.firsts
    before = np.cumsum(counts) - counts
    best = np.full(len(units.starts), least)
    numbers = np.arange(counts.sum()) + np.repeat(units.firsts - before, counts)
    np.maximum.at(best, numbers, np.repeat(values, counts))
    return best


def best_in_chunks(units: Units, values: Floats) -> Floats:
    """Return for each chunk the highest of the `values` of its units; -inf if it has none."""
    edges = np.stack([units.firsts, units.lasts], 1).ravel()
    best = np.maximum.reduceat(np.append(values, -np.inf), edges)[::2]
    return np.where(units.lasts > units.firsts, best, -np.inf)


def best_first(units: Units) -> Ints:
    """Return the numbers of the units that can be chosen, best first; of equal ones the first in the text."""
    order = np.argsort(-units.values, kind="stable")
    return order[: int(np.isfinite(units.values).sum())]


def merge(units: Units, begins: Bools) -> Units:
    """Return the units that begin where `begins` is true, each with the value of the best one in it."""
    first, number = np.flatnonzero(begins), np.cumsum(begins) - 1
    firsts = number[np.minimum(units.firsts, len(begins) - 1)]
    starts = units.starts[first]
    return Units(
        starts,
        units.ends[np.append(first[1:], len(begins)) - 1],
        starts if units.leads is units.starts else units.leads[first],
        units.continues[first],
        units.documents[first],
        firsts,
        np.where(units.lasts > units.firsts, number[units.lasts - 1] + 1, firsts),
        np.add.reduceat(units.costs, first),
        np.maximum.reduceat(units.values, first),
        np.maximum.reduceat(units.relevance, first),
        units.parts[first],
        units.barred[first],
    )


def divide(units: Units, number: int, offset: int) -> Units:
    """Return `units` of which the one at `number` is two, from its start to `offset` and from there on."""
    share = (offset - units.starts[number]) / (units.ends[number] - units.starts[number])
    numbers = np.insert(np.arange(len(units.starts)), number, number)
    twice = {
        name: row[numbers]
        for name, row in units._asdict().items()
        if name not in ("firsts", "lasts", "needs", "entries")
    }
    for name, row in (("needs", units.needs), ("entries", units.entries)):
        if row is not None:
            twice[name] = np.insert(row + (row > number), number + 1, number + 1)
    divided = units._replace(
        **twice, firsts=units.firsts + (units.firsts > number), lasts=units.lasts + (units.lasts > number)
    )
    divided.starts[number + 1] = divided.leads[number + 1] = divided.ends[number] = offset
    divided.continues[number + 1] = True
    divided.costs[number : number + 2] *= share, 1 - share
    return divided._replace(leads=divided.starts) if units.leads is units.starts else divided
