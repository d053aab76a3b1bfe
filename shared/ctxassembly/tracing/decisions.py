"""One decision on every candidate, read off the place where its text ended up, and the hits that views show.

Stages only drop and change candidates, and none of them reports to the trace. `Lineage` records the present form of
each candidate and the original of each copy, so that the trace can follow it from its first form to its last. Once the
layout is final, the text of a candidate is looked for in this order:

- in pieces of its own: the candidate is kept, or cut or compressed if it was shortened;
- in the pieces of a chunk that overlaps it: it is contained in that chunk, unless the rest of it was cut off: then all
  that it would have added is lost, and it was dropped for the budget;
- nowhere: it was dropped, for the reason that choosing gave.

A copy shares the fate of its original. If the original is in the context, the copy is a duplicate of it.
All maps are by the key of a candidate, which never changes.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from operator import attrgetter
from types import MappingProxyType
from typing import Literal, NamedTuple

from ctxassembly.data.candidates import (
    ALREADY_SENT,
    CONTAINED,
    EMPTY,
    OVER_BUDGET,
    Candidate,
    CitationBlock,
    Exclusion,
    Reason,
    Shortening,
    TextPiece,
)
from ctxassembly.data.chunks import Hit, RetrievedFragment
from ctxassembly.data.trace import IN_CONTEXT, Decision, Outcome, Shortened
from ctxassembly.text.words import MatchedTerms, TermQuery
from ctxassembly.wording.metadata_labels import MetadataReader

MAX_SHOWN_HITS = 40
"""Hits that the views show with their text."""
MAX_HIT_CHARS = 8_000
"""Most characters of a hit that are kept, and looked up in the other hits. A longer text keeps half of them at each
end."""
MAX_NAMED_DOCUMENTS = 300
"""Most documents that the views name although nothing of them is included: as many as a table of decisions has rows."""


def is_retained(candidate: Candidate) -> bool:
    """Return True if a context keeps the whole text of `candidate`, whatever becomes of it."""
    return candidate.is_hit and candidate.rank < MAX_SHOWN_HITS and len(candidate.chunk.text) <= MAX_HIT_CHARS


def retain_hits(hits: Sequence[Hit], selected: Iterable[Candidate]) -> tuple[RetrievedFragment, ...]:
    """Return the hits that a context keeps for its views, by rank.

    A retriever may find thousands of hits. A context that kept them all would be pickled, cached and sent with every
    text that was retrieved. So it keeps the hits that its views show, and one without its text for each further
    document that they name.
    """
    kept = [_fragment(rank, hit, hit.chunk.text) for rank, hit in enumerate(hits[:MAX_SHOWN_HITS])]
    named = {chunk.document_id for chunk in (*(one.chunk for one in selected), *(one.chunk for one in kept))}
    max_named = len(named) + MAX_NAMED_DOCUMENTS
    for rank, hit in enumerate(hits[MAX_SHOWN_HITS:], MAX_SHOWN_HITS):
        if hit.chunk.document_id not in named and len(named) < max_named:
            named.add(hit.chunk.document_id)
            kept.append(_fragment(rank, hit, ""))
    return tuple(kept)


def _fragment(rank: int, hit: Hit, text: str) -> RetrievedFragment:
    """Return a hit without its vector, and of a long text only the two ends."""
    chunk = hit.chunk
    if len(text) > MAX_HIT_CHARS:
        half = MAX_HIT_CHARS // 2
        text = text[:half] + text[-half:]
    if text is not chunk.text or chunk.vector is not None:
        chunk = replace(chunk, text=text, vector=None)
    return RetrievedFragment(rank, chunk, hit.score, len(hit.chunk.text))


class FinalSelection(NamedTuple):
    """The selected candidates, after layout. All maps are keyed by candidate key."""

    selected: Sequence[Candidate]
    """The candidates that the budget took. One whose text others have has no piece in `labels`."""
    labels: Sequence[CitationBlock]
    left_out: Mapping[int, Exclusion]
    """The other candidates: the reason, and the tokens that each would have added."""
    shortened: Mapping[int, Shortened]
    """The candidates of which only a part is included."""
    repeated_in: Mapping[int, Candidate]
    """For a candidate that lost repeated sentences: the one that has most of them."""
    relevance: Mapping[int, float]
    """The relevance of each to the query; empty if nothing was selected by the query."""
    sent_as: Mapping[int, str] = MappingProxyType({})
    """The label under which the conversation has text of a candidate that is left out."""
    sent_whole: Container[int] = ()
    """The candidates of which it has all text."""


_Status = tuple[
    Outcome, Literal["hit", "neighbor"] | Shortening | Reason, "str | None", int, "int | None", "Shortened | None"
]
"""The fields of a decision that depend on where the text ended up: from `outcome` to `shortened`, in their order, but
for `replaced`."""


def make_decisions(
    candidates: Sequence[Candidate],
    empty: Iterable[Candidate],
    lineage: Lineage,
    selection: FinalSelection,
    reader: MetadataReader,
    query: str | None,
) -> tuple[Decision, ...]:
    """Return one decision per candidate, in the order given, the empty ones last.

    `lineage` has the copies, and the form that each candidate has now. `reader` finds the search method of a hit.
    """
    term_query = TermQuery(query) if query else None
    copies = lineage.duplicates()
    stripped = _stripped_chars(selection.labels)
    containers = _find_containers(selection, stripped)
    copy_ids: dict[int, list[str]] = defaultdict(list)
    for candidate in candidates if copies else ():
        if candidate.key in copies:
            copy_ids[copies[candidate.key][0].key].append(candidate.chunk.id)
    decisions: list[Decision] = []
    for candidate in candidates:
        key, chunk, rank, score, distance = candidate[:5]
        original, why = copies.get(key, (candidate, None))
        now = lineage.current(original)
        status = _find_status(original, now, selection, stripped, containers)
        document_id, value = chunk.document_id, None
        # A copy shows its own values. Others may have the document from links, or a better score from a copy.
        if why is None:
            document_id, score, value = now.chunk.document_id, now.score, selection.relevance.get(key)
        else:
            status = _status_of_copy(candidate, original, why, status)
        outcome, reason, because_of, chars, tokens, part = status
        # Matches are computed when they are read. Only text that the context keeps may stay in memory for that.
        known = now if outcome in IN_CONTEXT else candidate if is_retained(candidate) else None
        matches = MatchedTerms(term_query, known.chunk.text) if term_query and known else None
        method = None if distance else reader.format_value(chunk, "search_method")
        placed = chunk.id, document_id, rank, distance, score
        names, sent_as = tuple(copy_ids.get(key, ())), selection.sent_as.get(now.key)
        decisions.append(
            Decision(*placed, outcome, reason, because_of, names, chars, tokens, part, method, matches, value, sent_as)
        )
    return (*decisions, *(_decide_empty(candidate, reader) for candidate in empty))


def _find_status(
    original: Candidate,
    now: Candidate,
    selection: FinalSelection,
    stripped: Mapping[int, int],
    containers: Mapping[int, Candidate],
) -> _Status:
    """Return what became of a candidate that is no copy; `now` is its present form."""
    key = now.key
    if key in selection.sent_whole:
        return "dropped", ALREADY_SENT, None, 0, None, None
    part = selection.shortened.get(key)
    if key in stripped:
        if part is None:
            return "kept", "neighbor" if original.distance else "hit", None, stripped[key], None, None
        other = selection.repeated_in.get(key)
        outcome: Outcome = "compressed" if part.by in ("extractive", "llm") else "cut"
        return outcome, part.by, None if other is None else other.chunk.id, stripped[key], None, part
    if key in containers:
        if part is None or part.by == "repeated":  # repeated sentences are not lost: others have them
            return "contained", CONTAINED, containers[key].chunk.id, len(now.text), None, None
        return "dropped", OVER_BUDGET, None, 0, max(part.tokens_before - part.tokens_after, 1), None
    why = selection.left_out.get(key)
    return "dropped", why.reason if why else OVER_BUDGET, None, 0, why.tokens if why else None, None


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


def _find_containers(selection: FinalSelection, stripped: Mapping[int, int]) -> dict[int, Candidate]:
    """Return the candidate that has the text of each taken one without its own, by key of the latter."""
    without_text = [candidate for candidate in selection.selected if candidate.key not in stripped]
    kept_by_document: dict[str, list[Candidate]] = defaultdict(list)
    for piece in _pieces(selection.labels) if without_text else ():
        kept_by_document[piece.candidate.chunk.document_id].append(piece.candidate)
    return {
        candidate.key: _find_container(candidate, kept)
        for candidate in without_text
        if (kept := kept_by_document[candidate.chunk.document_id])
    }


def _find_container(candidate: Candidate, kept: Sequence[Candidate]) -> Candidate:
    """Return the candidate of `kept`, all of the same document, that has the text of `candidate`.

    Text that two chunks share is written in the earlier one. With a label for each chunk it is written in the one that
    is read first. If that is the later one, the earlier chunk may be left with nothing but a blank.
    """
    position = attrgetter("position")
    before = max((other for other in kept if other.position <= candidate.position), key=position, default=None)
    after = min((other for other in kept if other.position > candidate.position), key=position, default=None)
    nearest = [other for other in (before, after) if other is not None]
    text = candidate.text.strip()
    return next((other for other in nearest if text in other.chunk.text), nearest[0])


class Lineage:
    """The present form of each candidate, and its original if it is a copy."""

    def __init__(self) -> None:
        self._current: dict[int, Candidate] = {}
        self._duplicates: dict[int, tuple[Candidate, Reason]] = {}

    def record_forms(self, candidates: Iterable[Candidate]) -> None:
        """Record the present forms of candidates."""
        self._current |= {candidate.key: candidate for candidate in candidates}

    def merge_duplicates(
        self, candidates: Sequence[Candidate], original_of: Mapping[int, Candidate], why: Reason
    ) -> tuple[Candidate, ...]:
        """Record the copies among `candidates`; return the others with what they inherit. Both are best first."""
        if not original_of:
            return tuple(candidates)
        self.record_duplicates(original_of, why)
        heirs = inherit_ranks(candidates, original_of)
        self.record_forms(heirs)
        return heirs

    def record_duplicates(self, original_of: Mapping[int, Candidate], why: Reason) -> None:
        """Record copies by their keys, each with its original in any form. The originals inherit nothing."""
        self._duplicates |= {key: (original, why) for key, original in original_of.items()}

    def duplicates(self) -> dict[int, tuple[Candidate, Reason]]:
        """Return for each copy, by key, the candidate that represents it in the end, and the reason.

        The reason is the last one on the way there: an exact copy of a near duplicate is a near duplicate.
        """
        ends: dict[int, tuple[Candidate, Reason]] = {}
        for copy, (original, reason) in self._duplicates.items():
            end, why = original, reason
            while end.key in self._duplicates:
                end, why = self._duplicates[end.key]
            ends[copy] = (end, why)
        return ends

    def current(self, candidate: Candidate) -> Candidate:
        """Return the present form of `candidate`."""
        return self._current.get(candidate.key, candidate)


def inherit_ranks(candidates: Iterable[Candidate], original_of: Mapping[int, Candidate]) -> tuple[Candidate, ...]:
    """Return the candidates that are kept, best first, with what they inherit from their copies.

    A candidate gets the best score, and the rank and distance of the best, among itself and its copies. `candidates`
    are all of them, best first; `original_of` has the original of each copy.
    """
    groups: dict[int, list[Candidate]] = {}
    for candidate in candidates:
        groups.setdefault(original_of.get(candidate.key, candidate).key, []).append(candidate)
    heirs: list[Candidate] = []
    for key, group in groups.items():
        first, representative = group[0], next(candidate for candidate in group if candidate.key == key)
        score = max((candidate.score for candidate in group if candidate.score is not None), default=None)
        heirs.append(representative._replace(rank=first.rank, distance=first.distance, score=score))
    return tuple(heirs)
