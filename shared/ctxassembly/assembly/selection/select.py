"""Choosing, from all usable candidates to those that stand.

Selection comes first (`selection.py`), with the answers of a language model if one compresses. Then the room that is
left goes to duplicates of what was left out; where nothing fits at all, the best hit stands alone; and in the end
sentences that two passages share are said once. It is the one place that takes a chosen layout for the context's.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from ctxassembly.assembly.selection.compress import extract
from ctxassembly.assembly.selection.repeated_sentences import said_once
from ctxassembly.assembly.selection.result import Chosen, for_budget
from ctxassembly.assembly.selection.selector import Selection, Selector
from ctxassembly.assembly.selection.shorten import shorten
from ctxassembly.assembly.selection.supplement import Supplemented
from ctxassembly.data.candidates import FOR_BUDGET, STOPPED, Candidate, Header
from ctxassembly.data.requests import CompressTexts, Request
from ctxassembly.safe_repr import shown
from ctxassembly.tracing.lineage import Lineage
from ctxassembly.tracing.recorder import Log, by_reason

SecondChances = Callable[[tuple[Candidate, ...], set[int]], Sequence[Candidate]]
"""From those that stand and the keys of those without room to the duplicates of the latter that may stand now."""


def choose(
    usable: Sequence[Candidate],
    selector: Selector,
    beside: Supplemented,
    second_chances: SecondChances,
    lineage: Lineage,
    log: Log,
) -> Generator[Request, Sequence[Any], Chosen]:
    """Choose of `usable`, best first, what stands beside a supplement."""
    yield from log.begin("budget", len(usable))
    selection = yield from _selected(usable, selector, beside, log)
    log.notes += (*selection.notes, *selection.beside.notes)
    for before, after in zip(usable, selection.candidates, strict=True):
        lineage.change(before, after)
    if selector.goes_on:
        selection = _with_duplicates(selection, selector, second_chances)
    chosen = _alone(selection, lineage, log) or _standing(selection, lineage, log)
    log.chunks_in = len(chosen.usable)  # more than there were, if duplicates had a second chance
    yield from log.end(len(chosen.taken), partial(_told, chosen, selector))
    if selector.says_once and chosen.level is Header.FULL:
        yield from log.begin("repeats", len(chosen.taken))
        whole = {candidate.key: candidate for candidate in selection.candidates if candidate.key in selection.shortened}
        once = said_once(chosen, whole, selector, lineage)
        is_noted = once.layout is not chosen.layout
        yield from log.end(len(once.taken), partial(_told, once, selector), is_noted=is_noted)
        chosen = once
    log.notes += _passed_over(chosen)
    return chosen


def _told(chosen: Chosen, selector: Selector) -> Mapping[str, Any]:
    """The outcome of a choice, as its stage tells it."""
    shortened = sum(candidate.kept is not None for candidate in chosen.taken)
    return {
        **by_reason(why.reason for why in chosen.left_out.values()),
        **({"shortened": shortened} if shortened else {}),
        "tokens": chosen.token_count,
        "max_tokens": selector.config.token_limit,
    }


def _selected(
    usable: Sequence[Candidate], selector: Selector, beside: Supplemented, log: Log
) -> Generator[CompressTexts, Sequence[Any], Selection]:
    """Select, and where a language model compresses, select again once it has read those that don't fit whole."""
    selection = selector.select(usable, beside)
    if selector.config.compress != "llm" or selector.grain == "sentence" or not selection.waiting:
        return selection
    room = selector.room(selection)
    extracted = yield from extract(selection.waiting, room, selector.query, selector.config, log.notes)
    return selector.select_again(selection, extracted)


def _with_duplicates(selection: Selection, selector: Selector, second_chances: SecondChances) -> Selection:
    """Offer the room that is left to the duplicates of those without room, until none of them is left.

    What the budget left out must not keep its duplicates out as well, unless filling has ended.
    """
    while more := second_chances(selection.standing, for_budget(selection.left_out)):
        filled = selector.go_on(selection.layout, more)
        selection = replace(
            selection,
            layout=filled.layout,
            candidates=(*selection.candidates, *more),
            left_out=selection.left_out | filled.left_out,
            shortened=selection.shortened | filled.shortened,
        )
    return selection


def _standing(selection: Selection, lineage: Lineage, log: Log) -> Chosen:
    """The selection as it is, and a note if the best hit is cut."""
    short, candidates = selection.shortened, selection.candidates
    taken = tuple(lineage.change(candidate, short.get(candidate.key, candidate)) for candidate in selection.standing)
    best = short.get(candidates[0].key) if candidates else None
    if best and best.shortened_by == "budget":
        log.notes.append(_shortening(best, Header.FULL, alone=len(taken) == 1))
    usable = tuple(short.get(candidate.key, candidate) for candidate in candidates)
    return Chosen(
        selection.layout, Header.FULL, selection.beside, usable, taken, selection.left_out, {}, selection.worth
    )


def _alone(selection: Selection, lineage: Lineage, log: Log) -> Chosen | None:
    """The best hit of which anything fits, below a shorter header, where nothing stands; else None."""
    if selection.standing:
        return None
    without_room = for_budget(selection.left_out)
    hits = (candidate for candidate in selection.candidates if candidate.is_hit)
    for hit in sorted(hits, key=lambda hit: hit.key not in without_room):
        if alone := shorten(selection.layout, hit):
            short, level = alone
            log.notes.append(_shortening(short, level, alone=True))
            layout, taken = selection.layout.plus((short,)), (lineage.change(hit, short),)
            without, worth = selection.left_out, selection.worth
            return Chosen(layout, level, selection.beside, selection.candidates, taken, without, {}, worth)
    return None


def _passed_over(chosen: Chosen) -> Sequence[str]:
    """A note if the best hit has no text in the context and lesser ones do, with the one that the query prefers."""
    best = chosen.usable[0] if chosen.usable else None
    why = chosen.left_out.get(best.key) if best else None
    # The other reasons have notes of their own, or name the chunk that has the text.
    if best is None or why is None or why.reason not in (FOR_BUDGET, STOPPED) or not chosen.taken:
        return ()
    worth, lowest = chosen.worth, -math.inf
    first = max(chosen.taken, key=lambda candidate: worth.get(candidate.key, lowest))
    is_better = worth.get(first.key, lowest) > worth.get(best.key, math.inf)
    instead = f"{shown(first.chunk.id, 80)}, worth more for the query" if is_better else "others"
    return (f"{why.reason}: the best hit, {shown(best.chunk.id, 80)}, makes room for {instead}",)


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
