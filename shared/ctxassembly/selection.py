"""Which candidates stand: the budget, what relieves it, and the supplement beside it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from ctxassembly.budget import fill
from ctxassembly.config import AssemblyConfig, Granularity
from ctxassembly.keys import look_up
from ctxassembly.layout import Layout
from ctxassembly.pack import pack
from ctxassembly.pressure import relieve
from ctxassembly.relevance import best_sentences
from ctxassembly.scale import FOR_BUDGET, MOST_CHARS_PER_TOKEN, BestSentences, Filled
from ctxassembly.supplement import Supplemented
from ctxassembly.tokens import Counter
from ctxassembly.types import Candidate, LeftOut
from ctxassembly.units import units_of

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
        whole = self.grain != "sentence"  # of which the best hit may stand in part
        if not beside.parts or not candidates or first.stands(candidates[0], whole=whole):
            return first
        notes = ("supplement: left out, the best hit does not fit beside it",)
        alone = self._selection(candidates, Supplemented(notes=notes))
        return alone if alone.stands(candidates[0], whole=whole) or not first.layout.labels() else first

    def go_on(self, layout: Layout, candidates: Sequence[Candidate]) -> Filled:
        """What stands of more `candidates`, beside all that is in `layout`."""
        return self._filled(layout, candidates, self._best_sentences(candidates))

    def _selection(self, candidates: Sequence[Candidate], beside: Supplemented) -> Selection:
        layout = Layout(self.config, self.counter, _summaries(candidates, self.config.summary_key), beside.parts)
        near = [each for each in candidates if each.distance <= self.config.window]
        if len(near) < len(candidates) and _may_fit(near, layout.max_tokens) and layout.fits(near):
            # Nothing has to be chosen, and nothing comes from beyond the window.
            layout.take(near)
            beyond = {id(each): LeftOut(BEYOND, 0) for each in candidates if each.distance > self.config.window}
            return Selection(layout, tuple(candidates), beyond, {}, beside, ())
        best = self._best_sentences(candidates)
        relieved = relieve(layout, candidates, self.config, best)
        offered = [each for each in relieved.candidates if id(each) not in relieved.left_out]
        filled = self._filled(layout, offered, best)
        left_out = relieved.left_out | filled.left_out
        for each in relieved.candidates:
            if each.distance > self.config.window and id(each) in left_out:
                left_out[id(each)] = left_out[id(each)]._replace(reason=BEYOND)
        return Selection(layout, relieved.candidates, left_out, filled.shortened, beside, relieved.notes)

    def _filled(self, layout: Layout, candidates: Sequence[Candidate], best: BestSentences | None) -> Filled:
        config, grain = self.config, self.grain
        if grain in ("chunk", "sentence") and config.chooses(self.query) and candidates:
            units = units_of(layout.lines(candidates), self.query or "")
            if grain == "sentence":
                first = candidates[0]
                if packed := pack(layout, units, len(first.text) / max(layout.text_tokens(first), 1)):
                    layout.take(packed.candidates)
                    return units.filled(candidates, *packed)
                grain = "chunk"
            candidates = units.by_value(candidates)
        edge, least = config.at_edge, config.min_chunk_tokens
        return fill(layout, candidates, grain, at_edge=edge, min_chunk_tokens=least, best_sentences=best)

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

    def stands(self, candidate: Candidate, *, whole: bool) -> bool:
        """Whether `candidate` is there, and if it has to be `whole` nothing was taken from it."""
        standing = any(each is candidate for each in self.candidates)
        return standing and id(candidate) not in self.left_out and not (whole and id(candidate) in self.shortened)

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


def _may_fit(candidates: Iterable[Candidate], max_tokens: int) -> bool:
    return sum(len(candidate.text) for candidate in candidates) <= max_tokens * MOST_CHARS_PER_TOKEN
