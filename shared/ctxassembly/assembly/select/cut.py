"""Where not even one unit fits, or the next best one doesn't: its beginning, cut at a sentence, a word, a character."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from ctxassembly.assembly.render.labels import Label, Layout
from ctxassembly.assembly.render.layout import lay_out
from ctxassembly.assembly.render.page import MAX_TOKEN_CHARS, Load, Page
from ctxassembly.assembly.render.write import CUT_MARK, Rendered, write
from ctxassembly.assembly.select.fit import Fitted, Selection
from ctxassembly.assembly.units import Units, divide
from ctxassembly.data.candidates import HeaderDetail
from ctxassembly.data.chunks import Span
from ctxassembly.safe_repr import safe_repr
from ctxassembly.text.lines import entries, find_records, read_lines
from ctxassembly.text.scan import scan
from ctxassembly.text.sentences import PAD

if TYPE_CHECKING:
    from ctxassembly.assembly.units import Bools, Ints

T = TypeVar("T")
HEADER_SHARE = 0.25
"""The largest share of the limit that a header takes above a text that has to be cut."""


def cut_best(page: Page, units: Units, order: Ints, copies: Mapping[int, int]) -> Selection:
    """Return the best unit below less of a header, or as much as fits of it, and a note on that.

    A unit that is cut is two in the selection. The summary of the page goes first, then page and path, then the label,
    while the header takes more than a quarter of the limit; then the text is cut at a sentence, else at a word, else at
    a character. If not one character of the best unit fits, the next one is tried. Above a chunk that begins inside a
    table is the head of it.
    """
    mask: Bools = np.zeros(len(units.starts), bool)
    heads = order if units.needs is None or units.leads is units.starts else units.needs[order]
    wanted = zip(order.tolist(), heads.tolist(), strict=True)
    tries = ((number, first) for number, head in wanted for first in dict.fromkeys((head, number)))
    for number, first in tries:
        mask[:] = False
        mask[[first, number]] = True
        layout = lay_out(page, units, mask)
        if len(layout.labels) == 1 and (found := _cut(page, layout)) is not None:
            rendered, load, detail, end = found
            note = _note(page, layout, detail, "" if end is None else ", its text cut")
            if end is not None:
                units, order, copies = cut_at(units, order, copies, number, (layout.labels[0].runs[-1][0], end))
                mask = np.insert(mask, number + 1, False)
            return Selection(Fitted(mask, rendered, load), units, order, copies, note)
    mask[:] = False
    empty = Rendered.of(Layout([], page.text.owns))
    load = page.weigh("")
    excess = f"the encoding counts {load.tokens:,} tokens of an empty one; max_tokens={page.max_tokens:,}"
    note = f"budget: no text fits, {excess}" if load.share > 1 else ""
    return Selection(Fitted(mask, empty, load), units, order, copies, note)


def _cut(page: Page, layout: Layout) -> tuple[Rendered, Load, HeaderDetail, int | None] | None:
    """Return as much as fits of the only label of `layout`: its text, size, header, and the end of a text that is cut.

    Its last run is cut. None if nothing of it fits.
    """
    [label], whole = layout.labels, page.text.text
    start, end = label.runs[-1]
    end = min(end, start + MAX_TOKEN_CHARS * page.max_tokens)
    bare = start + len(whole[start:end]) - len(whole[start:end].lstrip())
    for detail in HeaderDetail:
        rendered = write(page, layout, detail)
        if (load := page.weigh(rendered.text)).share <= 1:
            return rendered, load, detail, None

        def fits(offset: int, detail: HeaderDetail = detail) -> tuple[Rendered, Load, HeaderDetail, int | None] | None:
            offset = start + len(whole[start:offset].rstrip())
            runs = (*label.runs[:-1], (start, offset))
            cut = layout._replace(labels=[label._replace(runs=runs)], cuts=frozenset([offset]))
            rendered = write(page, cut, detail)
            load = page.weigh(rendered.text)
            return (rendered, load, detail, offset) if load.share <= 1 else None

        if detail is HeaderDetail.FULL or (detail is not HeaderDetail.NONE and not _is_small(page, label, detail)):
            continue
        if found := _last_fitting(sentence_ends(whole, bare, end), fits) or _cut_anywhere(whole, (bare, end), fits):
            return found
    return None


def _is_small(page: Page, label: Label, detail: HeaderDetail) -> bool:
    """Return True if a header of that `detail` is a small part of the limit: then it stays and the text is cut."""
    before, after = page.headers.lines(page.numbers.of([label])[0], label, detail)
    return page.weigh(before + CUT_MARK + after).share <= HEADER_SHARE


def cut_at(
    units: Units, order: Ints, copies: Mapping[int, int], number: int, run: Span
) -> tuple[Units, Ints, Mapping[int, int]]:
    """Return `units` with the one at `number` divided at the end of `run`, its part that is read.

    The second and third are `order` and `copies` with the numbers that units have then.
    """
    if units.leads is not units.starts:  # a chunk that is read without the one before it begins with its overlap
        starts = units.starts.copy()
        starts[number] = run[0]
        units = units._replace(starts=starts)
    order = np.where(order > number, order + 1, order)
    shifted = {copy + (copy > number): other + (other > number) for copy, other in copies.items()}
    return divide(units, number, run[1]), order, shifted


_MISSING = {
    HeaderDetail.FULL: "all of its header",
    HeaderDetail.NO_SUMMARY: "no page summary",
    HeaderDetail.LABEL: "no summary, source and page",
    HeaderDetail.NONE: "no header",
}


def _note(page: Page, layout: Layout, detail: HeaderDetail, cut: str) -> str:
    """Return the note on the only chunk included, with `detail` of its header."""
    name = safe_repr(page.pool.candidates[layout.labels[0].best].chunk.id, 80)
    return f"budget: no item fits whole; {name} is included alone, with {_MISSING[detail]}{cut}"


def sentence_ends(whole: str, start: int, end: int) -> list[int]:
    """Return where sentences and entries end inside `whole[start:end]`, ascending, but for those before any text."""
    known = scan(PAD + whole[start:end] + PAD)
    starts = known.sentences
    lines = read_lines(starts, np.append(starts[1:], len(known.kinds) - len(PAD)), known.kinds, known.plain)
    numbers, continues = np.arange(len(starts)), np.ones(len(starts), bool)
    entry = entries(lines, continues, find_records(lines, continues, known.plain))
    found = starts[1:][entry[1:] == numbers[1:]] - len(PAD) + start
    return [place for place in found.tolist() if start < place < end and not whole[start:place].isspace()]


def _cut_anywhere(whole: str, span: Span, fits: Callable[[int], T | None]) -> T | None:
    """Return what `fits` for the beginning of `span` up to the last word possible, or else character."""
    start, end = span
    places = range(start + 1, end + 1)
    found, low = None, start
    at = bisect_left(places, True, key=lambda place: fits(place) is None)
    for low in range(start + at, start, -1):  # counts of prefixes don't always rise
        if (found := fits(low)) is not None:
            break
    if found is None or low == end:
        return found
    blanks = [place for place in range(start + 1, low + 1) if whole[place].isspace()]
    return (fits(blanks[-1]) if blanks else None) or found


def _last_fitting(places: list[int], fits: Callable[[int], T | None]) -> T | None:
    """Return what `fits` for the last of `places` for which it does; ascending places mostly cost more and more."""
    at = bisect_right(places, False, key=lambda place: fits(place) is None)
    return fits(places[at - 1]) if at else None
