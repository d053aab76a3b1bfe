"""Which units are read: as many of the best as fit, in parts, and of the next one its beginning."""

from __future__ import annotations

from bisect import bisect_right
from functools import cache, partial
from typing import TYPE_CHECKING

import numpy as np

from ctxassembly.assembly.render.labels import Layout
from ctxassembly.assembly.render.layout import lay_out
from ctxassembly.assembly.render.page import Page
from ctxassembly.assembly.render.write import BLOCK_SEPARATOR, CUT_MARK, RUN_SEPARATOR, write
from ctxassembly.assembly.select.close import closing
from ctxassembly.assembly.select.cut import cut_at, cut_best, sentence_ends
from ctxassembly.assembly.select.fit import Costs, Filling, Fitted, Selection, fit
from ctxassembly.assembly.select.needs import with_needs
from ctxassembly.assembly.select.parts import parts_of
from ctxassembly.assembly.select.relevant import relevant
from ctxassembly.assembly.select.repeats import repeats_itself, without_repeats
from ctxassembly.assembly.tables import with_heads
from ctxassembly.assembly.units import PARTS, Units, best_first, merge
from ctxassembly.data.chunks import Span

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ctxassembly.assembly.units import Bools, Floats, Ints

SAMPLES, SAMPLE_CHARS = 5, 120
"""The best units, and the characters of each, by which tokens per cost are estimated before anything is rendered."""
TRIES, MAX_TRIED = 6, 8
"""The beginnings that are tried, and the units."""
MIN_CUT_TOKENS = 16
"""Tokens of room that are worth the beginning of another chunk: fewer rarely hold a sentence."""
MIN_CHARACTERS, MAX_CHARACTERS = 2, 8
"""Characters of a token in the densest text of words, and more than one has in any text of words."""


def select(page: Page, units: Units) -> Selection:
    """Return the selection from `units` that fits the limits of `page`."""
    if page.config.effective_granularity(page.query) != "passage" or page.config.compress != "none":
        return _select(page, units)
    begins = ~units.continues
    begins[1:] |= units.barred[1:] != units.barred[:-1]
    passages = merge(units, begins)
    selection = _select(page, passages)
    if not selection.note:
        return selection
    # Not even the best passage fits: its chunks are chosen from in its place.
    is_best = np.cumsum(begins) - 1 == np.argmax(np.where(passages.barred, -np.inf, passages.values))
    return _select(page, merge(units, begins | is_best))


def _select(page: Page, units: Units) -> Selection:
    """Return the selection from `units`, each of which is read whole or not, or as the only one in part."""
    config, are_sentences = page.config, units.leads is units.starts
    units = (with_needs if are_sentences else with_heads)(page.text, page.pool, units)
    if not (config.dedup_sentences and config.dedup != "none" and config.enabled):
        return _choose(page, units, {})
    if are_sentences:
        return _choose(page, *without_repeats(page, units))
    selection = _choose(page, units, {})
    if repeats_itself(selection.fitted.rendered.text):
        units, copies = without_repeats(page, units)
        selection = _choose(page, units, copies) if copies else selection
    return selection


def _choose(page: Page, units: Units, copies: Mapping[int, int]) -> Selection:
    """Return the selection from `units`, but for the `copies` of others."""
    config = page.config
    order = best_first(units)
    if copies:
        order = order[~np.isin(order, [*copies])]
    tokens_per_cost = _tokens_per_cost(page, units, order)
    tokens = units.costs * tokens_per_cost
    if page.is_by_query and not config.fill:
        limits = config.min_relevance, page.max_tokens
        order = relevant(units, order, tokens, limits, page.chosen)
    # What the conversation has is as relevant as it was: it isn't made up for by text that is less so.
    order = order[~units.barred[order]]
    if not len(order):
        empty = write(page, Layout([], page.text.owns))
        return Selection(Fitted(np.zeros(len(units.starts), bool), empty, page.weigh(empty.text)), units, order, {})
    rules = closing(units, copies)
    if page.is_by_query and config.order == "auto":
        units = units._replace(parts=parts_of(units, order, rules, tokens, page.max_tokens))
    headers, gap = _header_costs(page)
    groups = PARTS * units.documents + units.parts
    reach = {"document": 0, "passage": 1, "chunk": 0}[config.cite]
    # Two chunks between which the text breaks off have no label in common.
    chunks = sum(np.searchsorted(edges, units.starts, "right") for edges in (page.text.owns, page.text.breaks))
    size = len(page.text.owns) + len(page.text.breaks)
    places = groups if config.cite == "document" else chunks + units.parts * (size + 2)
    costs = Costs(units, groups, headers / tokens_per_cost, gap / tokens_per_cost, places, reach)

    def written(mask: Bools) -> Fitted:
        rendered = write(page, lay_out(page, units, mask))
        return Fitted(mask, rendered, page.weigh(rendered.text))

    share_per_cost = tokens_per_cost / page.max_tokens
    if config.max_characters:
        characters = float(np.mean((units.ends - units.starts) / units.costs.clip(min=1.0)))
        share_per_cost = max(share_per_cost, characters / config.max_characters)
    is_beginning_read = not page.is_by_query and config.may_shorten_hits and config.compress == "none"
    is_filled = config.fill or config.compress != "none" or units.leads is not units.starts
    share_of = cache(partial(_least_share_of, page, units)) if is_filled else None
    found = fit(Filling(costs, rules, written, not is_beginning_read, share_of), order, share_per_cost)
    selection = cut_best(page, units, order, copies) if found is None else Selection(found, units, order, copies)
    return _with_beginnings(page, selection) if is_beginning_read else selection


def may_not_fit(page: Page) -> bool:
    """Return False if the whole text certainly fits: a token has no more characters than that on average."""
    return len(page.text.text) > MIN_CHARACTERS * page.max_tokens


def _with_beginnings(page: Page, selection: Selection) -> Selection:
    """Return `selection` with the next best units that fit whole, and the beginning of the best one that doesn't."""
    left = selection.offered[~selection.fitted.mask[selection.offered]][:MAX_TRIED].tolist()
    size = cut = len(selection.units.starts)
    for at in left:
        number = at + (at > cut)  # a unit of which the beginning is read is two
        room = (1 - selection.fitted.load.share) * page.max_tokens
        if whole := _with_part(page, selection, (number, int(selection.units.ends[number]))):
            selection = whole
        elif cut == size and room >= MIN_CUT_TOKENS and (part := _longest_part(page, selection, number, room)):
            selection, cut = part, number
    return selection


def _longest_part(page: Page, selection: Selection, number: int, room: float) -> Selection | None:
    """Return `selection` with as many of the first sentences of a unit as fit into `room` tokens; None if none does."""
    units, mask, whole = selection.units, selection.fitted.mask, page.text.text
    start, begin = int(units.starts[number]), _begin(units, mask, number)
    room -= page.count(_before(page, units, mask, number) + CUT_MARK)
    if room < page.count(whole[begin:start]):
        return None
    ends = sentence_ends(whole, start, min(int(units.ends[number]), begin + int(room * MAX_CHARACTERS)))
    likely = bisect_right(ends, room, key=lambda place: page.count(whole[begin:place].strip()))
    # What is around the text may take more than it seems to.
    tries = (_with_part(page, selection, (number, place)) for place in reversed(ends[:likely][-TRIES:]))
    return next(filter(None, tries), None)


def _before(page: Page, units: Units, mask: Bools, number: int) -> str:
    """Return what is at least written before a unit: nothing if it goes on, a gap marker, or a header."""
    if units.continues[number] and mask[number - 1 : number].any():
        return ""
    document = int(units.documents[number])
    if mask[units.documents == document].any():
        return RUN_SEPARATOR
    return BLOCK_SEPARATOR + page.headers.around(document, page.pool.documents[document])


def _begin(units: Units, mask: Bools, number: int) -> int:
    """Return where the text of a unit begins beside those in `mask`: with its overlap if the one before isn't read."""
    if mask[number - 1 : number].any():
        return int(units.starts[number])
    return int(max(units.leads[number], units.ends[:number][mask[:number]].max(initial=0)))


def _with_part(page: Page, selection: Selection, part: tuple[int, int]) -> Selection | None:
    """Return `selection` with a `part`, the number of a unit and the offset up to which it is read, if that fits."""
    fitted, units, order, copies, _ = selection
    (number, offset), mask, cuts = part, fitted.mask.copy(), fitted.rendered.layout.cuts
    mask[number] = True
    if units.needs is not None:
        mask[units.needs[number]] = True
    # What the next chunk has, too, may be read already.
    alone = min([offset, *units.leads[number + 1 : number + 2].tolist()])
    if _least_share(page, (_begin(units, mask, number), alone)) > 1 - fitted.load.share:
        return None
    if offset < units.ends[number]:
        start = int(units.starts[number])
        offset = start + len(page.text.text[start:offset].rstrip())
        units, order, copies = cut_at(units, order, copies, number, (start, offset))
        mask, cuts = np.insert(mask, number + 1, False), cuts | {offset}
    rendered = write(page, lay_out(page, units, mask)._replace(cuts=cuts))
    load = page.weigh(rendered.text)
    return Selection(Fitted(mask, rendered, load), units, order, copies) if load.share <= 1 else None


def _least_share_of(page: Page, units: Units, number: int) -> float:
    return _least_share(page, (int(units.starts[number]), int(units.ends[number])))


def _least_share(page: Page, span: Span) -> float:
    """Return the share of the limit that the text of `span` takes at least, wherever it is read."""
    said = page.text.text[span[0] : span[1]].strip()
    # A token may be saved where it meets the text before it or behind it, and special tokens count once.
    return page.weigh(said).share - page.weigh("").share - 2 / page.max_tokens


def _header_costs(page: Page) -> tuple[Floats, float]:
    """Return about how many tokens a header of each document has, for each part, and how many a gap marker has."""
    headers = [page.headers.around(number, first) for number, first in enumerate(page.pool.documents)]
    characters = np.array([len(header) for header in headers], float)
    per_character = page.count("".join(headers)) / max(float(characters.sum()), 1.0)
    return np.repeat(characters * per_character, PARTS), page.count(RUN_SEPARATOR)


def _tokens_per_cost(page: Page, units: Units, order: Ints) -> float:
    """Return the tokens by cost in the beginnings of the best units."""
    best, text = order[:SAMPLES], page.text.text
    starts, ends = units.starts[best], units.ends[best]
    spans = zip(starts.tolist(), ends.tolist(), strict=True)
    sample = "\n".join([text[start : min(end, start + SAMPLE_CHARS)].rstrip() for start, end in spans])
    shares = np.minimum(SAMPLE_CHARS / np.maximum(ends - starts, 1), 1.0)
    return max(page.count(sample), 1) / max(float(units.costs[best] @ shares), 1.0)
