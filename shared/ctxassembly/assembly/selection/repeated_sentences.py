"""Sentences that two passages share are said once, and others come in where they were.

After the budget, not before it: of two copies that one may go which the other one's place in the context makes
superfluous, not one whose other copy has no room.

It goes in rounds. A round finds what is repeated, takes it out, gives back to what the budget cut as much as has room
now, and offers the rest of the room to the best that wait. What came in may repeat what stands, so the next round looks
at that.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from operator import itemgetter
from sys import getsizeof
from typing import NamedTuple

from ctxassembly.assembly.rendering.excerpt import Line, without
from ctxassembly.assembly.rendering.groups import by_merit
from ctxassembly.assembly.rendering.layout import Layout
from ctxassembly.assembly.selection.result import Chosen, for_budget
from ctxassembly.assembly.selection.selector import Selector
from ctxassembly.assembly.selection.shorten import merged
from ctxassembly.data.candidates import FOR_BUDGET, REPEATED, Candidate, LeftOut
from ctxassembly.data.chunks import Span
from ctxassembly.text.prose import Statement, statements
from ctxassembly.text.sentences import FULL_STOPS
from ctxassembly.tokens.cache import Remembered
from ctxassembly.tracing.lineage import Lineage

# The lines of text that may repeat what another one has, told at a glance.
#
# Most contexts repeat nothing, and to compare bytes takes far less than to read sentences. So what is between two stops
# is compared, and a line that shares none of it need not be read. What was cut out of a line is passed over.


GLANCED_CHARS = 25
"""Of what two texts share, from which it tells that they may share a sentence."""
END_BYTES = 60
"""Of the end of what is between two stops, which is compared: before its sentence one line may have a heading."""
REMEMBERED_BYTES = 8 * 1024 * 1024
"""Bytes of the lines whose pieces are remembered from one assembly to the next, with these."""
HASH_BYTES = 36
"""Of an int that is a hash."""

_PIECES = Remembered[frozenset[int]](REMEMBERED_BYTES, lambda pieces: getsizeof(pieces) + HASH_BYTES * len(pieces))
_STOP = rf"(?:[.!?{FULL_STOPS}]|\n\n)"
_STOP_TO_STOP = re.compile(rf"{_STOP}.*{_STOP}", re.DOTALL)
_FULL_STOPS = [stop.encode() for stop in FULL_STOPS]
_TO_STOPS = bytes.maketrans(b"!?", b"..")


def may_repeat(lines: Sequence[tuple[Line, str]]) -> list[int]:
    """The places of those of `lines`, each with its text, that share what stands between two stops or paragraphs."""
    seen: set[int] = set()
    common: set[int] = set()
    pieces: list[frozenset[int]] = []
    for line, whole in lines:
        text = _standing(line, whole)
        known = _PIECES.get(text)
        pieces.append(_PIECES.put(text, _pieces(text)) if known is None else known)
        common |= seen & pieces[-1]
        seen |= pieces[-1]
    return [at for at, own in enumerate(pieces) if not common.isdisjoint(own)]


def _standing(line: Line, text: str) -> str:
    """The `text` of a line without what is between two stops in what was cut out of it."""
    if all(candidate.kept is None for _, candidate in line.members):
        return text
    text = f".{text}."  # both ends are stops
    spans = sorted(
        (begin + start + 1, begin + end + 1) for begin, candidate in line.members for start, end in candidate.slices
    )
    parts: list[str] = []
    done = 0
    for start, end in without((0, len(text)), spans):
        # What stands before the gap may end with the first stop.
        before = done + len(text[done:start].rstrip())
        if found := _STOP_TO_STOP.search(text, max(before - 1, 0), end):
            parts.append(text[done : found.start()])
            done = found.end()
    return ".".join([*parts, text[done:]])


def _pieces(text: str) -> frozenset[int]:
    """The hashes of the ends of what stands between two stops of `text`, of all that is long enough to tell."""
    # As bytes, since that is a fifth of the work, and most contexts share nothing.
    whole = text.encode("utf-8", "surrogatepass").replace(b"\n\n", b".")
    for stop in _FULL_STOPS:
        if stop[:1] in whole and stop in whole:
            whole = whole.replace(stop, b".")
    pieces = whole.translate(_TO_STOPS, b" \n\t\r\v\f").split(b".")
    return frozenset([hash(piece[-END_BYTES:]) for piece in pieces if len(piece) > GLANCED_CHARS])


# Lines of text that stand, statement by statement.
#
# A line is the text that chunks make together. Where only slices of a chunk are kept, not all of its statements stand.
# One that stands in part doesn't count: whoever has only that copy would miss the rest.


class Standing:
    """A line by its statements. A place is that of a statement on the line."""

    def __init__(self, line: Line, text: str, statements: Sequence[Statement]) -> None:
        self.line = line
        self.statements = statements
        self.merit = min(by_merit(candidate) for _, candidate in line.members)
        self.stands = [bool(statement.text) for statement in statements]
        """True for each statement all of which stands."""
        if any(candidate.kept is not None for _, candidate in line.members):
            self.stands = self._covered(text)
        self.keys = [
            statement.text if statement.is_prose and stands else None
            for statement, stands in zip(statements, self.stands, strict=True)
        ]
        """The sentences of prose that stand, by place: what other lines may repeat."""

    @cached_property
    def said(self) -> frozenset[str]:
        """The texts of all statements that stand."""
        both = zip(self.statements, self.stands, strict=True)
        return frozenset(statement.text for statement, stands in both if stands)

    @cached_property
    def writers(self) -> list[Candidate | None]:
        """The first candidate that has a part of each statement, by place: in its text it is written."""
        writers: list[Candidate | None] = [None] * len(self.statements)
        for candidate, _, places in self._slices():
            for place in places:
                writers[place] = writers[place] or candidate
        return writers

    def of(self, these: Callable[[Candidate], bool]) -> set[int]:
        """The places of the statements that one of `these` has a part of."""
        return {place for candidate, _, places in self._slices() if these(candidate) for place in places}

    def _covered(self, text: str) -> list[bool]:
        covered: list[list[Span]] = [[] for _ in self.statements]
        for _, span, places in self._slices():
            for place in places:
                covered[place].append(span)
        both = zip(self.statements, covered, strict=True)
        return [_is_covered(text, statement, spans) for statement, spans in both]

    def _slices(self) -> Iterator[tuple[Candidate, Span, range]]:
        """Each candidate's slices in the text of the line, with the places of the statements in them, or partly so."""
        for begin, candidate in self.line.members:
            for start, end in candidate.slices:
                first = bisect_right(self.statements, begin + start, key=itemgetter(1))
                last = bisect_left(self.statements, begin + end, lo=first, key=itemgetter(0))
                yield candidate, (begin + start, begin + end), range(first, last)


def _is_covered(text: str, statement: Statement, spans: Sequence[Span]) -> bool:
    """True if all of the statement but its white space is in `spans`."""
    at, end = statement.start, statement.end
    for start, stop in sorted(spans):
        if start > at and text[at:start].strip():
            return False
        at = max(at, stop)
    return bool(statement.text) and (at >= end or not text[at:end].strip())


# Sentences that stand in a better-ranked passage already go from the lesser ones: a reader needs them once.
#
# Overlap is not repetition. What two chunks share because a splitter cut them so is stripped when they are joined, by
# their offsets or because one ends as the other begins (`rendering/join.py`). Repetition is left over then: the same
# sentences in two lines of text, which no chunk of either line joins. So whole lines are compared, as they stand and
# after the budget: nothing is lost to a copy that has no room, and borders of chunks hide nothing.
#
# 1. A glance at the bytes between stops tells which lines need to be read at all (`glanced.py`).
# 2. Of each line the runs of prose are listed that stand in another line, too. Tables, lists and code are never in one,
#    since they say little in parts, and neither are headings, which tell what went.
# 3. The lines keep their runs in the order of merit. A run of a later line goes as far as it agrees, sentence by
#    sentence, with one that is kept, if that makes at least `LEAST_CHARS`.
#
# What one passage says twice, its author says twice: both stay.


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


class _RepeatedRun(NamedTuple):
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


def _cuts(
    texts: Sequence[Standing], fixed: Sequence[Collection[int]], late: Collection[int]
) -> dict[int, list[_RepeatedRun]]:
    """The cuts of each line, by its place; nothing that is `fixed` in it is cut."""
    standing: dict[str, tuple[int, int]] = {}  # for each sentence that is kept: its line, and its place there
    cuts: dict[int, list[_RepeatedRun]] = {}
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
                cuts.setdefault(run.at, []).append(_RepeatedRun(begin, upto, other, there, chars))
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
    found: Repeats, texts: Sequence[Standing], text: Standing, cuts: Sequence[_RepeatedRun], fixed: Collection[int]
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


def _chars(cut: _RepeatedRun) -> int:
    return cut.chars


def _is_only_headings(other: Standing, text: Standing, cuts: Sequence[_RepeatedRun]) -> bool:
    """True if all that is left of `text` without `cuts` are headings that stand in `other`, which has most of them."""
    gone = {place for cut in cuts for place in range(cut.begin, cut.end)}
    left = [place for place, stands in enumerate(text.stands) if stands and place not in gone]
    return all(_is_heading(text, place) and _is_needless(text.statements[place].text, other) for place in left)


def _is_heading(text: Standing, place: int) -> bool:
    return not text.statements[place].belongs and text.keys[place] is None


def _is_needless(said: str, other: Standing) -> bool:
    """True if `said` stands in `other`, or has neither letter nor digit."""
    return (said in other.said and _CODE.isdisjoint(said)) or not any(map(str.isalnum, said))


TRIES = 3
"""Rounds at most; in the last one nothing more comes in."""

MOST_OFFERED = 160
"""The best of those that wait, which are offered the room: as many as 20 hits have with three chunks on each side. To
weigh all of 1,000 hits again would double the time, for the last few hundred tokens."""


@dataclass(frozen=True)
class _Round:
    """The state between two rounds."""

    chosen: Chosen
    whole: Mapping[int, Candidate]
    """Those that the budget shortened as they are otherwise, by key."""
    late: frozenset[int] = frozenset()
    """The keys of those that came in, or came back whole, in the last round: they are the lesser ones."""


@dataclass(frozen=True)
class _Cut:
    """A layout without what is repeated."""

    layout: Layout
    forms: Mapping[int, Candidate]
    """Those that stand in it, by key."""
    back: frozenset[int] = frozenset()
    """The keys of those to which it gives back what the budget had cut."""


def said_once(chosen: Chosen, whole: Mapping[int, Candidate], selector: Selector, lineage: Lineage) -> Chosen:
    """`chosen` with each run of sentences once, and with what has room in the place of the others.

    `whole` has those that were shortened as they are otherwise, by key: where that has room now it stands, before any
    that was left out comes in.
    """
    state = _Round(chosen, whole)
    known: dict[str, Sequence[Statement]] = {}
    for tries_left in reversed(range(TRIES)):
        lines = state.chosen.layout.lines(state.chosen.taken)
        found = repeats(lines, selector.has_to_be_whole, state.late, known)
        cut = _cut(state, found, selector) if found else None
        if found is None or cut is None:
            break
        if tries_left:
            cut = _longer(state, found, cut, selector)
        state = _settled(state, found, cut, lineage)
        if tries_left:
            state = _refilled(state, selector, lineage)
        if not state.late:
            break
    return state.chosen


def _cut(state: _Round, found: Repeats, selector: Selector) -> _Cut | None:
    """The layout without what is repeated; None if that is no smaller."""
    chosen = state.chosen
    forms = {
        candidate.key: found.forms.get(candidate.key, candidate)
        for candidate in chosen.taken
        if candidate.key not in found.gone
    }
    layout = selector.layout_of(tuple(forms.values()), chosen.usable, chosen.beside)
    if layout is None or layout.token_count >= chosen.layout.token_count:
        return None
    return _Cut(layout, forms)


def _longer(state: _Round, found: Repeats, cut: _Cut, selector: Selector) -> _Cut:
    """The same with all of what the budget had cut but what is repeated, if that fits."""
    shortened = (key for key, form in cut.forms.items() if form.shortened_by == FOR_BUDGET and key in state.whole)
    rests = {key: _rest(state.whole[key], found.lost.get(key, ())) for key in shortened}
    longer = {key: rest for key, rest in rests.items() if rest is not None}
    if not longer:
        return cut
    forms = {**cut.forms, **longer}
    layout = selector.layout_of(tuple(forms.values()), state.chosen.usable, state.chosen.beside)
    return cut if layout is None else _Cut(layout, forms, frozenset(longer))


def _settled(state: _Round, found: Repeats, cut: _Cut, lineage: Lineage) -> _Round:
    """The state once `cut` stands: those of which nothing is left are copies of who has it."""
    chosen, whole = state.chosen, state.whole
    waits = _waiting(state, found)
    lineage.drop((candidate for candidate in chosen.taken if candidate.key not in waits), found.gone, REPEATED)
    now = {**cut.forms, **waits}
    # What was changed here is no longer what the budget left of it.
    changed = {candidate.key for candidate in chosen.usable if now.get(candidate.key, candidate) is not candidate}
    usable = tuple(
        lineage.change(candidate, now.get(candidate.key, candidate))
        for candidate in chosen.usable
        if candidate.key not in found.gone or candidate.key in waits
    )
    left_out = {key: LeftOut(FOR_BUDGET, cut.layout.text_tokens(candidate)) for key, candidate in waits.items()}
    settled = replace(
        chosen,
        layout=cut.layout,
        usable=usable,
        taken=tuple(cut.forms.values()),
        left_out=chosen.left_out | left_out,
        elsewhere={**chosen.elsewhere, **found.where},
    )
    return _Round(settled, {key: candidate for key, candidate in whole.items() if key not in changed}, cut.back)


def _waiting(state: _Round, found: Repeats) -> dict[int, Candidate]:
    """Of those that are gone and were shortened, the rest, which may have to tell something else, by key."""
    rests = {key: _rest(state.whole[key], found.lost[key]) for key in found.gone if key in state.whole}
    return {key: rest for key, rest in rests.items() if rest is not None}


def _refilled(state: _Round, selector: Selector, lineage: Lineage) -> _Round:
    """The state with those that wait and have room now."""
    chosen = state.chosen
    without_room = for_budget(chosen.left_out)
    waiting = [candidate for candidate in chosen.usable if candidate.key in without_room][:MOST_OFFERED]
    layout, came = selector.come_in(chosen.layout, waiting)
    whole = {**state.whole, **{candidate.key: candidate for candidate in chosen.usable if candidate.key in came}}
    refilled = replace(
        chosen,
        layout=layout,
        usable=tuple(lineage.change(candidate, came.get(candidate.key, candidate)) for candidate in chosen.usable),
        taken=(*chosen.taken, *came.values()),
        left_out={key: why for key, why in chosen.left_out.items() if key not in came},
    )
    return _Round(refilled, whole, state.late | came.keys())


def _rest(candidate: Candidate, lost: Iterable[Span]) -> Candidate | None:
    """`candidate` without what is `lost`; None if nothing is left."""
    kept = tuple(part for span in candidate.slices for part in without(span, tuple(lost)))
    if kept == candidate.slices:
        return candidate
    rest = candidate._replace(kept=kept, shortened_by=candidate.shortened_by or REPEATED)
    return rest if rest.text.strip() else None
