"""The ways to use ours that are measured, and what each knows when it is asked.

Cold: no text was seen before, the vocabulary is loaded. Warm: its chunks were seen in an assembly for another question,
and come as new objects, as a database returns them. Without a query nothing is remembered, so there is no difference.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

from ctxassembly import AssemblyConfig, Chunk, Context, assemble, presets
from ctxassembly.protocols import Store
from ctxassembly.published import FiveStage
from ctxassembly.text.scan import scan
from scenario import BUDGET, ENCODING, PlaceStore, Scenario

REFERENCE = "reference"


class Variant(NamedTuple):
    config: AssemblyConfig | FiveStage
    asks: bool = False

    def run(self, case: Scenario, budget: int | None = BUDGET, store: Store | None = None) -> Context:
        """The context for all hits of `case`, with neighbors from its own store if no other one is given."""
        # A new config is checked, which is no part of an assembly.
        limited: dict[str, Any] = {"max_tokens": budget}
        config = self.config if self.config.max_tokens == budget else replace(self.config, **limited)
        return assemble(case.hits, config, query=case.query if self.asks else None, store=store or case.store)

    def again(self, case: Scenario, budget: int | None = BUDGET, store: Store | None = None) -> Context:
        """The warm assembly after `run` for the same `case`."""
        return self.run(other(case), budget, store)


def anew(case: Scenario) -> Scenario:
    """The same scenario of new objects."""
    chunks = {place: _copied(chunk) for place, chunk in case.store.chunks.items()}
    hits = tuple(replace(hit, chunk=chunks[hit.chunk.document_id, hit.chunk.index or 0]) for hit in case.hits)
    return replace(case, hits=hits, store=PlaceStore(chunks))


def _copied(chunk: Chunk) -> Chunk:
    return replace(chunk, text=f"{chunk.text} "[:-1], metadata={**chunk.metadata})


def other(case: Scenario) -> Scenario:
    """The scenario with another question."""
    return replace(case, query=case.other_query)


def forget() -> None:
    """Forget all that is remembered of texts from one assembly to the next: where their sentences and words are."""
    scan.cache_clear()


DEFAULT = AssemblyConfig(max_tokens=BUDGET, encoding=ENCODING)
OURS = {"default": Variant(DEFAULT), "five-stage": Variant(presets.FIVE_STAGE), "query": Variant(DEFAULT, asks=True)}
"""With a query the default packs sentences, of a pool that is wider than the window."""
MEASURED = {
    **OURS,
    "near": Variant(replace(DEFAULT, dedup="near")),
    "extractive": Variant(replace(DEFAULT, granularity="chunk", rank_by="rank", compress="extractive"), asks=True),
}
"""Those whose memory is measured: stages that are off by default, too."""
