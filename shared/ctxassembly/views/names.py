"""Names of documents and chunks in the views: one name, one letter and one look each, wherever they appear."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from ctxassembly.data.candidates import Candidate
from ctxassembly.data.chunks import Chunk
from ctxassembly.data.citations import ContextData
from ctxassembly.data.sanitize import sanitize_chunk
from ctxassembly.data.trace import Decision
from ctxassembly.views.evidence import EvidenceMarks, Mark, highlight_evidence
from ctxassembly.views.html import Html, join_html, tag, truncate
from ctxassembly.views.limits import ID_CHARS, VALUE_CHARS
from ctxassembly.views.links import CrossHighlight, css_class
from ctxassembly.views.style import document_class, document_letter
from ctxassembly.wording.metadata_labels import MetadataReader


class NamedDocument(NamedTuple):
    """A document as the views show it."""

    letter: str
    name: str
    """Its file, title or address; its id if it has none of these."""
    css_class: str
    """The CSS classes with its color and border."""

    @property
    def letter_tag(self) -> Html:
        """Its letter in its colors."""
        return tag("span", self.letter, class_=f"cxa-key {self.css_class}")


def name_documents(sources: Mapping[str, str]) -> dict[str, NamedDocument]:
    """The documents by id, lettered in the order of `sources`, which has their files, titles or addresses."""
    return {
        document_id: NamedDocument(document_letter(place), truncate(source, ID_CHARS), document_class(place))
        for place, (document_id, source) in enumerate(sources.items())
    }


class DocumentNames:
    """The documents of one context, those that stand in it first, and links to the rows of its decisions."""

    def __init__(self, context: ContextData, anchor: str, marks: EvidenceMarks | None = None) -> None:
        self.anchor = anchor
        self.marks = marks or EvidenceMarks()
        self._evidence_anchors: set[str] = set()
        self.links = CrossHighlight(context, anchor)
        self._particulars = MetadataReader(context.keys)
        sources: dict[str, str] = {}
        for document_id, chunk in _document_chunks(context):
            if chunk is not None and not sources.get(document_id):
                sources[document_id] = self._particulars.source(chunk)
            sources.setdefault(document_id, "")
        self._documents = name_documents(
            {document_id: source or document_id for document_id, source in sources.items()}
        )
        self._rows: dict[tuple[str, int, int], int] = {}

    @property
    def document_ids(self) -> tuple[str, ...]:
        """The ids of all documents, in the order of their letters."""
        return tuple(self._documents)

    def document(self, document_id: str) -> NamedDocument:
        """The document with that id."""
        return self._documents[document_id]

    def show_decisions(self, shown: Iterable[Decision]) -> None:
        """Let `decision_link` link to the rows of `markup`, in their order."""
        for row, decision in enumerate(shown):
            self._rows.setdefault((decision.chunk_id, decision.rank, decision.distance), row)

    def decision_link(self, chunk_id: str, rank: int, distance: int) -> str | None:
        """The address of the row for a chunk, None if it isn't shown."""
        row = self._rows.get((chunk_id, rank, distance))
        return None if row is None else f"#{self.anchor}-r{row}"

    def hit_marker(self, candidate: Candidate) -> Html:
        """The mark at the beginning of a chunk: a filled dot for a hit, an empty one for a neighbor, and the rank.

        It leads to the fragment of a hit, else to the decision on the chunk.
        """
        rank, steps, chunk = candidate.rank + 1, candidate.distance, candidate.chunk
        mark = f"○ {rank}±{steps}" if steps else f"● {rank}"
        kind = f"neighbor, {steps} from hit {rank}" if steps else f"hit {rank}"
        score = "" if candidate.score is None else f", score {candidate.score:.3g}"
        title = f"{kind}: chunk {truncate(chunk.id, ID_CHARS)}{score}"
        ranks = self.links.hit_ranks(candidate)
        if others := [f"{other + 1}" for other in ranks if other != candidate.rank or steps]:
            title += f"; it has the text of hit {', '.join(others)} as well"
        address = next(filter(None, map(self.links.fragment_link, ranks)), None)
        leads = address is not None
        address = address or self.decision_link(chunk.id, candidate.rank, steps)
        return tag(
            "a" if address else "span",
            mark,
            class_=f"cxa-chip {css_class(ranks, isolates_fragments=leads)}".rstrip(),
            dir="ltr",
            href=address,
            title=title,
            aria_label=title,
            role=None if address else "note",
        )

    def highlight_passage(self, candidate: Candidate, text: str, start_offset: int) -> Html:
        """The slice `text` of a candidate's text from `start_offset` on, with its evidence marked."""
        return self._highlight(text, self.marks.context_marks.get(candidate.key, ()), start_offset, "e")

    def highlight_fragment(self, rank: int, text: str, start_offset: int) -> Html:
        """The slice `text` of a fragment's text from `start_offset` on, with its evidence marked."""
        return self._highlight(text, self.marks.fragment_marks.get(rank, ()), start_offset, "g")

    def _highlight(self, text: str, spans: Sequence[Mark], start_offset: int, kind: str) -> Html:
        """The first mark of each piece of evidence has an id, in the context and in the fragments one each."""

        def ids(numbers: Sequence[int]) -> list[str]:
            new = [id_ for number in numbers if (id_ := f"{self.anchor}-{kind}{number}") not in self._evidence_anchors]
            self._evidence_anchors.update(new)
            return new

        return highlight_evidence(text, spans, start_offset, ids)

    def evidence_link(self, number: int, markup: str) -> str | None:
        """The address in `markup`, the markup of both columns, where a piece of evidence stands, else where it came."""
        places = (f"{self.anchor}-{kind}{number}" for kind in "eg")
        return next((f"#{id_}" for id_ in places if f'id="{id_}"' in markup), None)

    def search_badges(self, chunk: Chunk) -> Html:
        """The retriever's ways to `chunk`, if its metadata say so."""
        return join_html(*self._iter_badges(chunk))

    def _iter_badges(self, chunk: Chunk) -> Iterator[Html]:
        for prefix, name, look in (
            ("found by", "search_method", "method"),
            ("matches", "keywords", "keywords"),
            ("expanded to", "expansion", "expansion"),
        ):
            if value := self._particulars.format_value(chunk, name):
                yield tag("span", f"{prefix} {truncate(value, VALUE_CHARS)}", class_=f"cxa-badge cxa-{look}")


def _document_chunks(context: ContextData) -> Iterator[tuple[str, Chunk | None]]:
    """Each document id with a chunk, in reading order; None if the context doesn't hold the chunk."""
    for passage in context.passages:
        for piece in passage.pieces:
            yield passage.document_id, piece.candidate.chunk
    for citation in context.citations:
        yield citation.document_id, None
    fragments = {hit.rank: hit.chunk for hit in context.hits}
    for decision in context.trace.decisions:
        chunk = None if decision.distance else fragments.get(decision.rank)
        yield decision.document_id, None if chunk is None else sanitize_chunk(chunk, decision.rank)[0]
