"""What stands -> what stands with each run of sentences once, and what comes in where they were.

After the budget, not before it: of two copies that one may go which the other one's place in the context makes
superfluous, not one whose other copy has no room.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from ctxassembly.assembly.choosing.repeated import Repeats, repeats
from ctxassembly.assembly.choosing.selection import Selector
from ctxassembly.assembly.choosing.supplement import Supplemented
from ctxassembly.assembly.rendering.excerpt import without
from ctxassembly.assembly.rendering.layout import Layout
from ctxassembly.data.candidates import Candidate, LeftOut
from ctxassembly.data.chunks import Span
from ctxassembly.data.pieces import Header
from ctxassembly.data.reasons import FOR_BUDGET, REPEATED
from ctxassembly.text.prose import Statement
from ctxassembly.tracing.lineage import Lineage

TRIES = 3
"""How often what came in is looked at for repeated sentences itself; after the last time nothing more comes in."""

MOST_OFFERED = 160
"""The best of those that wait, which are offered the room: as many as 20 hits have with three chunks on each side. To
weigh all of 1,000 hits again would double the time, for the last few hundred tokens."""


@dataclass(frozen=True)
class Chosen:
    """What stands."""

    layout: Layout
    level: Header
    """How much is written around the text."""
    beside: Supplemented
    usable: tuple[Candidate, ...]
    """All that there was to choose from, in its present form."""
    taken: tuple[Candidate, ...]
    """Those of them that stand, as they do."""
    left_out: dict[int, LeftOut]
    """Those that don't, by key."""
    elsewhere: Mapping[int, Candidate]
    """For those of `taken` that lost sentences because better-ranked passages have them, by key: who has the most."""


def said_once(chosen: Chosen, whole: Mapping[int, Candidate], selector: Selector, lineage: Lineage) -> Chosen:
    """`chosen` with each run of sentences once, and with what has room in the place of the others.

    `whole` says what those that were shortened are otherwise, by key: where that has room now it stands, before any
    that was left out comes in.
    """
    whole = dict(whole)
    late: set[int] = set()
    known: dict[str, Sequence[Statement]] = {}
    for tries_left in reversed(range(TRIES)):
        found = repeats(chosen.layout.lines(chosen.taken), selector.has_to_be_whole, late, known)
        if found is None:
            break
        taken = tuple(found.forms.get(each.key, each) for each in chosen.taken if each.key not in found.gone)
        layout = selector.layout_of(taken, chosen.usable, chosen.beside)
        if layout is None or layout.token_count >= chosen.layout.token_count:
            break
        now = {each.key: found.forms.get(each.key, each) for each in chosen.taken if each.key not in found.gone}
        late = set()
        if tries_left and (longer := _longer(found, whole, now)):
            forms = tuple({**now, **longer}.values())
            if (roomy := selector.layout_of(forms, chosen.usable, chosen.beside)) is not None:
                layout, taken, now = roomy, forms, {**now, **longer}
                late.update(longer)
        # Of what was shortened the rest may have to tell something else.
        back = {key: rest for key in found.gone if key in whole and (rest := _rest(whole[key], found.lost[key]))}
        lineage.drop((each for each in chosen.taken if each.key not in back), found.gone, REPEATED)
        now |= back
        # What was changed here is no longer what the budget left of it.
        changed = {each.key for each in chosen.usable if now.get(each.key, each) is not each}
        whole = {key: each for key, each in whole.items() if key not in changed}
        usable = tuple(
            lineage.change(each, now.get(each.key, each))
            for each in chosen.usable
            if each.key not in found.gone or each.key in back
        )
        left_out = chosen.left_out | {each.key: LeftOut(FOR_BUDGET, layout.text_tokens(each)) for each in back.values()}
        elsewhere = {**chosen.elsewhere, **found.where}
        chosen = Chosen(layout, chosen.level, chosen.beside, usable, taken, left_out, elsewhere)
        if tries_left:
            waiting = for_budget(left_out)
            came = selector.come_in(layout, [each for each in usable if each.key in waiting][:MOST_OFFERED])
            whole |= {each.key: each for each in usable if each.key in came}
            late.update(came)
            chosen = _with(chosen, came, lineage)
        if not late:
            break
    return chosen


def for_budget(left_out: Mapping[int, LeftOut]) -> set[int]:
    """Those that only lacked room, by key; the others were let go for what they are."""
    return {key for key, why in left_out.items() if why.reason == FOR_BUDGET}


def _longer(found: Repeats, whole: Mapping[int, Candidate], now: Mapping[int, Candidate]) -> dict[int, Candidate]:
    """What the budget cut, all of it but what is repeated."""
    cut = (key for key, each in now.items() if each.shortened_by == FOR_BUDGET and key in whole)
    rests = {key: _rest(whole[key], found.lost.get(key, ())) for key in cut}
    return {key: rest for key, rest in rests.items() if rest is not None}


def _rest(candidate: Candidate, lost: Iterable[Span]) -> Candidate | None:
    """`candidate` without what is `lost`; None if nothing is left."""
    kept = tuple(each for span in candidate.slices for each in without(span, tuple(lost)))
    if kept == candidate.slices:
        return candidate
    rest = candidate._replace(kept=kept, shortened_by=candidate.shortened_by or REPEATED)
    return rest if rest.text.strip() else None


def _with(chosen: Chosen, came: Mapping[int, Candidate], lineage: Lineage) -> Chosen:
    """`chosen` with those that came in, as they did, by key."""
    return Chosen(
        chosen.layout,
        chosen.level,
        chosen.beside,
        tuple(lineage.change(each, came.get(each.key, each)) for each in chosen.usable),
        (*chosen.taken, *came.values()),
        {key: why for key, why in chosen.left_out.items() if key not in came},
        chosen.elsewhere,
    )
