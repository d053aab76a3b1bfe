"""The chosen units -> labels in the order in which they are read."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ctxassembly.assembly.join import Text
from ctxassembly.assembly.render.labels import Label, Layout
from ctxassembly.assembly.render.order import SortKeys, arrange
from ctxassembly.assembly.render.page import Page
from ctxassembly.assembly.units import PARTS, Units
from ctxassembly.config.assembly import AssemblyConfig
from ctxassembly.data.chunks import Chunk, Span

if TYPE_CHECKING:
    from ctxassembly.assembly.units import Bools, Ints


def lay_out(page: Page, units: Units, mask: Bools) -> Layout:
    """Return the labels of the units in `mask`."""
    text, config = page.text, page.config
    is_empty = units.ends <= units.starts
    if is_empty.any():  # a chunk without text of its own ends no run
        mask = mask | (is_empty & mask[np.maximum.accumulate(np.where(is_empty, 0, np.arange(len(mask))))])
    begins, owns = _begins(text, units, mask)
    first, last = _runs(units, mask, owns, by_chunk=config.cite == "chunk")
    starts, ends = begins[first], units.ends[last]
    values = np.maximum.reduceat(np.where(mask, units.values, -np.inf), first)
    stretches = np.searchsorted(text.breaks, starts, "right")
    order = np.lexsort((starts, units.parts[first]))
    needed = first if units.needs is None else np.minimum(units.needs[first], first)
    columns = (units.parts[first], units.documents[first], stretches, starts, ends, values, units.starts[needed])
    labels: list[list[_Run]] = []
    own: list[_Run] = []
    for part, document, stretch, *edges, value, head in zip(*[row[order].tolist() for row in columns], strict=True):
        if (span := _trimmed(text, *edges)) is None:
            continue
        first_chunk, last_chunk = bisect_right(owns, span[0]) - 1, bisect_left(owns, span[1]) - 1
        run = _Run(part, document, stretch, span, value, head, first_chunk, last_chunk)
        if not own or not _is_same_label(own[-1], run, config):
            own = _label_with_head(labels, run) if head < span[0] and config.cite == "passage" else []
            if not own:
                labels.append(own)
        own.append(run)
    return Layout(_in_order(page, [_label(page, owns, runs) for runs in labels]), owns)


def _begins(text: Text, units: Units, mask: Bools) -> tuple[Ints, list[int]]:
    """Return where each unit begins, and from where on each chunk owns the text.

    A chunk of which the one before isn't read begins with its overlap, unless an earlier one has that, and owns it.
    """
    if units.leads is units.starts:
        return units.starts, text.owns
    read_up_to = np.maximum.accumulate(np.where(mask, units.ends, 0))
    is_lead = mask & units.continues & ~np.append(False, mask[:-1])
    begins = np.where(is_lead, np.maximum(units.leads, np.append(0, read_up_to[:-1])), units.starts)
    owns, firsts = np.array(text.owns), np.minimum(units.firsts, len(begins) - 1)
    owns = np.where(units.starts[firsts] == owns, begins[firsts], owns)
    return begins, np.minimum.accumulate(owns[::-1])[::-1].tolist()


def _runs(units: Units, mask: Bools, owns: list[int], *, by_chunk: bool) -> tuple[Ints, Ints]:
    """Return the first and the last unit of each run of units in `mask` that are read together."""
    goes_on = mask[:-1] & units.continues[1:] & (units.parts[1:] == units.parts[:-1])
    if by_chunk:
        owner = np.searchsorted(owns, units.starts, "right")
        goes_on &= owner[1:] == owner[:-1]
    begins = mask.copy()
    begins[1:] &= ~goes_on
    first, chosen = np.flatnonzero(begins), np.flatnonzero(mask)
    last = np.append(chosen[np.searchsorted(chosen, first[1:]) - 1], chosen[-1:])
    return first, last


class _Run(NamedTuple):
    """Text that is read without a gap."""

    part: int
    document: int
    stretch: int
    """The number of the text that continues itself, in the order of the joined text."""
    span: Span
    value: float
    head: int
    """Where the text begins that it needs before it; not before its own start if it needs none."""
    first_chunk: int
    last_chunk: int
    """The chunks that own its beginning and its end."""


def _trimmed(text: Text, start: int, end: int) -> Span | None:
    """Return the span without white space at its ends, but for the indentation of a line; None if nothing is left."""
    whole = text.text
    bare = whole[start:end].rstrip()
    if not bare:
        return None
    blank = len(bare) - len(bare.lstrip())
    if blank:
        line = blank - len(bare[:blank].splitlines()[-1])
        blank = line if line or whole[start - 1].splitlines() == [""] else blank
    return start + blank, start + len(bare)


def _label(page: Page, owns: list[int], runs: Sequence[_Run]) -> Label:
    """Return the label of `runs`."""
    parts, documents, _, spans, values, _, firsts, lasts = zip(*runs, strict=True)
    within = [range(first, last + 1) for first, last in zip(firsts, lasts, strict=True)]
    chunks = dict.fromkeys([number for some in within for number in some if owns[number] < page.text.ends[number]])
    best = min(chunks, key=page.ranks.__getitem__)
    return Label(parts[0], documents[0], best, tuple(chunks), spans, max(values))


def _is_same_label(before: _Run, run: _Run, config: AssemblyConfig) -> bool:
    """Return True if `run` is read under the label of the one `before` it."""
    if (before.part, before.document) != (run.part, run.document):
        return False
    if config.cite == "document":
        return True
    if config.cite == "chunk":  # the one that a sentence begins in, though it may end in the next
        return before.first_chunk == run.first_chunk
    # Between two runs of a passage no whole chunk is left out.
    return before.stretch == run.stretch and run.first_chunk - before.last_chunk <= 1


def _label_with_head(labels: list[list[_Run]], run: _Run) -> list[_Run]:
    """Return the runs of the label that has what `run` needs before it; empty if none has it."""
    for own in reversed(labels):
        if own[0].part == run.part and any(one.span[0] <= run.head < one.span[1] for one in own):
            return own
    return []


def _in_order(page: Page, labels: list[Label]) -> list[Label]:
    """Return `labels` in the order of the config; "auto" puts the best units first where a query gives them values."""
    pool, config, by_value = page.pool, page.config, page.is_by_query
    if not config.enabled:
        return labels
    order, is_whole = config.order, config.cite == "document"
    ranks: dict[int, tuple[float, ...]] = {}
    for label in labels:
        # Text of one document stays together: its best rank, or its best value, counts for all of it.
        rank = (-label.value,) if by_value and order == "auto" else page.ranks[label.best]
        ranks[label.document] = min(ranks.get(label.document, rank), rank)
    named = _sources_and_pages(page, labels) if order == "document_order" else {}

    keys = list[SortKeys]()
    for label in labels:
        if order == "auto" and by_value:
            is_together = is_whole or label.part == PARTS - 1
            relevance = (label.part, *(ranks[label.document] if is_together else (-label.value,)))
        else:
            is_together = order in ("auto", "documents") or is_whole
            relevance = ranks[label.document] if is_together else page.ranks[label.best]
        document_id = pool.candidates[label.chunks[0]].chunk.document_id
        keys.append(SortKeys(relevance, document_id, label.runs[0][0], *named.get(label.document, ())))
    return [labels[place] for place in arrange(keys, "documents" if order == "auto" else order)]


def _sources_and_pages(page: Page, labels: list[Label]) -> dict[int, tuple[str, int | str | None]]:
    """Return the source and the first page of each document."""
    chunks: dict[int, list[Chunk]] = {}
    for label in labels:
        chunks.setdefault(label.document, []).extend(page.pool.candidates[at].chunk for at in label.chunks)
    return {
        document: (page.reader.source(own[0]), next(iter(page.reader.pages(own)), None))
        for document, own in chunks.items()
    }
