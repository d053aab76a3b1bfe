"""Filling of the budget with passages or chunks.

Items are tried best first, and each one is rendered and counted as part of the context. An item is dropped only if it
doesn't fit next to everything ranked above it, and filling continues. If the best passage doesn't fit at all, its
chunks are tried. The best candidate is never replaced by a lesser one: if it doesn't fit whole, it is shortened.

Three steps take what fits at one granularity: batches, then all the rest at once, then one item after the other, with
a part of what doesn't fit (`shorten.py`). If they take nothing, the same is tried with smaller items.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Container, Sequence
from itertools import accumulate, islice

from ctxassembly.assembly.rendering.groups import added_lengths
from ctxassembly.assembly.rendering.layout import Layout
from ctxassembly.assembly.selection.result import FillResult
from ctxassembly.assembly.selection.shorten import ShortenPolicy, shorten_best, shorten_item
from ctxassembly.config.assembly import Granularity
from ctxassembly.data.candidates import OVER_BUDGET, Candidate, Exclusion
from ctxassembly.tokens.counter import MAX_CHARS_PER_TOKEN

BATCH_SHARE = 0.97
"""The part of the room that a batch is meant to fill: headers take the rest."""


def fill_in_batches(layout: Layout, items: Sequence[Sequence[Candidate]], chars_per_token: float) -> tuple[Layout, int]:
    """Return `layout` with as many of the first items as fit, and their number.

    A batch is as many items as should fit by the characters that they add and the characters of a token so far;
    `chars_per_token` is the first guess. Of a batch that doesn't fit, half is tried. So a few renderings take nearly
    all that fits, however many items there are; one by one, each would be rendered next to all others.
    """
    candidates = (candidate for item in items for candidate in item)
    lengths = added_lengths(candidates, layout.typesetter.get_join)
    added_chars = [0, *accumulate(sum(islice(lengths, len(item))) for item in items)]
    taken_count, limit, max_batch = 0, len(items), len(items)
    while taken_count < limit:
        free_chars = (layout.max_tokens - layout.token_count) * chars_per_token * BATCH_SHARE
        longest = min(limit, taken_count + max_batch)
        fitting = bisect_right(added_chars, added_chars[taken_count] + free_chars, taken_count + 1, longest + 1) - 1
        batch_end = max(fitting, taken_count + 1)
        batch = [candidate for item in items[taken_count:batch_end] for candidate in item]
        # `might_fit` is a lower bound of all: a part of a batch may fit where all of it can't.
        if (batch_end - taken_count == 1 and not layout.might_fit(batch)) or not layout.fits(batch):
            limit, max_batch = batch_end - 1, max((batch_end - taken_count) // 2, 1)
            continue
        layout = layout.with_candidates(batch)
        taken_count = batch_end
        chars_per_token = added_chars[taken_count] / max(layout.token_count, 1)
    return layout, taken_count


END_SHARE = 0.01
"""Share of the budget that is left empty: what is short enough for it says next to nothing."""
MAX_GAP_TOKENS = 4
"""Maximum number of tokens of a gap marker, line breaks included."""

_FALLBACK_GRANULARITIES: dict[Granularity, tuple[Granularity, ...]] = {
    "passage": ("passage", "chunk"),
    "chunk": ("chunk",),
}


def fill(
    layout: Layout, candidates: Sequence[Candidate], granularity: Granularity, policy: ShortenPolicy
) -> FillResult:
    """Add what fits of `candidates`, which are best first, hits before neighbors.

    If not even the first item fits, its parts are tried: the chunks of a passage; the best sentences of the
    best chunk, else its beginning. If that needs a shorter header, nothing is added: see `shorten_with_header`.
    """
    exclusions: dict[int, Exclusion] = {}
    for finer in _FALLBACK_GRANULARITIES[granularity] if candidates else ():
        items = _group_by_granularity(candidates, finer)
        result = _fill_level(layout, items, finer, policy)
        exclusions |= result.exclusions
        if result.layout is not layout:  # not its tokens: a guess such as len(text) // 4 finds none in a short text
            selected_keys = {candidate.key for candidate in candidates} - result.exclusions.keys()
            excluded = {key: exclusion for key, exclusion in exclusions.items() if key not in selected_keys}
            return result._replace(exclusions=excluded)
    unplaced = {
        candidate.key: Exclusion(OVER_BUDGET, layout.text_tokens(candidate))
        for candidate in candidates
        if candidate.key not in exclusions
    }
    return FillResult(layout, exclusions | unplaced, {})


def _fill_level(
    layout: Layout, items: Sequence[list[Candidate]], granularity: Granularity, policy: ShortenPolicy
) -> FillResult:
    """Add what fits of `items`."""
    chars_per_token = layout.chars_per_token(items[0][0])
    layout, taken_count = fill_in_batches(layout, items, chars_per_token)
    remaining = [candidate for item in items[taken_count:] for candidate in item]
    if _might_fit_together(layout, remaining) and layout.fits(remaining):
        return FillResult(layout.with_candidates(remaining), {}, {})
    queue = items[taken_count:]
    if granularity == "passage" and not (taken_count or policy.rank_sentences):
        # If the best passage were dropped whole, only lesser ones would be included.
        queue = [*([candidate] for candidate in items[0]), *items[1:]]
    return _fill_sequentially(layout, queue, policy, chars_per_token)


def _might_fit_together(layout: Layout, candidates: Sequence[Candidate]) -> bool:
    """Return whether `candidates` may fit together though the first one alone doesn't: closed gaps need no marker."""
    free_tokens = layout.max_tokens - layout.token_count + MAX_GAP_TOKENS * len(candidates)
    # A text may be as much as twice as long as what it adds, because of overlap.
    return 0 < _text_length(candidates) <= free_tokens * MAX_CHARS_PER_TOKEN * 2


def _fill_sequentially(
    layout: Layout, items: Sequence[list[Candidate]], policy: ShortenPolicy, chars_per_token: float
) -> FillResult:
    """Add what fits of `items`, or a part of it, one after the other."""
    exclusions: dict[int, Exclusion] = {}
    shortened: dict[int, Candidate] = {}
    for number, item in enumerate(items):
        added_tokens = round(_text_length(item) / chars_per_token)  # an item isn't rendered only to be counted
        if not layout.is_empty and layout.max_tokens - layout.token_count < END_SHARE * layout.max_tokens:
            exclusions |= _exclusions(item, added_tokens, ())
            continue
        if layout.might_fit(item):
            if layout.fits(item):
                layout = layout.with_candidates(item)
                continue
            added_tokens = layout.token_count_with(item) - layout.token_count
        fitted: Sequence[Candidate] = ()
        if layout.is_empty and not number and len(item) == 1:
            fitted = shorten_best(layout, item[0], policy)
        else:
            fitted = shorten_item(layout, item, policy)
        exclusions |= _exclusions(item, added_tokens, {rest.key for rest in fitted})
        if fitted:
            layout = layout.with_candidates(fitted)
            shortened |= {rest.key: rest for rest in fitted if rest not in item}
        elif layout.is_empty:
            break  # the best item is never replaced by a lesser one: its parts are next
    return FillResult(layout, exclusions, shortened)


def _exclusions(item: Sequence[Candidate], tokens: int, selected_keys: Container[int]) -> dict[int, Exclusion]:
    """Return the exclusions of the candidates of `item` that aren't selected, each with its share of `tokens`.

    The shares are in proportion to the lengths of the texts and add up exactly.
    """
    if len(item) == 1:  # the usual case
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


def _group_by_granularity(candidates: Sequence[Candidate], granularity: Granularity) -> list[list[Candidate]]:
    """Return `candidates` grouped into items of that size, ordered by the first candidate of each."""
    if granularity == "chunk":
        return [[candidate] for candidate in candidates]
    return group_by_passage(candidates)


def group_by_passage(candidates: Sequence[Candidate]) -> list[list[Candidate]]:
    """Return `candidates` grouped by passage: chunks of one document at consecutive positions."""
    passage_numbers: dict[int, int] = {}
    passage, before = 0, None
    for candidate in sorted(candidates, key=lambda c: (c.chunk.document_id, c.position)):
        at = (candidate.chunk.document_id, candidate.position)
        passage += before not in (at, (at[0], at[1] - 1))
        passage_numbers[candidate.key] = passage
        before = at
    return _group_by_keys(candidates, [passage_numbers[candidate.key] for candidate in candidates])


def _group_by_keys(candidates: Sequence[Candidate], keys: Sequence[object]) -> list[list[Candidate]]:
    groups: dict[object, list[Candidate]] = {}
    for candidate, key in zip(candidates, keys, strict=True):
        groups.setdefault(key, []).append(candidate)
    return list(groups.values())
