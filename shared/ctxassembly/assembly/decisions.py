"""One decision on every candidate, read off the place where its text ended up.

Stages only drop and change candidates; none of them records what became of one. `Lineage` records the present form of
each candidate and the original of each copy, so that a decision can follow it from its first form to its last. Once the
layout is final, the text of a candidate is looked for in this order:

- in pieces of its own: the candidate is kept, or cut or compressed if it was shortened;
- in the pieces of a chunk that overlaps it: it is contained in that chunk. But if it was shortened, all that it would
  have added is lost, and it was dropped for the budget;
- nowhere: it was dropped, for the reason that selection gave, or because the conversation has all of it. If neither is
  known, there was no room for it.

A copy shares the fate of its original. If the original is in the context, the copy is a duplicate of it.
All maps are by the key of a candidate, which never changes.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from operator import attrgetter
from typing import Literal, NamedTuple

from ctxassembly.assembly.rendering.cite import CitedText
from ctxassembly.assembly.selection.result import Selection
from ctxassembly.data.candidates import (
    ALREADY_SENT,
    COMPRESSIONS,
    CONTAINED,
    EMPTY,
    OVER_BUDGET,
    Candidate,
    CitationBlock,
    Reason,
    Shortening,
    TextPiece,
)
from ctxassembly.data.trace import IN_CONTEXT, Decision, Outcome, Shortened
from ctxassembly.text.words import TermQuery
from ctxassembly.tracing import Lineage, is_retained
from ctxassembly.wording.metadata_labels import MetadataReader


class RenderedSelection(NamedTuple):
    """The rendered and cited selection."""

    selection: Selection
    labels: Sequence[CitationBlock]
    """The pieces of text below each label. A candidate has none if its text is in the pieces of others."""
    shortened: Mapping[int, Shortened]
    """The candidates of which only a part is included."""
    metadata_reader: MetadataReader
    """The reader of metadata for citations and decisions."""
    cited: CitedText


_Status = tuple[
    Outcome, Literal["hit", "neighbor"] | Shortening | Reason, "str | None", int, "int | None", "Shortened | None"
]
"""The fields of a decision that depend on where the text ended up: from `outcome` to `shortened`, in their order, but
for `replaced`."""


def make_decisions(
    candidates: Sequence[Candidate],
    empty: Iterable[Candidate],
    lineage: Lineage,
    rendered: RenderedSelection,
    sent_labels: Mapping[int, str],
    query: str | None,
) -> tuple[Decision, ...]:
    """Return one decision per candidate, in the order given, the empty ones last.

    `lineage` has the copies, and the form that each candidate has now. `sent_labels` are the labels under which the
    conversation has text of candidates, by key.
    """
    term_query, reader = TermQuery(query) if query else None, rendered.metadata_reader
    copies = lineage.duplicates()
    stripped = _stripped_chars(rendered.labels)
    containers = _find_containers(rendered, stripped)
    copy_ids: dict[int, list[str]] = defaultdict(list)
    for candidate in candidates if copies else ():
        if candidate.key in copies:
            copy_ids[copies[candidate.key][0].key].append(candidate.chunk.id)
    decisions: list[Decision] = []
    for candidate in candidates:
        key, chunk, rank, score, distance = candidate[:5]
        original, why = copies.get(key, (candidate, None))
        now = lineage.current(original)
        status = _find_status(original, now, rendered, stripped, containers, sent_labels)
        # A copy is shown with its own values, an original with its present ones: links may have changed its document,
        # and a copy may have raised its score.
        if why is None:
            document_id, score, value = now.chunk.document_id, now.score, rendered.selection.relevance.get(key)
        else:
            document_id, value = chunk.document_id, None
            status = _status_of_copy(candidate, original, why, status)
        outcome, reason, because_of, chars, tokens, part = status
        # As `Decision.matches` says, only for a chunk whose text the context keeps.
        known = now if outcome in IN_CONTEXT else candidate if is_retained(candidate) else None
        matches = term_query.find_terms(known.chunk.text) if term_query and known else None
        method = None if distance else reader.format_value(chunk, "search_method")
        placed = chunk.id, document_id, rank, distance, score
        names, sent_as = tuple(copy_ids.get(key, ())), sent_labels.get(now.key)
        decisions.append(
            Decision(*placed, outcome, reason, because_of, names, chars, tokens, part, method, matches, value, sent_as)
        )
    return (*decisions, *(_decide_empty(candidate, reader) for candidate in empty))


def _find_status(
    original: Candidate,
    now: Candidate,
    rendered: RenderedSelection,
    stripped: Mapping[int, int],
    containers: Mapping[int, Candidate],
    sent_labels: Container[int],
) -> _Status:
    """Return what became of a candidate that is no copy; `now` is its present form."""
    key, selection = now.key, rendered.selection
    part = rendered.shortened.get(key)
    if key in stripped:
        if part is None:
            return "kept", "neighbor" if original.distance else "hit", None, stripped[key], None, None
        other = selection.covered_by.get(key)
        outcome: Outcome = "compressed" if part.by in COMPRESSIONS else "cut"
        return outcome, part.by, None if other is None else other.chunk.id, stripped[key], None, part
    if key in containers:
        if part is None or part.by == "repeated":  # repeated sentences are not lost: others have them
            return "contained", CONTAINED, containers[key].chunk.id, len(now.text), None, None
        return "dropped", OVER_BUDGET, None, 0, max(part.tokens_before - part.tokens_after, 1), None
    why = selection.exclusions.get(key)
    if why is None:
        return "dropped", ALREADY_SENT if key in sent_labels else OVER_BUDGET, None, 0, None, None
    return "dropped", why.reason, None, 0, why.tokens, None


def _status_of_copy(candidate: Candidate, original: Candidate, why: Reason, status: _Status) -> _Status:
    """Return what became of a copy, given the status of its original. Only the original counts the tokens saved."""
    outcome, reason, because_of, stripped_chars, _, _ = status
    if outcome == "dropped":
        return outcome, reason, because_of, stripped_chars, None, None
    because_of = because_of or original.chunk.id
    if why == CONTAINED:
        return "contained", why, because_of, len(candidate.chunk.text), None, None
    return "duplicate", why, because_of, 0, None, None


def _decide_empty(candidate: Candidate, reader: MetadataReader) -> Decision:
    chunk = candidate.chunk
    placed = (chunk.id, chunk.document_id, candidate.rank, candidate.distance, candidate.score)
    return Decision(*placed, "dropped", EMPTY, search_method=reader.format_value(chunk, "search_method"))


def _stripped_chars(labels: Sequence[CitationBlock]) -> dict[int, int]:
    """Return the characters stripped from each candidate with text of its own, by key."""
    stripped: dict[int, int] = defaultdict(int)
    for piece in _pieces(labels):
        stripped[piece.candidate.key] += piece.overlap
    return stripped


def _pieces(labels: Iterable[CitationBlock]) -> Iterator[TextPiece]:
    return (piece for label in labels for passage in label.passages for piece in passage)


def _find_containers(rendered: RenderedSelection, stripped: Mapping[int, int]) -> dict[int, Candidate]:
    """Return the candidate that has the text of each selected one without a piece, by key of the latter."""
    without_text = [candidate for candidate in rendered.selection.selected if candidate.key not in stripped]
    kept_by_document: dict[str, list[Candidate]] = defaultdict(list)
    for piece in _pieces(rendered.labels) if without_text else ():
        kept_by_document[piece.candidate.chunk.document_id].append(piece.candidate)
    return {
        candidate.key: _find_container(candidate, kept)
        for candidate in without_text
        if (kept := kept_by_document[candidate.chunk.document_id])
    }


def _find_container(candidate: Candidate, kept: Sequence[Candidate]) -> Candidate:
    """Return the candidate of `kept`, all of the same document, that has the text of `candidate`.

    Text that two chunks share is written in the one that is earlier in the document. With a label for each chunk it is
    written in the one that is earlier in the context; then the other one may be left with nothing but a blank.
    """
    position = attrgetter("position")
    before = max((other for other in kept if other.position <= candidate.position), key=position, default=None)
    after = min((other for other in kept if other.position > candidate.position), key=position, default=None)
    nearest = [other for other in (before, after) if other is not None]
    text = candidate.text.strip()
    return next((other for other in nearest if text in other.chunk.text), nearest[0])
