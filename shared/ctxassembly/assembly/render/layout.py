"""The chosen units -> labels in the order in which they are read."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ctxassembly.assembly.join import Text
from ctxassembly.assembly.pool import Pool
from ctxassembly.assembly.render.labels import Label, Layout
from ctxassembly.assembly.render.order import SortKeys, arrange
from ctxassembly.assembly.render.page import Page
from ctxassembly.assembly.units import PARTS, Units
from ctxassembly.config.assembly import AssemblyConfig
from ctxassembly.data.chunks import Chunk

if TYPE_CHECKING:
    from ctxassembly.assembly.units import Bools, Ints


def lay_out(page: Page, units: Units, mask: Bools) -> Layout:
    """Return the labels of the units in `mask`."""
    text, pool, config = page.text, page.pool, page.config
    begins, owns = _begins(text, units, mask)
    first, last = _runs(units, mask, owns, by_chunk=config.cite == "chunk")
    starts, ends = begins[first], units.ends[last]
    values = np.maximum.reduceat(np.where(mask, units.values, -np.inf), first)
    stretches = np.searchsorted(text.breaks, starts, "right")
    order = np.lexsort((starts, units.parts[first]))
    needed = first if units.needs is None else np.minimum(units.needs[first], first)
    columns = (units.parts[first], units.documents[first], stretches, starts, ends, values, units.starts[needed])
    labels: list[Label] = []
    before, place = _Run(-1, -1, -1, 0, 0, 0.0, 0, range(0)), 0
    for row in zip(*(column[order].tolist() for column in columns), strict=True):
        run = _Run._make((*row, ()))
        if text.text[run.start : run.end].isspace():
            continue
        run = _trimmed(text, owns, run)
        label = Label(run.part, run.document, 0, tuple(run.chunks), ((run.start, run.end),), run.value)
        if not _is_same_label(before, run, config):
            place = _label_with_head(labels, run, config)
        if place < len(labels):
            known = labels[place]
            chunks = tuple(dict.fromkeys((*known.chunks, *label.chunks)))
            label = known._replace(chunks=chunks, runs=known.runs + label.runs, value=max(known.value, run.value))
        labels[place : place + 1] = [label]
        before = run
    labels = [label._replace(best=min(label.chunks, key=partial(_rank, pool))) for label in labels]
    return Layout(_in_order(page, labels), owns)


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
    start: int
    end: int
    value: float
    head: int
    """Where the text begins that it needs before it; not before its own start if it needs none."""
    chunks: Sequence[int]
    """The chunks that own any of it."""


def _trimmed(text: Text, owns: list[int], run: _Run) -> _Run:
    """Return `run` with its chunks, and without white space at its ends; the indentation of a line stays."""
    whole = text.text
    piece = whole[run.start : run.end]
    bare = piece.rstrip()
    blank = len(bare) - len(bare.lstrip())
    if blank:
        line = bare.rfind("\n", 0, blank) + 1
        blank = line if line or whole[run.start - 1] == "\n" else blank
    start, end = run.start + blank, run.start + len(bare)
    near = range(max(bisect_right(owns, start) - 1, 0), bisect_left(owns, end))
    chunks = [number for number in near if max(start, owns[number]) < min(end, text.ends[number])]
    return run._replace(start=start, end=end, chunks=chunks)


def _is_same_label(before: _Run, run: _Run, config: AssemblyConfig) -> bool:
    """Return True if `run` is read under the label of the one `before` it."""
    if (before.part, before.document) != (run.part, run.document):
        return False
    if config.cite == "document":
        return True
    # Between two runs of a passage no whole chunk is left out.
    steps = run.chunks[0] - before.chunks[-1] if run.chunks and before.chunks else 0
    return steps == 0 if config.cite == "chunk" else before.stretch == run.stretch and steps <= 1


def _label_with_head(labels: list[Label], run: _Run, config: AssemblyConfig) -> int:
    """Return the place of the label that has what `run` needs before it; the next free place if none has it."""
    for place in range(len(labels) - 1, -1, -1) if run.head < run.start and config.cite == "passage" else ():
        label = labels[place]
        if label.part == run.part and any(start <= run.head < end for start, end in label.runs):
            return place
    return len(labels)


def _in_order(page: Page, labels: list[Label]) -> list[Label]:
    """Return `labels` in the order of the config; "auto" puts the best units first where a query gives them values."""
    pool, config, by_value = page.pool, page.config, page.is_by_query
    if not config.enabled:
        return labels
    order, is_whole = config.order, config.cite == "document"
    ranks: dict[int, tuple[float, ...]] = {}
    for label in labels:
        # Text of one document stays together: its best rank, or its best value, counts for all of it.
        rank = (-label.value,) if by_value and order == "auto" else _rank(pool, label.best)
        ranks[label.document] = min(ranks.get(label.document, rank), rank)
    named = _sources_and_pages(page, labels) if order == "document_order" else {}

    def sort_keys(label: Label) -> SortKeys:
        if order == "auto" and by_value:
            is_together = is_whole or label.part == PARTS - 1
            relevance = (label.part, *(ranks[label.document] if is_together else (-label.value,)))
        else:
            is_together = order in ("auto", "documents") or is_whole
            relevance = ranks[label.document] if is_together else _rank(pool, label.best)
        document_id = pool.candidates[label.chunks[0]].chunk.document_id
        return SortKeys(relevance, document_id, label.runs[0][0], *named.get(label.document, ()))

    return arrange(labels, "documents" if order == "auto" else order, sort_keys)


def _rank(pool: Pool, number: int) -> tuple[float, ...]:
    """Return the rank of the chunk `number`; hits come before neighbors."""
    one = pool.candidates[number]
    return one.distance > 0, one.rank, one.distance


def _sources_and_pages(page: Page, labels: list[Label]) -> dict[int, tuple[str, int | str | None]]:
    """Return the source and the first page of each document."""
    chunks: dict[int, list[Chunk]] = {}
    for label in labels:
        chunks.setdefault(label.document, []).extend(page.pool.candidates[at].chunk for at in label.chunks)
    return {
        document: (page.reader.source(own[0]), next(iter(page.reader.pages(own)), None))
        for document, own in chunks.items()
    }
