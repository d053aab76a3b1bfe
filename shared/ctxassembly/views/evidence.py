"""Evidence that a reader names, looked up in the context and in the retrieved fragments.

A text is found as `compare` finds it: white space aside. If it is nowhere in the context and in no fragment, it is
looked for once more by its words alone, whatever their capitals and the punctuation between them. It may stand in part,
where sentences were chosen: then the rest is in the fragment only.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from itertools import count
from typing import Any

from ctxassembly.data.chunks import Chunk, RetrievedFragment, Span
from ctxassembly.data.citations import ContextData, Passage
from ctxassembly.errors import InputError
from ctxassembly.safe_repr import safe_repr
from ctxassembly.tracing.decisions import MAX_SHOWN_HITS
from ctxassembly.views.html import Html, join_html, split_at_marks, tag

Evidence = str | tuple[str, int, int]
"""A text, or a span of a document: its id, start and end in characters, half-open."""


@dataclass(frozen=True)
class LocatedEvidence:
    """A piece of evidence, and the places where it was found."""

    evidence: Evidence
    share_read: float
    """The part of it that stands in the context, 0 to 1."""
    context_spans: dict[int, list[Span]]
    """Where it stands: slices of the text of candidates, by key."""
    fragment_spans: dict[int, list[Span]]
    """Where it was retrieved: slices of the text of fragments, by rank."""
    is_inexact: bool = False
    """True if capitals or punctuation differ."""

    @property
    def text(self) -> str:
        """The evidence in words."""
        if isinstance(self.evidence, str):
            return self.evidence
        document_id, start, end = self.evidence
        return f"{document_id}, characters {start:,}–{end:,}"


def check_evidence(evidence: Any) -> tuple[Evidence, ...]:
    """`evidence` as a tuple.

    Raises:
        InputError: it is no sequence, or one of its pieces is neither a text nor a span.
    """
    if isinstance(evidence, str) or not isinstance(evidence, Sequence):  # each letter of a text would be a piece
        raise InputError(
            f"evidence must be a sequence of texts or (document_id, start, end), got {safe_repr(evidence)}"
        )
    for piece in evidence:
        match piece:
            case str() if piece.strip():
                continue
            case (str(), int(start), int(end)) if 0 <= start < end:
                continue
        raise InputError(f"evidence must be texts or (document_id, start, end), got {safe_repr(piece)}")
    return tuple(evidence)


def locate_evidence(context: ContextData, evidence: Sequence[Evidence]) -> tuple[LocatedEvidence, ...]:
    """Each piece of `evidence` with the places where it was found."""
    hits = [hit for hit in context.hits if hit.rank < MAX_SHOWN_HITS]
    found = {
        piece: _locate_text(context, hits, piece) if isinstance(piece, str) else _locate_span(context, hits, piece)
        for piece in dict.fromkeys(evidence)
    }
    return tuple(found[piece] for piece in evidence)


def _locate_text(context: ContextData, hits: Sequence[RetrievedFragment], wanted: str) -> LocatedEvidence:
    for is_inexact, pattern in enumerate((_exact_pattern(wanted), _word_pattern(wanted))):
        context_spans: dict[int, list[Span]] = defaultdict(list)
        for passage in context.passages:
            for match in pattern.finditer(passage.text):
                for key, span in _candidate_spans(passage, match.span()):
                    context_spans[key].append(span)
        fragments = {hit.rank: spans for hit in hits if (spans := [m.span() for m in pattern.finditer(hit.chunk.text)])}
        if context_spans:
            return LocatedEvidence(wanted, 1.0, dict(context_spans), fragments, bool(is_inexact))
        if fragments:
            return _locate_partially(context, hits, LocatedEvidence(wanted, 0.0, {}, fragments, bool(is_inexact)))
    return LocatedEvidence(wanted, 0.0, {}, {})


def _exact_pattern(wanted: str) -> re.Pattern[str]:
    return re.compile(r"\s+".join(map(re.escape, wanted.split())))


def _word_pattern(wanted: str) -> re.Pattern[str]:
    """The words of `wanted` in their order. What is between two of them is too short for the marker of a gap."""
    words = re.findall(r"\w+", wanted)
    between = r"\W{1,4}".join(map(re.escape, words))
    return re.compile(rf"(?<!\w){between}(?!\w)" if words else r"(?!)", re.IGNORECASE)


def _candidate_spans(passage: Passage, span: Span) -> Iterator[tuple[int, Span]]:
    """The slices of chunks that make `span` of the passage's text, each with the key of its candidate."""
    at = 0
    for piece in passage.pieces:
        at += len(piece.separator)
        start, end = max(span[0], at), min(span[1], at + len(piece.text))
        if start < end:
            yield piece.candidate.key, (piece.start + start - at, piece.start + end - at)
        at += len(piece.text)


def _locate_partially(
    context: ContextData, hits: Sequence[RetrievedFragment], located: LocatedEvidence
) -> LocatedEvidence:
    """`locate_evidence` with the part that stands of evidence which a fragment has whole and no passage has."""
    best = located
    by_rank = {hit.rank: hit for hit in hits}
    for rank, spans in located.fragment_spans.items():
        chunk = by_rank[rank].chunk
        context_spans: dict[int, list[Span]] = defaultdict(list)
        for key, span in _chunk_spans(context, chunk, spans[0]):
            context_spans[key].append(span)
        length = sum(end - start for key_spans in context_spans.values() for start, end in key_spans)
        share = length / (spans[0][1] - spans[0][0])
        if share > best.share_read:
            best = LocatedEvidence(
                located.evidence, share, dict(context_spans), located.fragment_spans, located.is_inexact
            )
    return best


def _chunk_spans(context: ContextData, chunk: Chunk, span: Span) -> Iterator[tuple[int, Span]]:
    for passage in context.passages:
        for piece in passage.pieces:
            other = piece.candidate.chunk
            start, end = max(piece.start, span[0]), min(piece.end, span[1])
            if (other.id, other.document_id, other.text) == (chunk.id, chunk.document_id, chunk.text) and start < end:
                yield piece.candidate.key, (start, end)


def _locate_span(
    context: ContextData, hits: Sequence[RetrievedFragment], wanted: tuple[str, int, int]
) -> LocatedEvidence:
    document_id, begin, stop = wanted
    context_spans: dict[int, list[Span]] = defaultdict(list)
    covered: list[Span] = []
    for passage in context.passages:
        for piece in passage.pieces:
            chunk, key = piece.candidate.chunk, piece.candidate.key
            if chunk.start is None or chunk.document_id != document_id:
                continue
            start, end = max(piece.start, begin - chunk.start), min(piece.end, stop - chunk.start)
            if start < end:
                context_spans[key].append((start, end))
                covered.append((start + chunk.start, end + chunk.start))
    fragments: dict[int, list[Span]] = {}
    for rank, chunk, _, characters in hits:
        if chunk.start is not None and chunk.document_id == document_id and len(chunk.text) == characters:
            start, end = max(begin - chunk.start, 0), min(stop - chunk.start, characters)
            if start < end:
                fragments[rank] = [(start, end)]
    length, reached = 0, begin
    for start, end in sorted(covered):
        length += max(end - max(start, reached), 0)
        reached = max(reached, end)
    return LocatedEvidence(wanted, length / (stop - begin), dict(context_spans), fragments)


# The prefixes of the ids of a view: by its content, so that the same page is written again byte for byte.
#
# A notebook may show one context twice. Ids of a page have to be unique, else the links of the second view lead into
# the first; so a view in a notebook counts how often its content was shown before in this process. Run from its
# beginning, a notebook gets the same ids again.


MAX_COUNTED_CONTENTS = 10_000
"""Contents whose views are counted. One that was first shown longer ago begins anew: its page is long out of sight."""
_VIEW_NUMBERS: dict[str, Iterator[int]] = {}
"""For each content the numbers of its next views. `next` of one is atomic, and so needs no lock."""


def page_anchor(context: ContextData, evidence: Sequence[LocatedEvidence]) -> str:
    """The prefix for a page of its own: by the text, the decisions and the evidence, not by the times in the trace."""
    content = f"{context.trace.decisions!r}{context.text}" + "\0".join(one.text for one in evidence)
    return _anchor_prefix(content)


def notebook_anchor(context: ContextData, evidence: Sequence[LocatedEvidence]) -> str:
    """The prefix for one more view on a page that it shares with others; that of the first is that of `page_anchor`."""
    first = page_anchor(context, evidence)
    views_before = next(_VIEW_NUMBERS.setdefault(first, count()))
    while len(_VIEW_NUMBERS) > MAX_COUNTED_CONTENTS:
        _VIEW_NUMBERS.pop(next(iter(_VIEW_NUMBERS)), None)
    return _anchor_prefix(f"{first} {views_before}") if views_before else first


def _anchor_prefix(text: str) -> str:
    return "cxa-" + blake2b(text.encode("utf-8", "replace"), digest_size=4).hexdigest()


Mark = tuple[Span, tuple[int, ...]]
"""A stretch of text to mark, and the numbers of the pieces that it is evidence of, from 0."""


@dataclass(frozen=True)
class EvidenceMarks:
    """The stretches of text to mark. They may overlap."""

    context_marks: dict[int, list[Mark]] = field(default_factory=dict)
    """In the text of candidates, by key."""
    fragment_marks: dict[int, list[Mark]] = field(default_factory=dict)
    """In the text of fragments, by rank."""


def mark_evidence(evidence: Sequence[LocatedEvidence]) -> EvidenceMarks:
    """The marks of all of `locate_evidence`."""
    numbers: dict[Evidence, list[int]] = defaultdict(list)
    for number, one in enumerate(evidence):
        numbers[one.evidence].append(number)
    context_marks: dict[int, list[Mark]] = defaultdict(list)
    fragment_marks: dict[int, list[Mark]] = defaultdict(list)
    for one in {one.evidence: one for one in evidence}.values():
        own = tuple(numbers[one.evidence])
        for all_of, spans_of in ((context_marks, one.context_spans), (fragment_marks, one.fragment_spans)):
            for key, spans in spans_of.items():
                all_of[key] += [(span, own) for span in spans]
    return EvidenceMarks(dict(context_marks), dict(fragment_marks))


def passage_marks(passage: Passage, marks: EvidenceMarks) -> list[Mark]:
    """The marks in the text of `passage`, which count in it."""
    shifted: list[Mark] = []
    at = 0
    for piece in passage.pieces:
        at += len(piece.separator)
        for (start, end), numbers in marks.context_marks.get(piece.candidate.key, ()):
            first, last = max(start, piece.start), min(end, piece.end)
            if first < last:
                shifted.append(((at + first - piece.start, at + last - piece.start), numbers))
        at += len(piece.text)
    return shifted


_MAX_NAMED = 5
"""Most pieces of evidence that a mark names."""


def highlight_evidence(
    text: str,
    spans: Iterable[Mark],
    start_offset: int = 0,
    get_ids: Callable[[Sequence[int]], Sequence[str]] | None = None,
) -> Html:
    """`text`, which begins at offset `start_offset` of what `spans` count in, with each piece of evidence marked.

    `spans` have the numbers of the pieces, from 0. `get_ids` gives the ids of a mark for the numbers that stand in it.

    >>> highlight_evidence("Drink water.", [((6, 11), (0,))])
    'Drink <mark class="cxa-evidence" title="evidence 1">water</mark>.'
    """
    parts = split_at_marks(text, spans, start_offset)
    return join_html(
        *(_mark_tag(part, numbers, get_ids(numbers) if get_ids else ()) if numbers else part for part, numbers in parts)
    )


def _mark_tag(text: str, numbers: Sequence[int], ids: Sequence[str]) -> Html:
    inside: str = text
    for id_ in ids[1:]:
        inside = tag("span", inside, id_=id_, tabindex="-1")
    rest = f" and {len(numbers) - _MAX_NAMED:,} more" if len(numbers) > _MAX_NAMED else ""
    return tag(
        "mark",
        inside,
        class_="cxa-evidence",
        id_=ids[0] if ids else None,
        tabindex="-1" if ids else None,
        title="evidence " + ", ".join(f"{number + 1}" for number in numbers[:_MAX_NAMED]) + rest,
    )
