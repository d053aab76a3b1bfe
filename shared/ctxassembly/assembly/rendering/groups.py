"""Groups: the selected candidates of one document, joined into stretches and divided into labels.

A layout is made of groups, and changes by whole groups: a document that a candidate joins gets a new group, which
shares with the one before it all stretches that the candidate doesn't meet. So a document of hundreds of passages costs
no more to try than one of a few, and what was measured of a stretch is measured once.

- Stretch: chunks that continue each other, laid on one line of text (`join.py`); the passage is what is written of it.
- Label: the passages below one header, by `cite` all of a document's, one, or one chunk's part of it.
- Run: labels of a document that are read together: all of them, or each by itself where an order spreads them.
"""

from __future__ import annotations

from bisect import bisect
from collections.abc import Callable, Container, Sequence
from operator import add, attrgetter, sub
from typing import NamedTuple

from ctxassembly.assembly.rendering.join import Stretch, join, trimmed
from ctxassembly.assembly.rendering.order import Place
from ctxassembly.data.candidates import GAP, Candidate, Header, Joint, Label, Part, Piece
from ctxassembly.data.chunks import Chunk, Span
from ctxassembly.tokens.counter import Measured

Joints = Callable[[Chunk, Chunk, bool], "Joint | None"]
"""From two chunks, and True if they are adjacent, to the joint at which the second continues the first, if any."""

MANY = 32
"""Stretches of a document beyond which only those around a chunk are looked at."""
Page = int | str
in_reading_order = attrgetter("position", "rank")


class Size(NamedTuple):
    """The size of a part of a context. Sizes add up."""

    tokens: int = 0
    characters: int = 0
    labels: int = 0
    verbatim: int = 0
    """Tokens inside the text, which stay whatever is written around or between."""
    loose: int = 0
    """Number of portions that can't be counted apart."""
    mixed: int = 0
    """Number of stretches in which a candidate has no piece, since others have its text."""

    def plus(self, other: Size) -> Size:
        """The two together."""
        return Size(*map(add, self, other))

    def less(self, other: Size) -> Size:
        """The size without `other`."""
        return Size(*map(sub, self, other))


class Sized(NamedTuple):
    """The size of a group."""

    whole: Size
    """All of it, with a separator after each block."""
    middle: Size
    """All stretches but the first and the last."""
    separator: int
    """Tokens that go if nothing comes after it."""
    settled: int
    """Tokens that stay whatever joins other documents."""
    lead: str
    """The text before its first passage: the header, and the summary."""
    best: Candidate
    pages: tuple[Page, ...]
    exact: bool
    """False if the header has yet to name another page."""


class Group:
    """The selected candidates of one document by stretches, in reading order.

    Its runs and its size are found out when they are first asked for, and kept.
    """

    __slots__ = (
        "_candidates",
        "before",
        "begin",
        "document_id",
        "end",
        "key",
        "place",
        "relevance",
        "runs",
        "sized",
        "stretches",
    )

    def __init__(
        self,
        key: object,
        stretches: list[Stretch],
        relevance: tuple[int, int],
        before: Group | None = None,
        begin: int = 0,
        end: int = 0,
    ) -> None:
        self.key = key
        self.stretches = stretches
        self.relevance = relevance
        """Rank and distance of its best candidate."""
        self.before = before
        """The group that it replaces, until it is measured; for its stretches `[begin:end]` others stand now."""
        self.begin = begin
        self.end = end
        # A beginning of a text that is cut may have nothing but blanks, and then no passage.
        written = (stretch.passage[0].candidate for stretch in stretches if stretch.passage)
        first = next(written, stretches[0].candidates[0])
        self.document_id = first.chunk.document_id
        self.place = relevance, self.document_id, first.position
        """Its place in the order of relevance."""
        self._candidates: list[Candidate] | None = None
        self.runs: list[Run] | None = None
        self.sized: Sized | None = None

    @property
    def candidates(self) -> list[Candidate]:
        """All of them."""
        if self._candidates is None:
            self._candidates = [candidate for stretch in self.stretches for candidate in stretch.candidates]
        return self._candidates

    @property
    def changed(self) -> tuple[Sequence[Stretch], Sequence[Stretch]]:
        """The stretches that are gone since the last change, and those that have come."""
        if self.before is None:
            return (), self.stretches
        gone = self.before.stretches[self.begin : self.end]
        return gone, self.stretches[self.begin : self.end + len(self.stretches) - len(self.before.stretches)]

    def around(self, new: Sequence[Candidate]) -> list[Candidate]:
        """Its candidates between `new`, before them and after them, as far as they may meet."""
        if len(self.stretches) <= MANY:
            return self.candidates
        keys = [in_reading_order(candidate) for candidate in new]
        begin = bisect(self.stretches, min(keys), key=_begins) - 1
        end = bisect(self.stretches, max(keys), key=_begins) + 1
        return [candidate for stretch in self.stretches[max(begin, 0) : end] for candidate in stretch.candidates]

    def has_gap_for(self, new: Candidate, joint: Joints) -> bool:
        """True if `new` would stand between two of its stretches and meet neither."""
        at = bisect(self.stretches, in_reading_order(new), key=_begins)
        if not 0 < at < len(self.stretches):
            return False
        before, after = self.stretches[at - 1], self.stretches[at].candidates[0]
        return (
            in_reading_order(before.candidates[-1]) < in_reading_order(new)
            and not _meets(before, new, joint)
            and joint(new.chunk, after.chunk, after.position == new.position + 1) is None
        )


class Run:
    """Labels of one document that stand together."""

    __slots__ = ("labels", "measured", "place", "summary", "written")

    def __init__(self, labels: Sequence[Label], summary: str, place: Place) -> None:
        self.labels = labels
        self.summary = summary
        self.place = place
        self.measured: dict[tuple[int, bool, Header], Measured] = {}
        self.written: tuple[tuple[int, bool, Header], list[list[Part]]] | None = None
        """The blocks that were written last, and by which first label, lead and header."""

    def labelled(self, *, leads: bool) -> Sequence[Label]:
        """Its labels, the page summary in the first one if that is the first of its document."""
        if not (leads and self.summary and self.labels):
            return self.labels
        return [self.labels[0]._replace(summary=self.summary), *self.labels[1:]]


def joined(key: object, group: Group | None, new: Sequence[Candidate], joint: Joints) -> Group:
    """`group` with `new`, which are in reading order: only the stretches that they meet are joined anew."""
    relevance = min([(candidate.rank, candidate.distance) for candidate in new])
    if group is None:
        return Group(key, join(new, joint), relevance)
    # The stretches [begin:end] are joined anew with `new`: those between them, and on either side those that they meet.
    standing = group.stretches
    end = bisect(standing, in_reading_order(new[-1]), key=_begins)
    begin = bisect(standing, in_reading_order(new[0]), hi=end, key=_begins)
    if begin and (
        in_reading_order(new[0]) < in_reading_order(standing[begin - 1].candidates[-1])
        or _meets(standing[begin - 1], new[0], joint)
    ):
        begin -= 1
    while True:
        members = [*(candidate for stretch in standing[begin:end] for candidate in stretch.candidates), *new]
        stretches = join(sorted(members, key=in_reading_order), joint)
        if end == len(standing) or not _meets(stretches[-1], standing[end].candidates[0], joint):
            break
        end += 1
    now = [*standing[:begin], *stretches, *standing[end:]]
    return Group(key, now, min(group.relevance, relevance), group, begin, end)


def _begins(stretch: Stretch) -> tuple[int, int]:
    return in_reading_order(stretch.candidates[0])


def _meets(stretch: Stretch, after: Candidate, joint: Joints) -> bool:
    adjacent = after.position == stretch.candidates[-1].position + 1
    return joint(stretch.last, after.chunk, adjacent) is not None


def runs_of(
    group: Group,
    *,
    cite: str,
    order: str,
    together: bool,
    summary: str,
    source_of: Callable[[Sequence[Candidate]], tuple[str, int | str | None]],
) -> list[Run]:
    """The runs of a document: its labels by `cite`, which are read in `order`.

    With `together` all its labels make one run. `source_of` gives source and first page, by which some orders sort.
    """
    candidates = group.candidates
    labels = labels_of([stretch.passage for stretch in group.stretches if stretch.passage], cite, order)
    source, page = source_of(candidates)
    runs = []
    for share, relevance in _shares(candidates, labels, together):
        # A beginning of a text that is cut may have nothing but blanks, and then no label.
        first = share[0].passages[0][0].candidate if share else candidates[0]
        place = Place(relevance, first.chunk.document_id, first.position, source, page)
        runs.append(Run(share, summary, place))
    return runs


def added_texts(new: Sequence[Candidate], standing: Sequence[Candidate], joint: Joints) -> list[str]:
    """The texts that `new` add to `standing`, all of one document, both in reading order.

    They are a lower bound: what is hard to foresee is left out.
    """
    if len(new) == 1 and not standing:
        return _kept_in((0, len(new[0].chunk.text)), new[0])
    if len(new) == 1:
        at = bisect(standing, in_reading_order(new[0]), key=in_reading_order)
        before = standing[at - 1] if at else None
        after = standing[at] if at < len(standing) else None
        own = _own_span(before, new[0], after, joint)
        return [] if own is None else _kept_in(own, new[0])
    if any(candidate.kept is not None for candidate in new):
        return []
    merged = sorted([*standing, *new], key=in_reading_order)
    return _own_texts(merged, {candidate.key for candidate in new}, joint)


def _own_texts(merged: Sequence[Candidate], added: Container[int], joint: Joints) -> list[str]:
    """The text that each of those `added`, by key, has and neither of the two beside it; shared text is the first's."""
    texts: list[str] = []
    before = None
    for candidate, after in zip(merged, [*merged[1:], None], strict=True):
        if candidate.key in added:
            own = _own_span(before, candidate, None if after is None or after.key in added else after, joint)
            if own is None:
                continue
            texts += _kept_in(own, candidate)
        before = candidate
    return texts


def _kept_in(own: Span, candidate: Candidate) -> list[str]:
    """The text of a candidate that stands in the span that is its own, slice by slice."""
    begin, end = own
    text = candidate.chunk.text
    return [
        text[max(start, begin) : min(stop, end)] for start, stop in candidate.slices if start < end and stop > begin
    ]


def _own_span(before: Candidate | None, candidate: Candidate, after: Candidate | None, joint: Joints) -> Span | None:
    """The span of a candidate that neither of the two beside it has; None if the one before contains it."""
    text = candidate.chunk.text
    begin = _shared(before, candidate, joint) if before else 0
    if begin == len(text):  # what comes after it continues the one that contains it
        return None
    end = len(text)
    if after is not None:
        shared = _shared(candidate, after, joint)
        end = 0 if shared == len(after.chunk.text) else end - shared
    return begin, end


def _shared(first: Candidate, second: Candidate, joint: Joints) -> int:
    met = joint(first.chunk, second.chunk, second.position == first.position + 1)
    return met.shared if met else 0


def _shares(
    candidates: Sequence[Candidate], labels: Sequence[Label], together: bool
) -> list[tuple[Sequence[Label], tuple[int, ...]]]:
    """The labels of each run, and its relevance: a document's by its best hit, a label's by its best chunk.

    A chunk without text of its own counts for the label before it, which contains it.
    """
    if together:
        return [(labels, min([(candidate.rank, candidate.distance) for candidate in candidates]))]
    label_of = {
        piece.candidate.key: at for at, label in enumerate(labels) for passage in label.passages for piece in passage
    }
    best: dict[int, tuple[int, ...]] = {}
    at = 0
    for candidate in candidates:
        at = label_of.get(candidate.key, at)
        relevance = (int(not candidate.is_hit), candidate.rank, candidate.distance)
        best[at] = min(best.get(at, relevance), relevance)
    return [([label], best[at]) for at, label in enumerate(labels)]


def labels_of(passages: list[tuple[Piece, ...]], cite: str, order: str) -> list[Label]:
    """The labels of one document's `passages` by `cite`; they are read in `order`."""
    shares: list[Sequence[tuple[Piece, ...]]]
    if cite == "document":
        shares = [passages]
    elif cite == "passage":
        shares = [[passage] for passage in passages]
    else:
        own: dict[int, list[Piece]] = {}
        for passage in passages:
            for piece in _as_read(passage, order):
                if piece.text.strip():
                    own.setdefault(piece.candidate.key, []).append(piece)
        shares = [[_unblanked(trimmed(_alone(pieces)))] for pieces in own.values()]
    return [Label(share, best_of(share), "") for share in shares]


def _as_read(passage: Sequence[Piece], order: str) -> Sequence[Piece]:
    """The pieces, with the text that two chunks share in the one that is read first.

    Joined, they have it in the earlier one of the document. Where the order depends on what else stands, between the
    two (`edges`, `interleaved`), the better-ranked one counts as read first.
    """
    if len(passage) < 2 or order in _OF_THE_DOCUMENT:
        return passage
    pieces = list(passage)
    for at in range(1, len(pieces)):
        first, second = pieces[at - 1], pieces[at]
        is_read_first = by_merit(second.candidate) < by_merit(first.candidate)
        if order == "reverse":
            is_read_first = by_merit(first.candidate) < by_merit(second.candidate)
        shared = second.shared
        if not is_read_first or not 0 < shared == second.start or shared >= first.end - first.start:
            continue
        if first.text.endswith(second.candidate.chunk.text[:shared]):
            pieces[at - 1] = first._replace(end=first.end - shared, shared=first.shared + shared)
            pieces[at] = second._replace(start=0, shared=0)
    return pieces


_OF_THE_DOCUMENT = ("documents", "document_order", "stable")
"""The orders in which the labels of one document are read as they stand in it."""


def _unblanked(pieces: tuple[Piece, ...]) -> tuple[Piece, ...]:
    """The pieces without the blank that a chunk begins with inside a line, where the text before it is another label's.

    The indentation of a line that begins there stays.
    """
    first = pieces[0]
    text = first.text
    blank = len(text) - len(text.lstrip())
    if not blank or not first.start or "\n" in first.candidate.chunk.text[first.start - 1 : first.start + blank]:
        return pieces
    return (first._replace(start=first.start + blank), *pieces[1:])


def _alone(pieces: Sequence[Piece]) -> list[Piece]:
    """The pieces of one chunk as they stand without what other chunks have between them."""
    alone = [pieces[0]._replace(glue="")]
    for piece in pieces[1:]:
        last = alone[-1]
        apart = piece.start > last.end
        if apart:
            alone[-1] = last._replace(end=last.start + len(last.text.rstrip()))
        if apart and GAP not in piece.glue:
            alone.append(piece._replace(start=piece.end - len(piece.text.lstrip()), glue=f" {GAP} "))
        else:
            alone.append(piece)
    return alone


def best_of(passages: Sequence[tuple[Piece, ...]]) -> Candidate:
    """The best-ranked of their chunks, a hit before a neighbour."""
    candidates = [piece.candidate for passage in passages for piece in passage]
    return min(candidates, key=by_merit) if len(candidates) > 1 else candidates[0]


def by_merit(candidate: Candidate) -> tuple[bool, int, int]:
    """A key by which the best candidate comes first: hits before neighbours."""
    return candidate.distance > 0, candidate.rank, candidate.distance
