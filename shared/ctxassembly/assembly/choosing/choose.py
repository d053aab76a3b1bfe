"""All that may be used -> what stands in the context.

The part of the flow that may ask a language model: what it extracts from chunks that don't fit whole.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import Any

from ctxassembly.assembly.choosing.compress import extract
from ctxassembly.assembly.choosing.fill import shorten
from ctxassembly.assembly.choosing.said_once import Chosen, for_budget, said_once
from ctxassembly.assembly.choosing.selection import Selector
from ctxassembly.assembly.choosing.supplement import Supplemented
from ctxassembly.assembly.duplicates.collapse import Duplicates
from ctxassembly.data.candidates import Candidate
from ctxassembly.data.pieces import Header
from ctxassembly.data.requests import CompressTexts
from ctxassembly.shown import shown
from ctxassembly.tracing.lineage import Lineage
from ctxassembly.tracing.log import Log


def choose(
    usable: Sequence[Candidate],
    seen: Sequence[Candidate],
    selector: Selector,
    beside: Supplemented,
    duplicates: Duplicates,
    lineage: Lineage,
    log: Log,
) -> Generator[CompressTexts, Sequence[Any], Chosen]:
    """What stands of `usable`, best first, beside a supplement; `seen` are all candidates as they came."""
    selection = selector.select(usable, beside)
    if selector.config.compress == "llm" and selector.grain != "sentence" and selection.waiting:
        room = selector.room(selection)
        extracted = yield from extract(selection.waiting, room, selector.query, selector.config, log.notes)
        selection = selector.select_again(selection, extracted)
    layout, left_out, shortened = selection.layout, dict(selection.left_out), dict(selection.shortened)
    log.notes += (*selection.notes, *selection.beside.notes)
    usable = tuple(lineage.change(*each) for each in zip(usable, selection.candidates, strict=True))
    taken = tuple(candidate for candidate in usable if candidate.key not in left_out)
    # What the budget left out must not keep its duplicates out as well, unless filling has ended.
    while selector.goes_on and (more := duplicates.second_chances(seen, taken, for_budget(left_out))):
        again = selector.go_on(layout, more)
        left_out |= again.left_out
        shortened |= again.shortened
        usable += more
        taken = tuple(candidate for candidate in usable if candidate.key not in left_out)
    if shortened:
        taken = tuple(lineage.change(each, shortened.get(each.key, each)) for each in taken)
    level = Header.FULL
    best = shortened.get(usable[0].key) if usable else None
    if best and best.shortened_by == "budget":
        log.notes.append(_shortening(best, level, alone=len(taken) == 1))
    elif usable and not taken:
        without_room = for_budget(left_out)
        hits = (candidate for candidate in usable if candidate.is_hit)
        for hit in sorted(hits, key=lambda hit: hit.key not in without_room):
            if alone := shorten(layout, hit):
                short, level = alone
                layout.take((short,))
                taken = (lineage.change(hit, short),)
                log.notes.append(_shortening(short, level, alone=True))
                break
    log.stage("budget", len(usable), len(taken))
    whole = {each.key: each for each in usable if each.key in shortened}
    usable = tuple(shortened.get(each.key, each) for each in usable)
    chosen = Chosen(layout, level, selection.beside, usable, taken, left_out, {})
    if selector.says_once and level is Header.FULL:
        chosen = said_once(chosen, whole, selector, lineage)
    if chosen.layout is not layout:
        log.stage("repeats", len(taken), len(chosen.taken))
    return chosen


_WITHOUT = {
    Header.FULL: "all of its header",
    Header.NO_SUMMARY: "no page summary",
    Header.LABEL: "no summary, source and page",
    Header.NONE: "no header",
}


def _shortening(candidate: Candidate, level: Header, *, alone: bool) -> str:
    name = shown(candidate.chunk.id, 80)
    if not alone:
        return f"budget: the best hit, {name}, does not fit whole; its text is cut"
    cut = ", its text cut" if candidate.kept is not None else ""
    return f"budget: no item fits whole; {name} stands alone, with {_WITHOUT[level]}{cut}"
