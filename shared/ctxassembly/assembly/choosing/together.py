"""The first step of filling: as many of the best items as fit, taken in batches.

One by one, every item would be joined, rendered and counted beside all others. A batch is as many items as a guess says
the room has: from the characters that they add and from the characters that a token had so far. The guess is corrected
by what each batch really took, so that a few tries take nearly all that fits, however many items there are.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice

from ctxassembly.assembly.rendering.layout import Layout
from ctxassembly.data.candidates import Candidate

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
