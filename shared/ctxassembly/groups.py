"""What is selected of one document, joined and divided into labels: the unit that a draft of a context is made of."""

from __future__ import annotations

from bisect import bisect
from collections.abc import Callable, Sequence
from operator import attrgetter

from ctxassembly.join import join, trimmed
from ctxassembly.order import Place
from ctxassembly.tokens import Measured
from ctxassembly.types import GAP, Candidate, Chunk, Header, Joint, Label, Part, Piece

Joints = Callable[[Chunk, Chunk, bool], "Joint | None"]
"""How a chunk continues another one, which may stand right before it; None if there is a gap between them."""

in_reading_order = attrgetter("position", "rank")


class Group:
    """The selected candidates of one document, in reading order, and what becomes of them."""

    __slots__ = ("candidates", "runs", "settled", "simple", "verbatim")

    def __init__(self, candidates: list[Candidate], runs: list[Run]) -> None:
        self.candidates = candidates
        self.runs = runs
        pieces = sum(len(passage) for run in runs for label in run.labels for passage in label.passages)
        self.simple = pieces == len(candidates) and all(candidate.kept is None for candidate in candidates)
        """Whether each candidate continues the one before it: none stands in part, none contains another."""
        self.settled = self.verbatim = 0

    def settle(self, tokens: Callable[[Measured], int]) -> None:
        """Say how many tokens stay, now that all is measured: whatever joins other documents, and this one."""
        self.settled = sum(tokens(next(iter(run.measured.values()))) for run in self.runs)
        self.verbatim = sum(run.verbatim for run in self.runs)


class Run:
    """Labels of one document that stand together.

    Once it is selected it also knows its first label, whether it is the first of its document, and in the order of
    documents what stands before and after it, separators included.
    """

    __slots__ = (
        "after",
        "before",
        "first_label",
        "labels",
        "leads",
        "measured",
        "place",
        "summary",
        "verbatim",
        "written",
    )

    first_label: int
    leads: bool
    before: Measured
    after: Measured

    def __init__(self, labels: Sequence[Label], summary: str, place: Place) -> None:
        self.labels = labels
        self.summary = summary
        self.place = place
        self.measured: dict[tuple[int, bool, Header], Measured] = {}
        self.written: tuple[tuple[int, bool, Header], list[list[Part]]] | None = None
        """The blocks that were written last, and with what label, lead and header."""
        self.verbatim = 0
        """Tokens that stay as long as its text does, whatever is written around or between."""

    def labelled(self, *, leads: bool) -> Sequence[Label]:
        """Its labels, the page summary in the first one if that is the first of its document."""
        if not (leads and self.summary and self.labels):
            return self.labels
        return [self.labels[0]._replace(summary=self.summary), *self.labels[1:]]


def grouped(
    candidates: list[Candidate],
    joint: Joints,
    *,
    cite: str,
    together: bool,
    summary: str,
    source_of: Callable[[Sequence[Candidate]], tuple[str, int | str | None]],
) -> Group:
    """`candidates`, of one document and in reading order, joined and divided into labels by `cite`.

    `together` says that all its labels are ordered as one. `source_of` gives what some orders sort documents by.
    """
    labels = _labels(join(candidates, joint), cite)
    source, page = source_of(candidates)
    runs = []
    for share, relevance in _shares(candidates, labels, together):
        # A beginning of a text that is cut may have nothing but blanks, and then no label.
        first = share[0].passages[0][0].candidate if share else candidates[0]
        place = Place(relevance, first.chunk.document_id, first.position, source, page)
        runs.append(Run(share, summary, place))
    return Group(candidates, runs)


def added_texts(new: Sequence[Candidate], standing: Sequence[Candidate], joint: Joints) -> list[str]:
    """What `new` add to the text of `standing`, all of one document and standing in reading order.

    At least that, where it is hard to say.
    """
    if any(each.kept is not None for each in new):
        return []
    if len(new) == 1:
        at = bisect(standing, in_reading_order(new[0]), key=in_reading_order)
        before = standing[at - 1] if at else None
        after = standing[at] if at < len(standing) else None
        own = _own_text(before, new[0], after, joint)
        return [] if own is None else [own]
    added = {id(each) for each in new}
    merged = sorted([*standing, *new], key=in_reading_order)
    texts: list[str] = []
    before = None
    for each, after in zip(merged, [*merged[1:], None], strict=True):
        if id(each) in added:
            own = _own_text(before, each, None if id(after) in added else after, joint)
            if own is None:
                continue
            texts.append(own)
        before = each
    return texts


def _own_text(before: Candidate | None, each: Candidate, after: Candidate | None, joint: Joints) -> str | None:
    """What neither of the two beside it has of a candidate's text; None if the one before contains it."""
    text = each.chunk.text
    begin = _shared(before, each, joint) if before else 0
    if begin == len(text):  # what comes after it continues the one that contains it
        return None
    end = len(text)
    if after is not None:
        shared = _shared(each, after, joint)
        end = 0 if shared == len(after.chunk.text) else end - shared
    return text[begin:end]


def _shared(first: Candidate, second: Candidate, joint: Joints) -> int:
    met = joint(first.chunk, second.chunk, second.position == first.position + 1)
    return met.shared if met else 0


def _shares(
    candidates: Sequence[Candidate], labels: Sequence[Label], together: bool
) -> list[tuple[Sequence[Label], tuple[int, ...]]]:
    """The labels that stand together, and their relevance: a document's by its best hit, a label's by its best chunk.

    A chunk without text of its own counts for the label before it, which contains it.
    """
    if together:
        return [(labels, min([(candidate.rank, candidate.distance) for candidate in candidates]))]
    label_of = {
        id(piece.candidate): at for at, label in enumerate(labels) for passage in label.passages for piece in passage
    }
    best: dict[int, tuple[int, ...]] = {}
    at = 0
    for candidate in candidates:
        at = label_of.get(id(candidate), at)
        relevance = (int(not candidate.is_hit), candidate.rank, candidate.distance)
        best[at] = min(best.get(at, relevance), relevance)
    return [([label], best[at]) for at, label in enumerate(labels)]


def _labels(passages: list[tuple[Piece, ...]], cite: str) -> list[Label]:
    shares: list[Sequence[tuple[Piece, ...]]]
    if cite == "document":
        shares = [passages]
    elif cite == "passage":
        shares = [[passage] for passage in passages]
    else:
        own: dict[int, list[Piece]] = {}
        for piece in (piece for passage in passages for piece in passage if piece.text.strip()):
            own.setdefault(id(piece.candidate), []).append(piece)
        shares = [[trimmed(_alone(pieces))] for pieces in own.values()]
    return [Label(share, _best(share), "") for share in shares]


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


def _best(passages: Sequence[tuple[Piece, ...]]) -> Candidate:
    return min(
        [piece.candidate for passage in passages for piece in passage],
        key=lambda each: (each.distance > 0, each.rank, each.distance),
    )
