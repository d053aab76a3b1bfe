"""Candidates reduced to the units that were chosen: which slices of its text each of them keeps."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Sequence

from ctxassembly.assembly.choosing.cut import merged
from ctxassembly.assembly.choosing.shares import Share
from ctxassembly.assembly.choosing.units import Units
from ctxassembly.assembly.rendering.excerpt import without
from ctxassembly.data.candidates import Candidate
from ctxassembly.data.chunks import Span


def reduced(units: Units, chosen: Collection[int], held: Collection[int] = frozenset()) -> dict[int, Candidate]:
    """The candidates that have the chosen units, by key, each reduced to its share of them.

    Text that two chunks share is the first one's, but for a hit that has nothing else: what is `held` of it, no other
    one has.
    """
    kept: dict[int, Candidate] = {}
    upto: dict[int, int] = {}
    sharing: list[Share] = []
    ascending = sorted(chosen)
    for share in units.shares:
        first = bisect_left(ascending, share.places.start)
        taken = ascending[first : bisect_left(ascending, share.places.stop, first)]
        if not taken:
            continue
        if len(taken) == len(share.places):
            kept[share.candidate.key] = share.candidate
            upto |= dict.fromkeys(taken, share.end)
        elif spans := _spans(share, taken, units.edges, upto):
            kept[share.candidate.key] = _part(share, spans)
        elif share.candidate.is_hit and (spans := _spans(share, taken, units.edges, {})):
            kept[share.candidate.key] = _part(share, spans)
            sharing += [share] if any(place in held for place in taken) else []
    for share in sharing:
        _take_back(share, units.shares, kept)
    return kept


def _take_back(hit: Share, shares: Sequence[Share], kept: dict[int, Candidate]) -> None:
    """Leave what the `hit` has in `kept` to it alone, but for hits that have nothing else themselves."""
    own = [(hit.begin + start, hit.begin + end) for start, end in kept[hit.candidate.key].slices]
    for share in shares:
        form = kept.get(share.candidate.key)
        if form is None or share is hit or share.end <= own[0][0] or own[-1][1] <= share.begin:
            continue
        spans = [(share.begin + start, share.begin + end) for start, end in form.slices]
        rest = [(start - share.begin, end - share.begin) for span in spans for start, end in without(span, own)]
        if any(share.candidate.chunk.text[start:end].strip() for start, end in rest):
            kept[share.candidate.key] = _part(share, tuple(rest))
        elif not share.candidate.is_hit:
            del kept[share.candidate.key]


def _part(share: Share, spans: tuple[Span, ...]) -> Candidate:
    return share.candidate._replace(kept=spans, shortened_by="sentence")


def _spans(share: Share, places: Sequence[int], edges: Sequence[int], upto: dict[int, int]) -> tuple[Span, ...]:
    """The slices of the candidate's own text in the units at `places`, without those of earlier ones and blank ones."""
    spans: list[Span] = []
    for place in places:
        start, stop = max(edges[place], share.begin, upto.get(place, 0)), min(edges[place + 1], share.end)
        if start < stop and share.candidate.chunk.text[start - share.begin : stop - share.begin].strip():
            spans.append((start - share.begin, stop - share.begin))
            upto[place] = stop
    return merged(spans)
