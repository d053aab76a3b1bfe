"""What the page of a context shows, for its templates: names and letters of documents, links, marks and cells.

A document has one name, one letter and one look wherever it appears. A fragment links to the first place in the context
that has its text, the marker of a hit back to its fragment, and both to the decision on the chunk.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain
from typing import NamedTuple

from ctxassembly.data import candidates
from ctxassembly.data.candidates import Candidate
from ctxassembly.data.chunks import Chunk, RetrievedFragment, Span
from ctxassembly.data.citations import Citation, ContextData
from ctxassembly.data.trace import Decision
from ctxassembly.safe_repr import join_first
from ctxassembly.tracing import MAX_SHOWN_HITS
from ctxassembly.views.evidence import LocatedEvidence, evidence_status
from ctxassembly.views.html import (
    ID_CHARS,
    NOTE_CHARS,
    VALUE_CHARS,
    format_number,
    format_score,
    format_share,
    split_at_marks,
    truncate,
)
from ctxassembly.views.runs import TextRun, block_parts
from ctxassembly.wording.metadata_labels import MetadataReader

_COLORS, _BORDERS = 6, 4
"""Colors and borders of documents in the style sheet; together they make twelve different looks."""
_MAX_NAMED = 5
"""Most labels named on a fragment, and pieces of evidence on a mark."""
_KEPT = -1
"""The number of the mark on what the context has of a fragment; pieces of evidence are numbered from 0."""

SETTINGS_BY_REASON: Mapping[str, str] = {
    candidates.OVER_BUDGET: "max_tokens, max_characters; granularity",
    candidates.TOO_SHORT: "Pipeline.min_chunk_tokens",
    candidates.BELOW_FLOOR: "Bookend.relevance_floor",
    candidates.IRRELEVANT: "compress",
    candidates.BELOW_CUTOFF: "min_relevance, fill",
    candidates.OUTSIDE_WINDOW: "window, candidate_window",
    candidates.EMPTY: "",
    candidates.EXACT_DUPLICATE: "dedup",
    candidates.NEAR_DUPLICATE: "dedup, near_threshold",
    candidates.SEMANTIC_DUPLICATE: "dedup, semantic_threshold",
    candidates.CONTAINED: "min_overlap_chars",
    candidates.REPEATED: "dedup_sentences",
    candidates.ALREADY_SENT: "repeat",
}
"""The settings that decide on each reason; none for a chunk without text."""


def _reason(decision: Decision) -> str:
    stripped = f", {decision.stripped_chars:,} stripped" if decision.stripped_chars else ""
    sent = f" as [{decision.sent_as}]" if decision.reason == candidates.ALREADY_SENT else ""
    return truncate(decision.reason, VALUE_CHARS) + sent + stripped


def _tokens(decision: Decision) -> str:
    part = decision.shortened
    return format_number(decision.tokens) if part is None else f"{part.tokens_before:,} → {part.tokens_after:,}"


DECISION_CELLS: Mapping[str, Callable[[Decision], str]] = {
    "chunk": lambda one: truncate(one.chunk_id, ID_CHARS),
    "rank": lambda one: f"{one.rank + 1}",
    "distance": lambda one: f"{one.distance}",
    "score": lambda one: format_score(one.score),
    "outcome": lambda one: one.outcome,
    "reason": _reason,
    "because of": lambda one: truncate(one.because_of or "–", ID_CHARS),
    "tokens": _tokens,
    "relevance": lambda one: format_score(one.value),
    "found by": lambda one: truncate(one.search_method or "–", VALUE_CHARS),
    "has of the query": lambda one: truncate(", ".join(one.matches or ()) or "–", VALUE_CHARS),
    "setting": lambda one: SETTINGS_BY_REASON[one.reason] or "–",
}
"""What a table shows of a decision, by column."""
_MAIN_COLUMNS = ("rank", "distance", "score", "outcome", "reason", "because of", "tokens")
_OPTIONAL_COLUMNS = ("relevance", "found by", "has of the query")
"""Columns shown only if a query scored the chunks, if a retriever says how it searched, or if there is a query."""


class NamedDocument(NamedTuple):
    """A document as the views show it."""

    letter: str
    name: str
    """Its file, title or address; its id if it has none of these."""
    css_class: str
    """The CSS classes with its color and border."""


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


def name_context_documents(context: ContextData) -> dict[str, NamedDocument]:
    """Return the documents of a context by id, those that the text has first."""
    reader, sources = MetadataReader(context.keys), dict[str, str]()
    fragments = {hit.rank: hit.chunk for hit in context.hits}
    pieces = ((passage.document_id, one.candidate.chunk) for passage in context.passages for one in passage.pieces)
    cited = ((citation.document_id, None) for citation in context.citations)
    decided = ((one.document_id, None if one.distance else fragments.get(one.rank)) for one in context.trace.decisions)
    for document_id, chunk in chain[tuple[str, Chunk | None]](pieces, cited, decided):
        sources[document_id] = sources.get(document_id) or (reader.source(chunk) if chunk else "")
    return name_documents(sources)


class ContextModel:
    """A context as its page shows it."""

    def __init__(self, context: ContextData, anchor: str, evidence: Sequence[LocatedEvidence]) -> None:
        self.context = context
        self.anchor = anchor
        """The prefix of all ids of the view."""
        self.documents = name_context_documents(context)
        """All documents by id, in the order of their letters."""
        self.blocks = tuple(block_parts(context))
        self.shown_hits = [hit for hit in context.hits if hit.rank < MAX_SHOWN_HITS]
        decisions = context.trace.decisions
        self.hit_decisions = {one.rank: one for one in decisions if not one.distance}
        self.excluded_hits = [one for one in decisions if one.outcome == "dropped" and not one.distance]
        excluded = {id(one) for one in self.excluded_hits}
        self.decisions = [*self.excluded_hits, *(one for one in decisions if id(one) not in excluded)]
        """The decisions in the order of their table."""
        self._rows = {(one.chunk_id, one.rank, one.distance): row for row, one in enumerate(self.decisions)}
        self._mark_evidence(evidence)
        self._place_hits()

    def _mark_evidence(self, evidence: Sequence[LocatedEvidence]) -> None:
        """Set the marks of evidence, each with the number of its piece."""
        self._run_marks: dict[int, list[tuple[Span, tuple[int, ...]]]] = defaultdict(list)
        """In the text of candidates, by key."""
        self._fragment_marks: dict[int, list[tuple[Span, tuple[int, ...]]]] = defaultdict(list)
        """In the text of fragments, by rank."""
        for number, one in enumerate(evidence):
            for marks, located in ((self._run_marks, one.context_spans), (self._fragment_marks, one.fragment_spans)):
                for key, spans in located.items():
                    marks[key] += [(span, (number,)) for span in spans]
        self.has_marks = bool(self._run_marks or self._fragment_marks)

    def _place_hits(self) -> None:
        """Set where the text of each hit is in the context."""
        self._copies: dict[str, list[int]] = defaultdict(list)
        for decision in self.context.trace.decisions:
            is_copy = decision.outcome in ("duplicate", "contained") and not decision.distance
            if is_copy and decision.because_of is not None and decision.rank < MAX_SHOWN_HITS:
                self._copies[decision.because_of].append(decision.rank)
        labels: dict[int, dict[str, None]] = defaultdict(dict)
        self._places: dict[int, int] = {}
        """By rank of a hit the number of its first place in the context."""
        self._kept_spans: dict[int, list[Span]] = defaultdict(list)
        """By rank of a hit the slices of its own text that the context has."""
        for parts in self.blocks:
            for run in parts.runs:
                if parts.citation and run.candidate and run.source and run.text.strip():
                    for rank in (ranks := self._hit_ranks(run.candidate)):
                        labels[rank][f"[{parts.citation.label}]"] = None
                        self._places.setdefault(rank, ranks[0])
                    if run.candidate.is_hit:
                        self._kept_spans[run.candidate.rank].append(run.source.chunk_span)
        more = {rank: ["…"] if len(of_hit) > _MAX_NAMED else [] for rank, of_hit in labels.items()}
        self.labels = {rank: [*list(of_hit)[:_MAX_NAMED], *more[rank]] for rank, of_hit in labels.items()}
        """By rank of a hit the labels of the blocks that have its text."""

    def _hit_ranks(self, candidate: Candidate) -> tuple[int, ...]:
        """Return the ranks of the hits whose text `candidate` has: its own rank and the ranks of its copies."""
        own = [candidate.rank] if candidate.is_hit and candidate.rank < MAX_SHOWN_HITS else []
        return tuple(dict.fromkeys((*own, *self._copies.get(candidate.chunk.id, ()))))

    # Links

    def decision_link(self, decision: Decision) -> str:
        """Return the address of a decision."""
        return self._row_link(decision.chunk_id, decision.rank, decision.distance)

    def _row_link(self, chunk_id: str, rank: int, distance: int) -> str:
        return f"#{self.anchor}-r{self._rows.get((chunk_id, rank, distance))}"

    def hit_link(self, decision: Decision) -> str:
        """Return the address of the fragment of a hit, or of the decision on it."""
        has_fragment = decision.rank < MAX_SHOWN_HITS
        return f"#{self.anchor}-f{decision.rank}" if has_fragment else self.decision_link(decision)

    def passage_link(self, rank: int) -> str:
        """Return the address of the first place in the context with the text of a hit."""
        return f"#{self.anchor}-k{self._places.get(rank)}"

    def passage_id(self, candidate: Candidate) -> str | None:
        """Return the id for a run of text of `candidate`; None if it has no text of a hit."""
        return next((f"{self.anchor}-k{rank}" for rank in self._hit_ranks(candidate)), None)

    def hit_marker(self, candidate: Candidate) -> tuple[str, str, str]:
        """Return the marker at the beginning of a chunk, its title and its link: to the fragment, else to the decision.

        It is a filled dot for a hit, an empty one for a neighbor, and the rank.
        """
        rank, steps, chunk = candidate.rank + 1, candidate.distance, candidate.chunk
        kind = f"neighbor, {steps} from hit {rank}" if steps else f"hit {rank}"
        score = "" if candidate.score is None else f", score {format_score(candidate.score)}"
        title = f"{kind}: chunk {truncate(chunk.id, ID_CHARS)}{score}"
        ranks = self._hit_ranks(candidate)
        if others := [f"{other + 1}" for other in ranks if other != candidate.rank or steps]:
            title += f"; it also has the text of hit {', '.join(others)}"
        link = f"#{self.anchor}-f{ranks[0]}" if ranks else self._row_link(chunk.id, candidate.rank, steps)
        return f"○ {rank}±{steps}" if steps else f"● {rank}", title, link

    # Texts

    def format_outcome(self, hit: RetrievedFragment, decision: Decision) -> str:
        """Return the outcome of a hit, the reason if it is another word, and the share of its text that is kept."""
        outcome = f"{decision.outcome} of {decision.because_of}" if decision.because_of else str(decision.outcome)
        if decision.outcome not in ("kept", decision.reason):
            outcome += f": {decision.reason}"
        kept = sum(end - start for start, end in self._kept_spans.get(hit.rank, ()))
        return outcome + (f", {format_share(kept, hit.characters)} of its text" if 0 < kept < hit.characters else "")

    def fragment_parts(self, hit: RetrievedFragment) -> Iterator[tuple[str, bool | None, str]]:
        """Yield the text of a hit in parts: each with whether the context has it, and the title of its evidence.

        Of a text too long to be kept, the fragment has the two ends; what is between them is one part with None.
        """
        text, hidden = hit.chunk.text, hit.characters - len(hit.chunk.text)
        half = len(text) // 2 if hidden else len(text)
        kept = self._kept_spans.get(hit.rank, ())
        evidence = self._fragment_marks.get(hit.rank, ())
        for start, end, offset in ((0, half, 0), (half, len(text), hidden)):
            if start and hidden:
                yield f"\n… {hidden:,} characters …\n", None, ""
            marks = [((first - offset, last - offset), (_KEPT,)) for first, last in kept]
            for part, numbers in split_at_marks(text[start:end], [*marks, *evidence], start):
                yield part, _KEPT in numbers, _evidence_title([one for one in numbers if one != _KEPT])

    def run_parts(self, run: TextRun) -> Iterator[tuple[str, str]]:
        """Yield a run of text from a chunk in parts, each with the title of its evidence."""
        if run.candidate and run.source:
            marks = self._run_marks.get(run.candidate.key, ())
            for part, numbers in split_at_marks(run.text, marks, run.source.chunk_span[0]):
                yield part, _evidence_title(numbers)

    def evidence_status(self, piece: LocatedEvidence) -> tuple[str, str]:
        """Return the outcome of a piece of evidence in a word or two, and its place."""
        return evidence_status(self.context, piece)

    def search_badges(self, chunk: Chunk) -> list[tuple[str, str]]:
        """Return what the metadata of `chunk` say of how the retriever found it, each with the name of the field."""
        reader, names = MetadataReader(self.context.keys), ("search_method", "keywords", "expansion")
        values = [(name, reader.format_value(chunk, name)) for name in names]
        prefixes = dict(zip(names, ("found by", "matches", "expanded to"), strict=True))
        return [(name, f"{prefixes[name]} {truncate(value, VALUE_CHARS)}") for name, value in values if value]

    def label_facts(self, citation: Citation) -> str:
        """Return what is known of the place that a label leads to."""
        where = {
            "document": citation.document_id,
            "page": ", ".join(map(str, citation.pages)),
            "section": citation.section,
            "sheet": citation.sheet,
            "row": citation.row,
            "line": citation.start_line,
            "chunks": ", ".join(citation.chunk_ids),
        }
        known = {name: value for name, value in where.items() if value not in (None, "")}
        return " · ".join(f"{name} {truncate(value, NOTE_CHARS)}" for name, value in known.items())

    # Decisions

    @property
    def decision_columns(self) -> tuple[str, ...]:
        """The columns of the table of decisions, after chunk and document."""
        optional = (
            name for name in _OPTIONAL_COLUMNS if any(DECISION_CELLS[name](one) != "–" for one in self.decisions)
        )
        return (*_MAIN_COLUMNS, *optional)

    def cells(self, decision: Decision, columns: Sequence[str]) -> tuple[str, ...]:
        """Return the cells of a decision."""
        return tuple(DECISION_CELLS[column](decision) for column in columns)


def _evidence_title(numbers: Sequence[int]) -> str:
    """Return the title of a mark; empty for text that is no evidence."""
    return f"evidence {join_first([f'{number + 1}' for number in numbers], _MAX_NAMED)}" if numbers else ""
