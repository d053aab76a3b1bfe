"""Which candidates stand: the budget, what relieves it, and the supplement beside it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

from ctxassembly.assembly.choosing.compress import Extracted
from ctxassembly.assembly.choosing.fill import fill
from ctxassembly.assembly.choosing.pressure import relieve
from ctxassembly.assembly.choosing.relevance import best_sentences
from ctxassembly.assembly.choosing.scale import TYPICAL_CHARS_PER_TOKEN, BestSentences, Filled
from ctxassembly.assembly.choosing.supplement import Supplemented
from ctxassembly.assembly.choosing.units import units_of
from ctxassembly.assembly.choosing.weigh import Weighed, hold, weigh
from ctxassembly.assembly.choosing.whole import take_whole
from ctxassembly.assembly.rendering.layout import Layout
from ctxassembly.data.candidates import Candidate, LeftOut
from ctxassembly.data.keys import look_up
from ctxassembly.data.marks import is_marked
from ctxassembly.data.reasons import BEYOND, FOR_BUDGET, IRRELEVANT
from ctxassembly.settings.config import AssemblyConfig, Granularity
from ctxassembly.shown import shown
from ctxassembly.tokens.counter import Counter


@dataclass(frozen=True)
class Selector:
    """Selects with one config, for one query."""

    config: AssemblyConfig
    counter: Counter
    query: str | None

    @property
    def grain(self) -> Granularity:
        """What is kept or dropped whole."""
        return self.config.grain(self.query)

    @property
    def goes_on(self) -> bool:
        """Whether there may be room left for what was not looked at."""
        return self.config.at_edge == "skip" and self.grain in ("passage", "chunk")

    @property
    def says_once(self) -> bool:
        """Whether what one passage says isn't said again in another."""
        config = self.config
        return config.enabled and config.dedup_sentences and config.dedup != "none" and self.grain != "document"

    def has_to_be_whole(self, candidate: Candidate) -> bool:
        """Whether nothing may be taken from `candidate`: its metadata say so."""
        return self.config.enabled and is_marked(candidate.chunk, "keep_whole", self.config.keys)

    def select(self, candidates: Sequence[Candidate], beside: Supplemented) -> Selection:
        """What stands of `candidates`, best first, beside a supplement.

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
        """About how many tokens what stands whole leaves for the rest."""
        taken = (each for each in selection.candidates if each.key not in selection.left_out)
        whole = (each for each in taken if each.key not in selection.shortened)
        most = min(self.config.token_limit, (self.config.max_characters or math.inf) / TYPICAL_CHARS_PER_TOKEN)
        return int(most - sum(map(selection.layout.text_tokens, whole)))

    def select_again(self, before: Selection, extracted: Extracted) -> Selection:
        """What stands once a language model has been asked about those that wait: without what it found irrelevant.

        What it chose stands only in the place of what doesn't fit whole, now that there may be more room.
        """
        layout = self._layout(before.candidates, before.beside)
        left_out = {key: why for key, why in before.left_out.items() if why.reason != FOR_BUDGET}
        gone = [each for each in before.candidates if each.key in extracted.irrelevant]
        notes = before.notes
        if len(gone) == len(before.candidates) - len(left_out):
            notes += ("compress: the model finds nothing relevant in any chunk, all stay",)
        else:
            left_out |= {each.key: LeftOut(IRRELEVANT, layout.text_tokens(each)) for each in gone}
        offered = replace(before, layout=layout, left_out=left_out, notes=notes)
        return self._filled(offered, self._best_sentences(before.candidates), extracted.forms)

    def go_on(self, layout: Layout, candidates: Sequence[Candidate]) -> Filled:
        """What stands of more `candidates`, beside all that is in `layout`."""
        return self._fill(layout, self._weighed(layout, candidates), self._best_sentences(candidates))

    def come_in(self, layout: Layout, waiting: Sequence[Candidate]) -> dict[int, Candidate]:
        """What of those that the budget left out stands now that there is more room in `layout`, by key."""
        offered = [each for each in waiting if not self.has_to_be_whole(each)]
        if not offered or self.config.at_edge != "skip" or self.config.stop_below is not None:
            return {}
        filled = self.go_on(layout, offered)
        return {each.key: filled.shortened.get(each.key, each) for each in offered if each.key not in filled.left_out}

    def layout_of(
        self, taken: Sequence[Candidate], candidates: Sequence[Candidate], beside: Supplemented
    ) -> Layout | None:
        """The layout of `taken` out of `candidates`, beside a supplement; None if they don't fit."""
        layout = Layout(self.config, self.counter, _summaries(candidates, self.config.summary_key), beside.parts)
        if not layout.fits(taken):
            return None
        layout.take(taken)
        return layout

    def _selection(self, candidates: Sequence[Candidate], beside: Supplemented) -> Selection:
        layout, best = self._layout(candidates, beside), self._best_sentences(candidates)
        near = [each for each in candidates if each.distance <= self.config.window and not layout.holds(each)]
        if self._by_query and self.config.stop_below is None and layout.may_fit(near) and layout.fits(near):
            layout.take(near)
            return Selection(layout, tuple(candidates), *self._beyond(layout, candidates), beside, ())
        rest = [each for each in candidates if not layout.holds(each)]
        relieved = relieve(layout, rest, self.config, best)
        now = {each.key: after for each, after in zip(rest, relieved.candidates, strict=True)}
        offered = Selection(
            layout,
            tuple(now.get(each.key, each) for each in candidates),
            relieved.left_out,
            {},
            beside,
            (*relieved.notes, *self._unkept(rest)),
        )
        return self._filled(offered, best)

    def _beyond(self, layout: Layout, candidates: Sequence[Candidate]) -> Filled:
        """What has room beside all of the window: only what is worth more than a hit that is read anyway."""
        config = self.config
        beyond = {each.key for each in candidates if each.distance > config.window}
        if not beyond:
            return Filled({}, {})
        units = units_of(layout.lines(candidates), self.query or "", function_words=config.function_words)
        better = units.beyond(candidates, config.window)
        filled = fill(layout, better, "chunk", at_edge=config.at_edge, min_chunk_tokens=config.min_chunk_tokens)
        poor = dict.fromkeys(beyond - {each.key for each in better}, LeftOut(BEYOND, 0))
        return Filled(poor | self._told(better, filled.left_out), filled.shortened)

    def _filled(
        self, offered: Selection, best: BestSentences | None, forms: Mapping[int, Candidate] = MappingProxyType({})
    ) -> Selection:
        layout = offered.layout
        candidates = [
            each for each in offered.candidates if each.key not in offered.left_out and not layout.holds(each)
        ]
        unwhole = {
            each.key: LeftOut(FOR_BUDGET, layout.text_tokens(each))
            for each in candidates
            if not each.is_hit and self.has_to_be_whole(each)
        }
        candidates = [each for each in candidates if each.key not in unwhole]
        weighed = self._weighed(layout, candidates)
        filled = self._fill(layout, weighed, best, forms)
        hits = [each for each in candidates if each.is_hit]
        if weighed.held and any(each.key in filled.left_out for each in hits):
            layout = self._layout(offered.candidates, offered.beside)
            if layout.fits(hits):
                offered = replace(offered, layout=layout)
                filled = hold(layout, candidates, weighed.held, self.grain)
        left_out = self._told(offered.candidates, offered.left_out | unwhole | filled.left_out)
        return replace(offered, left_out=left_out, shortened=filled.shortened)

    def _told(self, candidates: Sequence[Candidate], left_out: Mapping[int, LeftOut]) -> dict[int, LeftOut]:
        """`left_out`, where for those of `candidates` from beyond the window that is the reason."""
        beyond = {each.key for each in candidates if each.distance > self.config.window}
        return {key: why._replace(reason=BEYOND) if key in beyond else why for key, why in left_out.items()}

    def _weighed(self, layout: Layout, candidates: Sequence[Candidate]) -> Weighed:
        if self._by_query and candidates:
            return weigh(layout, candidates, self.query or "", self.config)
        return Weighed(None, candidates, {}, None)

    def _fill(
        self,
        layout: Layout,
        weighed: Weighed,
        best: BestSentences | None,
        forms: Mapping[int, Candidate] = MappingProxyType({}),
    ) -> Filled:
        if weighed.packed is not None:
            return weighed.packed
        filled = fill(
            layout,
            weighed.ranked,
            "chunk" if self.grain == "sentence" else self.grain,
            at_edge=self.config.at_edge,
            min_chunk_tokens=self.config.min_chunk_tokens,
            cut_hits=self.config.cuts_hits,
            forms=forms,
            best_sentences=best,
            answers=best_sentences(self.query, weighed.ranked) if self._by_query else None,
        )
        return filled._replace(left_out={**weighed.stopped, **filled.left_out})

    @property
    def _by_query(self) -> bool:
        """Whether the words of the query decide what stands, where not everything fits."""
        return self.grain != "document" and self.config.chooses(self.query)

    def _misses(self, selection: Selection) -> bool:
        """Whether a hit that has to stand whole doesn't."""
        hits = (each for each in selection.candidates if each.is_hit and self.has_to_be_whole(each))
        return not all(selection.stands(each, whole=True) for each in hits)

    def _unkept(self, candidates: Sequence[Candidate]) -> list[str]:
        """A note on each hit that has to stand whole and can't."""
        hits = (each for each in candidates if each.is_hit and self.has_to_be_whole(each))
        return [f"keep_whole: {shown(each.chunk.id, 80)} does not fit whole, treated as any other" for each in hits]

    def _layout(self, candidates: Sequence[Candidate], beside: Supplemented) -> Layout:
        """What holds a supplement, and of `candidates` those that have to stand whole and can."""
        config = self.config
        layout = Layout(config, self.counter, _summaries(candidates, config.summary_key), beside.parts)
        if config.enabled:
            take_whole(layout, candidates, config.window, config.keys)
        return layout

    def _best_sentences(self, candidates: Sequence[Candidate]) -> BestSentences | None:
        return None if self.config.compress == "none" else best_sentences(self.query, candidates)


@dataclass(frozen=True)
class Selection:
    """What stands, in its layout, and what doesn't."""

    layout: Layout
    candidates: tuple[Candidate, ...]
    """All that were to choose from, in their order; some cut to `max_chunk_tokens`."""
    left_out: dict[int, LeftOut]
    """Those of them that don't stand, by key."""
    shortened: dict[int, Candidate]
    """What stands in the place of those that stand in part, by key."""
    beside: Supplemented
    notes: tuple[str, ...]

    @property
    def waiting(self) -> tuple[Candidate, ...]:
        """Those that the budget left out or took in part, best first."""
        return tuple(each for each in self.candidates if self._waits(each))

    def stands(self, candidate: Candidate, *, whole: bool) -> bool:
        """Whether `candidate` is there, and if it has to be `whole` nothing was taken from it."""
        standing = any(each is candidate for each in self.candidates)
        return standing and candidate.key not in self.left_out and not (whole and candidate.key in self.shortened)

    def _waits(self, candidate: Candidate) -> bool:
        left_out = self.left_out.get(candidate.key)
        return candidate.key in self.shortened or (left_out is not None and left_out.reason == FOR_BUDGET)


def _summaries(candidates: Iterable[Candidate], keys: Iterable[str]) -> Mapping[str, str]:
    """The first summary among each document's chunks, by document id."""
    found: dict[str, tuple[int, str]] = {}
    for candidate in candidates:
        chunk = candidate.chunk
        said = (look_up(chunk.metadata, key) for key in keys if not chunk.is_unread(key))
        summary = next((str.__str__(each) for each in said if isinstance(each, str) and each.strip()), "")
        if summary:
            document_id, at = candidate.chunk.document_id, candidate.position
            if document_id not in found or at < found[document_id][0]:
                found[document_id] = (at, summary)
    return {document_id: summary for document_id, (_, summary) in found.items()}
