"""Sentences that two passages share are said once, and others come in where they were.

After the budget, not before it: of two copies that one may go which the other one's place in the context makes
superfluous, not one whose other copy has no room.

It goes in rounds. A round finds what is repeated, takes it out, gives back to what the budget cut as much as has room
now, and offers the rest of the room to the best that wait. What came in may repeat what stands, so the next round looks
at that.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from ctxassembly.assembly.choosing.chosen import Chosen
from ctxassembly.assembly.choosing.filled import for_budget
from ctxassembly.assembly.choosing.repeated import Repeats, repeats
from ctxassembly.assembly.choosing.selection import Selector
from ctxassembly.assembly.rendering.excerpt import without
from ctxassembly.assembly.rendering.layout import Layout
from ctxassembly.data.candidates import FOR_BUDGET, REPEATED, Candidate, LeftOut
from ctxassembly.data.chunks import Span
from ctxassembly.text.prose import Statement
from ctxassembly.tracing.lineage import Lineage

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
