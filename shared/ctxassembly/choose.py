"""All that may be used -> what stands in the context.

The part of the flow that may ask a language model: what it extracts from chunks that don't fit whole.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass
from typing import Any

from ctxassembly.budget import shorten
from ctxassembly.compress import extract
from ctxassembly.duplicates import Duplicates
from ctxassembly.layout import Layout
from ctxassembly.lineage import Lineage
from ctxassembly.log import Log
from ctxassembly.requests import CompressTexts
from ctxassembly.selection import Selection, Selector
from ctxassembly.supplement import Supplemented
from ctxassembly.types import Candidate, Header, LeftOut

IRRELEVANT = "irrelevant"


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
    """Those that don't, by `id`."""


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
    irrelevant: dict[int, LeftOut] = {}
    if selector.config.compress == "llm" and selection.waiting:
        usable, irrelevant = yield from _extracted(usable, selection, selector, lineage, log)
        selection = selector.select(usable, selection.beside)
    layout, left_out, shortened = selection.layout, dict(selection.left_out), dict(selection.shortened)
    log.notes += (*selection.notes, *selection.beside.notes)
    usable = tuple(lineage.change(*each) for each in zip(usable, selection.candidates, strict=True))
    taken = tuple(candidate for candidate in usable if id(candidate) not in left_out)
    # What the budget left out must not keep its duplicates out as well, unless filling has ended.
    while selector.goes_on and (more := duplicates.second_chances(seen, taken, left_out)):
        again = selector.go_on(layout, more)
        left_out |= again.left_out
        shortened |= again.shortened
        usable += more
        taken = tuple(candidate for candidate in usable if id(candidate) not in left_out)
    if shortened:
        taken = tuple(lineage.change(each, shortened.get(id(each), each)) for each in taken)
    level = Header.FULL
    if usable and not taken:
        for hit in filter(lambda candidate: candidate.is_hit, usable):
            if alone := shorten(layout, hit):
                short, level = alone
                layout.take((short,))
                taken = (lineage.change(hit, short),)
                log.notes.append(_shortening(short, level))
                break
    return Chosen(layout, level, selection.beside, usable, taken, left_out | irrelevant)


def _extracted(
    usable: Sequence[Candidate], selection: Selection, selector: Selector, lineage: Lineage, log: Log
) -> Generator[CompressTexts, Sequence[Any], tuple[tuple[Candidate, ...], dict[int, LeftOut]]]:
    """`usable` with what a model chose of those that wait for room, and those in which it found nothing."""
    usable = tuple(lineage.change(*each) for each in zip(usable, selection.candidates, strict=True))
    extracted = yield from extract(selection.waiting, selection.room, selector.query, selector.config, log.notes)
    relevant = tuple(candidate for candidate in usable if id(candidate) not in extracted.irrelevant)
    irrelevant: dict[int, LeftOut] = {}
    if relevant:
        tokens = selection.layout.text_tokens
        gone = (candidate for candidate in usable if id(candidate) in extracted.irrelevant)
        irrelevant = {id(candidate): LeftOut(IRRELEVANT, tokens(candidate)) for candidate in gone}
    else:
        log.notes.append("compress: the model finds nothing relevant in any chunk, all stay")
    forms = extracted.forms
    changed = tuple(lineage.change(each, forms.get(id(each), each)) for each in relevant or usable)
    return changed, irrelevant


_WITHOUT = {
    Header.FULL: "all of its header",
    Header.NO_SUMMARY: "no page summary",
    Header.LABEL: "no summary, source and page",
    Header.NONE: "no header",
}


def _shortening(candidate: Candidate, level: Header) -> str:
    cut = ", its text cut" if candidate.kept is not None else ""
    return f"budget: no item fits whole; {candidate.chunk.id!r} stands alone, with {_WITHOUT[level]}{cut}"
