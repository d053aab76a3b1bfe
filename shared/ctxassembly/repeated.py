"""Sentences that stand in a better-ranked passage already go from the lesser ones: a reader needs them once.

Looked at is what stands, as it is joined, whatever chunks it came in. So nothing is lost to a copy that has no room, and
nothing to a border of a chunk. Tables, lists, code and headings stay: they say little in parts, and headings tell what
went.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import NamedTuple

from ctxassembly.cut import merged
from ctxassembly.excerpt import Line, without
from ctxassembly.groups import by_merit
from ctxassembly.prose import Statement, statements
from ctxassembly.types import Candidate, Span

LEAST_CHARS = 100
"""Of sentences in a row that are taken out: two of them, or a long one. A shorter one is rather said twice than that
a reader is sent elsewhere for it."""


class Repeats(NamedTuple):
    """What is to go, by the `id` of the candidates as they stand."""

    forms: dict[int, Candidate]
    """What is left of those of which something is."""
    gone: dict[int, Candidate]
    """Those of which nothing is, and who has all of it."""
    where: dict[int, Candidate]
    """For each of `forms` who has the most of what it lost."""


class _Text:
    """A line that stands, by its statements."""

    def __init__(
        self, line: Line, text: str, stays: Callable[[Candidate], bool], late: Collection[int]
    ) -> None:
        self.line = line
        self.statements = statements(text)
        starts, ends = [each.start for each in self.statements], [each.end for each in self.statements]
        self.merit = min(by_merit(candidate) for _, candidate in line.members)
        self.writers: list[Candidate | None] = [None] * len(starts)
        """In whose text it is written: the first one that has it."""
        self.fixed = [False] * len(starts)
        self.late = [False] * len(starts)
        covered: list[list[Span]] = [[] for _ in starts]
        for begin, candidate in line.members:
            fixed, is_late = stays(candidate), id(candidate) in late
            for start, end in candidate.slices:
                for place in range(bisect_right(ends, begin + start), bisect_left(starts, begin + end)):
                    self.writers[place] = self.writers[place] or candidate
                    self.fixed[place] |= fixed
                    self.late[place] |= is_late
                    covered[place].append((begin + start, begin + end))
        self.stands = [_is_covered(text, each, spans) for each, spans in zip(self.statements, covered, strict=True)]

    def key(self, place: int) -> str | None:
        """What is looked for in other lines: the text of a sentence of prose that stands."""
        if not 0 <= place < len(self.statements):
            return None
        statement = self.statements[place]
        return statement.text if self.stands[place] and statement.is_prose else None


class _Run(NamedTuple):
    """Statements in a row, each of which stands in another line, too."""

    is_late: bool
    merit: tuple[bool, int, int]
    """Of the best candidate of the line: one passage has all that two share, or a reader goes back and forth."""
    at: int
    """The place of the line."""
    begin: int
    end: int


class _Cut(NamedTuple):
    """Statements of a line that stand in another one."""

    begin: int
    end: int
    other: int
    """The place of the other line."""
    there: int
    """Where in it they begin."""
    chars: int


def repeats(
    lines: Iterable[Line], stays: Callable[[Candidate], bool], late: Collection[int] = frozenset()
) -> Repeats | None:
    """What of `lines` a better-ranked one has; None if nothing. Nothing goes of a candidate that `stays`.

    Those in `late`, by `id`, came in when all others stood already, and are the lesser ones.
    """
    standing = [(line, line.text) for line in lines]
    if len(standing) < 2 or not _may_repeat([text for _, text in standing]):
        return None
    texts = [_Text(line, text, stays, late) for line, text in standing]
    cuts = _cuts(texts)
    found = Repeats({}, {}, {})
    for at, of_line in cuts.items():
        _take_out(found, texts, texts[at], sorted(of_line))
    return found if cuts else None


def _may_repeat(texts: Sequence[str]) -> bool:
    """False if it is clear at a glance that no two of `texts` share a sentence between two others, or a line."""
    seen: set[str] = set()
    for text in texts:
        flat = text.replace("\n", " ")
        while "  " in flat:
            flat = flat.replace("  ", " ")
        pieces = {each for each in (*flat.split(". "), *text.split("\n")) if len(each) > LEAST_CHARS // 4}
        if not seen.isdisjoint(pieces):
            return True
        seen |= pieces
    return False


def _is_covered(text: str, statement: Statement, spans: Sequence[Span]) -> bool:
    """Whether all of the statement but its white space is in `spans`."""
    at, end = statement.start, statement.end
    for start, stop in sorted(spans):
        if start > at and text[at:start].strip():
            return False
        at = max(at, stop)
    return bool(statement.text) and (at >= end or not text[at:end].strip())


def _cuts(texts: Sequence[_Text]) -> dict[int, list[_Cut]]:
    """What goes from each line, by its place."""
    standing: dict[str, tuple[int, int]] = {}
    cuts: dict[int, list[_Cut]] = {}
    for run in sorted(_runs(texts)):
        text, place = texts[run.at], run.begin
        while place < run.end:
            there = standing.get(text.statements[place].text)
            if there is None or there[0] == run.at:
                standing.setdefault(text.statements[place].text, (run.at, place))
                place += 1
                continue
            end, chars = _shared(text, place, run.end, texts[there[0]], there[1])
            if chars >= LEAST_CHARS:
                begin, upto = _to_the_ends(text, place, end, texts[there[0]], there[1])
                cuts.setdefault(run.at, []).append(_Cut(begin, upto, *there, chars))
            place = max(end, place + 1)
    return cuts


def _runs(texts: Sequence[_Text]) -> Iterator[_Run]:
    """What may go of each line: the runs of statements that stand in another line."""
    first: dict[str, int] = {}
    several: set[str] = set()
    for at, text in enumerate(texts):
        for place in range(len(text.statements)):
            if (key := text.key(place)) is not None and first.setdefault(key, at) != at:
                several.add(key)
    for at, text in enumerate(texts):
        begin = 0
        for place in range(len(text.statements) + 1):
            if text.key(place) not in several:
                if begin < place:
                    yield _Run(any(text.late[begin:place]), text.merit, at, begin, place)
                begin = place + 1


def _shared(text: _Text, begin: int, end: int, other: _Text, there: int) -> tuple[int, int]:
    """Where what `text` has from `begin` on and `other` from `there` on is no longer the same, and its characters."""
    place, chars = begin, 0
    while place < end and not text.fixed[place] and text.key(place) == other.key(there + place - begin):
        chars += len(text.statements[place].text)
        place += 1
    return place, chars


def _to_the_ends(text: _Text, begin: int, end: int, other: _Text, there: int) -> Span:
    """`begin` and `end` with what the border of a chunk has left of the sentences beside them."""
    last = len(text.statements) - 1
    goes_on = end == last and _is_part(text, last, other, there + end - begin, str.startswith)
    goes_back = begin == 1 and _is_part(text, 0, other, there - 1, str.endswith)
    return begin - goes_back, end + goes_on


def _is_part(text: _Text, place: int, other: _Text, there: int, of: Callable[[str, str], bool]) -> bool:
    if not 0 <= there < len(other.statements) or not (text.stands[place] and other.stands[there]):
        return False
    part, whole = text.statements[place], other.statements[there].text
    return len(part.text) < len(whole) and of(whole, part.text) and not (part.belongs or text.fixed[place])


def _take_out(found: Repeats, texts: Sequence[_Text], text: _Text, cuts: Sequence[_Cut]) -> None:
    """Enter in `found` what becomes of the candidates of a line without `cuts`."""
    spans = [(text.statements[cut.begin].start, text.statements[cut.end - 1].end) for cut in cuts]
    out = merged(sorted(spans))
    if _only_headings_are_left(texts, text, cuts):
        out = ((0, text.statements[-1].end),)
    most = max(cuts, key=lambda cut: cut.chars)
    for begin, candidate in text.line.members:
        slices = [(begin + start, begin + end) for start, end in candidate.slices]
        kept = [each for span in slices for each in without(span, out)]
        if kept == slices:
            continue
        of_it = [cut for cut, span in zip(cuts, spans, strict=True) if any(_meet(span, each) for each in slices)]
        cut = max(of_it, key=lambda cut: cut.chars, default=most)
        writer = texts[cut.other].writers[cut.there]
        assert writer is not None  # noqa: S101 - what stands is written by someone
        left = tuple((start - begin, end - begin) for start, end in kept)
        if any(candidate.chunk.text[start:end].strip() for start, end in left):
            by = candidate.shortened_by or "repeated"
            found.forms[id(candidate)] = candidate._replace(kept=left, shortened_by=by)
            found.where[id(candidate)] = writer
        else:
            found.gone[id(candidate)] = writer


def _only_headings_are_left(texts: Sequence[_Text], text: _Text, cuts: Sequence[_Cut]) -> bool:
    """Whether all that is left of a line without `cuts` are headings that stand where they do."""
    gone = {place for cut in cuts for place in range(cut.begin, cut.end)}
    left = [place for place in range(len(text.statements)) if text.stands[place] and place not in gone]
    if any(text.statements[place].belongs or text.fixed[place] or text.key(place) for place in left):
        return False
    others = [texts[other] for other in {cut.other for cut in cuts}] if left else []
    there = {each.text for other in others for each, stands in zip(other.statements, other.stands, strict=True) if stands}
    texts_left = (text.statements[place].text for place in left)
    return all(each in there or not any(map(str.isalnum, each)) for each in texts_left)


def _meet(first: Span, second: Span) -> bool:
    return first[0] < second[1] and second[0] < first[1]
