"""Labels -> the text that the model reads, in pieces of which each knows where it comes from.

Text of a document that could pass for ours is made harmless here (`wording/label_guards.py`); all else of it is verbatim.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ctxassembly.assembly.join import Text
from ctxassembly.assembly.render.guards import Guards, Replacements
from ctxassembly.assembly.render.headers import Headers
from ctxassembly.assembly.render.layout import Layout
from ctxassembly.data.candidates import GAP, HeaderDetail, RenderedSupplement
from ctxassembly.data.chunks import Span

BLOCK_SEPARATOR = "\n\n"
RUN_SEPARATOR = f"\n{GAP}\n"
OURS = -1
"""The place of a piece that is in no chunk."""


class Rendered(NamedTuple):
    """A context in pieces. Joined they are its text."""

    pieces: list[str]
    places: list[int]
    """Where each piece is in the joined text of the chunks; `OURS` if it isn't."""
    ends: list[int]
    """The number of pieces up to the end of each block, the separator after it not included."""
    layout: Layout

    @property
    def text(self) -> str:
        """The text of the context."""
        return "".join(self.pieces)


def write(
    text: Text,
    layout: Layout,
    headers: Headers,
    guards: Guards,
    numbers: Sequence[int],
    supplement: RenderedSupplement,
    detail: HeaderDetail = HeaderDetail.FULL,
) -> Rendered:
    """Return the text of the labels of `layout`, which have these `numbers`, and the `supplement` after or before it."""
    whole = text.text
    replaced = guards.replaced(whole, [run for label in layout.labels for run in label.runs])
    pieces, places, ends = list[str](), list[int](), list[int]()
    documents: set[int] = set()
    supplement_text = "".join([part.text for part in supplement.parts])
    if supplement_text and supplement.is_first:
        pieces.append(supplement_text)
        places.append(OURS)
        ends.append(1)
    for number, label in zip(numbers, layout.labels, strict=True):
        if pieces:
            pieces.append(BLOCK_SEPARATOR)
            places.append(OURS)
        header, footer = headers.lines(number, label, detail, is_first=label.document not in documents)
        documents.add(label.document)
        if header:
            pieces.append(header)
            places.append(OURS)
        for place, (start, end) in enumerate(label.runs):
            changes = replaced.get((start, end))
            if not pieces and not changes:  # callers strip the ends of a context
                start += len(whole[start:end]) - len(whole[start:end].lstrip())
            if place:
                pieces.append(RUN_SEPARATOR)
                places.append(OURS)
            if changes:
                _add_replaced(pieces, places, whole, (start, end), changes)
            else:
                pieces.append(whole[start:end])
                places.append(start)
        if footer:
            pieces.append(footer)
            places.append(OURS)
        ends.append(len(pieces))
    if supplement_text and not supplement.is_first:
        pieces += [BLOCK_SEPARATOR, supplement_text] if pieces else [supplement_text]
        places += [OURS] * (len(pieces) - len(places))
        ends.append(len(pieces))
    return Rendered(pieces, places, ends, layout)


def _add_replaced(pieces: list[str], places: list[int], whole: str, run: Span, replaced: Replacements) -> None:
    """Add the text of `run` with what is replaced in it, each verbatim stretch as a piece of its own."""
    start, end = run
    at = start
    for offset, (stop, replacement) in replaced.items():
        if start + offset > at:
            pieces.append(whole[at : start + offset])
            places.append(at)
        if replacement:
            pieces.append(replacement)
            places.append(OURS)
        at = start + stop
    if at < end:
        pieces.append(whole[at:end])
        places.append(at)
