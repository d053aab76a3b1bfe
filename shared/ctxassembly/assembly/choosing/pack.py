"""Sentences packed into the budget: the best ones for the query, in contiguous passages.

The sentences of all candidates compete, wherever they stand. `greedy` takes them by value within a room in tokens; it
closes a gap of one sentence, and may let a sentence that continues what is taken come sooner. The result is candidates
of which only these sentences are kept, which are joined, cited and traced like any other.

How it converges. A sentence is counted when it is about to be taken; what is written around it is a guess. So the whole
is rendered and counted once in the end, and where that is over the budget, or leaves much of it, another try has less
or more room, in proportion. A guess that was too much or too little bounds all later ones, and where the proportion
leads out of the bounds the next try is half-way between them. Only a try that fits is kept, so the budget holds
whatever the guesses are.
"""

from __future__ import annotations

import math
from bisect import bisect_left, insort
from collections.abc import Collection, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from ctxassembly.assembly.choosing.costs import MARKER, Costs
from ctxassembly.assembly.choosing.cut import merged
from ctxassembly.assembly.choosing.units import Share, Units
from ctxassembly.assembly.rendering.excerpt import without
from ctxassembly.assembly.rendering.layout import Layout
from ctxassembly.data.candidates import Candidate
from ctxassembly.data.chunks import Span

SCRAP_CHARS = 12
"""Length of the longest sentence that says no more than a marker does."""
LEAST = 2.0
"""Tokens of the shortest sentence that is sought: with less room the search is over."""
TRIES = 6
"""Times that the whole is counted at most; the second or third try mostly hits."""
AIM = 0.995
CLOSE_ENOUGH = 0.98
"""Parts of the budget: where a try aims, so that it is not just over, and where another would gain next to nothing."""


class Taken(NamedTuple):
    """The units that `greedy` takes."""

    places: set[int]
    tokens: float
    """The tokens that they take, by estimate."""
    all_had_room: bool
    """True if none was left out for lack of room."""


class Packed(NamedTuple):
    """The candidates that have any of the packed units, reduced to these."""

    candidates: list[Candidate]
    forms: dict[int, Candidate]
    """The same candidates, by key."""
    chars_per_token: float


def pack(
    layout: Layout,
    units: Units,
    chars_per_token: float,
    first: Collection[int] = frozenset(),
    without: Collection[int] = frozenset(),
    linked: float = 0.0,
) -> Packed | None:
    """Pack the best units that fit, those at `first` before all others and none `without`; None if not even one fits.

    `chars_per_token` is a guess to begin with. A unit is worth `linked` more beside one that is taken.
    """
    best: Packed | None = None
    values = units.values.tolist()
    order = [
        *(place for place in units.best_first if place in first),
        *(p for p in units.best_first if p not in first and p not in without and values[p] >= units.least),
    ]
    sooner = _ranks(order, values, first, linked) if linked else {}
    costs = Costs(layout, units, chars_per_token)
    tokens = layout.max_tokens - layout.token_count
    room = min(float(tokens), layout.max_characters / chars_per_token)
    low, high = 0.0, math.inf
    for _ in range(TRIES):
        chosen = greedy(units, order, room, costs, sooner)
        forms = reduced(units, chosen.places, first)
        if not forms:
            break
        candidates = list(forms.values())
        costs.keep(candidates)
        added = layout.weigh(candidates) - layout.token_count
        if layout.fits(candidates):
            best = Packed(candidates, forms, chars_per_token)
            if added >= tokens * CLOSE_ENOUGH or chosen.all_had_room:
                break
            low = room
        else:
            high = room
        # In proportion; where that was tried already, or characters are the limit, half-way between the bounds.
        room *= AIM * tokens / max(added, 1)
        if not low < room < high:
            room = (low + high) / 2
    return best


def _ranks(order: Sequence[int], values: Sequence[float], first: Collection[int], linked: float) -> dict[int, float]:
    """The rank in `order` of each unit if it were worth `linked` more, but never before those at `first`."""
    others = [place for place in order if place not in first]
    ascending = [-values[place] for place in others]
    before = len(order) - len(others) - 0.5
    return {place: before + bisect_left(ascending, -values[place] - linked) for place in others}


def greedy(
    units: Units,
    order: Sequence[int],
    room: float,
    costs: Costs,
    sooner: Mapping[int, float] = MappingProxyType({}),
) -> Taken:
    """Take units in `order`, best first, as long as they have `room`, which is in tokens, as `costs` are.

    Beside one that is taken a unit has the rank that `sooner` gives it, if any.
    """
    documents = units.documents
    left = room
    taken: set[int] = set()
    begun: set[str] = set()
    texts: set[str] = set()
    all_had_room = True
    queue: list[tuple[float, int]] = [(-rank, place) for rank, place in enumerate(order)]
    queue.reverse()  # the best comes last, where it is taken from
    while queue:
        _, place = queue.pop()
        if left < LEAST:
            return Taken(taken, room - left, False)
        if place in taken:
            continue
        if not costs.may_fit(place, left):
            all_had_room = False
            continue
        text, linked = units.sentence(place), _linked(units, place, taken)
        if text in texts or (len(text) <= SCRAP_CHARS and not linked and _is_scrap(units, place)):
            continue
        gaps = _gaps(units, place, taken)
        new = (place, *gaps)
        # Alone it needs a marker more, beside one that is taken none; each gap that it closes saves one.
        cost = sum([costs.of(at) for at in new]) + MARKER * (1 - linked - len(gaps))
        cost += 0 if documents[place] in begun else costs.header(documents[place])
        if cost <= left:
            left -= cost
            taken.update(new)
            begun.add(documents[place])
            texts.add(text)
            for beside in (min(new) - 1, max(new) + 1):
                if beside in sooner and _linked(units, beside, taken):
                    insort(queue, (-sooner[beside], beside))
        else:
            all_had_room = False
    return Taken(taken, room - left, all_had_room)


def _gaps(units: Units, place: int, taken: Collection[int]) -> list[int]:
    """The units, at most one on each side, that alone stand between the one at `place` and one that is taken."""
    continues, gaps = units.continues, list[int]()
    if place - 2 in taken and place - 1 not in taken and continues[place] and continues[place - 1]:
        gaps.append(place - 1)
    if place + 2 in taken and place + 1 not in taken and continues[place + 1] and continues[place + 2]:
        gaps.append(place + 1)
    return gaps


def _linked(units: Units, place: int, taken: Collection[int]) -> bool:
    """True if the unit at `place` continues one that is taken, or is continued by one."""
    continues = units.continues
    return (place - 1 in taken and continues[place]) or (place + 1 in taken and continues[place + 1])


def _is_scrap(units: Units, place: int) -> bool:
    """True if the short unit at `place` says less than a marker: it is no line among others of its length."""
    beside = [place - 1] if units.continues[place] else []
    if place + 1 < len(units.continues) and units.continues[place + 1]:
        beside.append(place + 1)
    return bool(beside) and min(len(units.sentence(at)) for at in beside) > SCRAP_CHARS


def reduced(units: Units, chosen: Collection[int], held: Collection[int] = frozenset()) -> dict[int, Candidate]:
    """The candidates that have the chosen units, by key, each reduced to its share of them.

    Text that two chunks share is the first one's, but for a hit that has nothing else: what is `held` of it, no other
    one has.
    """
    kept: dict[int, Candidate] = {}
    upto: dict[int, int] = {}
    sharing: list[Share] = []
    for share in units.shares:
        taken = [place for place in share.places if place in chosen]
        if taken and len(taken) == len(share.places):
            kept[share.candidate.key] = share.candidate
            upto |= dict.fromkeys(taken, share.end)
        elif spans := _spans(share, taken, units.edges, upto):
            kept[share.candidate.key] = _part(share, spans)
        elif share.candidate.is_hit and (spans := _spans(share, taken, units.edges, {})):
            kept[share.candidate.key] = _part(share, spans)
            sharing += [share] if any(place in held for place in taken) else []
    for share in sharing:
        _take_back(share, units.shares, kept)
    return kept


def _take_back(hit: Share, shares: Sequence[Share], kept: dict[int, Candidate]) -> None:
    """Leave what the `hit` has in `kept` to it alone, but for hits that have nothing else themselves."""
    own = [(hit.begin + start, hit.begin + end) for start, end in kept[hit.candidate.key].slices]
    for share in shares:
        form = kept.get(share.candidate.key)
        if form is None or share is hit or share.end <= own[0][0] or own[-1][1] <= share.begin:
            continue
        spans = [(share.begin + start, share.begin + end) for start, end in form.slices]
        rest = [(start - share.begin, end - share.begin) for span in spans for start, end in without(span, own)]
        if any(share.candidate.chunk.text[start:end].strip() for start, end in rest):
            kept[share.candidate.key] = _part(share, tuple(rest))
        elif not share.candidate.is_hit:
            del kept[share.candidate.key]


def _part(share: Share, spans: tuple[Span, ...]) -> Candidate:
    return share.candidate._replace(kept=spans, shortened_by="sentence")


def _spans(share: Share, places: Sequence[int], edges: Sequence[int], upto: dict[int, int]) -> tuple[Span, ...]:
    """The slices of the candidate's own text in the units at `places`, without those of earlier ones and blank ones."""
    spans: list[Span] = []
    for place in places:
        start, stop = max(edges[place], share.begin, upto.get(place, 0)), min(edges[place + 1], share.end)
        if start < stop and share.candidate.chunk.text[start - share.begin : stop - share.begin].strip():
            spans.append((start - share.begin, stop - share.begin))
            upto[place] = stop
    return merged(spans)
