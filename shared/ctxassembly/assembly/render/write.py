"""Labels -> the text that the model reads, in pieces of which each knows where it comes from.

Text of a document that could pass for ours is made harmless here (`label_guards.py`); all else of it is verbatim.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple

from ctxassembly.assembly.render.labels import Layout
from ctxassembly.assembly.render.leads import lead_above
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
Piece = tuple[str, int]
"""A text, and where it is in the joined text of the chunks; `OURS` if it isn't."""


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

    def add_block(self, block: Iterable[Piece], number: int = 0) -> None:
        """Add a block with the label `number`; of a text of which all was taken out it has a gap marker."""
        written = [piece for piece in block if piece[0]] or [(GAP, OURS)]
        if self.ends:
            written.insert(0, (BLOCK_SEPARATOR, OURS))
        for text, place in written:
            self.pieces.append(text)
            self.places.append(place)
        self.ends.append(len(self.pieces))
        self.numbers.append(number)


def write(page: Page, layout: Layout, detail: HeaderDetail = HeaderDetail.FULL) -> Rendered:
    """Return the text of the labels of `layout`, and the supplement after or before it."""
    rendered, supplement = Rendered.of(layout), page.supplement.text
    if supplement and page.supplement.is_first:
        rendered.add_block([(supplement, OURS)])
    whole, documents = page.text.text, set[int]()
    replaced = page.guards.replaced(whole, [run for label in layout.labels for run in label.runs])
    for number, label in zip(page.numbers.of(layout.labels), layout.labels, strict=True):
        said = None if label.document in documents else whole[label.runs[0][0] : label.runs[0][1]]
        header, footer = page.headers.lines(number, label, detail, said)
        documents.add(label.document)
        block = [(header, OURS)] if header else list[Piece]()
        for run in label.runs:
            if run is not label.runs[0]:
                block.append((RUN_SEPARATOR, OURS))
            if page.leads and detail <= HeaderDetail.NO_SUMMARY:
                said = "".join([piece for piece, _ in block])
                block.append((lead_above(page.leads, page.text, layout.owns, run[0], said), OURS))
            changes = replaced[run]
            for piece, start in with_changes(whole, run, changes) if changes else ((whole[run[0] : run[1]], run[0]),):
                # Callers strip the ends of a context.
                bare = piece if rendered.pieces or block else piece.lstrip()
                if bare:
                    block.append((bare, start if start == OURS else start + len(piece) - len(bare)))
        if label.runs[-1][1] in layout.cuts and detail is not HeaderDetail.NONE:
            block.append((CUT_MARK, OURS))
        rendered.add_block([*block, (footer, OURS)], number)
    if supplement and not page.supplement.is_first:
        rendered.add_block([(supplement, OURS)])
    return rendered


def with_changes(whole: str, run: Span, changes: Replacements) -> Iterator[Piece]:
    """Yield the text of `run` with what is replaced in it, each verbatim stretch with its place."""
    at, end = run
    for offset, (stop, replacement) in changes.items():
        yield whole[at : run[0] + offset], at
        yield replacement, OURS
        at = run[0] + stop
    yield whole[at:end], at
