"""Filling the budget: the only stage that drops for it.

Items are tried best first, each as the context would really be rendered with it. With granularity `document` the
first one that doesn't fit ends it, which is dropping whole documents from the tail; with `passage` and `chunk` an item
is left out only if it doesn't fit beside everything ranked above it, and filling goes on, unless `overflow` ends it. Of
the best passage its chunks are tried where it doesn't fit at all. Nothing lesser stands in the place of the best
candidate: where it doesn't fit whole, it is shortened.

Three steps take what fits of one granularity: batches (`together.py`), all the rest at once, then one by one, what
doesn't fit in part (`shortened.py`). Where they take nothing, the same is tried with smaller items.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence
from itertools import islice

from ctxassembly.assembly.rendering.layout import Layout
from ctxassembly.assembly.selection.granularity import group_by_granularity
from ctxassembly.assembly.selection.result import FillResult
from ctxassembly.assembly.selection.shorten import ShortenPolicy, shorten_best, shorten_item
from ctxassembly.config.assembly import Granularity
from ctxassembly.data.candidates import OVER_BUDGET, Candidate, Exclusion
from ctxassembly.tokens.counter import MAX_CHARS_PER_TOKEN

# The first step of filling: as many of the best items as fit, taken in batches.
#
# One by one, every item would be joined, rendered and counted beside all others. A batch is as many items as a guess
# says the room has: from the characters that they add and from the characters that a token had so far. The guess is
# corrected by what each batch really took, so that a few tries take nearly all that fits, however many items there are.


BATCH_SHARE = 0.97
"""Part of the room that is filled at once: headers take some, and a batch that is too much is rendered for nothing."""


def fill_in_batches(layout: Layout, items: Sequence[Sequence[Candidate]], chars_per_token: float) -> tuple[Layout, int]:
    """`layout` with the longest beginning of `items` that fits, and the number of items taken.

    `chars_per_token` is the first guess. Where a batch was too much, half of it is tried.
    """
    lengths = _AddedLengths(layout, items)
    taken_count, limit, max_batch = 0, len(items), len(items)
    characters = 0
    while taken_count < limit:
        free_chars = (layout.max_tokens - layout.token_count) * chars_per_token * BATCH_SHARE
        batch_end, length = lengths.next_batch(taken_count, min(limit, taken_count + max_batch), free_chars)
        batch = [candidate for item in items[taken_count:batch_end] for candidate in item]
        # Of several items some may fit where all of them surely don't, so only a single one is foreseen.
        if (batch_end - taken_count == 1 and not layout.might_fit(batch)) or not layout.fits(batch):
            limit, max_batch = batch_end - 1, max((batch_end - taken_count) // 2, 1)
            continue
        layout = layout.with_candidates(batch)
        taken_count = batch_end
        characters += length
        chars_per_token = characters / max(layout.token_count, 1)
    return layout, taken_count


class _AddedLengths:
    """The characters that each item adds beside those before it, found once and only as far as they are asked for."""

    def __init__(self, layout: Layout, items: Sequence[Sequence[Candidate]]) -> None:
        self._items = items
        self._lengths: Iterator[int] = layout.added_lengths(candidate for item in items for candidate in item)
        self._known_lengths: list[int] = []

    def next_batch(self, begin: int, end: int, free_chars: float) -> tuple[int, int]:
        """The end of the items from `begin` on that have room, at least one, and the characters that they add."""
        batch_end, length = begin, 0
        while batch_end < end:
            added = self._length_at(batch_end)
            if batch_end > begin and length + added > free_chars:
                break
            length += added
            batch_end += 1
        return batch_end, length

    def _length_at(self, index: int) -> int:
        if index == len(self._known_lengths):
            self._known_lengths.append(sum(islice(self._lengths, len(self._items[index]))))
        return self._known_lengths[index]


MAX_GAP_TOKENS = 4
"""The most tokens of a marker, line breaks included."""

_FALLBACK_GRANULARITIES: dict[Granularity, tuple[Granularity, ...]] = {
    "document": ("document", "passage", "chunk"),
    "passage": ("passage", "chunk"),
    "chunk": ("chunk",),
}


def fill(
    layout: Layout, candidates: Sequence[Candidate], granularity: Granularity, policy: ShortenPolicy
) -> FillResult:
    """Take what fits of `candidates`, which are best first, hits before neighbors.

    If not even the first item fits, its parts are tried: of a document its passages, then its chunks; of a passage its
    chunks; of the best chunk the best of its sentences, else its beginning. If that needs a shorter header, nothing is
    taken: see `shorten_with_header`.
    """
    exclusions: dict[int, Exclusion] = {}
    for finer in _FALLBACK_GRANULARITIES[granularity] if candidates else ():
        items = group_by_granularity(candidates, finer)
        result = _fill_level(layout, items, finer, policy, cut_first=granularity == "document")
        exclusions |= result.exclusions
        if result.layout is not layout:  # not its tokens: a guess such as len(text) // 4 finds none in a short text
            selected_keys = {candidate.key for candidate in candidates} - result.exclusions.keys()
            return result._replace(
                exclusions={key: exclusion for key, exclusion in exclusions.items() if key not in selected_keys}
            )
        if finer == "document":
            candidates = items[0]
    unplaced = {
        candidate.key: Exclusion(OVER_BUDGET, layout.text_tokens(candidate))
        for candidate in candidates
        if candidate.key not in exclusions
    }
    return FillResult(layout, exclusions | unplaced, {})


def _fill_level(
    layout: Layout,
    items: Sequence[list[Candidate]],
    granularity: Granularity,
    policy: ShortenPolicy,
    *,
    cut_first: bool,
) -> FillResult:
    """Take what fits of `items`. With `cut_first`, nothing but a part of the first one if that doesn't fit whole."""
    chars_per_token = layout.chars_per_token(items[0][0])
    layout, taken_count = fill_in_batches(layout, items, chars_per_token)
    remaining = [candidate for item in items[taken_count:] for candidate in item]
    if _might_fit_together(layout, remaining) and layout.fits(remaining):
        return FillResult(layout.with_candidates(remaining), {}, {})
    # The published rule cuts the first document: if not even the best part of it fits, a smaller part of that one
    # is next, never a lesser part beside it.
    only_partial = cut_first and not taken_count
    queue = items[taken_count:]
    if granularity == "passage" and not (taken_count or only_partial or policy.rank_sentences):
        # Were the best passage dropped whole, only lesser ones would stand.
        queue = [*([candidate] for candidate in items[0]), *items[1:]]
    stop_at_overflow = policy.stop_at_overflow or granularity == "document"
    return _fill_sequentially(
        layout,
        queue,
        policy,
        stop_at_overflow=stop_at_overflow,
        only_partial=only_partial,
        chars_per_token=chars_per_token,
    )


def _might_fit_together(layout: Layout, candidates: Sequence[Candidate]) -> bool:
    """True if `candidates` may fit all at once although the first one doesn't: a gap that they fill has no marker."""
    free_tokens = layout.max_tokens - layout.token_count + MAX_GAP_TOKENS * len(candidates)
    return (
        0 < _text_length(candidates) <= free_tokens * MAX_CHARS_PER_TOKEN * 2
    )  # every character twice, for the overlap


def _fill_sequentially(
    layout: Layout,
    items: Sequence[list[Candidate]],
    policy: ShortenPolicy,
    *,
    stop_at_overflow: bool,
    only_partial: bool,
    chars_per_token: float,
) -> FillResult:
    """Take what fits of `items`, or a part of it, one after the other.

    Nothing is taken whole once it `only_partial`, and after the first item that doesn't fit if that `stop_at_overflow`
    it.
    """
    exclusions: dict[int, Exclusion] = {}
    shortened: dict[int, Candidate] = {}
    for number, item in enumerate(items):
        if not only_partial and layout.might_fit(item):
            if layout.fits(item):
                layout = layout.with_candidates(item)
                continue
            added_tokens = layout.token_count_with(item) - layout.token_count
        else:  # it isn't rendered to tell what it would have added
            added_tokens = round(_text_length(item) / chars_per_token)
        fitted: Sequence[Candidate] = ()
        if layout.is_empty and not number and len(item) == 1:
            fitted = shorten_best(layout, item[0], policy)
        elif not only_partial:
            fitted = shorten_item(layout, item, policy)
        exclusions |= _exclusions(item, added_tokens, {rest.key for rest in fitted})
        if fitted:
            layout = layout.with_candidates(fitted)
            shortened |= _shortened_forms(item, fitted)
        elif layout.is_empty and not only_partial:
            break  # nothing lesser stands in the place of the best one: its parts are next
        only_partial = only_partial or stop_at_overflow
    return FillResult(layout, exclusions, shortened)


def _shortened_forms(item: Sequence[Candidate], fitted: Sequence[Candidate]) -> dict[int, Candidate]:
    """Those of `fitted`, by key, that are less than the candidate of `item` that they stand for."""
    whole = {candidate.key: candidate for candidate in item}
    return {rest.key: rest for rest in fitted if rest is not whole[rest.key]}


def _exclusions(item: Sequence[Candidate], tokens: int, selected_keys: Container[int]) -> dict[int, Exclusion]:
    """For each candidate of `item` but those that stand its share of the item's `tokens`, by the length of its text.

    The shares add up exactly.
    """
    if len(item) == 1:  # so are most
        return {} if item[0].key in selected_keys else {item[0].key: Exclusion(OVER_BUDGET, tokens)}
    length = _text_length(item)
    exclusions: dict[int, Exclusion] = {}
    characters = assigned = 0
    for candidate in item:
        characters += len(candidate.text)
        tokens_upto = tokens * characters // length
        if candidate.key not in selected_keys:
            exclusions[candidate.key] = Exclusion(OVER_BUDGET, tokens_upto - assigned)
        assigned = tokens_upto
    return exclusions


def _text_length(item: Sequence[Candidate]) -> int:
    return sum([len(candidate.text) for candidate in item])
