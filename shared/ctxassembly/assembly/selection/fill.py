"""Filling the budget: the only stage that drops for it.

Items are tried best first, each as the context would really be rendered with it. With granularity `document` the
first one that doesn't fit ends it, which is dropping whole documents from the tail; with `passage` and `chunk` an item
is left out only if it doesn't fit beside everything ranked above it, and filling goes on, unless `at_edge` ends it. Of
the best passage its chunks are tried where it doesn't fit at all. Nothing lesser stands in the place of the best
candidate: where it doesn't fit whole, it is shortened.

Three steps take what fits of one granularity: batches (`together.py`), all the rest at once, then one by one, what
doesn't fit in part (`shortened.py`). Where they take nothing, the same is tried with smaller items.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence
from itertools import islice

from ctxassembly.assembly.rendering.layout import Layout
from ctxassembly.assembly.selection.granularity import items_of
from ctxassembly.assembly.selection.result import Filled
from ctxassembly.assembly.selection.shorten import Edge, best_in_part, in_part
from ctxassembly.config.assembly import Granularity
from ctxassembly.data.candidates import FOR_BUDGET, Candidate, LeftOut
from ctxassembly.tokens.counter import MOST_CHARS_PER_TOKEN

# The first step of filling: as many of the best items as fit, taken in batches.
#
# One by one, every item would be joined, rendered and counted beside all others. A batch is as many items as a guess
# says the room has: from the characters that they add and from the characters that a token had so far. The guess is
# corrected by what each batch really took, so that a few tries take nearly all that fits, however many items there are.


AIM = 0.97
"""Part of the room that is filled at once: headers take some, and a batch that is too much is rendered for nothing."""


def take_together(layout: Layout, items: Sequence[Sequence[Candidate]], chars_per_token: float) -> tuple[Layout, int]:
    """`layout` with the longest beginning of `items` that fits, and the number of items taken.

    `chars_per_token` is the first guess. Where a batch was too much, half of it is tried.
    """
    added = _Added(layout, items)
    taken, end, most = 0, len(items), len(items)
    characters = 0
    while taken < end:
        room = (layout.max_tokens - layout.token_count) * chars_per_token * AIM
        upto, length = added.upto(taken, min(end, taken + most), room)
        batch = [candidate for item in items[taken:upto] for candidate in item]
        # Of several items some may fit where all of them surely don't, so only a single one is foreseen.
        if (upto - taken == 1 and not layout.may_fit(batch)) or not layout.fits(batch):
            end, most = upto - 1, max((upto - taken) // 2, 1)
            continue
        layout = layout.plus(batch)
        taken = upto
        characters += length
        chars_per_token = characters / max(layout.token_count, 1)
    return layout, taken


class _Added:
    """The characters that each item adds beside those before it, found once and only as far as they are asked for."""

    def __init__(self, layout: Layout, items: Sequence[Sequence[Candidate]]) -> None:
        self._items = items
        self._lengths: Iterator[int] = layout.lengths(candidate for item in items for candidate in item)
        self._known: list[int] = []

    def upto(self, begin: int, end: int, room: float) -> tuple[int, int]:
        """The end of the items from `begin` on that have room, at least one, and the characters that they add."""
        upto, length = begin, 0
        while upto < end:
            added = self._of(upto)
            if upto > begin and length + added > room:
                break
            length += added
            upto += 1
        return upto, length

    def _of(self, at: int) -> int:
        if at == len(self._known):
            self._known.append(sum(islice(self._lengths, len(self._items[at]))))
        return self._known[at]


GAP_TOKENS = 4
"""The most tokens of a marker, line breaks included."""

_FINER: dict[Granularity, tuple[Granularity, ...]] = {
    "document": ("document", "passage", "chunk"),
    "passage": ("passage", "chunk"),
    "chunk": ("chunk",),
}


def fill(layout: Layout, candidates: Sequence[Candidate], granularity: Granularity, edge: Edge) -> Filled:
    """Take what fits of `candidates`, which are best first, hits before neighbours.

    If not even the first item fits, its parts are tried: of a document its passages, then its chunks; of a passage its
    chunks; of the best chunk the best of its sentences, else its beginning. If that needs a shorter header, nothing is
    taken: see `shorten`.
    """
    left_out: dict[int, LeftOut] = {}
    for grain in _FINER[granularity] if candidates else ():
        items = items_of(candidates, grain)
        filled = _filled(layout, items, grain, edge, cut_first=granularity == "document")
        left_out |= filled.left_out
        if filled.layout is not layout:  # not its tokens: a guess such as len(text) // 4 finds none in a short text
            stands = {candidate.key for candidate in candidates} - filled.left_out.keys()
            return filled._replace(left_out={key: why for key, why in left_out.items() if key not in stands})
        if grain == "document":
            candidates = items[0]
    waiting = {
        candidate.key: LeftOut(FOR_BUDGET, layout.text_tokens(candidate))
        for candidate in candidates
        if candidate.key not in left_out
    }
    return Filled(layout, left_out | waiting, {})


def _filled(
    layout: Layout, items: Sequence[list[Candidate]], grain: Granularity, edge: Edge, *, cut_first: bool
) -> Filled:
    """Take what fits of `items`. With `cut_first`, nothing but a part of the first one if that doesn't fit whole."""
    chars_per_token = layout.chars_per_token(items[0][0])
    layout, number = take_together(layout, items, chars_per_token)
    rest = [candidate for item in items[number:] for candidate in item]
    if _may_fit_together(layout, rest) and layout.fits(rest):
        return Filled(layout.plus(rest), {}, {})
    # The published rule cuts the first document: if not even the best part of it fits, a smaller part of that one
    # is next, never a lesser part beside it.
    is_closed = cut_first and not number
    queue = items[number:]
    if grain == "passage" and not (number or is_closed or edge.sentences):
        # Were the best passage dropped whole, only lesser ones would stand.
        queue = [*([candidate] for candidate in items[0]), *items[1:]]
    ends = edge.ends or grain == "document"
    return _one_by_one(layout, queue, edge, ends=ends, is_closed=is_closed, chars_per_token=chars_per_token)


def _may_fit_together(layout: Layout, candidates: Sequence[Candidate]) -> bool:
    """True if `candidates` may fit all at once although the first one doesn't: a gap that they fill has no marker."""
    room = layout.max_tokens - layout.token_count + GAP_TOKENS * len(candidates)
    return 0 < _length(candidates) <= room * MOST_CHARS_PER_TOKEN * 2  # every character twice, for the overlap


def _one_by_one(
    layout: Layout,
    items: Sequence[list[Candidate]],
    edge: Edge,
    *,
    ends: bool,
    is_closed: bool,
    chars_per_token: float,
) -> Filled:
    """Take what fits of `items`, or a part of it, one after the other.

    Nothing is taken whole once it `is_closed`, and after the first item that doesn't fit if that `ends` it.
    """
    left_out: dict[int, LeftOut] = {}
    shortened: dict[int, Candidate] = {}
    for number, item in enumerate(items):
        if not is_closed and layout.may_fit(item):
            if layout.fits(item):
                layout = layout.plus(item)
                continue
            added = layout.weigh(item) - layout.token_count
        else:  # it isn't rendered to tell what it would have added
            added = round(_length(item) / chars_per_token)
        rests: Sequence[Candidate] = ()
        if layout.is_empty and not number and len(item) == 1:
            rests = best_in_part(layout, item[0], edge)
        elif not is_closed:
            rests = in_part(layout, item, edge)
        left_out |= _left_out(item, added, {rest.key for rest in rests})
        if rests:
            layout = layout.plus(rests)
            shortened |= _shortened(item, rests)
        elif layout.is_empty and not is_closed:
            break  # nothing lesser stands in the place of the best one: its parts are next
        is_closed = is_closed or ends
    return Filled(layout, left_out, shortened)


def _shortened(item: Sequence[Candidate], rests: Sequence[Candidate]) -> dict[int, Candidate]:
    """Those of `rests`, by key, that are less than the candidate of `item` that they stand for."""
    whole = {candidate.key: candidate for candidate in item}
    return {rest.key: rest for rest in rests if rest is not whole[rest.key]}


def _left_out(item: Sequence[Candidate], tokens: int, stands: Container[int]) -> dict[int, LeftOut]:
    """For each candidate of `item` but those that stand its share of the item's `tokens`, by the length of its text.

    The shares add up exactly.
    """
    if len(item) == 1:  # so are most
        return {} if item[0].key in stands else {item[0].key: LeftOut(FOR_BUDGET, tokens)}
    length = _length(item)
    left_out: dict[int, LeftOut] = {}
    characters = given = 0
    for candidate in item:
        characters += len(candidate.text)
        upto = tokens * characters // length
        if candidate.key not in stands:
            left_out[candidate.key] = LeftOut(FOR_BUDGET, upto - given)
        given = upto
    return left_out


def _length(item: Sequence[Candidate]) -> int:
    return sum([len(candidate.text) for candidate in item])
