"""What the page of a context shows, for its templates: documents, the runs of the text, hits, marks and decisions.

A document has one name, one letter and one look wherever it appears. A fragment links to the first place in the context
that has its text, the marker of a hit back to its fragment, and both to the decision on the chunk.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import NamedTuple

from ctxassembly.data.candidates import Candidate, TextPiece
from ctxassembly.data.chunks import Chunk, RetrievedFragment, Span
from ctxassembly.data.citations import Block, Citation, ContextData, Source, block_contents, has_source
from ctxassembly.safe_repr import join_first
from ctxassembly.tracing import MAX_SHOWN_HITS
from ctxassembly.views.evidence import LocatedEvidence
from ctxassembly.views.html import ID_CHARS, split_at_marks, truncate
from ctxassembly.wording.languages import LANGUAGES
from ctxassembly.wording.metadata_labels import MetadataReader

_COLORS, _BORDERS = 6, 4
"""Colors and borders of documents in the style sheet; together they make twelve different looks."""
_MAX_NAMED = 5
"""Most labels named on a fragment, and pieces of evidence on a mark."""
_KEPT = -1
"""The number of the mark on what the context has of a fragment; pieces of evidence are numbered from 0."""


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
        self.rows = {(one.chunk_id, one.rank, one.distance): row for row, one in enumerate(self.decisions)}
        """The row of each decision in that table."""
        self.reader = MetadataReader(context.keys)
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
        self.places: dict[int, int] = {}
        """By rank of a hit the number of its first place in the context."""
        self._kept_spans: dict[int, list[Span]] = defaultdict(list)
        """By rank of a hit the slices of its own text that the context has."""
        for parts in self.blocks:
            for run in parts.runs:
                if parts.citation and run.candidate and run.source and run.text.strip():
                    for rank in (ranks := self.hit_ranks(run.candidate)):
                        labels[rank][f"[{parts.citation.label}]"] = None
                        self.places.setdefault(rank, ranks[0])
                    if run.candidate.is_hit:
                        self._kept_spans[run.candidate.rank].append(run.source.chunk_span)
        more = {rank: ["…"] if len(of_hit) > _MAX_NAMED else [] for rank, of_hit in labels.items()}
        self.labels = {rank: [*list(of_hit)[:_MAX_NAMED], *more[rank]] for rank, of_hit in labels.items()}
        """By rank of a hit the labels of the blocks that have its text."""
        self.kept_chars = {rank: sum(end - start for start, end in spans) for rank, spans in self._kept_spans.items()}

    def hit_ranks(self, candidate: Candidate) -> tuple[int, ...]:
        """Return the ranks of the hits whose text `candidate` has: its own rank and the ranks of its copies."""
        own = [candidate.rank] if candidate.is_hit and candidate.rank < MAX_SHOWN_HITS else []
        return tuple(dict.fromkeys((*own, *self._copies.get(candidate.chunk.id, ()))))

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


def _evidence_title(numbers: Sequence[int]) -> str:
    """Return the title of a mark; empty for text that is no evidence."""
    return f"evidence {join_first([f'{number + 1}' for number in numbers], _MAX_NAMED)}" if numbers else ""


class TextRun(NamedTuple):
    """A slice of the context's text with one origin."""

    text: str
    candidate: Candidate | None = None
    """None for text that the engine wrote around the documents' words."""
    source: Source | None = None
    is_chunk_start: bool = False
    """True if it is the first run of its chunk."""


class BlockParts(NamedTuple):
    """The parts of a block; header, summary and runs together are its text."""

    block: Block
    citation: Citation | None
    """None for the supplement, which has no label and is one run."""
    header: str
    summary: str
    runs: tuple[TextRun, ...]
    candidates: tuple[Candidate, ...]
    """The chunks of the block, those without characters of their own too."""


def block_parts(context: ContextData) -> Iterator[BlockParts]:
    """Yield the parts of each block."""
    included = [decision for decision in context.trace.decisions if decision.is_in_context]
    ranks = {(decision.chunk_id, decision.rank, decision.distance) for decision in included}
    decision_by_chunk = {(decision.document_id, decision.chunk_id): decision for decision in reversed(included)}

    def restore_rank(candidate: Candidate) -> Candidate:
        # A newer version of a chunk takes the place of the version that it displaced: the trace has its own rank.
        chunk = candidate.chunk
        decision = decision_by_chunk.get((chunk.document_id, chunk.id))
        if decision is None or (chunk.id, candidate.rank, candidate.distance) in ranks:
            return candidate
        return candidate._replace(rank=decision.rank, distance=decision.distance)

    for block, passages, sources in block_contents(context):
        if block.citation is None:
            yield BlockParts(block, None, "", "", (TextRun(block.text),), ())
            continue
        shown = [piece for passage in passages for piece in passage.pieces]
        pieces = [piece._replace(candidate=restore_rank(piece.candidate)) for piece in shown]
        header, summary = _split_header(context, block, block.citation)
        start = block.span[0] + len(header) + len(summary)
        candidates = {piece.candidate.key: piece.candidate for piece in pieces}
        # Without pieces a caller has replaced the passages.
        runs = tuple(_text_runs(context.text, start, block.span[1], sources if pieces else (), pieces))
        yield BlockParts(block, block.citation, header, summary, runs, tuple(candidates.values()))


def _split_header(context: ContextData, block: Block, citation: Citation) -> tuple[str, str]:
    """Return header and summary, each with its line break. They end before the citation, where the passages begin."""
    before = block.text[: citation.span[0] - block.span[0]]
    lines = before[: before.rfind("\n") + 1]
    prefix = LANGUAGES[context.language].summary.partition("{}")[0]
    start = 0 if lines.startswith(prefix) else lines.rfind("\n" + prefix) + 1 or len(lines)
    return lines[:start], lines[start:]


def _text_runs(
    text: str, start: int, end: int, sources: Sequence[Source], pieces: Sequence[TextPiece]
) -> Iterator[TextRun]:
    index, last_key = 0, None
    for source in sources:
        index = next((n for n in range(index, len(pieces)) if has_source(pieces[n], source)), index)
        candidate = pieces[index].candidate
        if source.span[0] > start:
            yield TextRun(text[start : source.span[0]])
        yield TextRun(text[slice(*source.span)], candidate, source, candidate.key != last_key)
        start, last_key = source.span[1], candidate.key
    if start < end:
        yield TextRun(text[start:end])
