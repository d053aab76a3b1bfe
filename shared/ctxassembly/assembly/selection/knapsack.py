"""Sentences packed into the budget: the best ones for the query, in contiguous passages.

The sentences of all candidates compete, wherever they stand. `greedy` takes them by value within a room in tokens; it
closes a gap of one sentence, and may let a sentence that continues what is taken come sooner. The result is candidates
of which only these sentences are kept, which are joined, cited and traced like any other.

How it converges. A sentence is counted when it is about to be taken; what is written around it is a guess. So the whole
is rendered and counted once in the end, and where that is over the budget, or leaves much of it, another try has less
or more room, in proportion. A guess that was too much or too little bounds all later ones, and where the proportion
leads out of the bounds the next try is half-way between them, until no sentence is short enough to make a difference.
Only a try that fits is kept, so the budget holds whatever the guesses are.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right, insort
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from types import MappingProxyType
from typing import NamedTuple

from ctxassembly.assembly.rendering.excerpt import without
from ctxassembly.assembly.rendering.layout import Layout
from ctxassembly.assembly.scoring.sentences import Units
from ctxassembly.assembly.selection.shorten import merged
from ctxassembly.data.candidates import Candidate, Share
from ctxassembly.data.chunks import Span
from ctxassembly.tokens.counter import Measured, ends_inside, is_safe

# The tokens of units, counted once: to choose by, and again for what is written of those that are chosen.
#
# A unit is counted from the blanks before it to the blanks after it. These are safe places (`tokens/counter.py`), so
# the counts of units in a row add up, and none of the text that they make together is encoded again: its tokens are the
# sum of the units', less those of the word that begins it and of the one that ends it, which may merge with what is
# written around. Where a place is not safe, as before a line that begins with a slash, the sum is but a guess, and
# nothing is kept of it.


AROUND, MARKER, END = 2.0, 2.8, 0.12
"""Guesses at tokens: of what a document takes besides its header and of a marker, and how many more a unit takes where
it meets what comes next."""
LONG = 1.5
"""How many times as many characters as usual the tokens of a unit may have: a longer one is not counted in vain."""


class Costs:
    """What units take of a layout; where counts don't add up, a guess by their characters."""

    def __init__(self, layout: Layout, units: Units, chars_per_token: float) -> None:
        self._layout, self._units, self._chars_per_token = layout, units, chars_per_token
        self._counter = layout.typesetter.counter
        self._tokens: dict[int, int] = {}
        self._cuts: dict[int, int] = {}
        self._unsafe: set[int] = set()
        self._headers: dict[str, float] = {}
        self._first = {share.candidate.chunk.document_id: share.candidate for share in reversed(units.shares)}

    def longest(self, room: float) -> float:
        """The characters of the longest unit that may fit into so many tokens."""
        return (room + 1) * self._chars_per_token * LONG

    def of(self, place: int) -> float:
        """The tokens of a unit beside others."""
        if not self._counter.additive:
            edges = self._units.edges
            return (edges[place + 1] - edges[place]) / self._chars_per_token
        return self._count(place) + END

    def header(self, document_id: str) -> float:
        """The tokens of a document's header and of what is around it."""
        if document_id not in self._headers:
            above = self._layout.tokens_above(self._first[document_id])
            self._headers[document_id] = above + AROUND if above else 0.0
        return self._headers[document_id]

    def keep(self, candidates: Iterable[Candidate]) -> None:
        """Keep the measures of what will be written of `candidates`, which have whole units."""
        if not self._counter.additive:
            return
        shares = {share.candidate.key: share for share in self._units.shares}
        spans: list[Span] = []
        reach = 0
        for candidate in candidates:
            begin = shares[candidate.key].begin
            for start, end in candidate.slices:
                # Text that two of them share is the first one's.
                spans.append((max(begin + start, reach) if begin <= reach else begin + start, begin + end))
                reach = begin + end
        for (start, end), (beyond, _) in pairwise([*spans, (-1, -1)]):
            written = self._units.text[start:end]
            # White space stays where the next one continues it.
            self._keep(start, written if beyond == end else written.rstrip())

    def _keep(self, start: int, written: str) -> None:
        edges, text = self._units.edges, self._units.text
        inside = ends_inside(written)
        if inside is None:
            return
        head, tail = start + inside[0], start + inside[1]
        first, last = bisect_right(edges, start) - 1, bisect_left(edges, start + len(written)) - 1
        inner = sum([self._count(place) for place in range(first, last + 1)])
        begin, end = self._cut(first), self._cut(last + 1)
        if head < begin or tail > end or not self._unsafe.isdisjoint(range(first + 1, last + 1)):
            return
        count = self._counter.count
        inner -= count(text[begin:head]) + count(text[tail:end])
        self._counter.keep(written, Measured(written[: inside[0]], inner, written[inside[1] :], len(written)))

    def _count(self, place: int) -> int:
        tokens = self._tokens
        if place not in tokens:
            tokens[place] = self._counter.count(self._units.text[self._cut(place) : self._cut(place + 1)])
        return tokens[place]

    def _cut(self, place: int) -> int:
        """Where the unit's tokens begin: before the blanks between it and the one that it continues."""
        cuts = self._cuts
        if place not in cuts:
            units = self._units
            text, at = units.text, units.edges[place]
            if place < len(units.continues) and units.continues[place]:
                before = units.edges[place - 1]
                at = before + len(text[before:at].rstrip(" "))
                if not is_safe(text, at):
                    self._unsafe.add(place)
            cuts[place] = at
        return cuts[place]


# Units taken by value, one after the other, within a room in tokens.
#
# A gap of one unit between two that are taken is closed, since a marker would say less; so a unit costs what it adds
# with the gaps that it closes, and what it saves in markers. Where little room is left, nearly all units are too much
# for it. So what tells that is asked in the order of its price: the length, then what is written around, and then the
# count.


SCRAP_CHARS = 12
"""Length of the longest sentence that says no more than a marker does."""
LEAST = 2.0
"""Tokens of the shortest sentence that is sought: with less room the search is over."""


class Taken(NamedTuple):
    """The units that `greedy` takes."""

    places: set[int]
    tokens: float
    """The tokens that they take, by estimate."""
    all_had_room: bool
    """True if none was left out for lack of room."""


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
    edges, documents = units.edges, units.documents
    left, longest = room, costs.longest(room)
    taken: set[int] = set()
    begun: set[str] = set()
    texts: set[str] = set()
    risen: list[tuple[float, int]] = []
    all_had_room = True
    for place in _in_order(order, risen):
        if left < LEAST:
            return Taken(taken, room - left, False)
        if place in taken:
            continue
        length = edges[place + 1] - edges[place]
        if length > longest:
            all_had_room = False
            continue
        linked, gaps, around = _joining(units, place, taken, costs, begun)
        if length > costs.longest(left - around):
            all_had_room = False
            continue
        text = units.sentence(place)
        if text in texts or (len(text) <= SCRAP_CHARS and not linked and _is_scrap(units, place)):
            continue
        new = (place, *gaps)
        cost = around + sum([costs.of(at) for at in new])
        if cost > left:
            all_had_room = False
            continue
        left -= cost
        longest = costs.longest(left)
        taken.update(new)
        begun.add(documents[place])
        texts.add(text)
        for beside in (min(new) - 1, max(new) + 1) if sooner else ():
            if beside in sooner and _linked(units, beside, taken):
                insort(risen, (-sooner[beside], beside))
    return Taken(taken, room - left, all_had_room)


def _in_order(order: Sequence[int], risen: list[tuple[float, int]]) -> Iterator[int]:
    """The places in `order`, and at their rank those that have `risen`, which are sorted from the last one on."""
    for rank, place in enumerate(order):
        while risen and -risen[-1][0] < rank:
            yield risen.pop()[1]
        yield place
    while risen:
        yield risen.pop()[1]


def _joining(
    units: Units, place: int, taken: Collection[int], costs: Costs, begun: Collection[str]
) -> tuple[bool, Sequence[int], float]:
    """How a unit joins those that are taken: whether it is linked, the gaps that it closes, and its tokens beside text.

    Alone it needs a marker more, beside one that is taken none; each gap that it closes saves one.
    """
    document = units.documents[place]
    if document not in begun:
        return False, (), MARKER + costs.header(document)
    linked, gaps = _linked(units, place, taken), _gaps(units, place, taken)
    return linked, gaps, MARKER * (1 - linked - len(gaps))


def _gaps(units: Units, place: int, taken: Collection[int]) -> list[int]:
    """The units, at most one on each side, that alone stand between the one at `place` and one that is taken."""
    continues = units.continues
    gaps: list[int] = []
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
    """True if the short unit at `place` says less than a marker: it is no line among others of its length.

    It is none if the best hit says no more than that: "Paid." may be the answer.
    """
    if place in units.short_best_hit:
        return False
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
    ascending = sorted(chosen)
    for share in units.shares:
        first = bisect_left(ascending, share.places.start)
        taken = ascending[first : bisect_left(ascending, share.places.stop, first)]
        if not taken:
            continue
        if len(taken) == len(share.places):
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


TRIES = 6
"""Times that the whole is counted at most; the second or third try mostly hits."""
AIM = 0.995
CLOSE_ENOUGH = 0.98
"""Parts of the budget: where a try aims, so that it is not just over, and where another would gain next to nothing."""


class Packed(NamedTuple):
    """The candidates that have any of the packed units, reduced to these."""

    layout: Layout
    """They stand in it."""
    forms: dict[int, Candidate]
    """By key."""


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
    order = units.best_first[: int((units.values >= units.least).sum())]
    if first or without:
        others = [place for place in order if place not in first and place not in without]
        order = [*(place for place in units.best_first if place in first), *others]
    sooner = _ranks(order, units, len(first), linked) if linked else {}
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
            best = Packed(layout.plus(candidates), forms)
            if added >= tokens * CLOSE_ENOUGH or chosen.all_had_room:
                break
            low = room
        else:
            high = chosen.tokens  # with any room from there on it takes the same
        # In proportion; where that was tried already, or characters are the limit, half-way between the bounds.
        room *= AIM * tokens / max(added, 1)
        if not low < room < high:
            room = (low + high) / 2
        if high - low < LEAST:
            break
    return best


def _ranks(order: Sequence[int], units: Units, first: int, linked: float) -> dict[int, float]:
    """The rank in `order` of each unit if it were worth `linked` more, but never before the `first` ones."""
    others = order[first:]
    ascending = -units.values[others]
    ranks = ascending.searchsorted(ascending - linked) + (first - 0.5)
    return dict(zip(others, ranks.tolist(), strict=True))
