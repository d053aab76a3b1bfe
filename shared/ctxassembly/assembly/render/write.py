"""Labels -> the text that the model reads, in pieces of which each knows where it comes from.

Text of a document that could pass for ours is made harmless here (`label_guards.py`); all else of it is verbatim.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from ctxassembly.assembly.render.labels import Layout
from ctxassembly.data.candidates import GAP, HeaderDetail
from ctxassembly.data.chunks import Span
from ctxassembly.wording.label_guards import Replacements

if TYPE_CHECKING:
    from ctxassembly.assembly.render.page import Page

BLOCK_SEPARATOR = "\n\n"
RUN_SEPARATOR = f"\n{GAP}\n"
CUT_MARK = f" {GAP}"
OURS = -1
"""The place of a piece that is in no chunk."""


class Rendered(NamedTuple):
    """A context in pieces. Joined they are its text."""

    layout: Layout
    pieces: list[str]
    places: list[int]
    """Where each piece is in the joined text of the chunks; `OURS` if it isn't."""
    ends: list[int]
    """The number of pieces up to the end of each block; the separator after it is the first piece of the next."""
    numbers: list[int]
    """The number of each block's label; 0 for a supplement, which has none."""

    @classmethod
    def of(cls, layout: Layout) -> Rendered:
        """Return the beginning of the text of `layout`."""
        return cls(layout, [], [], [], [])

    @property
    def text(self) -> str:
        """The text of the context."""
        return "".join(self.pieces)

    def add(self, text: str, place: int = OURS) -> None:
        """Add a piece, with the separator before it if it begins a block."""
        if not text:
            return
        if self.ends and self.ends[-1] == len(self.pieces):
            self.pieces.append(BLOCK_SEPARATOR)
            self.places.append(OURS)
        self.pieces.append(text)
        self.places.append(place)

    def end_block(self, number: int = 0) -> None:
        """End the block of the label `number`; of a text of which all was taken out it has a gap marker."""
        if len(self.pieces) == (self.ends[-1] if self.ends else 0):
            self.add(GAP)
        self.ends.append(len(self.pieces))
        self.numbers.append(number)


def write(page: Page, layout: Layout, detail: HeaderDetail = HeaderDetail.FULL) -> Rendered:
    """Return the text of the labels of `layout`, and the supplement after or before it."""
    rendered, supplement = Rendered.of(layout), page.supplement.text
    if supplement and page.supplement.is_first:
        rendered.add(supplement)
        rendered.end_block()
    whole, documents = page.text.text, set[int]()
    replaced = page.guards.replaced(whole, [run for label in layout.labels for run in label.runs])
    for number, label in zip(page.numbers.of(layout.labels), layout.labels, strict=True):
        said = None if label.document in documents else whole[label.runs[0][0] : label.runs[0][1]]
        header, footer = page.headers.lines(number, label, detail, said)
        documents.add(label.document)
        rendered.add(header)
        for place, run in enumerate(label.runs):
            rendered.add(RUN_SEPARATOR if place else "")
            if changes := replaced[run]:
                for piece, start in with_changes(whole, run, changes):
                    bare = piece if rendered.pieces else piece.lstrip()
                    rendered.add(bare, start if start == OURS else start + len(piece) - len(bare))
            else:
                # Callers strip the ends of a context.
                start = run[0] if rendered.pieces else run[1] - len(whole[run[0] : run[1]].lstrip())
                rendered.add(whole[start : run[1]], start)
        if label.runs[-1][1] in layout.cuts and detail is not HeaderDetail.NONE:
            rendered.add(CUT_MARK)
        rendered.add(footer)
        rendered.end_block(number)
    if supplement and not page.supplement.is_first:
        rendered.add(supplement)
        rendered.end_block()
    return rendered


def with_changes(whole: str, run: Span, changes: Replacements) -> Iterator[tuple[str, int]]:
    """Yield the text of `run` with what is replaced in it, each verbatim stretch with its place."""
    at, end = run
    for offset, (stop, replacement) in changes.items():
        yield whole[at : run[0] + offset], at
        yield replacement, OURS
        at = run[0] + stop
    yield whole[at:end], at
