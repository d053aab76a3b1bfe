"""Where not even one unit fits, or the next best one doesn't: its beginning, cut at a sentence, a word, a character."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from ctxassembly.assembly.render.labels import Layout
from ctxassembly.assembly.render.layout import lay_out
from ctxassembly.assembly.render.page import MAX_TOKEN_CHARS, Page
from ctxassembly.assembly.render.write import Rendered, write
from ctxassembly.assembly.select.fit import Fitted
from ctxassembly.assembly.units import Units
from ctxassembly.data.candidates import GAP, HeaderDetail
from ctxassembly.data.chunks import Span
from ctxassembly.safe_repr import safe_repr
from ctxassembly.text.lines import entries, find_records, read_lines
from ctxassembly.text.scan import PAD, scan

if TYPE_CHECKING:
    from ctxassembly.assembly.units import Ints

T = TypeVar("T")
HEADER_SHARE = 0.25
"""The largest share of the limit that a header takes above a text that has to be cut."""


def cut_best(page: Page, units: Units, order: Ints) -> tuple[Fitted, str]:
    """Return the best unit below less of a header, or as much as fits of it, and a note on that."""
    mask = np.zeros(len(units.starts), bool)
    mask[order[:1]] = True
    layout = lay_out(page, units, mask)
    for detail in (HeaderDetail.FULL, HeaderDetail.NO_SUMMARY, HeaderDetail.LABEL, HeaderDetail.NONE):
        rendered = write(page, layout, detail)
        if (load := page.weigh(rendered.text)).share <= 1:
            return Fitted(mask, rendered, load), _note(page, layout, detail, "")
    [label], whole = layout.labels, page.text.text
    start, end = label.runs[0]
    end = min(end, start + MAX_TOKEN_CHARS * page.max_tokens)

    def write_run(run: Span, detail: HeaderDetail) -> Rendered:
        first, offset = run
        run = first, first + len(whole[first:offset].rstrip())
        mark = f" {GAP}" if detail < HeaderDetail.NONE else ""
        return write(page, layout._replace(labels=[label._replace(runs=(run,))], mark=mark), detail)

    bare = start + len(whole[start:end]) - len(whole[start:end].lstrip())
    for detail in HeaderDetail:
        if (
            detail is not HeaderDetail.NONE
            and page.weigh(write_run((bare, bare + 1), detail).text).share > HEADER_SHARE
        ):
            continue

        def fits(offset: int, detail: HeaderDetail = detail) -> Fitted | None:
            rendered = write_run((start, offset), detail)
            load = page.weigh(rendered.text)
            return Fitted(mask, rendered, load) if load.share <= 1 else None

        if found := _last_fitting(sentence_ends(whole, bare, end), fits) or _cut_anywhere(whole, (bare, end), fits):
            return found, _note(page, layout, detail, ", its text cut")
    empty = Rendered.of(Layout([], layout.owns))
    load = page.weigh("")
    excess = f"the encoding counts {load.tokens:,} tokens of an empty one; max_tokens={page.max_tokens:,}"
    note = f"budget: no text fits, {excess}" if load.share > 1 else ""
    return Fitted(np.zeros(len(mask), bool), empty, load), note


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
