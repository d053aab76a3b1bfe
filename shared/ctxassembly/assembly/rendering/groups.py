"""Groups: the selected candidates of one document, joined into stretches and divided into labels.

A layout is made of groups, and changes by whole groups: a document that a candidate joins gets a new group, which
shares with the one before it all stretches that the candidate doesn't meet. So a document of hundreds of passages costs
no more to try than one of a few, and what was measured of a stretch is measured once.

- Stretch: chunks that continue each other, joined into one text (`join.py`); a passage is the rendered part of it.
- Label: the passages below one header, by `cite` all of a document's, one, or one chunk's part of it.
- Run: labels of a document that are read together: all of them, or each by itself where an order spreads them.
"""

from __future__ import annotations

from bisect import bisect
from collections.abc import Callable, Iterable, Iterator, Sequence
from operator import add, attrgetter, sub
from typing import NamedTuple

from ctxassembly.assembly.rendering.excerpt import (
    DocumentText,
    blank_lines_length,
    build_document_texts,
    gap_marker,
)
from ctxassembly.assembly.rendering.order import SortKeys
from ctxassembly.cached_property import cached_property
from ctxassembly.data.candidates import GAP, Candidate, CitationBlock, HeaderDetail, Join, RenderedPart, TextPiece
from ctxassembly.data.chunks import Chunk, Span
from ctxassembly.tokens.counter import TokenSpan

GetJoin = Callable[[Chunk, Chunk, bool], "Join | None"]
"""From two chunks, and True if they are adjacent, to the joint at which the second continues the first, if any."""
GetRank = Callable[[Candidate], tuple[int, ...]]
"""The sort key of a chunk by relevance; smaller comes first."""
GroupKey = tuple[int, str | int]
"""The part of the context in which a group is read, and its document, or the rank of a hit that is passed through."""


def document_texts(candidates: Iterable[Candidate], get_join: GetJoin) -> Iterator[DocumentText]:
    """Yield the text that `candidates` make, by document, in the order of the documents' first candidates."""
    members: dict[str, list[Candidate]] = {}
    for candidate in candidates:
        members.setdefault(candidate.chunk.document_id, []).append(candidate)
    for group in members.values():
        yield from build_document_texts(sorted(group, key=reading_key), get_join)


def added_lengths(candidates: Iterable[Candidate], get_join: GetJoin) -> Iterator[int]:
    """Yield about how many characters each of `candidates` adds to those before it, without shared text."""
    known: dict[tuple[str, int], Candidate] = {}
    for candidate in candidates:
        document_id, position = candidate.chunk.document_id, candidate.position
        before, after = known.get((document_id, position - 1)), known.get((document_id, position + 1))
        known[document_id, position] = candidate
        length = len(candidate.text)
        if before and (found_join := get_join(before.chunk, candidate.chunk, True)):
            length -= found_join.overlap
        if after and (found_join := get_join(candidate.chunk, after.chunk, True)):
            length -= found_join.overlap
        yield max(length, 0)


reading_key = attrgetter("position", "rank")


class Size(NamedTuple):
    """The size of a part of a context. Sizes add up."""

    tokens: int = 0
    characters: int = 0
    labels: int = 0
    verbatim_tokens: int = 0
    """Tokens inside the text, which stay whatever is written around or between."""
    not_additive: int = 0
    """Number of portions that can't be counted apart."""
    contained_count: int = 0
    """Number of stretches in which a candidate has no piece, since others have its text."""
    fixed_tokens: int = 0
    """Tokens that stay whatever joins other documents."""

    def plus(self, other: Size) -> Size:
        """Return the two together."""
        return Size(*map(add, self, other))

    def minus(self, other: Size) -> Size:
        """Return the size without `other`."""
        return Size(*map(sub, self, other))


class MeasuredGroup(NamedTuple):
    """The size of a group."""

    total: Size
    """All of it, with a separator after each block."""
    separator_tokens: int
    """Tokens that go if nothing comes after it."""


class DocumentGroup:
    """The selected candidates of one document by stretches, in reading order.

    Its labels, its runs and its size are found out when they are first asked for, and kept.
    """

    def __init__(self, key: GroupKey, passages: list[DocumentText], relevance: tuple[int, int]) -> None:
        self.key = key
        self.passages = passages
        self.relevance = relevance
        """Rank and distance of its best candidate; with parts, the part and the rank of its document."""
        # A beginning of a text that is cut may have nothing but blanks, and then no passage.
        first_candidates = (passage.pieces[0].candidate for passage in passages if passage.pieces)
        first = next(first_candidates, passages[0].members[0][1])
        self.document_id = first.chunk.document_id
        self.sort_key = relevance, self.document_id, first.position
        """Its place in the order of relevance."""
        self.labels: Sequence[CitationBlock] | None = None
        self.runs: list[LabelRun] | None = None
        self.measured: MeasuredGroup | None = None

    @cached_property
    def candidates(self) -> list[Candidate]:
        """All of them."""
        return [candidate for passage in self.passages for candidate in passage.candidates]


class LabelRun:
    """Labels of one document that are shown together."""

    __slots__ = ("labels", "rendered", "sort_keys", "summary", "token_spans")

    def __init__(self, labels: Sequence[CitationBlock], summary: str, sort_keys: SortKeys) -> None:
        self.labels = labels
        self.summary = summary
        self.sort_keys = sort_keys
        self.token_spans: dict[tuple[tuple[int, ...], bool, HeaderDetail], TokenSpan] = {}
        self.rendered: tuple[tuple[tuple[int, ...], bool, HeaderDetail], list[list[RenderedPart]]] | None = None
        """The blocks that were written last, and by which numbers, lead and header."""


def extend_group(
    key: GroupKey, group: DocumentGroup | None, new: Sequence[Candidate], relevance: tuple[int, int], get_join: GetJoin
) -> DocumentGroup:
    """Return `group` with `new`, which are in reading order: only the stretches that they meet are joined again.

    `relevance` is the sort key of `new`.
    """
    if group is None:
        return DocumentGroup(key, build_document_texts(new, get_join), relevance)
    # The stretches [begin:end] are joined again with `new`: those between them, and those they meet on either side.
    existing = group.passages
    end = bisect(existing, reading_key(new[-1]), key=_reading_start)
    begin = bisect(existing, reading_key(new[0]), hi=end, key=_reading_start)
    if begin and (
        reading_key(new[0]) < reading_key(existing[begin - 1].members[-1][1])
        or _can_join(existing[begin - 1], new[0], get_join)
    ):
        begin -= 1
    while True:
        members = [*(candidate for passage in existing[begin:end] for _, candidate in passage.members), *new]
        passages = build_document_texts(sorted(members, key=reading_key), get_join)
        if end == len(existing) or not _can_join(passages[-1], existing[end].members[0][1], get_join):
            break
        end += 1
    all_passages = [*existing[:begin], *passages, *existing[end:]]
    return DocumentGroup(key, all_passages, min(group.relevance, relevance))


def _reading_start(passage: DocumentText) -> tuple[int, int]:
    return reading_key(passage.members[0][1])


def _can_join(passage: DocumentText, after: Candidate, get_join: GetJoin) -> bool:
    is_adjacent = after.position == passage.members[-1][1].position + 1
    return get_join(passage.last_chunk, after.chunk, is_adjacent) is not None


def label_runs(
    group: DocumentGroup,
    labels: Sequence[CitationBlock],
    *,
    summary: str,
    source_and_page: tuple[str, int | str | None],
    get_rank: GetRank | None,
) -> list[LabelRun]:
    """Return the runs of a document with `labels`.

    Some orders sort by `source_and_page`, its source and first page. `get_rank` ranks chunks; without it all labels
    make one run.
    """
    ranked = _ranked_labels(group.candidates, labels, get_rank) if get_rank else [(labels, group.relevance)]
    runs = []
    for run_labels, relevance in ranked:
        # A beginning of a text that is cut may have nothing but blanks, and then no label.
        first = run_labels[0].passages[0][0].candidate if run_labels else group.candidates[0]
        sort_keys = SortKeys(relevance, first.chunk.document_id, first.position, *source_and_page)
        runs.append(LabelRun(run_labels, summary, sort_keys))
    return runs


def added_texts(new: Sequence[Candidate], existing: Sequence[Candidate], get_join: GetJoin) -> list[str]:
    """Return the texts that `new` add to `existing`, which are in reading order, all of one document.

    They are a lower bound: what is hard to foresee is left out.
    """
    if len(new) > 1 and any(candidate.kept_spans is not None for candidate in new):
        return []
    new, texts = sorted(new, key=reading_key), list[str]()
    before = after = None
    for number, candidate in enumerate(new):
        if existing:
            at = bisect(existing, reading_key(candidate), key=reading_key)
            before = max([*existing[at - 1 : at], *new[number - 1 : number]], key=reading_key, default=None)
            after = existing[at] if at < len(existing) else None
            # Text that two of `new` share counts with the first.
            if after and number + 1 < len(new) and reading_key(new[number + 1]) < reading_key(after):
                after = None
        if (span := _exclusive_span(before, candidate, after, get_join)) is not None:
            texts += _kept_text_in(span, candidate)
        before = candidate
    return texts


def _kept_text_in(span: Span, candidate: Candidate) -> list[str]:
    """Return the kept text of a candidate within `span`, slice by slice."""
    begin, end = span
    text = candidate.chunk.text
    return [text[max(start, begin) : min(stop, end)] for start, stop in candidate.spans if start < end and stop > begin]


def _exclusive_span(
    before: Candidate | None, candidate: Candidate, after: Candidate | None, get_join: GetJoin
) -> Span | None:
    """Return the span of a candidate that neither adjacent candidate covers; None if `before` contains it."""
    text = candidate.chunk.text
    begin = _overlap_with(before, candidate, get_join) if before else 0
    if begin == len(text):  # what comes after it continues the one that contains it
        return None
    end = len(text)
    if after is not None:
        overlap = _overlap_with(candidate, after, get_join)
        end = 0 if overlap == len(after.chunk.text) else end - overlap
    return begin, end


def _overlap_with(first: Candidate, second: Candidate, get_join: GetJoin) -> int:
    found_join = get_join(first.chunk, second.chunk, second.position == first.position + 1)
    return found_join.overlap if found_join else 0


def _ranked_labels(
    candidates: Sequence[Candidate], labels: Sequence[CitationBlock], get_rank: GetRank
) -> list[tuple[Sequence[CitationBlock], tuple[int, ...]]]:
    """Return each label as a run of its own, and its relevance by its best chunk.

    A chunk without text of its own counts for the label before it, which contains it.
    """
    label_of = {
        piece.candidate.key: at for at, label in enumerate(labels) for passage in label.passages for piece in passage
    }
    best: dict[int, tuple[int, ...]] = {}
    at = 0
    for candidate in candidates:
        at = label_of.get(candidate.key, at)
        rank = get_rank(candidate)
        best[at] = min(best.get(at, rank), rank)
    return [([label], best[at]) for at, label in enumerate(labels)]


def passage_labels(passage: tuple[TextPiece, ...], cite: str, order: str, get_rank: GetRank) -> list[CitationBlock]:
    """Return the labels of a passage by `cite`: one, or one for each chunk, in the `order` of the context.

    Where a document has one label, that is made of all its passages.
    """
    if cite == "passage":
        return [CitationBlock([passage], best_candidate(passage), "")]
    pieces_by_candidate: dict[int, list[TextPiece]] = {}
    for piece in _assign_shared_text(passage, order, get_rank):
        if piece.text.strip():
            pieces_by_candidate.setdefault(piece.candidate.key, []).append(piece)
    return [
        CitationBlock([_strip_leading_blank(_trim_passage(_separate_pieces(own)))], own[0].candidate, "")
        for own in pieces_by_candidate.values()
    ]


def _trim_passage(pieces: list[TextPiece]) -> tuple[TextPiece, ...]:
    """Return the pieces without the blank lines before and the white space after them; at least one has other text."""
    while len(pieces) > 1 and not pieces[-1].text.strip():
        pieces.pop()
    first, last = pieces[0], pieces[-1]
    pieces[-1] = last._replace(end=last.start + len(last.text.rstrip()))
    pieces[0] = pieces[0]._replace(start=first.start + blank_lines_length(first.text))
    return tuple(pieces)


def _assign_shared_text(passage: Sequence[TextPiece], order: str, get_rank: GetRank) -> Sequence[TextPiece]:
    """Return the pieces, with text that two chunks share assigned to the chunk that is read first.

    In joined text, shared text belongs to the chunk that is earlier in the document. If the order depends on what else
    is included between the two (`edges`, `interleaved`), the better-ranked chunk counts as read first.
    """
    if len(passage) < 2 or order in _DOCUMENT_ORDERS:
        return passage
    pieces = list(passage)
    for at in range(1, len(pieces)):
        first, second = pieces[at - 1], pieces[at]
        is_read_first = get_rank(second.candidate) < get_rank(first.candidate)
        if order == "reverse":
            is_read_first = get_rank(first.candidate) < get_rank(second.candidate)
        shared = second.overlap
        if not is_read_first or not 0 < shared == second.start or shared >= first.end - first.start:
            continue
        if first.text.endswith(second.candidate.chunk.text[:shared]):
            pieces[at - 1] = first._replace(end=first.end - shared, overlap=first.overlap + shared)
            pieces[at] = second._replace(start=0, overlap=0)
    return pieces


_DOCUMENT_ORDERS = ("documents", "document_order", "stable")
"""The orders that show the labels of one document in document order."""


def _strip_leading_blank(pieces: tuple[TextPiece, ...]) -> tuple[TextPiece, ...]:
    """Return the pieces without the blank at the beginning of a chunk inside a line that another label has begun.

    The indentation of a line that begins there stays.
    """
    first = pieces[0]
    text = first.text
    blank = len(text) - len(text.lstrip())
    if not blank or not first.start or "\n" in first.candidate.chunk.text[first.start - 1 : first.start + blank]:
        return pieces
    return (first._replace(start=first.start + blank), *pieces[1:])


def _separate_pieces(pieces: Sequence[TextPiece]) -> list[TextPiece]:
    """Return the pieces of one chunk without the text of other chunks between them."""
    separated = [pieces[0]._replace(separator="")]
    for piece in pieces[1:]:
        last = separated[-1]
        is_apart = piece.start > last.end
        if is_apart:
            separated[-1] = last._replace(end=last.start + len(last.text.rstrip()))
        if is_apart and GAP not in piece.separator:
            start = piece.end - len(piece.text.lstrip())
            marker = gap_marker(piece.candidate.chunk.text, separated[-1].end, start)
            separated.append(piece._replace(start=start, separator=marker))
        else:
            separated.append(piece)
    return separated


def best_candidate(passage: Sequence[TextPiece]) -> Candidate:
    """Return the best-ranked of its chunks, a hit before a neighbor."""
    return min([piece.candidate for piece in passage], key=rank_key) if len(passage) > 1 else passage[0].candidate


def rank_key(candidate: Candidate) -> tuple[bool, int, int]:
    """Return a key by which the best candidate comes first: hits before neighbors."""
    return candidate.distance > 0, candidate.rank, candidate.distance
