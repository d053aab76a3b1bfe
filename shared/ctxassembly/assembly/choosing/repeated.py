"""Sentences that stand in a better-ranked passage already go from the lesser ones: a reader needs them once.

Overlap is not repetition. What two chunks share because a splitter cut them so is stripped when they are joined, by
their offsets or because one ends as the other begins (`rendering/join.py`). Repetition is left over then: the same
sentences in two lines of text, which no chunk of either line joins. So whole lines are compared, as they stand and
after the budget: nothing is lost to a copy that has no room, and borders of chunks hide nothing.

1. A glance at the bytes between stops tells which lines need to be read at all (`glanced.py`).
2. Of each line the runs of prose are listed that stand in another line, too. Tables, lists and code are never in one,
   since they say little in parts, and neither are headings, which tell what went.
3. The lines keep their runs in the order of merit. A run of a later line goes as far as it agrees, sentence by
   sentence, with one that is kept, if that makes at least `LEAST_CHARS`.

What one passage says twice, its author says twice: both stay.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from operator import itemgetter
from typing import NamedTuple

from ctxassembly.assembly.choosing.cut import merged
from ctxassembly.assembly.choosing.glanced import may_repeat
from ctxassembly.assembly.choosing.standing import Standing
from ctxassembly.assembly.rendering.excerpt import Line, without
from ctxassembly.data.candidates import REPEATED, Candidate
from ctxassembly.data.chunks import Span
from ctxassembly.text.prose import Statement, statements

LEAST_CHARS = 100
"""Of sentences in a row that are taken out: two of them, or a long one. A shorter one is rather said twice than that
a reader is sent elsewhere for it."""

_CODE = frozenset("=(){}[];<>")
"""Signs that no heading has."""


class Repeats(NamedTuple):
    """The candidates that lose sentences, by key."""

    forms: dict[int, Candidate]
    """The rest of each that has one."""
    gone: dict[int, Candidate]
    """For each that has nothing left, the candidate that has most of it."""
    where: dict[int, Candidate]
    """For each of `forms`, the candidate that has most of what it lost."""
    lost: dict[int, tuple[Span, ...]]
    """The spans that go, in the text of the chunk."""


class _Run(NamedTuple):
    """Statements of a line in a row, each of which stands in another line, too. Runs sort by who keeps them."""

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
    """The place in it at which they begin."""
    chars: int


def repeats(
    lines: Iterable[Line],
    stays: Callable[[Candidate], bool],
    late: Collection[int],
    known: dict[str, Sequence[Statement]],
) -> Repeats | None:
    """Find what a better-ranked one of `lines` has, too; None if nothing. Nothing goes of a candidate that `stays`.

    Those in `late`, by key, came in when all others stood already, and are the lesser ones. `known` remembers the
    statements of texts from one call to the next.
    """
    standing = [(line, line.text) for line in lines]
    texts: list[Standing] = []
    for at in may_repeat(standing) if len(standing) > 1 else ():
        line, text = standing[at]
        if text not in known:
            known[text] = statements(text)
        texts.append(Standing(line, text, known[text]))
    fixed = [text.of(stays) for text in texts]
    cuts = _cuts(texts, fixed, late)
    found = Repeats({}, {}, {}, {})
    for at, of_line in cuts.items():
        _take_out(found, texts, texts[at], sorted(of_line), fixed[at])
    return found if cuts else None


def _cuts(texts: Sequence[Standing], fixed: Sequence[Collection[int]], late: Collection[int]) -> dict[int, list[_Cut]]:
    """The cuts of each line, by its place; nothing that is `fixed` in it is cut."""
    standing: dict[str, tuple[int, int]] = {}  # for each sentence that is kept: its line, and its place there
    cuts: dict[int, list[_Cut]] = {}
    for run in sorted(_runs(texts, late)):
        text, place = texts[run.at], run.begin
        while place < run.end:
            key = text.statements[place].text
            other, there = standing.setdefault(key, (run.at, place))
            if other == run.at:  # new, or said twice by this line
                place += 1
                continue
            end = _shared(text, place, run.end, texts[other], there, fixed[run.at])
            begin, upto = _to_the_ends(text, place, end, texts[other], there, fixed[run.at])
            chars = sum([len(statement.text) for statement in text.statements[begin:upto]])
            if end > place and chars >= LEAST_CHARS:
                cuts.setdefault(run.at, []).append(_Cut(begin, upto, other, there, chars))
            place = max(end, place + 1)
    return cuts


def _runs(texts: Sequence[Standing], late: Collection[int]) -> Iterator[_Run]:
    """The runs of each line that stand in another line, too."""
    first: dict[str, int] = {}
    several: set[str] = set()
    for at, text in enumerate(texts):
        for key in text.keys:
            if key is not None and first.setdefault(key, at) != at:
                several.add(key)
    for at, text in enumerate(texts):
        later = text.of(lambda candidate: candidate.key in late) if late else frozenset[int]()
        begin = 0
        for place, key in enumerate((*text.keys, None)):
            if key not in several:
                if begin < place:
                    yield _Run(not later.isdisjoint(range(begin, place)), text.merit, at, begin, place)
                begin = place + 1


def _shared(text: Standing, begin: int, end: int, other: Standing, there: int, fixed: Collection[int]) -> int:
    """The place up to which `text` has from `begin` on what `other` has from `there` on."""
    place = begin
    for key, same in zip(text.keys[begin:end], other.keys[there : there + end - begin], strict=False):
        if key is None or key != same or place in fixed:
            break
        place += 1
    return place


def _to_the_ends(text: Standing, begin: int, end: int, other: Standing, there: int, fixed: Collection[int]) -> Span:
    """`begin` and `end`, moved by one where the border of a chunk has left the part of a sentence that `other` has."""
    last = len(text.statements) - 1

    def is_part(place: int, at: int, of: Callable[[str, str], bool]) -> bool:
        if not 0 <= at < len(other.statements) or not (text.stands[place] and other.stands[at]):
            return False
        part, whole = text.statements[place], other.statements[at].text
        return len(part.text) < len(whole) and of(whole, part.text) and not part.belongs and place not in fixed

    goes_on = end == last and is_part(last, there + end - begin, str.startswith)
    goes_back = begin == 1 and is_part(0, there - 1, str.endswith)
    return begin - goes_back, end + goes_on


def _take_out(
    found: Repeats, texts: Sequence[Standing], text: Standing, cuts: Sequence[_Cut], fixed: Collection[int]
) -> None:
    """Enter in `found` what becomes of the candidates of a line without `cuts`, which are ascending."""
    spans = [(text.statements[cut.begin].start, text.statements[cut.end - 1].end) for cut in cuts]
    out = merged(spans)
    most = max(cuts, key=_chars)
    if not fixed and _is_only_headings(texts[most.other], text, cuts):
        out = ((0, text.statements[-1].end),)
    for begin, candidate in text.line.members:
        slices = tuple((begin + start, begin + end) for start, end in candidate.slices)
        kept = tuple(rest for span in slices for rest in without(span, out))
        if kept == slices:
            continue
        # Of the cuts that touch the candidate, the largest says who has most of what it loses.
        first = bisect_right(spans, slices[0][0], key=itemgetter(1))
        last = bisect_left(spans, slices[-1][1], key=itemgetter(0))
        cut = max(cuts[first:last], key=_chars, default=most)
        writer = texts[cut.other].writers[cut.there]
        assert writer is not None  # noqa: S101 - what stands is written by someone
        lost = tuple(gap for span in slices for gap in without(span, kept))
        _enter(found, candidate, writer, _shifted(kept, -begin), _shifted(lost, -begin))


def _enter(
    found: Repeats, candidate: Candidate, writer: Candidate, left: tuple[Span, ...], lost: tuple[Span, ...]
) -> None:
    found.lost[candidate.key] = lost
    if any(candidate.chunk.text[start:end].strip() for start, end in left):
        by = candidate.shortened_by or REPEATED
        found.forms[candidate.key] = candidate._replace(kept=left, shortened_by=by)
        found.where[candidate.key] = writer
    else:
        found.gone[candidate.key] = writer


def _shifted(spans: Iterable[Span], by: int) -> tuple[Span, ...]:
    return tuple((start + by, end + by) for start, end in spans)


def _chars(cut: _Cut) -> int:
    return cut.chars


def _is_only_headings(other: Standing, text: Standing, cuts: Sequence[_Cut]) -> bool:
    """True if all that is left of `text` without `cuts` are headings that stand in `other`, which has most of them."""
    gone = {place for cut in cuts for place in range(cut.begin, cut.end)}
    left = [place for place, stands in enumerate(text.stands) if stands and place not in gone]
    return all(_is_heading(text, place) and _is_needless(text.statements[place].text, other) for place in left)


def _is_heading(text: Standing, place: int) -> bool:
    return not text.statements[place].belongs and text.keys[place] is None


def _is_needless(said: str, other: Standing) -> bool:
    """True if `said` stands in `other`, or has neither letter nor digit."""
    return (said in other.said and _CODE.isdisjoint(said)) or not any(map(str.isalnum, said))
