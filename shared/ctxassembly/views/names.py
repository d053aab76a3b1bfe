"""Names of documents and chunks in a view, and the links between its parts.

A document has one name, one letter and one look wherever it appears. A fragment links to the first place in the context
that has its text, the marker of a hit back to its fragment, and both to the decision on the chunk.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from ctxassembly.data.candidates import Candidate
from ctxassembly.data.chunks import Chunk, Span
from ctxassembly.data.citations import ContextData
from ctxassembly.data.sanitize import sanitize_chunk
from ctxassembly.data.trace import Decision
from ctxassembly.tracing.decisions import MAX_SHOWN_HITS
from ctxassembly.views.evidence import EvidenceMarks, Mark, highlight_evidence
from ctxassembly.views.html import ID_CHARS, VALUE_CHARS, Html, format_score, join_html, tag, truncate
from ctxassembly.views.runs import block_parts
from ctxassembly.views.style import document_class, document_letter
from ctxassembly.wording.metadata_labels import MetadataReader

MAX_DOCUMENTS = 8
"""Documents with a line of their own in the budget; the others share one."""


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
    """Return the documents by id, lettered in the order of `sources`: their files, titles or addresses by id."""
    return {
        document_id: NamedDocument(document_letter(number), truncate(source, ID_CHARS), document_class(number))
        for number, (document_id, source) in enumerate(sources.items())
    }


class DocumentNames:
    """The documents of one context, those that the text has first, and the links within its view."""

    def __init__(self, context: ContextData, anchor: str, marks: EvidenceMarks | None = None) -> None:
        self.anchor = anchor
        """The prefix of all ids of the view."""
        self.marks = marks or EvidenceMarks()
        self.labels: dict[int, dict[str, None]] = defaultdict(dict)
        """By rank of a hit the labels of the blocks that have its text."""
        self.kept_spans: dict[int, list[Span]] = defaultdict(list)
        """By rank of a hit the slices of its own text that the context has."""
        self._passage_ids: dict[int, str] = {}
        self._used_ids: set[str] = set()
        self._fragments: frozenset[int] = frozenset()
        self._rows: dict[tuple[str, int, int], int] = {}
        self._metadata = MetadataReader(context.keys)
        self._documents = self._name_documents(context)
        self._represented: dict[str, list[int]] = defaultdict(list)
        for decision in context.trace.decisions:
            is_copy = decision.outcome in ("duplicate", "contained") and not decision.distance
            if is_copy and decision.because_of is not None and decision.rank < MAX_SHOWN_HITS:
                self._represented[decision.because_of].append(decision.rank)
        self._locate_hits(context)

    def _name_documents(self, context: ContextData) -> dict[str, NamedDocument]:
        sources: dict[str, str] = {}
        for document_id, chunk in _document_chunks(context):
            if chunk is not None and not sources.get(document_id):
                sources[document_id] = self._metadata.source(chunk)
            sources.setdefault(document_id, "")
        return name_documents({document_id: source or document_id for document_id, source in sources.items()})

    def _locate_hits(self, context: ContextData) -> None:
        for parts in block_parts(context):
            for run in parts.runs:
                if run.candidate is None or run.source is None or not run.text.strip():
                    continue
                ranks = self.hit_ranks(run.candidate)
                for rank in ranks:
                    self.labels[rank].setdefault(parts.citation.label)
                    self._passage_ids.setdefault(rank, f"{self.anchor}-k{ranks[0]}")
                if run.candidate.is_hit:
                    self.kept_spans[run.candidate.rank].append(run.source.chunk_span)

    @property
    def document_ids(self) -> tuple[str, ...]:
        """The ids of all documents, in the order of their letters."""
        return tuple(self._documents)

    def document(self, document_id: str) -> NamedDocument:
        """Return the document with that id."""
        return self._documents[document_id]

    def hit_ranks(self, candidate: Candidate) -> tuple[int, ...]:
        """Return the ranks of the hits whose text `candidate` has: its own rank and the ranks of its copies."""
        own = [candidate.rank] if candidate.is_hit and candidate.rank < MAX_SHOWN_HITS else []
        return tuple(dict.fromkeys((*own, *self._represented.get(candidate.chunk.id, ()))))

    def show_decisions(self, shown: Iterable[Decision]) -> None:
        """Let `decision_link` link to the rows of `shown`, in their order."""
        for row, decision in enumerate(shown):
            self._rows.setdefault((decision.chunk_id, decision.rank, decision.distance), row)

    def decision_link(self, chunk_id: str, rank: int, distance: int) -> str | None:
        """Return the address of the row for a chunk, None if it isn't shown."""
        row = self._rows.get((chunk_id, rank, distance))
        return None if row is None else f"#{self.anchor}-r{row}"

    def show_fragments(self, ranks: Iterable[int]) -> None:
        """Let `fragment_link` link to the fragments of the hits at `ranks`."""
        self._fragments = frozenset(ranks)

    def fragment_link(self, rank: int) -> str | None:
        """Return the address of the fragment of a hit; None if it isn't shown."""
        return f"#{self.anchor}-f{rank}" if rank in self._fragments else None

    def passage_link(self, rank: int) -> str | None:
        """Return the address of the first place in the context with the text of a hit; None if it isn't included."""
        return f"#{self._passage_ids[rank]}" if rank in self._passage_ids else None

    def passage_id(self, candidate: Candidate) -> str | None:
        """Return the id for a run of text of `candidate`; None if no link leads there or an earlier run has it."""
        return next(self._unused_ids(map(self._passage_ids.get, self.hit_ranks(candidate)[:1])), None)

    def hidden_passages(self, markup: str) -> Html:
        """Return an empty element for each id that fragments link to and `markup` has no room for."""
        ids = sorted({self._passage_ids[rank] for rank in self._fragments & self._passage_ids.keys()})
        return join_html(*(tag("span", id_=id_, tabindex="-1") for id_ in ids if f'id="{id_}"' not in markup))

    def _unused_ids(self, ids: Iterable[str | None]) -> Iterator[str]:
        for id_ in ids:
            if id_ is not None and id_ not in self._used_ids:
                self._used_ids.add(id_)
                yield id_

    def hit_marker(self, candidate: Candidate) -> Html:
        """Return the marker at the beginning of a chunk: a filled dot for a hit, an empty one for a neighbor, the rank.

        It links to the fragment of a hit, else to the decision on the chunk.
        """
        rank, steps, chunk = candidate.rank + 1, candidate.distance, candidate.chunk
        mark = f"○ {rank}±{steps}" if steps else f"● {rank}"
        kind = f"neighbor, {steps} from hit {rank}" if steps else f"hit {rank}"
        score = "" if candidate.score is None else f", score {format_score(candidate.score)}"
        title = f"{kind}: chunk {truncate(chunk.id, ID_CHARS)}{score}"
        ranks = self.hit_ranks(candidate)
        if others := [f"{other + 1}" for other in ranks if other != candidate.rank or steps]:
            title += f"; it also has the text of hit {', '.join(others)}"
        address = next(filter(None, map(self.fragment_link, ranks)), None)
        address = address or self.decision_link(chunk.id, candidate.rank, steps)
        return tag(
            "a" if address else "span",
            mark,
            class_="cxa-chip",
            dir="ltr",
            href=address,
            title=title,
            aria_label=title,
            role=None if address else "note",
        )

    def highlight_passage(self, candidate: Candidate, text: str, start_offset: int) -> Html:
        """Return the slice `text` of a candidate's text from `start_offset` on, with its evidence marked."""
        return self._highlight(text, self.marks.context_marks.get(candidate.key, ()), start_offset, "e")

    def highlight_fragment(self, rank: int, text: str, start_offset: int) -> Html:
        """Return the slice `text` of a fragment's text from `start_offset` on, with its evidence marked."""
        return self._highlight(text, self.marks.fragment_marks.get(rank, ()), start_offset, "g")

    def _highlight(self, text: str, spans: Sequence[Mark], start_offset: int, kind: str) -> Html:
        """The first mark of each piece of evidence has an id, one in the context and one in the fragments."""

        def get_ids(numbers: Sequence[int]) -> list[str]:
            return list(self._unused_ids(f"{self.anchor}-{kind}{number}" for number in numbers))

        return highlight_evidence(text, spans, start_offset, get_ids)

    def evidence_link(self, number: int, markup: str) -> str | None:
        """Return the address of a piece of evidence in `markup`: in the context, else in the fragments."""
        ids = (f"{self.anchor}-{kind}{number}" for kind in "eg")
        return next((f"#{id_}" for id_ in ids if f'id="{id_}"' in markup), None)

    def search_badges(self, chunk: Chunk) -> Html:
        """Return badges that say how the retriever found `chunk`, if its metadata has that."""
        badges = []
        for prefix, name, look in (
            ("found by", "search_method", "method"),
            ("matches", "keywords", "keywords"),
            ("expanded to", "expansion", "expansion"),
        ):
            if value := self._metadata.format_value(chunk, name):
                badges.append(tag("span", f"{prefix} {truncate(value, VALUE_CHARS)}", class_=f"cxa-badge cxa-{look}"))
        return join_html(*badges)


def _document_chunks(context: ContextData) -> Iterator[tuple[str, Chunk | None]]:
    """Yield each document id with a chunk, in reading order; None if the context doesn't have the chunk."""
    for passage in context.passages:
        for piece in passage.pieces:
            yield passage.document_id, piece.candidate.chunk
    for citation in context.citations:
        yield citation.document_id, None
    fragments = {hit.rank: hit.chunk for hit in context.hits}
    for decision in context.trace.decisions:
        chunk = None if decision.distance else fragments.get(decision.rank)
        yield decision.document_id, None if chunk is None else sanitize_chunk(chunk, decision.rank)[0]
