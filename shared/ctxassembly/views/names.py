"""Names of documents and chunks in a view, and the links between its parts.

A document has one name, one letter and one look wherever it appears. A fragment links to the first place in the context
that has its text, the marker of a hit back to its fragment, and both to the decision on the chunk.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from ctxassembly.data.candidates import Candidate
from ctxassembly.data.chunks import Chunk, Span
from ctxassembly.data.citations import ContextData
from ctxassembly.data.trace import Decision
from ctxassembly.tracing.retained_hits import MAX_SHOWN_HITS
from ctxassembly.views.evidence import EvidenceMarks
from ctxassembly.views.html import ID_CHARS, VALUE_CHARS, Html, format_score, join_html, tag, truncate
from ctxassembly.views.runs import block_parts
from ctxassembly.wording.metadata_labels import MetadataReader

MAX_DOCUMENTS = 8
"""Documents with a line of their own in the budget; the others share one."""
_COLORS, _BORDERS = 6, 4
"""Colors and borders of documents in the style sheet; together they make twelve different looks."""


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


def document_letter(number: int) -> str:
    """Return the letter of document `number`, from 0: A to Z, then AA.

    >>> document_letter(0), document_letter(26)
    ('A', 'AA')
    """
    return (document_letter(number // 26 - 1) if number >= 26 else "") + chr(ord("A") + number % 26)


def name_documents(sources: Mapping[str, str]) -> dict[str, NamedDocument]:
    """Return the documents by id, lettered in the order of `sources`: their files, titles or addresses by id."""
    return {
        document_id: NamedDocument(
            document_letter(number),
            truncate(source or document_id, ID_CHARS),
            f"cxa-d{number % _COLORS} cxa-b{number % _BORDERS}",
        )
        for number, (document_id, source) in enumerate(sources.items())
    }


def is_excluded_hit(decision: Decision) -> bool:
    """Return True for a hit without any text in the context, its own or another chunk's."""
    return decision.outcome == "dropped" and not decision.distance


class DocumentNames:
    """The documents of one context, those that the text has first, and the links within its view."""

    def __init__(self, context: ContextData, anchor: str = "", marks: EvidenceMarks | None = None) -> None:
        self.anchor = anchor
        """The prefix of all ids of the view."""
        self.marks = marks or EvidenceMarks()
        self.decisions = sorted(context.trace.decisions, key=lambda one: not is_excluded_hit(one))
        """The decisions in the order of their table: on excluded hits first, the others in their order."""
        self.labels: dict[int, dict[str, None]] = defaultdict(dict)
        """By rank of a hit the labels of the blocks that have its text."""
        self.kept_spans: dict[int, list[Span]] = defaultdict(list)
        """By rank of a hit the slices of its own text that the context has."""
        self._rows = {(one.chunk_id, one.rank, one.distance): row for row, one in enumerate(self.decisions)}
        self._metadata = MetadataReader(context.keys)
        sources: dict[str, str] = {}
        for document_id, chunk in _document_chunks(context):
            sources[document_id] = sources.get(document_id) or (self._metadata.source(chunk) if chunk else "")
        self.documents = name_documents(sources)
        """All documents by id, in the order of their letters."""
        self._copies: dict[str, list[int]] = defaultdict(list)
        for decision in context.trace.decisions:
            is_copy = decision.outcome in ("duplicate", "contained") and not decision.distance
            if is_copy and decision.because_of is not None and decision.rank < MAX_SHOWN_HITS:
                self._copies[decision.because_of].append(decision.rank)
        self._places: dict[int, int] = {}
        """By rank of a hit the number of its first place in the context."""
        for parts in block_parts(context):
            for run in parts.runs:
                if parts.citation and run.candidate and run.source and run.text.strip():
                    for rank in (ranks := self.hit_ranks(run.candidate)):
                        self.labels[rank].setdefault(parts.citation.label)
                        self._places.setdefault(rank, ranks[0])
                    if run.candidate.is_hit:
                        self.kept_spans[run.candidate.rank].append(run.source.chunk_span)

    def hit_ranks(self, candidate: Candidate) -> tuple[int, ...]:
        """Return the ranks of the hits whose text `candidate` has: its own rank and the ranks of its copies."""
        own = [candidate.rank] if candidate.is_hit and candidate.rank < MAX_SHOWN_HITS else []
        return tuple(dict.fromkeys((*own, *self._copies.get(candidate.chunk.id, ()))))

    def decision_link(self, chunk_id: str, rank: int, distance: int) -> str:
        """Return the address of the decision on a chunk."""
        return f"#{self.anchor}-r{self._rows.get((chunk_id, rank, distance))}"

    def passage_link(self, rank: int) -> str:
        """Return the address of the first place in the context with the text of a hit."""
        return f"#{self.anchor}-k{self._places.get(rank)}"

    def passage_id(self, candidate: Candidate) -> str | None:
        """Return the id for a run of text of `candidate`; None if it has no text of a hit."""
        return next((f"{self.anchor}-k{rank}" for rank in self.hit_ranks(candidate)), None)

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
        link = f"#{self.anchor}-f{ranks[0]}" if ranks else self.decision_link(chunk.id, candidate.rank, steps)
        return tag("a", mark, class_="cxa-chip", dir="ltr", href=link, title=title, aria_label=title)

    def search_badges(self, chunk: Chunk) -> Html:
        """Return badges that say how the retriever found `chunk`, if its metadata has that."""
        names = (("found by", "search_method"), ("matches", "keywords"), ("expanded to", "expansion"))
        badges = []
        for prefix, name in names:
            if value := self._metadata.format_value(chunk, name):
                text = f"{prefix} {truncate(value, VALUE_CHARS)}"
                badges.append(tag("span", text, class_=f"cxa-badge cxa-{name}"))
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
        yield decision.document_id, None if decision.distance else fragments.get(decision.rank)
