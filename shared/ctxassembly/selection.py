"""Which candidates stand: the budget, what relieves it, and the supplement beside it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from ctxassembly.budget import FOR_BUDGET, Filled, fill
from ctxassembly.config import AssemblyConfig, Granularity
from ctxassembly.keys import look_up
from ctxassembly.layout import Layout
from ctxassembly.pack import pack
from ctxassembly.pressure import relieve
from ctxassembly.relevance import best_sentences
from ctxassembly.scale import BestSentences
from ctxassembly.supplement import Supplemented
from ctxassembly.tokens import Counter
from ctxassembly.types import Candidate, LeftOut
from ctxassembly.units import Unit, by_value, units_of

BEYOND = "beyond the window"


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

    def select(self, candidates: Sequence[Candidate], beside: Supplemented) -> Selection:
        """What stands of `candidates`, best first, beside a supplement.

        The supplement gives way rather than that the best hit is left out, is cut or loses its header.
        """
        first = self._selection(candidates, beside)
        if not beside.parts or not candidates or first.stands_whole(candidates[0]):
            return first
        notes = ("supplement: left out, the best hit does not fit beside it",)
        alone = self._selection(candidates, Supplemented(notes=notes))
        return alone if alone.stands_whole(candidates[0]) or not first.layout.labels() else first

    def go_on(self, layout: Layout, candidates: Sequence[Candidate]) -> Filled:
        """What stands of more `candidates`, beside all that is in `layout`."""
        return self._filled(layout, candidates, self._best_sentences(candidates))

    def _selection(self, candidates: Sequence[Candidate], beside: Supplemented) -> Selection:
        layout = Layout(self.config, self.counter, _summaries(candidates, self.config.summary_key), beside.parts)
        window = self.config.window
        near = [each for each in candidates if each.distance <= window]
        if len(near) < len(candidates) and layout.fits(near):
            layout.take(near)
            beyond = {id(each): LeftOut(BEYOND, 0) for each in candidates if each.distance > window}
            return Selection(layout, tuple(candidates), beyond, {}, beside, ())
        best = self._best_sentences(candidates)
        relieved = relieve(layout, candidates, self.config, best)
        offered = [each for each in relieved.candidates if id(each) not in relieved.left_out]
        filled = self._filled(layout, offered, best)
        left_out = relieved.left_out | filled.left_out
        for each in relieved.candidates:
            if each.distance > window and id(each) in left_out:
                left_out[id(each)] = left_out[id(each)]._replace(reason=BEYOND)
        return Selection(layout, relieved.candidates, left_out, filled.shortened, beside, relieved.notes)

    def _filled(self, layout: Layout, candidates: Sequence[Candidate], best: BestSentences | None) -> Filled:
        chosen = self.config.chooses(self.query) and self.query and self.grain in ("chunk", "sentence")
        if chosen and candidates and not layout.fits(candidates):
            units = units_of(layout.lines(candidates), self.query or "")
            if self.grain == "sentence" and (packed := self._packed(layout, candidates, units)):
                return packed
            candidates = by_value(candidates, units)
        edge, least = self.config.at_edge, self.config.min_chunk_tokens
        grain: Granularity = "chunk" if self.grain == "sentence" else self.grain
        return fill(layout, candidates, grain, at_edge=edge, min_chunk_tokens=least, best_sentences=best)

    def _packed(self, layout: Layout, candidates: Sequence[Candidate], units: Sequence[Unit]) -> Filled | None:
        """What stands of `candidates` by sentences; None if not one of them fits."""
        measure, tokens = self.counter.measure, self.counter.tokens
        taken = pack(layout, units, [tokens(measure(unit.text)) for unit in units])
        if not taken:
            return None
        layout.take(taken)
        form = {id(each.chunk): each for each in taken}
        standing = {id(each): form[id(each.chunk)] for each in candidates if id(each.chunk) in form}
        left_out = {
            id(each): LeftOut(FOR_BUDGET, layout.text_tokens(each)) for each in candidates if id(each) not in standing
        }
        return Filled(left_out, {key: part for key, part in standing.items() if part.kept is not None})

    def _best_sentences(self, candidates: Sequence[Candidate]) -> BestSentences | None:
        return None if self.config.compress == "none" else best_sentences(self.query, candidates)


@dataclass(frozen=True)
class Selection:
    """What stands, in its layout, and what doesn't."""

    layout: Layout
    candidates: tuple[Candidate, ...]
    """All that were to choose from, in their order; some cut to `max_chunk_tokens`."""
    left_out: dict[int, LeftOut]
    """Those of them that don't stand, by `id`."""
    shortened: dict[int, Candidate]
    """What stands in the place of those that stand in part, by `id`."""
    beside: Supplemented
    notes: tuple[str, ...]

    @property
    def waiting(self) -> tuple[Candidate, ...]:
        """Those that the budget left out or took in part, best first."""
        return tuple(each for each in self.candidates if self._waits(each))

    @property
    def room(self) -> int:
        """The tokens that are left for them, with what their parts have now."""
        parts = sum(map(self.layout.text_tokens, self.shortened.values()))
        return self.layout.max_tokens - self.layout.token_count + parts

    def stands_whole(self, candidate: Candidate) -> bool:
        """Whether nothing was taken from `candidate`."""
        standing = any(each is candidate for each in self.candidates)
        return standing and id(candidate) not in self.left_out and id(candidate) not in self.shortened

    def _waits(self, candidate: Candidate) -> bool:
        left_out = self.left_out.get(id(candidate))
        return id(candidate) in self.shortened or (left_out is not None and left_out.reason == FOR_BUDGET)


def _summaries(candidates: Iterable[Candidate], key: str) -> Mapping[str, str]:
    """The first summary among each document's chunks, by document id."""
    found: dict[str, tuple[int, str]] = {}
    for candidate in candidates:
        summary = look_up(candidate.chunk.metadata, key)
        if isinstance(summary, str) and summary.strip():
            document_id, at = candidate.chunk.document_id, candidate.position
            if document_id not in found or at < found[document_id][0]:
                found[document_id] = (at, summary)
    return {document_id: summary for document_id, (_, summary) in found.items()}
