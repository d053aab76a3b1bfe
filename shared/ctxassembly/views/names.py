"""Names of documents and chunks in the views: one name, one letter and one look each, wherever they appear."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from ctxassembly.data.candidates import Candidate
from ctxassembly.data.chunks import Chunk
from ctxassembly.data.citations import Assembled
from ctxassembly.data.sanitize import mended_chunk
from ctxassembly.data.trace import Decision
from ctxassembly.views.evidence import Mark, Marks, evident
from ctxassembly.views.html import Html, joined, shortened, tag
from ctxassembly.views.limits import ID_CHARS, VALUE_CHARS
from ctxassembly.views.links import Links, lit
from ctxassembly.views.style import document_class, letter
from ctxassembly.wording.metadata_labels import Particulars


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


def named(sources: Mapping[str, str]) -> dict[str, Named]:
    """The documents by id, lettered in the order of `sources`, which has their files, titles or addresses."""
    return {
        document_id: Named(letter(place), shortened(source, ID_CHARS), document_class(place))
        for place, (document_id, source) in enumerate(sources.items())
    }


class Names:
    """The documents of one context, those that stand in it first, and links to the rows of its decisions."""

    def __init__(self, context: Assembled, anchor: str, marks: Marks | None = None) -> None:
        self.anchor = anchor
        self.marks = marks or Marks()
        self._evidence: set[str] = set()
        self.links = Links(context, anchor)
        self._particulars = Particulars(context.keys)
        sources: dict[str, str] = {}
        for document_id, chunk in _chunks(context):
            if chunk is not None and not sources.get(document_id):
                sources[document_id] = self._particulars.source(chunk)
            sources.setdefault(document_id, "")
        self._documents = named({document_id: source or document_id for document_id, source in sources.items()})
        self._rows: dict[tuple[str, int, int], int] = {}

    @property
    def ids(self) -> tuple[str, ...]:
        """The ids of all documents, in the order of their letters."""
        return tuple(self._documents)

    def document(self, document_id: str) -> Named:
        """The document with that id."""
        return self._documents[document_id]

    def lead_to(self, shown: Iterable[Decision]) -> None:
        """Let `row` link to the rows of `shown`, in their order."""
        for row, decision in enumerate(shown):
            self._rows.setdefault((decision.chunk_id, decision.rank, decision.distance), row)

    def row(self, chunk_id: str, rank: int, distance: int) -> str | None:
        """The address of the row for a chunk, None if it isn't shown."""
        row = self._rows.get((chunk_id, rank, distance))
        return None if row is None else f"#{self.anchor}-r{row}"

    def chip(self, candidate: Candidate) -> Html:
        """The mark at the beginning of a chunk: a filled dot for a hit, an empty one for a neighbour, and the rank.

        It leads to the fragment of a hit, else to the decision on the chunk.
        """
        rank, steps, chunk = candidate.rank + 1, candidate.distance, candidate.chunk
        mark = f"○ {rank}±{steps}" if steps else f"● {rank}"
        kind = f"neighbour, {steps} from hit {rank}" if steps else f"hit {rank}"
        score = "" if candidate.score is None else f", score {candidate.score:.3g}"
        said = f"{kind}: chunk {shortened(chunk.id, ID_CHARS)}{score}"
        ranks = self.links.ranks(candidate)
        if others := [f"{other + 1}" for other in ranks if other != candidate.rank or steps]:
            said += f"; it has the text of hit {', '.join(others)} as well"
        address = next(filter(None, map(self.links.fragment, ranks)), None)
        leads = address is not None
        address = address or self.row(chunk.id, candidate.rank, steps)
        return tag(
            "a" if address else "span",
            mark,
            class_=f"cxa-chip {lit(ranks, leads=leads)}".rstrip(),
            dir="ltr",
            href=address,
            title=said,
            aria_label=said,
            role=None if address else "note",
        )

    def standing(self, candidate: Candidate, text: str, begin: int) -> Html:
        """The slice `text` of a candidate's text from `begin` on, with its evidence marked."""
        return self._with_evidence(text, self.marks.standing.get(candidate.key, ()), begin, "e")

    def retrieved(self, rank: int, text: str, begin: int) -> Html:
        """The slice `text` of a fragment's text from `begin` on, with its evidence marked."""
        return self._with_evidence(text, self.marks.fragments.get(rank, ()), begin, "g")

    def _with_evidence(self, text: str, spans: Sequence[Mark], begin: int, kind: str) -> Html:
        """The first mark of each piece of evidence has an id, in the context and in the fragments one each."""

        def ids(numbers: Sequence[int]) -> list[str]:
            new = [id_ for number in numbers if (id_ := f"{self.anchor}-{kind}{number}") not in self._evidence]
            self._evidence.update(new)
            return new

        return evident(text, spans, begin, ids)

    def evidence(self, number: int, shown: str) -> str | None:
        """The address in `shown`, the markup of both columns, where a piece of evidence stands, else where it came."""
        places = (f"{self.anchor}-{kind}{number}" for kind in "eg")
        return next((f"#{id_}" for id_ in places if f'id="{id_}"' in shown), None)

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
