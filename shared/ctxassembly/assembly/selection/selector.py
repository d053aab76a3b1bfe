"""Selection of the candidates that stand: the budget, what relieves it, and the supplement beside it.

A selection goes from what must stand to what may: the chunks that have to stand whole, then all of the window if that
fits, else what relieves the budget, what the query weighs most, and what fills the room.
"""

from __future__ import annotations

import math
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import NamedTuple

from ctxassembly.assembly.rendering.layout import Layout, empty_layout
from ctxassembly.assembly.scoring.sentences import Units, units_of
from ctxassembly.assembly.selection.compress import Extracted
from ctxassembly.assembly.selection.fill import fill
from ctxassembly.assembly.selection.granularity import Weighed, weigh, weights_for
from ctxassembly.assembly.selection.keep_hits import hold, loses
from ctxassembly.assembly.selection.knapsack import CLOSE_ENOUGH
from ctxassembly.assembly.selection.result import Filled
from ctxassembly.assembly.selection.shorten import (
    BestSentences,
    Edge,
    beginning,
    best_sentences,
    fitting_end,
    fitting_excerpt,
)
from ctxassembly.assembly.selection.supplement import Supplemented
from ctxassembly.config.assembly import AssemblyConfig, Granularity
from ctxassembly.data.candidates import (
    BELOW_FLOOR,
    BEYOND,
    FOR_BUDGET,
    IRRELEVANT,
    TOO_SHORT,
    Candidate,
    LeftOut,
    Reason,
)
from ctxassembly.data.chunks import is_marked
from ctxassembly.data.metadata_keys import MetadataKeys, look_up
from ctxassembly.safe_repr import shown
from ctxassembly.tokens.counter import MOST_CHARS_PER_TOKEN, Counter

# Relief where not everything fits, before candidates are weighed against each other.
#
# Hits below the floor go first, then crumbs, then the ends of long chunks. Each step is taken only as long as not
# everything fits, and none of them leaves nothing.


class Relieved(NamedTuple):
    """All the candidates in their order, some of them cut, and those of them that give way, by key."""

    candidates: tuple[Candidate, ...]
    left_out: dict[int, LeftOut]
    notes: tuple[str, ...]


def relieve(
    layout: Layout, candidates: Sequence[Candidate], config: AssemblyConfig, best_sentences: BestSentences | None
) -> Relieved:
    """Take out of `candidates`, best first, what gives way to others where not all of them fit.

    First the hits below `relevance_floor` go, with the neighbours that were fetched for them; then chunks with fewer
    tokens than `min_chunk_tokens`; then chunks with more than `max_chunk_tokens` are cut to that: to their best
    sentences if there is a ranking, else to their beginning.
    """
    notes: list[str] = []
    low = _below_floor(layout, candidates, config.relevance_floor)
    left_out = _gone(layout, low, candidates, BELOW_FLOOR)
    if low and not left_out:
        notes.append(f"relevance_floor: no hit reaches {config.relevance_floor:g}, all stay")
    standing = _without(candidates, left_out)
    left_out |= _gone(layout, _too_short(layout, standing, config.min_chunk_tokens), standing, TOO_SHORT)
    standing = _without(candidates, left_out)
    if candidates and (why := left_out.get(candidates[0].key)):
        notes.append(f"{why.reason}: the best hit, {shown(candidates[0].chunk.id, 80)}, makes room for others")
    limit = config.max_chunk_tokens
    if limit is not None and not layout.fits(standing):
        limited = {candidate.key: _limited(layout, candidate, limit, best_sentences) for candidate in standing}
        candidates = [limited.get(candidate.key, candidate) for candidate in candidates]
    return Relieved(tuple(candidates), left_out, tuple(notes))


def _below_floor(layout: Layout, candidates: Sequence[Candidate], floor: float | None) -> list[Candidate]:
    """The hits with a score below `floor`, and the neighbours that are there because of them."""
    if floor is None or layout.fits(candidates):
        return []
    low = {
        candidate.rank
        for candidate in candidates
        if candidate.is_hit and candidate.score is not None and candidate.score < floor
    }
    return [candidate for candidate in candidates if candidate.rank in low]


def _too_short(layout: Layout, candidates: Sequence[Candidate], least: int) -> list[Candidate]:
    if not least or layout.fits(candidates):
        return []
    return [candidate for candidate in candidates if layout.text_tokens(candidate) < least]


def _gone(
    layout: Layout, going: Sequence[Candidate], standing: Sequence[Candidate], reason: Reason
) -> dict[int, LeftOut]:
    """Those that go, by key; nobody if that would be everyone."""
    if len(going) == len(standing):
        return {}
    return {candidate.key: LeftOut(reason, layout.text_tokens(candidate)) for candidate in going}


def _without(candidates: Sequence[Candidate], left_out: Container[int]) -> tuple[Candidate, ...]:
    return tuple(candidate for candidate in candidates if candidate.key not in left_out)


def _limited(layout: Layout, candidate: Candidate, limit: int, best_sentences: BestSentences | None) -> Candidate:
    """`candidate` with at most `limit` tokens of its text; as it is if not even a character has so few."""
    if layout.text_tokens(candidate) <= limit:
        return candidate
    ranked = best_sentences([candidate]) if best_sentences else ()
    if best := fitting_excerpt(ranked, lambda some: layout.text_tokens(some[0]) <= limit):
        return best[0]._replace(shortened_by="max_chunk_tokens")

    def begun(end: int) -> Candidate:
        return beginning(candidate, end, "max_chunk_tokens")

    text = candidate.text[: limit * MOST_CHARS_PER_TOKEN]
    end = fitting_end(text, len(text) - len(text.lstrip()), lambda end: layout.text_tokens(begun(end)) <= limit)
    return begun(end) if end else candidate


def take_whole(layout: Layout, candidates: Sequence[Candidate], window: int, keys: MetadataKeys) -> Layout:
    """`layout` with those of `candidates`, best first, that have to stand whole and fit.

    Hits go before all others. A neighbour stands if all hits have room beside it.
    """
    hits = {candidate.key: candidate for candidate in candidates if candidate.is_hit}
    for candidate in candidates:
        if candidate.distance > window or not is_marked(candidate.chunk, "keep_whole", keys):
            continue
        beside = [] if candidate.is_hit else list(hits.values())
        if layout.may_fit([candidate]) and layout.fits([*beside, candidate]):
            layout = layout.plus([candidate])
            hits.pop(candidate.key, None)
    return layout


TYPICAL_CHARS_PER_TOKEN = 4.0
"""Of English prose. Nothing depends on it but how much a model is asked."""


@dataclass(frozen=True)
class Selector:
    """Selects with one config, for one query. Layouts and candidates come in and go out; it keeps nothing."""

    config: AssemblyConfig
    counter: Counter
    query: str | None
    scores: Mapping[str, float] = field(default_factory=dict)
    """What a scorer says of sentences, by their text."""

    @property
    def grain(self) -> Granularity:
        """The unit that is kept or dropped whole."""
        return self.config.grain(self.query)

    @property
    def goes_on(self) -> bool:
        """True if there may be room left for candidates that were not looked at."""
        return self.config.at_edge == "skip" and self.grain in ("passage", "chunk")

    @property
    def says_once(self) -> bool:
        """True if sentences of one passage are not said again in another."""
        config = self.config
        return config.enabled and config.dedup_sentences and config.dedup != "none" and self.grain != "document"

    def has_to_be_whole(self, candidate: Candidate) -> bool:
        """True if nothing may be taken from `candidate`: its metadata say so."""
        return self.config.enabled and is_marked(candidate.chunk, "keep_whole", self.config.keys)

    def sentences(self, candidates: Sequence[Candidate], beside: Supplemented) -> Units | None:
        """The sentences that the query chooses from; None if rank alone decides, or all fits beside a supplement."""
        if not (self._by_query and candidates):
            return None
        layout = self._empty(candidates, beside)
        if self.config.stop_below is None and layout.may_fit(candidates) and layout.fits(candidates):
            return None
        return self._units(layout, candidates)

    def select(self, candidates: Sequence[Candidate], beside: Supplemented) -> Selection:
        """Select of `candidates`, best first, beside a supplement.

        The supplement gives way rather than that the best hit is left out, is cut or loses its header.
        """
        first = self._selection(candidates, beside)
        whole = self.grain != "sentence"  # of which the best hit may stand in part
        if not beside.parts or not candidates or (first.stands(candidates[0], whole=whole) and not self._misses(first)):
            return first
        notes = ("supplement: left out, the best hit does not fit beside it",)
        alone = self._selection(candidates, Supplemented(notes=notes))
        if self._misses(first) and not self._misses(alone):
            return alone
        return alone if alone.stands(candidates[0], whole=whole) or not first.layout.labels() else first

    def room(self, selection: Selection) -> int:
        """The tokens, about, that are left for the rest by all that stands whole."""
        whole = (candidate for candidate in selection.standing if candidate.key not in selection.shortened)
        most = min(self.config.token_limit, (self.config.max_characters or math.inf) / TYPICAL_CHARS_PER_TOKEN)
        return int(most - sum(map(selection.layout.text_tokens, whole)))

    def select_again(self, before: Selection, extracted: Extracted) -> Selection:
        """Select again after a language model was asked about those that wait, without what it found irrelevant.

        Its excerpts stand only for candidates that don't fit whole, now that there may be more room.
        """
        layout = self._layout(before.candidates, before.beside)
        left_out = {key: why for key, why in before.left_out.items() if why.reason != FOR_BUDGET}
        gone = [candidate for candidate in before.candidates if candidate.key in extracted.irrelevant]
        notes = before.notes
        if len(gone) == len(before.candidates) - len(left_out):
            notes += ("compress: the model finds nothing relevant in any chunk, all stay",)
        else:
            left_out |= {candidate.key: LeftOut(IRRELEVANT, layout.text_tokens(candidate)) for candidate in gone}
        offered = replace(before, layout=layout, left_out=left_out, notes=notes)
        return self._filled(offered, self._best_sentences(layout, before.candidates), extracted.forms)

    def go_on(self, layout: Layout, candidates: Sequence[Candidate]) -> Filled:
        """Select of more `candidates`, beside all that is in `layout`."""
        return self._fill(layout, self._weighed(layout, candidates), self._best_sentences(layout, candidates))

    def come_in(self, layout: Layout, waiting: Sequence[Candidate]) -> tuple[Layout, dict[int, Candidate]]:
        """Select of those that the budget left out, now that there is more room in `layout`; their forms by key.

        Not for a room so small that it would gain next to nothing.
        """
        if layout.token_count >= CLOSE_ENOUGH * layout.max_tokens:
            return layout, {}
        offered = [candidate for candidate in waiting if not self.has_to_be_whole(candidate)]
        if not offered or self.config.at_edge != "skip" or self.config.stop_below is not None:
            return layout, {}
        filled = self.go_on(layout, offered)
        came = [candidate for candidate in offered if candidate.key not in filled.left_out]
        return filled.layout, {candidate.key: filled.shortened.get(candidate.key, candidate) for candidate in came}

    def layout_of(
        self, taken: Sequence[Candidate], candidates: Sequence[Candidate], beside: Supplemented
    ) -> Layout | None:
        """The layout of `taken` out of `candidates`, beside a supplement; None if they don't fit."""
        layout = self._empty(candidates, beside)
        return layout.plus(taken) if layout.fits(taken) else None

    def _selection(self, candidates: Sequence[Candidate], beside: Supplemented) -> Selection:
        layout = self._layout(candidates, beside)
        best = self._best_sentences(layout, candidates)
        rest = [candidate for candidate in candidates if not layout.holds(candidate)]
        near = [candidate for candidate in rest if candidate.distance <= self.config.window]
        if self._by_query and self.config.stop_below is None and layout.may_fit(near) and layout.fits(near):
            filled = self._beyond(layout.plus(near), candidates)
            return Selection(filled.layout, tuple(candidates), filled.left_out, filled.shortened, beside, (), {})
        relieved = relieve(layout, rest, self.config, best)
        now = {candidate.key: after for candidate, after in zip(rest, relieved.candidates, strict=True)}
        offered = Selection(
            layout,
            tuple(now.get(candidate.key, candidate) for candidate in candidates),
            relieved.left_out,
            {},
            beside,
            (*relieved.notes, *self._unkept(rest)),
            {},
        )
        return self._filled(offered, best)

    def _beyond(self, layout: Layout, candidates: Sequence[Candidate]) -> Filled:
        """Select from beyond a window that stands whole: only what is worth more than a hit that is read anyway."""
        config = self.config
        beyond = {candidate.key for candidate in candidates if candidate.distance > config.window}
        if not beyond:
            return Filled(layout, {}, {})
        better = self._units(layout, candidates).beyond(candidates, config.window)
        edge = Edge(at_edge=config.at_edge, min_chunk_tokens=config.min_chunk_tokens)
        filled = fill(layout, better, "chunk", edge)
        poor = dict.fromkeys(beyond - {candidate.key for candidate in better}, LeftOut(BEYOND, 0))
        return filled._replace(left_out=poor | self._with_reasons(better, filled.left_out))

    def _filled(
        self, offered: Selection, best: BestSentences | None, forms: Mapping[int, Candidate] = MappingProxyType({})
    ) -> Selection:
        """Fill the layout of `offered` with those of its candidates that aren't left out already."""
        layout = offered.layout
        without_room = self._unwhole(offered)
        candidates = [candidate for candidate in offered.undecided if candidate.key not in without_room]
        weighed = self._weighed(layout, candidates)
        hits = [candidate for candidate in candidates if candidate.is_hit]
        filled = None if weighed.loses_hits else self._fill(layout, weighed, best, forms)
        if filled is None or (weighed.held and loses(filled, hits)):
            if weighed.held and layout.fits(hits):
                filled = hold(layout, candidates, weighed.held, self.grain)
            filled = filled or self._fill(layout, weighed, best, forms)
        left_out = self._with_reasons(offered.candidates, offered.left_out | without_room | filled.left_out)
        return replace(
            offered, layout=filled.layout, left_out=left_out, shortened=filled.shortened, worth=weighed.worth
        )

    def _unwhole(self, offered: Selection) -> dict[int, LeftOut]:
        """The neighbours that have to stand whole and can't, by key: no part of them may. A hit may stand in part."""
        neighbours = (
            candidate for candidate in offered.undecided if not candidate.is_hit and self.has_to_be_whole(candidate)
        )
        return {candidate.key: LeftOut(FOR_BUDGET, offered.layout.text_tokens(candidate)) for candidate in neighbours}

    def _with_reasons(self, candidates: Sequence[Candidate], left_out: Mapping[int, LeftOut]) -> dict[int, LeftOut]:
        """`left_out`, with "beyond the window" as the reason for those of `candidates` outside it."""
        beyond = {candidate.key for candidate in candidates if candidate.distance > self.config.window}
        return {key: why._replace(reason=BEYOND) if key in beyond else why for key, why in left_out.items()}

    def _weighed(self, layout: Layout, candidates: Sequence[Candidate]) -> Weighed:
        if self._by_query and candidates:
            return weigh(layout, candidates, self.query or "", self.config, self.scores)
        return Weighed(None, candidates)

    def _fill(
        self,
        layout: Layout,
        weighed: Weighed,
        best: BestSentences | None,
        forms: Mapping[int, Candidate] = MappingProxyType({}),
    ) -> Filled:
        if weighed.packed is not None:
            return weighed.packed
        edge = Edge(
            at_edge=self.config.at_edge,
            cuts_hits=self.config.cuts_hits,
            min_chunk_tokens=self.config.min_chunk_tokens,
            forms=forms,
            sentences=best,
            answers=self._ranking(layout, weighed.ranked) if self._by_query else None,
        )
        filled = fill(layout, weighed.ranked, "chunk" if self.grain == "sentence" else self.grain, edge)
        return filled._replace(left_out={**weighed.stopped, **filled.left_out})

    @property
    def _by_query(self) -> bool:
        """True if the words of the query decide, where not everything fits."""
        return self.grain != "document" and self.config.chooses(self.query)

    def _misses(self, selection: Selection) -> bool:
        """True if a hit that has to stand whole doesn't."""
        hits = (candidate for candidate in selection.candidates if candidate.is_hit and self.has_to_be_whole(candidate))
        return not all(selection.stands(candidate, whole=True) for candidate in hits)

    def _unkept(self, candidates: Sequence[Candidate]) -> list[str]:
        """A note on each hit that has to stand whole and can't."""
        hits = (candidate for candidate in candidates if candidate.is_hit and self.has_to_be_whole(candidate))
        return [
            f"keep_whole: {shown(candidate.chunk.id, 80)} does not fit whole, treated as any other"
            for candidate in hits
        ]

    def _layout(self, candidates: Sequence[Candidate], beside: Supplemented) -> Layout:
        """The layout of a supplement and those of `candidates` that have to stand whole and can."""
        layout = self._empty(candidates, beside)
        return take_whole(layout, candidates, self.config.window, self.config.keys) if self.config.enabled else layout

    def _empty(self, candidates: Sequence[Candidate], beside: Supplemented) -> Layout:
        return empty_layout(self.config, self.counter, _summaries(candidates, self.config.summary_key), beside.parts)

    def _best_sentences(self, layout: Layout, candidates: Sequence[Candidate]) -> BestSentences | None:
        return None if self.config.compress == "none" else self._ranking(layout, candidates)

    def _ranking(self, layout: Layout, candidates: Sequence[Candidate]) -> BestSentences:
        return best_sentences(lambda: self._units(layout, candidates), self.query)

    def _units(self, layout: Layout, candidates: Sequence[Candidate]) -> Units:
        weights, function_words = weights_for(candidates, self.config), self.config.function_words
        lines, query = layout.lines(candidates), self.query or ""
        return units_of(lines, query, weights=weights, function_words=function_words, scores=self.scores)


@dataclass(frozen=True)
class Selection:
    """The candidates that stand, in their layout, and those that don't."""

    layout: Layout
    candidates: tuple[Candidate, ...]
    """All that were offered, in their order; some cut to `max_chunk_tokens`."""
    left_out: dict[int, LeftOut]
    """Those of them that don't stand, by key."""
    shortened: dict[int, Candidate]
    """The forms of those that stand in part, by key."""
    beside: Supplemented
    notes: tuple[str, ...]
    worth: Mapping[int, float]
    """What each is worth for the query, by key; none where the query had nothing to choose."""

    @property
    def standing(self) -> tuple[Candidate, ...]:
        """Those that stand, as they were offered."""
        return tuple(candidate for candidate in self.candidates if candidate.key not in self.left_out)

    @property
    def undecided(self) -> list[Candidate]:
        """Those that neither stand in the layout nor are left out."""
        return [
            candidate
            for candidate in self.candidates
            if candidate.key not in self.left_out and not self.layout.holds(candidate)
        ]

    @property
    def waiting(self) -> tuple[Candidate, ...]:
        """Those that the budget left out or took in part, best first."""
        return tuple(candidate for candidate in self.candidates if self._waits(candidate))

    def stands(self, candidate: Candidate, *, whole: bool) -> bool:
        """True if `candidate` stands; if it has to be `whole`, nothing may have been taken from it."""
        standing = any(own is candidate for own in self.candidates)
        return standing and candidate.key not in self.left_out and not (whole and candidate.key in self.shortened)

    def _waits(self, candidate: Candidate) -> bool:
        left_out = self.left_out.get(candidate.key)
        return candidate.key in self.shortened or (left_out is not None and left_out.reason == FOR_BUDGET)


def _summaries(candidates: Iterable[Candidate], keys: Iterable[str]) -> Mapping[str, str]:
    """The first summary among each document's chunks, by document id."""
    found: dict[str, tuple[int, str]] = {}
    for candidate in candidates:
        if summary := _summary(candidate, keys):
            document_id, position = candidate.chunk.document_id, candidate.position
            if document_id not in found or position < found[document_id][0]:
                found[document_id] = (position, summary)
    return {document_id: summary for document_id, (_, summary) in found.items()}


def _summary(candidate: Candidate, keys: Iterable[str]) -> str:
    """The page summary in the candidate's metadata; "" if there is none."""
    chunk = candidate.chunk
    for key in keys:
        value = look_up(chunk.metadata, key)
        if isinstance(value, str) and value.strip() and not chunk.is_unread(key):
            return str.__str__(value)
    return ""
