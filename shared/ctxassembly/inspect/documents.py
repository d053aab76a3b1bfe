"""Names of documents and chunks in the views: one name, one letter and one look each, wherever they appear."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from ctxassembly.data.assembled import Assembled
from ctxassembly.data.candidates import Candidate
from ctxassembly.data.chunks import Chunk
from ctxassembly.data.mended import mended_chunk
from ctxassembly.data.trace import Decision
from ctxassembly.inspect.limits import ID_CHARS, VALUE_CHARS
from ctxassembly.inspect.look import document_class, letter
from ctxassembly.inspect.markup import Html, joined, shortened, tag
from ctxassembly.wording.particulars import Particulars


class Named(NamedTuple):
    """A document as the views show it."""

    letter: str
    name: str
    """Its file, title or address; its id if it has none of these."""
    look: str
    """The CSS classes with its colour and border."""

    @property
    def key(self) -> Html:
        """Its letter in its colours."""
        return tag("span", self.letter, class_=f"cxa-key {self.look}")


class Names:
    """The documents of one context, those that stand in it first, and links to the rows of its decisions."""

    def __init__(self, context: Assembled, anchor: str) -> None:
        self.anchor = anchor
        self._particulars = Particulars(context.keys)
        sources: dict[str, str] = {}
        for document_id, chunk in _chunks(context):
            if chunk is not None and not sources.get(document_id):
                sources[document_id] = self._particulars.source(chunk)
            sources.setdefault(document_id, "")
        self._documents = {
            document_id: Named(letter(place), shortened(source or document_id, ID_CHARS), document_class(place))
            for place, (document_id, source) in enumerate(sources.items())
        }
        self._rows: dict[tuple[str, int, int], int] = {}

    @property
    def ids(self) -> tuple[str, ...]:
        """The ids of all documents, in the order of their letters."""
        return tuple(self._documents)

    def document(self, document_id: str) -> Named:
        """The document with that id."""
        return self._documents[document_id]

    def lead_to(self, shown: Iterable[Decision]) -> None:
        """Let `row` link to the rows of `shown`, which are the first decisions of the trace."""
        for row, decision in enumerate(shown):
            self._rows.setdefault((decision.chunk_id, decision.rank, decision.distance), row)

    def row(self, chunk_id: str, rank: int, distance: int) -> str | None:
        """The address of the row for a chunk, None if it isn't shown."""
        row = self._rows.get((chunk_id, rank, distance))
        return None if row is None else f"#{self.anchor}-r{row}"

    def chip(self, candidate: Candidate) -> Html:
        """The mark at the beginning of a chunk: a filled dot for a hit, an empty one for a neighbour, and the rank."""
        rank, steps, chunk = candidate.rank + 1, candidate.distance, candidate.chunk
        mark = f"○ {rank}±{steps}" if steps else f"● {rank}"
        kind = f"neighbour, {steps} from hit {rank}" if steps else f"hit {rank}"
        score = "" if candidate.score is None else f", score {candidate.score:.3g}"
        said = f"{kind}: chunk {shortened(chunk.id, ID_CHARS)}{score}"
        row = self.row(chunk.id, candidate.rank, steps)
        return tag(
            "a" if row else "span",
            mark,
            class_="cxa-chip",
            dir="ltr",
            href=row,
            title=said,
            role=None if row else "note",
        )

    def badges(self, chunk: Chunk) -> Html:
        """The retriever's ways to `chunk`, if its metadata say so."""
        return joined(*self._badges(chunk))

    def _badges(self, chunk: Chunk) -> Iterator[Html]:
        for said, name, look in (
            ("found by", "search_method", "method"),
            ("matches", "keywords", "keywords"),
            ("expanded to", "expansion", "expansion"),
        ):
            if value := self._particulars.said(chunk, name):
                yield tag("span", f"{said} {shortened(value, VALUE_CHARS)}", class_=f"cxa-badge cxa-{look}")


def _chunks(context: Assembled) -> Iterator[tuple[str, Chunk | None]]:
    """Each document id with a chunk, in reading order; None if the context doesn't hold the chunk."""
    for passage in context.passages:
        for piece in passage.pieces:
            yield passage.document_id, piece.candidate.chunk
    for citation in context.citations:
        yield citation.document_id, None
    fragments = {hit.rank: hit.chunk for hit in context.hits}
    for decision in context.trace.decisions:
        chunk = None if decision.distance else fragments.get(decision.rank)
        yield decision.document_id, None if chunk is None else mended_chunk(chunk, decision.rank)[0]
