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

from ctxassembly.data.chunks import Chunk, Fragment, Span
from ctxassembly.data.citations import Assembled, Passage
from ctxassembly.errors import InputError
from ctxassembly.safe_repr import shown
from ctxassembly.tracing.decisions import FRAGMENTS
from ctxassembly.views.html import Html, joined, marked, tag

Evidence = str | tuple[str, int, int]
"""A text, or a span of a document: its id, start and end in characters, half-open."""


@dataclass(frozen=True)
class Located:
    """A piece of evidence, and the places where it was found."""

    evidence: Evidence
    share: float
    """The part of it that stands in the context, 0 to 1."""
    standing: dict[int, list[Span]]
    """Where it stands: slices of the text of candidates, by key."""
    fragments: dict[int, list[Span]]
    """Where it was retrieved: slices of the text of fragments, by rank."""
    nearly: bool = False
    """True if capitals or punctuation differ."""

    @property
    def said(self) -> str:
        """The evidence in words."""
        if isinstance(self.evidence, str):
            return self.evidence
        document_id, start, end = self.evidence
        return f"{document_id}, characters {start:,}–{end:,}"


def checked(evidence: Any) -> tuple[Evidence, ...]:
    """`evidence` as a tuple.

    Raises:
        InputError: it is no sequence, or one of its pieces is neither a text nor a span.
    """
    if isinstance(evidence, str) or not isinstance(evidence, Sequence):  # each letter of a text would be a piece
        raise InputError(f"evidence must be a sequence of texts or (document_id, start, end), got {shown(evidence)}")
    for piece in evidence:
        match piece:
            case str() if piece.strip():
                continue
            case (str(), int(start), int(end)) if 0 <= start < end:
                continue
        raise InputError(f"evidence must be texts or (document_id, start, end), got {shown(piece)}")
    return tuple(evidence)


def located(context: Assembled, evidence: Sequence[Evidence]) -> tuple[Located, ...]:
    """Each piece of `evidence` with the places where it was found."""
    hits = [hit for hit in context.hits if hit.rank < FRAGMENTS]
    found = {
        piece: _text(context, hits, piece) if isinstance(piece, str) else _span(context, hits, piece)
        for piece in dict.fromkeys(evidence)
    }
    return tuple(found[piece] for piece in evidence)


def _text(context: Assembled, hits: Sequence[Fragment], wanted: str) -> Located:
    for nearly, pattern in enumerate((_exactly(wanted), _by_words(wanted))):
        standing: dict[int, list[Span]] = defaultdict(list)
        for passage in context.passages:
            for match in pattern.finditer(passage.text):
                for key, span in _pieces_of(passage, match.span()):
                    standing[key].append(span)
        fragments = {hit.rank: spans for hit in hits if (spans := [m.span() for m in pattern.finditer(hit.chunk.text)])}
        if standing:
            return Located(wanted, 1.0, dict(standing), fragments, bool(nearly))
        if fragments:
            return _in_part(context, hits, Located(wanted, 0.0, {}, fragments, bool(nearly)))
    return Located(wanted, 0.0, {}, {})


def _exactly(wanted: str) -> re.Pattern[str]:
    return re.compile(r"\s+".join(map(re.escape, wanted.split())))


def _by_words(wanted: str) -> re.Pattern[str]:
    """The words of `wanted` in their order. What is between two of them is too short for the marker of a gap."""
    words = re.findall(r"\w+", wanted)
    between = r"\W{1,4}".join(map(re.escape, words))
    return re.compile(rf"(?<!\w){between}(?!\w)" if words else r"(?!)", re.IGNORECASE)


def _pieces_of(passage: Passage, span: Span) -> Iterator[tuple[int, Span]]:
    """The slices of chunks that make `span` of the passage's text, each with the key of its candidate."""
    at = 0
    for piece in passage.pieces:
        at += len(piece.glue)
        start, end = max(span[0], at), min(span[1], at + len(piece.text))
        if start < end:
            yield piece.candidate.key, (piece.start + start - at, piece.start + end - at)
        at += len(piece.text)


def _in_part(context: Assembled, hits: Sequence[Fragment], found: Located) -> Located:
    """`found` with the part that stands of evidence which a fragment has whole and no passage has."""
    best = found
    by_rank = {hit.rank: hit for hit in hits}
    for rank, spans in found.fragments.items():
        chunk = by_rank[rank].chunk
        standing: dict[int, list[Span]] = defaultdict(list)
        for key, span in _stands(context, chunk, spans[0]):
            standing[key].append(span)
        length = sum(end - start for of_one in standing.values() for start, end in of_one)
        share = length / (spans[0][1] - spans[0][0])
        if share > best.share:
            best = Located(found.evidence, share, dict(standing), found.fragments, found.nearly)
    return best


def _stands(context: Assembled, chunk: Chunk, span: Span) -> Iterator[tuple[int, Span]]:
    for passage in context.passages:
        for piece in passage.pieces:
            of = piece.candidate.chunk
            start, end = max(piece.start, span[0]), min(piece.end, span[1])
            if (of.id, of.document_id, of.text) == (chunk.id, chunk.document_id, chunk.text) and start < end:
                yield piece.candidate.key, (start, end)


def _span(context: Assembled, hits: Sequence[Fragment], wanted: tuple[str, int, int]) -> Located:
    document_id, begin, stop = wanted
    standing: dict[int, list[Span]] = defaultdict(list)
    covered: list[Span] = []
    for passage in context.passages:
        for piece in passage.pieces:
            chunk, key = piece.candidate.chunk, piece.candidate.key
            if chunk.start is None or chunk.document_id != document_id:
                continue
            start, end = max(piece.start, begin - chunk.start), min(piece.end, stop - chunk.start)
            if start < end:
                standing[key].append((start, end))
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
    return Located(wanted, length / (stop - begin), dict(standing), fragments)


# The prefixes of the ids of a view: by its content, so that the same page is written again byte for byte.
#
# A notebook may show one context twice. Ids of a page have to be unique, else the links of the second view lead into
# the first; so a view in a notebook counts how often its content was shown before in this process. Run from its
# beginning, a notebook gets the same ids again.


MOST_SHOWN = 10_000
"""Contents whose views are counted. One that was first shown longer ago begins anew: its page is long out of sight."""
_SHOWN: dict[str, Iterator[int]] = {}
"""For each content the numbers of its next views. `next` of one is atomic, and so needs no lock."""


def anchor(context: Assembled, found: Sequence[Located]) -> str:
    """The prefix for a page of its own: by the text, the decisions and the evidence, not by the times in the trace."""
    shown = f"{context.trace.decisions!r}{context.text}" + "\0".join(one.said for one in found)
    return _digest(shown)


def next_anchor(context: Assembled, found: Sequence[Located]) -> str:
    """The prefix for one more view on a page that it shares with others; that of the first is that of `anchor`."""
    first = anchor(context, found)
    before = next(_SHOWN.setdefault(first, count()))
    while len(_SHOWN) > MOST_SHOWN:
        _SHOWN.pop(next(iter(_SHOWN)), None)
    return _digest(f"{first} {before}") if before else first


def _digest(text: str) -> str:
    return "cxa-" + blake2b(text.encode("utf-8", "replace"), digest_size=4).hexdigest()


Mark = tuple[Span, tuple[int, ...]]
"""A stretch of text to mark, and the numbers of the pieces that it is evidence of, from 0."""


@dataclass(frozen=True)
class Marks:
    """The stretches of text to mark. They may overlap."""

    standing: dict[int, list[Mark]] = field(default_factory=dict)
    """In the text of candidates, by key."""
    fragments: dict[int, list[Mark]] = field(default_factory=dict)
    """In the text of fragments, by rank."""


def marks(found: Sequence[Located]) -> Marks:
    """The marks of all of `found`."""
    numbers: dict[Evidence, list[int]] = defaultdict(list)
    for number, one in enumerate(found):
        numbers[one.evidence].append(number)
    standing: dict[int, list[Mark]] = defaultdict(list)
    fragments: dict[int, list[Mark]] = defaultdict(list)
    for one in {one.evidence: one for one in found}.values():
        own = tuple(numbers[one.evidence])
        for all_of, spans_of in ((standing, one.standing), (fragments, one.fragments)):
            for key, spans in spans_of.items():
                all_of[key] += [(span, own) for span in spans]
    return Marks(dict(standing), dict(fragments))


def in_passage(passage: Passage, marks: Marks) -> list[Mark]:
    """The marks in the text of `passage`, which count in it."""
    found: list[Mark] = []
    at = 0
    for piece in passage.pieces:
        at += len(piece.glue)
        for (start, end), numbers in marks.standing.get(piece.candidate.key, ()):
            first, last = max(start, piece.start), min(end, piece.end)
            if first < last:
                found.append(((at + first - piece.start, at + last - piece.start), numbers))
        at += len(piece.text)
    return found


_NAMED = 5
"""Most pieces of evidence that a mark names."""


def evident(
    text: str,
    spans: Iterable[Mark],
    begin: int = 0,
    ids: Callable[[Sequence[int]], Sequence[str]] | None = None,
) -> Html:
    """`text`, which begins at offset `begin` of what `spans` count in, with each piece of evidence marked.

    `spans` have the numbers of the pieces, from 0. `ids` gives the ids of a mark for the numbers that stand in it.

    >>> evident("Drink water.", [((6, 11), (0,))])
    'Drink <mark class="cxa-evidence" title="evidence 1">water</mark>.'
    """
    parts = marked(text, spans, begin)
    return joined(*(_mark(part, numbers, ids(numbers) if ids else ()) if numbers else part for part, numbers in parts))


def _mark(text: str, numbers: Sequence[int], ids: Sequence[str]) -> Html:
    inside: str = text
    for id_ in ids[1:]:
        inside = tag("span", inside, id_=id_, tabindex="-1")
    rest = f" and {len(numbers) - _NAMED:,} more" if len(numbers) > _NAMED else ""
    return tag(
        "mark",
        inside,
        class_="cxa-evidence",
        id_=ids[0] if ids else None,
        tabindex="-1" if ids else None,
        title="evidence " + ", ".join(f"{number + 1}" for number in numbers[:_NAMED]) + rest,
    )
