"""The chosen units -> labels in the order in which they are read."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ctxassembly.assembly.join import Text
from ctxassembly.assembly.pool import Pool
from ctxassembly.assembly.rendering.order import SortKeys, arrange
from ctxassembly.assembly.select.parts import PARTS
from ctxassembly.assembly.units import Units
from ctxassembly.config.assembly import AssemblyConfig
from ctxassembly.data.chunks import Span
from ctxassembly.wording.metadata_labels import MetadataReader

if TYPE_CHECKING:
    from ctxassembly.assembly.units import Bools, Ints


class Label(NamedTuple):
    """What is read under one label: runs of one document in reading order."""

    part: int
    document: int
    best: int
    """The number in the pool of its best chunk: hits before neighbors, then by rank."""
    chunks: tuple[int, ...]
    """All chunks that its runs are in, in reading order."""
    runs: tuple[Span, ...]
    """In the joined text."""
    value: float
    """Of its best unit."""


class Layout(NamedTuple):
    """The labels of a context, in order."""

    labels: list[Label]
    owns: list[int]
    """From where on the text is owned by each chunk: a chunk that isn't read leaves its overlap to the next one."""


def lay_out(
    text: Text,
    pool: Pool,
    units: Units,
    mask: Bools,
    config: AssemblyConfig,
    *,
    by_value: bool,
) -> Layout:
    """Return the labels of the units in `mask`. With `by_value`, the order "auto" goes by the values of units."""
    begins, owns = _begins(text, units, mask)
    first, last = _runs(units, mask, owns, by_chunk=config.cite == "chunk")
    starts, ends = begins[first], units.ends[last]
    values = np.maximum.reduceat(np.where(mask, units.values, -np.inf), first)
    stretches = np.searchsorted(text.breaks, starts, "right")
    order = np.lexsort((starts, units.parts[first]))
    columns = (units.parts[first], units.documents[first], stretches, starts, ends, values)
    labels: list[Label] = []
    before: tuple[int, int, int, int] | None = None
    whole = text.text
    for part, document, stretch, start, stop, value in zip(
        *(column[order].tolist() for column in columns), strict=True
    ):
        if (whole[start:stop]).isspace():
            continue
        start, stop = _trimmed(whole, start, stop)
        runs = ((start, stop),)
        begin = max(bisect_right(owns, start) - 1, 0)
        last_chunk = max(bisect_left(owns, stop) - 1, 0)
        chunks = tuple(
            number for number in range(begin, last_chunk + 1) if max(start, owns[number]) < min(stop, text.ends[number])
        )
        joins = before is not None and before[:2] == (part, document)
        if joins and config.cite != "document":
            joins = config.cite == "passage" and before is not None and before[2] == stretch and begin <= before[3] + 1
        if joins and config.cite == "chunk":
            joins = before is not None and before[3] == begin
        if joins:
            known = labels.pop()
            chunks, runs, value = (
                tuple(dict.fromkeys((*known.chunks, *chunks))),
                (*known.runs, *runs),
                max(known.value, value),
            )
        labels.append(Label(part, document, 0, chunks, runs, value))
        before = part, document, stretch, last_chunk
    labels = [label._replace(best=_best(pool, label)) for label in labels]
    return Layout(_in_order(pool, labels, config, by_value=by_value), owns)


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


def _trimmed(whole: str, start: int, end: int) -> Span:
    """Return a run without white space at its ends; the indentation of a line that begins there stays."""
    piece = whole[start:end]
    bare = piece.rstrip()
    blank = len(bare) - len(bare.lstrip())
    if blank:
        line = bare.rfind("\n", 0, blank) + 1
        blank = line if line or whole[start - 1] == "\n" else blank
    return start + blank, start + len(bare)


def _best(pool: Pool, label: Label) -> int:
    """Return the number of the best chunk of `label`."""

    def key(number: int) -> tuple[bool, int, int]:
        candidate = pool.candidates[number]
        return candidate.distance > 0, candidate.rank, candidate.distance

    return min(label.chunks, key=key)


def _in_order(
    pool: Pool,
    labels: list[Label],
    config: AssemblyConfig,
    *,
    by_value: bool,
) -> list[Label]:
    """Return `labels` in the order of `config`; with `by_value`, "auto" puts the best units first."""
    if not config.enabled:
        return labels
    order, is_whole = config.order, config.cite == "document"
    ranks: dict[int, tuple[float, ...]] = {}
    for label in labels:
        best = pool.candidates[label.best]
        # Text of one document stays together: its best rank, or its best value, counts for all of it.
        rank = (best.rank, best.distance) if not by_value or order != "auto" else (-label.value,)
        ranks[label.document] = min(ranks.get(label.document, rank), rank)
    reader = MetadataReader(config.keys, config.language)
    needs_names = order == "document_order"

    def sort_keys(label: Label) -> SortKeys:
        best = pool.candidates[label.best]
        first = pool.candidates[label.chunks[0]]
        if order == "auto" and by_value:
            is_together = is_whole or label.part == PARTS - 1
            relevance: tuple[float, ...] = (label.part, *(ranks[label.document] if is_together else (-label.value,)))
        elif order in ("auto", "documents") or is_whole:
            relevance = ranks[label.document]
        else:
            relevance = best.rank, best.distance
        document_id = first.chunk.document_id
        if not needs_names:
            return SortKeys(relevance, document_id, label.runs[0][0])
        page = next(iter(reader.pages([pool.candidates[number].chunk for number in label.chunks])), None)
        return SortKeys(relevance, document_id, label.runs[0][0], reader.source(best.chunk), page)

    return arrange(labels, "documents" if order == "auto" else order, sort_keys)
