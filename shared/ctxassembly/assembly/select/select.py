"""Which units are read: as many of the best as fit, in parts, and of the next one its beginning."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ctxassembly.assembly.merge import divide
from ctxassembly.assembly.render.labels import Layout
from ctxassembly.assembly.render.layout import lay_out
from ctxassembly.assembly.render.page import Page
from ctxassembly.assembly.render.write import write
from ctxassembly.assembly.select.close import closing
from ctxassembly.assembly.select.cut import cut_best, sentence_ends
from ctxassembly.assembly.select.fit import Costs, Fitted, fit
from ctxassembly.assembly.select.heads import with_heads
from ctxassembly.assembly.select.needs import needed
from ctxassembly.assembly.select.parts import parts_of
from ctxassembly.assembly.select.relevant import each_text_once, relevant_count
from ctxassembly.assembly.units import PARTS, Units, best_first

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ctxassembly.assembly.units import Bools, Floats, Ints

SAMPLES, SAMPLE_CHARS = 5, 120
"""The best units, and the characters of each, by which tokens per cost are estimated before anything is rendered."""
ALMOST, TRIES, MAX_TRIED = 1.05, 3, 8
"""Of the estimated room, how much a unit may have to be tried whole; the beginnings that are tried, and the units."""
MIN_CHARACTERS = 2
"""Characters of a token in the densest text of words."""
LABEL_TOKENS, CHARACTERS_PER_TOKEN = 4, 4
"""About how many tokens a label has, and characters of a header for each more."""


class Selection(NamedTuple):
    """What is read, and what it was chosen from."""

    fitted: Fitted
    units: Units
    offered: Ints
    """The units that were relevant enough, best first."""
    copies: Mapping[int, int]
    """For units that say the same as a better one, the better one."""
    note: str = ""
    """What is told of a context for which the limit is too small."""


def select(page: Page, units: Units) -> Selection:
    """Return the selection from `units` that fits the limits of `page`."""
    config = page.config
    needs, entries = None, None
    if units.leads is units.starts:
        needs, entries = needed(page.text, page.pool, units)
    else:
        units, needs = with_heads(page.text, page.pool, units)
    order = best_first(units)
    tokens_per_cost = _tokens_per_cost(page, units, order)
    tokens, copies = units.costs * tokens_per_cost, dict[int, int]()
    if config.dedup_sentences and config.dedup != "none" and config.enabled:
        room = page.max_tokens / tokens_per_cost if units.leads is units.starts else math.inf
        order, copies = each_text_once(page.text, units, order, room)
    if page.is_by_query and not config.fill:
        order = order[: relevant_count(units, order, tokens[order], config.min_relevance, page.max_tokens)]
    # What the conversation has is as relevant as it was: it isn't made up for by text that is less so.
    order = order[~units.barred[order]]
    if not len(order):
        empty = write(page, Layout([], page.text.owns))
        return Selection(Fitted(np.zeros(len(units.starts), bool), empty, page.weigh(empty.text)), units, order, {})
    close = closing(units, needs, entries, copies)
    if page.is_by_query and config.order == "auto":
        units = units._replace(parts=parts_of(units, order, close, tokens, page.max_tokens))
    costs = Costs(units, PARTS * units.documents + units.parts, _header_costs(page) / tokens_per_cost)

    def written(mask: Bools) -> Fitted:
        rendered = write(page, lay_out(page, units, mask))
        return Fitted(mask, rendered, page.weigh(rendered.text))

    share_per_cost = tokens_per_cost / page.max_tokens
    if config.max_characters:
        characters = float(np.mean((units.ends - units.starts) / units.costs.clip(min=1.0)))
        share_per_cost = max(share_per_cost, characters / config.max_characters)
    found = fit(costs, order, close, written, share_per_cost, may_skip=page.is_by_query or not config.may_shorten_hits)
    if found is None:
        fitted, note = cut_best(page, units, order)
        return Selection(fitted, units, order, copies, note)
    if not page.is_by_query and config.may_shorten_hits:
        return _with_beginnings(page, Selection(found, units, order, copies), needs, tokens_per_cost)
    return Selection(found, units, order, copies)


def may_not_fit(page: Page) -> bool:
    """Return False if the whole text certainly fits: a token has no more characters than that on average."""
    return len(page.text.text) > MIN_CHARACTERS * page.max_tokens


def _with_beginnings(page: Page, selection: Selection, needs: Ints | None, tokens_per_cost: float) -> Selection:
    """Return `selection` with the next best unit that fits whole or of which some sentences fit, and so on.

    `needs` has the head of a table that a unit needs, if any does.
    """
    left = selection.offered[~selection.fitted.mask[selection.offered]][:MAX_TRIED]
    for number in left.tolist():
        fitted, units = selection.fitted, selection.units
        start, end = int(units.starts[number]), int(units.ends[number])
        room = (1 - fitted.load.share) * page.max_tokens / tokens_per_cost  # in units of cost
        room_characters = room * (end - start) / max(float(units.costs[number]), 1.0)
        if (
            end - start <= ALMOST * room_characters
            and (whole := _with_part(page, selection, needs, (number, end))) is not None
        ):
            selection = whole
            continue
        ends = [place for place in sentence_ends(page.text.text, start, end) if place <= start + room_characters]
        parts = (_with_part(page, selection, needs, (number, place)) for place in reversed(ends[-TRIES:]))
        if (part := next(filter(None, parts), None)) is not None:
            return part
    return selection


def _with_part(page: Page, selection: Selection, needs: Ints | None, part: tuple[int, int]) -> Selection | None:
    """Return `selection` with a `part`, the number of a unit and the offset up to which it is read, if that fits."""
    fitted, units, order, copies, _ = selection
    (number, offset), mask = part, fitted.mask.copy()
    mask[number] = True
    if needs is not None:
        mask[needs[number]] = True
    if offset < units.ends[number]:
        units, mask = divide(units, number, offset), np.insert(mask, number + 1, False)
        order = np.where(order > number, order + 1, order)
    rendered = write(page, lay_out(page, units, mask))
    load = page.weigh(rendered.text)
    return Selection(Fitted(mask, rendered, load), units, order, copies) if load.share <= 1 else None


def _header_costs(page: Page) -> Floats:
    """Return about how many tokens a header of each document has, for each part."""
    found = []
    for number, first in enumerate(page.pool.documents):
        found.append(LABEL_TOKENS + len(page.headers.around(number, first)) / CHARACTERS_PER_TOKEN)
    return np.repeat(np.array(found, float), PARTS)


def _tokens_per_cost(page: Page, units: Units, order: Ints) -> float:
    """Return the tokens by cost in the beginnings of the best units."""
    best, text = order[:SAMPLES], page.text.text
    starts, ends = units.starts[best], units.ends[best]
    spans = zip(starts.tolist(), ends.tolist(), strict=True)
    sample = "\n".join([text[start : min(end, start + SAMPLE_CHARS)].rstrip() for start, end in spans])
    shares = np.minimum(SAMPLE_CHARS / np.maximum(ends - starts, 1), 1.0)
    return max(page.count(sample), 1) / max(float(units.costs[best] @ shares), 1.0)
